// SPDX-License-Identifier: GPL-2.0

//! The CPU of the task that a tracer of latencies follows. Functions that are called there meanwhile are recorded by
//! instances whose [`Manner`](super::Manner) says so, and calls by those whose [`GraphRules`](super::GraphRules) do.

use crate::{
    kapi::{
        percpu::CpuPin,
        words::SharedU64, //
    },
    ring::port::SharedWord, //
};

/// The number of the CPU, and one more; 0 while no task is followed.
static CPU: SharedU64 = SharedU64::zero();

/// Has the functions of this CPU recorded, or of none. Any context.
pub(crate) fn set_followed_cpu(cpu: Option<u32>) {
    CPU.store(cpu.map_or(0, |cpu| u64::from(cpu).wrapping_add(1)));
}

/// Returns whether the functions of this CPU are recorded. Any context.
#[inline(always)]
pub(super) fn is_here(pin: &CpuPin) -> bool {
    CPU.load() == u64::from(pin.number()).wrapping_add(1)
}
