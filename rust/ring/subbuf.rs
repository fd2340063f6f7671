// SPDX-License-Identifier: GPL-2.0
//! One sub-buffer: its bytes and the words about it. No other file touches raw bytes.
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

/// A word of the header of a sub-buffer: the place where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum HeadWord {
    /// The time of the first event.
    Stamp = wire::STAMP_AT,
    /// The length of the data, with flags.
    Length = wire::LENGTH_AT,
}

/// A sub-buffer and what is known of it.
pub(crate) struct SubBuf<P: Port> {
    /// Changed by the reader while the sub-buffer is its own; loaded only by those that the rules
    /// of slots let use the bytes.
    memory: UnsafeCell<P::Memory>,
    /// Position up to which all is final; tagged with the sequence number. Outermost writer.
    pub(crate) commit: P::Shared,
    /// Number of the first event of the sub-buffer since the ring began. Outermost writer.
    pub(crate) base: P::Local,
    /// Time of the event at offset 0. Its writer.
    pub(crate) stamp: P::Local,
    /// Position where the data ended when the writers left it. The writer that crossed.
    pub(crate) end: P::Local,
    /// Events of the sub-buffer that became padding. Any writer adds; the outermost sets it to 0.
    pub(crate) padded: P::Local,
}

impl<P: Port> SubBuf<P> {
    /// Returns a sub-buffer that is in no use.
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

    /// Returns the memory. For callers that may use the bytes, or while the ring is in no use.
    #[inline(always)]
    pub(crate) fn memory(&self) -> &P::Memory {
        // SAFETY: only `exchange` changes the cell, whose caller is the reader that owns the
        // sub-buffer and promises that no reference from here is held then.
        unsafe { &*self.memory.get() }
    }

    /// Exchanges the memory for `other`, which has the same size.
    ///
    /// # Safety
    ///
    /// - The sub-buffer belongs to the caller, which is the reader, and no writer is in it.
    /// - Nothing that [`Self::memory`] or [`Self::at`] returned is held: `other` is the caller's
    ///   alone.
    pub(crate) unsafe fn exchange(&self, other: &mut P::Memory) {
        // SAFETY: there is no other reference to the cell (precondition). Writers get here only
        // after the reader has given the sub-buffer back, by a fully ordered CAS.
        unsafe { ptr::swap(self.memory.get(), other) };
    }

    /// Forgets what it held; its first event will be number `event`. While the ring is in no use.
    pub(crate) fn begin(&self, event: u64) {
        self.clear_head();
        // Tag 0 is older than any number in use.
        self.commit.store(0);
        self.base.set(event);
        self.stamp.set(0);
        self.end.set(0);
        self.padded.set(0);
    }

    /// Makes the header that of an empty sub-buffer. For those that may store both words.
    pub(crate) fn clear_head(&self) {
        self.put_head(HeadWord::Length, 0);
        self.put_head(HeadWord::Stamp, 0);
    }

    /// Stores the time of the event at offset 0. For the writer of that event.
    #[inline(always)]
    pub(crate) fn set_stamp(&self, time: u64) {
        self.stamp.set(time);
        self.put_head(HeadWord::Stamp, time);
    }

    /// Makes all up to `pos`, `len` bytes of data, final. For the outermost writer.
    #[inline(always)]
    pub(crate) fn publish(&self, pos: Pos, len: u32) {
        // A program that has the memory mapped may load the length without a call, so the events
        // are stored before it: this is the compiler's part, and x86-64 keeps stores in order. The
        // commit is stored after it: a program that the reader told of the commit loads the length
        // next.
        compiler_fence(Ordering::Release);
        self.put_head(HeadWord::Length, u64::from(len));
        // Release: pairs with `committed`. All events up to here are complete, for their writers
        // have left.
        self.commit.store_release(pos.0);
    }

    /// Stores a word of the header. Readers of the ring do not load it: it is for programs that
    /// have the memory mapped.
    ///
    /// While the sub-buffer is open, its outermost writer and the writer that opened it or its
    /// first event store; then the reader. Of two that stored one word at the same time one would
    /// have its value there.
    #[inline(always)]
    pub(super) fn put_head(&self, at: HeadWord, value: u64) {
        // SAFETY: the word is there, aligned, and only accessed by single instructions (`head_at`).
        // Volatile: one store, in order with those of the other words, for a program that loads it
        // at the same time.
        unsafe { self.head_at(at).write_volatile(value) };
    }

    /// Returns the address of a word of the header. Nothing accesses it but by instructions that
    /// load or store all of it, as long as the sub-buffer has the memory.
    #[inline(always)]
    fn head_at(&self, at: HeadWord) -> NonNull<u64> {
        // SAFETY: both places are inside the header, whose bytes are at the base (`Memory`). They
        // are multiples of 8, as the base is.
        unsafe { self.memory().base().add(at as usize) }.cast()
    }

    /// Returns the end of the final part, as loaded by a reader.
    pub(crate) fn committed(&self) -> Pos {
        // Acquire: pairs with the release store of the outermost writer. Without it a reader could
        // see the length before the bytes.
        Pos(self.commit.load_acquire())
    }

    /// Returns the address of the byte at `offset` of the data.
    ///
    /// # Safety
    ///
    /// The sub-buffer has memory, and `offset` is at most its capacity.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, offset: usize) -> NonNull<u8> {
        // SAFETY: the memory holds header and capacity (`Memory`), so the sum stays inside it or
        // at its end (precondition).
        unsafe { self.memory().base().add(wire::HEADER.wrapping_add(offset)) }
    }

    /// Stores words at `offset` of the data; returns the address after them.
    ///
    /// # Safety
    ///
    /// The bytes lie inside the capacity and in the caller's reservation; `offset` is a multiple
    /// of 4.
    #[inline(always)]
    pub(crate) unsafe fn put<const N: usize>(&self, offset: usize, words: [u32; N]) -> NonNull<u8> {
        // SAFETY: the words lie inside the capacity, so `offset` is at most that (precondition).
        let at = unsafe { self.at(offset) };
        // SAFETY: the bytes are in the caller's reservation (precondition); aligned to 4, since
        // `offset` is and the data begins at 16 of an aligned sub-buffer.
        unsafe { put(at, words) }
    }

    /// Returns whether `byte` is in this sub-buffer.
    pub(crate) fn owns(&self, byte: NonNull<u8>) -> bool {
        let base = self.memory().base().as_ptr() as usize;
        (byte.as_ptr() as usize).wrapping_sub(base) < self.memory().size()
    }

    /// Returns the first `len` bytes of the data.
    ///
    /// # Safety
    ///
    /// - The sub-buffer has memory, and `len` is at most its capacity.
    /// - These bytes are not stored to while the result is used.
    pub(crate) unsafe fn at_rest(&self, len: u32) -> &[u8] {
        // SAFETY: there is memory (precondition), and offset 0 is at most any capacity.
        let from = unsafe { self.at(0) };
        // SAFETY: `len` bytes follow (precondition), initialised (`Memory`) and not stored to
        // (precondition).
        unsafe { core::slice::from_raw_parts(from.as_ptr(), len as usize) }
    }

    /// Returns a word of the header. For the self-test: see [`Self::put_head`].
    pub(crate) fn head(&self, at: HeadWord) -> u64 {
        // SAFETY: the word is there, aligned, and only accessed by single instructions (`head_at`).
        unsafe { self.head_at(at).read_volatile() }
    }

    /// Copies bytes of the data from `offset` on, as many as `out` holds but none after the
    /// capacity.
    ///
    /// # Safety
    ///
    /// Those bytes are committed and the sub-buffer belongs to the caller, which is the reader: no
    /// writer stores to them during the call.
    pub(crate) unsafe fn copy_owned(&self, offset: u32, out: &mut [u8]) {
        let capacity = self.memory().size().saturating_sub(wire::HEADER);
        let Some(left) = capacity.checked_sub(offset as usize) else {
            return;
        };
        let len = out.len().min(left);
        // SAFETY: `offset` is at most the capacity, for the subtraction above did not wrap.
        let from = unsafe { self.at(offset as usize) };
        // SAFETY: `len` bytes follow in this allocation; `out` is a distinct one; no writer stores
        // to them (precondition).
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), out.as_mut_ptr(), len) };
    }

    /// Copies the first bytes of the data while a writer may overwrite them. The result means
    /// something only if the caller finds afterwards that none did.
    pub(crate) fn copy_racing(&self, out: &mut [u8]) {
        let len = out
            .len()
            .min(self.memory().size().saturating_sub(wire::HEADER));
        let mut chunks = out.get_mut(..len).unwrap_or(&mut []).chunks_exact_mut(8);
        let mut offset = 0usize;
        for chunk in &mut chunks {
            // SAFETY: `offset + 8` is at most `len`, thus at most the capacity.
            let word = unsafe { self.at(offset) }.cast::<u64>();
            // SAFETY: its 8 bytes are in bounds; aligned, since the data begins at 16 of an aligned
            // sub-buffer and `offset` is a multiple of 8. Volatile: a racing store makes the value
            // useless, never the program undefined, and the caller throws it away.
            let value = unsafe { word.read_volatile() };
            chunk.copy_from_slice(&value.to_ne_bytes());
            offset = offset.wrapping_add(8);
        }
        // Events have a multiple of 4 bytes.
        if let Some(chunk) = chunks.into_remainder().first_chunk_mut() {
            // SAFETY: `offset + 4` is at most `len`, thus at most the capacity.
            let word = unsafe { self.at(offset) }.cast::<u32>();
            // SAFETY: as above, with 4 bytes.
            *chunk = unsafe { word.read_volatile() }.to_ne_bytes();
        }
    }
}

/// Stores words at an address; returns the address after them.
///
/// # Safety
///
/// The bytes are in the caller's reservation, and aligned to 4.
#[inline(always)]
pub(super) unsafe fn put<const N: usize>(at: NonNull<u8>, words: [u32; N]) -> NonNull<u8> {
    let mut at = at.cast::<u32>();
    for word in words {
        // SAFETY: in bounds, aligned and in the caller's reservation only (precondition).
        unsafe { at.write(word) };
        // SAFETY: the address stays in the caller's bytes or at their end.
        at = unsafe { at.add(1) };
    }
    at.cast()
}

/// Stores what precedes a payload; returns where that begins.
///
/// # Safety
///
/// `at` is aligned to 4, and the bytes that `size` says follow in the caller's reservation.
#[inline(always)]
pub(super) unsafe fn begin_event(at: NonNull<u8>, size: EventSize, delta: u32) -> NonNull<u8> {
    let header = wire::header(size.type_len, delta);
    if size.type_len == 0 {
        // SAFETY: two words are in the reservation (precondition), as an event with a length word
        // has at least 124 bytes; `at` is aligned to 4.
        unsafe { put(at, [header, size.length_word()]) }
    } else {
        // SAFETY: a word is in the reservation (precondition), as an event has at least 8 bytes;
        // `at` is aligned to 4.
        unsafe { put(at, [header]) }
    }
}

/// Returns the bytes of memory that is in no ring: a sub-buffer lends its own to no one for change.
pub(crate) fn bytes_of<M: Memory>(memory: &mut M) -> &mut [u8] {
    // SAFETY: `size` initialised bytes, owned by the value (`Memory`), which is borrowed mutably. So no
    // sub-buffer has it, and no address is in use from the time when one had (`exchange`).
    unsafe { core::slice::from_raw_parts_mut(memory.base().as_ptr(), memory.size()) }
}
