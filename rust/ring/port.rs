// SPDX-License-Identifier: GPL-2.0
//! What the core asks of the platform: words, tables and memory.
//!
//! The kernel implements this in `kapi::port`; host tests implement it with words that run a whole
//! nested writer between any two operations. Nothing here knows which of the two it is.

use core::ops::Deref;
use core::ptr::NonNull;

/// A word that only the owning CPU writes, and that its interrupts may write between any two
/// operations. Other CPUs may load it and get some recent value.
///
/// # Safety
///
/// Each operation is one indivisible step as seen by interrupts of the owning CPU, is neither
/// merged with nor reordered by the compiler against other operations of this trait and of
/// [`SharedWord`], and a load from another CPU never sees a torn value.
pub(crate) unsafe trait LocalWord: Sized {
    /// Returns a word that holds `value`.
    fn new(value: u64) -> Self;
    /// Loads the word.
    fn get(&self) -> u64;
    /// Loads the word; returns whether it holds 1.
    #[inline(always)]
    fn is_one(&self) -> bool {
        self.get() == 1
    }
    /// Stores the word.
    fn set(&self, value: u64);
    /// Adds, wrapping.
    fn add(&self, value: u64);
    /// Adds 1, wrapping.
    fn increment(&self);
    /// Subtracts 1, wrapping; returns whether the word holds 0 then.
    fn decrement_to_zero(&self) -> bool;
    /// Stores `new` if the word holds `old`; returns whether it did.
    fn cmpxchg(&self, old: u64, new: u64) -> bool;
}

/// A word that any CPU may write.
///
/// # Safety
///
/// As for [`LocalWord`], for all CPUs; `load_acquire`, `store_release` and a successful `cas` order
/// as the Linux kernel memory model says of acquire, release and fully ordered operations.
pub(crate) unsafe trait SharedWord: Sized {
    /// Returns a word that holds `value`.
    fn new(value: u64) -> Self;
    /// Loads with no order.
    fn load(&self) -> u64;
    /// Loads; later accesses stay after it.
    fn load_acquire(&self) -> u64;
    /// Stores with no order.
    fn store(&self, value: u64);
    /// Stores; earlier accesses stay before it.
    fn store_release(&self, value: u64);
    /// Stores `new` if the word holds `old`; returns whether it did. Fully ordered on success.
    fn cas(&self, old: u64, new: u64) -> bool;
}

/// The memory of one sub-buffer.
///
/// # Safety
///
/// `base` always returns the same address, that of at least `size` bytes (a power of two), which
/// are initialised, owned by this value until it is dropped, and aligned to `size`; others only load
/// from them, unless the owner has them do more. A `size` of 0
/// is legal: it stands for memory that another value has (see `resize`). At `base` are then the
/// bytes of a header, aligned to 8, which such values may share: what is stored there is lost.
pub(crate) unsafe trait Memory {
    /// Returns the address of the first byte: the sub-buffer header.
    fn base(&self) -> NonNull<u8>;
    /// Returns the number of bytes at `base`.
    fn size(&self) -> usize;
}

/// The platform.
///
/// # Safety
///
/// `Table::deref` always returns the same slice.
pub(crate) unsafe trait Port: 'static {
    /// See [`LocalWord`].
    type Local: LocalWord;
    /// See [`SharedWord`].
    type Shared: SharedWord;
    /// See [`Memory`].
    type Memory: Memory;
    /// An owned array of fixed length.
    type Table<T>: Deref<Target = [T]>;
    /// What the owner of a ring leaves in its gate (`cpu::GateWord`), where its writers find it.
    type Left: Into<u64>;

    /// Orders earlier loads before later loads (`smp_rmb()`).
    fn read_barrier();

    /// Returns `base + 4 * words + BYTES`. The kernel's port computes it once, so that the compiler
    /// keeps the sum and not its operands.
    ///
    /// # Safety
    ///
    /// The byte at that address is in the same memory as `base`, or the address is the end of it.
    #[inline(always)]
    unsafe fn behind<const BYTES: usize>(base: NonNull<u8>, words: u64) -> NonNull<u8> {
        // SAFETY: the sum is in the memory of `base` or at its end (precondition).
        unsafe { base.add(((words << 2) as usize).wrapping_add(BYTES)) }
    }
}
