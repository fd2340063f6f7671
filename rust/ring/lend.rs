// SPDX-License-Identifier: GPL-2.0
//! The reader's sub-buffer for a user that has its memory mapped: which one it is, how the user
//! goes on to the next, and what else such a user wants to know of the ring.
//!
//! The sub-buffers have names for that, their ids, which stay as long as the memory stays in the
//! ring. Until the user goes on, writers store to the reader's sub-buffer only new events, after
//! those that are there (I8): that is why its memory can be read with no lock.

use super::cursor::Cursor;
use super::port::{LocalWord, Memory as _, Port};
use super::pos::Pos;
use super::reader::{BusyWriters, Reader};
use super::slot::SubBufIndex;
use super::subbuf::{HeadWord, SubBuf};
use super::wire;

/// The reader's sub-buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LentSubBuf {
    /// Its index.
    pub(crate) index: SubBufIndex,
    /// Bytes of its data that were consumed.
    pub(crate) read: u32,
    /// Events lost before it that no other user was told of.
    pub(crate) lost: u64,
}

/// Sub-buffers since the ring was emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turnover {
    /// Those that writers went on to.
    pub(crate) opened: u64,
    /// Those that were overwritten before the reader had them.
    pub(crate) lost: u64,
}

/// The names of the sub-buffers: they follow each other, beginning with the one that was the
/// reader's when they were given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids {
    first: u32,
    count: u32,
}

impl Ids {
    /// Returns how many there are.
    pub(crate) fn count(self) -> u32 {
        self.count
    }

    /// Returns the name of a sub-buffer.
    pub(crate) fn of(self, index: SubBufIndex) -> u32 {
        match index.0.checked_sub(self.first) {
            Some(id) => id,
            None => self.count.wrapping_sub(self.first).wrapping_add(index.0),
        }
    }

    /// Returns the sub-buffer with that name.
    fn index(self, id: u32) -> Option<SubBufIndex> {
        if id >= self.count {
            return None;
        }
        // Both are numbers of sub-buffers, which fit 20 bits.
        let index = self.first.wrapping_add(id);
        Some(SubBufIndex(index.checked_sub(self.count).unwrap_or(index)))
    }
}

impl<P: Port> Reader<'_, P> {
    /// Returns names for the sub-buffers that there are now.
    pub(crate) fn ids(&self) -> Ids {
        Ids {
            first: self.state.index().0,
            count: self.ring.subbufs().len() as u32,
        }
    }

    /// Returns the memory of the sub-buffer with that name.
    pub(crate) fn memory(&self, ids: Ids, id: u32) -> Option<&P::Memory> {
        Some(self.ring.subbuf(ids.index(id)?)?.memory())
    }

    /// Consumes the unread data of the reader's sub-buffer or, if it has none, of the next one that
    /// has some, and leaves it there for the user to read. Returns whether there was any. If not,
    /// the sub-buffer stays the same, unless writers came meanwhile: then it may be the next one,
    /// which is still empty. [`Self::lent`] tells. Fails with [`BusyWriters`] when writers were faster all
    /// the time.
    pub(crate) fn lend(&mut self) -> Result<bool, BusyWriters> {
        if !self.has_unread() {
            return Ok(false);
        }
        let Some(unread) = self.unread()? else {
            return Ok(false);
        };
        let Some(subbuf) = self.ring.subbuf(self.state.index()) else {
            return Ok(false);
        };
        // SAFETY: `end` comes from the commit of the reader's sub-buffer, at most its capacity, and
        // no writer stores to bytes up to the commit (I8).
        let data = unsafe { subbuf.at_rest(unread.end) };
        let mut cursor = Cursor::at(data, unread.offset as usize, unread.time);
        for _ in &mut cursor {}
        let time = cursor.time();
        self.consume(unread.seq, unread.end, time, unread.events);
        let mut told = 0;
        if let Some(current) = &mut self.state.current {
            current.told = current.told.wrapping_add(unread.lost);
            told = current.told;
        }
        if told != 0 && !unread.open {
            // SAFETY: the sub-buffer is the reader's own, for writers have left it; `end` is where
            // its data ends.
            unsafe { tell_of_loss(subbuf, unread.end, told) };
        }
        Ok(true)
    }

    /// Returns the reader's sub-buffer. Its header says how much is there: nothing in one that was
    /// not used since the reader has it.
    pub(crate) fn lent(&self) -> LentSubBuf {
        let index = self.state.index();
        let Some(current) = self.state.current else {
            if let Some(spare) = self.ring.subbuf(index) {
                // No slot has it, and none is detached, so no writer takes it.
                spare.clear_head();
            }
            return LentSubBuf {
                index,
                read: 0,
                lost: 0,
            };
        };
        LentSubBuf {
            index,
            read: current.offset,
            lost: current.told.wrapping_add(current.lost),
        }
    }

    /// Returns how many sub-buffers were used.
    pub(crate) fn turnover(&self) -> Turnover {
        let newest = self.ring.layout.seq(Pos(self.ring.w.pos.get()));
        // The oldest that a slot can have.
        let held = newest
            .wrapping_add(1)
            .saturating_sub(self.ring.slot_count());
        let unseen = held.saturating_sub(self.beyond());
        Turnover {
            opened: newest.wrapping_sub(self.state.begun),
            lost: self.state.skipped.wrapping_add(unseen),
        }
    }

    /// Returns the numbers of events published, overwritten unread, and consumed.
    pub(crate) fn counted(&self) -> (u64, u64, u64) {
        let overrun = self.ring.w.counters.overrun.get();
        (self.written(), overrun, self.state.read)
    }
}

/// Stores in the header that `lost` events are missing before the sub-buffer, and how many after
/// its data if there is room.
///
/// # Safety
///
/// The sub-buffer is the caller's alone; it has memory and `len` bytes of data, a multiple of 4.
unsafe fn tell_of_loss<P: Port>(subbuf: &SubBuf<P>, len: u32, lost: u64) {
    let mut commit = u64::from(len) | wire::MISSED_EVENTS;
    let used = wire::HEADER.saturating_add(len as usize);
    if subbuf.memory().size().saturating_sub(used) >= 8 {
        let words = [lost as u32, (lost >> 32) as u32];
        // SAFETY: 8 bytes after the data are in bounds, as just found; the sub-buffer is the
        // caller's alone, and `len` a multiple of 4 (precondition).
        unsafe { subbuf.put(len as usize, words) };
        commit |= wire::MISSED_STORED;
    }
    subbuf.put_head(HeadWord::Length, commit);
}
