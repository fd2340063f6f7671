// SPDX-License-Identifier: GPL-2.0

//! Threads of the kernel that do one thing until they are stopped.

use super::{
    c,
    foreign::{
        FinalRef,
        Owned,
        Release, //
        TaskSharedObject,
    }, //
};
use core::ptr;
use kernel::{
    error::to_result,
    prelude::*, //
};

/// What a thread does.
///
/// Contexts: process context, in threads of the kernel, several at a time.
pub(crate) trait ThreadBody: Send + Sync {
    /// Does it until [`should_stop`] says so. Takes no lock that is held where [`Threads`] are started or
    /// dropped.
    fn run(&self);
}

/// Where threads run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadPlace {
    /// One, on any CPU of the set.
    Any,
    /// One, on the first CPU of the set that is online; it moves itself by [`move_on`].
    First,
    /// One on each CPU of the set, also on those that come online later.
    Each,
}

impl Release for c::rt_thread {
    fn release(ending: FinalRef<Self>) {
        c::rt_thread_stop(ending);
    }
}

// SAFETY: Any task may stop a thread, and nothing takes a reference.
unsafe impl TaskSharedObject for c::rt_thread {}

impl Release for c::rt_cpu_threads {
    fn release(ending: FinalRef<Self>) {
        c::rt_cpu_threads_stop(ending);
    }
}

// SAFETY: Any task may stop the threads, and nothing takes a reference.
unsafe impl TaskSharedObject for c::rt_cpu_threads {}

/// What C has of them; it stops when this is dropped.
enum ThreadSet {
    One { _thread: Owned<c::rt_thread> },
    Each { _threads: Owned<c::rt_cpu_threads> },
}

/// Threads that run; they are stopped when this is dropped, which sleeps until they have ended.
pub(crate) struct Threads {
    _started: ThreadSet,
    /// What they have; goes after them. The box stays where it is.
    _body: KBox<KBox<dyn ThreadBody>>,
}

impl Threads {
    /// Starts threads with this name that run `body` on CPUs of `cpus`, which has a bit for each possible CPU.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `EINVAL` when no CPU of the set is online and the place is one thread.
    pub(crate) fn start(
        name: &'static CStr,
        place: ThreadPlace,
        cpus: &[u64],
        body: KBox<dyn ThreadBody>,
    ) -> Result<Self> {
        if cpus.len() < (super::cpus::most() as usize).div_ceil(64) {
            return Err(EINVAL);
        }
        let body = KBox::new(body, GFP_KERNEL)?;
        let (name, bits) = (name.as_char_ptr(), cpus.as_ptr().cast());
        let data = ptr::from_ref(&*body).cast();
        let started = match place {
            ThreadPlace::Each => {
                let mut made = None;
                // SAFETY: The name is static; the set has a bit for each possible CPU, as was looked at
                // above; `data` is a body that goes after the threads were stopped.
                to_result(unsafe { c::rt_cpu_threads_start(name, bits, data, &mut made) })?;
                ThreadSet::Each {
                    _threads: made.ok_or(EINVAL)?,
                }
            }
            ThreadPlace::Any | ThreadPlace::First => {
                let (mut made, one) = (None, place == ThreadPlace::First);
                // SAFETY: The name and the set are as above; the body goes after the thread was stopped.
                to_result(unsafe { c::rt_thread_start(name, bits, one, data, &mut made) })?;
                ThreadSet::One {
                    _thread: made.ok_or(EINVAL)?,
                }
            }
        };
        Ok(Self {
            _started: started,
            _body: body,
        })
    }
}

/// Runs a body, in a thread of its own.
///
/// # Safety
///
/// `body` is what [`Threads::start`] passed, and [`Threads`] is not gone.
#[no_mangle]
unsafe extern "C" fn rtrace_thread(body: &KBox<dyn ThreadBody>) {
    body.run();
}

/// Calls `f` while control groups take the current thread, which is one of [`ThreadPlace::Each`]. It stays on its CPU.
/// Only in [`ThreadBody::run`].
pub(crate) fn loosened(f: impl FnOnce()) {
    c::rt_thread_loosen();
    f();
    c::rt_thread_fasten();
}

/// Returns whether a task waits for the current thread to go to another CPU, in what [`loosened`] calls. It goes after that.
pub(crate) fn is_to_move() -> bool {
    c::rt_thread_is_to_move()
}

/// Returns whether the current thread is to end. Only in [`ThreadBody::run`].
#[inline(always)]
pub(crate) fn should_stop() -> bool {
    c::rt_thread_should_stop()
}

/// Sleeps so many milliseconds, less if the thread is to end. Only in [`ThreadBody::run`].
pub(crate) fn sleep(ms: u64) {
    c::rt_thread_sleep(u32::try_from(ms).unwrap_or(u32::MAX));
}

/// Sleeps so many microseconds, less if the thread is to end; lets others run if it is none. Only in
/// [`ThreadBody::run`].
pub(crate) fn sleep_us(us: u64) {
    c::rt_thread_sleep_us(us);
}

/// Lets others run that wish to. Only in [`ThreadBody::run`].
#[inline(always)]
pub(crate) fn give_way() {
    c::rt_cond_resched();
}

/// Returns an address in the function that threads run.
pub(crate) fn address() -> u64 {
    rtrace_thread as usize as u64
}

/// Moves the current thread, which is on one CPU alone, to the next one of `cpus` that is online. Only in
/// [`ThreadBody::run`]. Returns false when it may run elsewhere than on the CPU where this has put it, or that is gone.
pub(crate) fn move_on(cpus: &[u64]) -> bool {
    if cpus.len() < (super::cpus::most() as usize).div_ceil(64) {
        return false;
    }
    // SAFETY: The set has a bit for each possible CPU.
    unsafe { c::rt_thread_move(cpus.as_ptr().cast()) == 0 }
}
