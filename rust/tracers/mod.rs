// SPDX-License-Identifier: GPL-2.0

//! Tracers: what an instance records besides its events, chosen by `current_tracer`.
//!
//! A tracer is a file in this folder and a row of [`ALL`]. Its options are rows of `text::options`
//! that name the tracer as their owner.

#[cfg(CONFIG_KUNIT = "y")]
pub(crate) mod dummy;
mod followed_functions;
mod function;
mod graph;
pub(crate) mod hwlat;
mod irqsoff;
mod latency_instance;
pub(crate) mod load;
mod longest;
mod noise;
mod nop;
pub(crate) mod osnoise;
pub(crate) mod sampled;
pub(crate) mod setting;
pub(crate) mod timerlat;
mod wakeup;
pub(crate) mod workload;

use self::setting::Setting;
use crate::{
    buffers::Bank,
    hooks::{
        self,
        FunctionFilter, //
    },
    kapi::kept::KeptValue,
    latency::{
        maximum::Maximum,
        sampled::OffKind,
        wakeup::WakeupClass, //
    },
    probes::Sink,
    tasks::off_changes::SectionKind,
    text::{
        graph::CallLines,
        header::Columns,
        options::{
            Opt,
            OptionSet,
            Owner, //
        }, //
    },
};
use kernel::{
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// What a tracer has of the instance that it records for.
///
/// # Invariants
///
/// The sink and the functions stay where they are until [`Tracer::stop`] has returned.
pub(crate) struct Host<'a> {
    sink: &'a KeptValue<Sink>,
    functions: &'a Arc<FunctionFilter>,
    options: OptionSet,
    /// The CPUs that the instance records.
    cpus: &'a Mutex<KVec<u64>>,
    is_top: bool,
}

impl<'a> Host<'a> {
    /// Returns what an instance has that has these `options`.
    ///
    /// # Safety
    ///
    /// A tracer that was started for it is stopped, and has been when `stop` has returned, before either
    /// of the two goes or moves.
    pub(crate) unsafe fn new(
        sink: &'a KeptValue<Sink>,
        functions: &'a Arc<FunctionFilter>,
        options: OptionSet,
        cpus: &'a Mutex<KVec<u64>>,
        is_top: bool,
    ) -> Self {
        // INVARIANT: The caller promises that.
        Self {
            sink,
            functions,
            options,
            cpus,
            is_top,
        }
    }

    /// Returns the CPUs that the instance records, one bit for each possible one.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn cpus(&self) -> Result<KVec<u64>> {
        let there = self.cpus.lock();
        let mut cpus = KVec::with_capacity(there.len(), GFP_KERNEL)?;
        cpus.extend_from_slice(&there, GFP_KERNEL)?;
        Ok(cpus)
    }

    /// Returns whether it is the top instance.
    pub(crate) fn is_top(&self) -> bool {
        self.is_top
    }

    /// Returns the options of the instance.
    pub(crate) fn options(&self) -> OptionSet {
        self.options
    }

    /// Returns what is recorded into.
    pub(crate) fn sink(&self) -> &'a KeptValue<Sink> {
        self.sink
    }

    /// Returns the functions that the instance selects.
    pub(crate) fn functions(&self) -> &'a Arc<FunctionFilter> {
        self.functions
    }

    /// Sets the threshold of the instance, in nanoseconds.
    fn set_threshold(&self, ns: u64) {
        self.functions.rules().set_threshold(ns);
        if self.is_top {
            set_top_threshold(ns);
        }
    }
}

/// A tracer.
///
/// Contexts: process context, under the lock of the instance's tracer.
pub(crate) trait Tracer: Sync {
    /// Returns its name in `current_tracer`.
    fn name(&self) -> &'static str;

    /// Returns whether this kernel has what it needs.
    fn is_there(&self) -> bool {
        true
    }

    /// Returns whether it records anything by itself.
    fn records(&self) -> bool {
        false
    }

    /// Returns whose calls its records are printed as, and what is between them as comments; those of latencies if
    /// the option `display-graph` is set.
    fn call_lines(&self) -> Option<CallLines> {
        None
    }

    /// Returns what writes the names of its columns, if they are not the usual ones.
    fn columns(&self) -> Option<Columns> {
        None
    }

    /// Returns options of the instance that are switched on while it has the tracer, and are afterwards as they
    /// were before. [`Opt::Overwrite`] stays on.
    fn held_options(&self) -> &'static [Opt] {
        &[]
    }

    /// Returns whether it keeps the trace of the longest latency, which `trace` shows, in the bank that is not live.
    fn keeps_maximum(&self) -> bool {
        false
    }

    /// Returns the longest latency whose trace is kept.
    fn maximum(&self) -> Option<KeptMaximum> {
        None
    }

    /// Returns the owner that its options name.
    fn owner(&self) -> Option<Owner> {
        None
    }

    /// Returns `set` with the tracer's own options as they are switched.
    fn options(&self, set: OptionSet) -> OptionSet {
        set
    }

    /// Switches one of the tracer's own options, for all instances.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the tracer refuses.
    fn set_option(&self, _opt: Opt, _on: bool) -> Result {
        Err(EINVAL)
    }

    /// Returns whether each instance has the tracer's options for itself, among its own.
    fn has_options_by_instance(&self) -> bool {
        false
    }

    /// Obeys the options of `host`, for which it records, from now on.
    ///
    /// # Errors
    ///
    /// `EINVAL` if they exclude each other, `ENOMEM`: it obeys those before.
    fn obey(&self, _host: &Host<'_>) -> Result {
        Ok(())
    }

    /// Obeys which CPUs `host`, for which it records, records by now, and whether recording is on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; it may record nothing then.
    fn follow(&self, _host: &Host<'_>) -> Result {
        Ok(())
    }

    /// Starts recording for `host`. The caller ensures that the tracer does not record for it already.
    ///
    /// # Errors
    ///
    /// The tracer's own; it does not record then.
    fn start(&self, host: &Host<'_>) -> Result;

    /// Stops what [`Self::start`] began. Nothing uses what the host has after the return.
    fn stop(&self, host: &Host<'_>);
}

/// A latency whose trace is kept.
#[derive(Clone, Copy)]
pub(crate) struct KeptMaximum {
    /// The bank that has its records.
    pub(crate) bank: Bank,
    pub(crate) maximum: Maximum,
}

/// Keeps the trace of a latency in the bank that is not live, if a tracer that records into `sink` waits for that.
/// Returns whether the banks were exchanged. Process context.
pub(crate) fn keep_maximum(sink: &Sink) -> bool {
    wakeup::keep(sink) || sampled::keep(sink) || irqsoff::keep(sink)
}

/// The threshold of the top instance, in nanoseconds.
static TOP_THRESHOLD: Setting = Setting::of(0);

/// Remembers the threshold of the top instance, in nanoseconds: tracers that serve several instances heed it.
pub(crate) fn set_top_threshold(ns: u64) {
    TOP_THRESHOLD.set(ns);
}

/// Returns the threshold of the top instance, in nanoseconds.
fn top_threshold() -> u64 {
    TOP_THRESHOLD.get()
}

/// All tracers, in the order of `available_tracers`.
static ALL: &[&dyn Tracer] = &[
    &timerlat::TimerlatTracer,
    &osnoise::OsnoiseTracer,
    &hwlat::HwlatTracer,
    &sampled::SampledTracer(OffKind::Preemption),
    &sampled::SampledTracer(OffKind::Interrupts),
    &graph::GraphTracer,
    &wakeup::WakeupTracer(WakeupClass::Deadline),
    &wakeup::WakeupTracer(WakeupClass::RealTime),
    &wakeup::WakeupTracer(WakeupClass::Any),
    &irqsoff::OffTracer(SectionKind::Either),
    &irqsoff::OffTracer(SectionKind::Preemption),
    &irqsoff::OffTracer(SectionKind::Interrupts),
    &function::FunctionTracer,
    &nop::Nop,
];

/// Frees what tracers keep. No instance has one.
pub(crate) fn exit() {
    workload::exit();
}

/// The tracer that records nothing besides the events.
pub(crate) const NOP: &dyn Tracer = &nop::Nop;

/// Returns all tracers, in the order of `available_tracers`.
pub(crate) fn all() -> impl Iterator<Item = &'static dyn Tracer> {
    ALL.iter().copied().filter(|tracer| tracer.is_there())
}

/// Returns the tracer `name`.
pub(crate) fn by_name(name: &[u8]) -> Option<&'static dyn Tracer> {
    all().find(|tracer| tracer.name().as_bytes() == name)
}

/// Returns whether this kernel has what obeys `opt`.
pub(crate) fn is_offered(opt: Opt) -> bool {
    let own = matches!(opt, Opt::FunctionFork | Opt::FunctionTrace);
    match opt {
        Opt::GraphTime => return hooks::GRAPH_IS_THERE,
        Opt::DisplayGraph => return hooks::IS_THERE && hooks::GRAPH_IS_THERE,
        _ => {}
    }
    let of_functions = opt.owner() == Owner::Function || own;
    !of_functions || hooks::IS_THERE
}

/// Returns the tracer that owns `opt`.
pub(crate) fn of_option(opt: Opt) -> Option<&'static dyn Tracer> {
    all().find(|tracer| tracer.owner() == Some(opt.owner()))
}

/// Returns `set` with the options of all tracers as they are switched.
pub(crate) fn options(set: OptionSet) -> OptionSet {
    all().fold(set, |set, tracer| tracer.options(set))
}
