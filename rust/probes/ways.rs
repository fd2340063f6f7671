// SPDX-License-Identifier: GPL-2.0

//! How a record is reserved, by what makes the time: a function of its own for each kind of clock, so that
//! none keeps a frame for what another one does.
//!
//! What was left in the gate of the ring says which ([`clock::to_leave`]). A clock that has a place there
//! is read where somebody looks at the gate; the functions here are for the others. tools/guest/native
//! measures with this source, too.

#![allow(improper_ctypes_definitions, reason = "see `ForC`")]

use super::{
    ForC,
    NOTHING, //
};
use crate::{
    kapi::{
        clock::{
            self,
            ClockId, //
        },
        percpu::CpuPin,
        port::{
            Kernel,
            Ring, //
        }, //
    },
    ring::{
        cpu::GateWord,
        packed::PackedSize,
        reservation::Reservation,
        writer::{
            FastReserve,
            ReserveError, //
        }, //
    },
};
use core::hint::black_box;

/// For whom records are reserved.
pub(crate) trait Caller {
    /// The clock of its rings.
    fn clock(&self) -> ClockId;

    /// What C gets of a reservation in `ring`.
    fn given(&self, ring: &Ring, reserved: Reservation<'_, Kernel>) -> ForC;

    /// `ring`, that of this CPU, has refused a record.
    fn refused(&self, pin: &CpuPin, ring: &Ring, why: ReserveError);
}

/// Reserves in `ring`, where recording is on, at the time that `time` gives.
///
/// # Safety
///
/// It is the ring of this CPU; preemption is disabled until what was reserved is final or given up.
#[inline(always)]
pub(crate) unsafe fn reserve_in<C: Caller>(
    caller: &C,
    size: PackedSize,
    ring: &Ring,
    time: impl FnOnce() -> Option<u64>,
) -> ForC {
    // SAFETY: By the contract.
    let writer = unsafe { ring.writer() };
    match writer.reserve_fast(size.payload(), size, time) {
        Some(reserved) => caller.given(ring, reserved),
        // SAFETY: By the contract.
        None => unsafe { reserve_inside(caller, size, ring) },
    }
}

/// Reserves in `ring`, whose `gate` has no place of a clock.
///
/// # Safety
///
/// As for [`reserve_in`]. `gate` is that of the ring.
#[inline(always)]
pub(crate) unsafe fn reserve_by_other<C: Caller>(
    caller: &C,
    size: PackedSize,
    ring: &Ring,
    gate: GateWord,
) -> ForC {
    // SAFETY: By the contract; a gate that is what was left is that of a ring that records.
    unsafe {
        match gate.word() {
            clock::LEFT_CALLED => reserve_by_sched_clock(caller, size, ring),
            clock::LEFT_TSC => reserve_by_tsc(caller, size, ring),
            _ if gate.is_disabled() => reserve_off(caller, ring, gate),
            _ => reserve_by_clock(caller, size, ring),
        }
    }
}

/// As [`reserve_in`], with the clock `x86-tsc`.
///
/// # Safety
///
/// As there.
#[inline(never)]
unsafe extern "C" fn reserve_by_tsc<C: Caller>(caller: &C, size: PackedSize, ring: &Ring) -> ForC {
    // SAFETY: By the contract.
    unsafe { reserve_in(caller, size, ring, || Some(clock::tsc())) }
}

/// As [`reserve_in`], with the clock `local` where it is a function.
///
/// # Safety
///
/// As there.
#[inline(never)]
unsafe extern "C" fn reserve_by_sched_clock<C: Caller>(
    caller: &C,
    size: PackedSize,
    ring: &Ring,
) -> ForC {
    // SAFETY: By the contract.
    unsafe { reserve_in(caller, size, ring, || Some(clock::sched_clock())) }
}

/// As [`reserve_in`], with any other clock of the caller's.
///
/// # Safety
///
/// As there.
#[inline(never)]
unsafe extern "C" fn reserve_by_clock<C: Caller>(
    caller: &C,
    size: PackedSize,
    ring: &Ring,
) -> ForC {
    let clock = caller.clock();
    // SAFETY: By the contract.
    unsafe { reserve_in(caller, size, ring, || Some(clock::by_call(clock))) }
}

/// What C gets when recording is off.
///
/// # Safety
///
/// As for [`reserve_by_other`].
#[inline(always)]
unsafe fn reserve_off<C: Caller>(caller: &C, ring: &Ring, gate: GateWord) -> ForC {
    if gate.is_broken() {
        // SAFETY: By the contract.
        return unsafe { reserve_broken(caller, ring) };
    }
    NOTHING
}

/// What C gets of a broken ring.
///
/// # Safety
///
/// As for [`reserve_in`].
#[cold]
#[inline(never)]
unsafe extern "C" fn reserve_broken<C: Caller>(caller: &C, ring: &Ring) -> ForC {
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    caller.refused(&pin, ring, ring.refusal());
    // Or the compiler would know what this returns and make a call of the jump.
    black_box(NOTHING)
}

/// Reserves what the fast path declined once it had entered.
///
/// # Safety
///
/// As for [`reserve_in`].
#[cold]
#[inline(never)]
unsafe extern "C" fn reserve_inside<C: Caller>(caller: &C, size: PackedSize, ring: &Ring) -> ForC {
    // SAFETY: By the contract.
    let (pin, writer) = unsafe { (CpuPin::assume(), ring.writer()) };
    let time = || clock::read(caller.clock());
    match writer.reserve_slow(size.payload(), FastReserve::Entered, time) {
        Ok(reserved) => caller.given(ring, reserved),
        Err(why) => {
            caller.refused(&pin, ring, why);
            NOTHING
        }
    }
}
