// SPDX-License-Identifier: GPL-2.0

//! Which tasks the scheduler wakes up and lets run, told to a tracer.

use super::attached::{
    Probe,
    RECORDING, //
};
use crate::kapi::{
    c,
    stack::ProbeFrame, //
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
    fn woken(&self, task: &Task, frame: &ProbeFrame);
    /// Learns that this CPU goes from one task to another.
    fn switched(&self, prev: &Task, next: &Task, frame: &ProbeFrame);
    /// Learns that a task goes to another CPU.
    fn migrated(&self, task: &Task, cpu: u32);
    /// Learns that a task is gone. Any context but NMI.
    fn freed(&self, task: &Task);
}

/// What the probes get.
type StaticWatcher = &'static dyn WakeupWatcher;

/// As [`WakeupWatcher::woken`].
///
/// # Safety
///
/// The frame is that of a probe that has not returned.
#[no_mangle]
unsafe extern "C" fn rtrace_woken(watcher: &StaticWatcher, task: &Task, frame: &ProbeFrame) {
    watcher.woken(task, frame);
}

/// As [`WakeupWatcher::switched`].
///
/// # Safety
///
/// The frame is that of a probe that has not returned.
#[no_mangle]
unsafe extern "C" fn rtrace_switched(
    watcher: &StaticWatcher,
    prev: &Task,
    next: &Task,
    frame: &ProbeFrame,
) {
    watcher.switched(prev, next, frame);
}

extern "C" fn migrated(watcher: &StaticWatcher, task: &Task, cpu: c_int) {
    watcher.migrated(task, cpu as u32);
}

extern "C" fn freed(watcher: &StaticWatcher, task: &Task) {
    watcher.freed(task);
}

/// Returns the probes that tell of that.
pub(crate) fn probes() -> [Probe<StaticWatcher>; 5] {
    let of_c = |event, function| {
        // SAFETY: They are C's for tracepoints with that prototype, and pass the cookie on to the functions above.
        unsafe { Probe::of_c(event, function, RECORDING) }
    };
    let woken = c::rt_woken as *mut c_void;
    [
        of_c("sched_wakeup", woken),
        of_c("sched_wakeup_new", woken),
        of_c("sched_switch", c::rt_switched as *mut c_void),
        Probe::on_migrate(migrated, RECORDING),
        Probe::on_free(freed, RECORDING),
    ]
}
