// SPDX-License-Identifier: GPL-2.0
//! What host tests ask of a ring and its reader: what they know, and the words that tell how often
//! a loop ran.

use super::cpu::CpuRing;
use super::port::{LocalWord, Port};
use super::pos::Pos;
use super::reader::Reader;

impl<P: Port> Reader<'_, P> {
    /// Returns the serial number of the next event to read, all that was lost before it counted.
    pub(crate) fn serial(&self) -> u64 {
        self.state.serial
    }
}

impl<P: Port> CpuRing<P> {
    /// Returns the position and the number of active writers.
    pub(crate) fn words(&self) -> (&P::Local, &P::Local) {
        (&self.w.pos, self.w.nest.word())
    }

    /// Returns the time of the event that ends at the position, if it is known (I10).
    pub(crate) fn known_time(&self) -> Option<u64> {
        self.w.times.front(Pos(self.w.pos.get()))
    }
}
