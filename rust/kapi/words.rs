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
    marker::PhantomData,
    ptr, //
};

/// A number that one instruction loads or stores whole.
trait WholeNumber: Copy {}

impl WholeNumber for u64 {}
impl WholeNumber for u8 {}

/// A word in memory that no access tears.
#[repr(transparent)]
struct Word<T = u64>(UnsafeCell<T>);

// SAFETY: All accesses are single instructions on an aligned number.
unsafe impl<T: WholeNumber> Sync for Word<T> {}

impl<T: WholeNumber> Word<T> {
    const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Loads the word: `READ_ONCE()`.
    #[inline(always)]
    fn load(&self) -> T {
        // SAFETY: The word exists while it is borrowed. Volatile: one `mov`, in the order of the other
        // accesses here.
        unsafe { self.0.get().read_volatile() }
    }

    /// Stores the word: `WRITE_ONCE()`.
    #[inline(always)]
    fn store(&self, value: T) {
        // SAFETY: The word exists while it is borrowed, and may be changed at any time. Volatile: one
        // `mov`, in the order of the other accesses here.
        unsafe { self.0.get().write_volatile(value) };
    }
}

/// A word that one CPU writes: `local_t`.
#[repr(transparent)]
pub(crate) struct LocalU64(Word);

/// A word that all CPUs write.
#[repr(transparent)]
pub(crate) struct SharedU64(Word);

/// A byte that a task alone changes, and interrupts of it.
#[repr(transparent)]
pub(crate) struct SharedU8(Word<u8>);

impl SharedU8 {
    /// Returns a byte that holds 0.
    pub(crate) const fn zero() -> Self {
        Self(Word::new(0))
    }

    /// Loads the byte.
    #[inline(always)]
    pub(crate) fn load(&self) -> u8 {
        self.0.load()
    }

    /// Stores the byte.
    #[inline(always)]
    pub(crate) fn store(&self, value: u8) {
        self.0.store(value);
    }
}

/// The word of active writers is the second one of a ring. Assembly has no operands in memory, only
/// addresses in registers, and that of the ring is in one anyway.
const RING_TO_WORD: usize = 8;

impl LocalU64 {
    /// Returns its address.
    #[inline(always)]
    fn address(&self) -> *mut u64 {
        self.0 .0.get()
    }

    /// Increments a word of a table, by one instruction that makes the address as well; `None` if there is none at that
    /// place. As [`LocalWord::increment`].
    #[inline(always)]
    pub(crate) fn increment_at(table: &[Self], at: usize) -> Option<()> {
        if at >= table.len() {
            return None;
        }
        // SAFETY: It changes a word of the table alone, which exists while that is borrowed: there are more than `at`.
        unsafe {
            asm!("inc qword ptr [{p} + {at} * 8]", p = in(reg) table.as_ptr(), at = in(reg) at,
                options(nostack))
        };
        Some(())
    }

    /// Returns the address [`RING_TO_WORD`] bytes before it, to be used with them added.
    #[inline(always)]
    fn ring(&self) -> *mut u64 {
        self.address().wrapping_byte_sub(RING_TO_WORD)
    }
}

impl SharedU64 {
    /// Returns whether each bit of the word is set, by one instruction that loads it as well.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        // SAFETY: It compares the word, which exists while it is borrowed.
        unsafe {
            asm!("cmp qword ptr [{p}], -1", "jne {no}", p = in(reg) self.0 .0.get(),
                no = label { return false }, options(nostack, readonly))
        };
        true
    }

    /// Returns a word that holds 0, for statics.
    pub(crate) const fn zero() -> Self {
        Self::of(0)
    }

    /// Returns a word that holds `value`, for statics.
    pub(crate) const fn of(value: u64) -> Self {
        Self(Word::new(value))
    }

    /// Stores 0, and returns what was there. Fully ordered. Any context.
    #[inline(always)]
    pub(crate) fn take(&self) -> u64 {
        let value: u64;
        // SAFETY: It changes the word alone, which exists while it is borrowed. Without a prefix, as the exchange always
        // has LOCK.
        unsafe {
            asm!("xchg qword ptr [{p}], {v}", p = in(reg) self.0 .0.get(),
                v = inout(reg) 0u64 => value, options(nostack, preserves_flags))
        };
        value
    }

    /// Sets or clears `bit`. Any context. It orders nothing when the bit is as wanted already.
    pub(crate) fn mark(&self, bit: u64, on: bool) {
        loop {
            let old = self.load();
            let new = if on { old | bit } else { old & !bit };
            // Each failure is another writer's success.
            if old == new || self.cas(old, new) {
                return;
            }
        }
    }
}

/// A pointer that all CPUs load and store; what it points to is its users' matter.
#[repr(transparent)]
pub(crate) struct SharedPtr<T> {
    address: SharedU64,
    target: PhantomData<fn() -> *mut T>,
}

impl<T> SharedPtr<T> {
    /// Returns a null pointer, for statics.
    pub(crate) const fn null() -> Self {
        Self {
            address: SharedU64::zero(),
            target: PhantomData,
        }
    }

    /// Returns one that is `to`.
    pub(crate) fn new(to: *mut T) -> Self {
        Self {
            address: SharedU64::of(to.expose_provenance() as u64),
            target: PhantomData,
        }
    }

    /// Loads it. What is loaded through it is loaded after it. Any context.
    #[inline(always)]
    pub(crate) fn load(&self) -> *mut T {
        ptr::with_exposed_provenance_mut(self.address.load() as usize)
    }

    /// Loads it; later accesses stay after it. Any context.
    #[inline(always)]
    pub(crate) fn load_acquire(&self) -> *mut T {
        ptr::with_exposed_provenance_mut(self.address.load_acquire() as usize)
    }

    /// Stores `to`; earlier accesses stay before it.
    pub(crate) fn store_release(&self, to: *mut T) {
        self.address.store_release(to.expose_provenance() as u64);
    }

    /// Stores `to`, and returns what was there. Fully ordered.
    pub(crate) fn exchange(&self, to: *mut T) -> *mut T {
        loop {
            let before = self.load();
            // Each failure is another exchange that succeeded.
            if self.replace(before, to) {
                return before;
            }
        }
    }

    /// Stores `to` if it is `from`; returns whether it was. Fully ordered. Any context.
    #[inline(always)]
    pub(crate) fn replace(&self, from: *mut T, to: *mut T) -> bool {
        let (from, to) = (from.addr() as u64, to.expose_provenance() as u64);
        self.address.cas(from, to)
    }
}

// SAFETY: Each operation is one instruction, so interrupts of this CPU come before or after it. The
// compiler keeps the order of volatile accesses and of assembly without `nomem`. An aligned `mov` is
// never torn.
unsafe impl LocalWord for LocalU64 {
    fn new(value: u64) -> Self {
        Self(Word::new(value))
    }

    #[inline(always)]
    fn get(&self) -> u64 {
        self.0.load()
    }

    #[inline(always)]
    fn is_one(&self) -> bool {
        // SAFETY: It compares the word, which exists while it is borrowed.
        unsafe {
            asm!("cmp qword ptr [{p} + {RING_TO_WORD}], 1", "jne {no}", p = in(reg) self.ring(),
                RING_TO_WORD = const RING_TO_WORD, no = label { return false },
                options(nostack, readonly))
        };
        true
    }

    #[inline(always)]
    fn set(&self, value: u64) {
        self.0.store(value);
    }

    #[inline(always)]
    fn add(&self, value: u64) {
        // SAFETY: It changes the word alone, which exists while it is borrowed.
        unsafe {
            asm!("add qword ptr [{p}], {v}", p = in(reg) self.address(), v = in(reg) value,
                options(nostack))
        };
    }

    #[inline(always)]
    fn increment(&self) {
        // SAFETY: It changes the word alone, which exists while it is borrowed.
        unsafe {
            asm!("inc qword ptr [{p} + {RING_TO_WORD}]", p = in(reg) self.ring(),
                RING_TO_WORD = const RING_TO_WORD, options(nostack))
        };
    }

    #[inline(always)]
    fn decrement_to_zero(&self) -> bool {
        // SAFETY: It changes the word alone, which exists while it is borrowed.
        unsafe {
            asm!("dec qword ptr [{p} + {RING_TO_WORD}]", "jne {no}", p = in(reg) self.ring(),
                RING_TO_WORD = const RING_TO_WORD, no = label { return false }, options(nostack))
        };
        true
    }

    #[inline(always)]
    fn cmpxchg(&self, old: u64, new: u64) -> bool {
        // SAFETY: It changes the word alone, which exists while it is borrowed.
        unsafe {
            asm!("cmpxchg qword ptr [{p}], {n}", "jne {changed}", p = in(reg) self.address(),
                n = in(reg) new, inout("rax") old => _,
                changed = label { return false }, options(nostack))
        };
        true
    }
}

/// Keeps the compiler from moving an access to memory across it: `barrier()`.
#[inline(always)]
pub(super) fn barrier() {
    // SAFETY: There is no instruction in it.
    unsafe { asm!("", options(nostack, preserves_flags)) };
}

// SAFETY: Each operation is one instruction on an aligned word. x86 orders loads with later accesses and
// stores with earlier ones, so that a plain `mov` acquires and releases; the barrier keeps the compiler
// to it. LOCK orders fully.
unsafe impl SharedWord for SharedU64 {
    fn new(value: u64) -> Self {
        Self(Word::new(value))
    }

    #[inline(always)]
    fn load(&self) -> u64 {
        self.0.load()
    }

    #[inline(always)]
    fn load_acquire(&self) -> u64 {
        let value = self.load();
        barrier();
        value
    }

    #[inline(always)]
    fn store(&self, value: u64) {
        self.0.store(value);
    }

    #[inline(always)]
    fn store_release(&self, value: u64) {
        barrier();
        self.store(value);
    }

    #[inline(always)]
    fn cas(&self, old: u64, new: u64) -> bool {
        let same: u8;
        // SAFETY: It changes the word alone, which exists while it is borrowed.
        unsafe {
            asm!("lock cmpxchg qword ptr [{p}], {n}", "sete {s}", p = in(reg) self.0 .0.get(),
                n = in(reg) new, s = out(reg_byte) same, inout("rax") old => _, options(nostack))
        };
        same != 0
    }
}
