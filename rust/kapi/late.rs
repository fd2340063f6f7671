// SPDX-License-Identifier: GPL-2.0

//! Memory of each CPU, allocated on first use in process context and kept until unload, so that writers in
//! any context may look for it without a lock.

use super::{
    load,
    noise,
    percpu::{
        CpuPin,
        PerCpu, //
    },
    recursion,
    scratch,
    stack,
    user_memory,
    words::SharedU64, //
};
use crate::ring::port::SharedWord;
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::prelude::*;

/// The end of the module, in whose last steps nothing but the caller of [`Unloading::begin`] is left.
///
/// # Invariants
///
/// No probe and no hook of this module is left, no call of one runs, and no other code of it but the holder does. The
/// holder uses no event and no memory any more that these steps free.
pub(crate) struct Unloading(());

impl Unloading {
    /// Begins the last steps.
    ///
    /// # Safety
    ///
    /// No probe and no hook of this module is left, no call of one runs, and no other code of it but the caller does,
    /// from here on. Of events, and of memory that is kept until unload, the caller holds no reference, nor does what
    /// it calls use one after the step that frees what it refers to.
    pub(crate) unsafe fn begin() -> Self {
        // INVARIANT: The caller promises it.
        Self(())
    }
}

/// Memory that unload frees.
trait LateMemory: Sync {
    /// Frees it.
    fn free(&self, _: &Unloading);
}

/// All of it.
static KEPT: &[&dyn LateMemory] = &[
    &load::SEATS,
    &noise::NOISES,
    &recursion::RECORDING,
    &scratch::PLACES,
    &scratch::MORE,
    &stack::PLACES,
    &user_memory::PLACES,
];

/// Frees the memory, which nothing uses any more: the last step of unloading.
pub(crate) fn exit(unloading: Unloading) {
    for memory in KEPT {
        memory.free(&unloading);
    }
}

/// A `T` for each CPU, once it was made.
///
/// # Invariants
///
/// The address is 0, or the exposed one of a box that goes in [`LateMemory::free`] only.
pub(super) struct LazyPerCpu<T> {
    address: SharedU64,
    of: PhantomData<PerCpu<T>>,
}

impl<T: Send + Sync + 'static> LazyPerCpu<T> {
    /// Returns one without values.
    pub(super) const fn new() -> Self {
        // INVARIANT: It is 0.
        Self {
            address: SharedU64::zero(),
            of: PhantomData,
        }
    }

    /// Returns where the values are; null when there are none.
    #[inline(always)]
    fn address(&self) -> *mut PerCpu<T> {
        // Acquire: pairs with the exchange in `prepare`.
        ptr::with_exposed_provenance_mut(self.address.load_acquire() as usize)
    }

    /// Returns the values, until [`LateMemory::free`].
    #[inline(always)]
    pub(super) fn values(&self) -> Option<&PerCpu<T>> {
        // SAFETY: Null, or that of a box (invariant) that stays until `free`, when no borrow is left (invariant of
        // `Unloading`).
        unsafe { self.address().as_ref() }
    }

    /// Makes the values, unless they are there. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the first error of `make`.
    pub(super) fn prepare(&self, make: impl FnMut(u32) -> Result<T>) -> Result {
        if self.values().is_some() {
            return Ok(());
        }
        let mut values = KBox::new(PerCpu::new(make)?, GFP_KERNEL)?;
        let address = (&raw mut *values).expose_provenance();
        // INVARIANT: From a box, which stays. One that comes too late is dropped.
        if self.address.cas(0, address as u64) {
            KBox::leak(values);
        }
        Ok(())
    }

    /// Returns the value of `cpu`, if there can be such a CPU, until [`LateMemory::free`].
    pub(super) fn of(&self, cpu: u32) -> Option<&T> {
        self.values()?.of(cpu)
    }

    /// Returns the value of this CPU.
    #[inline(always)]
    pub(super) fn this<'a>(&'a self, pin: &'a CpuPin) -> Option<&'a T> {
        Some(self.values()?.this(pin))
    }
}

impl<T: Send + Sync + 'static> LateMemory for LazyPerCpu<T> {
    fn free(&self, _: &Unloading) {
        let values = self.address();
        self.address.store(0);
        if !values.is_null() {
            // SAFETY: From a box (invariant), which has no user left (invariant of `Unloading`); its address was taken
            // away just now, so that this is done once.
            drop(unsafe { KBox::from_raw(values) });
        }
    }
}
