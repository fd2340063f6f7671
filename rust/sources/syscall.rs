// SPDX-License-Identifier: GPL-2.0

//! The events of single system calls; one of the rows of [`super::KINDS`].
//!
//! Their descriptors are made at load, from what the running kernel says of its calls
//! (`shim/events/syscall_table.c`). All entries share one tracepoint and one probe, and so do all
//! exits; a table tells the probe which calls are wanted (`call_table`).

use super::{
    call_table,
    offers::Offers,
    LoadContext, //
    SourceKind,
};
use crate::{
    events::{
        tracepoints,
        Attachment,
        Event,
        Recipient,
        Source, //
    },
    kapi::{
        c,
        late::Unloading, //
    }, //
};
use core::ptr;
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// One more than the highest number of a call.
pub(super) const CALLS: usize = c::RT_SYSCALLS as usize;

/// Bytes recorded of what an argument points to, unless the user says otherwise.
pub(crate) const USER_BYTES: u64 = c::RT_SYSCALL_USER_BYTES as u64;

/// The most bytes that are recorded of it.
pub(crate) const USER_MOST: u64 = c::RT_SYSCALL_USER_MOST as u64;

/// Where a task meets the kernel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CallSide {
    /// It begins the call of that number.
    Enter(u16),
    /// It returns from it.
    Exit(u16),
}

impl CallSide {
    /// Returns the call of a descriptor; `None` for an event that is not of a call.
    fn of(desc: &c::rt_event_desc) -> Option<Self> {
        match u32::from(desc.kind) {
            c::rt_event_kind_RT_EVENT_SYSCALL_ENTER => Some(Self::Enter(desc.nr)),
            c::rt_event_kind_RT_EVENT_SYSCALL_EXIT => Some(Self::Exit(desc.nr)),
            _ => None,
        }
    }

    /// Returns the kind of its events.
    pub(super) fn kind(self) -> c::rt_event_kind {
        match self {
            Self::Enter(_) => c::rt_event_kind_RT_EVENT_SYSCALL_ENTER,
            Self::Exit(_) => c::rt_event_kind_RT_EVENT_SYSCALL_EXIT,
        }
    }
}

/// What [`descs`] has made.
static DESCS: Atomic<*mut c::rt_event_desc> = Atomic::new(ptr::null_mut());

/// The source of the events of all calls.
struct Syscall;

/// Returns the call that `event` is about. Fails with `EINVAL` for an event that is not of a call.
fn call_of(event: &Event) -> Result<CallSide> {
    event.hold().desc().and_then(CallSide::of).ok_or(EINVAL)
}

impl Source for Syscall {
    fn attach(&self, to: Attachment) -> Result {
        call_table::attach(call_of(to.event())?, to)
    }

    fn detach(&self, from: Attachment) {
        if let Ok(call) = call_of(from.event()) {
            call_table::detach(call, from);
        }
    }

    /// The text of a call begins with a name of its own, as in ftrace.
    fn is_named_in_text(&self) -> bool {
        false
    }
}

/// Changes how many bytes are recorded for an instance of what an argument points to.
pub(crate) fn set_user_bytes(recipient: Recipient, bytes: u64) {
    call_table::set_user_bytes(recipient, bytes);
}

/// The kind of source.
pub(super) struct Syscalls;

impl SourceKind for Syscalls {
    fn offer(&self, _: &LoadContext<'_>, offers: &mut Offers) -> Result {
        let calls = descs()?;
        let tracepoints = tracepoints::find_all(calls)?;
        for (desc, &tracepoint) in calls.iter().zip(tracepoints.iter()) {
            if let Some(tracepoint) = tracepoint {
                offers.add_of_source(u32::from(desc.ftrace_id), desc, tracepoint, &Syscall)?;
            }
        }
        Ok(())
    }

    fn forget(&self, recipient: Recipient) {
        call_table::forget(recipient);
    }

    fn exit(&self, _unloading: &Unloading) {
        let descs = DESCS.load(Relaxed);
        DESCS.store(ptr::null_mut(), Relaxed);
        // SAFETY: Null, or made by `rt_syscalls_new` and freed once; no event is used any more that names them
        // (invariant of `Unloading`).
        unsafe { c::rt_syscalls_free(descs) };
    }
}

/// Describes the events of all calls. Called once, at load; valid until `SourceKind::exit`. Fails with
/// `ENOMEM`.
fn descs() -> Result<&'static [c::rt_event_desc]> {
    let mut count = 0;
    // SAFETY: The number goes into our variable, and the module's init is in process context;
    // nothing reads the tables yet.
    let descs = unsafe { c::rt_syscalls_new(&mut count) };
    if descs.is_null() {
        return Err(ENOMEM);
    }
    DESCS.store(descs, Relaxed);
    // SAFETY: As many were made, no code changes them, and they stay until `SourceKind::exit`, when no
    // event is left.
    Ok(unsafe { core::slice::from_raw_parts(descs, count as usize) })
}
