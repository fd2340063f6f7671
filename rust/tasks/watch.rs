// SPDX-License-Identifier: GPL-2.0

//! What the scheduler does with tasks, told to somebody in front of all probes that record it and
//! behind them.

use crate::{
    events,
    kapi::{
        c,
        percpu::CpuPin, //
    }, //
};
use core::ptr;
use kernel::{
    bindings,
    error::to_result,
    ffi::c_int,
    prelude::*, //
};

/// Who wants to know. Tasks are named by their pids. Called in any context but NMI, on the CPU that
/// it is about; may neither sleep nor allocate.
pub(crate) trait Watcher: Sync {
    /// This CPU goes from one task to another; nobody has recorded that.
    fn before_switch(&self, pin: &CpuPin, prev: i32, next: i32);
    /// The same, recorded.
    fn after_switch(&self, pin: &CpuPin, next: i32);
    /// This CPU wakes a task up; nobody has recorded that.
    fn before_wakeup(&self, pin: &CpuPin, woken: i32);
    /// The same, recorded. `current` runs on this CPU.
    fn after_wakeup(&self, pin: &CpuPin, current: i32);
    /// A task has made another one.
    fn forked(&self, parent: i32, child: i32);
    /// A task is gone.
    fn freed(&self, pid: i32);
}

/// The pid of a task.
///
/// # Safety
///
/// The task exists.
unsafe fn pid(task: *const bindings::task_struct) -> i32 {
    // SAFETY: The task exists, as the caller promises, and its pid does not change.
    unsafe { (*task).pid }
}

fn current() -> i32 {
    // SAFETY: The current task exists.
    unsafe { pid(kernel::current!().as_ptr()) }
}

type Task = *mut bindings::task_struct;

/// # Safety
///
/// As all below: called by the kernel's tracepoint of that name, with the cookie that was registered,
/// which points to a `T`; the tasks exist.
unsafe extern "C" fn before_switch<T: Watcher>(
    cookie: *mut c_void,
    _preempt: bool,
    prev: Task,
    next: Task,
    _prev_state: c_uint,
) {
    // SAFETY: The cookie points to the `T` that was registered; tracepoints pass tasks that exist.
    let (watcher, prev, next) = unsafe { (&*cookie.cast::<T>(), pid(prev), pid(next)) };
    CpuPin::with(|pin| watcher.before_switch(pin, prev, next));
}

/// # Safety
///
/// See `before_switch`.
unsafe extern "C" fn after_switch<T: Watcher>(
    cookie: *mut c_void,
    _preempt: bool,
    _prev: Task,
    next: Task,
    _prev_state: c_uint,
) {
    // SAFETY: The cookie points to the `T` that was registered; tracepoints pass tasks that exist.
    let (watcher, next) = unsafe { (&*cookie.cast::<T>(), pid(next)) };
    CpuPin::with(|pin| watcher.after_switch(pin, next));
}

/// # Safety
///
/// See `before_switch`.
unsafe extern "C" fn before_wakeup<T: Watcher>(cookie: *mut c_void, task: Task) {
    // SAFETY: The cookie points to the `T` that was registered; tracepoints pass tasks that exist.
    let (watcher, woken) = unsafe { (&*cookie.cast::<T>(), pid(task)) };
    CpuPin::with(|pin| watcher.before_wakeup(pin, woken));
}

/// # Safety
///
/// See `before_switch`.
unsafe extern "C" fn after_wakeup<T: Watcher>(cookie: *mut c_void, _task: Task) {
    // SAFETY: The cookie points to the `T` that was registered; tracepoints pass tasks that exist.
    let watcher = unsafe { &*cookie.cast::<T>() };
    CpuPin::with(|pin| watcher.after_wakeup(pin, current()));
}

/// # Safety
///
/// See `before_switch`.
unsafe extern "C" fn forked<T: Watcher>(cookie: *mut c_void, parent: Task, child: Task) {
    // SAFETY: The cookie points to the `T` that was registered; tracepoints pass tasks that exist.
    let (watcher, parent, child) = unsafe { (&*cookie.cast::<T>(), pid(parent), pid(child)) };
    watcher.forked(parent, child);
}

/// # Safety
///
/// See `before_switch`.
unsafe extern "C" fn freed<T: Watcher>(cookie: *mut c_void, task: Task) {
    // SAFETY: The cookie points to the `T` that was registered; tracepoints pass tasks that exist.
    let (watcher, gone) = unsafe { (&*cookie.cast::<T>(), pid(task)) };
    watcher.freed(gone);
}

/// In front of all others, and behind all that record: their priority is 10.
const FIRST: c_int = c_int::MAX;
const LAST: c_int = 0;

/// A probe: its event, itself, its priority.
type Probe = (&'static str, *mut c_void, c_int);

/// Switches and wake-ups.
fn switches<T: Watcher>() -> [Probe; 8] {
    let (first, last) = (
        before_wakeup::<T> as *mut c_void,
        after_wakeup::<T> as *mut c_void,
    );
    [
        ("sched_switch", before_switch::<T> as *mut c_void, FIRST),
        ("sched_switch", after_switch::<T> as *mut c_void, LAST),
        ("sched_wakeup", first, FIRST),
        ("sched_wakeup", last, LAST),
        ("sched_wakeup_new", first, FIRST),
        ("sched_wakeup_new", last, LAST),
        ("sched_waking", first, FIRST),
        ("sched_waking", last, LAST),
    ]
}

/// Births, told behind all others, and deaths, in front of them.
fn lives<T: Watcher>() -> [Probe; 2] {
    [
        ("sched_process_fork", forked::<T> as *mut c_void, c_int::MIN),
        ("sched_process_free", freed::<T> as *mut c_void, FIRST),
    ]
}

/// One probe on its tracepoint.
struct Attached {
    tracepoint: *mut bindings::tracepoint,
    probe: *mut c_void,
    cookie: *mut c_void,
}

// SAFETY: Addresses of what is there for ever, or as long as this.
unsafe impl Send for Attached {}

impl Drop for Attached {
    fn drop(&mut self) {
        // SAFETY: Registered with these when this was made.
        unsafe {
            bindings::tracepoint_probe_unregister(self.tracepoint, self.probe, self.cookie);
        }
    }
}

/// Somebody is told while this exists.
pub(crate) struct Watch(KVec<Attached>);

impl Watch {
    /// Tells of switches and wake-ups.
    ///
    /// # Safety
    ///
    /// `watcher` stays where it is longer than the result.
    pub(crate) unsafe fn switches<T: Watcher>(watcher: &T) -> Result<Self> {
        // SAFETY: The probes are those of `T`; the rest by the contract.
        unsafe { Self::start(ptr::from_ref(watcher).cast_mut().cast(), &switches::<T>()) }
    }

    /// Tells of births and deaths.
    ///
    /// # Safety
    ///
    /// As for [`Self::switches`].
    pub(crate) unsafe fn lives<T: Watcher>(watcher: &T) -> Result<Self> {
        // SAFETY: The caller keeps `watcher` in place until this is dropped.
        unsafe { Self::start(ptr::from_ref(watcher).cast_mut().cast(), &lives::<T>()) }
    }

    /// # Safety
    ///
    /// The probes have the prototypes of their tracepoints, and take `cookie` until the result is
    /// dropped.
    unsafe fn start(cookie: *mut c_void, probes: &[Probe]) -> Result<Self> {
        let mut this = Self(KVec::with_capacity(probes.len(), GFP_KERNEL)?);
        for (name, probe, priority) in probes {
            let event = events::by_name("sched", name).ok_or(ENODEV)?;
            let tracepoint = event.tracepoint();
            // SAFETY: The tracepoint is the kernel's own and there for ever; the rest by the
            // contract.
            to_result(unsafe {
                bindings::tracepoint_probe_register_prio(tracepoint, *probe, cookie, *priority)
            })?;
            // There is room.
            let _ = this.0.push_within_capacity(Attached {
                tracepoint,
                probe: *probe,
                cookie,
            });
        }
        Ok(this)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.clear();
        // Probes that began before still use the watcher.
        events::synchronize();
    }
}

/// # Safety
///
/// `question` points to an `F`; preemption is off.
unsafe extern "C" fn call<F: Fn(&CpuPin, i32) + Sync>(question: *mut c_void) {
    // SAFETY: `on_each_cpu` passes its `F` and waits; an IPI runs with preemption disabled.
    let (f, pin) = unsafe { (&*question.cast::<F>(), CpuPin::assume()) };
    f(&pin, current());
}

/// Runs `f` on every online CPU, with interrupts off and the pid of the task that runs there. Process
/// context; returns when all are done.
pub(crate) fn on_each_cpu<F: Fn(&CpuPin, i32) + Sync>(f: &F) {
    // SAFETY: `f` is there until the function returns, which waits for all.
    unsafe { c::rt_on_each_cpu(Some(call::<F>), ptr::from_ref(f).cast_mut().cast()) };
}
