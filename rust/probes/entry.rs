// SPDX-License-Identifier: GPL-2.0

//! The three functions that the probes in C call. See shim/events.h.

use super::{
    chosen::{
        commit_marked,
        reserve_chosen, //
    },
    for_c,
    give_up,
    leave,
    refused,
    stack::{
        self,
        Stacks, //
    },
    tell,
    EventFile,
    Recorder,
    COMMON,
    NOTHING, //
};
use crate::{
    instance::Place,
    kapi::{
        c::rt_reserved,
        clock,
        context,
        percpu::CpuPin,
        port::{
            Kernel,
            Ring, //
        },
        scratch, //
    },
    ring::{
        reserved::Reserved,
        wire::EventSize,
        writer::{
            Declined,
            Left,
            Refused, //
        }, //
    }, //
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// How often the probe of a tracepoint has disabled preemption when it records.
pub(super) const OWN: u64 = 1;

/// The token of a record in the ring that the filter is to be asked about has this bit, of those that a
/// reservation does not need itself.
pub(super) const TOKEN_ASK: u64 = 4;
/// The token of a record that is filled beside the ring; it has no place.
pub(super) const TOKEN_SCRATCH: u64 = TOKEN_ASK;

/// Reserves a record of `size` bytes, the common fields of which are not the caller's.
///
/// What happens is in one of two functions that take the place of this one.
///
/// # Safety
///
/// `cookie` is that of an attached probe, `size` what [`EventSize::pack`] makes of [`COMMON`] bytes or
/// more, preemption is disabled until [`rtrace_commit`] or [`rtrace_discard`], one of which follows
/// unless the entry is null.
#[no_mangle]
pub(super) unsafe extern "C" fn rtrace_reserve(cookie: *mut c_void, size: u64) -> rt_reserved {
    // SAFETY: By the contract; `disable` waits for probes before the file goes.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    if !file.takes_all() {
        // SAFETY: By the contract.
        return unsafe { reserve_chosen(file, size) };
    }
    // SAFETY: By the contract.
    unsafe { reserve_wanted(file, size) }
}

/// As [`rtrace_reserve`], for an event that is wanted: in the ring, with its common fields.
///
/// This is the way of most events. What is rare goes on in another function, at the end of this one,
/// so that nothing has to be kept for it.
///
/// # Safety
///
/// As there.
#[inline(never)]
pub(super) unsafe extern "C" fn reserve_wanted(file: &EventFile, size: u64) -> rt_reserved {
    // SAFETY: By the contract.
    unsafe { reserve_here(file, size) }
}

/// As [`reserve_wanted`], in the middle of the caller.
///
/// # Safety
///
/// As there.
#[inline(always)]
pub(super) unsafe fn reserve_here(file: &EventFile, size: u64) -> rt_reserved {
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let buffers = unsafe { file.buffers.as_ref() };
    let (place, ring) = buffers.rings().this(&pin);
    if ring.is_disabled() {
        return reserve_off(file, ring);
    }
    // SAFETY: By the invariant of `EventFile`.
    let recorder = unsafe { file.recorder.as_ref() };
    let Some(clock) = recorder.clock_here() else {
        return reserve_by_call(file, size, ring, place);
    };
    let Some(usual) = EventSize::packed(size) else {
        return reserve_by_call(file, size, ring, place);
    };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    match writer.place_short(EventSize::unpack(size), usual, || clock.now()) {
        Ok(reserved) => given(file, place, reserved, 0),
        Err(Declined::Inside) => reserve_inside(file, size, place),
        Err(_) => reserve_outside(file, size, place),
    }
}

/// As [`rtrace_reserve`], in a ring that records, with a clock that is a function, or for an unusual size.
#[inline(never)]
extern "C" fn reserve_by_call(
    file: &EventFile,
    size: u64,
    ring: &Ring,
    place: Place,
) -> rt_reserved {
    // SAFETY: Only `rtrace_reserve` calls this.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let recorder = unsafe { file.recorder.as_ref() };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let len = EventSize::unpack(size);
    let attempt = writer.reserve(len, || clock::read(recorder.clock()));
    answer(&pin, file, (place, ring), attempt, 0)
}

/// What C gets of a reservation.
#[inline(always)]
fn given(file: &EventFile, place: Place, reserved: Reserved<'_, Kernel>, bits: u64) -> rt_reserved {
    let (entry, more) = reserved.into_raw();
    let reserved = for_c(entry, place, more | bits);
    match context::raw().task_word(file.id, OWN) {
        Some(word) => {
            let common = reserved.entry.cast::<[u8; COMMON]>();
            // SAFETY: Reserved just now, and long enough: by the contract of `rtrace_reserve`.
            unsafe { common.write(word.to_le_bytes()) };
            reserved
        }
        // SAFETY: As above.
        None => unsafe { given_elsewhere(reserved.entry, reserved.token, file.id) },
    }
}

/// As [`given`], in other contexts than that of most tasks.
///
/// # Safety
///
/// `entry` is a reservation of [`COMMON`] bytes at least.
#[inline(never)]
unsafe extern "C" fn given_elsewhere(entry: *mut c_void, token: u64, id: u16) -> rt_reserved {
    let common = context::raw().any_word(id, OWN).to_le_bytes();
    // SAFETY: By the contract.
    unsafe { entry.cast::<[u8; COMMON]>().write(common) };
    rt_reserved { entry, token }
}

/// What C gets of an attempt to reserve.
#[inline(always)]
fn answer(
    pin: &CpuPin,
    file: &EventFile,
    (place, ring): (Place, &Ring),
    attempt: Result<Reserved<'_, Kernel>, Refused>,
    bits: u64,
) -> rt_reserved {
    match attempt {
        Ok(reserved) => given(file, place, reserved, bits),
        Err(why) => {
            lost(pin, file, ring, why);
            NOTHING
        }
    }
}

/// What C gets when recording is off.
#[inline(never)]
extern "C" fn reserve_off(file: &EventFile, ring: &Ring) -> rt_reserved {
    if ring.is_broken() {
        // SAFETY: Only `rtrace_reserve` calls this.
        let pin = unsafe { CpuPin::assume() };
        lost(&pin, file, ring, ring.refusal());
    }
    NOTHING
}

/// Reserves what the short way declined before it had done anything.
#[cold]
#[inline(never)]
extern "C" fn reserve_outside(file: &EventFile, size: u64, place: Place) -> rt_reserved {
    reserve_long(file, size, place, Declined::Outside)
}

/// Reserves what the short way declined once it had entered.
#[cold]
#[inline(never)]
extern "C" fn reserve_inside(file: &EventFile, size: u64, place: Place) -> rt_reserved {
    reserve_long(file, size, place, Declined::Inside)
}

/// Reserves at `place` what the short way declined. There is a function for either case, so that the short
/// way needs to keep nothing that tells them apart.
#[inline(always)]
fn reserve_long(file: &EventFile, size: u64, place: Place, declined: Declined) -> rt_reserved {
    // SAFETY: Only what `rtrace_reserve` calls calls this.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder) = unsafe { (file.buffers.as_ref(), file.recorder.as_ref()) };
    // SAFETY: The place of these rings that `rtrace_reserve` found.
    let ring = unsafe { buffers.rings().here(&pin, place) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let attempt = writer.reserve_long(EventSize::unpack(size), declined, || {
        clock::read(recorder.clock())
    });
    answer(&pin, file, (place, ring), attempt, 0)
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

/// Makes a record final, or gives it up when the filter does not let it through.
///
/// This is the way of most events, as in [`reserve_wanted`].
///
/// # Safety
///
/// `cookie` as it was given to [`rtrace_reserve`], `entry` and `token` as that returned them, and
/// `entry` is not null; preemption is still disabled.
#[no_mangle]
pub(super) unsafe extern "C" fn rtrace_commit(cookie: *mut c_void, entry: *mut c_void, token: u64) {
    // SAFETY: As in `rtrace_reserve`.
    let file = unsafe { &*cookie.cast::<EventFile>() };
    let (place, bits) = Place::of_token(token);
    if bits != 0 {
        // SAFETY: By the contract.
        return unsafe { commit_marked(file, entry, token) };
    }
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let buffers = unsafe { file.buffers.as_ref() };
    // SAFETY: `rtrace_reserve` found it, in the rings of the same file.
    let ring = unsafe { buffers.rings().here(&pin, place) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    // SAFETY: The last reservation in this ring that is not over is the one of this probe.
    if let Err(left) = unsafe { writer.commit_short() } {
        return commit_long(file, place, left);
    }
    // SAFETY: By the invariant of `EventFile`.
    let (recorder, waker) = unsafe { (file.recorder.as_ref(), file.waker.as_ref()) };
    if waker.is_wanted() || !recorder.is_simple() {
        told(file);
    }
}

/// Behind an event that made its way out and may have something to tell.
#[cold]
#[inline(never)]
extern "C" fn told(file: &EventFile) {
    // SAFETY: Only functions that were called with preemption disabled call this.
    let pin = unsafe { CpuPin::assume() };
    // SAFETY: By the invariant of `EventFile`.
    let (recorder, waker) = unsafe { (file.recorder.as_ref(), file.waker.as_ref()) };
    waker.published();
    recorded(&pin, file, recorder);
}

/// Goes the long way out of the ring at `place`.
#[cold]
#[inline(never)]
extern "C" fn commit_long(file: &EventFile, place: Place, left: Left) {
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
    unsafe { leave(&pin, buffers, waker, place, left) };
    recorded(&pin, file, recorder);
}

/// Makes a record in the ring final that has more in front of its payload than a header, or that the
/// filter is to be asked about.
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
    let ring = unsafe { buffers.rings().here(&pin, place) };
    // SAFETY: The ring of the CPU that we are pinned to.
    let writer = unsafe { ring.writer() };
    let Some(entry) = NonNull::new(entry.cast()) else {
        return;
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
    if token == TOKEN_SCRATCH {
        // SAFETY: By the contract, and the token says so.
        return unsafe { scratch::Record::filled(entry) }.end();
    }
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, waker) = unsafe { (file.buffers.as_ref(), file.waker.as_ref()) };
    // SAFETY: By the contract.
    unsafe { give_up(&pin, buffers, waker, entry, token & !TOKEN_ASK) };
}
