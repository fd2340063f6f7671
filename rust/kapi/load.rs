// SPDX-License-Identifier: GPL-2.0

//! A task of user space that measures on a CPU: which one that is, where it goes, and its end.

use super::{
    c,
    foreign::{
        FinalRef,
        Owned,
        Release, //
        TaskSharedObject,
    },
    late::LazyPerCpu,
    words::SharedU64, //
};
use kernel::{
    bindings,
    error::to_result,
    prelude::*,
    types::NotThreadSafe, //
};

/// The seat of the task that measures on a CPU. Read in any context.
pub(crate) struct LoadSeat {
    /// The number of the one who has it; 0: nobody.
    pub(crate) holder: SharedU64,
    /// The pid of the task.
    pub(crate) pid: SharedU64,
    /// Whether the task was on another CPU since it took the seat.
    pub(crate) moved: SharedU64,
}

pub(super) static SEATS: LazyPerCpu<LoadSeat> = LazyPerCpu::new();

/// Returns the seat of `cpu`, once there has been a [`LoadWatch`].
pub(crate) fn seat(cpu: u32) -> Option<&'static LoadSeat> {
    SEATS.of(cpu)
}

/// What happens to tasks that measure is told of, while this lives.
pub(crate) struct LoadWatch(());

impl LoadWatch {
    /// Begins. One at a time. Process context.
    ///
    /// # Errors
    ///
    /// `ENOENT` in a kernel without the tracepoint, `ENOMEM`, `ENOSPC`.
    pub(crate) fn begin() -> Result<Self> {
        SEATS.prepare(|_| {
            Ok(LoadSeat {
                holder: SharedU64::zero(),
                pid: SharedU64::zero(),
                moved: SharedU64::zero(),
            })
        })?;
        to_result(c::rt_load_watch())?;
        Ok(Self(()))
    }
}

impl Drop for LoadWatch {
    fn drop(&mut self) {
        c::rt_load_unwatch();
    }
}

impl Release for bindings::pid {
    fn release(ending: FinalRef<Self>) {
        c::rt_load_forget(ending);
    }
}

// SAFETY: References to what a pid stands for belong to no task, and the kernel counts them.
unsafe impl TaskSharedObject for bindings::pid {}

/// A task of user space, which may have ended.
pub(crate) struct LoadTask(Owned<bindings::pid>);

impl LoadTask {
    /// Returns the current task.
    pub(crate) fn current() -> Option<Self> {
        c::rt_load_pid().map(Self)
    }

    /// Kills it.
    pub(crate) fn kill(&self) {
        c::rt_load_kill(&self.0);
    }
}

/// The current task stays on its CPU, though it may sleep, while this lives.
pub(crate) struct CpuStay {
    cpu: u32,
    _here: NotThreadSafe,
}

impl CpuStay {
    /// Begins.
    pub(crate) fn begin() -> Self {
        Self {
            cpu: c::rt_load_stay(),
            _here: NotThreadSafe,
        }
    }

    /// Returns the CPU.
    pub(crate) fn cpu(&self) -> u32 {
        self.cpu
    }
}

impl Drop for CpuStay {
    fn drop(&mut self) {
        c::rt_load_leave();
    }
}

/// Returns how many CPUs the current task may run on.
pub(crate) fn cpus_allowed() -> u32 {
    c::rt_load_cpus_allowed()
}
