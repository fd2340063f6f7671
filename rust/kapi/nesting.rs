// SPDX-License-Identifier: GPL-2.0

//! How deep writers are inside each other that record what other events lead to: such an event may lead to
//! itself.
//!
//! Each CPU counts for itself. A writer that interrupts another counts on, and has left before that goes on.

use super::{
    late::LazyPerCpu,
    percpu::CpuPin,
    words::LocalU64, //
};
use crate::ring::port::LocalWord;
use kernel::prelude::*;

/// Most writers inside each other on a CPU, as many as ftrace has.
const MOST: u64 = 4;

/// How many there are.
pub(super) static DEPTH: LazyPerCpu<LocalU64> = LazyPerCpu::new();

/// Allocates the counts. Process context.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn prepare() -> Result {
    DEPTH.prepare(|_| Ok(LocalWord::new(0)))
}

/// A writer that is counted as long as this is.
pub(crate) struct NestedWriter<'p>(&'p LocalU64);

impl<'p> NestedWriter<'p> {
    /// Counts one more on this CPU; nothing when there are too many. Any context.
    pub(crate) fn enter(pin: &'p CpuPin) -> Option<Self> {
        // Not by an optional reference to the count: the compiler would ask of it whether it is null.
        let depth = DEPTH.values()?.this(pin);
        (depth.get() < MOST).then(|| {
            depth.add(1);
            Self(depth)
        })
    }
}

impl Drop for NestedWriter<'_> {
    fn drop(&mut self) {
        // Writers that came in between have left.
        self.0.set(self.0.get().wrapping_sub(1));
    }
}
