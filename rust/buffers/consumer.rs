// SPDX-License-Identifier: GPL-2.0

//! Consumes the events of one CPU, one after the other.
//!
//! The committed part of a sub-buffer is copied once, and its events are found in the copy. Each
//! event then costs taking the reader's lock, to check that it is still there to be consumed:
//! another caller may have emptied the buffer, read the sub-buffer or taken a snapshot meanwhile.

use super::{
    copy_walk::CopyWalk,
    Buffers, //
};
use crate::kapi::whole_record::WholeRecord;
use kernel::prelude::*;

/// A reader of one CPU that consumes the events.
pub(crate) struct Consumer {
    cpu: u32,
    walk: CopyWalk,
    /// Number of events that were lost before the next one.
    lost: u64,
    /// Those of them that no other reader tells of: they were lost before what this one has consumed.
    own: u64,
}

/// The next event.
pub(crate) struct NextEvent<'a> {
    /// Its time.
    pub(crate) stamp: u64,
    /// Its record, whole as the writer committed it.
    pub(crate) record: WholeRecord<'a>,
    /// Number of events that were lost before it.
    pub(crate) lost: u64,
}

impl Consumer {
    /// Returns a consumer that has no events yet.
    pub(crate) fn new(cpu: u32) -> Self {
        Self {
            cpu,
            walk: CopyWalk::default(),
            lost: 0,
            own: 0,
        }
    }

    /// Returns the CPU.
    pub(crate) fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Returns the stamp of the next event in the copy.
    #[inline]
    pub(crate) fn stamp(&self) -> Option<u64> {
        self.walk.stamp()
    }

    /// Copies the next events when none are left in the copy. Returns whether there are any.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `ENODEV` without such a CPU.
    pub(crate) fn look(&mut self, buffers: &Buffers) -> Result<bool> {
        while let Some(lost) = self.walk.peek(buffers, self.cpu)? {
            let found = self.walk.stamp().is_some();
            // Where there are only discarded events, they are passed, as there may be others after them. If another
            // reader has passed them, that one tells of the loss; after a change of the size the next look does.
            if found || self.walk.consume(buffers, self.cpu, 0) {
                self.lost = self.lost.saturating_add(lost);
            }
            if found {
                return Ok(true);
            }
            self.own = self.lost;
        }
        Ok(false)
    }

    /// Returns the next event in the copy. Another caller may consume it before [`Self::take`]
    /// does.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<NextEvent<'_>> {
        Some(NextEvent {
            stamp: self.walk.stamp()?,
            record: self.walk.record()?,
            lost: self.lost,
        })
    }

    /// Returns the record after the next one in the copy. `None` when the copy ends before it: there may be
    /// one nevertheless.
    pub(crate) fn after_next(&self) -> Option<WholeRecord<'_>> {
        self.walk.after_next()
    }

    /// Consumes the next event in the copy. Returns `false` if another caller has consumed it: then
    /// the rest of the copy is dropped as well, and the caller looks again.
    #[inline(always)]
    pub(crate) fn take(&mut self, buffers: &Buffers) -> bool {
        if !self.walk.pass() {
            return false;
        }
        let taken = self.walk.consume(buffers, self.cpu, 1);
        self.was_taken(taken)
    }

    /// As [`Self::take`], the next event and the one after it, or neither.
    pub(crate) fn take_both(&mut self, buffers: &Buffers) -> bool {
        if !self.walk.pass() {
            return false;
        }
        let first = self.walk.passed();
        self.walk.pass();
        let both = [first, self.walk.passed()];
        let taken = self.walk.consume_both(buffers, self.cpu, both);
        self.was_taken(taken)
    }

    /// Counts an event that was taken and that the caller could not use, and the `lost` ones before it, among
    /// those that were lost before the next one.
    pub(crate) fn lose(&mut self, lost: u64) {
        self.lost = self.lost.saturating_add(lost).saturating_add(1);
        self.own = self.lost;
    }

    /// Goes on where events were `taken`; with nothing if they were not.
    #[inline(always)]
    fn was_taken(&mut self, taken: bool) -> bool {
        if taken {
            // Reported with this event.
            self.own = 0;
        } else {
            self.walk.leave();
        }
        // What another reader tells of comes with the event that it has taken, or again with the next one that
        // [`Self::look`] finds.
        self.lost = self.own;
        taken
    }
}
