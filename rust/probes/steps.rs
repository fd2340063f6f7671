// SPDX-License-Identifier: GPL-2.0

//! What the functions that C calls have in common: what they return, and the two ends of a reservation
//! that are rare.
//!
//! tools/guest/native measures with this source, too; whom a writer tells is the parent module's
//! business.

use super::{
    tell,
    Waker, //
};
use crate::{
    instance::{
        Buffers,
        Place, //
    },
    kapi::{
        c::rt_reserved,
        percpu::CpuPin, //
    },
    ring::{
        reserved::Reserved,
        writer::Left, //
    }, //
};
use core::ptr::{
    null_mut,
    NonNull, //
};
use kernel::prelude::*;

/// What C gets when nothing is to be recorded.
pub(super) const NOTHING: rt_reserved = rt_reserved {
    entry: null_mut(),
    token: 0,
};

/// What C gets of a reservation.
#[inline(always)]
pub(super) fn for_c(entry: NonNull<u8>, place: Place, bits: u64) -> rt_reserved {
    rt_reserved {
        entry: entry.as_ptr().cast(),
        token: place.token(bits),
    }
}

/// Goes the long way out of the ring at `place`.
///
/// # Safety
///
/// `place` is that of the reservation, and `left` what the short way out of that ring said.
#[inline(always)]
pub(super) unsafe fn leave(
    pin: &CpuPin,
    buffers: &Buffers,
    waker: &Waker,
    place: Place,
    left: Left,
) {
    // SAFETY: By the contract.
    let ring = unsafe { buffers.rings().here(pin, place) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    // SAFETY: By the contract.
    tell(ring, buffers, waker, unsafe { writer.commit_long(left) });
}

/// Gives a reservation up.
///
/// # Safety
///
/// `entry` and `token` are those of the last reservation in this ring that is not over.
#[inline(always)]
pub(super) unsafe fn give_up(
    pin: &CpuPin,
    buffers: &Buffers,
    waker: &Waker,
    entry: *mut c_void,
    token: u64,
) {
    let (place, bits) = Place::of_token(token);
    // SAFETY: By the contract.
    let ring = unsafe { buffers.rings().here(pin, place) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let Some(entry) = NonNull::new(entry.cast()) else {
        return;
    };
    // SAFETY: By the contract.
    let published = unsafe { Reserved::from_raw(writer, entry, bits) }.discard();
    tell(ring, buffers, waker, published);
}
