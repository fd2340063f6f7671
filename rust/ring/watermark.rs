// SPDX-License-Identifier: GPL-2.0
//! The watermark: when a ring is full enough to wake a reader that waits for a share of it, and
//! which writer wakes that reader.
//!
//! The share is one of sub-buffers; the one that writers fill counts as one. The reader works out
//! the number of the sub-buffer whose opening makes it true and leaves it in `watermark`; the
//! writer loads that word once per sub-buffer, after it has stored `closing`. Between them is the
//! protocol of `kapi::waker`: the reader interrupts the writing CPU between its store and its look.
//!
//! A watermark that is too low costs a needless wake-up, one that is too high would lose one. So
//! several readers keep the lowest, and a reader that replaces a watermark that was passed wakes
//! all others: the writer that passed it may not have seen it.

use super::cpu::CpuRing;
use super::port::{LocalWord, Port, SharedWord};
use super::pos::Seq;
use super::reader::Reader;
use super::slot::{SlotWord, State};
use super::writer::ReserveError;

/// What a writer has to tell readers when it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Publication {
    /// Nothing: it interrupted another writer, which is going to publish; or nothing is new.
    Nothing,
    /// There are new events.
    Events,
    /// There are new events, and the watermark was reached.
    Watermark,
}

impl Publication {
    /// Returns what a writer that was refused may have to tell readers: if it interrupted no other
    /// one, it has published the events of those that interrupted it.
    pub(crate) const fn of_refused(why: ReserveError) -> Self {
        match why {
            // They may have filled the ring.
            ReserveError::Full | ReserveError::TooBig | ReserveError::CommitOverrun => {
                Self::Watermark
            }
            // It did not come in, interrupted another one, or published nothing.
            ReserveError::Disabled | ReserveError::Recursion | ReserveError::Broken => {
                Self::Nothing
            }
        }
    }
}

/// The event that a reader has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeCondition {
    /// The next event makes it true.
    Event,
    /// The writer that reaches the watermark.
    Watermark {
        /// The watermark that was there has been reached: other readers that wait must look again.
        passed: bool,
    },
}

impl<P: Port> CpuRing<P> {
    /// Returns whether the writer that has opened sub-buffer `closing` must tell that the watermark
    /// was reached.
    #[inline]
    pub(super) fn watermark_reached(&self, closing: Seq) -> bool {
        closing >= self.s.watermark.load()
    }
}

impl<P: Port> Reader<'_, P> {
    /// Returns whether anything is unread; changes nothing. In a ring whose writers are faster than
    /// the reader can look, there is.
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

    /// Returns the first sub-buffer that is not the reader's.
    pub(super) fn beyond(&self) -> Seq {
        match self.state.current {
            Some(c) => c.seq.wrapping_add(1),
            None => self.state.next,
        }
    }

    /// Returns how many sub-buffers must be finished and unread for `percent` of the ring.
    fn needed(&self, percent: u32) -> u64 {
        let share = u64::from(percent).saturating_mul(self.ring.slot_count());
        share.div_ceil(100).saturating_sub(1)
    }

    /// Returns whether `percent` of the ring is full: never while writers are in the sub-buffer
    /// that the reader is in, unless it is 0, when anything unread is enough.
    pub(crate) fn reached(&self, percent: u32) -> bool {
        let finished = self.ring.w.closing.get();
        // The slots of what was finished by then are loaded after it.
        P::read_barrier();
        let behind = finished.checked_sub(self.beyond());
        let enough = behind.is_some_and(|behind| behind >= self.needed(percent));
        (percent == 0 || enough) && self.has_unread()
    }

    /// Asks writers to tell when [`Self::reached`] becomes true. Returns what makes it true. The
    /// caller then makes the writing CPU see the request and looks once more before it sleeps.
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
