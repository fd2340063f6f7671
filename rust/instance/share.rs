// SPDX-License-Identifier: GPL-2.0

//! What readers need that consume nothing and yet wait for events: how many were recorded so far.
//!
//! A consuming reader sleeps until there is something unread. For these nothing is ever read; they sleep
//! until the number of recorded events is another one than when they looked.

use super::{
    progress::Counts,
    CpuSel,
    Instance, //
};
use crate::kapi::wait::Poller;
use kernel::prelude::*;

/// How many events had been recorded when a reader looked: a sum over CPUs that never becomes less.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(u64);

impl Instance {
    /// The mark of now. To be taken before looking: what is recorded meanwhile makes it an old one.
    pub(crate) fn mark(&self, cpus: CpuSel) -> Mark {
        let recorded = |cpu| self.counts(cpu).map_or(0, |counts| counts.recorded());
        Mark(cpus.iter().map(recorded).fold(0, u64::wrapping_add))
    }

    /// How far the rings of `cpu` are.
    ///
    /// # Errors
    ///
    /// `ENODEV`.
    pub(crate) fn counts(&self, cpu: u32) -> Result<Counts> {
        self.buffers.counts(cpu)
    }

    /// Sleeps until there is another mark than `mark`, or `until`, looked at after each wake-up, says so.
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal.
    pub(crate) fn wait_behind(
        &self,
        cpus: CpuSel,
        mark: Mark,
        until: &mut dyn FnMut() -> bool,
    ) -> Result {
        self.waker.wait(&mut || until() || self.mark(cpus) != mark)
    }

    /// Is there another mark than `mark`? If not, `poller` is woken up when there is.
    pub(crate) fn poll_behind(&self, cpus: CpuSel, mark: Mark, poller: &Poller<'_>) -> bool {
        poller.watch(self.waker.pollers());
        self.waker.poll(|| self.mark(cpus) != mark)
    }
}
