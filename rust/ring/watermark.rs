// SPDX-License-Identifier: GPL-2.0
//! Is there enough in a ring for a reader who waits for a share of it, and who tells such a reader?
//!
//! The share is one of sub-buffers, that which writers fill counted as one. The reader works out
//! the number of the sub-buffer whose opening makes it true and leaves it in `watermark`; the
//! writer looks at that word once per sub-buffer, after it has stored `closing`. Between them is
//! the protocol of `kapi::waker`: the reader interrupts the writing CPU between its store and its
//! look.
//!
//! A watermark that is too low costs a needless wake-up, one that is too high would lose one. So
//! several readers keep the lowest, and a watermark that was passed is replaced only by somebody
//! who wakes all others: the writer that passed it may not have seen it.

use super::cpu::CpuRing;
use super::port::{LocalWord, Port, SharedWord};
use super::pos::Seq;
use super::reader::Reader;
use super::slot::{SlotWord, State};

/// What a writer has to tell when it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Publication {
    /// Nothing: it interrupted another writer, which is going to publish.
    Nothing,
    /// There are new events.
    Events,
    /// There are new events, and the watermark was reached.
    Watermark,
}

/// Whom a reader has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeCondition {
    /// The next event makes it true.
    Event,
    /// The writer that reaches the watermark.
    Watermark {
        /// The watermark that was there has been reached: others who wait must look again.
        passed: bool,
    },
}

impl<P: Port> CpuRing<P> {
    /// Whether the writer that has opened sub-buffer `closing` shall tell so.
    #[inline]
    pub(super) fn watermark_reached(&self, closing: Seq) -> bool {
        closing >= self.s.watermark.load()
    }
}

impl<P: Port> Reader<'_, P> {
    /// Is there anything unread? Changes nothing. A ring whose writers are faster than we can look
    /// has.
    pub(crate) fn has_unread(&self) -> bool {
        let ring = self.ring;
        let end_of = |index, seq| {
            let pos = ring
                .subbuf(index)
                .and_then(|subbuf| ring.committed_in(subbuf, seq));
            pos.map_or(0, |pos| ring.layout.offset(pos))
        };
        let mut seq = match self.state.current {
            Some(c) if end_of(c.index, c.seq) > c.offset => return true,
            Some(c) => c.seq.wrapping_add(1),
            None => self.state.next,
        };
        for _ in 0..ring.slot_count() {
            let Some(slot) = ring.slot(seq) else {
                return false;
            };
            let s = SlotWord::from_raw(slot.load_acquire());
            if s.seq() < seq {
                return false;
            }
            if s.seq() > seq {
                seq = ring.oldest_beside(s.seq());
                continue;
            }
            if end_of(s.index(), seq) != 0 {
                return true;
            }
            if s.state() != Some(State::Full) {
                return false;
            }
            seq = seq.wrapping_add(1);
        }
        true
    }

    /// First sub-buffer that is not in the reader's hands.
    pub(super) fn beyond(&self) -> Seq {
        match self.state.current {
            Some(c) => c.seq.wrapping_add(1),
            None => self.state.next,
        }
    }

    /// Sub-buffers that must be finished and unread.
    fn needed(&self, percent: u32) -> u64 {
        let share = u64::from(percent).saturating_mul(self.ring.slot_count());
        share.div_ceil(100).saturating_sub(1)
    }

    /// Is `percent` of the ring full? Never while writers are in the sub-buffer that the reader is
    /// in, unless it is 0: then anything unread is enough.
    pub(crate) fn reached(&self, percent: u32) -> bool {
        let finished = self.ring.w.closing.get();
        // The slots of what was finished by then are looked at behind it.
        P::read_barrier();
        let behind = finished.checked_sub(self.beyond());
        let enough = behind.is_some_and(|behind| behind >= self.needed(percent));
        (percent == 0 || enough) && self.has_unread()
    }

    /// Asks to be told when [`Self::reached`] becomes true. Whoever asks makes the writing CPU see
    /// it and looks once more before it sleeps.
    pub(crate) fn ask(&mut self, percent: u32) -> WakeCondition {
        let finished = self.ring.w.closing.get();
        let (beyond, needed) = (self.beyond(), self.needed(percent));
        if percent == 0 || (needed == 0 && finished >= beyond) {
            return WakeCondition::Event;
        }
        let target = beyond.saturating_add(needed);
        let watermark = &self.ring.s.watermark;
        let old = watermark.load();
        let passed = old <= finished;
        if passed || target < old {
            watermark.store(target);
        }
        WakeCondition::Watermark { passed }
    }
}
