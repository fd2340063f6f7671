// SPDX-License-Identifier: GPL-2.0

//! A named tracer: its rings, clock, options and enabled events.
//!
//! Lock order of this folder: `tracer` or `function_pids`, then that of `functions`; `tracer`, then
//! `triggers` or `commands`, then `pauses`, then that of the names of tasks (`enable`),
//! then `registry`, then `events`, then `filters`, `pid_lists` or those of the sources, then those
//! of `buffers`. The locks of `errors`, `cpus`, `waiting` and of what a histogram has counted are leaves.
//! Probes take no lock.

mod actions;
mod arrivals;
mod attach;
mod commands;
mod cpumask;
mod enable;
mod error_log;
mod filter;
mod function_pids;
mod handle;
mod hist_fields;
mod hist_links;
mod hist_poll;
mod hist_show;
mod hists;
mod life;
mod marker;
mod marker_copies;
#[cfg(CONFIG_KUNIT = "y")]
mod order_tests;
mod pause;
mod pids;
mod pipe_token;
pub(crate) mod registry;
mod select;
#[cfg(CONFIG_KUNIT = "y")]
mod synthetic_tests;
#[cfg(rtrace_test)]
mod testapi;
#[cfg(CONFIG_KUNIT = "y")]
mod tests;
mod tracer;
mod triggers;
mod waiting;

pub(crate) use self::{
    commands::dump_by,
    enable::{
        disable_everywhere,
        empty_of_modules, //
    },
    error_log::CommandRefusal,
    hist_show::{
        HistForm,
        ShownHist, //
    },
    marker_copies::for_each_copy,
    pause::Pause,
    pids::PidSelection,
    pipe_token::PipeToken,
    registry::Instances,
    tracer::tell_maxima_by,
    waiting::enable_awaited, //
};
pub(crate) use crate::probes::PidList;

use self::{
    actions::Actions,
    commands::FunctionCommands,
    cpumask::CpuMask,
    enable::ModuleRecords,
    error_log::ErrorLog,
    filter::ShownFilter,
    function_pids::FunctionPids,
    life::{
        Life,
        Refusal, //
    },
    marker_copies::CopyStart,
    pids::PidLists,
    triggers::EventTriggers,
    waiting::WaitingWords, //
};
use crate::{
    buffers::{
        selftest,
        Bank,
        Buf,
        Buffers,
        CpuSel, //
    },
    hooks::FunctionFilter,
    kapi::{
        clock,
        kept::KeptValue,
        percpu::CpuPin,
        wait::Poller,
        words::SharedU64,
        worker::Worker, //
    },
    probes::{
        EventFile,
        PidFilter,
        Sink, //
    },
    ring::port::SharedWord,
    sources::{
        self,
        USER_BYTES, //
    },
    text::{
        clock::ClockId,
        options::{
            Opt,
            OptionSet,
            Scope, //
        },
        stats::{
            BreakReason,
            CpuStats, //
        }, //
    },
    tracers::{
        self,
        Tracer, //
    },
};
use core::ops::Deref;
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    },
};

/// A named tracer.
#[pin_data]
pub(crate) struct Instance {
    name: CString,
    top: bool,
    /// Counts the [`InstanceRef`]s.
    life: Life<SharedU64>,
    options: Atomic<u64>,
    /// Differs from that of every other instance there ever was.
    number: u64,
    /// Time at which all its rings were last emptied, by its clock.
    begin: SharedU64,
    /// Number of readers that keep recording paused.
    #[pin]
    pauses: Mutex<usize>,
    // Dropped before what probes use: the probes are off by then.
    #[pin]
    events: Mutex<KVec<KBox<EventFile>>>,
    module_records: ModuleRecords,
    /// Bytes recorded of each user buffer that an argument of a system call points to.
    user_bytes: Atomic<u64>,
    #[pin]
    filters: Mutex<KVec<ShownFilter>>,
    /// What `set_event` selects of modules that are not loaded.
    #[pin]
    waiting: Mutex<WaitingWords>,
    /// Those of the events that have some.
    #[pin]
    triggers: Mutex<KVec<EventTriggers>>,
    /// Whether a trigger may switch recording on.
    may_turn_on: Atomic<bool>,
    /// Whether markers have triggers.
    markers_trigger: Atomic<bool>,
    /// When it began to get the markers of the top instance.
    copied_since: CopyStart,
    /// What is done when functions are called.
    #[pin]
    commands: Mutex<FunctionCommands>,
    /// Whether one of these may switch recording on.
    command_may_turn_on: Atomic<bool>,
    #[pin]
    pid_lists: Mutex<PidLists>,
    #[pin]
    function_pids: Mutex<FunctionPids>,
    /// The CPUs that are recorded.
    #[pin]
    cpus: Mutex<CpuMask>,
    #[pin]
    errors: ErrorLog,
    #[pin]
    tracer: Mutex<&'static dyn Tracer>,
    /// Whether the tracer records anything by itself.
    tracer_records: Atomic<bool>,
    /// Number of the events that are being attached and of the tracers that are being started.
    beginning: Atomic<i32>,
    /// The tracer has seen a longest latency that programs have not been told of.
    untold: Atomic<bool>,
    /// The number of [`CallLines`](crate::text::graph::CallLines) that the tracer may show; 0 for none.
    tracer_lines: Atomic<u32>,
    /// The options as they were before the tracer, which holds some of them.
    options_before: Atomic<u64>,
    /// The functions that are traced when the tracer traces functions.
    functions: Arc<FunctionFilter>,
    /// What writers need: rings, clock and actions.
    sink: KeptValue<Sink>,
    /// The list that `sink` points to.
    #[pin]
    actions: Mutex<Actions>,
    /// What probes see of `pid_lists`.
    pids: Arc<PidFilter>,
    /// The CPUs that have a reader of `trace_pipe`: single ones, or all.
    #[pin]
    pipes: Mutex<KVec<CpuSel>>,
}

/// A counted reference, held by an open file or another module: an instance that has one is not removed.
pub(crate) struct InstanceRef(Arc<Instance>);

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::InUse => EBUSY,
            Refusal::Gone => ENODEV,
        }
    }
}

impl Deref for InstanceRef {
    type Target = Instance;

    fn deref(&self) -> &Instance {
        &self.0
    }
}

impl Drop for InstanceRef {
    fn drop(&mut self) {
        self.0.life.leave();
    }
}

/// The number of the next instance.
static NUMBERS: Atomic<u64> = Atomic::new(0);

impl Instance {
    fn new(name: &CStr, top: bool, options: OptionSet) -> Result<Arc<Self>> {
        let name = CString::try_from(name)?;
        let (cpus, pids) = (cpumask::all()?, Arc::new(PidFilter::new()?, GFP_KERNEL)?);
        let number = NUMBERS.fetch_add(1, Relaxed);
        let buffers = Buffers::new(CString::try_from(&*name)?, !top)?;
        let worker = Worker::new(number, triggers::work);
        let sink = Arc::pin_init(Sink::new(buffers, ClockId::Local, worker), GFP_KERNEL)?;
        let functions = FunctionFilter::new()?;
        let this = Arc::pin_init(
            pin_init!(Self {
                name,
                top,
                life: Life::new(),
                options: Atomic::new(options.bits()),
                number,
                begin: SharedWord::new(0),
                pauses <- new_mutex!(0),
                events <- new_mutex!(KVec::new()),
                module_records: ModuleRecords::new(),
                user_bytes: Atomic::new(USER_BYTES),
                filters <- new_mutex!(KVec::new()),
                waiting <- new_mutex!(WaitingWords::none()),
                triggers <- new_mutex!(KVec::new()),
                may_turn_on: Atomic::new(false),
                markers_trigger: Atomic::new(false),
                copied_since: CopyStart::new(),
                commands <- new_mutex!(FunctionCommands::none()),
                command_may_turn_on: Atomic::new(false),
                pid_lists <- new_mutex!(PidLists::new()),
                function_pids <- new_mutex!(FunctionPids::new()),
                cpus <- new_mutex!(cpus),
                errors <- ErrorLog::new(),
                tracer <- new_mutex!(tracers::NOP),
                tracer_records: Atomic::new(false),
                beginning: Atomic::new(0),
                untold: Atomic::new(false),
                tracer_lines: Atomic::new(0),
                options_before: Atomic::new(0),
                functions,
                sink: KeptValue::new(sink),
                actions <- new_mutex!(Actions::new()),
                pids,
                pipes <- new_mutex!(KVec::new()),
            }),
            GFP_KERNEL,
        )?;
        this.leave_clock();
        this.change_options(|options| options)?;
        Ok(this)
    }

    /// Returns the name; empty for the top instance.
    pub(crate) fn name(&self) -> &CStr {
        &self.name
    }

    /// Returns the log of the commands that the instance refused.
    pub(crate) fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    /// Returns the rings.
    pub(crate) fn buffers(&self) -> &Buffers {
        self.sink.buffers()
    }

    /// Returns whether this is the instance at the root of the file system.
    pub(crate) fn is_top(&self) -> bool {
        self.top
    }

    /// Returns whether it is being removed.
    pub(crate) fn is_going(&self) -> bool {
        self.life.has_ended()
    }

    /// Takes a reference.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the instance is being removed.
    pub(crate) fn get(self: &Arc<Self>) -> Result<InstanceRef> {
        self.life.enter()?;
        Ok(InstanceRef(self.clone()))
    }

    /// Stops recording events for good.
    fn rest(&self) {
        self.forget_tracer();
        self.stop_profile();
        self.stop_stacks();
        self.forget_commands();
        self.forget_triggers();
        self.disable_all();
        sources::forget(self.recipient());
        self.forget_pids();
        self.forget_function_pids();
        if selftest::ALWAYS {
            self.buffers().selftest(CpuSel::All);
        }
    }

    /// Returns whether recording is on.
    pub(crate) fn tracing_on(&self) -> bool {
        self.sink.is_on()
    }

    /// Switches recording on or off.
    pub(crate) fn set_tracing_on(&self, on: bool) {
        if !on {
            self.hand_in();
        }
        let turn = self.pauses.lock();
        // Names of tasks are remembered from before the first event until after the last.
        if on {
            self.sink.announce(on);
            enable::try_record_tasks();
        }
        self.sink.switch(on);
        enable::try_record_tasks();
        drop(turn);
        // Sleeping readers reach the end of the file if recording is off.
        self.buffers().wake_all();
    }

    /// Empties the rings of `cpus`.
    ///
    /// # Errors
    ///
    /// None.
    pub(crate) fn clear(&self, cpus: CpuSel) -> Result {
        if cpus == CpuSel::All {
            self.begin_again();
        }
        self.buffers().clear(cpus);
        Ok(())
    }

    /// Takes the present time as the time at which the rings were emptied.
    fn begin_again(&self) {
        let now = self.now();
        self.begin.store(now);
    }

    /// Returns the time at which the rings were last emptied, by the clock of the instance; 0 if
    /// they never were.
    pub(crate) fn begin(&self) -> u64 {
        self.begin.load()
    }

    /// Returns the options, with those of all tracers.
    pub(crate) fn options(&self) -> OptionSet {
        let own = OptionSet::from_bits(self.options.load(Relaxed));
        tracers::options(own)
    }

    /// Switches an option.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a global option of an instance other than the top one, if the tracer that owns the
    /// option refuses, or if the present one needs [`Opt::Overwrite`]; `ENOMEM`, and the errors of starting to remember
    /// names of tasks: it is as before.
    pub(crate) fn set_option(&self, opt: Opt, on: bool) -> Result {
        if opt.scope() == Scope::Global && !self.top {
            return Err(EINVAL);
        }
        if !on && opt == Opt::Overwrite && self.tracer_holds(opt) {
            return Err(EINVAL);
        }
        if let Some(tracer) = tracers::of_option(opt) {
            return self.set_tracer_option(tracer, opt, on);
        }
        let was_on = self.options().has(opt);
        self.change_options(|old| old.with(opt, on))?;
        if opt == Opt::CopyMarker && on != was_on {
            marker_copies::follow(self);
        }
        let obeyed = match opt {
            Opt::EventFork => self.follow_forks_again(),
            Opt::FunctionTrace | Opt::DisplayGraph => self.obey_latency_options(),
            Opt::FunctionFork => self.follow_function_forks(),
            Opt::RecordCmd | Opt::RecordTgid => enable::record_tasks_again(),
            _ => Ok(()),
        };
        if obeyed.is_err() {
            self.change_options(|old| old.with(opt, was_on))?;
        }
        obeyed
    }

    /// Changes the options and makes writers obey them.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    fn change_options(&self, change: impl FnOnce(OptionSet) -> OptionSet) -> Result {
        let mut actions = self.actions.lock();
        let options = change(OptionSet::from_bits(self.options.load(Relaxed)));
        let prepared = actions.prepare(options)?;
        self.options.store(options.bits(), Relaxed);
        let on = options.has(Opt::Overwrite);
        self.buffers().each(|ring| ring.set_overwrite(on));
        let rules = self.functions.rules();
        rules.set_irqs(options.has(Opt::GraphIrqs));
        rules.set_args(options.has(Opt::GraphArgs));
        rules.set_retaddr(options.has(Opt::GraphRetaddr));
        rules.set_retval(options.has(Opt::GraphRetval));
        rules.set_awake(!options.has(Opt::SleepTime));
        rules.set_by_error(options.has(Opt::GraphErrors));
        rules.set_stack(options.has(Opt::GraphStack));
        self.follow(&mut actions, options, prepared);
        Ok(())
    }

    /// Returns the time by the clock of its events.
    pub(crate) fn now(&self) -> u64 {
        CpuPin::with(|_| clock::read(self.clock()))
    }

    /// Returns the clock of its events.
    pub(crate) fn clock(&self) -> ClockId {
        self.sink.clock()
    }

    /// Changes the clock. Empties all rings, those of the snapshot as well.
    ///
    /// # Errors
    ///
    /// None.
    pub(crate) fn set_clock(&self, clock: ClockId) -> Result {
        self.buffers().clear_all(|| {
            self.sink.set_clock(clock);
            self.leave_clock();
            self.begin_again();
        });
        Ok(())
    }

    /// Stores the clock in the gates of the rings, where writers find it.
    fn leave_clock(&self) {
        let word = clock::to_leave(self.sink.clock());
        self.buffers().each(|ring| ring.leave_word(word));
    }

    /// Returns what `stats` of `cpu` shows; all 0 for a CPU that is not possible.
    pub(crate) fn stats(&self, cpu: u32) -> CpuStats {
        self.stats_in(self.buffers().bank(Buf::Live), cpu)
    }

    /// Returns the statistics of the ring of `cpu` in `bank`.
    pub(crate) fn stats_in(&self, bank: Bank, cpu: u32) -> CpuStats {
        let s = self.buffers().stats(bank, cpu).unwrap_or_default();
        CpuStats {
            entries: s.entries(),
            overrun: s.overrun,
            commit_overrun: s.commit_overrun,
            bytes: s.bytes,
            oldest_ts: s.oldest,
            now_ts: self.now(),
            dropped: s.dropped,
            read: s.read,
            broken: s.fault.map(|violation| BreakReason {
                violation,
                refused: s.broken,
            }),
        }
    }

    /// Returns whether a poller of `buf` need not wait: there are events, or the option `block` is
    /// set. If not, wakes `poller` once there are events.
    pub(crate) fn poll(&self, buf: Buf, cpus: CpuSel, poller: &Poller<'_>) -> bool {
        self.options().has(Opt::Block) || self.buffers().poll(buf, cpus, poller)
    }

    /// Does what [`Self::poll`] does, for the watermark of the live rings.
    pub(crate) fn poll_share(&self, cpus: CpuSel, poller: &Poller<'_>) -> bool {
        self.options().has(Opt::Block) || self.buffers().poll_share(cpus, poller)
    }
}
