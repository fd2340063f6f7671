// SPDX-License-Identifier: GPL-2.0

//! Which contexts of a CPU are recording a call of a function: what they call themselves is not recorded.
//!
//! A task, a soft interrupt, a hard one and an NMI can be inside each other, and each records once. One that
//! interrupts another has left before that goes on.

use super::{
    context,
    late::LazyPerCpu,
    percpu::CpuPin,
    words::LocalU64, //
};
use crate::{
    event::context::{
        interrupt_level,
        is_usual_level, //
    },
    ring::port::LocalWord, //
};
use kernel::prelude::*;

/// One bit for each context that records.
pub(super) static RECORDING: LazyPerCpu<LocalU64> = LazyPerCpu::new();

/// Allocates the bits. Process context.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn prepare() -> Result {
    RECORDING.prepare(|_| Ok(LocalWord::new(0)))
}

/// Returns the bit of a context that is not the usual one, by its preemption counter.
#[cold]
#[inline(never)]
fn bit_in_interrupt(count: u64) -> u64 {
    1u64.wrapping_shl(interrupt_level(count))
}

/// Calls `record` unless this context records already, and returns whether it has. Any context.
///
/// An interrupt whose first functions run before the kernel counts it is taken for the context that it interrupts.
#[inline(always)]
pub(crate) fn record_once(pin: &CpuPin, record: impl FnOnce()) -> bool {
    // Not by an optional reference to the bits: the compiler would ask of it whether it is null.
    let Some(values) = RECORDING.values() else {
        return false;
    };
    let all = values.this(pin);
    let count = context::preempt_count();
    let own = match is_usual_level(count) {
        true => 1,
        false => bit_in_interrupt(count),
    };
    let before = all.get();
    if before & own != 0 {
        return false;
    }
    // Who interrupts here has cleared its bit when this goes on.
    all.set(before | own);
    record();
    all.set(all.get() & !own);
    true
}
