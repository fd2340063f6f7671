// SPDX-License-Identifier: GPL-2.0
//! For host tests: what is so whenever no writer is active, and which words tell how often a loop ran.

use super::cpu::CpuRing;
use super::port::{LocalWord, Port, SharedWord};
use super::pos::Pos;
use super::reader::Reader;
use super::slot::{SlotWord, State};

impl<P: Port> Reader<'_, P> {
    /// Serial number of the next event to read, all that was lost in front of it counted.
    pub(crate) fn serial(&self) -> u64 {
        self.state.serial
    }
}

impl<P: Port> CpuRing<P> {
    /// The position and the number of active writers.
    pub(crate) fn words(&self) -> (&P::Local, &P::Local) {
        (&self.w.pos, &self.w.nest)
    }

    /// The time of the event that ends at the position, as the pair has it (I10).
    pub(crate) fn known_time(&self) -> Option<u64> {
        // This clock is behind every event, which `read` corrects.
        let reading = self.w.stamps.read(|t| self.layout.level(t), || 0);
        reading.delta.map(|_| reading.time)
    }

    /// What is not as it must be when no writer is active.
    pub(crate) fn unrest(&self) -> Option<&'static str> {
        let (w, layout) = (&self.w, *self.layout);
        let pos = Pos(w.pos.get());
        let seq = layout.seq(pos);
        if w.nest.get() != 0 {
            return Some("a writer is still active");
        }
        if w.closing.get() != seq {
            return Some("a sub-buffer that all have left is not closed");
        }
        let open = |s: &&P::Shared| SlotWord::from_raw(s.load()).state() == Some(State::Open);
        if self.slots().iter().filter(open).count() != 1 {
            return Some("not exactly one sub-buffer is open");
        }
        let Some(slot) = self.slot(seq) else {
            return Some("no slot");
        };
        let slot = SlotWord::from_raw(slot.load());
        if slot.seq() != seq || slot.state() != Some(State::Open) {
            return Some("the sub-buffer of the position is not open");
        }
        let Some(page) = self.page(slot.page()) else {
            return Some("no sub-buffer");
        };
        let count = layout.count(pos).wrapping_sub(page.padded.get());
        // A sub-buffer that nothing was written to has no commit of its own yet.
        let fresh = layout.offset(pos) == 0 && layout.seq(Pos(page.commit.load())) != seq;
        if !fresh && page.commit.load() != layout.pos(seq, count, layout.offset(pos)).0 {
            return Some("something is not published");
        }
        if page.base.get() != w.total.get() {
            return Some("the number of the first event is wrong");
        }
        None
    }
}
