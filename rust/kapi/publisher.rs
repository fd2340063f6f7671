// SPDX-License-Identifier: GPL-2.0

//! A static reference that writers follow, and the owner of what it refers to, which exchanges it meanwhile.

use super::{
    grace,
    grace_ref::GraceRef,
    percpu::CpuPin, //
};
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A reference to what a [`Publisher`] owns, or to nothing.
///
/// # Invariants
///
/// What it refers to stays until it refers to something else, or to nothing, and the stretches of code with preemption
/// disabled that began before have ended.
pub(crate) struct PublishedRef<T: 'static>(GraceRef<T>);

impl<T> PublishedRef<T> {
    /// Returns one to nothing.
    pub(crate) const fn none() -> Self {
        // INVARIANT: There is nothing that would have to stay.
        Self(GraceRef::none())
    }

    /// Returns what it refers to. Any context.
    #[inline(always)]
    pub(crate) fn get<'p>(&'p self, _: &'p CpuPin) -> Option<&'p T> {
        self.0.get()
    }

    /// Returns the same for a caller that gives its pin away.
    ///
    /// # Safety
    ///
    /// The result is used only as long as preemption is disabled.
    #[inline(always)]
    pub(crate) unsafe fn get_unpinned(&self) -> Option<&T> {
        self.0.get()
    }
}

/// The owner of a box that a static [`PublishedRef`] refers to.
///
/// # Invariants
///
/// The reference is to no box of this but that in `own`.
pub(crate) struct Publisher<T: 'static> {
    reference: &'static PublishedRef<T>,
    own: Option<KBox<T>>,
}

/// A box that writers may still use which found it before: dropping this waits for them. Process context; sleeps.
#[must_use = "dropping it waits"]
pub(crate) struct RetiredBox<T>(Option<T>);

impl<T> Publisher<T> {
    /// Returns one that owns nothing.
    pub(crate) const fn of(reference: &'static PublishedRef<T>) -> Self {
        // INVARIANT: There is no box.
        Self {
            reference,
            own: None,
        }
    }

    /// Returns what it owns.
    pub(crate) fn get(&self) -> Option<&T> {
        self.own.as_deref()
    }

    /// Has writers follow `next`, or nothing, from now on. Returns what they followed before.
    pub(crate) fn set(&mut self, next: Option<KBox<T>>) -> RetiredBox<KBox<T>> {
        match &next {
            // SAFETY: The box is in `own` until this is called again, and then in the result: it goes after another one,
            // or none, was set, and all code that may have got it, with preemption disabled, has ended.
            Some(next) => unsafe { self.reference.0.set(Some(&**next)) },
            None => self.reference.0.clear(),
        }
        // INVARIANT: The reference is not to the one before any more.
        RetiredBox(core::mem::replace(&mut self.own, next))
    }

    /// As [`Self::set`], with what was retired.
    pub(crate) fn set_again(&mut self, mut before: RetiredBox<KBox<T>>) -> RetiredBox<KBox<T>> {
        self.set(before.0.take())
    }
}

impl<T> Drop for Publisher<T> {
    fn drop(&mut self) {
        if self.own.is_some() {
            drop(self.set(None));
        }
    }
}

/// A reference to what it keeps with others, or to nothing. It is exchanged while writers follow it.
///
/// # Invariants
///
/// One of the counts of what it refers to is its own.
pub(crate) struct FollowedArc<T: 'static>(GraceRef<T>, PhantomData<Arc<T>>);

impl<T> FollowedArc<T> {
    /// Returns one to nothing.
    pub(crate) const fn none() -> Self {
        Self(GraceRef::none(), PhantomData)
    }

    /// Returns whether it is to nothing. Any context.
    #[inline(always)]
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns what it refers to. Any context.
    #[inline(always)]
    pub(crate) fn get<'p>(&'p self, _: &'p CpuPin) -> Option<&'p T> {
        self.0.get()
    }

    /// Has writers follow `next`, or nothing, from now on. Returns what they followed before.
    pub(crate) fn set(&self, next: Option<Arc<T>>) -> RetiredBox<Arc<T>> {
        let next = next.map_or(ptr::null(), Arc::into_raw);
        // SAFETY: It has a count, which goes after another one, or none, was set, and all code that may have got it, with
        // preemption disabled, has ended.
        let before = unsafe { self.0.exchange(next) };
        match before.is_null() {
            true => RetiredBox(None),
            // SAFETY: Its count was this reference's (invariant), and is no more since the exchange.
            false => RetiredBox(Some(unsafe { Arc::from_raw(before) })),
        }
    }
}

impl<T> Drop for FollowedArc<T> {
    fn drop(&mut self) {
        drop(self.set(None));
    }
}

impl<T> RetiredBox<T> {
    /// Returns both, to wait once.
    pub(crate) fn and<U>(mut self, mut other: RetiredBox<U>) -> RetiredBox<(Option<T>, Option<U>)> {
        match (self.0.take(), other.0.take()) {
            (None, None) => RetiredBox(None),
            both => RetiredBox(Some(both)),
        }
    }
}

impl<T> Drop for RetiredBox<T> {
    fn drop(&mut self) {
        if self.0.is_some() {
            grace::writers_left();
        }
    }
}
