// SPDX-License-Identifier: GPL-2.0
//! A ring, its writer and its reader.

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::arch::x86_64::_rdtsc;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::ring::cpu::{CpuRing, Parts, ReaderState};
use crate::ring::port::{Memory, Port, SharedWord};
use crate::ring::reader::Reader;
use crate::ring::subbuf::SubBuf;
use crate::ring::writer::Writer;
use crate::words::{self, LocalU64, SharedU64};

/// Bytes of a sub-buffer: a page.
const SUBBUF: usize = 4096;

/// The memory of a sub-buffer.
///
/// # Invariants
///
/// An allocation of `SUBBUF` bytes, aligned to that, which this value owns.
struct Block(NonNull<u8>);

impl Block {
    const LAYOUT: Layout = match Layout::from_size_align(SUBBUF, SUBBUF) {
        Ok(layout) => layout,
        Err(_) => panic!("not a power of two"),
    };

    fn new() -> Self {
        // SAFETY: the layout has a size.
        let base = unsafe { alloc_zeroed(Self::LAYOUT) };
        match NonNull::new(base) {
            Some(base) => Block(base),
            None => handle_alloc_error(Self::LAYOUT),
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the value owns the allocation and its layout is the same.
        unsafe { dealloc(self.0.as_ptr(), Self::LAYOUT) };
    }
}

// SAFETY: by the invariant; it was zeroed.
unsafe impl Memory for Block {
    #[inline(always)]
    fn base(&self) -> NonNull<u8> {
        self.0
    }
    fn size(&self) -> usize {
        SUBBUF
    }
}

/// What a reader takes sub-buffers into.
pub struct Image(Block);

impl Image {
    /// A page.
    #[expect(clippy::new_without_default, reason = "it allocates")]
    pub fn new() -> Self {
        Image(Block::new())
    }
}

// SAFETY: memory that the value owns, of no thread in particular.
unsafe impl Send for Image {}

/// The host.
struct Host;

// SAFETY: `Vec` derefs to one slice.
unsafe impl Port for Host {
    type Local = LocalU64;
    type Shared = SharedU64;
    type Memory = Block;
    type Table<T> = Vec<T>;
    type Left = u64;

    #[inline(always)]
    fn read_barrier() {
        // x86 keeps loads in order; the compiler must, too.
        words::barrier();
    }
}

/// The ring of one writing thread, which overwrites its oldest events.
pub struct Ring {
    ring: CpuRing<Host>,
    state: UnsafeCell<ReaderState>,
}

impl Ring {
    /// Returns an empty ring of `bytes` bytes.
    ///
    /// # Panics
    ///
    /// If they are too few for two sub-buffers.
    pub fn new(bytes: usize) -> Self {
        let slots = bytes / SUBBUF;
        let parts = Parts {
            slots: (0..slots).map(|_| SharedWord::new(0)).collect(),
            subbufs: (0..=slots).map(|_| SubBuf::new(Block::new())).collect(),
        };
        match CpuRing::new(parts, SUBBUF) {
            Ok((ring, state)) => Ring {
                ring,
                state: UnsafeCell::new(state),
            },
            Err(why) => panic!("a ring of {bytes} bytes: {why:?}"),
        }
    }

    /// Returns its writer and its reader, for two threads.
    pub fn ends(&mut self) -> (Write<'_>, Take<'_>) {
        let ring = &*self;
        let own = PhantomData;
        (Write { ring, own }, Take { ring })
    }
}

// SAFETY: threads share it through `ends` alone, which makes one writer and one reader: the words
// are `Sync`, the bytes of sub-buffers are shared by the rules of `ring`, the state is the
// reader's.
unsafe impl Sync for Ring {}

/// The writer. It stays in the thread that writes first: it is not `Sync`, and nothing interrupts
/// it.
pub struct Write<'a> {
    ring: &'a Ring,
    own: PhantomData<std::cell::Cell<()>>,
}

/// The time: that of the cycle counter.
#[inline(always)]
fn now() -> u64 {
    // SAFETY: every x86-64 has it.
    unsafe { _rdtsc() }
}

impl Write<'_> {
    #[inline(always)]
    fn writer(&self) -> Writer<'_, Host> {
        // SAFETY: the only writer of this ring, which only its thread uses; a write inside another
        // one ends before that goes on.
        unsafe { self.ring.ring.writer() }
    }

    /// Writes an event of `N` bytes, with `inside` between its reservation and its commit. Says
    /// whether it was recorded.
    #[inline(always)]
    pub fn event_around<const N: usize>(&self, inside: impl FnOnce()) -> bool {
        let Ok(mut reserved) = self.writer().reserve(N, now) else {
            return false;
        };
        for (i, word) in (0u64..).zip(reserved.payload().chunks_exact_mut(8)) {
            word.copy_from_slice(&i.to_ne_bytes());
        }
        inside();
        reserved.commit();
        true
    }

    /// Writes an event of `N` bytes. Returns whether it was recorded.
    #[inline(always)]
    pub fn event<const N: usize>(&self) -> bool {
        self.event_around::<N>(|| ())
    }
}

/// The reader.
pub struct Take<'a> {
    ring: &'a Ring,
}

impl Take<'_> {
    fn reader(&mut self) -> Reader<'_, Host> {
        // SAFETY: the only reader, and `&mut self` keeps it that.
        let state = unsafe { &mut *self.ring.state.get() };
        // SAFETY: `new` made the two together.
        unsafe { self.ring.ring.reader(state) }
    }

    /// Takes the next sub-buffer. Returns whether there was one.
    pub fn subbuf(&mut self, image: &mut Image) -> bool {
        self.reader().take(&mut image.0, false) == Ok(true)
    }

    /// Returns how many events were written, and how many of them were taken or overwritten.
    pub fn counts(&mut self) -> (u64, u64) {
        let stats = self.reader().stats();
        (stats.written, stats.read.wrapping_add(stats.overrun))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_recorded() {
        let mut ring = Ring::new(8 * SUBBUF);
        let (write, mut take) = ring.ends();
        assert!(write.event_around::<16>(|| assert!(write.event::<64>())));
        assert_eq!(take.counts(), (2, 0));
        assert!(take.subbuf(&mut Image::new()));
        assert!(!take.subbuf(&mut Image::new()));
        assert_eq!(take.counts(), (2, 2));
    }

    #[test]
    fn old_events_are_overwritten() {
        let mut ring = Ring::new(2 * SUBBUF);
        let (write, mut take) = ring.ends();
        for _ in 0..1000 {
            assert!(write.event::<16>());
        }
        while take.subbuf(&mut Image::new()) {}
        assert_eq!(take.counts(), (1000, 1000));
    }
}
