// SPDX-License-Identifier: GPL-2.0

//! A timer that wakes the thread that waits for it.

use super::{
    c,
    foreign::{
        FinalRef,
        Owned,
        Release, //
    }, //
};
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// What is done in the interrupt of a timer.
///
/// Contexts: hard interrupt, on the CPU of the thread.
pub(crate) trait TickBody: Sync {
    /// The timer was due; `now` is the time of its clock, in nanoseconds. Before the thread is woken.
    fn due(&self, now: u64);
    /// The thread was woken.
    fn woken(&self);
}

impl Release for c::rt_tick {
    fn release(ending: FinalRef<Self>) {
        c::rt_tick_free(ending);
    }
}

/// The timer of a thread, whose data is the address of a `&dyn TickBody` that lives during `'a`.
pub(crate) struct Tick<'a> {
    tick: Owned<c::rt_tick>,
    body: PhantomData<&'a &'a dyn TickBody>,
}

impl<'a> Tick<'a> {
    /// Makes one for the current thread, which is on one CPU alone.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(body: &'a &'a dyn TickBody) -> Result<Self> {
        let data = ptr::from_ref(body).cast();
        // SAFETY: The functions that get `data` expect a `&dyn TickBody`; it lives during `'a`, and the timer is
        // cancelled before.
        let tick = unsafe { c::rt_tick_new(data) };
        Ok(Self {
            tick: tick.ok_or(ENOMEM)?,
            body: PhantomData,
        })
    }

    /// Sleeps until the timer was due at the time `until`, in nanoseconds of its clock, or the thread is to end.
    pub(crate) fn wait(&self, until: u64) {
        // It belongs to the current thread: this is not `Send`.
        c::rt_tick_wait(&self.tick, until);
    }
}

impl Drop for Tick<'_> {
    /// Has the body live until the timer is cancelled, after this.
    fn drop(&mut self) {}
}

/// The timer of tasks of user space, with what is done in its interrupt. One task at a time waits for it.
///
/// # Invariants
///
/// The timer's data is the address in `_data`, which has that of the value in `body`.
pub(crate) struct OwnedTick<T> {
    // Before what its data names.
    tick: Owned<c::rt_tick>,
    body: KBox<T>,
    _data: KBox<*const dyn TickBody>,
}

// SAFETY: A timer may be set and cancelled by any task, and the body may go to another one.
unsafe impl<T: Send> Send for OwnedTick<T> {}

impl<T: TickBody + 'static> OwnedTick<T> {
    /// Makes one, whose first waiter is likely the current task.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(body: T) -> Result<Self> {
        let body = KBox::new(body, GFP_KERNEL)?;
        let data: *const dyn TickBody = &raw const *body;
        let data = KBox::new(data, GFP_KERNEL)?;
        // SAFETY: The functions that get it expect the address of a body, which has the layout of a reference. Both
        // boxes stay where they are, and go after the timer.
        let tick = unsafe { c::rt_tick_new(ptr::from_ref(&*data).cast()) };
        // INVARIANT: Just so.
        Ok(Self {
            tick: tick.ok_or(ENOMEM)?,
            body,
            _data: data,
        })
    }

    /// Returns what is done in the interrupt.
    pub(crate) fn body(&self) -> &T {
        &self.body
    }

    /// Sleeps until the timer was due at the time `until`, in nanoseconds of its clock, or the current task has a
    /// signal; the timer runs on then. The task does not leave its CPU meanwhile.
    pub(crate) fn wait(&mut self, until: u64) {
        c::rt_tick_wait_signal(self.tick.alone(), until);
    }
}

/// Returns the time of the clock of such timers, in nanoseconds. Any context but NMI.
pub(crate) fn now() -> u64 {
    c::rt_tick_now()
}

/// Has the current thread run by `SCHED_FIFO`.
///
/// # Errors
///
/// Those of the scheduler.
pub(crate) fn run_by_fifo(priority: u32) -> Result {
    to_result(c::rt_thread_set_fifo(priority))
}

/// The timer was due.
///
/// # Safety
///
/// `body` is that of [`Tick::new`] or [`OwnedTick::new`], and the timer is not cancelled.
#[no_mangle]
unsafe extern "C" fn rtrace_tick_due(body: &&dyn TickBody, now: u64) {
    body.due(now);
}

/// The thread was woken.
///
/// # Safety
///
/// As for [`rtrace_tick_due`].
#[no_mangle]
unsafe extern "C" fn rtrace_tick_woken(body: &&dyn TickBody) {
    body.woken();
}
