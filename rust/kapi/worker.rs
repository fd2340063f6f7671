// SPDX-License-Identifier: GPL-2.0

//! Work that is wanted in any context, NMI included, and done in process context, where it may sleep.
//!
//! An `irq_work` brings the wish out of the context in which it came up, and a work item of the kernel's
//! queue out of interrupts. What is wanted is a set of bits, so that wishes that come together are one.

use super::{
    c,
    deferred::{
        Deferred,
        DeferredWork, //
    },
    words::SharedU64, //
};
use crate::ring::port::SharedWord;
use core::marker::PhantomData;
use kernel::{
    bindings,
    prelude::*,
    types::Opaque, //
};

/// What does the work: it gets the number of the worker and the bits that are wanted. Process context.
pub(crate) type Work = fn(u64, u64);

/// Does what is wanted, soon.
#[pin_data]
pub(crate) struct Worker {
    #[pin]
    job: Deferred<Job>,
}

/// A work item, and what it does.
///
/// # Invariants
///
/// `item` is initialised, and its function is [`run`] for this job.
#[pin_data(PinnedDrop)]
#[repr(C)]
struct Job {
    // First: `run` gets its address.
    #[pin]
    item: Opaque<bindings::work_struct>,
    number: u64,
    wanted: SharedU64,
    work: Work,
}

// SAFETY: Any CPU may queue a work item or wait for it, and the rest is `Sync`.
unsafe impl Sync for Job {}
// SAFETY: A work item belongs to no task, and the rest is `Send`.
unsafe impl Send for Job {}

/// A work item for a function of C.
///
/// # Invariants
///
/// It is initialised, and stays during `'a`.
#[repr(transparent)]
pub(crate) struct ReadyWork<'a>(*mut bindings::work_struct, PhantomData<&'a ()>);

impl Job {
    /// Returns the item for a function of C.
    fn ready(&self) -> ReadyWork<'_> {
        // INVARIANT: The item is initialised (invariant), and borrowed for as long.
        ReadyWork(self.item.get(), PhantomData)
    }

    /// Adds `bits` to what is wanted. Returns whether nothing was wanted before.
    fn add(&self, bits: u64) -> bool {
        loop {
            let old = self.wanted.load();
            if old & bits == bits {
                return false;
            }
            if self.wanted.cas(old, old | bits) {
                return old == 0;
            }
        }
    }

    /// Takes all that is wanted.
    fn take(&self) -> u64 {
        loop {
            let old = self.wanted.load();
            if self.wanted.cas(old, 0) {
                return old;
            }
        }
    }
}

impl DeferredWork for Job {
    fn run(&self) {
        // SAFETY: The item is initialised (invariant), and `drop` waits for it.
        unsafe { c::rt_queue_work(self.item.get()) };
    }
}

#[pinned_drop]
impl PinnedDrop for Job {
    fn drop(self: Pin<&mut Self>) {
        // The `irq_work` that queues it is over: `Deferred` waits for that before it drops what it holds.
        c::cancel_work_sync(self.ready());
    }
}

impl Worker {
    /// Returns one that nothing is wanted of. `work` gets `number` with each wish.
    pub(crate) fn new(number: u64, work: Work) -> impl PinInit<Self> {
        // INVARIANT: The item is initialised with that function.
        let job = pin_init!(Job {
            item <- Opaque::ffi_init(|item| {
                // SAFETY: `ffi_init` passes the place of a pinned item, to be initialised.
                unsafe { c::rt_init_work(item, Some(run)) }
            }),
            number,
            wanted: SharedU64::zero(),
            work,
        });
        pin_init!(Self {
            job <- Deferred::new(job),
        })
    }

    /// Has `bits` done soon, once for all wishes until it begins. Any context, NMI included.
    pub(crate) fn want(&self, bits: u64) {
        if self.job.add(bits) {
            self.job.queue();
        }
    }

    /// Returns when what was wanted before is done. Process context, not from the work itself.
    pub(crate) fn wait(&self) {
        self.job.wait();
        c::flush_work(self.job.ready());
    }
}

/// Lets so many milliseconds pass, in a work that looks again and again.
pub(crate) fn pause(ms: c_uint) {
    c::msleep(ms);
}

/// Does the work of a job.
///
/// # Safety
///
/// `item` is that of a [`Job`], which stays until this returns.
unsafe extern "C" fn run(item: *mut bindings::work_struct) {
    // SAFETY: The item is the first field of a `Job`, which stays, as the caller promises.
    let job = unsafe { &*item.cast::<Job>() };
    let wanted = job.take();
    if wanted != 0 {
        (job.work)(job.number, wanted);
    }
}
