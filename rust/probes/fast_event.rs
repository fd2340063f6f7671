// SPDX-License-Identifier: GPL-2.0

//! An event that the fast path has reserved, until it is committed.
//!
//! A [`Reservation`](crate::ring::reservation::Reservation) gives its event up when it is dropped, for which its
//! function needs a frame, and borrows the ring from the value that keeps its writer on the CPU. This one is
//! committed by its owner and by nothing else, and has that value with it. What is left to do when the fast path out
//! of the ring does not end is a value, too, so that no writer takes the slow path out of a ring in which it is not.
//! tools/guest/native measures with this source, too.

use super::{
    exit::{
        leave,
        ExitRing, //
    },
    Sink, //
};
use crate::{
    buffers::rings::OwnRing,
    ring::{
        packed::PackedSize,
        writer::FastCommit, //
    }, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull,
    slice, //
};

/// A value that has a ring and keeps its writer on the CPU that owns it.
pub(crate) trait RingHolder {
    /// Returns the ring.
    fn own_ring(&self) -> OwnRing<'_>;
}

impl RingHolder for OwnRing<'_> {
    #[inline(always)]
    fn own_ring(&self) -> OwnRing<'_> {
        *self
    }
}

impl RingHolder for ExitRing<'_> {
    #[inline(always)]
    fn own_ring(&self) -> OwnRing<'_> {
        self.ring()
    }
}

/// How many bytes an event has.
pub(super) trait EventBytes {
    /// The number, one that the fast path takes.
    const LEN: usize;
    /// The same for the ring.
    const SIZE: PackedSize = PackedSize::new(Self::LEN);
}

/// So many.
pub(super) struct Bytes<const LEN: usize>;

impl<const LEN: usize> EventBytes for Bytes<LEN> {
    const LEN: usize = LEN;
}

/// An event in the ring of `holder`: two registers.
///
/// # Invariants
///
/// `entry` is where the payload of `B::LEN` bytes begins. It is that of the last reservation in this ring that is not
/// over, which has nothing but a header before it.
#[must_use = "the writer stays in the ring"]
#[repr(C)]
pub(super) struct FastEvent<H, B> {
    holder: H,
    entry: NonNull<u8>,
    bytes: PhantomData<B>,
}

impl<H: RingHolder, B: EventBytes> FastEvent<H, B> {
    /// Reserves one, at the time that `time` gives.
    ///
    /// # Errors
    ///
    /// The holder, when the fast path has declined: the writer has entered, and the slow path must follow.
    #[inline(always)]
    pub(super) fn reserve(holder: H, time: impl FnOnce() -> Option<u64>) -> Result<Self, H> {
        let writer = holder.own_ring().writer();
        let reserved = writer.reserve_fast(B::LEN, B::SIZE, time).ok();
        // Taken apart at once: a reservation that had to be dropped would need a frame.
        match reserved.map(|reserved| reserved.into_raw()) {
            Some((entry, bits)) => {
                debug_assert_eq!(bits, 0);
                // INVARIANT: It was reserved just now, of so many bytes, by the fast path.
                Ok(Self {
                    holder,
                    entry,
                    bytes: PhantomData,
                })
            }
            None => Err(holder),
        }
    }

    /// Returns the payload, whose content is unknown.
    #[inline(always)]
    pub(super) fn payload(&mut self) -> &mut [u8] {
        // SAFETY: So many bytes are this writer's until it commits (invariant), inside memory of the ring; `&mut self`
        // keeps it the only reference.
        unsafe { slice::from_raw_parts_mut(self.entry.as_ptr(), B::LEN) }
    }

    /// Commits the event by the fast path. The caller then has readers to tell.
    ///
    /// # Errors
    ///
    /// What is left to do.
    #[inline(always)]
    pub(super) fn commit(self) -> Result<H, UnfinishedCommit<H>> {
        // SAFETY: The last reservation in this ring that is not over is this one (invariant).
        unsafe { commit_last(self.holder) }
    }

    /// Commits the event in any case, and tells the readers of `sink`, whose ring it is in. Returns the holder.
    #[inline(always)]
    pub(super) fn finish(self, sink: &Sink) -> H {
        match self.commit() {
            Ok(holder) => {
                if !sink.waker().is_quiet() {
                    sink.waker().published();
                }
                holder
            }
            Err(UnfinishedCommit::Inside(inside)) => inside.leave(sink),
            Err(UnfinishedCommit::Early(early)) => early.leave(sink),
        }
    }
}

/// Commits an event by the fast path, as [`FastEvent::commit`] does.
///
/// # Safety
///
/// The last reservation in the ring of `holder` that is not over is that of the event.
#[inline(always)]
pub(crate) unsafe fn commit_last<H: RingHolder>(holder: H) -> Result<H, UnfinishedCommit<H>> {
    // SAFETY: The caller promises the reservation.
    let outcome = unsafe { holder.own_ring().writer().commit_fast() };
    // INVARIANT: The fast path out of this ring has ended so just now.
    match outcome {
        Ok(()) => Ok(holder),
        Err(FastCommit::NotTried) => Err(UnfinishedCommit::Inside(RingPresence(holder))),
        Err(FastCommit::Raced) => Err(UnfinishedCommit::Early(EarlyLeave(holder))),
    }
}

/// What is left to do of a commit.
pub(crate) enum UnfinishedCommit<H> {
    Inside(RingPresence<H>),
    Early(EarlyLeave<H>),
}

/// The writer has not left the ring.
///
/// # Invariants
///
/// The fast path out of the ring of the holder has not been tried.
#[must_use = "the writer stays in the ring"]
#[repr(transparent)]
pub(crate) struct RingPresence<H>(H);

impl<H: RingHolder> RingPresence<H> {
    /// Takes the slow path out of the ring, one of `sink`, and wakes readers.
    #[inline(always)]
    pub(crate) fn leave(self, sink: &Sink) -> H {
        // SAFETY: The fast path out of this ring said so (invariant).
        unsafe { leave(sink, self.0.own_ring(), FastCommit::NotTried) };
        self.0
    }
}

/// The writer has left the ring before others, which came meanwhile, had their events published.
///
/// # Invariants
///
/// The fast path out of the ring of the holder has ended so.
#[must_use = "events are not published"]
#[repr(transparent)]
pub(crate) struct EarlyLeave<H>(H);

impl<H: RingHolder> EarlyLeave<H> {
    /// Takes the slow path out of the ring, one of `sink`, and wakes readers.
    #[inline(always)]
    pub(crate) fn leave(self, sink: &Sink) -> H {
        // SAFETY: The fast path out of this ring said so (invariant).
        unsafe { leave(sink, self.0.own_ring(), FastCommit::Raced) };
        self.0
    }
}
