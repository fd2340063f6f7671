// SPDX-License-Identifier: GPL-2.0

//! `wakeup`, `wakeup_rt` and `wakeup_dl`: how long the most urgent task waits for a CPU, from its wake-up until it
//! runs. The trace of the longest latency is kept: when one ends that is longer than all before, the banks are
//! exchanged, and `trace` shows what the other bank has of that time.
//!
//! One instance can have one of the three at a time. Wake-ups and switches come from the scheduler, which holds a lock
//! of its own: what they change is under [`STATE`], and what they look at first are words of their own.
//!
//! The banks are exchanged while no task is followed, so that all records of a latency are in one bank.

use super::{
    followed_functions,
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
    buffers::CpuSel,
    event::{
        context::Base,
        format::{
            self,
            Internal, //
        }, //
    },
    kapi::{
        clock,
        irq_lock::IrqLock,
        percpu::CpuPin,
        publisher::FollowedArc,
        stack::{
            self,
            ProbeFrame, //
        },
        task,
        words::SharedU64, //
    },
    latency::{
        maximum::Maximum,
        wakeup::{
            fill_call_entry,
            fill_call_exit,
            fill_function,
            FollowedChange,
            FollowedTask,
            WakeupClass,
            WakeupFollower,
            WakeupRecord,
            CALL_ENTRY,
            CALL_EXIT,
            FUNCTION,
            NO_PRIORITY,
            RECORD, //
        }, //
    },
    probes::{
        set_followed_cpu,
        Sink,
        WANT_MAXIMUM, //
    },
    ring::port::SharedWord,
    tasks::{
        wakeups::{
            self,
            WakeupWatcher, //
        },
        watch::TaskWatch, //
    },
    text::{
        clock::ClockId,
        graph::CallLines,
        options::Opt, //
    }, //
};
use core::ptr;
use kernel::{
    prelude::*,
    sync::Arc,
    task::Task, //
};

crate::kapi::global::global_mutex! {
    static WATCH: Mutex<Option<TaskWatch>> = None;
}

/// The instance that has the tracer.
static INSTANCE: FollowedArc<LatencyInstance> = FollowedArc::none();

/// Whether wake-ups are followed. Changed under [`WATCH`] or the lock of the instance's tracer.
static ON: SharedU64 = SharedU64::zero();
/// The number of the class. Changed while there is no probe.
static CLASS: SharedU64 = SharedU64::zero();

/// What [`STATE`] says of the task that is followed, for a first look: its identity, 0 for none, and its priority.
static FOLLOWED: SharedU64 = SharedU64::zero();
static PRIORITY: SharedU64 = SharedU64::of(NO_PRIORITY as u32 as u64);

static STATE: IrqLock<WakeupState> = IrqLock::new(WakeupState::new());

/// The task that is followed, and the longest latency.
struct WakeupState {
    follower: WakeupFollower,
    longest: LongestTrace,
    /// The clock by which the followed task was woken up.
    clock: ClockId,
}

impl WakeupState {
    const fn new() -> Self {
        Self {
            follower: WakeupFollower::new(),
            longest: LongestTrace::new(),
            clock: ClockId::Local,
        }
    }

    /// Has the first look find what the follower says. Functions are not recorded from now on.
    fn publish(&self) {
        set_followed_cpu(None);
        let (task, priority) = self.follower.present();
        FOLLOWED.store(task);
        PRIORITY.store(u64::from(priority as u32));
    }

    /// Exchanges the banks for a latency that waits for that, if they may be. Returns whether they were.
    fn keep(&mut self, sink: &Sink) -> bool {
        !self.follower.is_following() && self.longest.keep(sink)
    }
}

/// Returns the tasks that are followed.
#[inline(always)]
fn class() -> WakeupClass {
    WakeupClass::of_number(CLASS.load() as u32)
}

/// Records the innermost of `callers` as a call that took no time.
#[cold]
#[inline(never)]
fn put_call(pin: &CpuPin, sink: &Sink, callers: &[u64]) {
    let function = callers.first().copied().unwrap_or(0);
    put(pin, sink, format::GRAPH_ENTRY.id, CALL_ENTRY, |rest| {
        fill_call_entry(rest, function)
    });
    let now = clock::read(ClockId::Local);
    put(pin, sink, format::GRAPH_EXIT.id, CALL_EXIT, |rest| {
        fill_call_exit(rest, function, now)
    });
}

/// Records `len` bytes with this id, of which `fill` fills those after the common fields.
fn put(pin: &CpuPin, sink: &Sink, id: u16, len: usize, fill: impl FnOnce(&mut [u8])) {
    // The pin disables preemption once. What is refused is in the counters of the buffer.
    let _ = sink.record(pin, Base::new(id, 1), len, fill);
}

/// What the scheduler tells: the CPU goes from `prev` to `next`, or `prev` has woken `next` up.
struct TaskChange<'a> {
    prev: &'a Task,
    next: &'a Task,
    /// That of the probe.
    frame: &'a ProbeFrame,
}

/// Records what the scheduler tells, and what led to it: the callers, and two of them like a function that was called. As
/// in ftrace the latter is nearest to what is instance.
#[inline(always)]
fn record(pin: &CpuPin, sink: &Sink, kind: &Internal, told: &TaskChange<'_>) {
    let record = WakeupRecord {
        prev: task::words(told.prev),
        next: task::words(told.next),
        cpu: task::cpu(told.next),
    };
    let step = || put(pin, sink, kind.id, RECORD, |rest| record.fill(rest));
    let runs = kind.id == format::CONTEXT_SWITCH.id;
    let mut is_done = false;
    stack::with_callers_of(pin, Some(told.frame), ptr::null, |callers| {
        let function = || match followed_functions::are_calls() {
            true => put_call(pin, sink, callers),
            false => put(pin, sink, format::FUNCTION.id, FUNCTION, |rest| {
                fill_function(rest, callers)
            }),
        };
        is_done = true;
        if runs {
            function();
        }
        step();
        put_callers(pin, sink, callers);
        if !runs {
            function();
        }
    });
    if !is_done {
        step();
    }
}

/// Follows the task that the current one, of the priority `running`, has woken up, unless it is not urgent enough by
/// now.
#[inline(always)]
fn follow(pin: &CpuPin, sink: &Sink, told: &TaskChange<'_>, running: i32) {
    STATE.with(|state| {
        let (task, clock) = (told.next, sink.clock());
        let woken = FollowedTask {
            task: task::identity(task),
            priority: task::priority(task),
            since: clock::read(clock),
            cpu: task::cpu(task),
        };
        if ON.load() == 0 || !state.follower.woken(class(), woken, running) {
            return;
        }
        state.clock = clock;
        state.publish();
        record(pin, sink, &format::WAKEUP, told);
        set_followed_cpu(Some(woken.cpu));
    });
}

/// Learns that the CPU of the caller goes from one task to another, one of which is followed.
#[inline(always)]
fn end(pin: &CpuPin, instance: &LatencyInstance, told: &TaskChange<'_>) {
    let sink = instance.sink();
    let kept = STATE.with(|state| {
        if ON.load() == 0 {
            return false;
        }
        let (before, after) = (task::identity(told.prev), task::identity(told.next));
        let change = state.follower.switched(before, after);
        if change == FollowedChange::Nothing {
            // Another CPU was first: the functions are those of the task that it follows.
            return false;
        }
        // What is called from here on is not part of the latency.
        state.publish();
        if let FollowedChange::Runs(followed) = change {
            record(pin, sink, &format::CONTEXT_SWITCH, told);
            let to = clock::read(sink.clock());
            let latency = to.saturating_sub(followed.since);
            let maximum = Maximum {
                from: followed.since,
                to,
                latency,
                cpu: followed.cpu,
                task: task::of_maximum(told.next),
                places: None,
            };
            let is_one = sink.is_on() && sink.clock() == state.clock;
            if is_one && instance.counts(latency) {
                sink.set_max_latency(latency);
                state.longest.offer(maximum);
            }
        }
        // One that could not be kept before has its records here as well.
        let waited = state.longest.waits();
        state.keep(sink);
        waited
    });
    if kept {
        sink.want(WANT_MAXIMUM);
    }
}

/// What the scheduler tells.
struct WakeupProbe;

static PROBE: &dyn WakeupWatcher = &WakeupProbe;

impl WakeupWatcher for WakeupProbe {
    fn woken(&self, next: &Task, frame: &ProbeFrame) {
        if ON.load() == 0 {
            return;
        }
        let prev: &Task = kernel::current!();
        let (followed, running) = (PRIORITY.load() as i32, task::priority(prev));
        if class().begins(followed, task::priority(next), running) {
            CpuPin::with(|pin| {
                if let Some(instance) = INSTANCE.get(pin) {
                    let told = TaskChange { prev, next, frame };
                    follow(pin, instance.sink(), &told, running);
                }
            });
        }
    }

    fn switched(&self, prev: &Task, next: &Task, frame: &ProbeFrame) {
        let followed = FOLLOWED.load();
        if followed == 0 || ![prev, next].map(task::identity).contains(&followed) {
            return;
        }
        CpuPin::with(|pin| {
            if let Some(instance) = INSTANCE.get(pin) {
                end(pin, instance, &TaskChange { prev, next, frame });
            }
        });
    }

    fn migrated(&self, task: &Task, cpu: u32) {
        if FOLLOWED.load() != task::identity(task) {
            return;
        }
        STATE.with(|state| {
            if state.follower.present().0 == task::identity(task) {
                set_followed_cpu(Some(cpu));
            }
        });
    }

    fn freed(&self, task: &Task) {
        let task = task::identity(task);
        if FOLLOWED.load() == task {
            STATE.with(|state| {
                if state.follower.freed(task) != FollowedChange::Nothing {
                    state.publish();
                }
            });
        }
    }
}

/// Keeps the latency that waited for it, if there is one, of the instance that records into `sink`. Returns whether it
/// did: the banks were exchanged.
pub(super) fn keep(sink: &Sink) -> bool {
    STATE.with(|state| {
        let own = CpuPin::with(|pin| INSTANCE.get(pin).is_some_and(|its| its.records_into(sink)));
        own && state.keep(sink)
    })
}

/// Follows no task, and forgets all latencies but the one that is kept.
fn reset() {
    STATE.with(|state| {
        state.follower.forget();
        state.longest.forget_waiting();
        state.publish();
    });
}

/// Empties the live buffer, and follows and remembers nothing that was before, while no functions are recorded.
fn begin_anew(host: &Host<'_>) {
    ON.store(0);
    // A probe that has not seen that holds the lock, for which this waits.
    reset();
    host.sink().buffers().clear(CpuSel::All);
    host.sink().set_max_latency(0);
    ON.store(u64::from(host.sink().is_on()));
}

/// Starts the tracer of this class.
///
/// # Errors
///
/// `EBUSY` while an instance has one of the tracers, and while a ring is mapped; `ENODEV` in a kernel without the
/// tracepoints, `ENOMEM`.
fn begin(host: &Host<'_>, class: WakeupClass) -> Result {
    let mut watch = WATCH.lock();
    if watch.is_some() {
        return Err(EBUSY);
    }
    let instance = Arc::new(LatencyInstance::of(host)?, GFP_KERNEL)?;
    CLASS.store(u64::from(class as u32));
    // There was none.
    drop(INSTANCE.set(Some(instance)));
    STATE.with(|state| *state = WakeupState::new());
    reset();
    ON.store(u64::from(host.sink().is_on()));
    // SAFETY: The probe is a static.
    match unsafe { TaskWatch::new(&PROBE, &wakeups::probes()) } {
        Ok(probes) => {
            *watch = Some(probes);
            Ok(())
        }
        Err(why) => {
            leave();
            Err(why)
        }
    }
}

/// Forgets the instance, for which no probe runs any more.
fn leave() {
    ON.store(0);
    let before = INSTANCE.set(None);
    // What is kept finds no instance from now on.
    STATE.with(|state| *state = WakeupState::new());
    drop(before);
}

/// One of the tracers.
pub(super) struct WakeupTracer(pub(super) WakeupClass);

impl Tracer for WakeupTracer {
    fn name(&self) -> &'static str {
        match self.0 {
            WakeupClass::Any => "wakeup",
            WakeupClass::RealTime => "wakeup_rt",
            WakeupClass::Deadline => "wakeup_dl",
        }
    }

    fn records(&self) -> bool {
        true
    }

    fn held_options(&self) -> &'static [Opt] {
        // What is lost would be the end of a latency, and times are those since its beginning.
        &[Opt::Overwrite, Opt::LatencyFormat]
    }

    fn keeps_maximum(&self) -> bool {
        true
    }

    fn call_lines(&self) -> Option<CallLines> {
        Some(CallLines::Latency)
    }

    fn maximum(&self) -> Option<KeptMaximum> {
        STATE.with(|state| state.longest.kept())
    }

    fn start(&self, host: &Host<'_>) -> Result {
        begin(host, self.0)?;
        let traced = self.obey(host);
        if traced.is_err() {
            self.stop(host);
        }
        traced
    }

    fn obey(&self, host: &Host<'_>) -> Result {
        followed_functions::obey(host, || begin_anew(host))
    }

    fn follow(&self, host: &Host<'_>) -> Result {
        let (on, was_on) = (host.sink().is_on(), ON.load() != 0);
        if on && !was_on {
            host.sink().buffers().clear(CpuSel::All);
            reset();
        }
        ON.store(u64::from(on));
        Ok(())
    }

    fn stop(&self, host: &Host<'_>) {
        followed_functions::stop(host);
        let mut watch = WATCH.lock();
        // Waits until no probe runs.
        *watch = None;
        leave();
    }
}
