// SPDX-License-Identifier: GPL-2.0

//! Work that is wanted in any context and done in one where more is allowed.
//!
//! A writer may be in an NMI or hold the scheduler's locks; an `irq_work` runs when it has left them.
//! Used by `alarm` and `waker`.

use super::c;
use core::{
    marker::PhantomData,
    ops::Deref, //
};
use kernel::{
    bindings,
    prelude::*,
    types::Opaque, //
};

/// What has such work.
pub(super) trait DeferredWork: Send + Sync {
    /// Does the work. Runs in hardirq context.
    fn run(&self);
}

/// A `T` whose work can be queued.
///
/// # Invariants
///
/// `work` is initialised, and its function is [`run`] for this `T`.
#[pin_data(PinnedDrop)]
#[repr(C)]
pub(super) struct Deferred<T: DeferredWork> {
    // First: `run` gets its address.
    #[pin]
    work: Opaque<bindings::irq_work>,
    #[pin]
    value: T,
}

/// An `irq_work` for a function of C.
///
/// # Invariants
///
/// It is initialised, and stays during `'a`.
#[repr(transparent)]
pub(crate) struct ReadyIrqWork<'a>(*mut bindings::irq_work, PhantomData<&'a ()>);

// SAFETY: Any CPU may queue an `irq_work` or wait for it, and `T` is `Sync`.
unsafe impl<T: DeferredWork> Sync for Deferred<T> {}
// SAFETY: An `irq_work` belongs to no task, and `T` is `Send`.
unsafe impl<T: DeferredWork> Send for Deferred<T> {}

impl<T: DeferredWork> Deferred<T> {
    /// Returns one with `value`, whose work is not queued.
    pub(super) fn new(value: impl PinInit<T>) -> impl PinInit<Self> {
        // INVARIANT: The work is initialised with that function.
        pin_init!(Self {
            work <- Opaque::ffi_init(|work| {
                // SAFETY: `ffi_init` passes the place of a pinned `irq_work`, to be initialised.
                unsafe { c::rt_init_irq_work(work, Some(run::<T>)) }
            }),
            value <- value,
        })
    }

    /// Has the work done soon, once for all calls until it begins. Any context, NMI included.
    pub(super) fn queue(&self) {
        // SAFETY: The work is initialised (invariant), and `drop` waits for it.
        unsafe { bindings::irq_work_queue(self.work.get()) };
    }

    /// Returns when the work that was queued before is done. Process context.
    pub(super) fn wait(&self) {
        // INVARIANT: The work is initialised (invariant), and borrowed for as long.
        c::irq_work_sync(ReadyIrqWork(self.work.get(), PhantomData));
    }
}

impl<T: DeferredWork> Deref for Deferred<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

#[pinned_drop]
impl<T: DeferredWork> PinnedDrop for Deferred<T> {
    fn drop(self: Pin<&mut Self>) {
        // It is not queued any more, for its owner goes.
        self.wait();
    }
}

/// Does the work of a `T`.
///
/// # Safety
///
/// `work` is that of a [`Deferred<T>`], which stays until this returns.
unsafe extern "C" fn run<T: DeferredWork>(work: *mut bindings::irq_work) {
    // SAFETY: The work is the first field of a `Deferred<T>`, which stays, as the caller promises.
    let this = unsafe { &*work.cast::<Deferred<T>>() };
    this.value.run();
}
