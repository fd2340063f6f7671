// SPDX-License-Identifier: GPL-2.0

//! A copy of a sub-buffer, for callers that print its events without a lock.

use super::{
    progress::RingHistory,
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
pub(super) struct PageCopy {
    /// The events, without the sub-buffer's header: the first `len` bytes.
    pub(super) bytes: KVVec<u8>,
    /// Bank of the ring that the sub-buffer is in.
    pub(super) bank: Bank,
    /// Sequence number of the sub-buffer in its ring.
    pub(super) seq: u64,
    /// Number of committed bytes.
    pub(super) len: usize,
    /// Offset of the first event that has not been consumed.
    pub(super) rd: usize,
    /// Time of the first event of the sub-buffer.
    pub(super) ts: u64,
    /// Time at `rd`: that of the last event before it.
    pub(super) rd_ts: u64,
    /// Number of events lost before `rd`. Not set by `view`: see `number`.
    pub(super) lost: u64,
    /// Number of the event at `rd`, among all that were ever recorded in the ring. Not set by
    /// `peek_next`.
    pub(super) number: u64,
    /// Events with smaller numbers were removed when the ring was emptied. Not set by `peek_next`.
    pub(super) forgotten: u64,
    /// Number of events from `rd` on.
    pub(super) events: u64,
}

impl PageCopy {
    /// Returns the events; empty if the copy has not been filled.
    pub(super) fn data(&self) -> &[u8] {
        self.filled().unwrap_or_default()
    }

    /// Returns the events. `None` cannot occur: `len` never exceeds the copy.
    #[inline(always)]
    pub(super) fn filled(&self) -> Option<&[u8]> {
        self.bytes.get(..self.len)
    }

    /// Makes room for a sub-buffer of `size` bytes. The caller holds the reader's lock, so that the
    /// size does not change.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn make_room(&mut self, size: usize) -> Result {
        if self.bytes.len() != size {
            self.bytes.clear();
            self.bytes.resize(size, 0, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Copies what the reader of `bank` finds unread. Returns `false` if there is nothing, or if
    /// writers overwrote it during the copy.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
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

    /// Records that the bytes are a copy of `v`, in `bank`, whose earlier events are `past`.
    pub(super) fn viewed(&mut self, bank: Bank, past: RingHistory, v: SubBufView) {
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
