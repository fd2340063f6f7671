// SPDX-License-Identifier: GPL-2.0

//! `hwlat`: searches for times in which a CPU did nothing though interrupts were disabled: the hardware or
//! its firmware took them, or a hypervisor.
//!
//! A thread reads the clock again and again, for the `width` at the beginning of each `window`; what it finds
//! is a record. `hwlat_detector/mode` says on which CPU. One instance can have the tracer at a time.
//!
//! NMIs are not told from the hardware: the kernel tells no module when one begins and ends.

use super::{
    setting::Setting,
    Host,
    Tracer, //
};
use crate::{
    event::{
        context::Base,
        format, //
    },
    hooks::FunctionFilter,
    kapi::{
        clock,
        irqs,
        kept::KeptValue,
        percpu::CpuPin,
        threads::{
            self,
            ThreadBody,
            ThreadPlace,
            Threads, //
        }, //
    },
    latency::{
        gap::GapSearch,
        hwlat::{
            HwlatMode,
            HwlatSample,
            SearchTimes,
            RECORD, //
        }, //
    },
    probes::Sink,
    text::{
        clock::ClockId,
        errno::Errno, //
    }, //
};
use kernel::{
    pr_warn_once,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// The threshold, in nanoseconds, if none is set when the tracer is chosen for the first time.
const USUAL_THRESHOLD: u64 = 10_000;

crate::kapi::global::global_mutex! {
    static STATE: Mutex<HwlatState> = HwlatState {
        last_threshold: USUAL_THRESHOLD,
        run: None,
    };
}

/// When and how long is searched, and on which CPU: changed under [`STATE`], read by the threads.
static WINDOW: Setting = Setting::of(SearchTimes::USUAL.window());
static WIDTH: Setting = Setting::of(SearchTimes::USUAL.width());
/// Changed by a thread as well, which goes from one CPU to the next no more.
static MODE: Atomic<u32> = Atomic::new(HwlatMode::RoundRobin as u32);

/// What there is of the tracer.
struct HwlatState {
    /// The threshold that the instance had which had the tracer last.
    last_threshold: u64,
    run: Option<HwlatRun>,
}

/// A tracer that is chosen.
struct HwlatRun {
    search: Arc<HwlatSearch>,
    /// The threshold that the instance had before.
    threshold_before: u64,
    /// The CPUs that the instance records, one bit each.
    cpus: KVec<u64>,
    threads: Option<Threads>,
}

impl HwlatRun {
    /// Has threads search, or none when `on` is false.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; none search then.
    fn renew(&mut self, on: bool) -> Result {
        self.threads = None;
        if !on {
            return Ok(());
        }
        let place = match mode() {
            HwlatMode::Free => ThreadPlace::Any,
            HwlatMode::RoundRobin => ThreadPlace::First,
            HwlatMode::PerCpu => ThreadPlace::Each,
        };
        let mut cpus = KVec::with_capacity(self.cpus.len(), GFP_KERNEL)?;
        cpus.extend_from_slice(&self.cpus, GFP_KERNEL)?;
        let body = HwlatSearcher {
            search: self.search.clone(),
            cpus,
        };
        let body = KBox::new(body, GFP_KERNEL)?;
        match Threads::start(c"hwlatd", place, &self.cpus, body) {
            Ok(threads) => self.threads = Some(threads),
            // No CPU of the set is online: there is none to search until that changes.
            Err(why) if why == EINVAL => {}
            Err(why) => return Err(why),
        }
        Ok(())
    }
}

/// What all threads of a run have.
struct HwlatSearch {
    /// Those of the instance.
    sink: KeptValue<Sink>,
    functions: Arc<FunctionFilter>,
    /// Number of samples.
    samples: Atomic<u32>,
}

/// What one thread does, or each of them.
struct HwlatSearcher {
    search: Arc<HwlatSearch>,
    /// Where it goes.
    cpus: KVec<u64>,
}

impl ThreadBody for HwlatSearcher {
    fn run(&self) {
        while !threads::should_stop() {
            if mode() == HwlatMode::RoundRobin && !threads::move_on(&self.cpus) {
                pr_info!("hwlat: the thread may run elsewhere by now: the mode is none\n");
                MODE.store(HwlatMode::Free as u32, Relaxed);
            }
            let threshold = self.search.functions.rules().threshold();
            irqs::disabled(|| self.search.once(&self.search.sink, threshold));
            threads::sleep(times().pause_ms());
        }
    }
}

impl HwlatSearch {
    /// Searches once, on this CPU, where interrupts are disabled.
    fn once(&self, sink: &Sink, threshold_ns: u64) {
        let now = || clock::read(ClockId::Local);
        let width = WIDTH.get();
        let mut search = GapSearch::new(now(), threshold_ns / 1_000);
        let mut wall_ns = 0;
        loop {
            let first = now();
            let Some(look) = search.look(first, now()) else {
                pr_warn_once!("hwlat: the clock ran backwards: what was found is not told\n");
                return;
            };
            if look.is_first {
                wall_ns = clock::wall_ns();
            }
            if look.elapsed > width || threads::should_stop() {
                break;
            }
        }
        let Some(gaps) = search.found() else {
            return;
        };
        let sample = HwlatSample {
            gaps,
            wall_ns,
            nmis: 0,
            number: self.samples.fetch_add(1, Relaxed).wrapping_add(1),
        };
        // The pin disables preemption once.
        let base = Base::new(format::HWLAT.id, 1);
        // What is refused is in the counters of the buffer.
        let _ = CpuPin::with(|pin| sink.record(pin, base, RECORD, |rest| sample.fill(rest)));
        sink.raise_max_latency(gaps.longest().saturating_mul(1_000));
    }
}

/// Returns which CPUs are searched.
pub(crate) fn mode() -> HwlatMode {
    HwlatMode::of_number(MODE.load(Relaxed))
}

/// Chooses which CPUs are searched.
///
/// # Errors
///
/// `ENOMEM`; the tracer searches none then.
pub(crate) fn set_mode(mode: HwlatMode) -> Result {
    let mut state = STATE.lock();
    let Some(run) = &mut state.run else {
        MODE.store(mode as u32, Relaxed);
        return Ok(());
    };
    run.threads = None;
    // No thread is left that would change it.
    MODE.store(mode as u32, Relaxed);
    // Not by the threads that there were: there is none where no CPU of the set is online.
    run.renew(run.search.sink.is_on())
}

/// Returns when and how long is searched.
pub(crate) fn times() -> SearchTimes {
    SearchTimes::of(WINDOW.get(), WIDTH.get())
}

/// Changes when and how long is searched, from the next search on.
///
/// # Errors
///
/// That of `change`, which gets the present times.
pub(crate) fn change_times(
    change: impl FnOnce(SearchTimes) -> Result<SearchTimes, Errno>,
) -> Result<(), Errno> {
    let _turn = STATE.lock();
    let times = change(times())?;
    WINDOW.set(times.window());
    WIDTH.set(times.width());
    Ok(())
}

/// The tracer.
pub(super) struct HwlatTracer;

impl Tracer for HwlatTracer {
    fn name(&self) -> &'static str {
        "hwlat"
    }

    fn records(&self) -> bool {
        true
    }

    fn start(&self, host: &Host<'_>) -> Result {
        let mut state = STATE.lock();
        if state.run.is_some() {
            return Err(EBUSY);
        }
        let search = HwlatSearch {
            sink: host.sink().clone(),
            functions: host.functions().clone(),
            samples: Atomic::new(0),
        };
        let mut run = HwlatRun {
            search: Arc::new(search, GFP_KERNEL)?,
            threshold_before: host.functions().rules().threshold(),
            cpus: host.cpus()?,
            threads: None,
        };
        if run.threshold_before == 0 {
            host.set_threshold(state.last_threshold);
        }
        host.sink().set_max_latency(0);
        let started = run.renew(host.sink().is_on());
        if started.is_err() {
            host.set_threshold(run.threshold_before);
            return started;
        }
        state.run = Some(run);
        Ok(())
    }

    fn follow(&self, host: &Host<'_>) -> Result {
        let cpus = host.cpus()?;
        let mut state = STATE.lock();
        let Some(run) = &mut state.run else {
            return Ok(());
        };
        let on = host.sink().is_on();
        if run.threads.is_some() == on && run.cpus[..] == cpus[..] {
            return Ok(());
        }
        run.cpus = cpus;
        run.renew(on)
    }

    fn stop(&self, host: &Host<'_>) {
        let mut state = STATE.lock();
        let Some(mut run) = state.run.take() else {
            return;
        };
        run.threads = None;
        state.last_threshold = host.functions().rules().threshold();
        host.set_threshold(run.threshold_before);
    }
}
