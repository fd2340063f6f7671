// SPDX-License-Identifier: GPL-2.0

//! The three functions that the probes in C call. See shim/events.h.

#![allow(improper_ctypes_definitions, reason = "see `ForC`")]

use super::{
    chosen::{
        commit_marked,
        reserve_chosen, //
    },
    give_up,
    leave,
    ways::{
        reserve_by_other,
        reserve_in, //
    },
    EventFile,
    ForC,
    Hit,
    NOTHING, //
};
use crate::{
    buffers::Place,
    kapi::{
        percpu::{
            self,
            CpuPin, //
        },
        port::Ring,
        scratch, //
    },
    ring::{
        cpu::GateWord,
        packed::PackedSize,
        reservation::Reservation,
        writer::FastCommit, //
    }, //
};
use core::{
    hint::black_box,
    ptr::NonNull, //
};
use kernel::prelude::*;

/// How often the probe of a tracepoint has disabled preemption when it records.
pub(crate) const OWN: u32 = 1;

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
/// `cookie` is that of an attached probe, `size` what [`PackedSize::new`] makes of
/// [`COMMON`](super::COMMON) bytes or more, preemption is disabled until [`rtrace_commit`] or
/// [`rtrace_discard`], one of which follows unless the entry is null.
#[no_mangle]
pub(crate) unsafe extern "C" fn rtrace_reserve(cookie: *mut c_void, size: u64) -> ForC {
    // SAFETY: By the contract; `disable` waits for probes before the file goes.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    // SAFETY: By the contract.
    let size = unsafe { PackedSize::from_word(size) };
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    let ring = file.ring(&pin);
    let gate = ring.gate();
    // SAFETY: By the contract; the ring of this CPU, and its gate.
    unsafe {
        match file.clock_here(gate) {
            Some(clock) => reserve_in(file, size, ring, || clock.now()),
            None => reserve_closer(file, size, ring, gate),
        }
    }
}

/// As [`rtrace_reserve`], where recording is off, somebody has to look closer, or the clock has no place in
/// the gate.
///
/// # Safety
///
/// As there; `ring` is that of this CPU and `gate` is its.
#[inline(never)]
unsafe extern "C" fn reserve_closer(
    file: &EventFile,
    size: PackedSize,
    ring: &Ring,
    gate: GateWord,
) -> ForC {
    // SAFETY: By the contract.
    unsafe {
        if gate.is_disabled() {
            if gate.is_broken() {
                return reserve_refused(file, size);
            }
            return NOTHING;
        }
        if !file.is_plain() {
            return reserve_chosen(file, size);
        }
        reserve_by_other(file, size, ring, gate)
    }
}

/// As [`reserve_closer`], in a broken ring: what it refuses is counted, of what is wanted.
///
/// # Safety
///
/// As there.
#[cold]
#[inline(never)]
unsafe extern "C" fn reserve_refused(file: &EventFile, size: PackedSize) -> ForC {
    // SAFETY: By the contract. Or the compiler would see that this is a jump and make it elsewhere.
    black_box(unsafe { reserve_chosen(file, size) })
}

/// Runs what follows an event of `file` that was recorded.
#[inline(always)]
fn recorded(pin: &CpuPin, file: &EventFile) {
    if let Some(actions) = file.sink().actions() {
        actions.recorded(&Hit { pin, file });
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
pub(crate) unsafe extern "C" fn rtrace_commit(cookie: *mut c_void, entry: *mut c_void, token: u64) {
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
    let sink = file.sink();
    // The token is the place, as it has no bits.
    // SAFETY: `rtrace_reserve` found it, in the rings of the same file.
    let ring = unsafe { sink.buffers().rings().at(Place::new(token)) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    // SAFETY: The last reservation in this ring that is not over is the one of this probe.
    match unsafe { writer.commit_fast() } {
        Ok(()) => {}
        Err(FastCommit::NotTried) => return commit_inside(file, ring),
        Err(FastCommit::Raced) => return commit_again(file, ring),
    }
    if !sink.waker().is_quiet() {
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
    file.sink().waker().published();
    recorded(&pin, file);
    // SAFETY: Only `commit_plain` calls this.
    unsafe { end() };
}

/// takes the slow path out of `ring`, which the writer has not left. The [`end`].
#[cold]
#[inline(never)]
extern "C" fn commit_inside(file: &EventFile, ring: &Ring) {
    commit_slow(file, ring, FastCommit::NotTried);
}

/// takes the slow path out of `ring`, which the writer has left too early. The [`end`].
#[cold]
#[inline(never)]
extern "C" fn commit_again(file: &EventFile, ring: &Ring) {
    commit_slow(file, ring, FastCommit::Raced);
}

/// takes the slow path out of `ring`. The [`end`].
#[inline(always)]
fn commit_slow(file: &EventFile, ring: &Ring, left: FastCommit) {
    // SAFETY: Only `rtrace_commit` calls this.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: The fast path said so.
    unsafe { leave(file.sink(), ring, left) };
    recorded(&pin, file);
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
    let sink = file.sink();
    let (place, bits) = Place::of_token(token & !TOKEN_ASK);
    // SAFETY: `rtrace_reserve` found it, in the rings of the same file.
    let ring = unsafe { sink.buffers().rings().at(place) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let Some(entry) = NonNull::new(entry.cast()) else {
        // SAFETY: By the contract.
        return unsafe { end() };
    };
    // SAFETY: By the contract.
    let mut reserved = unsafe { Reservation::from_raw(writer, entry, bits) };
    // Without a filter it was taken away a moment ago: everything is wanted.
    let wanted = token & TOKEN_ASK == 0
        || file
            .filter()
            .is_none_or(|filter| filter.matches(&pin, reserved.payload()));
    let published = match wanted {
        true => reserved.commit(),
        false => reserved.discard(),
    };
    sink.left(ring, published);
    if wanted {
        recorded(&pin, file);
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
    // SAFETY: The caller's reservation, which is in the ring, as its token says.
    unsafe { give_up(file.sink(), entry, token & !TOKEN_ASK) };
}
