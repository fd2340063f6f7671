// SPDX-License-Identifier: GPL-2.0

//! Memory of each CPU that only some users of the module want: made when the first one does, in process
//! context, and there until the module goes, so that writers in any context may look for it without a
//! lock.

use super::percpu::{
    CpuPin,
    PerCpu, //
};
use core::ptr;
use kernel::{
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Full,
        Relaxed, //
    }, //
};

/// A `T` for each CPU, once it was made.
///
/// # Invariants
///
/// Null, or from a box that goes in [`Late::free`] only.
pub(super) struct Late<T>(Atomic<*mut PerCpu<T>>);

impl<T: Send + Sync + 'static> Late<T> {
    /// Nothing is there yet.
    pub(super) const fn new() -> Self {
        // INVARIANT: It is null.
        Self(Atomic::new(ptr::null_mut()))
    }

    /// Makes the values, unless they are there. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and what `make` says.
    pub(super) fn prepare(&self, make: impl FnMut(u32) -> Result<T>) -> Result {
        if !self.0.load(Relaxed).is_null() {
            return Ok(());
        }
        let values = KBox::into_raw(KBox::new(PerCpu::new(make)?, GFP_KERNEL)?);
        // Full, thus release: pairs with the load in `this`.
        if self.0.cmpxchg(ptr::null_mut(), values, Full).is_err() {
            // SAFETY: Just made from a box, and nobody else got it.
            drop(unsafe { KBox::from_raw(values) });
        }
        Ok(())
    }

    /// Drops the values.
    ///
    /// # Safety
    ///
    /// Nobody uses them, and nobody calls [`Self::this`] at the same time.
    pub(super) unsafe fn free(&self) {
        let values = self.0.load(Relaxed);
        self.0.store(ptr::null_mut(), Relaxed);
        if !values.is_null() {
            // SAFETY: From a box (invariant), and by the contract nobody uses it.
            drop(unsafe { KBox::from_raw(values) });
        }
    }

    /// The value of this CPU.
    #[inline(always)]
    pub(super) fn this<'a>(&'a self, pin: &'a CpuPin) -> Option<&'a T> {
        // SAFETY: Null, or valid until `free`, whose caller promises that nobody is here then.
        let values = unsafe { self.0.load(Acquire).as_ref() }?;
        Some(values.this(pin))
    }
}
