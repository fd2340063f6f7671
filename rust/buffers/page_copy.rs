// SPDX-License-Identifier: GPL-2.0

//! A copy of a sub-buffer, for who prints what is in it with no lock held.

use super::{
    progress::Past,
    Bank, //
};
use crate::{
    kapi::port::Kernel,
    ring::{
        reader::Reader,
        view::SubBufView, //
    }, //
};
use kernel::prelude::*;

/// A copy of the committed part of a sub-buffer.
#[derive(Default)]
pub(crate) struct PageCopy {
    /// The events, without the sub-buffer's header. Valid up to `len`.
    pub(crate) bytes: KVVec<u8>,
    /// Where the sub-buffer is.
    pub(crate) bank: Bank,
    /// Number of the sub-buffer since the ring began.
    pub(crate) seq: u64,
    /// Bytes that were committed.
    pub(crate) len: usize,
    /// Where the part begins that nobody has consumed.
    pub(crate) rd: usize,
    /// Time of the first event of the sub-buffer.
    pub(crate) ts: u64,
    /// The time so far, at `rd`.
    pub(crate) rd_ts: u64,
    /// Events lost in front of `rd`. Not filled by `view`: see `number`.
    pub(crate) lost: u64,
    /// Number of the event at `rd`, of all that were ever recorded in the ring. Not filled by
    /// `peek_next`.
    pub(crate) number: u64,
    /// Events before this number were emptied away. Not filled by `peek_next`.
    pub(crate) forgotten: u64,
    /// Events from `rd` on.
    pub(crate) events: u64,
}

impl PageCopy {
    /// The events.
    pub(crate) fn data(&self) -> &[u8] {
        self.filled().unwrap_or_default()
    }

    /// The events; there always are so many bytes.
    #[inline(always)]
    pub(super) fn filled(&self) -> Option<&[u8]> {
        self.bytes.get(..self.len)
    }

    /// Makes room for a sub-buffer. The caller holds the reader's lock, so that it keeps its size.
    pub(super) fn make_room(&mut self, size: usize) -> Result {
        if self.bytes.len() != size {
            self.bytes.clear();
            self.bytes.resize(size, 0, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Becomes a copy of what the reader of `bank` finds unread. `false` when there is nothing, or the
    /// writers were too fast.
    pub(super) fn unread(&mut self, bank: Bank, reader: &mut Reader<'_, Kernel>) -> Result<bool> {
        self.make_room(reader.subbuf_size())?;
        let Ok(Some(u)) = reader.unread() else {
            return Ok(false);
        };
        self.len = reader.copy(&u, &mut self.bytes);
        self.bank = bank;
        self.seq = u.seq;
        self.rd = u.offset as usize;
        self.ts = u.stamp;
        self.rd_ts = u.time;
        self.lost = u.lost;
        self.number = 0;
        self.forgotten = 0;
        self.events = u.events;
        Ok(true)
    }

    /// Became a copy of what is `v`, in `bank`, where that is the `past`.
    pub(super) fn viewed(&mut self, bank: Bank, past: Past, v: SubBufView) {
        self.bank = bank;
        self.seq = v.seq;
        self.len = v.end as usize;
        self.rd = v.offset as usize;
        self.ts = v.stamp;
        self.rd_ts = v.time;
        self.lost = 0;
        self.number = past.number(v.serial);
        self.forgotten = past.forgotten();
        self.events = v.events;
    }
}
