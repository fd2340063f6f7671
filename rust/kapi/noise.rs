// SPDX-License-Identifier: GPL-2.0

//! What takes each CPU, as tracepoints tell it while it is of interest.

use super::{
    c,
    clock::{
        self,
        InlineClock, //
    },
    late::LazyPerCpu,
    percpu::CpuPin,
    words::LocalU64, //
};
use crate::{
    latency::noise::CpuNoise,
    text::clock::ClockId, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// What takes one CPU. Its functions are called on that CPU alone.
pub(crate) type OwnCpuNoise = CpuNoise<LocalU64>;

pub(super) static NOISES: LazyPerCpu<OwnCpuNoise> = LazyPerCpu::new();

/// Returns the time, of the clock `local`. Any context.
#[inline(always)]
pub(crate) fn now() -> u64 {
    CpuPin::with(time)
}

/// Returns the same time, on the CPU of the pin. Any context.
#[inline(always)]
pub(crate) fn time(_: &CpuPin) -> u64 {
    clock::read(ClockId::Local)
}

/// The clock has no time at hand: [`time`] takes longer.
pub(crate) struct NoTimeAtHand;

/// Returns the same time, if nothing has to be called for it. Any context.
///
/// # Errors
///
/// [`NoTimeAtHand`].
#[inline(always)]
pub(crate) fn time_at_hand(_: &CpuPin) -> Result<u64, NoTimeAtHand> {
    let clock = InlineClock::of(ClockId::Local).ok_or(NoTimeAtHand)?;
    clock.now().ok_or(NoTimeAtHand)
}

/// Returns what takes this CPU.
#[inline(always)]
pub(crate) fn this(pin: &CpuPin) -> Option<&OwnCpuNoise> {
    NOISES.this(pin)
}

/// Tracepoints that tell what takes each CPU, while this lives.
pub(crate) struct NoiseHooks(());

impl NoiseHooks {
    /// Begins. One at a time. Process context.
    ///
    /// # Errors
    ///
    /// `ENOENT` in a kernel without one of the tracepoints, `ENOMEM`.
    pub(crate) fn begin() -> Result<Self> {
        NOISES.prepare(|_| Ok(CpuNoise::new()))?;
        to_result(c::rt_noise_hook())?;
        Ok(Self(()))
    }

    /// Returns what takes `cpu`.
    pub(crate) fn of(cpu: u32) -> Option<&'static OwnCpuNoise> {
        NOISES.of(cpu)
    }
}

/// All that runs on CPUs is noise, while this lives and the hooks do.
pub(crate) struct EveryNoise(());

impl EveryNoise {
    /// Begins, on the CPUs of a set with a bit for each, also on those that come online later.
    pub(crate) fn begin(cpus: &[u64]) -> Self {
        for cpu in super::cpus::possible() {
            let word = cpus.get(cpu as usize >> 6).copied().unwrap_or(0);
            if word.wrapping_shr(cpu & 63) & 1 == 0 {
                continue;
            }
            if let Some(noise) = NOISES.of(cpu) {
                noise.begin(None, false);
            }
        }
        Self(())
    }
}

impl Drop for EveryNoise {
    fn drop(&mut self) {
        for noise in super::cpus::possible().filter_map(|cpu| NOISES.of(cpu)) {
            noise.end();
        }
    }
}

impl Drop for NoiseHooks {
    fn drop(&mut self) {
        c::rt_noise_unhook();
    }
}

/// Does what a thread that never sleeps owes RCU. `irqs_off` says whether interrupts are disabled.
#[inline(always)]
pub(crate) fn quiesce(irqs_off: bool) {
    c::rt_noise_quiesce(irqs_off);
}

/// Returns how many NMIs there were on this CPU, as `/proc/interrupts` has it. The caller does not leave the CPU. Any
/// context.
#[inline(always)]
pub(crate) fn nmis() -> u32 {
    c::rt_noise_nmis()
}
