// SPDX-License-Identifier: GPL-2.0
//! A whole sub-buffer leaves the ring, for a reader who keeps its memory.
//!
//! Only what writers have left can go. The reader brings other memory of the same size, so that the
//! ring never has less; it is exchanged while the sub-buffer is the reader's own, and what writers later
//! find in that place comes to them with the CAS that gives the sub-buffer back.

use super::port::{Memory as _, Port};
use super::reader::{Busy, Reader, Unread};
use super::subbuf::bytes_of;
use super::wire;

impl<P: Port> Reader<'_, P> {
    /// The next unread data if writers have left its sub-buffer, so that nothing more comes into it.
    pub(crate) fn whole(&mut self) -> Result<Option<Unread>, Busy> {
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
    /// sub-buffer with its header, unused bytes zero. Of a sub-buffer that writers have left, and of which
    /// nothing was read before, it gets the memory itself, and the ring gets the memory of `image`:
    /// nothing is copied. Not so when memory `stays` in the ring, nor in a broken one, whose words may
    /// not be true.
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

    #[inline(always)]
    fn take_this(&mut self, unread: &Unread, image: &mut P::Memory, stays: bool) -> Option<()> {
        if stays || unread.open || unread.offset != 0 || self.ring.is_broken() {
            // SAFETY: it is the caller's own, in no ring.
            return self.copy_image(unread, unsafe { bytes_of(image) });
        }
        let cur = *self.state.current.as_ref().filter(|cur| !cur.attached)?;
        let page = self.ring.page(cur.page)?;
        // SAFETY: it is the reader's own, and detached: writers have left it. No address of its bytes is
        // held here.
        unsafe { page.exchange(image) };
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
