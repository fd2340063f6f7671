// SPDX-License-Identifier: GPL-2.0

//! The end of an event whose only trigger acts lightly: the last jump of its probe.
//!
//! It is not a method of a trait object: that would have the effect in the first register, and the file and the
//! record moved to others for it.

use super::{
    trigger::{
        Effect,
        Trigger, //
    },
    triggered::{
        commit_counted,
        commit_triggered,
        put_pid, //
    },
    EventFile,
    Exit, //
};
use crate::kapi::scratch;
use core::{
    mem::size_of,
    ptr::NonNull, //
};
use kernel::prelude::*;

/// An effect that acts without the common fields of a record, but for the number of the task, if it is the only one.
///
/// Contexts: those of [`Effect`].
pub(crate) trait LightEffect: Effect + Sized {
    /// Whether it reads the number of the task in the record.
    const READS_TASK: bool = true;

    /// Acts as [`Effect::act_lightly`], and ends the event.
    #[inline(always)]
    fn end_lightly(&self, file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
        self.act_lightly(file, record.to_read(), exit.pin());
        commit_counted(file, record, exit);
    }
}

/// What ends an event whose only trigger has some effect.
///
/// # Invariants
///
/// `end` may be called with `effect` as long as what is there lives.
#[derive(Clone, Copy)]
pub(crate) struct LightEnd {
    /// The effect comes after the trigger: a hash, which multiplies, needs the third register.
    end: unsafe extern "C" fn(&EventFile, scratch::Record<'_>, &Trigger, NonNull<c_void>, Exit),
    effect: NonNull<c_void>,
}

// SAFETY: The address is that of an effect, which is `Send`, or of nothing.
unsafe impl Send for LightEnd {}
// SAFETY: The same, which is `Sync`.
unsafe impl Sync for LightEnd {}

impl LightEnd {
    /// Ends the event as that of any triggers.
    pub(super) const NONE: Self = Self {
        // INVARIANT: It does not look at the effect.
        end: end_as_any,
        effect: NonNull::dangling(),
    };

    /// Returns that of `effect`.
    pub(crate) fn of<E: LightEffect>(effect: &E) -> Self {
        const { assert!(size_of::<E>() != 0, "there may be others at its address") };
        // INVARIANT: The effect is of the type that the function expects.
        Self {
            end: end_lightly::<E>,
            effect: NonNull::from(effect).cast(),
        }
    }

    /// Returns whether it is that of `effect`.
    pub(super) fn is_of(&self, effect: &dyn Effect) -> bool {
        self.effect == NonNull::from(effect).cast()
    }

    /// Ends the event, whose only trigger is `trigger`.
    ///
    /// # Safety
    ///
    /// The effect that this was made of is alive.
    #[inline(always)]
    pub(super) unsafe fn end(
        &self,
        file: &EventFile,
        record: scratch::Record<'_>,
        trigger: &Trigger,
        exit: Exit,
    ) {
        // SAFETY: The caller keeps what is there (invariant).
        unsafe { (self.end)(file, record, trigger, self.effect, exit) }
    }
}

/// Ends an event by `effect`.
///
/// # Safety
///
/// It is an `E`.
unsafe extern "C" fn end_lightly<E: LightEffect>(
    file: &EventFile,
    mut record: scratch::Record<'_>,
    _trigger: &Trigger,
    effect: NonNull<c_void>,
    exit: Exit,
) {
    // SAFETY: The caller has an `E` there, of which there are shared references only.
    let effect = unsafe { effect.cast::<E>().as_ref() };
    if E::READS_TASK {
        put_pid(&mut record);
    }
    effect.end_lightly(file, record, exit);
}

/// Ends an event by all triggers of its file.
extern "C" fn end_as_any(
    file: &EventFile,
    record: scratch::Record<'_>,
    _trigger: &Trigger,
    _effect: NonNull<c_void>,
    exit: Exit,
) {
    commit_triggered(file, record, exit);
}
