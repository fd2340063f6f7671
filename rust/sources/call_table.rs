// SPDX-License-Identifier: GPL-2.0

//! The event of an instance that a system call belongs to.
//!
//! All entries of calls share one tracepoint, and so do all exits. An instance has one probe on
//! each, whatever the number of events that it enabled; the cookie is a table from the number of a
//! call to the cookie of its event. `syscall` fills it, and the probes in C ask it
//! (`rtrace_syscall`).
//!
//! Tables are changed under one lock and read without it. An event's entry is cleared before its
//! file is freed, with a grace period of the probes in between (`Instance::disable`); the tables go
//! when the instance is forgotten, after its probes.

use super::syscall::{
    CallSide,
    CALLS, //
};
use crate::{
    events::{
        self,
        Attachment,
        Recipient, //
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

crate::kapi::global::global_mutex! {
    static TABLES: Mutex<KVec<InstanceTables>> = KVec::new();
}

/// The tables of an instance.
struct InstanceTables {
    recipient: Recipient,
    calls: KBox<Calls>,
}

/// The enabled events of one of the two tracepoints: the cookie of its probe.
struct CallTable {
    /// By number of the call: the cookie of an `EventFile`, or null.
    files: KVVec<Atomic<*mut c_void>>,
    /// The number of those that are not null. Changed under the lock of all tables.
    used: Atomic<usize>,
    /// Bytes that are recorded of what an argument points to.
    user_bytes: Atomic<u64>,
}

impl CallTable {
    /// Returns an empty one. Fails with `ENOMEM`.
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

    /// Returns the cookie of the probe.
    fn cookie(&self) -> *mut c_void {
        (&raw const *self).cast_mut().cast()
    }
}

/// The enabled events of system calls of an instance.
struct Calls {
    enter: CallTable,
    exit: CallTable,
}

impl Calls {
    /// Returns empty ones. Fails with `ENOMEM`.
    fn new(user_bytes: u64) -> Result<KBox<Self>> {
        let calls = Self {
            enter: CallTable::new(user_bytes)?,
            exit: CallTable::new(user_bytes)?,
        };
        Ok(KBox::new(calls, GFP_KERNEL)?)
    }

    /// Returns the table of `call`, and its place there.
    fn place(&self, call: CallSide) -> Option<(&CallTable, &Atomic<*mut c_void>)> {
        let (table, nr) = match call {
            CallSide::Enter(nr) => (&self.enter, nr),
            CallSide::Exit(nr) => (&self.exit, nr),
        };
        Some((table, table.files.get(usize::from(nr))?))
    }
}

/// Returns the tables of `to`, which are made when there are none. Fails with `ENOMEM`.
fn tables_of<'a>(tables: &'a mut KVec<InstanceTables>, to: &Attachment) -> Result<&'a Calls> {
    let same = |entry: &InstanceTables| entry.recipient == to.recipient();
    if !tables.iter().any(same) {
        let (recipient, calls) = (to.recipient(), Calls::new(to.user_bytes())?);
        tables.push(InstanceTables { recipient, calls }, GFP_KERNEL)?;
    }
    let found = tables.iter().find(|entry| same(entry)).ok_or(EINVAL)?;
    Ok(&found.calls)
}

/// Starts recording `call` as the event of `to`.
///
/// # Errors
///
/// Those of [`events::attach`], `EEXIST` for a call that is recorded, and `EINVAL` for one that
/// there is not.
pub(super) fn attach(call: CallSide, to: Attachment) -> Result {
    let mut tables = TABLES.lock();
    let (table, slot) = tables_of(&mut tables, &to)?.place(call).ok_or(EINVAL)?;
    if !slot.load(Relaxed).is_null() {
        return Err(EEXIST);
    }
    // Release: pairs with `rtrace_syscall`. Without it a probe could see the file before its
    // contents.
    slot.store(to.cookie(), Release);
    let used = table.used.load(Relaxed);
    if used == 0 {
        // SAFETY: The probe of a system call expects a table, and this one stays in its box until
        // `forget`, before which all events of the recipient were detached and waited for.
        let attached = unsafe { events::attach(to.event(), call.kind(), table.cookie()) };
        if attached.is_err() {
            // No probe has seen it.
            slot.store(null_mut(), Relaxed);
            return attached;
        }
    }
    table.used.store(used.wrapping_add(1), Relaxed);
    Ok(())
}

/// Stops recording `call`. The probe may still use the cookie until [`events::synchronize`]
/// returns.
pub(super) fn detach(call: CallSide, from: Attachment) {
    let tables = TABLES.lock();
    let same = |entry: &&InstanceTables| entry.recipient == from.recipient();
    let Some((table, slot)) = tables
        .iter()
        .find(same)
        .and_then(|entry| entry.calls.place(call))
    else {
        return;
    };
    if slot.load(Relaxed).is_null() {
        return;
    }
    slot.store(null_mut(), Relaxed);
    let used = table.used.load(Relaxed).wrapping_sub(1);
    table.used.store(used, Relaxed);
    if used == 0 {
        // All events of a table have one probe and one tracepoint.
        events::detach(from.event(), table.cookie());
    }
}

/// Changes how many bytes are recorded of what an argument points to.
pub(super) fn set_user_bytes(recipient: Recipient, bytes: u64) {
    let tables = TABLES.lock();
    for entry in tables.iter().filter(|entry| entry.recipient == recipient) {
        entry.calls.enter.user_bytes.store(bytes, Relaxed);
        entry.calls.exit.user_bytes.store(bytes, Relaxed);
    }
}

/// Frees the tables of an instance. None of its probes runs any more.
pub(super) fn forget(recipient: Recipient) {
    let mut tables = TABLES.lock();
    tables.retain(|entry| entry.recipient != recipient);
    if tables.is_empty() {
        // Nothing drops a static when the module is unloaded: its memory goes with the last instance.
        *tables = KVec::new();
    }
}

/// Returns what call `nr` is recorded as; see `shim/events.h`. Any context.
///
/// # Safety
///
/// `table` is the cookie of an attached probe of system calls, or of one that was detached and that
/// [`events::synchronize`] still waits for: it goes after its probes (`forget`).
#[no_mangle]
unsafe extern "C" fn rtrace_syscall(table: &CallTable, nr: c_int) -> rt_syscall_want {
    let file = usize::try_from(nr)
        .ok()
        .and_then(|nr| table.files.get(nr))
        // Acquire: pairs with `attach`.
        .map_or(null_mut(), |slot| slot.load(Acquire));
    rt_syscall_want {
        file,
        user_bytes: table.user_bytes.load(Relaxed),
    }
}
