// SPDX-License-Identifier: GPL-2.0

//! What triggers do: the effects by which an event switches recording or another event, takes a snapshot
//! or records a stack.
//!
//! Any context, NMI included. What must sleep is left to the worker of the instance.

use super::stack::KernelStack;
use crate::{
    kapi::{
        grace_ref::GraceRef,
        stack, //
    },
    probes::{
        Action,
        Effect,
        EventFile,
        Hit,
        WANT_NEWS,
        WANT_SNAPSHOT, //
    }, //
};
use kernel::prelude::*;

/// Switches recording.
struct Recording {
    on: bool,
}

impl Effect for Recording {
    fn switches(&self) -> bool {
        true
    }

    fn is_due(&self, file: &EventFile) -> bool {
        file.sink().is_on() != self.on
    }

    fn act(&self, hit: &Hit<'_>, _: &[u8]) {
        let sink = hit.file.sink();
        sink.switch(self.on);
        // Readers that wait reach the end of their file, and names of tasks are remembered or not.
        sink.want(WANT_NEWS);
    }
}

/// Takes a snapshot, soon.
struct Snapshot;

impl Effect for Snapshot {
    fn act(&self, hit: &Hit<'_>, _: &[u8]) {
        hit.file.sink().want(WANT_SNAPSHOT);
    }
}

/// Records the callers.
impl Effect for KernelStack {
    fn needs_callers(&self) -> bool {
        true
    }

    fn act(&self, hit: &Hit<'_>, _: &[u8]) {
        self.recorded(hit);
    }
}

/// Switches an event or, if `HISTS` is set, whether its histograms count.
///
/// The file of the event stays until the trigger is disarmed and probes have left it.
struct Switch<const HISTS: bool> {
    target: GraceRef<EventFile>,
    on: bool,
}

impl<const HISTS: bool> Effect for Switch<HISTS> {
    fn switches(&self) -> bool {
        !HISTS
    }

    fn is_due(&self, _: &EventFile) -> bool {
        let target = self.target.get();
        target.is_some_and(|file| HISTS || file.is_off() == self.on)
    }

    fn act(&self, _: &Hit<'_>, _: &[u8]) {
        match self.target.get() {
            None => {}
            Some(file) if HISTS => file.switch_hists(self.on),
            Some(file) => file.set_off(!self.on),
        }
    }
}

/// Returns what switches recording on or off.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn recording(on: bool) -> Result<KBox<dyn Effect>> {
    Ok(KBox::new(Recording { on }, GFP_KERNEL)?)
}

/// Returns what takes a snapshot.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn snapshot() -> Result<KBox<dyn Effect>> {
    Ok(KBox::new(Snapshot, GFP_KERNEL)?)
}

/// Returns what records the callers.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn stacktrace() -> Result<KBox<dyn Effect>> {
    stack::prepare()?;
    Ok(KBox::new(KernelStack, GFP_KERNEL)?)
}

/// Returns what switches the event of `target` on or off or, if `HISTS` is set, has its histograms count again or
/// pause.
///
/// # Errors
///
/// `ENOMEM`.
///
/// # Safety
///
/// `target` stays where it is until the trigger that has the result was disarmed, or taken out of the list
/// of its event, and [`crate::events::synchronize`] has returned.
pub(crate) unsafe fn switch<const HISTS: bool>(
    target: &EventFile,
    on: bool,
) -> Result<KBox<dyn Effect>> {
    let switch = Switch::<HISTS> {
        target: GraceRef::none(),
        on,
    };
    // SAFETY: The caller keeps the file as long as a probe can ask for it.
    unsafe { switch.target.set(Some(target)) };
    Ok(KBox::new(switch, GFP_KERNEL)?)
}
