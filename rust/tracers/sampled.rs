// SPDX-License-Identifier: GPL-2.0

//! `irqsoff_sampled` and `preemptoff_sampled`: how long a CPU had interrupts or preemption off, on a kernel without
//! tracepoints that tell. A timer on each CPU looks at what it interrupts, every `latency_sampler/period_us`, and what
//! is told is a lower and an upper bound.
//!
//! While interrupts are off the timer's interrupt waits: how late it comes is a time in which they were off, and they
//! were on at the look before. Where it comes is where they were switched on again.
//!
//! Preemption is looked at in the task that the timer interrupts. Two looks that both find it off are joined to one
//! section by a proof: the first look asks the CPU to choose its next task as soon as it may, and it has not begun to
//! do so before the second one. What is told of is thus the time in which a task that should run would have waited.
//!
//! The idle task is not looked at, but for soft interrupts in it: a CPU that sleeps deeply is late as well, and nothing
//! waits for it. So an interrupt that is long in the idle task is not seen. One instance can have one of the two at a time. As with the
//! tracers `wakeup` the trace of the longest one is kept; what counts is the lower bound.

use super::{
    latency_instance::{
        put_callers,
        LatencyInstance, //
    },
    longest::LongestTrace,
    setting::Setting,
    Host,
    KeptMaximum,
    Tracer, //
};
use crate::{
    event::{
        context::Base,
        format, //
    },
    kapi::{
        clock,
        irq_lock::IrqLock,
        percpu::CpuPin,
        publisher::FollowedArc,
        sampler::{
            self,
            ChoiceCounts,
            CpuLook,
            Sampler,
            SamplerBody, //
        },
        stack,
        task,
        threads::{
            self,
            ThreadBody,
            ThreadPlace,
            Threads, //
        },
        words::LocalU64, //
    },
    latency::{
        maximum::{
            Maximum,
            MaximumTask, //
        },
        sampled::{
            Lateness,
            OffKind,
            OffLook,
            OffRecord,
            OffSection,
            OffSeries,
            RECORD,
            USUAL_PERIOD, //
        }, //
    },
    probes::{
        Sink,
        WANT_MAXIMUM, //
    },
    ring::port::LocalWord,
    text::options::Opt, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Nanoseconds of a microsecond.
const NS_PER_US: u64 = 1_000;
/// Most callers that are kept for a section.
const MOST_CALLERS: usize = 64;
/// Milliseconds that the thread of a CPU sleeps in one piece: it only keeps the timer.
const NAP_MS: u64 = 60_000;

crate::kapi::global::global_mutex! {
    static RUN: Mutex<Option<SampledRun>> = None;
}

/// Microseconds between two looks.
static PERIOD: Setting = Setting::of(USUAL_PERIOD);

/// The instance that has the tracer.
static INSTANCE: FollowedArc<LatencyInstance> = FollowedArc::none();

static LONGEST: IrqLock<LongestTrace> = IrqLock::new(LongestTrace::new());

/// Returns the setting of that name.
pub(crate) fn period() -> &'static Setting {
    &PERIOD
}

fn period_ns() -> u64 {
    PERIOD.get().saturating_mul(NS_PER_US)
}

/// A tracer that is chosen.
struct SampledRun {
    kind: OffKind,
    /// The CPUs that the instance records, one bit each.
    cpus: KVec<u64>,
    threads: Option<Threads>,
    _choices: Option<ChoiceCounts>,
}

impl SampledRun {
    /// Has the CPUs looked at, or none when `on` is false.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; none is looked at then.
    fn renew(&mut self, on: bool) -> Result {
        self.threads = None;
        if on {
            let body = KBox::new(SamplerThread { kind: self.kind }, GFP_KERNEL)?;
            let threads = Threads::start(c"rtsampler", ThreadPlace::Each, &self.cpus, body)?;
            self.threads = Some(threads);
        }
        Ok(())
    }
}

/// What keeps the timer of each CPU: it comes and goes with the CPU.
struct SamplerThread {
    kind: OffKind,
}

impl ThreadBody for SamplerThread {
    fn run(&self) {
        let Ok(cpu) = KBox::new(SampledCpu::new(self.kind), GFP_KERNEL) else {
            pr_warn!("no memory: a CPU is not looked at\n");
            return;
        };
        let body: &dyn SamplerBody = &*cpu;
        let Ok(_sampler) = Sampler::new(&body, period_ns()) else {
            pr_warn!("no memory: a CPU is not looked at\n");
            return;
        };
        while !threads::should_stop() {
            threads::sleep(NAP_MS);
        }
    }
}

/// What was seen of a section before it ended.
struct SeenSection {
    task: MaximumTask,
    callers: [u64; MOST_CALLERS],
    depth: usize,
}

/// What one CPU has, changed by looks at it.
struct SampledCpu {
    kind: OffKind,
    lateness: Lateness<LocalU64>,
    series: OffSeries<LocalU64>,
    /// Choices of tasks at the look before.
    choices: LocalU64,
    /// When the look before was, and the last one before the present section, by the clock of the instance.
    stamp: LocalU64,
    stamp_before: LocalU64,
    seen: IrqLock<SeenSection>,
}

impl SampledCpu {
    fn new(kind: OffKind) -> Self {
        Self {
            kind,
            lateness: Lateness::new(),
            series: OffSeries::new(),
            choices: LocalWord::new(0),
            stamp: LocalWord::new(0),
            stamp_before: LocalWord::new(0),
            seen: IrqLock::new(SeenSection {
                task: MaximumTask::default(),
                callers: [0; MOST_CALLERS],
                depth: 0,
            }),
        }
    }

    /// Looks for interrupts that were off until now.
    fn look_at_interrupts(
        &self,
        pin: &CpuPin,
        instance: &LatencyInstance,
        look: &CpuLook,
        now: u64,
    ) {
        let section = self.lateness.came(look.due, look.now);
        let Some(section) = section.filter(|_| !look.idle) else {
            return;
        };
        if !is_of_interest(instance, section.lower) {
            return;
        }
        let task = task::of_maximum(kernel::current!());
        stack::with_callers(pin, |callers| {
            let told = ToldSection {
                kind: self.kind,
                section,
                from: self.stamp.get().min(now),
                task,
            };
            told.tell(pin, instance, interrupted(callers, look.ip));
        });
    }

    /// Looks whether preemption is off.
    fn look_at_preemption(&self, pin: &CpuPin, instance: &LatencyInstance, look: &CpuLook) {
        let joined = look.choices == self.choices.get();
        self.choices.set(look.choices);
        let seen = match look.depth == 0 || look.idle {
            true => OffLook::On,
            false => OffLook::Off { joined },
        };
        if let Some(section) = self.series.look(look.now, seen) {
            self.tell(pin, instance, section);
        }
        if seen != (OffLook::Off { joined: true }) {
            self.stamp_before.set(self.stamp.get());
        }
        if seen == OffLook::On {
            return;
        }
        sampler::ask_for_choice();
        if is_of_interest(instance, self.series.lower()) {
            let task = task::of_maximum(kernel::current!());
            stack::with_callers(pin, |callers| {
                let callers = interrupted(callers, look.ip);
                self.seen.with(|seen| {
                    seen.task = task;
                    seen.depth = callers.len().min(MOST_CALLERS);
                    for (to, from) in seen.callers.iter_mut().zip(callers) {
                        *to = *from;
                    }
                });
            });
        }
    }

    /// Tells of a section in which preemption was off, as it was seen last.
    fn tell(&self, pin: &CpuPin, instance: &LatencyInstance, section: OffSection) {
        if !is_of_interest(instance, section.lower) {
            return;
        }
        self.seen.with(|seen| {
            let told = ToldSection {
                kind: self.kind,
                section,
                from: self.stamp_before.get(),
                task: seen.task,
            };
            told.tell(
                pin,
                instance,
                seen.callers.get(..seen.depth).unwrap_or_default(),
            );
            seen.depth = 0;
        });
    }
}

impl SamplerBody for SampledCpu {
    fn look(&self, look: &CpuLook) -> u64 {
        CpuPin::with(|pin| {
            if let Some(instance) = INSTANCE.get(pin) {
                let now = clock::read(instance.sink().clock());
                match self.kind {
                    OffKind::Interrupts => self.look_at_interrupts(pin, instance, look, now),
                    OffKind::Preemption => self.look_at_preemption(pin, instance, look),
                }
                self.stamp.set(now);
            }
        });
        period_ns()
    }
}

/// Returns whether a section that is so long for sure, in nanoseconds, is to be told.
fn is_of_interest(instance: &LatencyInstance, lower: u64) -> bool {
    lower != 0 && instance.counts(lower)
}

/// Returns the callers from `ip` on, which was interrupted; all of them if it is not there.
fn interrupted(callers: &[u64], ip: u64) -> &[u64] {
    let first = callers.iter().position(|caller| *caller == ip).unwrap_or(0);
    callers.get(first..).unwrap_or_default()
}

/// A section that is told of.
struct ToldSection {
    kind: OffKind,
    section: OffSection,
    /// When it began at the earliest, by the clock of the instance.
    from: u64,
    task: MaximumTask,
}

impl ToldSection {
    /// Records it with `callers`, and has its trace kept.
    fn tell(&self, pin: &CpuPin, instance: &LatencyInstance, callers: &[u64]) {
        let sink = instance.sink();
        let kept = LONGEST.with(|longest| {
            // Another CPU may have seen a longer one meanwhile.
            if !sink.is_on() || !is_of_interest(instance, self.section.lower) {
                return false;
            }
            sink.set_max_latency(self.section.lower);
            let record = OffRecord {
                kind: self.kind,
                section: self.section,
                pid: self.task.pid as u32,
            };
            // The pin disables preemption once. What is refused is in the counters of the buffer.
            let base = Base::new(format::OFF_SAMPLED.id, 1);
            let _ = sink.record(pin, base, RECORD, |rest| record.fill(rest));
            put_callers(pin, sink, callers);
            longest.offer(Maximum {
                from: self.from,
                to: clock::read(sink.clock()),
                latency: self.section.lower,
                cpu: pin.cpu(),
                task: self.task,
                places: None,
            });
            longest.keep(sink);
            true
        });
        if kept {
            sink.want(WANT_MAXIMUM);
        }
    }
}

/// Keeps the trace of the section that waited for it, if there is one, of the instance that records into `sink`.
/// Returns whether it did: the banks were exchanged.
pub(super) fn keep(sink: &Sink) -> bool {
    LONGEST.with(|longest| {
        let own = CpuPin::with(|pin| INSTANCE.get(pin).is_some_and(|its| its.records_into(sink)));
        own && longest.keep(sink)
    })
}

/// Forgets the instance, of which no thread is left.
fn leave() {
    let before = INSTANCE.set(None);
    // What is offered finds no instance from now on.
    LONGEST.with(|longest| *longest = LongestTrace::new());
    drop(before);
}

/// Returns a run for `host`, which begins.
fn begin(host: &Host<'_>, kind: OffKind) -> Result<SampledRun> {
    let choices = match kind {
        OffKind::Interrupts => None,
        OffKind::Preemption => Some(ChoiceCounts::begin()?),
    };
    let mut run = SampledRun {
        kind,
        cpus: host.cpus()?,
        threads: None,
        _choices: choices,
    };
    run.renew(host.sink().is_on())?;
    Ok(run)
}

/// One of the tracers.
pub(super) struct SampledTracer(pub(super) OffKind);

impl Tracer for SampledTracer {
    fn name(&self) -> &'static str {
        match self.0 {
            OffKind::Interrupts => "irqsoff_sampled",
            OffKind::Preemption => "preemptoff_sampled",
        }
    }

    fn records(&self) -> bool {
        true
    }

    fn held_options(&self) -> &'static [Opt] {
        &[Opt::Overwrite, Opt::LatencyFormat]
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
        let instance = Arc::new(LatencyInstance::of(host)?, GFP_KERNEL)?;
        // There was none.
        drop(INSTANCE.set(Some(instance)));
        *run = Some(begin(host, self.0).inspect_err(|_| leave())?);
        Ok(())
    }

    fn follow(&self, host: &Host<'_>) -> Result {
        let cpus = host.cpus()?;
        let mut run = RUN.lock();
        let Some(run) = &mut *run else {
            return Ok(());
        };
        let on = host.sink().is_on();
        if run.threads.is_some() == on && run.cpus[..] == cpus[..] {
            return Ok(());
        }
        run.cpus = cpus;
        run.renew(on)
    }

    fn stop(&self, _host: &Host<'_>) {
        let mut run = RUN.lock();
        if run.take().is_some() {
            leave();
        }
    }
}
