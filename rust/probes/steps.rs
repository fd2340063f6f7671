// SPDX-License-Identifier: GPL-2.0

//! What the functions that C calls have in common: what they return, and the two ends of a reservation
//! that are rare.
//!
//! tools/guest/native measures with this source, too; whom a writer tells is the parent module's
//! business.

use super::Sink;
use crate::{
    buffers::{
        rings,
        Place, //
    },
    kapi::{
        c::rt_reserved,
        port::Ring, //
    },
    ring::{
        reservation::Reservation,
        writer::FastCommit, //
    }, //
};
use core::{
    mem::{
        offset_of,
        size_of, //
    },
    ptr::NonNull, //
};
use kernel::prelude::*;

/// A `struct rt_reserved` of C: the entry, and the token in the upper half. C gets both in two registers,
/// as it does the structure. Of one number, unlike of a structure, the compiler can return what another
/// function returns by a jump there, and has no frame to make.
pub(crate) type ForC = u128;

const TOKEN_SHIFT: usize = 8 * offset_of!(rt_reserved, token);
const _: () = assert!(offset_of!(rt_reserved, entry) == 0 && TOKEN_SHIFT == 64);
const _: () = assert!(size_of::<rt_reserved>() == size_of::<ForC>());

/// What C gets when nothing is to be recorded.
pub(crate) const NOTHING: ForC = 0;

/// What C gets of a reservation.
#[inline(always)]
pub(crate) fn for_c(entry: *mut c_void, token: u64) -> ForC {
    entry.expose_provenance() as u128 | (u128::from(token) << TOKEN_SHIFT)
}

/// The entry and the token of what [`for_c`] made, if there is something.
#[inline(always)]
#[allow(dead_code, reason = "only who records in Rust takes it apart")]
pub(crate) fn parts(reserved: ForC) -> Option<(NonNull<c_void>, u64)> {
    let entry = core::ptr::with_exposed_provenance_mut(reserved as usize);
    Some((NonNull::new(entry)?, (reserved >> TOKEN_SHIFT) as u64))
}

/// The token of a reservation in `ring`.
#[inline(always)]
pub(crate) fn token(ring: &Ring, bits: u64) -> u64 {
    rings::place(ring).token(bits)
}

/// takes the slow path out of `ring`.
///
/// # Safety
///
/// It is that of a reservation on this CPU, and `left` what the fast path out of it said.
#[inline(always)]
pub(crate) unsafe fn leave(sink: &Sink, ring: &Ring, left: FastCommit) {
    // SAFETY: By the contract.
    let writer = unsafe { ring.writer() };
    // SAFETY: By the contract.
    sink.left(ring, unsafe { writer.commit_slow(left) });
}

/// Gives a reservation up.
///
/// # Safety
///
/// `entry` and `token` are those of the last reservation in this ring that is not over.
#[inline(always)]
pub(crate) unsafe fn give_up(sink: &Sink, entry: *mut c_void, token: u64) {
    let (place, bits) = Place::of_token(token);
    // SAFETY: By the contract.
    let ring = unsafe { sink.buffers().rings().at(place) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let Some(entry) = NonNull::new(entry.cast()) else {
        return;
    };
    // SAFETY: By the contract.
    let published = unsafe { Reservation::from_raw(writer, entry, bits) }.discard();
    sink.left(ring, published);
}
