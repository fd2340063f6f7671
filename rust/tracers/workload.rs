// SPDX-License-Identifier: GPL-2.0

//! The measurement of `osnoise` or `timerlat`: threads on each CPU that serve all instances which have one of
//! the two tracers and record. It begins with the first instance and ends with the last.
//!
//! Instances come and go under one lock, which threads do not take.

use super::{
    load::UserLoads,
    setting::Setting,
    Host, //
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
        grace_places::{
            GracePlace,
            GracePlaces, //
        },
        grace_ref::GraceRef,
        noise::{
            EveryNoise,
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
    latency::osnoise::{
        self,
        NoiseOptions, //
    },
    probes::{
        Sink,
        WANT_NEWS, //
    },
    tasks::switches::NoiseSwitches,
    text::{
        errno::Errno,
        rest::RecordRest,
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

/// The threshold of noise, in nanoseconds, if none is set.
const USUAL_THRESHOLD: u64 = 1_000;

/// Instances that can have the tracer at a time: as many as there can be.
const MOST: usize = 65;

crate::kapi::global::global_mutex! {
    static STATE: Mutex<MeasureState> = MeasureState {
        cpus: None,
        chosen: None,
        measurement: None,
    };
}

/// The instances that have the tracer and record, for the threads. Changed under [`STATE`].
static USERS: GracePlaces<MeasuredInstance, MOST> =
    GracePlaces::of([const { MeasuredInstance::none() }; MOST]);

/// The options of both tracers. Changed under [`STATE`].
static OPTIONS: Setting = Setting::of(NoiseOptions::USUAL.word() as u64);
/// Tracing stops at a longer noise or latency, or a longer sum of noises in a period, in microseconds; 0: it does not.
static STOP: Setting = Setting::of(0);
static STOP_TOTAL: Setting = Setting::of(0);

/// Whether something made a measurement wrong.
static TAINTED: Atomic<bool> = Atomic::new(false);

/// An instance that has the tracer.
pub(super) struct MeasuredInstance {
    /// Those of the instance, until [`super::Tracer::stop`] has returned.
    sink: GraceRef<Sink>,
    functions: GraceRef<FunctionFilter>,
    is_top: Atomic<bool>,
}

impl MeasuredInstance {
    const fn none() -> Self {
        Self {
            sink: GraceRef::none(),
            functions: GraceRef::none(),
            is_top: Atomic::new(false),
        }
    }

    fn clear(&self) {
        self.sink.clear();
        self.functions.clear();
    }

    /// Returns whether it is that of `host`.
    fn is_of(&self, host: &Host<'_>) -> bool {
        let sink = self.sink.get();
        sink.is_some_and(|sink| ptr::eq(sink, &**host.sink()))
    }
}

impl GracePlace for MeasuredInstance {
    fn is_free(&self) -> bool {
        self.sink.is_none()
    }
}

/// What there is of the tracer.
struct MeasureState {
    /// The CPUs that are measured, one bit each; all if it is not set.
    cpus: Option<KVec<u64>>,
    /// The workload of the instances that have one of the tracers, and how many these are, whether they record or not.
    chosen: Option<(&'static dyn Workload, usize)>,
    measurement: Option<Measurement>,
}

/// What measures: the threads of a tracer.
pub(super) trait Workload: Sync {
    /// Returns the name of the threads, before the number of the CPU.
    fn name(&self) -> &'static CStr;

    /// Returns what each thread does.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn body(&self) -> Result<KBox<dyn ThreadBody>>;

    /// Returns what measures these CPUs, one bit each, without threads.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `ENOSPC`, `ENOENT` in a kernel without a tracepoint that it needs.
    fn without_threads(&self, cpus: &[u64]) -> Result<Measurer>;
}

/// What measures; it ends when this is dropped.
pub(super) enum Measurer {
    Threads(#[expect(dead_code, reason = "they run until it is dropped")] Threads),
    /// Tasks of user space.
    Loads(UserLoads),
    /// Nothing by itself: all that runs is told of.
    Everybody(EveryNoise),
}

/// The measurement, while an instance records.
struct Measurement {
    workload: &'static dyn Workload,
    /// None when there was no memory for one.
    measurer: Option<Measurer>,
    _switches: NoiseSwitches,
    _hooks: NoiseHooks,
}

impl MeasureState {
    /// Counts one more instance that has the tracer of `workload`.
    ///
    /// # Errors
    ///
    /// `EBUSY` while another one has that of another workload.
    fn choose(&mut self, workload: &'static dyn Workload) -> Result {
        let instances = match self.chosen {
            Some((present, _)) if present.name() != workload.name() => return Err(EBUSY),
            Some((_, instances)) => instances,
            None => 0,
        };
        self.chosen = Some((workload, instances.saturating_add(1)));
        Ok(())
    }

    /// Undoes [`Self::choose`].
    fn leave(&mut self) {
        self.chosen = match self.chosen {
            Some((workload, instances @ 2..)) => Some((workload, instances.saturating_sub(1))),
            _ => None,
        };
    }

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

    /// Returns what measures for `workload`, which begins.
    fn measurer(&self, workload: &dyn Workload) -> Result<Measurer> {
        let cpus = self.cpus()?;
        if !options().has(NoiseOptions::WORKLOAD) {
            return workload.without_threads(&cpus);
        }
        let body = workload.body()?;
        let threads = Threads::start(workload.name(), ThreadPlace::Each, &cpus, body)?;
        Ok(Measurer::Threads(threads))
    }

    /// Begins to measure by `workload`, unless it does already.
    ///
    /// # Errors
    ///
    /// `EBUSY` while another one measures.
    fn begin(&mut self, workload: &'static dyn Workload) -> Result {
        match &self.measurement {
            Some(present) if present.workload.name() == workload.name() => return Ok(()),
            Some(_) => return Err(EBUSY),
            None => {}
        }
        let hooks = NoiseHooks::begin()?;
        let switches = NoiseSwitches::begin()?;
        self.measurement = Some(Measurement {
            workload,
            measurer: Some(self.measurer(workload)?),
            _switches: switches,
            _hooks: hooks,
        });
        Ok(())
    }

    /// Changes what is looked at only once: what measures ends, `change` is called, and it begins anew.
    fn restart(&mut self, change: impl FnOnce(&mut Self)) -> Result {
        let Some(mut measurement) = self.measurement.take() else {
            change(self);
            return Ok(());
        };
        measurement.measurer = None;
        change(self);
        let result = self.measurer(measurement.workload);
        let (measurer, result) = match result {
            Ok(measurer) => (Some(measurer), Ok(())),
            Err(error) => (None, Err(error)),
        };
        measurement.measurer = measurer;
        self.measurement = Some(measurement);
        result
    }
}

/// Returns the instances that record. Any context.
#[inline(always)]
pub(super) fn users(_: &CpuPin) -> impl Iterator<Item = (&Sink, &MeasuredInstance)> {
    let users = USERS.iter();
    users.filter_map(|user| user.sink.get().map(|sink| (sink, user)))
}

/// Calls `f` with each instance that records. Any context.
pub(super) fn each_user(mut f: impl FnMut(&CpuPin, &Sink, &MeasuredInstance)) {
    CpuPin::with(|pin| {
        for (sink, user) in users(pin) {
            f(pin, sink, user);
        }
    });
}

/// Returns the threshold of noises, in nanoseconds: the least that an instance has, or that of the top
/// instance.
pub(super) fn threshold() -> u64 {
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

/// Stops tracing in all instances that are measured for, and says so in those that are not the top one. Any
/// context.
pub(super) fn stop_tracing() {
    stop_saying(format_args!(""));
}

/// As [`stop_tracing`], because of something that makes the measurement wrong; the header of `osnoise` says so from
/// now on.
pub(super) fn stop_tracing_for(why: &str) {
    taint(format_args!("{why}\n\0"));
    stop_saying(format_args!(" due to exception: {why}"));
}

/// Stops tracing, and says `more` of why.
fn stop_saying(more: fmt::Arguments<'_>) {
    each_user(|pin, sink, user| {
        let cpu = pin.cpu();
        say(
            pin,
            sink,
            user,
            format_args!("stop tracing hit on cpu {cpu}{more}\n\0"),
        );
        sink.switch(false);
        sink.want(WANT_NEWS);
    });
}

/// Records `text`, which ends with a NUL, in all instances that are not the top one, as something that makes the
/// measurement wrong. Any context.
pub(super) fn taint(text: fmt::Arguments<'_>) {
    each_user(|pin, sink, user| say(pin, sink, user, text));
    TAINTED.store(true, Relaxed);
}

/// Returns whether the current thread, which measures, is to leave because a task waits for it to go to another CPU; that
/// is something that makes the measurement wrong.
#[inline]
pub(super) fn is_to_leave() -> bool {
    let leaves = threads::is_to_move();
    if leaves {
        taint(format_args!(
            "migration requested to osnoise threads, leaving.\0"
        ));
    }
    leaves
}

/// Returns whether a measurement was wrong.
pub(super) fn is_tainted() -> bool {
    TAINTED.load(Relaxed)
}

/// Records a text that ends with a NUL, unless the instance is the top one.
fn say(pin: &CpuPin, sink: &Sink, user: &MeasuredInstance, what: fmt::Arguments<'_>) {
    if user.is_top.load(Relaxed) {
        return;
    }
    let mut text = StopText::new();
    // It fits.
    let _ = text.write_fmt(what);
    let ip = threads::address();
    let base = Base::new(format::PRINT.id, 1);
    let text = text.bytes();
    let len = text.len().saturating_add(format::PRINT_HEAD);
    // What is refused is in the counters of the buffer.
    let _ = sink.record(pin, base, len, |rest| {
        RecordRest::of(rest).long(ip).bytes(text);
    });
}

/// Returns whether an instance records. Any context.
pub(super) fn is_on() -> bool {
    let mut on = false;
    each_user(|_, sink, _| on |= sink.is_on());
    on
}

/// Most bytes of the text.
const MOST_TEXT: usize = 96;

/// The text of the record that says that tracing stopped.
struct StopText {
    bytes: [u8; MOST_TEXT],
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
            bytes: [0; MOST_TEXT],
            used: 0,
        }
    }

    /// Returns what was written.
    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or(&self.bytes)
    }
}

/// Has the instance of `host` get what `workload` measures.
///
/// # Errors
///
/// `EBUSY` while another workload measures, `ENOMEM`, `ENOENT` in a kernel without a tracepoint that it needs.
fn join(host: &Host<'_>, workload: &'static dyn Workload) -> Result {
    let mut state = STATE.lock();
    let is_added = USERS.add(|user| {
        user.is_top.store(host.is_top(), Relaxed);
        // SAFETY: The functions stay until `stop` has returned (invariant of the host), which takes them away
        // and waits.
        unsafe { user.functions.set(Some(host.functions())) };
        // SAFETY: Likewise, the sink stays until `stop` has returned.
        unsafe { user.sink.set(Some(host.sink())) };
    });
    if !is_added {
        return Err(EBUSY);
    }
    // After that, or what begins at once would be missing.
    state.begin(workload).inspect_err(|_| {
        forget(host);
        grace::writers_left();
    })
}

/// Has the instance of `host` get nothing from now on. Returns whether it got something. Under [`STATE`].
fn forget(host: &Host<'_>) -> bool {
    USERS.remove(|user| user.is_of(host), MeasuredInstance::clear)
}

/// Undoes [`join`], if it was done.
fn part(host: &Host<'_>) {
    let mut state = STATE.lock();
    if !forget(host) {
        return;
    }
    if USERS.are_free() {
        state.measurement = None;
    }
    drop(state);
    grace::writers_left();
}

/// Starts a tracer whose workload this is. [`stop_tracer`] undoes it.
///
/// # Errors
///
/// `EBUSY` while an instance has the tracer of another workload, and those of [`join`].
pub(super) fn start(host: &Host<'_>, workload: &'static dyn Workload) -> Result {
    // Also of instances that do not record: they can when they wish.
    STATE.lock().choose(workload)?;
    host.sink().set_max_latency(0);
    // As in ftrace also when recording is off: users set up the threads before they switch it on.
    join(host, workload).inspect_err(|_| STATE.lock().leave())
}

/// Stops a tracer that [`start`] has started.
pub(super) fn stop_tracer(host: &Host<'_>) {
    part(host);
    STATE.lock().leave();
}

/// Calls `f` if tasks of user space measure, and keeps that so meanwhile.
///
/// # Errors
///
/// `EINVAL` if they do not, and that of `f`.
pub(super) fn with_loads<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    let state = STATE.lock();
    let present = state.measurement.as_ref();
    match present.and_then(|present| present.measurer.as_ref()) {
        Some(Measurer::Loads(_)) => f(),
        _ => Err(EINVAL),
    }
}

/// Keeps the settings from changing meanwhile.
pub(super) fn lock() -> impl Sized {
    STATE.lock()
}

/// Has the instance join or part, as it records by now.
///
/// # Errors
///
/// Those of [`join`].
pub(super) fn follow(host: &Host<'_>, workload: &'static dyn Workload) -> Result {
    let joined = USERS.iter().any(|user| user.is_of(host));
    match (host.sink().is_on(), joined) {
        (true, false) => join(host, workload),
        (false, true) => {
            part(host);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns the noise, in microseconds, beyond which tracing stops, or that of the sum in a period; 0: it does
/// not.
pub(crate) fn stop(total: bool) -> u64 {
    stop_setting(total).get()
}

/// Changes that.
pub(crate) fn set_stop(total: bool, us: u64) {
    stop_setting(total).set(us);
}

fn stop_setting(total: bool) -> &'static Setting {
    match total {
        true => &STOP_TOTAL,
        false => &STOP,
    }
}

/// Returns the options.
pub(crate) fn options() -> NoiseOptions {
    NoiseOptions::of_word(OPTIONS.get() as u32)
}

/// Changes the options; a measurement begins anew.
///
/// # Errors
///
/// `EINVAL` for what `change` refuses, and for a panic, which no option of rtrace makes; `ENOMEM`: nothing is
/// measured then.
pub(crate) fn change_options(
    change: impl FnOnce(NoiseOptions) -> Result<NoiseOptions, Errno>,
) -> Result {
    let mut state = STATE.lock();
    let options = change(options()).map_err(|_| EINVAL)?;
    if options.has(NoiseOptions::PANIC) {
        return Err(EINVAL);
    }
    state.restart(|_| OPTIONS.set(options.word().into()))
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

/// Frees what it keeps. No instance has one of the tracers.
pub(super) fn exit() {
    STATE.lock().cpus = None;
    super::load::exit();
}
