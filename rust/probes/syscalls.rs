// SPDX-License-Identifier: GPL-2.0

//! Which event of an instance does a system call belong to?
//!
//! All entries of calls share one tracepoint, and so do all exits. An instance has one probe on
//! each, whatever the number of events that it enabled; the cookie is a table from the number of a
//! call to the cookie of its event. The probes in C ask it (`rtrace_syscall`).
//!
//! Tables are changed under the lock of the instance's events and read without one. An event's
//! entry is cleared before its file is freed, with a grace period of the probes in between
//! (`Instance::disable`); the tables go with the instance, after its probes.

use super::EventFile;
use crate::{
    events::{
        Call,
        CALLS, //
    },
    kapi::c::rt_syscall_want, //
};
use core::ptr::null_mut;
use kernel::{
    ffi::c_int,
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Relaxed,
        Release, //
    }, //
};

/// The enabled events of one of the two tracepoints: the cookie of its probe.
struct Table {
    /// By number of the call: the cookie of an `EventFile`, or null.
    files: KVVec<Atomic<*mut c_void>>,
    /// How many are not null. The lock of the instance's events protects it.
    used: Atomic<usize>,
    user_bytes: Atomic<u64>,
}

impl Table {
    fn new(user_bytes: u64) -> Result<Self> {
        let mut files = KVVec::with_capacity(CALLS, GFP_KERNEL)?;
        for _ in 0..CALLS {
            files.push(Atomic::new(null_mut()), GFP_KERNEL)?;
        }
        Ok(Self {
            files,
            used: Atomic::new(0),
            user_bytes: Atomic::new(user_bytes),
        })
    }

    fn cookie(&self) -> *mut c_void {
        (&raw const *self).cast_mut().cast()
    }
}

/// The enabled events of system calls of an instance.
pub(crate) struct Calls {
    enter: Table,
    exit: Table,
}

impl Calls {
    /// With none enabled.
    pub(crate) fn new(user_bytes: u64) -> Result<KBox<Self>> {
        let calls = Self {
            enter: Table::new(user_bytes)?,
            exit: Table::new(user_bytes)?,
        };
        Ok(KBox::new(calls, GFP_KERNEL)?)
    }

    /// How many bytes are recorded of what an argument points to.
    pub(crate) fn set_user_bytes(&self, bytes: u64) {
        self.enter.user_bytes.store(bytes, Relaxed);
    }

    fn place(&self, call: Call) -> Option<(&Table, &Atomic<*mut c_void>)> {
        let (table, nr) = match call {
            Call::Enter(nr) => (&self.enter, nr),
            Call::Exit(nr) => (&self.exit, nr),
        };
        Some((table, table.files.get(usize::from(nr))?))
    }

    /// Starts recording `call` as the event of `file`.
    ///
    /// # Safety
    ///
    /// - Until [`Calls::detach`] and, after that, `events::synchronize` have returned, `file` and
    ///   `self` stay where they are.
    /// - The lock of the instance's events is held; `file` is not attached.
    pub(crate) unsafe fn attach(&self, call: Call, file: &EventFile) -> Result {
        let (table, slot) = self.place(call).ok_or(EINVAL)?;
        // Release: pairs with `rtrace_syscall`. Without it a probe could see the file before its
        // contents.
        slot.store(file.cookie(), Release);
        let used = table.used.load(Relaxed);
        if used == 0 {
            // SAFETY: The probe of a system call expects a table, which stays by the contract.
            let attached = unsafe { file.event().attach(table.cookie()) };
            if attached.is_err() {
                // No probe has seen it.
                slot.store(null_mut(), Relaxed);
                return attached;
            }
        }
        table.used.store(used.wrapping_add(1), Relaxed);
        Ok(())
    }

    /// Stops recording it. The probe may still use `file` until `events::synchronize` returns.
    ///
    /// # Safety
    ///
    /// Attached by [`Calls::attach`] and not detached since; the same lock is held.
    pub(crate) unsafe fn detach(&self, call: Call, file: &EventFile) {
        let Some((table, slot)) = self.place(call) else {
            return;
        };
        slot.store(null_mut(), Relaxed);
        let used = table.used.load(Relaxed).wrapping_sub(1);
        table.used.store(used, Relaxed);
        if used == 0 {
            // SAFETY: Attached when the first event was; all events of a table have one probe and
            // one tracepoint.
            unsafe { file.event().detach(table.cookie()) };
        }
    }
}

/// What is call `nr` to be recorded as? See `shim/events.h`.
///
/// # Safety
///
/// `cookie` is that of an attached probe of system calls.
#[no_mangle]
unsafe extern "C" fn rtrace_syscall(cookie: *mut c_void, nr: c_int) -> rt_syscall_want {
    // SAFETY: By the contract.
    let table = unsafe { &*cookie.cast::<Table>() };
    let file = usize::try_from(nr)
        .ok()
        .and_then(|nr| table.files.get(nr))
        // Acquire: pairs with `Calls::attach`.
        .map_or(null_mut(), |slot| slot.load(Acquire));
    rt_syscall_want {
        file,
        user_bytes: table.user_bytes.load(Relaxed),
    }
}
