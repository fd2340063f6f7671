// SPDX-License-Identifier: GPL-2.0

//! Tasks of user space that measure for `timerlat`, while its threads do not: each opens
//! `osnoise/per_cpu/cpuN/timerlat_fd` and reads it once for each tick.
//!
//! A CPU has one seat for such a task. The task leaves it when the file is closed, and is killed when the
//! measurement ends or the CPU goes. A task that is moved to another CPU has spoiled the measurement, which stops.
//!
//! Locks: that of the measurement, then [`LOADS`], which what CPUs call when they go takes as well.

use super::{
    timerlat::{
        raise,
        record,
        TimerlatCpu, //
    },
    workload, //
};
use crate::{
    kapi::{
        load::{
            self,
            CpuStay,
            LoadSeat,
            LoadTask,
            LoadWatch, //
        },
        noise::NoiseHooks,
        tick::{
            OwnedTick,
            TickBody, //
        }, //
    },
    latency::timerlat::{
        TickContext,
        TimerlatSample, //
    },
    ring::port::SharedWord, //
};
use kernel::prelude::*;

/// Nanoseconds of a microsecond.
const NS_PER_US: u64 = 1_000;

crate::kapi::global::global_mutex! {
    static LOADS: Mutex<LoadList> = LoadList {
        tasks: KVec::new(),
        last: 0,
    };
}

/// The tasks that have a seat.
struct LoadList {
    tasks: KVec<SeatedTask>,
    /// The number of the last one that got a seat.
    last: u64,
}

/// A task that has the seat of a CPU.
struct SeatedTask {
    cpu: u32,
    number: u64,
    task: LoadTask,
}

impl LoadList {
    /// Kills the tasks of the CPUs that `of` says, and takes their seats.
    fn kill(&mut self, of: impl Fn(u32) -> bool) {
        self.tasks.retain(|seated| {
            if !of(seated.cpu) {
                return true;
            }
            vacate(seated.cpu);
            seated.task.kill();
            false
        });
    }
}

/// Takes the seat of `cpu` from whoever has it.
fn vacate(cpu: u32) {
    if let Some(seat) = load::seat(cpu) {
        seat.pid.store(0);
        seat.holder.store(0);
    }
    if let Some(noise) = NoiseHooks::of(cpu) {
        noise.end();
    }
}

/// Tasks may measure while this lives; they are killed when it is dropped.
pub(super) struct UserLoads {
    _watch: LoadWatch,
}

impl UserLoads {
    /// Begins. One at a time.
    ///
    /// # Errors
    ///
    /// Those of [`LoadWatch::begin`].
    pub(super) fn begin() -> Result<Self> {
        Ok(Self {
            _watch: LoadWatch::begin()?,
        })
    }
}

impl Drop for UserLoads {
    fn drop(&mut self) {
        LOADS.lock().kill(|_| true);
    }
}

/// What a task measures in the interrupt of its timer.
struct LoadBody {
    here: TimerlatCpu,
    seat: &'static LoadSeat,
    number: u64,
}

impl LoadBody {
    /// Returns whether the task has the seat.
    fn is_seated(&self) -> bool {
        self.seat.holder.load() == self.number
    }
}

impl TickBody for LoadBody {
    fn due(&self, now: u64) {
        // Else the timer may be on another CPU, as its own went.
        if self.is_seated() {
            self.here.due(now);
        }
    }

    fn woken(&self) {
        if self.is_seated() {
            self.here.woken();
        }
    }
}

/// A task that measures, as its open file.
pub(crate) struct UserLoad {
    cpu: u32,
    tick: OwnedTick<LoadBody>,
    /// Whether there was a read.
    begun: bool,
}

impl UserLoad {
    /// Takes the seat of `cpu` for the current task.
    ///
    /// # Errors
    ///
    /// `EINVAL` while no tasks measure, `EBUSY` if the CPU that the task is on has one that does, `EPERM` if the task
    /// is not on `cpu` or may go elsewhere, `ENOMEM`.
    pub(crate) fn open(cpu: u32) -> Result<Self> {
        workload::with_loads(|| {
            let stay = CpuStay::begin();
            let here = load::seat(stay.cpu()).ok_or(EINVAL)?;
            let noise = NoiseHooks::of(cpu).ok_or(EINVAL)?;
            let mut loads = LOADS.lock();
            if here.holder.load() != 0 {
                return Err(EBUSY);
            }
            if load::cpus_allowed() > 1 || stay.cpu() != cpu {
                return Err(EPERM);
            }
            let number = loads.last.wrapping_add(1);
            let tick = OwnedTick::new(LoadBody {
                here: TimerlatCpu::new(noise),
                seat: here,
                number,
            })?;
            let task = LoadTask::current().ok_or(EINVAL)?;
            let seated = SeatedTask { cpu, number, task };
            loads.tasks.push(seated, GFP_KERNEL)?;
            loads.last = number;
            here.moved.store(0);
            here.pid.store(kernel::current!().pid() as u64);
            here.holder.store(number);
            // Nothing fails any more: dropping it takes the lock.
            Ok(Self {
                cpu,
                tick,
                begun: false,
            })
        })
    }

    /// Records what the task took since the last tick, waits for the next, and records how late the task is. A signal
    /// ends it early, without a record.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the task has been on another CPU, or has its seat no more.
    pub(crate) fn wait(&mut self) -> Result {
        let stay = CpuStay::begin();
        let body = self.tick.body();
        if !body.is_seated() {
            return Err(EINVAL);
        }
        if stay.cpu() != self.cpu {
            body.seat.moved.store(1);
            workload::taint(format_args!("timerlat user thread migrate\n\0"));
            workload::stop_tracing();
            return Err(EINVAL);
        }
        if body.seat.moved.load() != 0 {
            return Err(EINVAL);
        }
        if self.begun {
            let Some(latency) = body.record(TickContext::User, true) else {
                return Ok(());
            };
            body.here.noise().answered();
            // The record has raised it.
            body.stop_after(latency, false);
        } else {
            let _turn = LOADS.lock();
            if !body.is_seated() {
                return Err(EINVAL);
            }
            body.here.begin();
            // Also the task itself, as in ftrace.
            body.here.noise().begin(None, true);
            self.begun = true;
        }
        let next = self.tick.body().here.advance();
        self.tick.wait(next);
        let body = self.tick.body();
        if let Some(latency) = body.record(TickContext::Thread, false) {
            body.stop_after(latency, true);
        }
        Ok(())
    }
}

impl LoadBody {
    /// Records how long ago the last tick was due, and returns it; `None` if none was. `raises` is that of [`record`].
    fn record(&self, context: TickContext, raises: bool) -> Option<u64> {
        let latency = self.here.latency()?;
        let sample = TimerlatSample {
            number: self.here.ticks(),
            context,
            latency,
        };
        record(&sample, raises);
        Some(latency)
    }

    /// Stops tracing after so long a latency, with the stack that the timer has interrupted. `raises` says whether
    /// such a one counts for the longest.
    fn stop_after(&self, latency: u64, raises: bool) {
        let stop = workload::stop(true);
        if stop == 0 || latency / NS_PER_US < stop {
            return;
        }
        self.here.print_stack(latency);
        if raises {
            // While recording is on: it counts for no instance where that is off.
            raise(latency);
        }
        workload::stop_tracing();
    }
}

impl Drop for UserLoad {
    fn drop(&mut self) {
        let number = self.tick.body().number;
        let mut loads = LOADS.lock();
        let before = loads.tasks.len();
        loads.tasks.retain(|seated| seated.number != number);
        if loads.tasks.len() != before {
            vacate(self.cpu);
        }
    }
}

/// A CPU goes offline: its task would have to go elsewhere.
#[no_mangle]
extern "C" fn rtrace_load_cpu_goes(cpu: u32) {
    LOADS.lock().kill(|of| of == cpu);
}

/// The task `pid` goes from one CPU to another. Any context; no lock, no allocation, no panic.
#[no_mangle]
extern "C" fn rtrace_load_moves(pid: u32, from: u32, to: u32) {
    let Some(seat) = load::seat(from) else {
        return;
    };
    if from != to && pid != 0 && seat.pid.load() == u64::from(pid) {
        seat.moved.store(1);
        workload::stop_tracing_for("timerlat user-thread migrated");
    }
}

/// Frees what it keeps. No file of such a task is open.
pub(super) fn exit() {
    LOADS.lock().tasks = KVec::new();
}
