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

    /// Consumes all unread data of the next sub-buffer that writers have left; the result is an image
    /// of it like that of [`Self::take_image`]. It is the sub-buffer's own memory, for which the ring gets
    /// `fresh`; or `fresh` with a copy, if a part was read before or the memory `stays` in the ring.
    ///
    /// `None` when there is no such sub-buffer, or `fresh` has another size.
    pub(crate) fn take_whole(
        &mut self,
        mut fresh: P::Memory,
        stays: bool,
    ) -> Result<Option<P::Memory>, Busy> {
        if fresh.size() != self.subbuf_size() {
            return Ok(None);
        }
        let Some(unread) = self.whole()? else {
            return Ok(None);
        };
        if stays || unread.offset != 0 {
            // SAFETY: it was the caller's own.
            let image = unsafe { bytes_of(&mut fresh) };
            return Ok(self.take_image(image)?.map(|()| fresh));
        }
        let Some(cur) = self.state.current.filter(|cur| !cur.attached) else {
            return Ok(None);
        };
        let Some(page) = self.ring.page(cur.page) else {
            return Ok(None);
        };
        // SAFETY: it is the reader's own, and detached: writers have left it. No address of its bytes is
        // held here.
        let mut memory = unsafe { page.exchange(fresh) };
        self.consume(unread.seq, unread.end, unread.time, unread.events);
        // What the sub-buffer says of its bytes is true no more.
        self.release(cur);
        // SAFETY: no sub-buffer has it any more, and no writer was in it.
        let image = unsafe { bytes_of(&mut memory) };
        let end = wire::HEADER.saturating_add(unread.end as usize);
        if let Some(rest) = image.get_mut(end..) {
            rest.fill(0);
        }
        wire::finish_image(image, unread.stamp, unread.end as usize, unread.lost);
        Ok(Some(memory))
    }
}
