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
    latency_instance::{
        put_callers,
        LatencyInstance, //
    },
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
        RecordingRequest, //
    },
    kapi::{
        clock,
        cpus,
        irq_lock::IrqLock,
        percpu::{
            CpuPin,
            PerCpu, //
        },
        publisher::FollowedArc,
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
            fill_function,
            FUNCTION, //
        }, //
    },
    probes::{
        clear_section_of,
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
    text::options::Opt, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

type OffSections = PerCpu<SectionOfCpu<LocalU64>>;

crate::kapi::global::global_mutex! {
    /// What tells the instance that has the tracer.
    static RUN: Mutex<Option<OffWatch>> = None;
}

/// The instance that has the tracer.
static INSTANCE: FollowedArc<OffInstance> = FollowedArc::none();

/// Whether functions are recorded. Changed under the lock of the instance's tracer.
static FUNCTIONS_ON: SharedU64 = SharedU64::zero();

/// How often the banks were exchanged. Changed under [`LONGEST`].
static EXCHANGES: SharedU64 = SharedU64::zero();

static LONGEST: IrqLock<LongestTrace> = IrqLock::new(LongestTrace::new());

/// An instance that has the tracer, as its probes find it.
struct OffInstance {
    instance: LatencyInstance,
    sections: OffSections,
}

impl OffInstance {
    /// Returns that of `host`.
    ///
    /// # Errors
    ///
    /// Those of [`LatencyInstance::of`], `ENOMEM`.
    fn of(host: &Host<'_>) -> Result<Arc<Self>> {
        let sections = PerCpu::new(|_| Ok(SectionOfCpu::new()))?;
        let instance = LatencyInstance::of(host)?;
        Ok(Arc::new(Self { instance, sections }, GFP_KERNEL)?)
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
    /// Has its trace kept.
    #[cold]
    #[inline(never)]
    fn tell(&self, pin: &CpuPin, instance: &LatencyInstance) {
        let mut told = None;
        stack::with_callers(pin, |callers| {
            told = Some(self.offer(pin, instance, callers));
        });
        // Without callers where too many writers of this CPU look for theirs.
        if told.unwrap_or_else(|| self.offer(pin, instance, &[])) {
            instance.sink().want(WANT_MAXIMUM);
        }
    }

    /// Records its end with `callers`, and has its trace kept. Returns whether it is the longest one.
    fn offer(&self, pin: &CpuPin, instance: &LatencyInstance, callers: &[u64]) -> bool {
        let sink = instance.sink();
        // The tracepoint is in the function that switches, which is called at the place.
        let at = callers.iter().position(|address| *address == self.place);
        let before = at.and_then(|at| callers.get(at.checked_sub(1)?));
        let switch = before.copied().unwrap_or(self.place);
        let callers = callers.get(at.unwrap_or(0)..).unwrap_or_default();
        let end = outer(self.place, self.caller);
        LONGEST.with(|longest| {
            // Another CPU may have had a longer one, or the banks may have been exchanged, meanwhile.
            let is_whole = self.begun.exchanges == EXCHANGES.load();
            if !is_whole || !sink.is_on() || !instance.counts(self.latency) {
                return false;
            }
            sink.set_max_latency(self.latency);
            put_function(pin, sink, switch, end);
            put_callers(pin, sink, callers);
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
        let own = CpuPin::with(|pin| {
            INSTANCE
                .get(pin)
                .is_some_and(|its| its.instance.records_into(sink))
        });
        own && keep_longest(longest, sink)
    })
}

/// What the kernel tells of interrupts and preemption.
struct OffProbe;

static PROBE: OffProbe = OffProbe;

impl OffWatcher for OffProbe {
    fn switched_off(&self, pin: &CpuPin, place: u64, caller: u64) {
        let Some(OffInstance { instance, sections }) = INSTANCE.get(pin) else {
            return;
        };
        let sink = instance.sink();
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
        let Some(OffInstance { instance, sections }) = INSTANCE.get(pin) else {
            return;
        };
        let sink = instance.sink();
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
        if instance.counts(latency) {
            ended.tell(pin, instance);
        }
    }
}

/// Forgets the section of a CPU that has gone. It began before the CPU was offline, with interrupts off, and its end is
/// not told of: the kernel calls no probe on a CPU that is not online.
#[no_mangle]
extern "C" fn rtrace_cpu_is_dead(cpu: c_uint) {
    CpuPin::with(|pin| {
        let section = INSTANCE.get(pin).and_then(|its| its.sections.of(cpu));
        if section.is_some_and(|section| section.end().is_some()) {
            clear_section_of(pin, cpu);
        }
    });
}

/// Begins with `instance`.
///
/// # Errors
///
/// `ENOMEM`; `ENODEV` in a kernel without the tracepoints.
fn begin(kind: SectionKind, instance: Arc<OffInstance>) -> Result<OffWatch> {
    let followed = Arc::new(PerCpu::new(|_| Ok(LocalU64::new(0)))?, GFP_KERNEL)?;
    // There was none of either.
    drop(set_sections(Some(followed)).and(INSTANCE.set(Some(instance))));
    // SAFETY: The probe is a static.
    unsafe { OffWatch::new(kind, &PROBE) }.inspect_err(|_| leave())
}

/// Forgets the instance, for which no probe runs any more.
fn leave() {
    let before = INSTANCE.set(None).and(set_sections(None));
    // What is offered finds no instance from now on.
    LONGEST.with(|longest| *longest = LongestTrace::new());
    drop(before);
}

/// Begins to record the functions of sections as `host` selects them.
///
/// # Errors
///
/// `ENOSPC` for too many users, `ENOMEM`, and those of the kernel: nothing is recorded.
fn begin_functions(host: &Host<'_>) -> Result {
    let how = RecordingRequest {
        args: true,
        of_followed: Some(FollowedPart::Section),
        ..RecordingRequest::default()
    };
    host.functions().start(host.sink(), how)?;
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
        *run = Some(begin(self.0, OffInstance::of(host)?)?);
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
        if let Some(watch) = RUN.lock().take() {
            // Waits until no probe runs.
            drop(watch);
            leave();
        }
    }
}
