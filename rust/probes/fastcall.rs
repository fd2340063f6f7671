// SPDX-License-Identifier: GPL-2.0

//! The calling convention of probes: all that makes the fast paths look unlike other Rust.
//!
//! A probe in C calls `rtrace_reserve`, fills the record and jumps to `rtrace_commit`. Both are functions
//! without a frame, for which they keep four rules:
//!
//! - **Two registers.** A reservation is one number of 128 bits ([`CReservation`]), not a structure.
//! - **Tail calls.** What is rare goes on in a function of its own, called last and never inlined. Those
//!   are `extern "C"`, so that their arguments are in registers whatever Rust's own convention is.
//! - **Proofs have no bytes.** A [`PinRef`](crate::kapi::percpu::PinRef) and an [`Exit`](super::exit::Exit)
//!   are handed on by value, in no register. An [`OwnRing`] is the address of a ring. C hands over its promises
//!   in the same way: a function that it calls has parameters without bytes at the end, of which the prototype in C
//!   knows nothing.
//! - **One word decides.** The gate of a ring says at once whether recording is on and what makes the time
//!   (`ring::cpu::GateWord`, `kapi::clock::to_leave`), and a file adds with one `and` whether it records
//!   everything (`EventFile::clock_here`).
//!
//! Where the compiler would see that two such functions are the same jump and make a call of it,
//! `black_box` keeps it from that. tools/guest/native measures with this source, too.

use crate::{
    buffers::rings::OwnRing,
    kapi::c::rt_reserved, //
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
/// as it does the structure. A function that returns one number, unlike one that returns a structure, can
/// end with a jump to another one that returns it.
pub(crate) type CReservation = u128;

const TOKEN_SHIFT: usize = 8 * offset_of!(rt_reserved, token);
const _: () = assert!(offset_of!(rt_reserved, entry) == 0 && TOKEN_SHIFT == 64);
const _: () = assert!(size_of::<rt_reserved>() == size_of::<CReservation>());

/// What C gets when nothing is recorded: a null entry.
pub(crate) const NOTHING: CReservation = 0;

/// Returns what C gets of a reservation.
#[inline(always)]
pub(crate) fn for_c(entry: *mut c_void, token: u64) -> CReservation {
    entry.expose_provenance() as u128 | (u128::from(token) << TOKEN_SHIFT)
}

/// Returns the entry and the token that [`for_c`] put together; `None` for [`NOTHING`].
#[inline(always)]
#[allow(dead_code, reason = "only callers that record in Rust take it apart")]
pub(crate) fn parts(reserved: CReservation) -> Option<(NonNull<c_void>, u64)> {
    let entry = core::ptr::with_exposed_provenance_mut(reserved as usize);
    Some((NonNull::new(entry)?, (reserved >> TOKEN_SHIFT) as u64))
}

/// Returns the token of a reservation in `ring` that has these bits.
#[inline(always)]
pub(crate) fn token(ring: OwnRing<'_>, bits: u64) -> u64 {
    ring.place().token(bits)
}
