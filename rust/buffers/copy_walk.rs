// SPDX-License-Identifier: GPL-2.0

//! A walk through the events of a copy of a sub-buffer: what it finds are whole records.

use super::{
    stream::{
        Page,
        Walk, //
    },
    Bank,
    Buffers,
    PageCopy, //
};
use crate::kapi::whole_record::WholeRecord;
use kernel::prelude::*;

/// A copy of a sub-buffer, and a walk through its events.
///
/// # Invariants
///
/// The walk stands at no event, or at one that it found in the bytes of the copy.
#[derive(Default)]
pub(crate) struct CopyWalk {
    copy: PageCopy,
    walk: Walk,
}

impl CopyWalk {
    /// Returns the stamp of the event at which it stands.
    #[inline(always)]
    pub(crate) fn stamp(&self) -> Option<u64> {
        self.walk.stamp()
    }

    /// Returns the record of that event.
    #[inline(always)]
    pub(crate) fn record(&self) -> Option<WholeRecord<'_>> {
        self.found(&self.walk)
    }

    /// Returns the record of the event after that, if it is in the copy.
    pub(super) fn after_next(&self) -> Option<WholeRecord<'_>> {
        let mut walk = self.walk;
        walk.pass(self.copy.filled()?);
        self.found(&walk)
    }

    /// Returns the record at which `walk` stands, which is one through this copy.
    #[inline(always)]
    fn found(&self, walk: &Walk) -> Option<WholeRecord<'_>> {
        let record = walk.record(self.copy.filled()?)?;
        // SAFETY: The walk is `self.walk`, or went on from there: a decoder has found the event in these bytes
        // (invariant), which are a copy of the committed part of a sub-buffer.
        Some(unsafe { WholeRecord::found(record) })
    }

    /// Passes the event. Returns whether there was a copy.
    #[inline(always)]
    pub(crate) fn pass(&mut self) -> bool {
        let Some(data) = self.copy.filled() else {
            return false;
        };
        self.walk.pass(data);
        true
    }

    /// Returns the offset after the last event that was passed, and the time there.
    #[inline(always)]
    pub(super) fn passed(&self) -> (usize, u64) {
        self.walk.passed()
    }

    /// Leaves the copy: it stands at no event.
    pub(crate) fn leave(&mut self) {
        self.walk = Walk::default();
    }

    /// Copies the next unread events of `cpu` and stands at the first one. Returns how many were lost before; `None`
    /// if there are none unread.
    ///
    /// # Errors
    ///
    /// Those of [`Buffers::peek_next`].
    pub(super) fn peek(&mut self, buffers: &Buffers, cpu: u32) -> Result<Option<u64>> {
        // INVARIANT: Before the bytes change.
        self.leave();
        if !buffers.peek_next(cpu, &mut self.copy)? {
            return Ok(None);
        }
        self.begin();
        Ok(Some(self.copy.lost))
    }

    /// Copies the sub-buffer of `cpu` in `bank` after `after`, or the oldest one, and stands at no event. Returns
    /// what is known of it.
    ///
    /// # Errors
    ///
    /// Those of [`Buffers::view`].
    pub(crate) fn view(
        &mut self,
        buffers: &Buffers,
        bank: Bank,
        cpu: u32,
        after: Option<u64>,
    ) -> Result<Option<Page>> {
        // INVARIANT: Before the bytes change.
        self.leave();
        let viewed = buffers.view(bank, cpu, after, &mut self.copy)?;
        Ok(viewed.then_some(Page {
            seq: self.copy.seq,
            event: self.copy.number,
            forgotten: self.copy.forgotten,
        }))
    }

    /// Stands at the first event of the copy after `seen` that were seen. Returns whether there is one.
    pub(crate) fn enter(&mut self, seen: u64) -> bool {
        self.begin();
        self.walk.skip(self.copy.data(), seen);
        self.stamp().is_some()
    }

    /// Stands at the first event that has not been consumed.
    fn begin(&mut self) {
        // INVARIANT: It finds the event in these bytes.
        self.walk = Walk::new(self.copy.data(), self.copy.rd, self.copy.rd_ts);
    }

    /// Consumes what was passed in the copy, `events` events of `cpu`. Returns whether it was there to be consumed.
    #[inline(always)]
    pub(super) fn consume(&self, buffers: &Buffers, cpu: u32, events: u64) -> bool {
        let (end, time) = self.passed();
        buffers.consume(cpu, &self.copy, end, time, events)
    }

    /// As [`Self::consume`], two events that end at these offsets and times, or neither.
    pub(super) fn consume_both(
        &self,
        buffers: &Buffers,
        cpu: u32,
        both: [(usize, u64); 2],
    ) -> bool {
        buffers.consume_both(cpu, &self.copy, both)
    }
}
