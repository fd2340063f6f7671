// SPDX-License-Identifier: GPL-2.0

//! Calls of the clocks that are functions. tools/guest/native measures with this source, too.

use crate::kapi::c;
use core::arch::asm;

/// Calls a clock. What the calling function gets as its arguments stays where it is, so that it needs no
/// frame for this call.
macro_rules! called {
    ($clock:path) => {{
        let time: u64;
        // SAFETY: The function takes no argument and may be called in any context; C changes no register
        // that is not named here.
        unsafe {
            asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "call {clock}",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                clock = sym $clock,
                lateout("rax") time,
                lateout("rcx") _,
                lateout("r8") _,
                lateout("r9") _,
                lateout("r10") _,
                lateout("r11") _,
            );
        }
        time
    }};
}

/// Calls `sched_clock()`. Any context.
#[inline(always)]
pub(crate) fn sched_clock() -> u64 {
    called!(c::sched_clock)
}

/// Calls `ktime_get_mono_fast_ns()`. Any context.
#[inline(always)]
pub(crate) fn mono() -> u64 {
    called!(c::ktime_get_mono_fast_ns)
}
