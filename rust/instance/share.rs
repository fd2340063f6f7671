// SPDX-License-Identifier: GPL-2.0

//! What readers need that consume nothing and yet wait for events: how many were recorded so far.
//!
//! A consuming reader sleeps until there is something unread. For these nothing is ever read; they sleep
//! until the number of recorded events is another one than when they looked.

use super::{
    Bank,
    Buf,
    CpuSel,
    Instance, //
};
use crate::kapi::wait::Poller;
use kernel::{
    prelude::*,
    sync::atomic::Relaxed, //
};

/// What a reader had seen when it found nothing more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Sum over the CPUs.
    recorded: u64,
    /// How often buffers were emptied: then events are counted anew.
    emptied: u64,
    /// Where they were recorded: a snapshot takes the place away.
    pub(crate) bank: Bank,
}

impl Mark {
    /// Are the events behind `other` counted on, not anew?
    pub(crate) fn goes_on(self, other: Mark) -> bool {
        (self.emptied, self.bank) == (other.emptied, other.bank)
    }
}

impl Instance {
    /// The mark of now. To be taken before looking: what is recorded meanwhile makes it an old one.
    pub(crate) fn mark(&self, cpus: CpuSel) -> Mark {
        let emptied = self.emptied.load(Relaxed);
        let bank = self.bank(Buf::Live);
        let recorded = cpus.iter().fold(0, |sum: u64, cpu| {
            sum.wrapping_add(
                self.buffers
                    .stats(bank, cpu)
                    .map_or(0, |stats| stats.written),
            )
        });
        Mark {
            recorded,
            emptied,
            bank,
        }
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
