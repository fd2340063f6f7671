// SPDX-License-Identifier: GPL-2.0

//! `irqsoff`, `preemptoff` and `preemptirqsoff`: how long a CPU had interrupts off, or preemption, or one of the two at
//! least, exactly, on a kernel that tells of each time they are switched off and on. The trace of the longest section is
//! kept, as with the tracers `wakeup`.
//!
//! A section is told of on its own CPU alone, before it ends: each CPU has its section for itself. One in which the
//! banks were exchanged does not count, as its records are in both. A CPU that is not online has no section: it has
//! interrupts off until it comes again, and that is no latency. With the option `function-trace` the functions that are
//! called in a section are recorded.

use super::{
    longest::LongestTrace,
    Host,
    KeptMaximum,
    Tracer, //
};
use crate::{
    event::{
        context::Base,
        format, //
    },
    hooks::{
        self,
        FunctionFilter,
        How, //
    },
    kapi::{
        clock,
        cpus,
        grace_ref::GraceRef,
        irq_lock::IrqLock,
        percpu::{
            CpuPin,
            PerCpu, //
        },
        stack,
        task,
        words::{
            LocalU64,
            SharedU64, //
        }, //
    },
    latency::{
        irqsoff::{
            BegunSection,
            SectionOfCpu, //
        },
        maximum::Maximum,
        wakeup::{
            counts,
            fill_function,
            FUNCTION, //
        }, //
    },
    probes::{
        forget_sections,
        set_in_section,
        set_sections,
        FollowedPart,
        Sink,
        WANT_MAXIMUM, //
    },
    ring::port::{
        LocalWord,
        SharedWord, //
    },
    tasks::off_changes::{
        OffWatch,
        OffWatcher,
        SectionKind, //
    },
    text::{
        options::Opt,
        stack::{
            fill,
            HEAD, //
        }, //
    }, //
};
use core::ptr;
use kernel::prelude::*;

type OffSections = PerCpu<SectionOfCpu<LocalU64>>;

crate::kapi::global::global_mutex! {
    static RUN: Mutex<Option<OffRun>> = None;
}

/// The instance that has the tracer, from its start until no probe runs any more, and the sections of the CPUs.
static SINK: GraceRef<Sink> = GraceRef::none();
static FUNCTIONS: GraceRef<FunctionFilter> = GraceRef::none();
static SECTIONS: GraceRef<OffSections> = GraceRef::none();

/// Whether functions are recorded. Changed under the lock of the instance's tracer.
static FUNCTIONS_ON: SharedU64 = SharedU64::zero();

/// How often the banks were exchanged. Changed under [`LONGEST`].
static EXCHANGES: SharedU64 = SharedU64::zero();

static LONGEST: IrqLock<LongestTrace> = IrqLock::new(LongestTrace::new());

/// A tracer that is chosen.
struct OffRun {
    watch: OffWatch,
    /// What [`SECTIONS`] names.
    sections: KBox<OffSections>,
    /// For each CPU whether functions are those of a section.
    followed: KBox<PerCpu<LocalU64>>,
}

/// Returns the threshold, in nanoseconds: that of the instance, or else that of the top one. 0: there is none.
fn threshold() -> u64 {
    match FUNCTIONS.get().map_or(0, |of| of.rules().threshold()) {
        0 => super::top_threshold(),
        own => own,
    }
}

/// Records a function and its caller. Returns whether it was recorded.
fn put_function(pin: &CpuPin, sink: &Sink, function: u64, caller: u64) -> bool {
    // The pin disables preemption once.
    let base = Base::new(format::FUNCTION.id, 1);
    let fill = |rest: &mut [u8]| fill_function(rest, &[function, caller]);
    sink.record(pin, base, FUNCTION, fill).is_ok()
}

/// Returns the place that the header names: the caller of the function that switches, as far as it is known.
fn outer(place: u64, caller: u64) -> u64 {
    match caller {
        0 => place,
        caller => caller,
    }
}

/// A section that has ended.
struct EndedSection {
    begun: BegunSection,
    /// In the unit of the clock.
    latency: u64,
    place: u64,
    caller: u64,
}

impl EndedSection {
    /// Returns whether it is one to be told of.
    fn counts(&self, sink: &Sink) -> bool {
        counts(self.latency, threshold(), sink.max_latency())
    }

    /// Has its trace kept.
    #[cold]
    #[inline(never)]
    fn tell(&self, pin: &CpuPin, sink: &Sink) {
        let mut told = None;
        stack::with_callers(pin, ptr::null(), |callers| {
            told = Some(self.offer(pin, sink, callers));
        });
        // Without callers where too many writers of this CPU look for theirs.
        if told.unwrap_or_else(|| self.offer(pin, sink, &[])) {
            sink.want(WANT_MAXIMUM);
        }
    }

    /// Records its end with `callers`, and has its trace kept. Returns whether it is the longest one.
    fn offer(&self, pin: &CpuPin, sink: &Sink, callers: &[u64]) -> bool {
        // The tracepoint is in the function that switches, which is called at the place.
        let at = callers.iter().position(|address| *address == self.place);
        let before = at.and_then(|at| callers.get(at.checked_sub(1)?));
        let switch = before.copied().unwrap_or(self.place);
        let callers = callers.get(at.unwrap_or(0)..).unwrap_or_default();
        let end = outer(self.place, self.caller);
        LONGEST.with(|longest| {
            // Another CPU may have had a longer one, or the banks may have been exchanged, meanwhile.
            let is_whole = self.begun.exchanges == EXCHANGES.load();
            if !is_whole || !sink.is_on() || !self.counts(sink) {
                return false;
            }
            sink.set_max_latency(self.latency);
            put_function(pin, sink, switch, end);
            let len = HEAD.wrapping_add(callers.len().wrapping_mul(8));
            let base = Base::new(format::KERNEL_STACK.id, 1);
            // What is refused is in the counters of the buffer.
            let _ = sink.record(pin, base, len, |rest| {
                fill(rest, callers.len() as u32, callers)
            });
            longest.offer(Maximum {
                from: self.begun.since,
                to: clock::read(sink.clock()),
                latency: self.latency,
                cpu: pin.number(),
                task: task::of_maximum(kernel::current!()),
                places: Some([self.begun.place, end]),
            });
            keep_longest(longest, sink);
            true
        })
    }
}

/// Keeps the section that waits for it, if there is one. Returns whether it did: the banks were exchanged.
fn keep_longest(longest: &mut LongestTrace, sink: &Sink) -> bool {
    let kept = longest.keep(sink);
    if kept {
        EXCHANGES.store(EXCHANGES.load().wrapping_add(1));
    }
    kept
}

/// Keeps the trace of the section that waited for it, if there is one, of the instance that records into `sink`.
/// Returns whether it did: the banks were exchanged.
pub(super) fn keep(sink: &Sink) -> bool {
    LONGEST.with(|longest| {
        let own = SINK.get().is_some_and(|its| ptr::eq(its, sink));
        own && keep_longest(longest, sink)
    })
}

/// What the kernel tells of interrupts and preemption.
struct OffProbe;

static PROBE: OffProbe = OffProbe;

impl OffWatcher for OffProbe {
    fn switched_off(&self, pin: &CpuPin, place: u64, caller: u64) {
        let (Some(sink), Some(sections)) = (SINK.get(), SECTIONS.get()) else {
            return;
        };
        if !cpus::is_online(pin.number()) {
            return;
        }
        let clock = sink.clock();
        let section = BegunSection {
            since: clock::read(clock),
            clock: clock as u64,
            exchanges: EXCHANGES.load(),
            place: outer(place, caller),
        };
        // Not while nothing is recorded: the trace would have no beginning.
        if put_function(pin, sink, place, caller) {
            sections.this(pin).begin(section);
            set_in_section(pin, true);
        }
    }

    fn switched_on(&self, pin: &CpuPin, place: u64, caller: u64) {
        let (Some(sink), Some(sections)) = (SINK.get(), SECTIONS.get()) else {
            return;
        };
        let Some(begun) = sections.this(pin).end() else {
            return;
        };
        // What is called from here on is not part of the section.
        set_in_section(pin, false);
        if !put_function(pin, sink, place, caller) {
            return;
        }
        let clock = sink.clock();
        let now = clock::read(clock);
        let Some(latency) = begun.until(now, clock as u64) else {
            return;
        };
        let ended = EndedSection {
            begun,
            latency,
            place,
            caller,
        };
        if ended.counts(sink) {
            ended.tell(pin, sink);
        }
    }
}

/// Returns a run, which begins.
///
/// # Errors
///
/// `ENOMEM`; `ENODEV` in a kernel without the tracepoints.
fn begin(kind: SectionKind) -> Result<OffRun> {
    let sections = KBox::new(PerCpu::new(|_| Ok(SectionOfCpu::new()))?, GFP_KERNEL)?;
    let followed = KBox::new(PerCpu::new(|_| Ok(LocalU64::new(0)))?, GFP_KERNEL)?;
    // SAFETY: The box goes in `stop`, or below, when no probe runs any more.
    unsafe { SECTIONS.set(Some(&*sections)) };
    // SAFETY: Likewise; functions of sections are recorded later, and no longer in `stop` before.
    unsafe { set_sections(&followed) };
    // SAFETY: The probe is a static.
    let watch = unsafe { OffWatch::new(kind, &PROBE) }.inspect_err(|_| forget())?;
    Ok(OffRun {
        watch,
        sections,
        followed,
    })
}

/// Forgets the sections, for which no probe runs and no function is recorded any more.
fn forget() {
    SECTIONS.clear();
    forget_sections();
}

/// Begins to record the functions of sections as `host` selects them.
///
/// # Errors
///
/// `ENOSPC` for too many users, `ENOMEM`, and those of the kernel: nothing is recorded.
fn begin_functions(host: &Host<'_>) -> Result {
    let how = How {
        args: true,
        of_followed: Some(FollowedPart::Section),
        ..How::default()
    };
    // SAFETY: The sink is that of the host, which stays until its tracer has stopped (invariant).
    unsafe { host.functions().start(host.sink(), how) }?;
    FUNCTIONS_ON.store(1);
    Ok(())
}

/// Stops that, if it was begun. Nothing is recorded any more when this returns.
fn end_functions(host: &Host<'_>) {
    if FUNCTIONS_ON.load() != 0 {
        host.functions().stop(host.sink());
        FUNCTIONS_ON.store(0);
    }
}

/// Forgets the instance, for which no probe runs any more.
fn leave(host: &Host<'_>) {
    SINK.clear();
    FUNCTIONS.clear();
    LONGEST.with(|longest| *longest = LongestTrace::new());
    host.sink().buffers().forbid_exchanges();
}

/// One of the tracers.
pub(super) struct OffTracer(pub(super) SectionKind);

impl Tracer for OffTracer {
    fn name(&self) -> &'static str {
        match self.0 {
            SectionKind::Interrupts => "irqsoff",
            SectionKind::Preemption => "preemptoff",
            SectionKind::Either => "preemptirqsoff",
        }
    }

    fn is_there(&self) -> bool {
        self.0.is_told()
    }

    fn records(&self) -> bool {
        true
    }

    fn held_options(&self) -> &'static [Opt] {
        // Without a pause what is read would be the cause of the next section.
        &[Opt::Overwrite, Opt::LatencyFormat, Opt::PauseOnTrace]
    }

    fn keeps_maximum(&self) -> bool {
        true
    }

    fn maximum(&self) -> Option<KeptMaximum> {
        LONGEST.with(|longest| longest.kept())
    }

    fn start(&self, host: &Host<'_>) -> Result {
        let mut run = RUN.lock();
        if run.is_some() {
            return Err(EBUSY);
        }
        stack::prepare()?;
        host.sink().buffers().allow_exchanges()?;
        host.sink().set_max_latency(0);
        // SAFETY: The functions stay until `stop` has returned (invariant of the host), which ends the probes that ask
        // for them.
        unsafe { FUNCTIONS.set(Some(host.functions())) };
        // SAFETY: Likewise, the sink stays until `stop` has returned.
        unsafe { SINK.set(Some(host.sink())) };
        match begin(self.0) {
            Ok(begun) => *run = Some(begun),
            Err(why) => {
                leave(host);
                return Err(why);
            }
        }
        drop(run);
        self.obey(host).inspect_err(|_| self.stop(host))
    }

    fn obey(&self, host: &Host<'_>) -> Result {
        let wanted = hooks::IS_THERE && host.options().has(Opt::FunctionTrace);
        match (FUNCTIONS_ON.load() != 0, wanted) {
            (false, true) => begin_functions(host),
            (true, false) => {
                end_functions(host);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn stop(&self, host: &Host<'_>) {
        end_functions(host);
        if let Some(run) = RUN.lock().take() {
            let OffRun {
                watch,
                sections,
                followed,
            } = run;
            // Waits until no probe runs.
            drop(watch);
            forget();
            drop((sections, followed));
            leave(host);
        }
    }
}
