// SPDX-License-Identifier: GPL-2.0

//! The events of one CPU, consumed one after the other.
//!
//! A sub-buffer is copied once, as far as it is filled, and its events are found in the copy. What each
//! of them costs is the reader's lock, under which it is looked whether the event is still there for us:
//! somebody else may have emptied the buffer, taken the sub-buffer or made a snapshot of it.

use super::{
    stream::Walk,
    Buffers,
    PageCopy, //
};
use kernel::prelude::*;

/// A way through the events of a CPU that consumes them.
pub(crate) struct Consumer {
    cpu: u32,
    page: PageCopy,
    walk: Walk,
    /// Events that were lost in front of the next one.
    lost: u64,
}

/// The next event.
pub(crate) struct Next<'a> {
    /// Its time.
    pub(crate) stamp: u64,
    /// Its record, as its writer made it: between whole events.
    pub(crate) record: &'a [u8],
    /// How many were lost in front of it.
    pub(crate) lost: u64,
}

impl Consumer {
    /// One that has looked for nothing yet.
    pub(crate) fn new(cpu: u32) -> Self {
        Self {
            cpu,
            page: PageCopy::default(),
            walk: Walk::default(),
            lost: 0,
        }
    }

    /// The CPU.
    pub(crate) fn cpu(&self) -> u32 {
        self.cpu
    }

    /// The stamp of the next event that is known.
    #[inline]
    pub(crate) fn stamp(&self) -> Option<u64> {
        self.walk.stamp()
    }

    /// Copies the next events, when none is known. Says whether there are any.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `ENODEV`.
    pub(crate) fn look(&mut self, buffers: &Buffers) -> Result<bool> {
        while buffers.peek_next(self.cpu, &mut self.page)? {
            self.lost = self.lost.saturating_add(self.page.lost);
            self.walk = Walk::new(self.page.data(), self.page.rd, self.page.rd_ts);
            if self.walk.stamp().is_some() {
                return Ok(true);
            }
            // Nothing but discarded events: behind them there may be others.
            let (end, time) = self.walk.passed();
            if !buffers.consume(self.cpu, &self.page, end, time, 0) {
                break;
            }
        }
        Ok(false)
    }

    /// The next event that is known. Somebody else may consume it before [`Self::take`] does.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<Next<'_>> {
        Some(Next {
            stamp: self.walk.stamp()?,
            record: self.walk.record(self.page.filled()?)?,
            lost: self.lost,
        })
    }

    /// Consumes the next event that is known. `false` if it is not ours any more, and those behind it
    /// neither: then it is to be looked again.
    #[inline(always)]
    pub(crate) fn take(&mut self, buffers: &Buffers) -> bool {
        let Some(data) = self.page.filled() else {
            return false;
        };
        self.walk.pass(data);
        let (end, time) = self.walk.passed();
        let taken = buffers.consume(self.cpu, &self.page, end, time, 1);
        if !taken {
            self.walk = Walk::default();
        }
        // Told with this event, or with what is found by the next look.
        self.lost = 0;
        taken
    }
}
