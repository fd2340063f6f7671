// SPDX-License-Identifier: GPL-2.0
//! What a writer holds between reserve and commit, and how it is given up.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::slice;

use super::port::{LocalWord, Port, SharedWord};
use super::pos::{Pos, Seq};
use super::slot::{SlotWord, State};
use super::time::Stamp;
use super::violation::Violation;
use super::watermark::Publication;
use super::wire::{self, EventSize};
use super::writer::{FastCommit, Writer};

/// Bytes in the ring that belong to one writer. Dropping it discards the event: half an event is
/// never published. Forgetting one stalls publication on this CPU and breaks no memory.
#[must_use = "an event that is not committed is discarded"]
pub(crate) struct Reservation<'a, P: Port> {
    pub(super) writer: Writer<'a, P>,
    pub(super) payload: NonNull<u8>,
    pub(super) len: usize,
    pub(super) prefix: EventPrefix,
}

/// What precedes the payload besides the header: whether a time record, whether a length word.
#[derive(Clone, Copy)]
pub(super) struct EventPrefix(u64);

const STAMPED: u64 = 1;
const LONG: u64 = 2;

impl EventPrefix {
    /// Only a header.
    pub(super) const PLAIN: Self = Self(0);
    /// A header and a length word.
    pub(super) const LONG_ALONE: Self = Self(LONG);

    #[inline(always)]
    pub(super) const fn new(size: EventSize, stamp: Stamp) -> Self {
        let stamped = if stamp.record_size() == 0 { 0 } else { STAMPED };
        let long = if size.type_len == 0 { LONG } else { 0 };
        Self(stamped | long)
    }
    const fn is_plain(self) -> bool {
        self.0 == Self::PLAIN.0
    }
    /// Returns the bytes of the header and of the length word.
    fn header(self) -> u32 {
        match self.0 & LONG {
            0 => 4,
            _ => 8,
        }
    }
    /// Returns the bytes of the time record.
    fn record(self) -> u32 {
        match self.0 & STAMPED {
            0 => 0,
            _ => wire::STAMP_SIZE,
        }
    }
}

impl<'a, P: Port> Reservation<'a, P> {
    /// Returns the payload, whose content is unknown.
    #[inline(always)]
    pub(crate) fn payload(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes from `payload` are this writer's from D until it leaves, inside
        // initialised memory of the ring that `writer` borrows; `&mut self` keeps it the only
        // reference.
        unsafe { slice::from_raw_parts_mut(self.payload.as_ptr(), self.len) }
    }

    /// Commits the event. Returns what the caller has to tell readers: the outermost writer
    /// publishes the events of all.
    #[inline(always)]
    pub(crate) fn commit(self) -> Publication {
        let this = ManuallyDrop::new(self);
        this.writer.exit()
    }

    /// Discards the event. Returns, as [`Self::commit`] does, what the caller has to tell readers:
    /// events of writers that came in between. At the start of a sub-buffer it may do so without
    /// need.
    #[inline(always)]
    pub(crate) fn discard(self) -> Publication {
        let this = ManuallyDrop::new(self);
        this.give_up()
    }

    /// Takes the reservation apart for a writer in C. Returns the payload, and a token of two bits
    /// that [`Self::from_raw`] wants back.
    #[inline(always)]
    pub(crate) fn into_raw(self) -> (NonNull<u8>, u64) {
        let this = ManuallyDrop::new(self);
        (this.payload, this.prefix.0)
    }

    /// Returns the reservation that [`Self::into_raw`] took apart.
    ///
    /// # Safety
    ///
    /// - `payload` and `token` are from one `into_raw` of this writer's ring.
    /// - They are used once.
    /// - The reservations made since then on this CPU are over (I2).
    #[inline(always)]
    pub(crate) unsafe fn from_raw(writer: Writer<'a, P>, payload: NonNull<u8>, token: u64) -> Self {
        let mut this = Self {
            writer,
            payload,
            len: 0,
            prefix: EventPrefix(token),
        };
        this.len = this.room() as usize;
        this
    }
}

impl<P: Port> Drop for Reservation<'_, P> {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl<P: Port> Reservation<'_, P> {
    /// Discards the event: the bytes go back if no writer has written after them, else they become
    /// padding that keeps the time chain.
    fn give_up(&self) -> Publication {
        match self
            .prefix
            .is_plain()
            .then(|| self.give_up_fast())
            .flatten()
        {
            Some(published) => published,
            None => self.give_up_slow(),
        }
    }

    /// Discards an event of the most frequent kind: it has only a header, and no writer has come
    /// since its own entered, nor does before this is done. Then all is as it was before the event,
    /// down to the time of the one before it. Returns what the caller has to tell readers, if the
    /// writer has left.
    #[inline(always)]
    fn give_up_fast(&self) -> Option<Publication> {
        let ring = self.writer.ring;
        let w = &ring.w;
        let pos = Pos(w.pos.get());
        // After the load: the position is the end of our event.
        if !w.nest.is_alone() {
            return None;
        }
        let delta = wire::delta_of(self.header());
        let back = ring.layout.roll_back(pos, self.total());
        let time = w.times.take_back(delta);
        if !w.pos.cmpxchg(pos.0, back.0) {
            w.times.put_again(time);
            return None;
        }
        w.times.store_end(back);
        Some(match w.nest.leave() {
            true => Publication::Nothing,
            false => self.writer.exit_slow(FastCommit::Raced),
        })
    }

    /// Discards any event, as [`Self::give_up`] says.
    #[cold]
    #[inline(never)]
    fn give_up_slow(&self) -> Publication {
        let ring = self.writer.ring;
        let w = &ring.w;
        let layout = &*ring.layout;
        let total = self.total();
        // Sub-buffers are aligned to their size, so the address tells the offset.
        let in_subbuf = (self.payload.as_ptr() as usize) & layout.size().wrapping_sub(1);
        let start = (in_subbuf as u32)
            .wrapping_sub(wire::HEADER as u32)
            .wrapping_sub(self.prefix.header())
            .wrapping_sub(self.prefix.record());
        let end = start.wrapping_add(total);
        // Before the cmpxchg: after it the position may be met once more, and our time is not that
        // of the event that ends there.
        w.nest.go_slow();
        w.times.forget();
        let pos = Pos(w.pos.get());
        let here = layout.offset(pos) == end && self.is_in(layout.seq(pos));
        let back = layout.roll_back(pos, total);
        if !here || !w.pos.cmpxchg(pos.0, back.0) {
            self.pad(start, total);
            return self.writer.exit();
        }
        let published = ring
            .open_subbuf(layout.seq(pos))
            .map_or(back, |subbuf| subbuf.committed());
        // Nothing is new when everything before our event had been published and nothing has come
        // since. The position is read last: a writer that comes before we leave publishes nothing
        // itself, and one that comes later does.
        let same = layout.seq(published) == layout.seq(back) && layout.offset(published) == start;
        match self.writer.exit() {
            Publication::Events if same && w.pos.get() == back.0 => Publication::Nothing,
            told => told,
        }
    }

    /// Returns for how many bytes of payload there is room. The event's own header says so, which
    /// no other writer changes before we leave.
    fn room(&self) -> u32 {
        let word = self.header();
        match self.prefix.0 & LONG {
            0 => (word & wire::TYPE_LEN) << 2,
            _ => word.wrapping_sub(4),
        }
    }

    /// Returns the word before the payload: the header, or the length word after it.
    fn header(&self) -> u32 {
        // SAFETY: a word of the header precedes the payload, in the same memory (`begin_event`).
        let word = unsafe { self.payload.cast::<u32>().sub(1) };
        // SAFETY: in bounds and aligned to 4, as all of an event is; this writer stored it, and no
        // other one changes it before this one leaves.
        unsafe { word.read() }
    }

    /// Returns the bytes from the time record to the end of the payload.
    fn total(&self) -> u32 {
        let front = self.prefix.record().wrapping_add(self.prefix.header());
        self.room().wrapping_add(front)
    }

    fn is_in(&self, seq: Seq) -> bool {
        let ring = self.writer.ring;
        ring.open_subbuf(seq).is_some_and(|p| p.owns(self.payload))
    }

    /// Turns the event into padding and its own time.
    #[cold]
    fn pad(&self, start: u32, total: u32) {
        let ring = self.writer.ring;
        let time = ring.w.times.time_of(ring.w.nest.level());
        // The event is in an open sub-buffer: we have not left it. Others must not be looked at:
        // the reader may be exchanging their memory.
        let last = ring.layout.seq(Pos(ring.w.pos.get()));
        let first = ring.w.closing.get();
        let mut open = (first..=last).filter_map(|seq| {
            let s = SlotWord::from_raw(ring.slot(seq)?.load());
            let is_open = s.seq() == seq && s.state() == Some(State::Open);
            ring.subbuf(s.index()).filter(|_| is_open)
        });
        let Some(subbuf) = open.find(|p| p.owns(self.payload)) else {
            ring.set_broken(Violation::Place);
            return;
        };
        let stamp = wire::time_record(wire::TIME_STAMP, time);
        if total > wire::STAMP_SIZE {
            let rest = total.wrapping_sub(wire::STAMP_SIZE);
            // SAFETY: the reservation, `total` bytes from `start`, is this writer's until `exit`,
            // and these are its first 8; events of more than 8 bytes have at least 16. `start` is a
            // multiple of 4.
            unsafe { subbuf.put(start as usize, wire::padding(rest)) };
            // SAFETY: these are the last 8 bytes of the reservation, at a multiple of 4, as all
            // sizes of events are.
            unsafe { subbuf.put(start.wrapping_add(rest) as usize, stamp) };
        } else {
            // SAFETY: these are the 8 bytes of the reservation, at a multiple of 4.
            unsafe { subbuf.put(start as usize, stamp) };
        }
        subbuf.padded.add(1);
    }
}
