// SPDX-License-Identifier: GPL-2.0
//! One sub-buffer: its bytes and the words about it. The only place that touches raw bytes.
//!
//! No reference to the whole of the bytes ever exists while writers use them: a writer owns its
//! reservation, a reader the committed prefix, and those never overlap.

use core::cell::UnsafeCell;
use core::ptr;
use core::ptr::NonNull;
use core::sync::atomic::{compiler_fence, Ordering};

use super::port::{LocalWord, Memory, Port, SharedWord};
use super::pos::Pos;
use super::wire::{self, EventSize};

/// A sub-buffer and what is known of it.
pub(crate) struct SubBuf<P: Port> {
    /// Changed by the reader while the sub-buffer is its own; loaded by whoever the rules of slots let
    /// use the bytes, and by nobody else.
    memory: UnsafeCell<P::Memory>,
    /// Position up to which all is final; tagged with the sequence number. Outermost writer.
    pub(crate) commit: P::Shared,
    /// Number of the first event of the sub-buffer since the ring began. Outermost writer.
    pub(crate) base: P::Local,
    /// Time of the event at offset 0. Its writer.
    pub(crate) stamp: P::Local,
    /// Position where the data ended when the writers left it. The writer that crossed.
    pub(crate) end: P::Local,
    /// Events of the sub-buffer that became padding. Any writer; emptied by the outermost.
    pub(crate) padded: P::Local,
}

impl<P: Port> SubBuf<P> {
    /// A sub-buffer that nobody uses.
    pub(crate) fn new(memory: P::Memory) -> Self {
        Self {
            memory: UnsafeCell::new(memory),
            commit: P::Shared::new(0),
            base: P::Local::new(0),
            stamp: P::Local::new(0),
            end: P::Local::new(0),
            padded: P::Local::new(0),
        }
    }

    /// The memory. For whoever may use the bytes, or while nobody uses the ring.
    #[inline(always)]
    pub(crate) fn memory(&self) -> &P::Memory {
        // SAFETY: only `exchange` changes it, whose caller keeps all others out.
        unsafe { &*self.memory.get() }
    }

    /// Exchanges the memory for `other`, which has the same size.
    ///
    /// # Safety
    ///
    /// The sub-buffer belongs to the caller, who is the reader, and no writer is in it. Nobody holds
    /// what [`Self::memory`] or [`Self::at`] gave.
    pub(crate) unsafe fn exchange(&self, other: &mut P::Memory) {
        // SAFETY: nobody else uses the cell (precondition). Writers get here only after the reader
        // has given the sub-buffer back, by a fully ordered CAS.
        unsafe { ptr::swap(self.memory.get(), other) };
    }

    /// Forgets what it held; its first event will be number `event`. While nobody uses the ring.
    pub(crate) fn begin(&self, event: u64) {
        if self.memory().size() != 0 {
            // SAFETY: there is memory, and nobody else uses it.
            unsafe { self.clear_head() };
        }
        // Tag 0 is older than any number in use.
        self.commit.store(0);
        self.base.set(event);
        self.stamp.set(0);
        self.end.set(0);
        self.padded.set(0);
    }

    /// Makes the header that of an empty sub-buffer.
    ///
    /// # Safety
    ///
    /// As for [`Self::put_head`].
    pub(crate) unsafe fn clear_head(&self) {
        // SAFETY: by the contract.
        unsafe { self.put_head(wire::LENGTH_AT, 0) };
        // SAFETY: by the contract.
        unsafe { self.put_head(wire::STAMP_AT, 0) };
    }

    /// The time of the event at offset 0.
    ///
    /// # Safety
    ///
    /// As for [`Self::put_head`].
    #[inline(always)]
    pub(crate) unsafe fn set_stamp(&self, time: u64) {
        self.stamp.set(time);
        // SAFETY: by the contract.
        unsafe { self.put_head(wire::STAMP_AT, time) };
    }

    /// All up to `pos`, `len` bytes of data, is final.
    ///
    /// # Safety
    ///
    /// As for [`Self::put_head`].
    #[inline(always)]
    pub(crate) unsafe fn publish(&self, pos: Pos, len: u32) {
        // A program that has the memory mapped may look at the length without asking anybody, so the
        // events come first, of which this is the compiler's part; x86-64 keeps stores in order. And
        // behind it the commit: who was told of that by the reader looks at the length next.
        compiler_fence(Ordering::Release);
        // SAFETY: by the contract.
        unsafe { self.put_head(wire::LENGTH_AT, u64::from(len)) };
        // Release: pairs with `committed`. All events up to here are complete, for their writers
        // have left.
        self.commit.store_release(pos.0);
    }

    /// Stores a word of the header. Nothing in here reads it: it is for those who have the memory
    /// mapped.
    ///
    /// # Safety
    ///
    /// `at` is one of the two places; the caller may use the bytes, of which there are some. One
    /// caller at a time stores: the outermost writer and who opens it while it is open, then the
    /// reader.
    #[inline(always)]
    pub(super) unsafe fn put_head(&self, at: usize, value: u64) {
        // SAFETY: inside the header (precondition).
        let word = unsafe { self.memory().base().add(at) }.cast::<u64>();
        // SAFETY: in bounds and aligned as above. Volatile: one store, in order with those of the
        // other words, for whoever looks at the same time.
        unsafe { word.write_volatile(value) };
    }

    /// Final part, as loaded by a reader.
    pub(crate) fn committed(&self) -> Pos {
        // Acquire: pairs with the release store of the outermost writer. Without it a reader could
        // see the length before the bytes.
        Pos(self.commit.load_acquire())
    }

    /// Address of the byte at `offset` of the data.
    ///
    /// # Safety
    ///
    /// `offset` is at most the capacity.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, offset: usize) -> NonNull<u8> {
        // SAFETY: the memory holds header and capacity (`Memory`), so the sum stays inside it or
        // one behind.
        unsafe { self.memory().base().add(wire::HEADER.wrapping_add(offset)) }
    }

    /// Stores words at `offset` of the data; returns the address behind them.
    ///
    /// # Safety
    ///
    /// The bytes lie inside the capacity and in the caller's reservation; `offset` is a multiple
    /// of 4.
    #[inline(always)]
    pub(crate) unsafe fn put<const N: usize>(&self, offset: usize, words: [u32; N]) -> NonNull<u8> {
        // SAFETY: in bounds (precondition).
        let at = unsafe { self.at(offset) };
        // SAFETY: by the contract; aligned, since the data begins at 16 of an aligned sub-buffer.
        unsafe { put(at, words) }
    }

    /// Whether `byte` is in this sub-buffer.
    pub(crate) fn owns(&self, byte: NonNull<u8>) -> bool {
        let base = self.memory().base().as_ptr() as usize;
        (byte.as_ptr() as usize).wrapping_sub(base) < self.memory().size()
    }

    /// The first `len` bytes of the data.
    ///
    /// # Safety
    ///
    /// `len` is at most the capacity, and nobody stores to these bytes while the result is used.
    pub(crate) unsafe fn at_rest(&self, len: u32) -> &[u8] {
        // SAFETY: offset 0 is in bounds.
        let from = unsafe { self.at(0) };
        // SAFETY: so many bytes follow (precondition), initialised (`Memory`) and not stored to
        // (precondition).
        unsafe { core::slice::from_raw_parts(from.as_ptr(), len as usize) }
    }

    /// What the header says: the stamp, and the length with its flags.
    ///
    /// # Safety
    ///
    /// There is memory, and nobody stores to it.
    pub(crate) unsafe fn head(&self) -> (u64, u64) {
        let base = self.memory().base().cast::<u64>();
        // SAFETY: there is memory (precondition), so the header is there, whose first word is the
        // stamp; aligned as the memory is, and not stored to meanwhile (precondition).
        let stamp = unsafe { base.read() };
        // SAFETY: the header has two words, so the second one is in bounds.
        let length = unsafe { base.add(1) };
        // SAFETY: in bounds and aligned as the first one; not stored to meanwhile (precondition).
        let length = unsafe { length.read() };
        (stamp, length)
    }

    /// Copies bytes of the data from `offset` on, as many as `out` holds.
    ///
    /// # Safety
    ///
    /// Those bytes are committed and the sub-buffer belongs to the caller, who is the reader: no
    /// writer stores to them during the call.
    pub(crate) unsafe fn copy_owned(&self, offset: u32, out: &mut [u8]) {
        let capacity = self.memory().size().saturating_sub(wire::HEADER);
        let Some(left) = capacity.checked_sub(offset as usize) else {
            return;
        };
        let len = out.len().min(left);
        // SAFETY: `offset` is at most the capacity.
        let from = unsafe { self.at(offset as usize) };
        // SAFETY: `len` bytes follow in this allocation; `out` is a distinct one; nobody writes
        // them (precondition).
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), out.as_mut_ptr(), len) };
    }

    /// Copies the first bytes of the data while a writer may overwrite them. The result means
    /// something only if the caller finds afterwards that none did.
    pub(crate) fn copy_racing(&self, out: &mut [u8]) {
        let len = out
            .len()
            .min(self.memory().size().saturating_sub(wire::HEADER));
        let mut chunks = out.get_mut(..len).unwrap_or(&mut []).chunks_exact_mut(4);
        let mut offset = 0usize;
        for chunk in &mut chunks {
            // SAFETY: `offset + 4` is at most `len`, thus at most the capacity.
            let word = unsafe { self.at(offset) }.cast::<u32>();
            // SAFETY: in bounds as above; aligned, since the data begins at 16 of an aligned
            // sub-buffer and `offset` is a multiple of 4. Volatile: a racing store makes the value
            // useless, never the program undefined, and the caller throws it away.
            let value = unsafe { word.read_volatile() };
            chunk.copy_from_slice(&value.to_ne_bytes());
            offset = offset.wrapping_add(4);
        }
    }
}

/// Stores words at an address; returns the one behind them.
///
/// # Safety
///
/// The bytes are in the caller's reservation, and aligned to 4.
#[inline(always)]
pub(super) unsafe fn put<const N: usize>(at: NonNull<u8>, words: [u32; N]) -> NonNull<u8> {
    let mut at = at.cast::<u32>();
    for word in words {
        // SAFETY: in bounds, aligned and nobody else's (precondition).
        unsafe { at.write(word) };
        // SAFETY: at most one behind the bytes.
        at = unsafe { at.add(1) };
    }
    at.cast()
}

/// Stores what stands in front of a payload; returns where that begins.
///
/// # Safety
///
/// So many bytes as `size` says are there in the caller's reservation, aligned to 4.
#[inline(always)]
pub(super) unsafe fn begin_event(at: NonNull<u8>, size: EventSize, delta: u32) -> NonNull<u8> {
    let header = wire::header(size.type_len, delta);
    if size.type_len == 0 {
        // SAFETY: by the contract; an event with a length word has at least 124 bytes.
        unsafe { put(at, [header, size.length_word()]) }
    } else {
        // SAFETY: by the contract; an event has at least 8 bytes.
        unsafe { put(at, [header]) }
    }
}

/// The bytes of memory that is in no ring.
///
/// # Safety
///
/// No sub-buffer has it, and nobody holds an address of it from the time when one had.
pub(crate) unsafe fn bytes_of<M: Memory>(memory: &mut M) -> &mut [u8] {
    // SAFETY: so many initialised bytes, owned by the value, which is borrowed (`Memory`); no other
    // access (precondition).
    unsafe { core::slice::from_raw_parts_mut(memory.base().as_ptr(), memory.size()) }
}
