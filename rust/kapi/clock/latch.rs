// SPDX-License-Identifier: GPL-2.0

//! What nanosecond does the kernel make of the cycle counter now?
//!
//! The kernel keeps, per CPU, factor, shift and offset in a latch: two copies and a sequence number.
//! While the number is odd the first copy is being changed, while it is even the second one may be; the
//! number never goes back. [`now`] uses the first copy and no other. It has no result while that one
//! is being changed, which takes some nanoseconds of a boot or of a change of frequency.
//!
//! A resume sets other offsets under the same number, on one CPU that nothing else runs on. It is seen
//! too, because nothing is kept here.
//!
//! This file uses core alone, so that tools/ringtest (`latch`) can run it beside a thread that changes
//! the parameters: in a program on the host the base of `gs` is 0.

use core::arch::asm;

/// `data[0].cyc2ns_mul` of `struct cyc2ns`, 4 bytes.
pub(crate) const MUL: u32 = 0;
/// `data[0].cyc2ns_shift`, 4 bytes.
pub(crate) const SHIFT: u32 = 4;
/// `data[0].cyc2ns_offset`, 8 bytes.
pub(crate) const OFFSET: u32 = 8;
/// `seq`, 4 bytes.
pub(crate) const SEQUENCE: u32 = 32;
/// Bytes that are read.
pub(crate) const SIZE: u32 = SEQUENCE + 4;

/// The value of `sched_clock()` when it is `(cycles * mul >> shift) + offset`; `None` while the
/// parameters are changed. Any context; preemption is disabled.
///
/// 11 instructions, and two for the caller to look whether there is a value. x86 keeps the order of
/// loads: with the same even number in front of and behind those of the parameters, no change of the
/// first copy was under way in between.
///
/// # Safety
///
/// The [`SIZE`] bytes at `gs:place` can be read and have that layout.
#[inline(always)]
pub(crate) unsafe fn now(place: u64) -> Option<u64> {
    let time: u64;
    let changed: u32;
    // SAFETY: Only reads, by the contract. The shift is below 64, for `shrd` takes six bits of it.
    unsafe {
        asm!(
            "mov {changed:e}, dword ptr gs:[{place} + {SEQUENCE}]",
            "rdtsc",
            "shl rdx, 32",
            "or rax, rdx",
            "mov edx, dword ptr gs:[{place} + {MUL}]",
            "mul rdx",
            "mov ecx, dword ptr gs:[{place} + {SHIFT}]",
            "shrd rax, rdx, cl",
            "add rax, qword ptr gs:[{place} + {OFFSET}]",
            // An odd number is no longer equal to itself.
            "and {changed:e}, -2",
            "xor {changed:e}, dword ptr gs:[{place} + {SEQUENCE}]",
            place = in(reg) place,
            changed = out(reg) changed,
            out("rax") time,
            out("rdx") _,
            out("rcx") _,
            MUL = const MUL,
            SHIFT = const SHIFT,
            OFFSET = const OFFSET,
            SEQUENCE = const SEQUENCE,
            options(nostack, readonly)
        )
    };
    (changed == 0).then_some(time)
}
