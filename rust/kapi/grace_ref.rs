// SPDX-License-Identifier: GPL-2.0

//! A reference that writers follow in any context, and whose target goes only after a grace period.
//!
//! The owner of the target is elsewhere, under a lock: it sets another reference, waits until all writers
//! that may have followed the old one have ended, and frees what that named.

use super::words::SharedU64;
use crate::ring::port::SharedWord as _;
use core::{
    marker::PhantomData,
    ptr, //
};

/// A reference to a `T`, or none.
///
/// # Invariants
///
/// The word is 0 or the exposed address of a `T` that stays as the caller of [`GraceRef::set`] promised.
pub(crate) struct GraceRef<T: 'static> {
    address: SharedU64,
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
            address: SharedU64::zero(),
            target: PhantomData,
        }
    }

    /// Returns whether there is none. Any context.
    #[inline(always)]
    pub(crate) fn is_none(&self) -> bool {
        self.address.load() == 0
    }

    /// Returns the target. Any context.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&T> {
        match self.address.load() {
            0 => None,
            // SAFETY: The address of a `T` that is there as long as this caller may use it (invariant). Its
            // contents come first: loads through the address depend on the load of it, which pairs with
            // the release in `set`.
            address => Some(unsafe { &*ptr::with_exposed_provenance(address as usize) }),
        }
    }

    /// Sets the target, from now on.
    ///
    /// # Safety
    ///
    /// It stays where it is until another one, or none, was set and every caller of [`GraceRef::get`] that
    /// may have got it has ended; or until this is gone.
    pub(crate) unsafe fn set(&self, target: Option<&T>) {
        let address = target.map_or(0, |target| ptr::from_ref(target).expose_provenance());
        // INVARIANT: Exposed just now; the caller promises the rest.
        // Release: pairs with the dependency in `get`.
        self.address.store_release(address as u64);
    }

    /// Takes the target away, from now on. Callers of [`GraceRef::get`] that began before may still have it.
    pub(crate) fn clear(&self) {
        // INVARIANT: There is none that would have to stay.
        // Release, as in `set`: callers do something first that those who find none rely on.
        self.address.store_release(0);
    }

    /// Exchanges the target for that at `next`, or for none if that is null; returns where the one before is.
    ///
    /// # Safety
    ///
    /// As for [`GraceRef::set`].
    pub(super) unsafe fn exchange(&self, next: *const T) -> *const T {
        let next = next.expose_provenance() as u64;
        loop {
            let before = self.address.load();
            // INVARIANT: Exposed just now; the caller promises the rest. The exchange is fully ordered.
            if self.address.cas(before, next) {
                return ptr::with_exposed_provenance(before as usize);
            }
        }
    }

    /// Sets the target if there is none. Any context.
    ///
    /// # Safety
    ///
    /// As for [`GraceRef::set`].
    #[inline(always)]
    pub(crate) unsafe fn restore(&self, target: &T) {
        let address = ptr::from_ref(target).expose_provenance();
        // INVARIANT: Exposed just now; the caller promises the rest. The exchange is fully ordered.
        self.address.cas(0, address as u64);
    }
}
