// SPDX-License-Identifier: GPL-2.0

//! Memory of each CPU that only some users of the module want: made when the first one does, in process
//! context, and there until the module goes, so that writers in any context may look for it without a
//! lock.

use super::{
    percpu::{
        CpuPin,
        PerCpu, //
    },
    words::SharedU64, //
};
use crate::ring::port::SharedWord;
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::prelude::*;

/// A `T` for each CPU, once it was made.
///
/// # Invariants
///
/// The address is null, or from a box that goes in [`Late::free`] only.
pub(super) struct Late<T> {
    address: SharedU64,
    of: PhantomData<PerCpu<T>>,
}

impl<T: Send + Sync + 'static> Late<T> {
    /// Nothing is there yet.
    pub(super) const fn new() -> Self {
        // INVARIANT: It is null.
        Self {
            address: SharedU64::zero(),
            of: PhantomData,
        }
    }

    /// Where the values are.
    #[inline(always)]
    fn values(&self) -> *mut PerCpu<T> {
        // Acquire: pairs with the exchange in `prepare`.
        ptr::with_exposed_provenance_mut(self.address.load_acquire() as usize)
    }

    /// Makes the values, unless they are there. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and what `make` says.
    pub(super) fn prepare(&self, make: impl FnMut(u32) -> Result<T>) -> Result {
        if !self.values().is_null() {
            return Ok(());
        }
        let values = KBox::into_raw(KBox::new(PerCpu::new(make)?, GFP_KERNEL)?);
        // INVARIANT: From a box.
        if !self.address.cas(0, values.expose_provenance() as u64) {
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
        let values = self.values();
        self.address.store(0);
        if !values.is_null() {
            // SAFETY: From a box (invariant), and by the contract nobody uses it.
            drop(unsafe { KBox::from_raw(values) });
        }
    }

    /// The per-CPU address of the values, until [`Self::free`].
    pub(super) fn base(&self) -> Option<*const T> {
        // SAFETY: As in `this`.
        Some(unsafe { self.values().as_ref() }?.base())
    }

    /// The value of this CPU.
    #[inline(always)]
    pub(super) fn this<'a>(&'a self, pin: &'a CpuPin) -> Option<&'a T> {
        // SAFETY: Null, or valid until `free`, whose caller promises that nobody is here then.
        let values = unsafe { self.values().as_ref() }?;
        Some(values.this(pin))
    }
}
