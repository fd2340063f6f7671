// SPDX-License-Identifier: GPL-2.0

//! Reads sub-buffers: by a copy, which is decoded and printed without a lock, or by exchanging
//! memory.

use super::{
    Bank,
    Buf,
    Buffers,
    PageCopy, //
};
use crate::{
    kapi::pages::Image,
    ring::give::PartialTake, //
};
use kernel::prelude::*;

impl Buffers {
    /// Copies the next unread events of `cpu`, and consumes nothing. Returns `false` if there are
    /// none, or if writers overwrote them during the copy.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ENODEV` without such a CPU.
    pub(super) fn peek_next(&self, cpu: u32, copy: &mut PageCopy) -> Result<bool> {
        self.read_of(Buf::Live, cpu, |bank, mut reader| {
            copy.unread(bank, &mut reader)
        })
    }

    /// Copies the oldest sub-buffer of `cpu` in `bank` that has not been consumed, or the one after
    /// `after`, and consumes nothing. Returns `false` if there is none.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ENODEV` without such a CPU.
    pub(super) fn view(
        &self,
        bank: Bank,
        cpu: u32,
        after: Option<u64>,
        copy: &mut PageCopy,
    ) -> Result<bool> {
        let mut locked = self.locked(cpu)?;
        let past = locked.past(bank);
        let (reader, _) = locked.reader(bank);
        copy.make_room(reader.subbuf_size())?;
        let Some(viewed) = reader.view(after, &mut copy.bytes) else {
            return Ok(false);
        };
        copy.viewed(bank, past, viewed);
        Ok(true)
    }

    /// Consumes the unread events of the next sub-buffer of `buf` on `cpu`, of which the reader
    /// wants the first `room` bytes; `image` becomes an image of it.
    ///
    /// A sub-buffer that writers have left is not copied: its memory is exchanged for that of
    /// `image`. If `room` is less than a sub-buffer, only the events that fit are consumed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ENODEV` without such a CPU.
    pub(crate) fn raw_read(
        &self,
        buf: Buf,
        cpu: u32,
        image: &mut Image,
        room: usize,
    ) -> Result<PartialTake> {
        self.take_from(buf, cpu, |stays, mut reader| {
            let size = reader.subbuf_size();
            let pages = image.of_size(cpu, size)?;
            let taken = match room < size {
                true => reader.take_part(pages, room),
                false => reader.take(pages, stays).map(|taken| match taken {
                    true => PartialTake::Taken,
                    false => PartialTake::Empty,
                }),
            };
            Ok(taken.unwrap_or(PartialTake::Empty))
        })
    }
}
