// SPDX-License-Identifier: GPL-2.0

//! Which tasks the scheduler wakes up and lets run, told to a tracer.

use super::attached::{
    Probe,
    RECORDING, //
};
use kernel::{
    ffi::c_int,
    prelude::*,
    task::Task, //
};

/// What wants to know. Called with interrupts disabled, but for deaths, in any context but NMI; may neither sleep nor
/// allocate.
pub(crate) trait WakeupWatcher: Sync {
    /// Learns that the current task has woken up a task, which may still run.
    fn woken(&self, task: &Task);
    /// Learns that this CPU goes from one task to another.
    fn switched(&self, prev: &Task, next: &Task);
    /// Learns that a task goes to another CPU.
    fn migrated(&self, task: &Task, cpu: u32);
    /// Learns that a task is gone. Any context but NMI.
    fn freed(&self, task: &Task);
}

extern "C" fn woken<T: WakeupWatcher>(watcher: &T, task: &Task) {
    watcher.woken(task);
}

extern "C" fn switched<T: WakeupWatcher>(
    watcher: &T,
    _preempt: bool,
    prev: &Task,
    next: &Task,
    _prev_state: c_uint,
) {
    watcher.switched(prev, next);
}

extern "C" fn migrated<T: WakeupWatcher>(watcher: &T, task: &Task, cpu: c_int) {
    watcher.migrated(task, cpu as u32);
}

extern "C" fn freed<T: WakeupWatcher>(watcher: &T, task: &Task) {
    watcher.freed(task);
}

/// Returns the probes that tell of that.
pub(crate) fn probes<T: WakeupWatcher>() -> [Probe<T>; 5] {
    [
        Probe::on_wakeup(woken, RECORDING),
        Probe::on_wakeup_new(woken, RECORDING),
        Probe::on_switch(switched, RECORDING),
        Probe::on_migrate(migrated, RECORDING),
        Probe::on_free(freed, RECORDING),
    ]
}
