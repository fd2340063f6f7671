// SPDX-License-Identifier: GPL-2.0

//! The three functions that the probes in C call. See shim/events.h.

use super::{
    refused,
    reserve,
    stack::{
        self,
        Stacks, //
    },
    tell,
    EventFile, //
};
use crate::{
    instance::Bank,
    kapi::{
        c::rt_reserved,
        percpu::CpuPin, //
    },
    ring::reserved::Reserved, //
};
use core::ptr::{
    null_mut,
    NonNull, //
};
use kernel::prelude::*;

/// How often the probe of a tracepoint has disabled preemption when it records.
pub(super) const OWN: u64 = 1;

/// Reserves a record of `size` bytes; its common fields are filled.
///
/// # Safety
///
/// `cookie` is that of an attached probe, preemption is disabled until [`rtrace_commit`] or
/// [`rtrace_discard`], one of which follows unless the entry is null.
#[no_mangle]
pub(super) unsafe extern "C" fn rtrace_reserve(cookie: *mut c_void, size: usize) -> rt_reserved {
    // SAFETY: By the contract; `disable` waits for probes before the file goes.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    if file.ignores(&pin) {
        return rt_reserved {
            entry: null_mut(),
            token: 0,
        };
    }
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder) = unsafe { (file.buffers.as_ref(), file.recorder.as_ref()) };
    let (bank, ring) = buffers.rings().this(&pin);
    let reserved = reserve(&pin, ring, recorder, file.id, OWN, size);
    let (entry, token) = match reserved {
        Ok(reserved) => {
            let (entry, token) = reserved.into_raw();
            (entry.as_ptr().cast(), bank.mark(token))
        }
        Err(why) => {
            refused(ring, buffers, why);
            if let (true, Some(counts)) = (
                why != crate::ring::writer::Refused::Disabled,
                recorder.counts(),
            ) {
                counts.lost(&pin, file.id);
            }
            (null_mut(), 0)
        }
    };
    rt_reserved { entry, token }
}

/// Makes a record final, or gives it up when the filter does not let it through.
///
/// # Safety
///
/// `cookie` as it was given to [`rtrace_reserve`], `entry` and `token` as that returned them, and
/// `entry` is not null; preemption is still disabled.
#[no_mangle]
pub(super) unsafe extern "C" fn rtrace_commit(cookie: *mut c_void, entry: *mut c_void, token: u64) {
    // SAFETY: As in `rtrace_reserve`.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder, waker) = unsafe {
        (
            file.buffers.as_ref(),
            file.recorder.as_ref(),
            file.waker.as_ref(),
        )
    };
    let (bank, token) = Bank::marked(token);
    let ring = buffers.rings().here(&pin, bank);
    // SAFETY: The ring of the CPU that we are pinned to, in the bank of the reservation.
    let writer = unsafe { ring.writer() };
    let (recorded, published) = match (file.filter(), NonNull::new(entry.cast())) {
        (Some(filter), Some(entry)) => {
            // SAFETY: By the contract.
            let mut reserved = unsafe { Reserved::from_raw(writer, entry, token) };
            if filter.matches(&pin, reserved.payload()) {
                (true, reserved.commit())
            } else {
                (false, reserved.discard())
            }
        }
        // SAFETY: The last reservation in this ring that is not over is the one of this probe.
        _ => (true, unsafe { writer.commit_raw() }),
    };
    tell(ring, buffers, waker, published);
    if let (true, Some(counts)) = (recorded, recorder.counts()) {
        counts.hit(&pin, file.id);
    }
    let stacks = recorder.stacks();
    if recorded && stacks != Stacks::NONE {
        stack::follow(&pin, file, stacks);
    }
}

/// Gives a record up.
///
/// # Safety
///
/// As for [`rtrace_commit`].
#[no_mangle]
unsafe extern "C" fn rtrace_discard(cookie: *mut c_void, entry: *mut c_void, token: u64) {
    // SAFETY: As in `rtrace_reserve`.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, waker) = unsafe { (file.buffers.as_ref(), file.waker.as_ref()) };
    let (bank, token) = Bank::marked(token);
    let ring = buffers.rings().here(&pin, bank);
    // SAFETY: The ring of the CPU that we are pinned to, in the bank of the reservation.
    let writer = unsafe { ring.writer() };
    let Some(entry) = NonNull::new(entry.cast()) else {
        return;
    };
    // SAFETY: By the contract.
    let published = unsafe { Reserved::from_raw(writer, entry, token) }.discard();
    tell(ring, buffers, waker, published);
}
