// SPDX-License-Identifier: GPL-2.0

//! Waiting for a share of a ring instead of the next event: `buffer_percent`.
//!
//! A sleeper asks under the reader's lock, looks with nothing held, and sleeps without a lock. It
//! counts on `kapi::waker`: between what it asks for and its look all CPUs are interrupted.

use super::{
    Buf,
    CpuSel,
    Instance, //
};
use crate::{
    kapi::{
        wait::Poller,
        waker::Waker, //
    },
    text::options::Opt, //
};
use kernel::{
    prelude::*,
    sync::atomic::Relaxed, //
};

/// The share that a new instance has.
pub(super) const DEFAULT: u32 = 50;

impl Instance {
    /// How many percent of a ring shall be full before a reader is told.
    pub(crate) fn percent(&self) -> u32 {
        self.percent.load(Relaxed)
    }

    /// Sets that share, for whoever begins to wait after this.
    ///
    /// # Errors
    ///
    /// `EINVAL` for more than 100.
    pub(crate) fn set_percent(&self, percent: u64) -> Result {
        let percent = u32::try_from(percent).map_err(|_| EINVAL)?;
        if percent > 100 {
            return Err(EINVAL);
        }
        self.percent.store(percent, Relaxed);
        Ok(())
    }

    /// Sleeps until so much of the ring of `cpu` is full, or `until`, looked at after each wake-up,
    /// says so.
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal, `ENODEV` without such a CPU.
    pub(crate) fn wait_share(
        &self,
        cpu: u32,
        percent: u32,
        until: &mut dyn FnMut() -> bool,
    ) -> Result {
        let ask =
            || -> Result<&Waker> { Ok(self.buffers.ask(cpu, percent)?.unwrap_or(&self.waker)) };
        loop {
            let waker = ask()?;
            // What was asked before the turn began may be of another size, or of another bank.
            let still = || ask().is_ok_and(|now| core::ptr::eq(now, waker));
            let mut ready = || until() || self.buffers.reached(cpu, percent);
            if waker.turn(still, &mut ready)? {
                return Ok(());
            }
        }
    }

    /// Is the share of the instance full in the rings of `cpus`? If not, `poller` is woken up when it
    /// is. Of all CPUs at once, an event of any is enough.
    pub(crate) fn poll_share(&self, cpus: CpuSel, poller: &Poller<'_>) -> bool {
        let percent = self.percent();
        let CpuSel::One(cpu) = cpus else {
            return self.poll(Buf::Live, cpus, poller);
        };
        if self.options().has(Opt::Block) {
            return true;
        }
        // A caller is registered once and may have to wait for the other one later.
        poller.watch(self.waker.pollers());
        let Ok(mark) = self.buffers.mark(cpu) else {
            return false;
        };
        poller.watch(mark.pollers());
        match self.buffers.ask(cpu, percent) {
            Ok(waker) => {
                let waker = waker.unwrap_or(&self.waker);
                waker.poll(|| self.buffers.reached(cpu, percent))
            }
            Err(_) => false,
        }
    }
}
