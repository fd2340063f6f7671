// SPDX-License-Identifier: GPL-2.0
//! A whole sub-buffer leaves the ring, for a reader who keeps its memory.
//!
//! Only what writers have left can go. The reader brings other memory of the same size, so that the
//! ring never has less; it is exchanged while the sub-buffer is the reader's own, and what writers
//! later find in that place comes to them with the CAS that gives the sub-buffer back.
//!
//! A reader without room for a whole sub-buffer gets a copy of the events that fit, and no other is
//! consumed.

use super::cursor::Cursor;
use super::port::{Memory as _, Port};
use super::reader::{Busy, Reader, UnreadData};
use super::subbuf::bytes_of;
use super::wire;

/// What a reader with little room got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartialTake {
    /// Events, at least one.
    Taken,
    /// None, for the next one does not fit; it is as it was.
    TooShort,
    /// None, for there is none.
    Empty,
}

impl<P: Port> Reader<'_, P> {
    /// The next unread data if writers have left its sub-buffer, so that nothing more comes into
    /// it.
    pub(crate) fn whole(&mut self) -> Result<Option<UnreadData>, Busy> {
        let Some(unread) = self.unread()? else {
            return Ok(None);
        };
        if !unread.open {
            return Ok(Some(unread));
        }
        let Some(current) = self.state.current else {
            return Ok(None);
        };
        // Its commit is final only behind this.
        match self.detach(current) {
            true => self.unread(),
            false => Ok(None),
        }
    }

    /// Consumes all unread data of the next sub-buffer; `image` becomes an image of it: a whole
    /// sub-buffer with its header, unused bytes zero. Of a sub-buffer that writers have left, and
    /// of which nothing was read before, it gets the memory itself, and the ring gets the memory of
    /// `image`: nothing is copied. Not so when memory `stays` in the ring, nor in a broken one,
    /// whose words may not be true.
    ///
    /// Says whether there was any; not if `image` has another size, which then stays as it is.
    pub(crate) fn take(&mut self, image: &mut P::Memory, stays: bool) -> Result<bool, Busy> {
        if image.size() != self.subbuf_size() {
            return Ok(false);
        }
        match self.find() {
            Ok(Some(unread)) => Ok(self.take_this(&unread, image, stays).is_some()),
            Ok(None) => Ok(false),
            Err(busy) => Err(busy),
        }
    }

    /// The same with nothing but a sub-buffer that writers have left.
    pub(crate) fn take_whole(&mut self, image: &mut P::Memory, stays: bool) -> Result<bool, Busy> {
        if image.size() != self.subbuf_size() {
            return Ok(false);
        }
        let Some(unread) = self.whole()? else {
            return Ok(false);
        };
        Ok(self.take_this(&unread, image, stays).is_some())
    }

    /// Consumes the next unread events of one sub-buffer that fit into `room` bytes, the header
    /// included. `image` becomes an image of a sub-buffer with these alone, and nothing leaves the
    /// ring.
    ///
    /// [`PartialTake::Empty`] also if `image` has another size than a sub-buffer.
    pub(crate) fn take_part(
        &mut self,
        image: &mut P::Memory,
        room: usize,
    ) -> Result<PartialTake, Busy> {
        if image.size() != self.subbuf_size() {
            return Ok(PartialTake::Empty);
        }
        let Some(unread) = self.unread()? else {
            return Ok(PartialTake::Empty);
        };
        let Some(fits) = self.first_of(&unread, room.saturating_sub(wire::HEADER)) else {
            return Ok(PartialTake::TooShort);
        };
        // SAFETY: it is the caller's own, in no ring.
        let copied = self.copy_image(&fits, unsafe { bytes_of(image) });
        Ok(copied.map_or(PartialTake::Empty, |()| PartialTake::Taken))
    }

    /// As much of `unread` as fits into `room` bytes: whole events, each with the records in front
    /// of it that tell its time. `None` if the first one does not.
    fn first_of(&self, unread: &UnreadData, room: usize) -> Option<UnreadData> {
        let (begin, end) = (unread.offset as usize, unread.end as usize);
        if end.saturating_sub(begin) <= room {
            return Some(*unread);
        }
        let current = self.state.current.as_ref();
        let subbuf = self
            .ring
            .subbuf(current.filter(|c| c.seq == unread.seq)?.index)?;
        // SAFETY: what is committed of the reader's sub-buffer, which nobody stores to (I8).
        let data = unsafe { subbuf.at_rest(unread.end) };
        let mut fits = UnreadData {
            end: unread.offset,
            events: 0,
            // More follows behind it.
            open: true,
            ..*unread
        };
        let mut events = Cursor::at(data, begin, unread.time)
            .map_while(Result::ok)
            .peekable();
        if events.peek().is_none() {
            // Nothing but discarded events.
            return Some(*unread);
        }
        for event in events.take_while(|event| event.next.saturating_sub(begin) <= room) {
            fits.end = event.next as u32;
            fits.events = fits.events.wrapping_add(1);
        }
        (fits.events != 0).then_some(fits)
    }

    #[inline(always)]
    fn take_this(&mut self, unread: &UnreadData, image: &mut P::Memory, stays: bool) -> Option<()> {
        if stays || unread.open || unread.offset != 0 || self.ring.is_broken() {
            // SAFETY: it is the caller's own, in no ring.
            return self.copy_image(unread, unsafe { bytes_of(image) });
        }
        let cur = *self.state.current.as_ref().filter(|cur| !cur.attached)?;
        let subbuf = self.ring.subbuf(cur.index)?;
        // SAFETY: it is the reader's own, and detached: writers have left it. No address of its
        // bytes is held here.
        unsafe { subbuf.exchange(image) };
        self.consume(unread.seq, unread.end, unread.time, unread.events);
        // What the sub-buffer says of its bytes is true no more.
        self.release(cur);
        // SAFETY: no sub-buffer has it any more, and no writer was in it.
        let image = unsafe { bytes_of(image) };
        let end = wire::HEADER.saturating_add(unread.end as usize);
        if let Some(rest) = image.get_mut(end..) {
            rest.fill(0);
        }
        wire::finish_image(image, unread.stamp, unread.end as usize, unread.lost);
        Some(())
    }
}
