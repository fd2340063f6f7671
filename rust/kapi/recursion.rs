// SPDX-License-Identifier: GPL-2.0

//! Which contexts of a CPU are recording a call of a function: what they call themselves is not recorded.
//!
//! A task, a soft interrupt, a hard one and an NMI can be inside each other, and each records once. One that
//! interrupts another has left before that goes on.

use super::{
    context,
    late::Late,
    percpu::CpuPin,
    words::LocalU64, //
};
use crate::{
    event::context::interrupt_level,
    ring::port::LocalWord, //
};
use kernel::prelude::*;

/// One bit for each context that records.
static RECORDING: Late<LocalU64> = Late::new();

/// Allocates the bits. Process context.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn prepare() -> Result {
    RECORDING.prepare(|_| Ok(LocalWord::new(0)))
}

/// Frees the bits.
///
/// # Safety
///
/// No writer runs any more, and none begins.
pub(crate) unsafe fn exit() {
    // SAFETY: Writers alone use the bits, and the caller promises that none runs.
    unsafe { RECORDING.free() };
}

/// A context that records as long as this is there.
pub(crate) struct RecordingContext<'p> {
    all: &'p LocalU64,
    own: u64,
}

impl<'p> RecordingContext<'p> {
    /// Begins in this context; nothing when it records already. Any context.
    ///
    /// An interrupt whose first functions run before the kernel counts it is taken for the context that it interrupts.
    #[inline(always)]
    pub(crate) fn enter(pin: &'p CpuPin) -> Option<Self> {
        let all = RECORDING.this(pin)?;
        let own = 1u64.wrapping_shl(interrupt_level(context::preempt_count()));
        let before = all.get();
        if before & own != 0 {
            return None;
        }
        // Who interrupts here has cleared its bit when this goes on.
        all.set(before | own);
        Some(Self { all, own })
    }
}

impl Drop for RecordingContext<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.all.set(self.all.get() & !self.own);
    }
}
