// SPDX-License-Identifier: GPL-2.0

//! The three functions that the probes in C call. See shim/events.h.

use super::{
    reserve,
    EventFile, //
};
use crate::{
    kapi::{
        c::rt_reserved,
        percpu::CpuPin, //
    },
    ring::{
        reserved::Reserved,
        writer::Refused, //
    }, //
};
use core::ptr::{
    null_mut,
    NonNull, //
};
use kernel::prelude::*;

/// How often the probe of a tracepoint has disabled preemption when it records.
const OWN: u64 = 1;

/// Reserves a record of `size` bytes; its common fields are filled.
///
/// # Safety
///
/// `cookie` is that of an attached probe, preemption is disabled until [`rtrace_commit`] or
/// [`rtrace_discard`], one of which follows unless the entry is null.
#[no_mangle]
unsafe extern "C" fn rtrace_reserve(cookie: *mut c_void, size: usize) -> rt_reserved {
    // SAFETY: By the contract; `disable` waits for probes before the file goes.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder) = unsafe { (file.buffers.as_ref(), file.recorder.as_ref()) };
    let ring = buffers.rings().this(&pin);
    let reserved = reserve(&pin, ring, recorder, file.id, OWN, size);
    let (entry, token) = match reserved {
        Ok(reserved) => {
            let (entry, token) = reserved.into_raw();
            (entry.as_ptr().cast(), token)
        }
        Err(why) => {
            if why == Refused::Broken {
                buffers.refused(&pin);
            }
            (null_mut(), 0)
        }
    };
    rt_reserved { entry, token }
}

/// Makes a record final.
///
/// # Safety
///
/// `cookie` as it was given to [`rtrace_reserve`], which returned an entry; preemption is still
/// disabled.
#[no_mangle]
unsafe extern "C" fn rtrace_commit(cookie: *mut c_void, _token: u64) {
    // SAFETY: As in `rtrace_reserve`.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, waker) = unsafe { (file.buffers.as_ref(), file.waker.as_ref()) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { buffers.rings().this(&pin).writer() };
    // SAFETY: The last reservation on this CPU that is not over is the one of this probe.
    if unsafe { writer.commit_raw() } {
        waker.published();
    }
}

/// Gives a record up.
///
/// # Safety
///
/// As for [`rtrace_commit`]; `entry` and `token` are what [`rtrace_reserve`] returned.
#[no_mangle]
unsafe extern "C" fn rtrace_discard(cookie: *mut c_void, entry: *mut c_void, token: u64) {
    // SAFETY: As in `rtrace_reserve`.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let buffers = unsafe { file.buffers.as_ref() };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { buffers.rings().this(&pin).writer() };
    let Some(entry) = NonNull::new(entry.cast()) else {
        return;
    };
    // SAFETY: By the contract.
    unsafe { Reserved::from_raw(writer, entry, token) }.discard();
}
