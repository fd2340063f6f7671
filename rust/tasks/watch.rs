// SPDX-License-Identifier: GPL-2.0

//! What the scheduler does with tasks, told to a watcher before all probes that record it and after them.

use super::attached::{
    Attached,
    DetachBarrier, //
    Probe,
};
use crate::kapi::{
    each_cpu,
    percpu::CpuPin, //
};
use kernel::{
    ffi::c_int,
    prelude::*,
    task::Task, //
};

/// What wants to know. Tasks are named by their pids. Called in any context but NMI, on the CPU that
/// it is about; may neither sleep nor allocate.
pub(crate) trait Watcher: Sync {
    /// Learns that this CPU goes from one task to another; no probe has recorded that.
    fn before_switch(&self, pin: &CpuPin, prev: i32, next: i32);
    /// Learns the same, recorded.
    fn after_switch(&self, pin: &CpuPin, next: i32);
    /// Learns that this CPU wakes a task up; no probe has recorded that.
    fn before_wakeup(&self, pin: &CpuPin, woken: i32);
    /// Learns the same, recorded. `current` runs on this CPU.
    fn after_wakeup(&self, pin: &CpuPin, current: i32);
    /// Learns that a task has made another one.
    fn forked(&self, parent: i32, child: i32);
    /// Learns that a task is gone.
    fn freed(&self, pid: i32);
}

extern "C" fn before_switch<T: Watcher>(
    watcher: &T,
    _preempt: bool,
    prev: &Task,
    next: &Task,
    _prev_state: c_uint,
) {
    CpuPin::with(|pin| watcher.before_switch(pin, prev.pid(), next.pid()));
}

extern "C" fn after_switch<T: Watcher>(
    watcher: &T,
    _preempt: bool,
    _prev: &Task,
    next: &Task,
    _prev_state: c_uint,
) {
    CpuPin::with(|pin| watcher.after_switch(pin, next.pid()));
}

extern "C" fn before_wakeup<T: Watcher>(watcher: &T, woken: &Task) {
    CpuPin::with(|pin| watcher.before_wakeup(pin, woken.pid()));
}

extern "C" fn after_wakeup<T: Watcher>(watcher: &T, _woken: &Task) {
    CpuPin::with(|pin| watcher.after_wakeup(pin, kernel::current!().pid()));
}

extern "C" fn forked<T: Watcher>(watcher: &T, parent: &Task, child: &Task) {
    watcher.forked(parent.pid(), child.pid());
}

extern "C" fn freed<T: Watcher>(watcher: &T, gone: &Task) {
    watcher.freed(gone.pid());
}

/// Before all others, and after all that record: theirs is [`RECORDING`](super::attached::RECORDING).
const FIRST: c_int = c_int::MAX;
const LAST: c_int = 0;

/// Returns the probes that tell of switches and wake-ups.
pub(crate) fn switches<T: Watcher>() -> [Probe<T>; 8] {
    [
        Probe::on_switch(before_switch, FIRST),
        Probe::on_switch(after_switch, LAST),
        Probe::on_wakeup(before_wakeup, FIRST),
        Probe::on_wakeup(after_wakeup, LAST),
        Probe::on_wakeup_new(before_wakeup, FIRST),
        Probe::on_wakeup_new(after_wakeup, LAST),
        Probe::on_waking(before_wakeup, FIRST),
        Probe::on_waking(after_wakeup, LAST),
    ]
}

/// Returns the probes that tell of births, after all others, and of deaths, before them.
pub(crate) fn lives<T: Watcher>() -> [Probe<T>; 2] {
    [
        Probe::on_fork(forked, c_int::MIN),
        Probe::on_free(freed, FIRST),
    ]
}

/// A watcher is told while this exists. Dropping it waits until no probe uses the watcher any more.
pub(crate) struct TaskWatch {
    // In this order.
    probes: KVec<Attached>,
    _after: DetachBarrier,
}

impl TaskWatch {
    /// Tells `watcher` what `probes` are about.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the kernel has not all of these events, `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `watcher` stays where it is longer than the result.
    pub(crate) unsafe fn new<T: Sync>(watcher: &T, probes: &[Probe<T>]) -> Result<Self> {
        let mut watch = Self {
            probes: KVec::with_capacity(probes.len(), GFP_KERNEL)?,
            _after: DetachBarrier,
        };
        for probe in probes {
            // SAFETY: The caller keeps `watcher` longer than `watch`, whose drop takes the probe off and
            // waits. This module's code is there longer than its instances.
            let attached = unsafe { Attached::new(probe, watcher) }?;
            watch.probes.push(attached, GFP_KERNEL)?;
        }
        Ok(watch)
    }
}

/// Runs `f` on every online CPU, with interrupts disabled and the pid of the task that runs there. Process
/// context; returns when all are done.
pub(crate) fn on_each_cpu<F: Fn(&CpuPin, i32) + Sync>(f: &F) {
    each_cpu::run(&|pin: &CpuPin| f(pin, kernel::current!().pid()));
}
