// SPDX-License-Identifier: GPL-2.0

//! The nanosecond that the kernel makes of the cycle counter now.
//!
//! The kernel keeps, per CPU, factor, shift and offset in a latch: two copies and a sequence number.
//! While the number is odd the first copy is being changed, while it is even the second one may be; the
//! number never goes back. The first copy is used here and no other.
//!
//! Factor and shift are one number, [`factor`], that each CPU keeps in its `rt_scale` with the even number
//! of the latch that it was made for. [`now`] has a result only when the latch still has that number; else
//! the CPU makes it anew ([`refresh`]), once for each change: some nanoseconds of a boot or of a change of
//! frequency.
//!
//! A resume sets other offsets under the same number, on one CPU that nothing else runs on. So the offset
//! is the kernel's at each reading.
//!
//! # Why the two belong together
//!
//! A CPU alone uses its `rt_scale`, with preemption disabled: a context there that comes between two
//! instructions of another one runs to its end. `busy` turns away a [`refresh`] inside of another one, so
//! they store one after the other, and no number is older than the one stored before.
//!
//! - At every instant the factor is that of the number beside it, or the latch has gone on from that number.
//!   [`refresh`] looks at the number first: when the latch still has it, the parameters are its own. It
//!   stores the factor first: until the number follows, an older one is beside it, or the same.
//! - [`now`] loads the number first and looks at the latch last. The latch had the number before that was
//!   stored and has it at the end. So it had it all the time, the first copy did not change, and whatever
//!   was stored meanwhile is of this number. x86 keeps the order of loads.
//! - Were the number loaded after the factor, a context in between could store another one of each.
//!
//! A number comes round after 2^31 changes. A CPU that nothing reads the clock on during all of them, and at
//! that very number again, would believe an old factor.
//!
//! This file uses core alone, so that tools/ringtest (`latches`) can run it beside a thread that changes
//! the parameters: in a program on the host the base of `gs` is 0.

use super::rt_scale;
use core::{
    arch::asm,
    mem::{
        offset_of,
        size_of, //
    }, //
};

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

/// A counter that is not beyond this when the module is loaded stays below 2^63, which [`now`] wants, for
/// the years that a machine runs.
pub(crate) const FARTHEST: u64 = 1 << 62;

/// Returns what twice the cycles are multiplied with, so that the upper half of the product is
/// `cycles * mul >> shift`, to the bit, as long as there are less than 2^63 cycles. `None` where it needs
/// more than 64 bits: a cycle is two nanoseconds or more.
pub(crate) fn factor(mul: u32, shift: u32) -> Option<u64> {
    let mul = u64::from(mul);
    let up = 63_u32.checked_sub(shift)?;
    (mul.leading_zeros() >= up).then(|| mul.wrapping_shl(up))
}

/// Returns the value of `sched_clock()` when it is `(cycles * mul >> shift) + offset`; `None` while the
/// parameters are changed, and before this CPU's [`refresh`] after a change. Any context; preemption is
/// disabled.
///
/// # Safety
///
/// The [`SIZE`] bytes at `gs:place` can be read and have that layout.
#[inline(always)]
pub(crate) unsafe fn now(place: u64) -> Option<u64> {
    let time: u64;
    let number: u32;
    // SAFETY: It reads a per-CPU variable of ours and the offset of the latch, which the caller says is
    // there.
    unsafe {
        asm!(
            "mov {number:e}, dword ptr gs:[rip + {scale} + {NUMBER}]",
            "rdtsc",
            // Both halves, twice.
            "shl rdx, 33",
            "lea rax, [rdx + rax * 2]",
            "mul qword ptr gs:[rip + {scale} + {FACTOR}]",
            "add rdx, qword ptr gs:[{place} + {OFFSET}]",
            place = in(reg) place,
            scale = sym rt_scale,
            number = out(reg) number,
            out("rax") _,
            out("rdx") time,
            FACTOR = const offset_of!(rt_scale, factor),
            NUMBER = const offset_of!(rt_scale, sequence),
            OFFSET = const OFFSET,
            options(nostack, readonly)
        );
    }
    // After it: the compiler keeps the order of such blocks.
    // SAFETY: It reads the number of the latch, which the caller says is there.
    unsafe {
        asm!(
            "cmp {number:e}, dword ptr gs:[{place} + {SEQUENCE}]",
            "jne {changed}",
            place = in(reg) place,
            number = in(reg) number,
            changed = label { return None },
            SEQUENCE = const SEQUENCE,
            options(nostack, readonly)
        );
    }
    Some(time)
}

/// Makes this CPU's factor for [`now`], unless the parameters are being changed or make a longer one; then
/// that of an older number stays. Any context; preemption is disabled.
///
/// # Safety
///
/// As for [`now`].
pub(crate) unsafe fn refresh(place: u64) {
    if get::<{ offset_of!(rt_scale, busy) }>() != 0 {
        return;
    }
    set::<{ offset_of!(rt_scale, busy) }>(1);
    let (number, mul, shift): (u32, u32, u32);
    // SAFETY: It reads words of the latch, which the caller says are there.
    unsafe {
        asm!(
            "mov {number:e}, dword ptr gs:[{place} + {SEQUENCE}]",
            "mov {mul:e}, dword ptr gs:[{place} + {MUL}]",
            "mov {shift:e}, dword ptr gs:[{place} + {SHIFT}]",
            place = in(reg) place,
            number = out(reg) number,
            mul = out(reg) mul,
            shift = lateout(reg) shift,
            SEQUENCE = const SEQUENCE,
            MUL = const MUL,
            SHIFT = const SHIFT,
            options(nostack, preserves_flags, readonly)
        );
    }
    // Were they changed after the look at the number, no reader finds that number in the latch again.
    let factor = factor(mul, shift).filter(|_| number & 1 == 0);
    if let Some(factor) = factor {
        set_factor(factor);
        set::<{ offset_of!(rt_scale, sequence) }>(number);
    }
    set::<{ offset_of!(rt_scale, busy) }>(0);
}

/// Returns whether there is a word of 4 bytes at `at` in `rt_scale`.
const fn is_inside(at: usize) -> bool {
    at % 4 == 0 && at <= size_of::<rt_scale>().wrapping_sub(4)
}

/// Returns a word of this CPU's `rt_scale`. As for [`set`], it stays where it is.
#[inline(always)]
fn get<const AT: usize>() -> u32 {
    const { assert!(is_inside(AT)) };
    let word;
    // SAFETY: It reads a word that is inside of a per-CPU variable of ours (asserted).
    unsafe {
        asm!("mov {word:e}, dword ptr gs:[rip + {scale} + {AT}]", scale = sym rt_scale,
            word = lateout(reg) word, AT = const AT, options(nostack, preserves_flags, readonly))
    };
    word
}

/// Stores a word of this CPU's `rt_scale`. The compiler keeps the order of these.
#[inline(always)]
fn set<const AT: usize>(word: u32) {
    const { assert!(is_inside(AT)) };
    // SAFETY: It stores a word that is inside of a per-CPU variable of ours (asserted); any number may be
    // there.
    unsafe {
        asm!("mov dword ptr gs:[rip + {scale} + {AT}], {word:e}", scale = sym rt_scale, word = in(reg) word,
            AT = const AT, options(nostack, preserves_flags))
    };
}

/// Stores the factor of this CPU's `rt_scale`. As [`set`].
#[inline(always)]
fn set_factor(factor: u64) {
    // SAFETY: It stores the factor in a per-CPU variable of ours; any number may be there.
    unsafe {
        asm!("mov qword ptr gs:[rip + {scale} + {FACTOR}], {factor}", scale = sym rt_scale,
            factor = in(reg) factor, FACTOR = const offset_of!(rt_scale, factor),
            options(nostack, preserves_flags))
    };
}
