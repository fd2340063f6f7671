// SPDX-License-Identifier: GPL-2.0

//! The call of `sched_clock()`. tools/guest/native measures with this source, too.

use crate::kapi::c;
use core::arch::asm;

/// Calls `sched_clock()`. Any context.
#[inline(always)]
pub(crate) fn sched_clock() -> u64 {
    let time;
    // What a function gets as its arguments stays where it is, so that it needs no frame for this call.
    // SAFETY: The function takes no argument and may be called in any context; C changes no register that
    // is not named here.
    unsafe {
        asm!(
            "push rdi",
            "push rsi",
            "push rdx",
            "call {sched_clock}",
            "pop rdx",
            "pop rsi",
            "pop rdi",
            sched_clock = sym c::sched_clock,
            lateout("rax") time,
            lateout("rcx") _,
            lateout("r8") _,
            lateout("r9") _,
            lateout("r10") _,
            lateout("r11") _,
        );
    }
    time
}
