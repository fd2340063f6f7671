// SPDX-License-Identifier: GPL-2.0

//! Waiting for events without consuming any: how many were recorded so far.
//!
//! A consuming reader sleeps until there is something unread. For a reader that consumes nothing there always
//! is; it sleeps until the number of recorded events is another one than when it looked.

use super::{
    Buffers,
    CpuSel, //
};
use crate::kapi::wait::Poller;
use kernel::prelude::*;

/// Number of events that had been recorded when a reader looked: a sum over CPUs that never becomes less.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordedTotal(u64);

impl Buffers {
    /// Returns the number of events recorded so far. A reader gets it before it looks: what is recorded
    /// meanwhile makes it outdated.
    pub(crate) fn recorded_total(&self, cpus: CpuSel) -> RecordedTotal {
        let recorded = |cpu| self.counts(cpu).map_or(0, |counts| counts.recorded());
        RecordedTotal(cpus.iter().map(recorded).fold(0, u64::wrapping_add))
    }

    /// Sleeps until `total` is outdated, or `until`, called after each wake-up, returns `true`.
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

    /// Returns whether `total` is outdated. If not, `poller` is woken up when it is.
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
