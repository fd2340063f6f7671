// SPDX-License-Identifier: GPL-2.0

//! The watermark of a ring, `buffer_percent`: readers wait until a ring is filled to that share.
//!
//! A reader asks for a wake-up under the reader's lock, looks without it, and sleeps without a
//! lock. That loses no wake-up because of `kapi::waker`: all CPUs are interrupted between the
//! request and the look.

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

/// The share of new buffers, in percent.
pub(super) const DEFAULT: u32 = 50;

impl Buffers {
    /// Returns the share of a ring, in percent, at which a reader is woken.
    pub(crate) fn percent(&self) -> u32 {
        self.percent.load(Relaxed)
    }

    /// Sets that share for readers that begin to wait later.
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

    /// Sleeps until `percent` of the ring of `cpu` are full, or until `until`, called after each
    /// wake-up, returns `true`.
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
            // What was asked for before the turn began may be for another size or another bank.
            let still = || ask().is_ok_and(|now| core::ptr::eq(now, waker));
            let mut ready = || until() || self.is_reached(cpu, percent);
            if waker.turn(still, &mut ready)? {
                return Ok(());
            }
        }
    }

    /// Returns whether the rings of `cpus` are full to the watermark. If not, wakes `poller` once
    /// they are. For all CPUs at once, one event on any CPU is enough.
    pub(crate) fn poll_share(&self, cpus: CpuSel, poller: &Poller<'_>) -> bool {
        let percent = self.percent();
        let CpuSel::One(cpu) = cpus else {
            return self.poll(Buf::Live, cpus, poller);
        };
        // A caller is registered once and may have to wait for the other waker later.
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

    /// Returns whether `percent` of the live ring of `cpu` are full.
    fn is_reached(&self, cpu: u32, percent: u32) -> bool {
        self.read_of(Buf::Live, cpu, |_, r| Ok(r.reached(percent))) == Ok(true)
    }

    /// Asks for a wake-up when [`Self::is_reached`] becomes true. It comes from the waker that is
    /// returned, or with the next event if that is `None`.
    ///
    /// # Errors
    ///
    /// `ENODEV` without such a CPU.
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

    /// Wakes the readers that wait for the watermark of `ring`, which a writer has reached. Any
    /// context, NMI included.
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

    /// Wakes all readers that wait for a watermark; they look again.
    pub(super) fn wake_watermarks(&self) {
        self.readers
            .iter()
            .for_each(|side| side.watermark.wake_all());
    }
}
