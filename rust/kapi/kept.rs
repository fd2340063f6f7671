// SPDX-License-Identifier: GPL-2.0

//! References to what they keep, which writers follow in any context.
//!
//! An [`Arc`] is the address of a count before its value. Where a writer passes a value on, that is an instruction more
//! than an address of the value itself, which is beside the count here.

use super::{
    grace_ref::GraceRef,
    lent_ref::LentRef, //
};
use core::{
    ops::Deref,
    ptr, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A `T` that this and others keep.
///
/// # Invariants
///
/// `value` is that of `owner`.
pub(crate) struct KeptValue<T: 'static> {
    value: LentRef<T>,
    owner: Arc<T>,
}

impl<T> KeptValue<T> {
    /// Returns that of `owner`.
    pub(crate) fn new(owner: Arc<T>) -> Self {
        // SAFETY: `owner` keeps it where it is as long as the result, in which both are.
        let value = unsafe { LentRef::new(&*owner) };
        Self { value, owner }
    }
}

impl<T> Clone for KeptValue<T> {
    fn clone(&self) -> Self {
        Self::new(self.owner.clone())
    }
}

impl<T> Deref for KeptValue<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

/// A reference to a `T` that this keeps, or none. It can be taken away while others follow it.
///
/// # Invariants
///
/// `target` is none, or that of `kept`, which does not change.
pub(crate) struct KeptRef<T: 'static> {
    target: GraceRef<T>,
    kept: Option<Arc<T>>,
}

impl<T> Default for KeptRef<T> {
    fn default() -> Self {
        Self::none()
    }
}

impl<T> KeptRef<T> {
    /// Returns one to nothing.
    pub(crate) const fn none() -> Self {
        Self {
            target: GraceRef::none(),
            kept: None,
        }
    }

    /// Returns one to what `owner` has.
    fn of(owner: Arc<T>) -> Self {
        let target = GraceRef::none();
        // SAFETY: `owner` keeps it where it is until the result is gone, in which both are.
        unsafe { target.set(Some(&*owner)) };
        Self {
            target,
            kept: Some(owner),
        }
    }

    /// Returns the target. Any context.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&T> {
        self.target.get()
    }

    /// Returns whether it is to `target`.
    pub(crate) fn is(&self, target: &T) -> bool {
        self.get().is_some_and(|own| ptr::eq(own, target))
    }

    /// Takes the target away, from now on. It is kept as long as this.
    pub(crate) fn clear(&self) {
        self.target.clear();
    }
}

impl<T> From<&KeptValue<T>> for KeptRef<T> {
    fn from(kept: &KeptValue<T>) -> Self {
        Self::of(kept.owner.clone())
    }
}

impl<T> From<&Arc<T>> for KeptRef<T> {
    fn from(kept: &Arc<T>) -> Self {
        Self::of(kept.clone())
    }
}

impl<T> Clone for KeptRef<T> {
    /// Returns another one to the same target; to none if that was taken away.
    fn clone(&self) -> Self {
        match (&self.kept, self.get()) {
            (Some(owner), Some(_)) => Self::of(owner.clone()),
            _ => Self::none(),
        }
    }
}

/// Several references to what they keep.
///
/// # Invariants
///
/// Each of `targets` is none, or to something that one of `kept` has.
pub(crate) struct KeptRefs<T: 'static> {
    /// Apart from what keeps their targets: a writer finds one by its number, without arithmetic.
    targets: KVec<GraceRef<T>>,
    kept: KVec<KeptRef<T>>,
}

impl<T> Default for KeptRefs<T> {
    fn default() -> Self {
        Self {
            targets: KVec::new(),
            kept: KVec::new(),
        }
    }
}

impl<T> KeptRefs<T> {
    /// Adds `reference`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn push(&mut self, reference: KeptRef<T>) -> Result {
        let target = GraceRef::none();
        // SAFETY: `reference` keeps it where it is as long as `self`, in which both are from now on, or neither is.
        unsafe { target.set(reference.get()) };
        self.kept.push(reference, GFP_KERNEL)?;
        // INVARIANT: What keeps it is there.
        self.targets.push(target, GFP_KERNEL)?;
        Ok(())
    }

    /// Returns the target of the reference of this number; `None` if there is no such reference. Any context.
    #[inline(always)]
    pub(crate) fn get(&self, number: usize) -> Option<Option<&T>> {
        self.targets.get(number).map(GraceRef::get)
    }

    /// Returns them.
    pub(crate) fn all(&self) -> &[KeptRef<T>] {
        &self.kept
    }

    /// Takes `target` away from those that have it, from now on.
    pub(crate) fn forget(&self, target: &T) {
        let of_it = |place: &&GraceRef<T>| place.get().is_some_and(|own| ptr::eq(own, target));
        self.targets.iter().filter(of_it).for_each(GraceRef::clear);
    }
}
