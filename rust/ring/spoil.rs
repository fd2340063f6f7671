// SPDX-License-Identifier: GPL-2.0
//! Changes one word of a ring by force: how tests make the faults that [`super::check`] must find.

use super::cpu::{address, CpuRing, ReaderState};
use super::port::{LocalWord, Port, SharedWord};
use super::pos::Seq;
use super::slot::{SlotWord, SubBufIndex};
use super::subbuf::{HeadWord, SubBuf};
use super::writer::MAX_NEST;

/// A word of a ring or of its reader's memory.
#[allow(dead_code, reason = "KUnit and host tests each use some")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpoiledWord {
    Nest,
    Pos,
    Closing,
    Total,
    Hint,
    /// Set to the sub-buffer of that index, whatever the bits.
    LiveSubBuf(u32),
    /// Whose time is known.
    Own,
    /// The same, of writers that interrupted another.
    Inner,
    /// Of a level.
    Time(u64),
    Overrun,
    Spare,
    /// By its place.
    Slot(u64),
    /// Of a sub-buffer, by its index.
    Commit(u32),
    Base(u32),
    Stamp(u32),
    End(u32),
    Padded(u32),
    /// The first header.
    Header(u32),
    /// The words of the sub-buffer's own header.
    HeadStamp(u32),
    HeadLength(u32),
    ReaderNext,
    ReaderSerial,
    ReaderSpare,
    ReaderRead,
    /// Of the reader's current sub-buffer.
    CurrentSeq,
    CurrentIndex,
    CurrentAttached,
    CurrentOffset,
    CurrentEvents,
    CurrentTime,
    CurrentCounted,
    CurrentLost,
}

impl<P: Port> CpuRing<P> {
    /// Exclusive-ors `bits` into a word. Returns whether there is such a word.
    ///
    /// # Safety
    ///
    /// As for [`Self::idle`]. A caller that uses the ring before it is emptied must be content
    /// with any result.
    pub(crate) unsafe fn spoil(
        &self,
        state: &mut ReaderState,
        word: SpoiledWord,
        bits: u64,
    ) -> bool {
        self.flip(state, word, bits).is_some()
    }

    /// Returns the index of the sub-buffer in the slot of `seq`.
    #[allow(dead_code, reason = "only host tests ask")]
    pub(crate) fn index_of(&self, seq: Seq) -> Option<u32> {
        Some(SlotWord::from_raw(self.slot(seq)?.load()).index().0)
    }

    /// Returns the sub-buffer of the position, while no writer is active.
    #[allow(dead_code, reason = "only host tests ask")]
    pub(crate) fn newest(&self) -> Seq {
        self.w.closing.get()
    }

    fn flip(&self, state: &mut ReaderState, word: SpoiledWord, bits: u64) -> Option<()> {
        let local = |w: &P::Local| w.set(w.get() ^ bits);
        let shared = |w: &P::Shared| w.store(w.load() ^ bits);
        let subbuf = |index: u32| -> Option<&SubBuf<P>> { self.subbuf(SubBufIndex(index)) };
        let w = &self.w;
        match word {
            SpoiledWord::Nest => local(w.nest.word()),
            SpoiledWord::Pos => local(&w.pos),
            SpoiledWord::Closing => local(&w.closing),
            SpoiledWord::Total => local(&w.total),
            SpoiledWord::Hint => local(&w.hint),
            SpoiledWord::LiveSubBuf(index) => self.w.live_subbuf.set(address(subbuf(index)?)),
            SpoiledWord::Own => local(w.times.words().0[0]),
            SpoiledWord::Inner => local(w.times.words().0[1]),
            SpoiledWord::Time(level) => {
                let level = level.checked_rem(MAX_NEST)? as usize;
                local(w.times.words().1.get(level)?);
            }
            SpoiledWord::Overrun => local(&w.counters.overrun),
            SpoiledWord::Spare => shared(&self.s.spare),
            SpoiledWord::Slot(at) => shared(self.slots().get(at as usize)?),
            SpoiledWord::Commit(index) => shared(&subbuf(index)?.commit),
            SpoiledWord::Base(index) => local(&subbuf(index)?.base),
            SpoiledWord::Stamp(index) => local(&subbuf(index)?.stamp),
            SpoiledWord::End(index) => local(&subbuf(index)?.end),
            SpoiledWord::Padded(index) => local(&subbuf(index)?.padded),
            SpoiledWord::Header(index) => {
                let subbuf = subbuf(index)?;
                // SAFETY: a sub-buffer of a ring has memory, and offset 0 is at most any capacity.
                let first = unsafe { subbuf.at(0) }.cast::<u32>();
                // SAFETY: in bounds and aligned, as every header; the ring is in no use (`spoil`).
                let old = unsafe { first.read() };
                // SAFETY: one word at offset 0 is inside the capacity; the ring is in no use
                // (`spoil`), so no writer has it reserved.
                unsafe { subbuf.put(0, [old ^ bits as u32]) };
            }
            SpoiledWord::HeadStamp(index) => flip_head(subbuf(index)?, HeadWord::Stamp, bits),
            SpoiledWord::HeadLength(index) => flip_head(subbuf(index)?, HeadWord::Length, bits),
            SpoiledWord::ReaderNext => state.next ^= bits,
            SpoiledWord::ReaderSerial => state.serial ^= bits,
            SpoiledWord::ReaderSpare => state.spare.0 ^= bits as u32,
            SpoiledWord::ReaderRead => state.read ^= bits,
            SpoiledWord::CurrentSeq => state.current.as_mut()?.seq ^= bits,
            SpoiledWord::CurrentIndex => state.current.as_mut()?.index.0 ^= bits as u32,
            SpoiledWord::CurrentAttached => state.current.as_mut()?.attached ^= bits & 1 != 0,
            SpoiledWord::CurrentOffset => state.current.as_mut()?.offset ^= bits as u32,
            SpoiledWord::CurrentEvents => state.current.as_mut()?.events ^= bits,
            SpoiledWord::CurrentTime => state.current.as_mut()?.time ^= bits,
            SpoiledWord::CurrentCounted => state.current.as_mut()?.counted ^= bits & 1 != 0,
            SpoiledWord::CurrentLost => state.current.as_mut()?.lost ^= bits,
        }
        Some(())
    }
}

fn flip_head<P: Port>(subbuf: &SubBuf<P>, at: HeadWord, bits: u64) {
    subbuf.put_head(at, subbuf.head(at) ^ bits);
}
