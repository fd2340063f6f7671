// SPDX-License-Identifier: GPL-2.0

//! Probes of ours on tracepoints of the scheduler and of idle CPUs, taken off when they are dropped.
//!
//! They are not on the way of events: `names` and `watch` learn from them what tasks do.

use crate::events::{
    self,
    Event, //
};
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::{
    bindings,
    error::to_result,
    ffi::c_int,
    prelude::*,
    task::Task, //
};

/// The priority of the probes that record.
pub(crate) const RECORDING: c_int = bindings::TRACEPOINT_DEFAULT_PRIO as c_int;

/// What `sched_switch` calls: with whether the task was preempted, the tasks before and after, and the
/// state of the one before.
type SwitchCallback<T> = extern "C" fn(&T, bool, &Task, &Task, c_uint);
/// What tracepoints about one task call.
type TaskCallback<T> = extern "C" fn(&T, &Task);
/// What `sched_migrate_task` calls: with the task and the number of the CPU that it goes to.
type MigrateCallback<T> = extern "C" fn(&T, &Task, c_int);
/// What `cpu_idle` calls: with the state that the CPU enters, or all bits set when it leaves it, and with its number.
type IdleCallback<T> = extern "C" fn(&T, c_uint, c_uint);
/// What `sched_process_fork` calls: with parent and child.
type ForkCallback<T> = extern "C" fn(&T, &Task, &Task);
/// What `sched_process_exit` calls: with the task, and whether it is the last one of its group.
type ExitCallback<T> = extern "C" fn(&T, &Task, bool);
/// What `sched_process_exec` calls: with the task, its pid before, and what the kernel knows of the program.
type ExecCallback<T> = extern "C" fn(&T, &Task, c_int, *const c_void);

/// A function for one of these tracepoints, which gets a `T`.
///
/// # Invariants
///
/// The function has the prototype of the tracepoint of `event`, with a `&T` as the cookie.
pub(crate) struct Probe<T> {
    system: &'static str,
    event: &'static str,
    function: *mut c_void,
    /// Probes of a higher one are called before those that record ([`RECORDING`]), and of a lower one after
    /// them.
    priority: c_int,
    of: PhantomData<fn(&T)>,
}

impl<T: Sync> Probe<T> {
    /// Returns one for switches from one task to another. Called with interrupts disabled.
    pub(super) fn on_switch(function: SwitchCallback<T>, priority: c_int) -> Self {
        // INVARIANT: The tracepoint passes its cookie, a `bool`, two tasks and a number.
        Self {
            system: "sched",
            event: "sched_switch",
            function: function as *mut c_void,
            priority,
            of: PhantomData,
        }
    }

    /// Returns one for tasks that are about to be woken up.
    pub(super) fn on_waking(function: TaskCallback<T>, priority: c_int) -> Self {
        Self::on_task("sched_waking", function, priority)
    }

    /// Returns one for tasks that were woken up.
    pub(super) fn on_wakeup(function: TaskCallback<T>, priority: c_int) -> Self {
        Self::on_task("sched_wakeup", function, priority)
    }

    /// Returns one for tasks that are woken up for the first time.
    pub(super) fn on_wakeup_new(function: TaskCallback<T>, priority: c_int) -> Self {
        Self::on_task("sched_wakeup_new", function, priority)
    }

    /// Returns one for tasks that are gone.
    pub(super) fn on_free(function: TaskCallback<T>, priority: c_int) -> Self {
        Self::on_task("sched_process_free", function, priority)
    }

    /// Returns one for tasks that go to another CPU.
    pub(super) fn on_migrate(function: MigrateCallback<T>, priority: c_int) -> Self {
        // INVARIANT: The tracepoint passes its cookie, a task and a number.
        Self {
            system: "sched",
            event: "sched_migrate_task",
            function: function as *mut c_void,
            priority,
            of: PhantomData,
        }
    }

    /// Returns one for tasks that were made.
    pub(crate) fn on_fork(function: ForkCallback<T>, priority: c_int) -> Self {
        // INVARIANT: The tracepoint passes its cookie and two tasks.
        Self {
            system: "sched",
            event: "sched_process_fork",
            function: function as *mut c_void,
            priority,
            of: PhantomData,
        }
    }

    /// Returns one for tasks that exit, and still have their memory.
    pub(super) fn on_exit(function: ExitCallback<T>) -> Self {
        // INVARIANT: The tracepoint passes its cookie, a task and a `bool`.
        Self {
            system: "sched",
            event: "sched_process_exit",
            function: function as *mut c_void,
            priority: RECORDING,
            of: PhantomData,
        }
    }

    /// Returns one for tasks that run another program, and have no memory of the one before.
    pub(super) fn on_exec(function: ExecCallback<T>) -> Self {
        // INVARIANT: The tracepoint passes its cookie, a task, a number and a pointer.
        Self {
            system: "sched",
            event: "sched_process_exec",
            function: function as *mut c_void,
            priority: RECORDING,
            of: PhantomData,
        }
    }

    /// Returns one for CPUs that become idle, or enter another such state, and for those that leave it. Called with
    /// interrupts disabled.
    pub(crate) fn on_idle(function: IdleCallback<T>) -> Self {
        // INVARIANT: The tracepoint passes its cookie and two numbers.
        Self {
            system: "power",
            event: "cpu_idle",
            function: function as *mut c_void,
            priority: RECORDING,
            of: PhantomData,
        }
    }

    /// Returns one for a tracepoint of the scheduler, whose function is C's.
    ///
    /// # Safety
    ///
    /// The function has the prototype of the tracepoint, with a `&T` as the cookie.
    pub(super) unsafe fn of_c(event: &'static str, function: *mut c_void, priority: c_int) -> Self {
        // INVARIANT: The caller promises it.
        Self {
            system: "sched",
            event,
            function,
            priority,
            of: PhantomData,
        }
    }

    fn on_task(event: &'static str, function: TaskCallback<T>, priority: c_int) -> Self {
        // INVARIANT: All four tracepoints pass their cookie and one task.
        Self {
            system: "sched",
            event,
            function: function as *mut c_void,
            priority,
            of: PhantomData,
        }
    }
}

/// A probe on its tracepoint.
///
/// # Invariants
///
/// The tracepoint of `event` has the function at `function` with the cookie `cookie`.
pub(super) struct Attached {
    event: &'static Event,
    // The kernel compares these with its own, and follows neither.
    function: usize,
    cookie: usize,
}

impl Attached {
    /// Puts `probe` on its tracepoint, which calls it with `target` and with tasks that exist.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the kernel has no such event, `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `target` stays where it is, and the code of the probe is there, until the result was dropped and
    /// [`events::synchronize`] has returned.
    pub(super) unsafe fn new<T: Sync>(probe: &Probe<T>, target: &T) -> Result<Self> {
        let event = events::by_name(probe.system, probe.event).ok_or(ENODEV)?;
        let tracepoint = event.tracepoint();
        if tracepoint.is_null() {
            return Err(ENODEV);
        }
        let cookie = ptr::from_ref(target).cast_mut().cast::<c_void>();
        // SAFETY:
        // - The tracepoint is the kernel's own and stays for good.
        // - The function has its prototype, with the cookie as a `&T` (invariant of `Probe`).
        // - The caller keeps the `T`, which any CPU may use, and the code.
        to_result(unsafe {
            bindings::tracepoint_probe_register_prio(
                tracepoint,
                probe.function,
                cookie,
                probe.priority,
            )
        })?;
        // INVARIANT: Registered just now.
        Ok(Self {
            event,
            function: probe.function.addr(),
            cookie: cookie.addr(),
        })
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let function = ptr::without_provenance_mut(self.function);
        let cookie = ptr::without_provenance_mut(self.cookie);
        // SAFETY: The tracepoint, the kernel's own, has this function with this cookie (invariant).
        unsafe {
            bindings::tracepoint_probe_unregister(self.event.tracepoint(), function, cookie);
        }
    }
}

/// Waits, when it is dropped, until no probe that was taken off before runs any more.
pub(super) struct DetachBarrier;

impl Drop for DetachBarrier {
    fn drop(&mut self) {
        events::synchronize();
    }
}
