// SPDX-License-Identifier: GPL-2.0

//! The words of a ring on x86-64: those of one CPU without LOCK, the shared ones with it.
//!
//! The kernel's `local_t` is inline assembly of C, and its `Atomic` calls a function for every
//! operation on a stock kernel, which is too dear once per event.

use crate::ring::port::{
    LocalWord,
    SharedWord, //
};
use core::{
    arch::asm,
    cell::UnsafeCell,
    num::NonZero,
    ptr::NonNull, //
};

/// A word that one CPU writes: `local_t`.
#[repr(transparent)]
pub(crate) struct LocalU64(UnsafeCell<u64>);

/// A word that all CPUs write.
#[repr(transparent)]
pub(crate) struct SharedU64(UnsafeCell<u64>);

/// The word of active writers is the second one of a ring. Assembly has no operands in memory, only
/// addresses in registers, and that of the ring is in one anyway.
const IN_FRONT: usize = 8;

impl LocalU64 {
    /// The address so many bytes in front, to be used with them added.
    #[inline(always)]
    fn in_front(&self) -> *mut u64 {
        self.0.get().wrapping_byte_sub(IN_FRONT)
    }
}

impl SharedU64 {
    /// A word that holds 0, for statics.
    pub(crate) const fn zero() -> Self {
        Self(UnsafeCell::new(0))
    }
}

// SAFETY: All accesses are single instructions on an aligned word.
unsafe impl Sync for LocalU64 {}
// SAFETY: As above.
unsafe impl Sync for SharedU64 {}

/// `READ_ONCE()`.
///
/// # Safety
///
/// `word` is valid.
#[inline(always)]
unsafe fn load(word: *const u64) -> u64 {
    // SAFETY: By the contract. Volatile: one `mov`, ordered against the other accesses here.
    unsafe { word.read_volatile() }
}

// SAFETY: Each operation is one instruction, so interrupts of this CPU come before or after it. The
// compiler keeps the order of volatile accesses and of assembly without `nomem`. An aligned `mov` is
// never torn.
unsafe impl LocalWord for LocalU64 {
    fn new(value: u64) -> Self {
        Self(UnsafeCell::new(value))
    }

    #[inline(always)]
    fn get(&self) -> u64 {
        // SAFETY: `self` is valid.
        unsafe { load(self.0.get()) }
    }

    #[inline(always)]
    fn is_one(&self) -> bool {
        // SAFETY: `self` is valid.
        unsafe {
            asm!("cmp qword ptr [{p} + {IN_FRONT}], 1", "jne {no}", p = in(reg) self.in_front(),
                IN_FRONT = const IN_FRONT, no = label { return false }, options(nostack, readonly))
        };
        true
    }

    #[inline(always)]
    fn set(&self, value: u64) {
        // SAFETY: `self` is valid; other CPUs only load the word.
        unsafe { self.0.get().write_volatile(value) };
    }

    #[inline(always)]
    fn add(&self, value: u64) {
        // SAFETY: As above.
        unsafe {
            asm!("add qword ptr [{p}], {v}", p = in(reg) self.0.get(), v = in(reg) value,
                options(nostack))
        };
    }

    #[inline(always)]
    fn increment(&self) {
        // SAFETY: As above.
        unsafe {
            asm!("inc qword ptr [{p} + {IN_FRONT}]", p = in(reg) self.in_front(),
                IN_FRONT = const IN_FRONT, options(nostack))
        };
    }

    #[inline(always)]
    fn decrement_to_zero(&self) -> bool {
        // SAFETY: As above.
        unsafe {
            asm!("dec qword ptr [{p} + {IN_FRONT}]", "jne {no}", p = in(reg) self.in_front(),
                IN_FRONT = const IN_FRONT, no = label { return false }, options(nostack))
        };
        true
    }

    #[inline(always)]
    fn cmpxchg(&self, old: u64, new: u64) -> bool {
        // SAFETY: As above.
        unsafe {
            asm!("cmpxchg qword ptr [{p}], {n}", "jne {changed}", p = in(reg) self.0.get(),
                n = in(reg) new, inout("rax") old => _,
                changed = label { return false }, options(nostack))
        };
        true
    }
}

/// `barrier()`: the compiler moves no access to memory across it.
#[inline(always)]
pub(super) fn barrier() {
    // SAFETY: No instruction.
    unsafe { asm!("", options(nostack, preserves_flags)) };
}

/// See [`crate::ring::port::Port::behind`].
#[inline(always)]
pub(super) fn behind<const BYTES: usize>(base: NonNull<u8>, words: u64) -> NonNull<u8> {
    base.map_addr(|base| {
        let at: usize;
        // SAFETY: Only makes a number.
        unsafe {
            asm!("lea {at}, [{base} + {words}*4 + {BYTES}]", at = lateout(reg) at, base = in(reg) base.get(),
                words = in(reg) words, BYTES = const BYTES,
                options(nomem, nostack, preserves_flags))
        };
        // SAFETY: Nobody asks for an address at the end of all.
        unsafe { NonZero::new_unchecked(at) }
    })
}

// SAFETY: As above. x86 orders loads with later accesses and stores with earlier ones, so that a
// plain `mov` acquires and releases; the barrier keeps the compiler to it. LOCK orders fully.
unsafe impl SharedWord for SharedU64 {
    fn new(value: u64) -> Self {
        Self(UnsafeCell::new(value))
    }

    #[inline(always)]
    fn load(&self) -> u64 {
        // SAFETY: `self` is valid.
        unsafe { load(self.0.get()) }
    }

    #[inline(always)]
    fn load_acquire(&self) -> u64 {
        let value = self.load();
        barrier();
        value
    }

    #[inline(always)]
    fn store(&self, value: u64) {
        // SAFETY: `self` is valid.
        unsafe { self.0.get().write_volatile(value) };
    }

    #[inline(always)]
    fn store_release(&self, value: u64) {
        barrier();
        self.store(value);
    }

    #[inline(always)]
    fn cas(&self, old: u64, new: u64) -> bool {
        let same: u8;
        // SAFETY: `self` is valid.
        unsafe {
            asm!("lock cmpxchg qword ptr [{p}], {n}", "sete {s}", p = in(reg) self.0.get(),
                n = in(reg) new, s = out(reg_byte) same, inout("rax") old => _, options(nostack))
        };
        same != 0
    }
}
