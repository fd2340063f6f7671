// SPDX-License-Identifier: GPL-2.0

//! Saying something that was noticed in any context where it may be said.
//!
//! A writer may be in an NMI or hold the scheduler's locks; an `irq_work` runs when it has left
//! them.

use super::{
    c,
    words::SharedU64, //
};
use crate::ring::port::SharedWord as _;
use kernel::{
    bindings,
    prelude::*,
    str::CString,
    types::Opaque, //
};

/// Something that is said once, until it is allowed again.
#[pin_data(PinnedDrop)]
pub(crate) struct Alarm {
    /// What was noticed first; 0 is nothing.
    what: SharedU64,
    /// Whom it is about.
    name: CString,
    /// Says it. Runs in hardirq context.
    say: fn(&CStr, u64),
    #[pin]
    work: Opaque<bindings::irq_work>,
}

// SAFETY: Everything in it is made for use from several CPUs or does not change.
unsafe impl Sync for Alarm {}
// SAFETY: As above.
unsafe impl Send for Alarm {}

impl Alarm {
    /// Nothing was noticed yet. `say` gets `name` and what was noticed.
    pub(crate) fn new(name: CString, say: fn(&CStr, u64)) -> impl PinInit<Self> {
        pin_init!(Self {
            what: <SharedU64 as crate::ring::port::SharedWord>::new(0),
            name,
            say,
            work <- Opaque::ffi_init(|work| {
                // SAFETY: The place is valid and pinned.
                unsafe { c::rt_init_irq_work(work, Some(run)) }
            }),
        })
    }

    /// Has `what`, which is not 0, said soon, unless something was noticed before. Any context, NMI
    /// included.
    pub(crate) fn raise(&self, what: u64) {
        if self.what.load() == 0 && self.what.cas(0, what) {
            // SAFETY: Initialised; `drop` waits for it.
            unsafe { bindings::irq_work_queue(self.work.get()) };
        }
    }

    /// What is noticed from now on is said again.
    pub(crate) fn rearm(&self) {
        self.what.store(0);
    }

    /// Returns when what was raised has been said. Process context.
    pub(crate) fn wait(&self) {
        // SAFETY: Initialised.
        unsafe { bindings::irq_work_sync(self.work.get()) };
    }
}

#[pinned_drop]
impl PinnedDrop for Alarm {
    fn drop(self: Pin<&mut Self>) {
        self.wait();
    }
}

/// # Safety
///
/// Called by the kernel with the `work` of an [`Alarm`].
unsafe extern "C" fn run(work: *mut bindings::irq_work) {
    let work: *mut Opaque<bindings::irq_work> = work.cast();
    // SAFETY: By the contract; the alarm waits for this function before it goes.
    let alarm = unsafe { &*kernel::container_of!(work, Alarm, work) };
    let what = alarm.what.load();
    if what != 0 {
        (alarm.say)(&alarm.name, what);
    }
}
