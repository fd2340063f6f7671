// SPDX-License-Identifier: GPL-2.0

//! Memory that several CPUs have the address of, and that not all of them use at the same time.
//!
//! The types that have it say who uses it when. Nothing here knows why.

use core::cell::UnsafeCell;
use kernel::prelude::*;

/// A value at an address. Each access says by itself why there is no other one.
#[derive(Zeroable)]
#[repr(transparent)]
pub(super) struct RawCell<T>(UnsafeCell<T>);

// SAFETY: A shared reference gives an address only, and the user of the address says in its own proof
// why it may follow it. By that proof a value may change on a CPU other than the one that made it, so
// it is `Send`.
unsafe impl<T: Send> Sync for RawCell<T> {}

impl<T> RawCell<T> {
    /// Returns one with `value`.
    pub(super) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Returns the address of the value.
    #[inline(always)]
    pub(super) const fn get(&self) -> *mut T {
        self.0.get()
    }
}
