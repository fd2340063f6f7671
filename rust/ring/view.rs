// SPDX-License-Identifier: GPL-2.0
//! The reader that consumes nothing, and the statistics of a ring.

use super::cpu::ReaderState;
use super::port::{LocalWord, Port, SharedWord};
use super::pos::Seq;
use super::reader::Reader;
use super::slot::{SlotWord, State};
use super::subbuf::SubBuf;
use super::violation::Violation;

/// A copied sub-buffer, and the part of it that no reader has consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubBufView {
    /// The sub-buffer.
    pub(crate) seq: Seq,
    /// Time of its first event.
    pub(crate) stamp: u64,
    /// Where the unread part begins.
    pub(crate) offset: u32,
    /// The time so far, at `offset`.
    pub(crate) time: u64,
    /// Bytes copied.
    pub(crate) end: u32,
    /// Number of the event at `offset` since the ring began.
    pub(crate) serial: u64,
    /// Events from `offset` on.
    pub(crate) events: u64,
}

/// What a ring has counted since it was emptied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RingStats {
    /// Events published, discarded ones not counted.
    pub(crate) written: u64,
    /// Events consumed.
    pub(crate) read: u64,
    /// Events overwritten before they were read.
    pub(crate) overrun: u64,
    /// Events refused because the ring came round to a writer that it had interrupted.
    pub(crate) commit_overrun: u64,
    /// Events refused because the ring was full.
    pub(crate) dropped: u64,
    /// Events refused because too many writers were nested.
    pub(crate) recursion: u64,
    /// Events refused because they fit no sub-buffer.
    pub(crate) too_big: u64,
    /// Times that the clock went back.
    pub(crate) clock_back: u64,
    /// Events refused because the ring is broken, and those whose writers found it so.
    pub(crate) broken: u64,
    /// Why it is broken.
    pub(crate) fault: Option<Violation>,
    /// Bytes of unread events.
    pub(crate) bytes: u64,
    /// Time of the first event of the oldest sub-buffer with unread data, or of the newest that was
    /// read; 0 when there is none.
    pub(crate) oldest: u64,
}

impl RingStats {
    /// Returns the number of events that can still be read.
    pub(crate) fn entries(&self) -> u64 {
        self.written
            .saturating_sub(self.overrun)
            .saturating_sub(self.read)
    }
}

impl<P: Port> Reader<'_, P> {
    /// Copies the oldest sub-buffer after `after` (the oldest of all without it) that has committed
    /// data to `out`; consumes nothing.
    ///
    /// What was overwritten since `after` shows in `serial`. An `after` above all numbers is of a ring
    /// that has begun to count anew since, and counts for none.
    pub(crate) fn view(&self, after: Option<Seq>, out: &mut [u8]) -> Option<SubBufView> {
        let ring = self.ring;
        let cur = self.state.current;
        // Older sub-buffers were read or are lost. Starting at one could skip the reader's
        // sub-buffer, for slots of old numbers tell only the numbers that are in the slots now.
        let oldest = cur.map_or(self.state.next, |c| c.seq);
        let mut seq = after.map_or(oldest, |a| a.wrapping_add(1).max(oldest));
        // A turn moves to a later sub-buffer, but for one, or a writer has lapped us.
        for _ in 0..ring.slot_count().saturating_mul(4) {
            if let Some(c) = cur.filter(|c| c.seq == seq) {
                let subbuf = ring.subbuf(c.index)?;
                let pos = ring.committed_in(subbuf, seq);
                let end = pos.map_or(0, |p| ring.layout.offset(p));
                if let Some(pos) = pos.filter(|_| end > c.offset) {
                    let v = describe(self.state, seq, subbuf, end, ring.layout.count(pos));
                    // SAFETY: the bytes up to `end` are committed, and the sub-buffer is the
                    // reader's: no writer stores to bytes up to its commit (I8).
                    unsafe { subbuf.copy_owned(0, out.get_mut(..end as usize)?) };
                    return Some(v);
                }
                seq = seq.wrapping_add(1);
                continue;
            }
            let slot = ring.slot(seq)?;
            let s = SlotWord::from_raw(slot.load_acquire());
            if s.seq() < seq {
                // The slot of the number after the newest has one that is a round smaller. With a
                // still smaller one the numbers have begun anew since `after`.
                if seq == oldest || s.seq().wrapping_add(ring.slot_count()) == seq {
                    return None;
                }
                seq = oldest;
                continue;
            }
            if s.seq() > seq {
                seq = ring.oldest_beside(s.seq());
                continue;
            }
            let subbuf = ring.subbuf(s.index())?;
            let pos = ring.committed_in(subbuf, seq);
            let end = pos.map_or(0, |p| ring.layout.offset(p));
            if let (Some(pos), Some(State::Open | State::Full)) = (pos, s.state()) {
                if end != 0 {
                    let v = describe(self.state, seq, subbuf, end, ring.layout.count(pos));
                    subbuf.copy_racing(out.get_mut(..end as usize)?);
                    // Pairs with the fully ordered CAS that reuses the sub-buffer: had we copied
                    // a byte stored after it, we would see its slot word now.
                    P::read_barrier();
                    let again = SlotWord::from_raw(slot.load());
                    if again.seq() == seq && again.index() == s.index() {
                        return Some(v);
                    }
                    continue;
                }
            }
            if s.state() == Some(State::Open) {
                return None;
            }
            seq = seq.wrapping_add(1);
        }
        None
    }

    /// Returns what has been counted. Exact when no writer is active.
    pub(crate) fn stats(&self) -> RingStats {
        let ring = self.ring;
        let c = &ring.w.counters;
        let mut stats = RingStats {
            written: self.written(),
            read: self.state.read,
            overrun: c.overrun.get(),
            commit_overrun: c.commit_overrun.get(),
            dropped: c.dropped.get(),
            recursion: c.recursion.get(),
            too_big: c.too_big.get(),
            clock_back: c.clock_back.get(),
            broken: c.broken.get(),
            fault: ring.fault(),
            bytes: 0,
            oldest: 0,
        };
        let cur = self.state.current;
        let mut seq = cur.map_or(self.state.next, |c| c.seq);
        let mut found = false;
        for _ in 0..ring.slot_count().saturating_mul(4) {
            let own = cur.filter(|c| c.seq == seq);
            let index = match own {
                Some(c) => c.index,
                None => {
                    let Some(slot) = ring.slot(seq) else { break };
                    let s = SlotWord::from_raw(slot.load_acquire());
                    if s.seq() < seq {
                        break;
                    }
                    if s.seq() > seq {
                        seq = ring.oldest_beside(s.seq());
                        continue;
                    }
                    s.index()
                }
            };
            let Some(subbuf) = ring.subbuf(index) else {
                break;
            };
            if let Some(pos) = ring.committed_in(subbuf, seq) {
                let end = u64::from(ring.layout.offset(pos));
                let read = own.map_or(0, |c| u64::from(c.offset));
                stats.bytes = stats.bytes.saturating_add(end.saturating_sub(read));
                if !found {
                    stats.oldest = subbuf.stamp.get();
                    found = end > read;
                }
            }
            seq = seq.wrapping_add(1);
        }
        stats
    }

    /// Returns the number of events published: those before the sub-buffer that is being written,
    /// and those committed in it. Never more than there are.
    pub(super) fn written(&self) -> u64 {
        let w = &self.ring.w;
        // A writer that closes a sub-buffer meanwhile makes us look again; not for ever.
        for _ in 0..4 {
            let seq = w.closing.get();
            // Not `total` where something is committed: a writer that is closing the sub-buffer may
            // have added its events already.
            let written = self.committed_up_to(seq).unwrap_or_else(|| self.closed());
            // Had we met the base of a later use of the sub-buffer, we would see it closed now:
            // the writer's CAS on another slot is between the two stores.
            P::read_barrier();
            if w.closing.get() == seq {
                return written;
            }
        }
        self.closed()
    }

    /// Returns the number of the oldest event that is unread; if none is, that of the next one.
    pub(crate) fn oldest(&self) -> u64 {
        let ring = self.ring;
        // What is left in the reader's sub-buffer is older than all that was overwritten since.
        let left = self.state.current.and_then(|c| {
            let subbuf = ring.subbuf(c.index)?;
            let pos = ring.committed_in(subbuf, c.seq)?;
            let is_read = ring.layout.count(pos) <= c.events;
            (!is_read).then(|| subbuf.base.get().wrapping_add(c.events))
        });
        let gone = || ring.w.counters.overrun.get().wrapping_add(self.state.read);
        left.unwrap_or_else(gone)
    }

    /// Returns the number of events of closed sub-buffers. The reader may have read one, and given
    /// it back, whose events the writer is about to add.
    fn closed(&self) -> u64 {
        self.ring.w.total.get().max(self.state.serial)
    }

    /// Returns the number of the event after those committed in sub-buffer `seq`, if any are.
    fn committed_up_to(&self, seq: Seq) -> Option<u64> {
        let ring = self.ring;
        let own = self.state.current.filter(|c| c.seq == seq);
        let index = match own {
            Some(c) => c.index,
            None => SlotWord::from_raw(ring.slot(seq)?.load_acquire()).index(),
        };
        let subbuf = ring.subbuf(index)?;
        let pos = ring.committed_in(subbuf, seq)?;
        Some(subbuf.base.get().wrapping_add(ring.layout.count(pos)))
    }
}

fn describe<P: Port>(
    state: &ReaderState,
    seq: Seq,
    subbuf: &SubBuf<P>,
    end: u32,
    count: u64,
) -> SubBufView {
    let stamp = subbuf.stamp.get();
    let own = state.current.filter(|c| c.seq == seq);
    let (offset, read, time) = match own {
        Some(c) if c.offset != 0 => (c.offset, c.events, c.time),
        _ => (0, 0, stamp),
    };
    SubBufView {
        seq,
        stamp,
        offset,
        time,
        end,
        serial: subbuf.base.get().wrapping_add(read),
        events: count.wrapping_sub(read),
    }
}
