// SPDX-License-Identifier: GPL-2.0

//! `osnoise`: measures what the system takes from a thread that could always run. A thread on each CPU reads
//! the clock again and again; how long it did not, how often, and what ran instead is a record for each
//! period.
//!
//! One measurement serves all instances that have the tracer. NMIs are not told from the hardware: the kernel
//! tells no module when one begins and ends.

use super::{
    Columns,
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
        cpus,
        grace,
        grace_ref::GraceRef,
        irqs,
        noise::{
            self,
            NoiseHooks, //
        },
        percpu::CpuPin,
        threads::{
            self,
            ThreadBody,
            ThreadPlace,
            Threads, //
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
    probes::{
        Sink,
        WANT_NEWS, //
    },
    sources::osnoise as events,
    text::{
        errno::Errno,
        writer::ByteWrite, //
    }, //
};
use core::{
    fmt::{
        self,
        Write, //
    },
    ptr, //
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// Nanoseconds of a microsecond.
const NS_PER_US: u64 = 1_000;

/// The threshold, in nanoseconds, if none is set.
const USUAL_THRESHOLD: u64 = 1_000;

/// Instances that can have the tracer at a time: as many as there can be.
const MOST: usize = 65;

kernel::sync::global_lock! {
    // SAFETY: `init` of this room is called before any tracer can be chosen.
    unsafe(uninit) static STATE: Mutex<OsnoiseState> = OsnoiseState {
        cpus: None,
        measurement: None,
    };
}

/// The instances that have the tracer and record, for the threads. Changed under [`STATE`].
static USERS: [OsnoiseUser; MOST] = [const { OsnoiseUser::none() }; MOST];

/// The settings. Changed under [`STATE`], read by the threads.
static PERIOD: Atomic<u64> = Atomic::new(MeasureTimes::USUAL.period());
static RUNTIME: Atomic<u64> = Atomic::new(MeasureTimes::USUAL.runtime());
static OPTIONS: Atomic<u32> = Atomic::new(NoiseOptions::USUAL.word());
/// Tracing stops at a longer noise, or a longer sum of noises in a period, in microseconds; 0: it does not.
static STOP: Atomic<u64> = Atomic::new(0);
static STOP_TOTAL: Atomic<u64> = Atomic::new(0);

/// An instance that has the tracer.
struct OsnoiseUser {
    /// Those of the instance, until [`OsnoiseTracer::stop`] has returned.
    sink: GraceRef<Sink>,
    functions: GraceRef<FunctionFilter>,
    is_top: Atomic<bool>,
}

impl OsnoiseUser {
    const fn none() -> Self {
        Self {
            sink: GraceRef::none(),
            functions: GraceRef::none(),
            is_top: Atomic::new(false),
        }
    }

    /// Returns whether it is that of `host`.
    fn is_of(&self, host: &Host<'_>) -> bool {
        let sink = self.sink.get();
        sink.is_some_and(|sink| ptr::eq(sink, host.sink()))
    }
}

/// What there is of the tracer.
struct OsnoiseState {
    /// The CPUs that are measured, one bit each; all if it is not set.
    cpus: Option<KVec<u64>>,
    measurement: Option<Measurement>,
}

/// The measurement, while an instance records.
struct Measurement {
    /// None without the option.
    threads: Option<Threads>,
    _hooks: NoiseHooks,
}

impl OsnoiseState {
    /// Returns the CPUs that are measured.
    fn cpus(&self) -> Result<KVec<u64>> {
        if let Some(set) = &self.cpus {
            let mut cpus = KVec::with_capacity(set.len(), GFP_KERNEL)?;
            cpus.extend_from_slice(set, GFP_KERNEL)?;
            return Ok(cpus);
        }
        let words = (cpus::most() as usize).div_ceil(64);
        let mut cpus = KVec::from_elem(0u64, words, GFP_KERNEL)?;
        for cpu in cpus::possible() {
            if let Some(word) = cpus.get_mut(cpu as usize >> 6) {
                *word |= 1u64.wrapping_shl(cpu & 63);
            }
        }
        Ok(cpus)
    }

    /// Returns the threads that measure, if they shall.
    fn threads(&self) -> Result<Option<Threads>> {
        if !options().has(NoiseOptions::WORKLOAD) {
            return Ok(None);
        }
        let body = KBox::new(Workload, GFP_KERNEL)?;
        let threads = Threads::start(c"osnoise", ThreadPlace::Each, &self.cpus()?, body)?;
        Ok(Some(threads))
    }

    /// Begins to measure, unless it does already.
    fn begin(&mut self) -> Result {
        if self.measurement.is_none() {
            let hooks = NoiseHooks::begin()?;
            self.measurement = Some(Measurement {
                threads: self.threads()?,
                _hooks: hooks,
            });
        }
        Ok(())
    }

    /// Changes what threads look at only once: they end, `change` is called, and others begin.
    fn restart(&mut self, change: impl FnOnce(&mut Self)) -> Result {
        if let Some(measurement) = &mut self.measurement {
            measurement.threads = None;
        }
        change(self);
        if self.measurement.is_some() {
            let threads = self.threads()?;
            if let Some(measurement) = &mut self.measurement {
                measurement.threads = threads;
            }
        }
        Ok(())
    }
}

/// Calls `f` with each instance that records. Any context.
fn each_user(mut f: impl FnMut(&CpuPin, &Sink, &OsnoiseUser)) {
    CpuPin::with(|pin| {
        for user in &USERS {
            if let Some(sink) = user.sink.get() {
                f(pin, sink, user);
            }
        }
    });
}

/// Returns the threshold of noises, in nanoseconds: the least that an instance has, or that of the top
/// instance.
fn threshold() -> u64 {
    let mut least = u64::MAX;
    each_user(|_, _, user| {
        let own = user.functions.get().map_or(0, |of| of.rules().threshold());
        if own != 0 {
            least = least.min(own);
        }
    });
    match (least, super::top_threshold()) {
        (u64::MAX, 0) => USUAL_THRESHOLD,
        (u64::MAX, top) => top,
        (least, _) => least,
    }
}

/// Stops tracing in all instances that have the tracer, and says so in those that are not the top one.
fn stop_tracing() {
    each_user(|pin, sink, user| {
        if !user.is_top.load(Relaxed) {
            let mut text = StopText::new();
            // It fits.
            let _ = write!(text, "stop tracing hit on cpu {}\n\0", pin.cpu());
            let ip = threads::address();
            let base = Base::new(format::PRINT.id, 1);
            let len = text.used.saturating_add(STOP_HEAD);
            // What is refused is in the counters of the buffer.
            let _ = sink.record(pin, base, len, |rest| text.fill(ip, rest));
        }
        sink.switch(false);
        sink.want(WANT_NEWS);
    });
}

/// Bytes of the record before the text.
const STOP_HEAD: usize = 16;

/// The text of the record that says that tracing stopped.
struct StopText {
    bytes: [u8; 40],
    used: usize,
}

impl Write for StopText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.iter_mut().skip(self.used);
        for (to, from) in room.zip(text.bytes()) {
            *to = from;
        }
        self.used = self.used.saturating_add(text.len());
        match self.used <= self.bytes.len() {
            true => Ok(()),
            false => Err(fmt::Error),
        }
    }
}

impl StopText {
    fn new() -> Self {
        Self {
            bytes: [0; 40],
            used: 0,
        }
    }

    /// Fills a record after its common fields.
    fn fill(&self, ip: u64, rest: &mut [u8]) {
        let bytes = Iterator::chain(ip.to_ne_bytes().into_iter(), self.bytes);
        for (to, from) in rest.iter_mut().zip(bytes) {
            *to = from;
        }
    }
}

/// What the thread of each CPU does.
struct Workload;

impl ThreadBody for Workload {
    fn run(&self) {
        while !threads::should_stop() {
            let mut on = false;
            each_user(|_, sink, _| on |= sink.is_on());
            let times = times();
            if !on {
                threads::sleep_us(times.period());
                continue;
            }
            measure();
            threads::sleep_us(times.period().saturating_sub(times.runtime()));
        }
    }
}

/// Measures once, on this CPU, which the caller does not leave.
fn measure() {
    let cpu = CpuPin::with(|pin| pin.cpu());
    let Some(noise) = NoiseHooks::of(cpu) else {
        return;
    };
    let options = options();
    let before = noise.counts();
    let mut search = Noises::default();
    let irqs_off = options.has(NoiseOptions::IRQ_DISABLE);
    noise.begin(kernel::current!().pid() as u32);
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
        nmis: 0,
        irqs: counts.irqs as u32,
        softirqs: counts.softirqs as u32,
        threads: counts.threads as u32,
    };
    CpuPin::with(|_| events::osnoise_sample(&sample));
    each_user(|pin, sink, _| {
        // The pin disables preemption once. What is refused is in the counters of the buffer.
        let base = Base::new(format::OSNOISE.id, 1);
        let _ = sink.record(pin, base, RECORD, |rest| sample.fill(rest));
        if sink.is_on() {
            sink.raise_max_latency(search.longest);
        }
    });
    let stop = STOP_TOTAL.load(Relaxed);
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
    fn run(&mut self, noise: &noise::HereNoise, irqs_off: bool, yields: bool) {
        let runtime = RUNTIME.load(Relaxed).saturating_mul(NS_PER_US);
        let stop = STOP.load(Relaxed).saturating_mul(NS_PER_US);
        let threshold = threshold();
        let start = noise::now();
        let (mut last, mut last_begun) = noise.look(noise::now);
        loop {
            let (time, begun) = noise.look(noise::now);
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
    MeasureTimes::of(PERIOD.load(Relaxed), RUNTIME.load(Relaxed))
}

/// Changes when and how long is measured, from the next time on.
///
/// # Errors
///
/// That of `change`, which gets the present times.
pub(crate) fn change_times(
    change: impl FnOnce(MeasureTimes) -> Result<MeasureTimes, Errno>,
) -> Result<(), Errno> {
    let _turn = STATE.lock();
    let times = change(times())?;
    PERIOD.store(times.period(), Relaxed);
    RUNTIME.store(times.runtime(), Relaxed);
    Ok(())
}

/// Returns the noise, in microseconds, beyond which tracing stops, or that of the sum in a period; 0: it does
/// not.
pub(crate) fn stop(total: bool) -> u64 {
    stop_word(total).load(Relaxed)
}

/// Changes that.
pub(crate) fn set_stop(total: bool, us: u64) {
    stop_word(total).store(us, Relaxed);
}

fn stop_word(total: bool) -> &'static Atomic<u64> {
    match total {
        true => &STOP_TOTAL,
        false => &STOP,
    }
}

/// Returns the options.
pub(crate) fn options() -> NoiseOptions {
    NoiseOptions::of_word(OPTIONS.load(Relaxed))
}

/// Changes the options; a measurement begins anew.
///
/// # Errors
///
/// `EINVAL` for a panic, which no option of rtrace makes; `ENOMEM`: nothing is measured then.
pub(crate) fn set_options(options: NoiseOptions) -> Result {
    if options.has(NoiseOptions::PANIC) {
        return Err(EINVAL);
    }
    STATE
        .lock()
        .restart(|_| OPTIONS.store(options.word(), Relaxed))
}

/// Writes the CPUs that are measured, as a list.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn write_cpus(out: &mut dyn ByteWrite) -> Result {
    let cpus = STATE.lock().cpus()?;
    osnoise::write_cpu_list(&cpus, out).map_err(|_| ENOMEM)
}

/// Has the CPUs of a list measured; a measurement begins anew.
///
/// # Errors
///
/// `EINVAL` and `ERANGE` as the kernel's parser of such lists, `ENOMEM`.
pub(crate) fn set_cpus(list: &[u8]) -> Result {
    let set = cpus::parse_list(list)?;
    STATE.lock().restart(|state| state.cpus = Some(set))
}

/// Prepares the tracer.
///
/// # Safety
///
/// It is called once, before anything else here.
pub(super) unsafe fn init() {
    // SAFETY: Called once, as the caller promises.
    unsafe { STATE.init() };
}

/// Frees what the tracer keeps.
///
/// # Safety
///
/// No instance has the tracer, and none gets it.
pub(super) unsafe fn exit() {
    STATE.lock().cpus = None;
    // SAFETY: Without an instance there is no measurement, which has the hooks.
    unsafe { noise::exit() };
}

/// The tracer.
pub(super) struct OsnoiseTracer;

impl OsnoiseTracer {
    /// Has the instance record, and measures.
    fn join(host: &Host<'_>) -> Result {
        let mut state = STATE.lock();
        let mut users = USERS.iter();
        let user = users.find(|user| user.sink.is_none()).ok_or(EBUSY)?;
        state.begin()?;
        user.is_top.store(host.is_top(), Relaxed);
        // SAFETY: The functions stay until `stop` has returned (invariant of the host), which takes them away
        // and waits.
        unsafe { user.functions.set(Some(host.functions())) };
        // SAFETY: Likewise, the sink stays until `stop` has returned.
        unsafe { user.sink.set(Some(host.sink())) };
        Ok(())
    }

    /// Undoes [`Self::join`], if it was done.
    fn part(host: &Host<'_>) {
        let mut state = STATE.lock();
        let Some(user) = USERS.iter().find(|user| user.is_of(host)) else {
            return;
        };
        // SAFETY: It is taken away; the caller goes on when those that have found it have ended.
        unsafe { user.sink.set(None) };
        // SAFETY: Likewise, it is taken away, and the caller waits.
        unsafe { user.functions.set(None) };
        if USERS.iter().all(|user| user.sink.is_none()) {
            state.measurement = None;
        }
        drop(state);
        grace::writers_left();
    }
}

impl Tracer for OsnoiseTracer {
    fn name(&self) -> &'static str {
        "osnoise"
    }

    fn records(&self) -> bool {
        true
    }

    fn columns(&self) -> Option<Columns> {
        Some(|out| osnoise::write_columns(cfg!(CONFIG_PREEMPT_RT), out))
    }

    fn start(&self, host: &Host<'_>) -> Result {
        host.sink().set_max_latency(0);
        match host.sink().is_on() {
            true => Self::join(host),
            false => Ok(()),
        }
    }

    fn follow(&self, host: &Host<'_>) -> Result {
        let joined = USERS.iter().any(|user| user.is_of(host));
        match (host.sink().is_on(), joined) {
            (true, false) => Self::join(host),
            (false, true) => {
                Self::part(host);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn stop(&self, host: &Host<'_>) {
        Self::part(host);
    }
}
