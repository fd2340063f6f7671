// SPDX-License-Identifier: GPL-2.0

//! How long each task was not running, and what else of its time does not count: for those who measure calls.
//!
//! A word for each task has what is to be taken off in all. Who measures a call reads it at the beginning and at
//! the end, and takes the difference off. The scheduler's switches are followed only as long as someone does.

use super::attached::{
    Attached,
    DetachBarrier,
    Probe,
    RECORDING, //
};
use crate::{
    kapi::{
        clock::{
            self,
            ClockId, //
        },
        context,
        cpus,
        percpu::CpuPin,
        words::LocalU64, //
    },
    ring::port::LocalWord, //
};
use core::cell::Cell;
use kernel::{
    ffi::c_uint,
    prelude::*,
    task::Task, //
};

/// One more than the largest number of a task: `PID_MAX_LIMIT`.
const TASKS: usize = 4 << 20;

/// The lowest bit of a word: the task does not run, and the time since then is missing.
const IS_OUT: u64 = 1;

/// What is taken off the time of each task, by the clock `local`.
///
/// A word is twice the nanoseconds, so that the lowest bit is free. Only the CPU on which the task runs, or which
/// switches to or from it, changes it, each time by one instruction.
pub(crate) struct TaskTimes {
    /// By pid; the idle tasks, which have one number, follow by their CPUs.
    words: KVVec<LocalU64>,
}

impl TaskTimes {
    /// Returns that of tasks of which nothing is taken off.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn new() -> Result<Self> {
        let tasks = TASKS.saturating_add(cpus::most() as usize);
        let mut words = KVVec::with_capacity(tasks, GFP_KERNEL)?;
        for _ in 0..tasks {
            words.push(LocalWord::new(0), GFP_KERNEL)?;
        }
        Ok(Self { words })
    }

    /// Returns the word of a task that runs on this CPU.
    fn word(&self, pin: &CpuPin, pid: i32) -> Option<&LocalU64> {
        let at = match usize::try_from(pid) {
            Ok(pid @ 1..TASKS) => pid,
            _ => TASKS.saturating_add(pin.cpu() as usize),
        };
        self.words.get(at)
    }

    /// Returns what is taken off the current task by `now`, as a reading for a [`TaskCall`]. Any context.
    fn reading(&self, pin: &CpuPin, now: u64) -> u64 {
        let word = self.word(pin, context::raw().pid);
        match word.map_or(0, LocalU64::get) {
            // Between the tracepoint of the switch and the switch.
            word if word & IS_OUT != 0 => (word & !IS_OUT).wrapping_add(now.wrapping_shl(1)),
            word => word,
        }
    }

    /// Takes nanoseconds off the current task. Any context.
    pub(crate) fn take(&self, pin: &CpuPin, ns: u64) {
        if let Some(word) = self.word(pin, context::raw().pid) {
            word.add(ns.wrapping_shl(1));
        }
    }

    /// Learns that a task stops to run at `now`.
    fn stops(&self, pin: &CpuPin, pid: i32, now: u64) {
        match self.word(pin, pid) {
            Some(word) if word.get() & IS_OUT == 0 => {
                word.add(IS_OUT.wrapping_sub(now.wrapping_shl(1)));
            }
            _ => {}
        }
    }

    /// Learns that a task runs again at `now`. One that was never seen to stop has slept through no call that is
    /// measured.
    fn runs(&self, pin: &CpuPin, pid: i32, now: u64) {
        match self.word(pin, pid) {
            Some(word) if word.get() & IS_OUT != 0 => {
                word.add(now.wrapping_shl(1).wrapping_sub(IS_OUT));
            }
            _ => {}
        }
    }
}

/// What is kept of a call that is measured, and a reading of its task's times at its beginning.
#[repr(C)]
pub(crate) struct TaskCall<C> {
    pub(crate) call: C,
    reading: Cell<u64>,
}

impl<C> TaskCall<C> {
    /// Completes the call, which began at `now`. Any context.
    pub(crate) fn begin(&self, pin: &CpuPin, times: Option<&TaskTimes>, now: u64) {
        let reading = times.map_or(0, |times| times.reading(pin, now));
        self.reading.set(reading);
    }

    /// Returns the nanoseconds that were taken off the task since the call began; it ends at `now`. Any context.
    pub(crate) fn taken(&self, times: &TaskTimes, pin: &CpuPin, now: u64) -> u64 {
        nanoseconds(self.reading.get(), times.reading(pin, now))
    }
}

/// Returns the nanoseconds between two readings; 0 where the later one has less, as the clocks of two CPUs may differ
/// by a little.
fn nanoseconds(from: u64, to: u64) -> u64 {
    u64::try_from((to.wrapping_sub(from) as i64) >> 1).unwrap_or(0)
}

/// Notes a switch. Interrupts are disabled.
extern "C" fn on_switch(
    times: &TaskTimes,
    _preempt: bool,
    prev: &Task,
    next: &Task,
    _prev_state: c_uint,
) {
    let now = clock::read(ClockId::Local);
    CpuPin::with(|pin| {
        times.stops(pin, prev.pid(), now);
        times.runs(pin, next.pid(), now);
    });
}

/// Times of tasks, from which sleep is taken off while this exists. Dropping it waits until the probe has ended
/// everywhere.
pub(crate) struct SleepWatch {
    // In this order.
    _probe: Option<Attached>,
    _after: DetachBarrier,
    times: KBox<TaskTimes>,
}

impl SleepWatch {
    /// Begins with nothing, and has sleep taken off if `asleep`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `ENODEV` when the kernel has no such event.
    pub(crate) fn start(asleep: bool) -> Result<Self> {
        let times = KBox::new(TaskTimes::new()?, GFP_KERNEL)?;
        let mut probe = None;
        if asleep {
            let switches = Probe::on_switch(on_switch, RECORDING);
            // SAFETY: The box keeps the times where they are; they go after the probe, which `_after` waits for.
            probe = Some(unsafe { Attached::new(&switches, &*times) }?);
        }
        Ok(Self {
            _probe: probe,
            _after: DetachBarrier,
            times,
        })
    }

    /// Returns the times.
    pub(crate) fn times(&self) -> &TaskTimes {
        &self.times
    }
}

#[kunit_tests(rtrace_tasks_sleep)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_that_goes_back_is_no_sleep() {
        for (from, to, expected) in [
            (0, 0, 0),
            (100, 106, 3),
            (u64::MAX - 1, 4, 3),
            (106, 100, 0),
            (4, u64::MAX - 1, 0),
            (101, 100, 0),
        ] {
            assert_eq!(nanoseconds(from, to), expected);
        }
    }
}
