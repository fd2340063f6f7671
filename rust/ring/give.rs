// SPDX-License-Identifier: GPL-2.0
//! How a whole sub-buffer leaves the ring, for a reader that keeps its memory.
//!
//! Only a sub-buffer that writers have left can go. The reader brings other memory of the same
//! size, so that the ring never has less; it is exchanged while the sub-buffer is the reader's own,
//! and the CAS that gives the sub-buffer back orders the exchange before the accesses of later
//! writers.
//!
//! A reader without room for a whole sub-buffer gets a copy of the events that fit, and no other
//! event is consumed.

use super::cursor::Cursor;
use super::port::{Memory as _, Port};
use super::reader::{BusyWriters, Reader, UnreadData};
use super::subbuf::bytes_of;
use super::wire;

/// Outcome for a reader with little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartialTake {
    /// It got events, at least one.
    Taken,
    /// It got none, for the next event does not fit; that is as it was.
    TooShort,
    /// It got none, for there is none.
    Empty,
}

impl<P: Port> Reader<'_, P> {
    /// Returns the next unread data if writers have left its sub-buffer, so that no more events
    /// come into it. Fails with [`BusyWriters`] when writers were faster all the time.
    pub(crate) fn whole(&mut self) -> Result<Option<UnreadData>, BusyWriters> {
        let Some(unread) = self.unread()? else {
            return Ok(None);
        };
        if !unread.open {
            return Ok(Some(unread));
        }
        let Some(current) = self.state.current else {
            return Ok(None);
        };
        // Its commit is final only after this.
        match self.detach(current) {
            true => self.unread(),
            false => Ok(None),
        }
    }

    /// Consumes all unread data of the next sub-buffer; `image` becomes an image of it: a whole
    /// sub-buffer with its header, unused bytes zero. If writers have left that sub-buffer and
    /// nothing in it was read before, `image` gets the memory itself, and the ring gets the memory
    /// of `image`: nothing is copied. This is not done when memory `stays` in the ring, nor in a
    /// broken one, whose words may not be true.
    ///
    /// Returns whether there was any data; false if `image` has another size, which then stays as
    /// it is. Fails with [`BusyWriters`] when writers were faster all the time.
    pub(crate) fn take(&mut self, image: &mut P::Memory, stays: bool) -> Result<bool, BusyWriters> {
        if image.size() != self.subbuf_size() {
            return Ok(false);
        }
        match self.find() {
            Ok(Some(unread)) => Ok(self.take_this(&unread, image, stays).is_some()),
            Ok(None) => Ok(false),
            Err(busy) => Err(busy),
        }
    }

    /// Does what [`Self::take`] does, but only with a sub-buffer that writers have left.
    pub(crate) fn take_whole(
        &mut self,
        image: &mut P::Memory,
        stays: bool,
    ) -> Result<bool, BusyWriters> {
        if image.size() != self.subbuf_size() {
            return Ok(false);
        }
        let Some(unread) = self.whole()? else {
            return Ok(false);
        };
        Ok(self.take_this(&unread, image, stays).is_some())
    }

    /// Consumes the next unread events of one sub-buffer that fit into `room` bytes, the header
    /// included. `image` becomes an image of a sub-buffer with only these, and no memory leaves the
    /// ring.
    ///
    /// Returns [`PartialTake::Empty`] also if `image` has another size than a sub-buffer. Fails
    /// with [`BusyWriters`] when writers were faster all the time.
    pub(crate) fn take_part(
        &mut self,
        image: &mut P::Memory,
        room: usize,
    ) -> Result<PartialTake, BusyWriters> {
        if image.size() != self.subbuf_size() {
            return Ok(PartialTake::Empty);
        }
        let Some(unread) = self.unread()? else {
            return Ok(PartialTake::Empty);
        };
        let Some(fits) = self.first_of(&unread, room.saturating_sub(wire::HEADER)) else {
            return Ok(PartialTake::TooShort);
        };
        let image = bytes_of(image);
        if self.copy_image(&fits, image).is_none() {
            return Ok(PartialTake::Empty);
        }
        if fits.events == 0 {
            // What discarded events left may be longer than the room.
            image.fill(0);
            wire::finish_image(image, fits.time, 0, fits.lost);
        }
        Ok(PartialTake::Taken)
    }

    /// Returns as much of `unread` as fits into `room` bytes: whole events, each with the records
    /// before it that tell its time. `None` if the first one does not fit.
    fn first_of(&self, unread: &UnreadData, room: usize) -> Option<UnreadData> {
        let (begin, end) = (unread.offset as usize, unread.end as usize);
        if end.saturating_sub(begin) <= room {
            return Some(*unread);
        }
        let current = self.state.current.as_ref();
        let subbuf = self
            .ring
            .subbuf(current.filter(|c| c.seq == unread.seq)?.index)?;
        // SAFETY: `end` comes from the commit of the reader's sub-buffer, at most its capacity, and
        // no writer stores to bytes up to the commit (I8).
        let data = unsafe { subbuf.at_rest(unread.end) };
        let mut fits = UnreadData {
            end: unread.offset,
            events: 0,
            // More events follow it.
            open: true,
            ..*unread
        };
        let mut events = Cursor::at(data, begin, unread.time)
            .map_while(Result::ok)
            .peekable();
        if events.peek().is_none() {
            // There are only discarded events.
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
            return self.copy_image(unread, bytes_of(image));
        }
        let cur = *self.state.current.as_ref().filter(|cur| !cur.attached)?;
        let subbuf = self.ring.subbuf(cur.index)?;
        // SAFETY: the sub-buffer is the reader's own, and detached: writers have left it. No
        // address of its bytes is held here, nor is one used when it has another memory.
        unsafe { subbuf.exchange(image) };
        self.consume(unread.seq, unread.end, unread.time, unread.events);
        // The words of the sub-buffer no longer describe its bytes.
        self.release(cur);
        let image = bytes_of(image);
        let end = wire::HEADER.saturating_add(unread.end as usize);
        if let Some(rest) = image.get_mut(end..) {
            rest.fill(0);
        }
        wire::finish_image(image, unread.stamp, unread.end as usize, unread.lost);
        Some(())
    }
}
