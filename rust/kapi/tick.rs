// SPDX-License-Identifier: GPL-2.0

//! A timer that wakes the thread that waits for it.

use super::c;
use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    }, //
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

/// The timer of the current thread.
///
/// # Invariants
///
/// `rt_tick_new` returned the pointer, and the timer's data is a `&dyn TickBody` that lives during `'a`.
pub(crate) struct Tick<'a> {
    tick: NonNull<c::rt_tick>,
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
        // INVARIANT: Just so.
        Ok(Self {
            tick: NonNull::new(tick).ok_or(ENOMEM)?,
            body: PhantomData,
        })
    }

    /// Sleeps until the timer was due at the time `until`, in nanoseconds of its clock, or the thread is to end.
    pub(crate) fn wait(&self, until: u64) {
        // SAFETY: The timer is there (invariant), and belongs to the current thread: this is not `Send`.
        unsafe { c::rt_tick_wait(self.tick.as_ptr(), until) };
    }
}

impl Drop for Tick<'_> {
    fn drop(&mut self) {
        // SAFETY: The timer is there (invariant), and this is the last use.
        unsafe { c::rt_tick_free(self.tick.as_ptr()) };
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
/// `data` is that of [`Tick::new`], and the timer is not cancelled.
#[no_mangle]
unsafe extern "C" fn rtrace_tick_due(data: *const c_void, now: u64) {
    // SAFETY: The caller promises the `&dyn TickBody` of a timer that is there.
    let body = unsafe { *data.cast::<&dyn TickBody>() };
    body.due(now);
}

/// The thread was woken.
///
/// # Safety
///
/// As for [`rtrace_tick_due`].
#[no_mangle]
unsafe extern "C" fn rtrace_tick_woken(data: *const c_void) {
    // SAFETY: The caller promises the `&dyn TickBody` of a timer that is there.
    let body = unsafe { *data.cast::<&dyn TickBody>() };
    body.woken();
}
