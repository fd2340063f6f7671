// SPDX-License-Identifier: GPL-2.0

//! Which events are about single system calls?
//!
//! Their descriptors are made at load, from what the running kernel says of its calls
//! (`shim/events/syscall_table.c`). All entries share one tracepoint and one probe, all exits
//! another: who enables one needs to tell the probe which calls are wanted (`probes::syscalls`).

use super::{
    Atomic,
    Relaxed, //
};
use crate::kapi::c;
use core::ptr;
use kernel::prelude::*;

/// One more than the highest number of a call.
pub(crate) const CALLS: usize = c::RT_SYSCALLS as usize;

/// Bytes recorded of what an argument points to, unless the user says otherwise.
pub(crate) const USER_BYTES: u64 = c::RT_SYSCALL_USER_BYTES as u64;

/// Most bytes of that.
pub(crate) const USER_MOST: u64 = c::RT_SYSCALL_USER_MOST as u64;

/// Where a task meets the kernel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Call {
    /// It begins the call of that number.
    Enter(u16),
    /// It returns from it.
    Exit(u16),
}

impl Call {
    pub(super) fn of(desc: &c::rt_event_desc) -> Option<Self> {
        match u32::from(desc.kind) {
            c::rt_event_kind_RT_EVENT_SYSCALL_ENTER => Some(Self::Enter(desc.nr)),
            c::rt_event_kind_RT_EVENT_SYSCALL_EXIT => Some(Self::Exit(desc.nr)),
            _ => None,
        }
    }
}

/// What [`descs`] made.
static DESCS: Atomic<*mut c::rt_event_desc> = Atomic::new(ptr::null_mut());

/// Describes the events of all calls. Called once, at load; valid until [`free`].
pub(super) fn descs() -> Result<&'static [c::rt_event_desc]> {
    let mut count = 0;
    // SAFETY: The module's init is in process context; nothing reads the tables yet.
    let descs = unsafe { c::rt_syscalls_new(&mut count) };
    if descs.is_null() {
        return Err(ENOMEM);
    }
    DESCS.store(descs, Relaxed);
    // SAFETY: That many were made, and nobody changes them.
    Ok(unsafe { core::slice::from_raw_parts(descs, count as usize) })
}

/// Frees what [`descs`] made, if anything.
///
/// # Safety
///
/// None of the descriptors is used any more.
pub(super) unsafe fn free() {
    let descs = DESCS.load(Relaxed);
    DESCS.store(ptr::null_mut(), Relaxed);
    // SAFETY: Null, or made by `rt_syscalls_new` and freed once.
    unsafe { c::rt_syscalls_free(descs) };
}
