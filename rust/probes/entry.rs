// SPDX-License-Identifier: GPL-2.0

//! The three functions that the probes in C call. See shim/events.h.

#![allow(improper_ctypes_definitions, reason = "see `ForC`")]

use super::{
    chosen::{
        commit_marked,
        reserve_chosen, //
    },
    give_up,
    given::given,
    leave,
    refused,
    stack::{
        self,
        Stacks, //
    },
    tell,
    EventFile,
    ForC,
    Recorder,
    NOTHING, //
};
use crate::{
    instance::Place,
    kapi::{
        clock,
        percpu::{
            self,
            CpuPin, //
        },
        port::{
            Kernel,
            Ring, //
        },
        scratch, //
    },
    ring::{
        cpu::Gate,
        packed::Packed,
        reserved::Reserved,
        writer::{
            Declined,
            Left,
            Refused, //
        }, //
    },
    text::clock::ClockId, //
};
use core::{
    hint::black_box,
    ptr::NonNull, //
};
use kernel::prelude::*;

/// How often the probe of a tracepoint has disabled preemption when it records.
pub(super) const OWN: u32 = 1;

/// The token of a record in the ring that the filter is to be asked about has this bit, of those that a
/// reservation does not need itself.
pub(super) const TOKEN_ASK: u64 = 4;
/// The token of a record that is filled beside the ring; it has no place.
pub(super) const TOKEN_SCRATCH: u64 = TOKEN_ASK;

/// Reserves a record of `size` bytes, the common fields of which are not the caller's.
///
/// This is the way of most events. What is rare goes on in another function, at the end of this one,
/// so that nothing has to be kept for it.
///
/// # Safety
///
/// `cookie` is that of an attached probe, `size` what [`Packed::new`] makes of
/// [`COMMON`](super::COMMON) bytes or more, preemption is disabled until [`rtrace_commit`] or
/// [`rtrace_discard`], one of which follows unless the entry is null.
#[no_mangle]
pub(super) unsafe extern "C" fn rtrace_reserve(cookie: *mut c_void, size: u64) -> ForC {
    // SAFETY: By the contract; `disable` waits for probes before the file goes.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    // SAFETY: By the contract.
    let size = unsafe { Packed::from_word(size) };
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    let ring = file.ring(&pin);
    let gate = ring.gate();
    let Some(clock) = file.clock_here(gate) else {
        // SAFETY: By the contract.
        return unsafe { reserve_closed(file, size, gate) };
    };
    reserve_in(file, size, || clock.now(), ring)
}

/// As [`rtrace_reserve`], where recording is off, or somebody has to look closer.
///
/// # Safety
///
/// As there.
#[inline(never)]
unsafe extern "C" fn reserve_closed(file: &EventFile, size: Packed, gate: Gate) -> ForC {
    if gate.is_disabled() {
        if gate.is_broken() {
            // SAFETY: By the contract.
            return unsafe { reserve_refused(file, size) };
        }
        return NOTHING;
    }
    // SAFETY: By the contract.
    unsafe { reserve_chosen(file, size) }
}

/// As [`rtrace_reserve`], in a broken ring: what it refuses is counted, of what is wanted.
///
/// # Safety
///
/// As there.
#[cold]
#[inline(never)]
unsafe extern "C" fn reserve_refused(file: &EventFile, size: Packed) -> ForC {
    // SAFETY: By the contract. Or the compiler would see that this is a jump and make it elsewhere.
    black_box(unsafe { reserve_chosen(file, size) })
}

/// Reserves a record of an event that is wanted, with this clock, which makes no call.
///
/// # Safety
///
/// As for [`rtrace_reserve`].
#[inline(always)]
unsafe fn reserve_by(file: &EventFile, size: Packed, clock: impl FnOnce() -> Option<u64>) -> ForC {
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    let ring = file.ring(&pin);
    if ring.is_disabled() {
        return reserve_off(file, ring);
    }
    reserve_in(file, size, clock, ring)
}

/// As [`reserve_by`], in the ring of this CPU, which records.
#[inline(always)]
pub(super) fn reserve_in(
    file: &EventFile,
    size: Packed,
    clock: impl FnOnce() -> Option<u64>,
    ring: &Ring,
) -> ForC {
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    match writer.place_short(size.payload(), size, clock) {
        Some(reserved) => given(file, ring, reserved),
        None => reserve_inside(file, size, ring),
    }
}

/// As [`reserve_by`], with a clock that is not made here. There is a function for either kind, so that the
/// counter of the CPU is read without a frame for a call.
///
/// # Safety
///
/// As for [`rtrace_reserve`].
#[inline(always)]
pub(super) unsafe fn reserve_by_other(file: &EventFile, size: Packed) -> ForC {
    // SAFETY: By the invariant of `EventFile`.
    match unsafe { file.recorder.as_ref() }.clock() {
        // SAFETY: By the contract.
        ClockId::X86Tsc => unsafe { reserve_by_tsc(file, size) },
        // SAFETY: By the contract.
        _ => unsafe { reserve_by_call(file, size) },
    }
}

/// As [`reserve_by`], with the clock `x86-tsc`.
///
/// # Safety
///
/// As for [`rtrace_reserve`].
#[inline(never)]
unsafe extern "C" fn reserve_by_tsc(file: &EventFile, size: Packed) -> ForC {
    // SAFETY: By the contract.
    unsafe { reserve_by(file, size, || Some(clock::tsc())) }
}

/// As [`reserve_by`], with a clock that is a function.
///
/// # Safety
///
/// As for [`rtrace_reserve`].
#[inline(never)]
unsafe extern "C" fn reserve_by_call(file: &EventFile, size: Packed) -> ForC {
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let recorder = unsafe { file.recorder.as_ref() };
    let ring = file.ring(&pin);
    if ring.is_disabled() {
        return reserve_off(file, ring);
    }
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let clock = recorder.clock();
    let attempt = writer.reserve(size.payload(), || clock::read(clock));
    answer(&pin, file, ring, attempt)
}

/// What C gets of an attempt to reserve.
#[inline(always)]
fn answer(
    pin: &CpuPin,
    file: &EventFile,
    ring: &Ring,
    attempt: Result<Reserved<'_, Kernel>, Refused>,
) -> ForC {
    match attempt {
        Ok(reserved) => given(file, ring, reserved),
        Err(why) => {
            lost(pin, file, ring, why);
            NOTHING
        }
    }
}

/// What C gets when recording is off.
#[inline(always)]
fn reserve_off(file: &EventFile, ring: &Ring) -> ForC {
    if ring.is_broken() {
        return reserve_broken(file, ring);
    }
    NOTHING
}

/// What C gets of a broken ring.
#[cold]
#[inline(never)]
extern "C" fn reserve_broken(file: &EventFile, ring: &Ring) -> ForC {
    // SAFETY: Only `reserve_by` and what it calls call this.
    let pin = unsafe { CpuPin::assume() };
    lost(&pin, file, ring, ring.refusal());
    // Or the compiler would know what this returns and make a call of the jump.
    black_box(NOTHING)
}

/// Reserves what the short way declined once it had entered.
#[cold]
#[inline(never)]
extern "C" fn reserve_inside(file: &EventFile, size: Packed, ring: &Ring) -> ForC {
    // SAFETY: Only what `reserve_by` calls calls this.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let recorder = unsafe { file.recorder.as_ref() };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let clock = || clock::read(recorder.clock());
    let attempt = writer.reserve_long(size.payload(), Declined::Inside, clock);
    answer(&pin, file, ring, attempt)
}

/// The event of `file` was refused by `ring`.
#[cold]
fn lost(pin: &CpuPin, file: &EventFile, ring: &Ring, why: Refused) {
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder) = unsafe { (file.buffers.as_ref(), file.recorder.as_ref()) };
    refused(ring, buffers, why);
    if let (true, Some(counts)) = (why != Refused::Disabled, recorder.counts()) {
        counts.lost(pin, file.id);
    }
}

/// The event of `file` was recorded.
#[inline(always)]
fn recorded(pin: &CpuPin, file: &EventFile, recorder: &Recorder) {
    if let Some(counts) = recorder.counts() {
        counts.hit(pin, file.id);
    }
    let stacks = recorder.stacks();
    if stacks != Stacks::NONE {
        stack::follow(pin, file, stacks);
    }
}

/// Makes a record final, or gives it up when the filter does not let it through, and enables preemption,
/// so that a probe ends with a jump to here.
///
/// This is the way of most events, as in [`rtrace_reserve`].
///
/// # Safety
///
/// `cookie` as it was given to [`rtrace_reserve`], `entry` and `token` as that returned them, and
/// `entry` is not null; preemption is still disabled, by the probe.
#[no_mangle]
pub(super) unsafe extern "C" fn rtrace_commit(cookie: *mut c_void, entry: *mut c_void, token: u64) {
    // SAFETY: As in `rtrace_reserve`.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    if Place::of_token(token).1 != 0 {
        // SAFETY: By the contract.
        return unsafe { commit_marked(file, entry, token) };
    }
    // SAFETY: By the contract.
    unsafe { commit_plain(file, token) };
}

/// The end of all that [`rtrace_commit`] goes on in.
///
/// # Safety
///
/// As for that; nothing of this CPU is used any more.
#[inline(always)]
pub(super) unsafe fn end() {
    // SAFETY: By the contract.
    unsafe { percpu::enable_preemption() };
}

/// Makes a record in the ring final that has nothing in front of its payload but a header. The [`end`].
///
/// # Safety
///
/// As for [`rtrace_commit`]; the token has no bits beside the place.
#[inline(always)]
pub(super) unsafe fn commit_plain(file: &EventFile, token: u64) {
    // SAFETY: By the invariant of `EventFile`.
    let buffers = unsafe { file.buffers.as_ref() };
    // The token is the place, as it has no bits.
    // SAFETY: `rtrace_reserve` found it, in the rings of the same file.
    let ring = unsafe { buffers.rings().at(Place::new(token)) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    // SAFETY: The last reservation in this ring that is not over is the one of this probe.
    match unsafe { writer.commit_short() } {
        Ok(()) => {}
        Err(Left::Not) => return commit_inside(file, ring),
        Err(Left::TooEarly) => return commit_again(file, ring),
    }
    // SAFETY: By the invariant of `EventFile`.
    let waker = unsafe { file.waker.as_ref() };
    if !waker.is_quiet() {
        return told(file);
    }
    // SAFETY: By the contract.
    unsafe { end() };
}

/// Behind an event that made its way out and may have something to tell. The [`end`].
#[cold]
#[inline(never)]
extern "C" fn told(file: &EventFile) {
    // SAFETY: Only functions that were called with preemption disabled call this.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let (recorder, waker) = unsafe { (file.recorder.as_ref(), file.waker.as_ref()) };
    waker.published();
    recorded(&pin, file, recorder);
    // SAFETY: Only `commit_plain` calls this.
    unsafe { end() };
}

/// Goes the long way out of `ring`, which the writer has not left. The [`end`].
#[cold]
#[inline(never)]
extern "C" fn commit_inside(file: &EventFile, ring: &Ring) {
    commit_long(file, ring, Left::Not);
}

/// Goes the long way out of `ring`, which the writer has left too early. The [`end`].
#[cold]
#[inline(never)]
extern "C" fn commit_again(file: &EventFile, ring: &Ring) {
    commit_long(file, ring, Left::TooEarly);
}

/// Goes the long way out of `ring`. The [`end`].
#[inline(always)]
fn commit_long(file: &EventFile, ring: &Ring, left: Left) {
    // SAFETY: Only `rtrace_commit` calls this.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder, waker) = unsafe {
        (
            file.buffers.as_ref(),
            file.recorder.as_ref(),
            file.waker.as_ref(),
        )
    };
    // SAFETY: The short way said so.
    unsafe { leave(buffers, waker, ring, left) };
    recorded(&pin, file, recorder);
    // SAFETY: Only `commit_plain` calls this.
    unsafe { end() };
}

/// Makes a record in the ring final that has more in front of its payload than a header, or that the
/// filter is to be asked about. The [`end`].
///
/// # Safety
///
/// As for [`rtrace_commit`]; the record is in the ring.
#[inline(never)]
pub(super) unsafe extern "C" fn commit_reserved(file: &EventFile, entry: *mut c_void, token: u64) {
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
    let (place, bits) = Place::of_token(token & !TOKEN_ASK);
    // SAFETY: `rtrace_reserve` found it, in the rings of the same file.
    let ring = unsafe { buffers.rings().at(place) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let Some(entry) = NonNull::new(entry.cast()) else {
        // SAFETY: By the contract.
        return unsafe { end() };
    };
    // SAFETY: By the contract.
    let mut reserved = unsafe { Reserved::from_raw(writer, entry, bits) };
    // Without a filter it was taken away a moment ago: everything is wanted.
    let wanted = token & TOKEN_ASK == 0
        || file
            .filter()
            .is_none_or(|filter| filter.matches(&pin, reserved.payload()));
    let published = match wanted {
        true => reserved.commit(),
        false => reserved.discard(),
    };
    tell(ring, buffers, waker, published);
    if wanted {
        recorded(&pin, file, recorder);
    }
    // SAFETY: By the contract.
    unsafe { end() };
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
    if token == TOKEN_SCRATCH {
        // SAFETY: By the contract, and the token says so.
        return unsafe { scratch::Record::filled(entry) }.end();
    }
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, waker) = unsafe { (file.buffers.as_ref(), file.waker.as_ref()) };
    // SAFETY: By the contract.
    unsafe { give_up(buffers, waker, entry, token & !TOKEN_ASK) };
}
