// SPDX-License-Identifier: GPL-2.0

//! A tracer with its name: rings, clock, options, enabled events.
//!
//! Lock order of this folder: `tracer`, then `pauses`, then that of the names of tasks (`enable`), then `registry`, then
//! `events`, then `filters`, `pid_lists` or those of the sources, then those of `buffers`. The locks of `errors` and `cpus` are
//! leaves. Probes take no lock.

mod actions;
mod attach;
mod cpumask;
mod enable;
mod error_log;
mod filter;
mod life;
mod marker;
mod pause;
mod pids;
mod pipe_token;
pub(crate) mod registry;
#[cfg(CONFIG_KUNIT = "y")]
mod tests;
mod tracer;

pub(crate) use self::{
    enable::disable_everywhere,
    pause::Pause,
    pids::Pids,
    pipe_token::PipeToken,
    registry::Instances, //
};
pub(crate) use crate::probes::PidList;

use self::{
    actions::Actions,
    cpumask::CpuSet,
    error_log::ErrorLog,
    filter::Shown,
    life::{
        Life,
        Refusal, //
    },
    pids::PidLists, //
};
use crate::{
    buffers::{
        selftest,
        Bank,
        Buf,
        Buffers,
        CpuSel, //
    },
    kapi::{
        clock,
        percpu::CpuPin,
        wait::Poller,
        words::SharedU64, //
    },
    probes::{
        EventFile,
        PidFilter,
        Sink, //
    },
    ring::{
        cpu::DISABLE_USER,
        port::SharedWord, //
    },
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
            Broken,
            CpuStats, //
        }, //
    },
    tracers::{
        self,
        Tracer, //
    },
};
use core::{
    mem::ManuallyDrop,
    ops::Deref, //
};
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

/// A tracer.
#[pin_data]
pub(crate) struct Instance {
    name: CString,
    top: bool,
    /// Counts the [`InstanceRef`]s.
    life: Life<SharedU64>,
    options: Atomic<u64>,
    on: Atomic<bool>,
    /// When all its rings were emptied, by its clock.
    begin: SharedU64,
    /// Readers that want nothing to be recorded.
    #[pin]
    pauses: Mutex<usize>,
    // The probes are off when what they use goes.
    #[pin]
    events: Mutex<KVec<KBox<EventFile>>>,
    /// Bytes that are recorded of what an argument of a system call points to.
    user_bytes: Atomic<u64>,
    #[pin]
    filters: Mutex<KVec<Shown>>,
    #[pin]
    pid_lists: Mutex<PidLists>,
    /// The CPUs that are recorded.
    #[pin]
    cpus: Mutex<CpuSet>,
    #[pin]
    errors: ErrorLog,
    #[pin]
    tracer: Mutex<&'static dyn Tracer>,
    /// What writers use: rings, clock, actions.
    #[pin]
    sink: Sink,
    /// What the sink names.
    #[pin]
    actions: Mutex<Actions>,
    /// What probes see of `pid_lists`.
    pids: PidFilter,
    /// The CPUs that a `trace_pipe` reads: one bit each, or all.
    #[pin]
    pipes: Mutex<KVec<CpuSel>>,
}

/// A counted reference, of an open file: the instance is not removed while there is one.
pub(crate) struct InstanceRef(Arc<Instance>);

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::InUse => EBUSY,
            Refusal::Gone => ENODEV,
        }
    }
}

impl InstanceRef {
    /// The reference for a caller in C.
    pub(crate) fn into_raw(self) -> *const Instance {
        Arc::as_ptr(&ManuallyDrop::new(self).0)
    }

    /// The reference that [`Self::into_raw`] gave away.
    ///
    /// # Safety
    ///
    /// `raw` is from there, and nobody else calls this for it.
    pub(crate) unsafe fn from_raw(raw: *const Instance) -> Self {
        // SAFETY: by the contract.
        Self(unsafe { Arc::from_raw(raw) })
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

impl Instance {
    fn new(name: &CStr, top: bool, options: OptionSet) -> Result<Arc<Self>> {
        let name = CString::try_from(name)?;
        let (cpus, pids) = (cpumask::all()?, PidFilter::new()?);
        let buffers = Buffers::new(CString::try_from(&*name)?, !top)?;
        let this = Arc::pin_init(
            pin_init!(Self {
                name,
                top,
                life: Life::new(),
                options: Atomic::new(options.bits()),
                on: Atomic::new(true),
                begin: SharedWord::new(0),
                pauses <- new_mutex!(0),
                events <- new_mutex!(KVec::new()),
                user_bytes: Atomic::new(USER_BYTES),
                filters <- new_mutex!(KVec::new()),
                pid_lists <- new_mutex!(PidLists::new()),
                cpus <- new_mutex!(cpus),
                errors <- ErrorLog::new(),
                tracer <- new_mutex!(tracers::NOP),
                sink <- Sink::new(buffers, ClockId::Local),
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

    /// Its name; empty for the top one.
    pub(crate) fn name(&self) -> &CStr {
        &self.name
    }

    /// Returns the log of commands that it refused.
    pub(crate) fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    /// Returns its rings.
    pub(crate) fn buffers(&self) -> &Buffers {
        self.sink.buffers()
    }

    /// Is it the root of the file system?
    pub(crate) fn is_top(&self) -> bool {
        self.top
    }

    /// Counts a reference.
    ///
    /// # Errors
    ///
    /// `ENODEV` when it is being removed.
    pub(crate) fn get(self: &Arc<Self>) -> Result<InstanceRef> {
        self.life.enter()?;
        Ok(InstanceRef(self.clone()))
    }

    /// Stops recording events, for good.
    fn rest(&self) {
        // `nop` does not fail.
        let _ = self.set_tracer(tracers::NOP);
        self.disable_all();
        sources::forget(self.recipient());
        self.forget_pids();
        if selftest::ALWAYS {
            self.buffers().selftest(CpuSel::All);
        }
    }

    /// Is recording on?
    pub(crate) fn tracing_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Switches recording.
    pub(crate) fn set_tracing_on(&self, on: bool) {
        let turn = self.pauses.lock();
        self.on.store(on, Relaxed);
        // Tasks are remembered before the first of their events and until the last.
        if on {
            enable::try_record_tasks();
        }
        self.buffers()
            .each(|ring| ring.set_disabled(DISABLE_USER, !on));
        if !on {
            enable::try_record_tasks();
        }
        drop(turn);
        // Readers that sleep are at the end of the file when it is off.
        self.buffers().wake_all();
    }

    /// Forgets the events of `cpus`.
    pub(crate) fn clear(&self, cpus: CpuSel) -> Result {
        if cpus == CpuSel::All {
            self.begin_again();
        }
        self.buffers().clear(cpus);
        self.buffers().wake_all();
        Ok(())
    }

    /// From here on time is counted anew.
    fn begin_again(&self) {
        let now = CpuPin::with(|_| clock::read(self.clock()));
        self.begin.store(now);
    }

    /// When its rings were emptied, by its clock; 0 if they never were.
    pub(crate) fn begin(&self) -> u64 {
        self.begin.load()
    }

    /// The options.
    pub(crate) fn options(&self) -> OptionSet {
        let own = OptionSet::from_bits(self.options.load(Relaxed));
        tracers::options(own)
    }

    /// Sets one option.
    pub(crate) fn set_option(&self, opt: Opt, on: bool) -> Result {
        if opt.scope() == Scope::Global && !self.top {
            return Err(EINVAL);
        }
        if let Some(tracer) = tracers::of_option(opt) {
            return tracer.set_option(opt, on);
        }
        self.change_options(|old| old.with(opt, on))?;
        if opt == Opt::EventFork {
            let followed = self.follow_forks_again();
            if followed.is_err() {
                self.set_option(opt, false)?;
            }
            return followed;
        }
        if matches!(opt, Opt::RecordCmd | Opt::RecordTgid) {
            return enable::record_tasks_again();
        }
        Ok(())
    }

    /// Changes the options and makes writers obey.
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
        self.follow(&mut actions, options, prepared);
        Ok(())
    }

    /// The clock of its events.
    pub(crate) fn clock(&self) -> ClockId {
        self.sink.clock()
    }

    /// Chooses a clock. Events of the old one are forgotten, also those of the snapshot.
    pub(crate) fn set_clock(&self, clock: ClockId) -> Result {
        self.buffers().clear_all(|| {
            self.sink.set_clock(clock);
            self.leave_clock();
            self.begin_again();
        });
        self.buffers().wake_all();
        Ok(())
    }

    /// Leaves the clock in the gates of the rings.
    fn leave_clock(&self) {
        let word = clock::to_leave(self.sink.clock());
        self.buffers().each(|ring| ring.leave_word(word));
    }

    /// What `stats` of `cpu` says; all 0 for a CPU that cannot be.
    pub(crate) fn stats(&self, cpu: u32) -> CpuStats {
        self.stats_in(self.buffers().bank(Buf::Live), cpu)
    }

    /// The same of the ring in `bank`.
    pub(crate) fn stats_in(&self, bank: Bank, cpu: u32) -> CpuStats {
        let s = self.buffers().stats(bank, cpu).unwrap_or_default();
        CpuStats {
            entries: s.entries(),
            overrun: s.overrun,
            commit_overrun: s.commit_overrun,
            bytes: s.bytes,
            oldest_ts: s.oldest,
            now_ts: CpuPin::with(|_| clock::read(self.clock())),
            dropped: s.dropped,
            read: s.read,
            broken: s.fault.map(|violation| Broken {
                violation,
                refused: s.broken,
            }),
        }
    }

    /// Returns whether a poller of `buf` has to do something: there are events, or it shall not wait for
    /// any. If not, `poller` is woken up when there are.
    pub(crate) fn poll(&self, buf: Buf, cpus: CpuSel, poller: &Poller<'_>) -> bool {
        self.options().has(Opt::Block) || self.buffers().poll(buf, cpus, poller)
    }

    /// Does what [`Self::poll`] does for the live rings, at the watermark.
    pub(crate) fn poll_share(&self, cpus: CpuSel, poller: &Poller<'_>) -> bool {
        self.options().has(Opt::Block) || self.buffers().poll_share(cpus, poller)
    }
}
