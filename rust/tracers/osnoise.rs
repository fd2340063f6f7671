// SPDX-License-Identifier: GPL-2.0

//! `osnoise`: measures what the system takes from a thread that could always run. A thread on each CPU reads
//! the clock again and again; how long it did not, how often, and what ran instead is a record for each
//! period.
//!
//! One measurement serves all instances that have the tracer. NMIs are counted, by the kernel itself; it tells no
//! module when one begins and ends, so that what they took is in what they interrupted.

use super::{
    setting::Setting,
    workload::{
        self,
        options,
        stop_tracing,
        users,
        Measurer,
        Workload, //
    },
    Columns,
    Host,
    Tracer, //
};
use crate::{
    event::{
        context::Base,
        format, //
    },
    kapi::{
        irqs,
        noise::{
            self,
            EveryNoise,
            NoiseHooks, //
        },
        percpu::CpuPin,
        threads::{
            self,
            ThreadBody, //
        }, //
    },
    latency::{
        noise::Noise,
        osnoise::{
            self,
            MeasureTimes,
            NoiseOptions,
            OsnoiseSample,
            RECORD, //
        }, //
    },
    sources::osnoise as events,
    text::errno::Errno, //
};
use kernel::prelude::*;

/// Nanoseconds of a microsecond.
const NS_PER_US: u64 = 1_000;

/// When and how long is measured. Read by the threads.
static PERIOD: Setting = Setting::of(MeasureTimes::USUAL.period());
static RUNTIME: Setting = Setting::of(MeasureTimes::USUAL.runtime());
/// What the thread of each CPU does.
struct OsnoiseThread;

impl Workload for OsnoiseTracer {
    fn name(&self) -> &'static CStr {
        c"osnoise"
    }

    fn body(&self) -> Result<KBox<dyn ThreadBody>> {
        Ok(KBox::new(OsnoiseThread, GFP_KERNEL)?)
    }

    fn without_threads(&self, cpus: &[u64]) -> Result<Measurer> {
        Ok(Measurer::Everybody(EveryNoise::begin(cpus)))
    }
}

impl ThreadBody for OsnoiseThread {
    fn run(&self) {
        threads::loosened(|| {
            while !threads::should_stop() && !workload::is_to_leave() {
                let times = times();
                if !workload::is_on() {
                    threads::sleep_us(times.period());
                    continue;
                }
                measure();
                threads::sleep_us(times.period().saturating_sub(times.runtime()));
            }
        });
    }
}

/// Measures once, on this CPU, which the caller does not leave.
fn measure() {
    let cpu = CpuPin::with(|pin| pin.cpu());
    let Some(noise) = NoiseHooks::of(cpu) else {
        return;
    };
    let options = options();
    let (before, nmis) = (noise.counts(), noise::nmis());
    let mut search = Noises::default();
    let irqs_off = options.has(NoiseOptions::IRQ_DISABLE);
    noise.begin(Some(kernel::current!().pid() as u32), false);
    match (irqs_off, options.has(NoiseOptions::PREEMPT_DISABLE)) {
        (true, _) => irqs::disabled(|| search.run(noise, true, false)),
        (false, true) => CpuPin::with(|_| search.run(noise, false, false)),
        (false, false) => search.run(noise, false, true),
    }
    noise.end();
    let counts = noise.counts().since(before);
    let sample = OsnoiseSample {
        noise: search.sum / NS_PER_US,
        runtime: search.total / NS_PER_US,
        longest: search.longest / NS_PER_US,
        hardware: search.hardware,
        nmis: noise::nmis().wrapping_sub(nmis),
        irqs: counts.irqs as u32,
        softirqs: counts.softirqs as u32,
        threads: counts.threads as u32,
    };
    CpuPin::with(|pin| {
        events::osnoise_sample(&sample);
        for (sink, _) in users(pin) {
            // The pin disables preemption once. What is refused is in the counters of the buffer.
            let base = Base::new(format::OSNOISE.id, 1);
            let _ = sink.record(pin, base, RECORD, |rest| sample.fill(rest));
            if sink.is_on() {
                sink.raise_max_latency(search.longest);
            }
        }
    });
    let stop = workload::stop(true);
    if stop != 0 && sample.noise > stop {
        stop_tracing();
    }
}

/// The noises of a measurement, in nanoseconds.
#[derive(Default)]
struct Noises {
    total: u64,
    sum: u64,
    longest: u64,
    hardware: u32,
}

impl Noises {
    /// Measures for the runtime. `irqs_off` says whether interrupts are disabled, `yields` whether other
    /// threads may run when they wish.
    fn run(&mut self, noise: &noise::OwnCpuNoise, irqs_off: bool, yields: bool) {
        let runtime = RUNTIME.get().saturating_mul(NS_PER_US);
        let stop = workload::stop(false).saturating_mul(NS_PER_US);
        let threshold = workload::threshold();
        let first_nmi = noise::nmis();
        let nmis = || noise::nmis().wrapping_sub(first_nmi).into();
        let start = noise::now();
        let (mut last, mut last_begun) = noise.look(noise::now, nmis);
        loop {
            let (time, begun) = noise.look(noise::now, nmis);
            let (Some(took), Some(total)) = (time.checked_sub(last), time.checked_sub(start))
            else {
                pr_warn!(
                    "osnoise: the clock ran backwards: the rest of a period is not measured\n"
                );
                return;
            };
            self.total = total;
            if took >= threshold {
                self.longest = self.longest.max(took);
                self.sum = self.sum.saturating_add(took);
                let section = Noise {
                    start: last,
                    duration: took,
                };
                let interference = begun.wrapping_sub(last_begun);
                CpuPin::with(|_| events::sample_threshold(section, interference));
                if begun == last_begun {
                    self.hardware = self.hardware.saturating_add(1);
                }
                if stop != 0 && took > stop {
                    stop_tracing();
                }
            }
            if total >= runtime || threads::should_stop() {
                return;
            }
            noise::quiesce(irqs_off);
            if yields {
                threads::give_way();
            }
            (last, last_begun) = (time, begun);
        }
    }
}

/// Returns when and how long is measured.
pub(crate) fn times() -> MeasureTimes {
    MeasureTimes::of(PERIOD.get(), RUNTIME.get())
}

/// Changes when and how long is measured, from the next time on.
///
/// # Errors
///
/// That of `change`, which gets the present times.
pub(crate) fn change_times(
    change: impl FnOnce(MeasureTimes) -> Result<MeasureTimes, Errno>,
) -> Result<(), Errno> {
    let _turn = workload::lock();
    let times = change(times())?;
    PERIOD.set(times.period());
    RUNTIME.set(times.runtime());
    Ok(())
}

/// The tracer.
pub(super) struct OsnoiseTracer;

impl Tracer for OsnoiseTracer {
    fn name(&self) -> &'static str {
        "osnoise"
    }

    fn records(&self) -> bool {
        true
    }

    fn columns(&self) -> Option<Columns> {
        Some(|out| {
            if workload::is_tainted() {
                out.write_str("# osnoise is tainted!\n")?;
            }
            osnoise::write_columns(cfg!(CONFIG_PREEMPT_RT), out)
        })
    }

    fn start(&self, host: &Host<'_>) -> Result {
        workload::start(host, &OsnoiseTracer)
    }

    fn follow(&self, host: &Host<'_>) -> Result {
        workload::follow(host, &OsnoiseTracer)
    }

    fn stop(&self, host: &Host<'_>) {
        workload::stop_tracer(host);
    }
}
