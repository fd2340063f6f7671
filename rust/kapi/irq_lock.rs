// SPDX-License-Identifier: GPL-2.0

//! A lock for what runs inside the scheduler, where no lock of the kernel that may sleep or wake a task up can be
//! taken: interrupts are disabled, and a CPU that finds it held looks again and again.
//!
//! Not for NMI: a CPU that holds the lock is interrupted by nothing that takes it.

use super::{
    irqs,
    raw_cell::RawCell,
    words::SharedU64, //
};
use crate::ring::port::SharedWord;
use core::hint;

/// A value that one CPU at a time uses.
///
/// # Invariants
///
/// A CPU that has changed `held` from 0 to 1 uses the value until it stores 0; no other one does.
pub(crate) struct IrqLock<T> {
    held: SharedU64,
    value: RawCell<T>,
}

impl<T: Send> IrqLock<T> {
    /// Returns one with `value`, for statics.
    pub(crate) const fn new(value: T) -> Self {
        Self {
            held: SharedU64::zero(),
            value: RawCell::new(value),
        }
    }

    /// Calls `f` with the value, with interrupts disabled. `f` neither sleeps nor wakes a task up nor takes this lock,
    /// and takes no longer than a few records. Any context but NMI.
    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        irqs::disabled(|| {
            // Ends: the holder runs with interrupts disabled and waits for nothing.
            while !self.held.cas(0, 1) {
                hint::spin_loop();
            }
            // SAFETY: This CPU alone uses it until the store below (invariant).
            let value = unsafe { &mut *self.value.get() };
            let result = f(value);
            // Release: pairs with the exchange above, which orders all.
            self.held.store_release(0);
            result
        })
    }
}
