// SPDX-License-Identifier: GPL-2.0
//! For host tests: what a ring and its reader know, and which words tell how often a loop ran.

use super::cpu::CpuRing;
use super::port::{LocalWord, Port};
use super::pos::Pos;
use super::reader::Reader;

impl<P: Port> Reader<'_, P> {
    /// Serial number of the next event to read, all that was lost in front of it counted.
    pub(crate) fn serial(&self) -> u64 {
        self.state.serial
    }
}

impl<P: Port> CpuRing<P> {
    /// The position and the number of active writers.
    pub(crate) fn words(&self) -> (&P::Local, &P::Local) {
        (&self.w.pos, self.w.nest.word())
    }

    /// The time of the event that ends at the position, if it is known (I10).
    pub(crate) fn known_time(&self) -> Option<u64> {
        self.w.times.front(Pos(self.w.pos.get()))
    }
}
