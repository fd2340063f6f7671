// SPDX-License-Identifier: GPL-2.0

//! Reservation, specialised per clock. Each kind of clock has a function of its own, so that none pays for
//! another's stack frame.
//!
//! The word in the gate of a ring says which one it is ([`clock::to_leave`]). A clock that has a place
//! there is read by the caller that looks at the gate; the functions here are for the others.
//! tools/guest/native measures with this source, too.

use super::fastcall::{
    CReservation,
    NOTHING, //
};
use crate::{
    buffers::rings::OwnRing,
    kapi::{
        clock::{
            self,
            ClockId, //
        },
        port::Kernel, //
    },
    ring::{
        cpu::GateWord,
        packed::PackedSize,
        reservation::Reservation,
        wire::EventSize,
        writer::{
            FastCommit,
            FastReserve,
            ReserveError, //
        }, //
    },
};
use core::{
    hint::black_box,
    marker::PhantomData, //
};

/// For whom records are reserved.
pub(crate) trait Caller {
    /// A size that its records have.
    type Size: Copy + Into<PackedSize>;

    /// Returns the clock of its rings.
    fn clock(&self) -> ClockId;

    /// Returns what C gets of a reservation in `ring`.
    fn given(&self, ring: OwnRing<'_>, reserved: ReservedRecord<'_, Self::Size>) -> CReservation;

    /// Notes that `ring` has refused a record.
    fn refused(&self, ring: OwnRing<'_>, why: ReserveError);

    /// Returns whether [`Self::refused`] is to be told of a full ring even when nothing was published
    /// meanwhile.
    fn follows_refusals(&self) -> bool;

    /// Returns what C gets of a record that is not in `ring`.
    #[inline(always)]
    fn instead(&self, _size: Self::Size, _ring: OwnRing<'_>) -> CReservation {
        NOTHING
    }
}

/// A reservation for a record of a caller.
///
/// # Invariants
///
/// Its size was an `S`.
pub(crate) struct ReservedRecord<'a, S> {
    reserved: Reservation<'a, Kernel>,
    size: PhantomData<S>,
}

impl<'a, S: Into<PackedSize>> ReservedRecord<'a, S> {
    /// Returns `reserved` as one that had the size `_size`.
    #[inline(always)]
    fn new(reserved: Reservation<'a, Kernel>, _size: S) -> Self {
        // INVARIANT: The callers, all of them in this file, have reserved as many bytes.
        Self {
            reserved,
            size: PhantomData,
        }
    }

    /// Returns the reservation.
    #[inline(always)]
    pub(crate) fn into_inner(self) -> Reservation<'a, Kernel> {
        self.reserved
    }
}

/// Reserves in `ring`, where recording is on, at the time that `time` gives.
#[inline(always)]
pub(crate) fn reserve_in<C: Caller>(
    caller: &C,
    size: C::Size,
    ring: OwnRing<'_>,
    time: impl FnOnce() -> Option<u64>,
) -> CReservation {
    let packed = size.into();
    match ring.writer().reserve_fast(packed.payload(), packed, time) {
        Ok(reserved) => caller.given(ring, ReservedRecord::new(reserved, size)),
        Err(FastReserve::NoRoom(time)) => reserve_without_room(caller, size, time, ring),
        Err(_) => reserve_inside(caller, size, ring),
    }
}

/// Reserves what the fast path found no room for at `time`, once it had entered: most often because the
/// record is longer than the usual ones, or because the ring is full. The time comes where it is anyway.
#[inline(never)]
extern "C" fn reserve_without_room<C: Caller>(
    caller: &C,
    size: C::Size,
    time: u64,
    ring: OwnRing<'_>,
) -> CReservation {
    let packed = size.into();
    match packed.unusual_payload() {
        None => reserve_in_full(caller, size, ring),
        Some(len) if EventSize::is_long(len) => match ring.writer().reserve_long(len, time) {
            Some(reserved) => caller.given(ring, ReservedRecord::new(reserved, size)),
            None => reserve_inside(caller, size, ring),
        },
        Some(_) => reserve_short(caller, size, time, ring),
    }
}

/// As [`reserve_without_room`], for a record that is shorter than the usual ones.
#[inline(never)]
extern "C" fn reserve_short<C: Caller>(
    caller: &C,
    size: C::Size,
    time: u64,
    ring: OwnRing<'_>,
) -> CReservation {
    match ring.writer().reserve_short(size.into().payload(), time) {
        Some(reserved) => caller.given(ring, ReservedRecord::new(reserved, size)),
        None => reserve_inside(caller, size, ring),
    }
}

/// As [`reserve_without_room`], for a record of a usual size.
#[inline(always)]
fn reserve_in_full<C: Caller>(caller: &C, size: C::Size, ring: OwnRing<'_>) -> CReservation {
    match ring.writer().refuse_full() {
        None => reserve_inside(caller, size, ring),
        Some(Ok(())) if caller.follows_refusals() => reserve_refused(caller, size, ring),
        Some(Ok(())) => caller.instead(size, ring),
        Some(Err(_)) => reserve_raced(caller, size, ring),
    }
}

/// Notes that a full ring has refused a record, and returns what C gets.
#[cold]
#[inline(never)]
extern "C" fn reserve_refused<C: Caller>(
    caller: &C,
    size: C::Size,
    ring: OwnRing<'_>,
) -> CReservation {
    caller.refused(ring, ReserveError::Full);
    // Or the compiler would know what this returns and make a call of the jump.
    black_box(caller.instead(size, ring))
}

/// The same, once the writer has left too early: others came meanwhile.
#[cold]
#[inline(never)]
extern "C" fn reserve_raced<C: Caller>(
    caller: &C,
    size: C::Size,
    ring: OwnRing<'_>,
) -> CReservation {
    // SAFETY: `refuse_full` has just failed with this for this writer, for it fails with nothing else.
    unsafe { ring.writer().commit_slow(FastCommit::Raced) };
    reserve_refused(caller, size, ring)
}

/// Reserves in `ring`, whose `gate` has no place of a clock.
#[inline(always)]
pub(crate) fn reserve_by_other<C: Caller>(
    caller: &C,
    size: C::Size,
    ring: OwnRing<'_>,
    gate: GateWord,
) -> CReservation {
    match gate.word() {
        clock::LEFT_CALLED => reserve_by_left::<C, { clock::LEFT_CALLED }>(caller, size, ring),
        clock::LEFT_TSC => reserve_by_left::<C, { clock::LEFT_TSC }>(caller, size, ring),
        _ if gate.is_disabled() => match gate.is_broken() {
            true => reserve_broken(caller, size, ring),
            false => caller.instead(size, ring),
        },
        clock::LEFT_MONO => reserve_by_left::<C, { clock::LEFT_MONO }>(caller, size, ring),
        _ => reserve_by_clock(caller, size, ring),
    }
}

/// As [`reserve_in`], with the clock that leaves `LEFT` in gates.
#[inline(never)]
extern "C" fn reserve_by_left<C: Caller, const LEFT: u64>(
    caller: &C,
    size: C::Size,
    ring: OwnRing<'_>,
) -> CReservation {
    reserve_in(caller, size, ring, || Some(clock::read_left::<LEFT>()))
}

/// As [`reserve_in`], with any other clock of the caller's.
#[inline(never)]
extern "C" fn reserve_by_clock<C: Caller>(
    caller: &C,
    size: C::Size,
    ring: OwnRing<'_>,
) -> CReservation {
    let clock = caller.clock();
    reserve_in(caller, size, ring, || Some(clock::by_call(clock)))
}

/// Notes what a broken ring refuses, and returns what C gets.
#[cold]
#[inline(never)]
extern "C" fn reserve_broken<C: Caller>(
    caller: &C,
    size: C::Size,
    ring: OwnRing<'_>,
) -> CReservation {
    caller.refused(ring, ring.refusal());
    // Or the compiler would know what this returns and make a call of the jump.
    black_box(caller.instead(size, ring))
}

/// Reserves what the fast path declined once it had entered.
#[cold]
#[inline(never)]
extern "C" fn reserve_inside<C: Caller>(
    caller: &C,
    size: C::Size,
    ring: OwnRing<'_>,
) -> CReservation {
    let time = || clock::read(caller.clock());
    let len = size.into().payload();
    match ring.writer().reserve_slow(len, FastReserve::Entered, time) {
        Ok(reserved) => caller.given(ring, ReservedRecord::new(reserved, size)),
        Err(why) => {
            caller.refused(ring, why);
            caller.instead(size, ring)
        }
    }
}
