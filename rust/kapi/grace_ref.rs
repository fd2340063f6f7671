// SPDX-License-Identifier: GPL-2.0

//! A reference that writers follow in any context, and whose target goes only after a grace period.
//!
//! The owner of the target is elsewhere, under a lock: it sets another reference, waits until all writers
//! that may have followed the old one have ended, and frees what that named.

use super::words::SharedPtr;
use core::{
    marker::PhantomData,
    ptr, //
};

/// A reference to a `T`, or none.
///
/// # Invariants
///
/// The pointer is null, or to a `T` that stays as the caller of [`GraceRef::set`] promised.
#[repr(transparent)]
pub(crate) struct GraceRef<T: 'static> {
    pointer: SharedPtr<T>,
    /// What it hands out is shared by CPUs as a reference is.
    target: PhantomData<&'static T>,
}

impl<T> Default for GraceRef<T> {
    fn default() -> Self {
        Self::none()
    }
}

impl<T> GraceRef<T> {
    /// Returns one to nothing.
    pub(crate) const fn none() -> Self {
        Self {
            pointer: SharedPtr::null(),
            target: PhantomData,
        }
    }

    /// Returns whether there is none. Any context.
    #[inline(always)]
    pub(crate) fn is_none(&self) -> bool {
        self.pointer.load().is_null()
    }

    /// Returns the target. Any context.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&T> {
        // SAFETY: Null, or a `T` that is there as long as this caller may use it (invariant). Its contents come
        // first: loads through the pointer depend on the load of it, which pairs with the release in `set`.
        unsafe { self.pointer.load().as_ref() }
    }

    /// Sets the target, from now on.
    ///
    /// # Safety
    ///
    /// It stays where it is until another one, or none, was set and every caller of [`GraceRef::get`] that
    /// may have got it has ended; or until this is gone.
    pub(crate) unsafe fn set(&self, target: Option<&T>) {
        let target = target.map_or(ptr::null(), ptr::from_ref);
        // INVARIANT: The caller promises that.
        // Release: pairs with the dependency in `get`.
        self.pointer.store_release(target.cast_mut());
    }

    /// Takes the target away, from now on. Callers of [`GraceRef::get`] that began before may still have it.
    pub(crate) fn clear(&self) {
        // INVARIANT: There is none that would have to stay.
        // Release, as in `set`: callers do something first that those who find none rely on.
        self.pointer.store_release(ptr::null_mut());
    }

    /// Exchanges the target for that at `next`, or for none if that is null; returns where the one before is.
    ///
    /// # Safety
    ///
    /// As for [`GraceRef::set`].
    pub(super) unsafe fn exchange(&self, next: *const T) -> *const T {
        // INVARIANT: The caller promises that. The exchange is fully ordered.
        self.pointer.exchange(next.cast_mut())
    }

    /// Sets the target if there is none. Any context.
    ///
    /// # Safety
    ///
    /// As for [`GraceRef::set`].
    #[inline(always)]
    pub(crate) unsafe fn restore(&self, target: &T) {
        // INVARIANT: The caller promises that. The exchange is fully ordered.
        self.pointer
            .replace(ptr::null_mut(), ptr::from_ref(target).cast_mut());
    }
}
