// SPDX-License-Identifier: GPL-2.0

//! The clocks of `trace_clock`.

use super::c;
use crate::text::clock::ClockId;
use core::arch::asm;
use kernel::{
    bindings,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// The clock `counter`: events of all instances.
static COUNTER: Atomic<i64> = Atomic::new(0);

/// Reads `clock`. Any context, NMI included; preemption is disabled.
///
/// `local` is `sched_clock()`, what the kernel's `trace_clock_local()` calls.
#[inline(always)]
pub(crate) fn read(clock: ClockId) -> u64 {
    if clock == ClockId::Local {
        // SAFETY: No requirements.
        return unsafe { c::sched_clock() };
    }
    read_other(clock)
}

#[inline(never)]
fn read_other(clock: ClockId) -> u64 {
    // SAFETY: None of these functions has requirements; all are made for tracing in any context.
    unsafe {
        match clock {
            ClockId::Local => c::sched_clock(),
            ClockId::Global => bindings::trace_clock_global(),
            ClockId::Counter => COUNTER.fetch_add(1, Relaxed).wrapping_add(1) as u64,
            ClockId::Uptime => bindings::trace_clock_jiffies(),
            ClockId::Perf => bindings::trace_clock(),
            ClockId::Mono => bindings::ktime_get_mono_fast_ns(),
            ClockId::MonoRaw => bindings::ktime_get_raw_fast_ns(),
            ClockId::Boot => bindings::ktime_get_boot_fast_ns(),
            ClockId::Tai => bindings::ktime_get_tai_fast_ns(),
            ClockId::X86Tsc => tsc(),
        }
    }
}

/// `rdtsc_ordered()`.
fn tsc() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: Reads the counter.
    unsafe {
        asm!("lfence", "rdtsc", out("rax") low, out("rdx") high,
            options(nostack, preserves_flags))
    };
    (high << 32) | low
}
