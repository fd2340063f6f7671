// SPDX-License-Identifier: GPL-2.0

//! The watermark of a ring, `buffer_percent`: waiting for a share of it instead of the next event.
//!
//! A sleeper asks under the reader's lock, looks with nothing held, and sleeps without a lock. It
//! counts on `kapi::waker`: between what it asks for and its look all CPUs are interrupted.

use super::{
    side::ReaderSide,
    Bank,
    Buf,
    Buffers,
    CpuSel, //
};
use crate::{
    kapi::{
        port::Ring,
        wait::Poller,
        waker::Waker, //
    },
    ring::watermark::WakeCondition, //
};
use kernel::{
    prelude::*,
    sync::atomic::Relaxed, //
};

/// The share of new buffers.
pub(super) const DEFAULT: u32 = 50;

impl Buffers {
    /// Returns how many percent of a ring shall be full before a reader is woken.
    pub(crate) fn percent(&self) -> u32 {
        self.percent.load(Relaxed)
    }

    /// Sets that share, for readers that begin to wait after this.
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

    /// Sleeps until so much of the ring of `cpu` is full, or `until`, called after each wake-up, returns
    /// `true`.
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
        let ask = || -> Result<&Waker> { Ok(self.ask(cpu, percent)?.unwrap_or(&self.waker)) };
        loop {
            let waker = ask()?;
            // What was asked before the turn began may be of another size, or of another bank.
            let still = || ask().is_ok_and(|now| core::ptr::eq(now, waker));
            let mut ready = || until() || self.is_reached(cpu, percent);
            if waker.turn(still, &mut ready)? {
                return Ok(());
            }
        }
    }

    /// Returns whether that share of the rings of `cpus` is full. If not, `poller` is woken up when it
    /// is. Of all CPUs at once, an event of any is enough.
    pub(crate) fn poll_share(&self, cpus: CpuSel, poller: &Poller<'_>) -> bool {
        let percent = self.percent();
        let CpuSel::One(cpu) = cpus else {
            return self.poll(Buf::Live, cpus, poller);
        };
        // A caller is registered once and may have to wait for the other one later.
        poller.watch(self.waker.pollers());
        let Ok(side) = self.side(cpu) else {
            return false;
        };
        poller.watch(side.watermark.pollers());
        match self.ask(cpu, percent) {
            Ok(waker) => {
                let waker = waker.unwrap_or(&self.waker);
                waker.poll(|| self.is_reached(cpu, percent))
            }
            Err(_) => false,
        }
    }

    /// Returns whether that share of the live ring of `cpu` is full.
    fn is_reached(&self, cpu: u32, percent: u32) -> bool {
        self.read_of(Buf::Live, cpu, |_, r| Ok(r.reached(percent))) == Ok(true)
    }

    /// Asks for a wake-up when [`Self::is_reached`] becomes true. It comes from the waker that is returned,
    /// without one from that of the next event.
    ///
    /// # Errors
    ///
    /// `ENODEV`.
    fn ask(&self, cpu: u32, percent: u32) -> Result<Option<&Waker>> {
        let side = self.side(cpu)?;
        match self.read_of(Buf::Live, cpu, |_, mut r| Ok(r.ask(percent)))? {
            WakeCondition::Event => Ok(None),
            WakeCondition::Watermark { passed } => {
                if passed {
                    side.watermark.wake_all();
                }
                Ok(Some(&side.watermark))
            }
        }
    }

    /// Wakes readers that wait for the watermark of `ring`, which a writer has reached. Any context, NMI
    /// included.
    #[cold]
    #[inline(never)]
    pub(crate) fn watermark_reached(&self, ring: &Ring) {
        let here = |side: &&Pin<KBox<ReaderSide>>| {
            self.rings.of(side.cpu).is_some_and(|own| {
                let is = |bank| core::ptr::eq(own.of(bank), ring);
                Bank::BOTH.into_iter().any(is)
            })
        };
        if let Some(side) = self.readers.iter().find(here) {
            side.watermark.published();
        }
    }

    /// Makes all readers that wait for a watermark look again.
    pub(super) fn wake_watermarks(&self) {
        self.readers
            .iter()
            .for_each(|side| side.watermark.wake_all());
    }
}
