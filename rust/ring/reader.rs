// SPDX-License-Identifier: GPL-2.0
//! The consuming reader of one ring: it attaches to or takes the oldest sub-buffer, never waits for
//! a writer, and knows exactly what was lost. [`super::view`] is the reader that consumes nothing.

use super::cpu::{CpuRing, CurrentSubBuf, ReaderState};
use super::cursor::Cursor;
use super::port::{LocalWord, Port, SharedWord};
use super::pos::{Layout, Pos, Seq};
use super::slot::{SlotWord, State};
use super::subbuf::SubBuf;
use super::wire;

/// Turns after which a reader gives up: each repeated turn is a step that a writer made on the same
/// slot meanwhile. The caller tries again later; writers never notice.
const MAX_TURNS: u32 = 64;

/// Writers were faster than the reader all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BusyWriters;

/// Committed data that has not been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnreadData {
    /// The sub-buffer.
    pub(crate) seq: Seq,
    /// Time of its first event.
    pub(crate) stamp: u64,
    /// Where the unread part begins.
    pub(crate) offset: u32,
    /// The time so far, at `offset`.
    pub(crate) time: u64,
    /// Where it ends.
    pub(crate) end: u32,
    /// Events in it.
    pub(crate) events: u64,
    /// Events lost before it.
    pub(crate) lost: u64,
    /// Writers may still add to this sub-buffer.
    pub(crate) open: bool,
}

/// The right to consume: there is one reader at a time.
pub(crate) struct Reader<'a, P: Port> {
    pub(super) ring: &'a CpuRing<P>,
    pub(super) state: &'a mut ReaderState,
}

impl CurrentSubBuf {
    /// Establishes the loss before it, once. `serial` is the number of the event that the reader
    /// expects next.
    #[inline(always)]
    fn count<P: Port>(&mut self, subbuf: &SubBuf<P>, serial: &mut u64) {
        if self.counted {
            return;
        }
        // `base` was stored before the first commit of this sub-buffer.
        self.lost = subbuf.base.get().wrapping_sub(*serial);
        self.counted = true;
        *serial = serial.wrapping_add(self.lost);
    }

    /// Returns what is unread of it when it is committed up to `pos`.
    #[inline(always)]
    fn up_to<P: Port>(&self, subbuf: &SubBuf<P>, pos: Pos, layout: Layout) -> UnreadData {
        let stamp = subbuf.stamp.get();
        UnreadData {
            seq: self.seq,
            stamp,
            offset: self.offset,
            time: if self.offset == 0 { stamp } else { self.time },
            // Never beyond the memory, whatever the word says.
            end: layout.offset(pos).min(layout.capacity()),
            events: layout.count(pos).wrapping_sub(self.events),
            lost: self.lost,
            open: self.attached,
        }
    }
}

impl ReaderState {
    /// Notes that everything before `offset` of sub-buffer `seq`, `events` events up to `time`, has
    /// been read, and that the reader knows what was lost before it. Returns whether that was still
    /// unread.
    ///
    /// Writers have no part in it: the words of the ring are not loaded.
    #[inline(always)]
    pub(crate) fn consume(&mut self, seq: Seq, offset: u32, time: u64, events: u64) -> bool {
        let Some(cur) = self.current.as_mut().filter(|c| c.seq == seq) else {
            return false;
        };
        if offset <= cur.offset {
            return false;
        }
        cur.offset = offset;
        cur.time = time;
        cur.events = cur.events.wrapping_add(events);
        cur.lost = 0;
        self.read = self.read.wrapping_add(events);
        self.serial = self.serial.wrapping_add(events);
        true
    }
}

impl<P: Port> CpuRing<P> {
    /// Returns the right to consume.
    ///
    /// # Safety
    ///
    /// `state` is the one that was made with this ring.
    pub(crate) unsafe fn reader<'a>(&'a self, state: &'a mut ReaderState) -> Reader<'a, P> {
        Reader { ring: self, state }
    }
}

impl<P: Port> Reader<'_, P> {
    /// Returns the bytes of a sub-buffer; they change only while no reader has the right to
    /// consume.
    pub(crate) fn subbuf_size(&self) -> usize {
        self.ring.layout.size()
    }

    /// Returns the next unread data, `None` when all that is committed has been read. Fails with
    /// [`BusyWriters`] when writers were faster all the time.
    pub(crate) fn unread(&mut self) -> Result<Option<UnreadData>, BusyWriters> {
        self.find()
    }

    /// Does what [`Self::unread`] does, for a caller that uses the answer at once: inlined, it need
    /// not go through memory.
    #[inline(always)]
    pub(super) fn find(&mut self) -> Result<Option<UnreadData>, BusyWriters> {
        for _ in 0..MAX_TURNS {
            let Some(cur) = &mut self.state.current else {
                if !self.acquire() {
                    return Ok(None);
                }
                continue;
            };
            let Some(subbuf) = self.ring.subbuf(cur.index) else {
                return Ok(None);
            };
            if let Some(pos) = self.ring.committed_in(subbuf, cur.seq) {
                cur.count(subbuf, &mut self.state.serial);
                let unread = cur.up_to(subbuf, pos, *self.ring.layout);
                if unread.end > unread.offset {
                    return Ok(Some(unread));
                }
            }
            let cur = *cur;
            if !cur.attached {
                self.release(cur);
            } else if !self.detach(cur) {
                return Ok(None);
            }
        }
        Err(BusyWriters)
    }

    /// Goes to the next sub-buffer. Returns whether another look pays, as the state changed or a
    /// writer changed the slot.
    fn acquire(&mut self) -> bool {
        let next = self.state.next;
        let Some(slot) = self.ring.slot(next) else {
            return false;
        };
        // Acquire: a sub-buffer seen Full has its final commit.
        let s = SlotWord::from_raw(slot.load_acquire());
        if s.seq() < next {
            return false;
        }
        if s.seq() > next {
            // Lapped.
            let oldest = self.ring.oldest_beside(s.seq());
            let skipped = oldest.saturating_sub(next);
            self.state.skipped = self.state.skipped.wrapping_add(skipped);
            self.state.next = oldest;
            return true;
        }
        let (target, attached) = match s.state() {
            Some(State::Open) => (s.attach(), true),
            Some(State::Full) => (s.take(self.state.spare), false),
            _ => return false,
        };
        let Some(target) = target else {
            return false;
        };
        // Fully ordered. Attach: our store to `spare` comes first (a writer that sees DETACH uses
        // it). Take: our last reads of the spare come first, our reads of the new one later.
        if slot.cas(s.raw(), target.raw()) {
            self.state.current = Some(CurrentSubBuf {
                seq: next,
                index: s.index(),
                attached,
                offset: 0,
                events: 0,
                time: 0,
                counted: false,
                lost: 0,
                told: 0,
            });
        }
        true
    }

    /// Detaches from a sub-buffer in which all that was committed has been read, if writers have
    /// left it, and returns whether they have; its commit must then be loaded once more, for it is
    /// final only now.
    pub(super) fn detach(&mut self, cur: CurrentSubBuf) -> bool {
        let Some(slot) = self.ring.slot(cur.seq) else {
            return false;
        };
        let s = SlotWord::from_raw(slot.load_acquire());
        if s.seq() == cur.seq {
            let Some(taken) = s.take(self.state.spare) else {
                return false;
            };
            // Failure means that a writer took the spare meanwhile (T3): the sub-buffer is ours
            // either way.
            let _ = slot.cas(s.raw(), taken.raw());
        }
        self.state.current = Some(CurrentSubBuf {
            attached: false,
            ..cur
        });
        true
    }

    /// Makes an owned sub-buffer whose events have all been read the spare.
    #[inline(always)]
    pub(super) fn release(&mut self, cur: CurrentSubBuf) {
        self.state.spare = cur.index;
        // No slot is detached now, so no writer looks at this word.
        self.ring.s.spare.store(u64::from(cur.index.0));
        self.state.next = cur.seq.wrapping_add(1);
        self.state.current = None;
    }

    /// Copies the committed data of the current sub-buffer, from its start, as much as `out` holds
    /// and at most up to `unread.end`. Returns how many bytes; 0 when `unread` is out of date.
    pub(crate) fn copy(&self, unread: &UnreadData, out: &mut [u8]) -> usize {
        let len = out.len().min(unread.end as usize);
        let copied = out
            .get_mut(..len)
            .and_then(|out| self.copy_from(unread, 0, out));
        copied.map_or(0, |()| len)
    }

    /// Fills `out` with the bytes from `offset` on, which end at most at `unread.end`. `None` when
    /// `unread` is out of date.
    fn copy_from(&self, unread: &UnreadData, offset: u32, out: &mut [u8]) -> Option<()> {
        let current = self.state.current.as_ref();
        let index = current.filter(|c| c.seq == unread.seq)?.index;
        let subbuf = self.ring.subbuf(index)?;
        // SAFETY: the sub-buffer is the current one and stays the reader's until released; the
        // bytes end at most at `end`, which came from its commit, and writers store only after that
        // (I8).
        unsafe { subbuf.copy_owned(offset, out) };
        Some(())
    }

    /// Does what [`ReaderState::consume`] does.
    pub(crate) fn consume(&mut self, seq: Seq, offset: u32, time: u64, events: u64) -> bool {
        self.state.consume(seq, offset, time, events)
    }

    /// Consumes all unread data of the next sub-buffer into `image`: a whole sub-buffer with its
    /// header, unused bytes zero. `None` when there is no data, or `image` does not have the size
    /// of a sub-buffer. It is [`Self::take`] without memory that could be exchanged.
    #[cfg(test)]
    pub(crate) fn take_image(&mut self, image: &mut [u8]) -> Result<Option<()>, BusyWriters> {
        if image.len() != self.ring.layout.size() {
            return Ok(None);
        }
        Ok(self
            .unread()?
            .and_then(|unread| self.copy_image(&unread, image)))
    }

    /// Consumes `u`, which has just been found, into `image`: a whole sub-buffer with its header,
    /// unused bytes zero.
    pub(super) fn copy_image(&mut self, u: &UnreadData, image: &mut [u8]) -> Option<()> {
        let len = u.end.checked_sub(u.offset)? as usize;
        let (data, rest) = image.get_mut(wire::HEADER..)?.split_at_mut_checked(len)?;
        self.copy_from(u, u.offset, data)?;
        rest.fill(0);
        // The time at the end, in case writers add to this sub-buffer.
        let mut time = u.time;
        if u.open {
            let mut cursor = Cursor::at(data, 0, u.time);
            for _ in &mut cursor {}
            time = cursor.time();
        }
        wire::finish_image(image, u.time, len, u.lost);
        self.consume(u.seq, u.end, time, u.events).then_some(())
    }
}
