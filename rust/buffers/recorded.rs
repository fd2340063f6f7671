// SPDX-License-Identifier: GPL-2.0

//! Waits for events without consuming any, by the number of events recorded so far.
//!
//! A consuming reader sleeps until there is something unread. For a reader that consumes nothing
//! there always is; it sleeps until more events have been recorded than when it looked.

use super::{
    Buffers,
    CpuSel, //
};
use crate::kapi::wait::Poller;
use kernel::prelude::*;

/// Number of events that had been recorded when a reader looked: a sum over CPUs that never
/// decreases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordedTotal(u64);

impl Buffers {
    /// Returns the number of events recorded so far. A reader asks for it before it looks, so that
    /// events recorded meanwhile make it outdated.
    pub(crate) fn recorded_total(&self, cpus: CpuSel) -> RecordedTotal {
        let recorded = |cpu| self.counts(cpu).map_or(0, |counts| counts.recorded());
        RecordedTotal(cpus.iter().map(recorded).fold(0, u64::wrapping_add))
    }

    /// Sleeps until `total` is outdated, or until `until`, called after each wake-up, returns
    /// `true`.
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal.
    pub(crate) fn wait_recorded(
        &self,
        cpus: CpuSel,
        total: RecordedTotal,
        until: &mut dyn FnMut() -> bool,
    ) -> Result {
        self.waker
            .wait(&mut || until() || self.recorded_total(cpus) != total)
    }

    /// Returns whether `total` is outdated. If not, wakes `poller` once it is.
    pub(crate) fn poll_recorded(
        &self,
        cpus: CpuSel,
        total: RecordedTotal,
        poller: &Poller<'_>,
    ) -> bool {
        poller.watch(self.waker.pollers());
        self.waker.poll(|| self.recorded_total(cpus) != total)
    }
}
