// SPDX-License-Identifier: GPL-2.0

//! What becomes of the memory of programs: it is copied, and it ends.

use super::{
    attached::Probe,
    watch::TaskWatch, //
};
use crate::kapi::program_memory::ProgramMemory;
use kernel::{
    prelude::*,
    task::Task, //
};

/// What wants to know. Called in process context; may sleep, but not for what waits for probes.
pub(crate) trait ProgramWatcher: Sync {
    /// Learns that the program that has one of them was copied into the other one, and does not run yet.
    fn copied(&self, from: &ProgramMemory, to: &ProgramMemory);
    /// Learns that the current program ends; its memory goes soon.
    fn ends(&self, memory: &ProgramMemory);
    /// Learns that a program runs in place of another one, whose memory is gone if no other has it.
    fn replaced(&self);
}

extern "C" fn forked<T: ProgramWatcher>(watcher: &T, _parent: &Task, child: &Task) {
    // SAFETY: The tracepoint tells of a task before it is woken up for the first time.
    let copy = unsafe { ProgramMemory::of(child) };
    if let (Some(from), Some(to)) = (ProgramMemory::of_current(), copy) {
        if !from.is_same(&to) {
            watcher.copied(&from, &to);
        }
    }
}

extern "C" fn exits<T: ProgramWatcher>(watcher: &T, _task: &Task, is_last: bool) {
    if let Some(memory) = ProgramMemory::of_current().filter(|_| is_last) {
        watcher.ends(&memory);
    }
}

extern "C" fn executes<T: ProgramWatcher>(watcher: &T, _: &Task, _: c_int, _: *const c_void) {
    watcher.replaced();
}

/// Tells `watcher` of all programs while the result exists. Dropping it waits until no probe uses the watcher.
///
/// # Errors
///
/// `ENODEV` when the kernel has not all of these tracepoints, `ENOMEM`.
pub(crate) fn watch<T: ProgramWatcher>(watcher: &'static T) -> Result<TaskWatch> {
    let probes = [
        Probe::on_fork(forked, c_int::MIN),
        Probe::on_exit(exits),
        Probe::on_exec(executes),
    ];
    // SAFETY: The watcher is there for good.
    unsafe { TaskWatch::new(watcher, &probes) }
}
