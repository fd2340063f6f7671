// SPDX-License-Identifier: GPL-2.0

//! Tasks that sleep until they are woken, without a lock around what they look at.

use super::c;
use core::ptr;
use kernel::{
    bindings,
    error::to_result,
    prelude::*,
    types::Opaque, //
};

/// A queue of sleeping tasks.
///
/// # Invariants
///
/// The head is initialised.
#[pin_data]
pub(super) struct WaitQueue {
    #[pin]
    head: Opaque<bindings::wait_queue_head>,
}

// SAFETY: The kernel locks the head whenever it uses it.
unsafe impl Sync for WaitQueue {}
// SAFETY: A head belongs to no task.
unsafe impl Send for WaitQueue {}

impl WaitQueue {
    /// Returns a queue without tasks.
    pub(super) fn new() -> impl PinInit<Self> {
        // INVARIANT: The head is initialised here.
        pin_init!(Self {
            head <- Opaque::ffi_init(|head| {
                let key = kernel::static_lock_class!();
                // SAFETY: `ffi_init` passes the place of a pinned head; name and key are static.
                unsafe {
                    bindings::__init_waitqueue_head(head, c"rtrace".as_char_ptr(), key.as_ptr())
                }
            }),
        })
    }

    /// Wakes all tasks to look again. Not from NMI context.
    pub(super) fn wake_all(&self) {
        let (head, all) = (self.head.get(), 0);
        // SAFETY: The head is initialised (invariant), and no function gets the key.
        unsafe { bindings::__wake_up(head, bindings::TASK_NORMAL, all, ptr::null_mut()) };
    }

    /// Sleeps until `over`, looked at before the first sleep and after each wake-up. Process context.
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal.
    pub(super) fn sleep_until(&self, over: impl Fn() -> bool) -> Result {
        let (head, state) = (self.head.get(), bindings::TASK_INTERRUPTIBLE);
        let entry = Opaque::<bindings::wait_queue_entry>::uninit();
        // SAFETY: The place is that of an entry, and does not move before `finish_wait`.
        unsafe { bindings::init_wait_entry(entry.get(), 0) };
        let result = loop {
            // SAFETY: The head is initialised (invariant), and the entry was above.
            let signal =
                unsafe { bindings::prepare_to_wait_event(head, entry.get(), state as c_int) };
            if over() {
                break Ok(());
            }
            if signal != 0 {
                break to_result(signal as c_int);
            }
            c::schedule();
        };
        // SAFETY: The entry was initialised above, and is in this queue or in none.
        unsafe { bindings::finish_wait(head, entry.get()) };
        result
    }
}
