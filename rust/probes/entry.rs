// SPDX-License-Identifier: GPL-2.0

//! The three functions that the probes in C call. See shim/events.h, and [`fastcall`](super::fastcall)
//! for their form.

use super::{
    chosen::{
        commit_marked,
        reserve_chosen, //
    },
    exit::{
        give_up,
        Exit,
        ExitRing, //
    },
    fast_event::{
        commit_last,
        EarlyLeave,
        RingPresence,
        UnfinishedCommit, //
    },
    fastcall::{
        CReservation,
        NOTHING, //
    },
    in_place::commit_marked_in_place,
    triggered::{
        commit_judged,
        reserve_triggered, //
    },
    ways::{
        reserve_by_other,
        reserve_in, //
    },
    EventFile,
    Hit,
    RecordSize,
    COMMON, //
};
use crate::{
    buffers::{
        rings::OwnRing,
        RingPlace, //
    },
    kapi::{
        c,
        percpu::PinRef,
        scratch,
        stack::ProbeFrame, //
    },
    ring::cpu::GateWord, //
};
use core::{
    hint::black_box,
    ptr, //
};
use kernel::prelude::*;

/// How often the probe of a tracepoint has disabled preemption when it records.
pub(crate) const OWN: u32 = 1;

/// The token of a record in the ring about which the filter is asked has this bit, one of those that a
/// reservation does not need itself.
pub(super) const TOKEN_ASK: u64 = 4;
/// The token of a record that is filled beside the ring; it has no place.
pub(super) const TOKEN_SCRATCH: u64 = TOKEN_ASK;
/// The token of a record in the ring at which the only trigger looks there has this bit.
pub(super) const TOKEN_IN_PLACE: u64 = 8;
/// The token of such a record that the ring has refused: it is beside it for the trigger alone.
pub(super) const TOKEN_REFUSED: u64 = TOKEN_SCRATCH | TOKEN_IN_PLACE;

/// Reserves a record of `size` bytes. The common fields are filled here, not by the caller.
///
/// This is the fast path: everything rare goes on in another function, at the end of this one, so that
/// nothing has to be kept for it.
///
/// # Safety
///
/// - `file` is the cookie of an attached probe, or of one that was detached and that
///   [`events::synchronize`](crate::events::synchronize) still waits for.
/// - `size` is the word of a [`RecordSize`].
/// - Preemption is disabled until [`rtrace_commit`] or [`rtrace_discard`] returns, one of which follows
///   unless the entry is null.
#[no_mangle]
pub(crate) unsafe extern "C" fn rtrace_reserve(
    file: &EventFile,
    size: RecordSize,
    pin: PinRef<'_>,
) -> CReservation {
    const _: () = assert!(
        COMMON == 8,
        "rt_size() in shim/events.h makes sizes of more"
    );
    let ring = file.ring(pin);
    let gate = ring.gate();
    match file.clock_here(gate) {
        Some(clock) => reserve_in(file, size, ring, || clock.now()),
        None => reserve_closer(file, size, ring, gate),
    }
}

/// As [`rtrace_reserve`], where recording is off, the file does not record everything, or the clock has no
/// place in the gate. `gate` is that of `ring`.
#[inline(never)]
extern "C" fn reserve_closer(
    file: &EventFile,
    size: RecordSize,
    ring: OwnRing<'_>,
    gate: GateWord,
) -> CReservation {
    if gate.is_disabled() {
        return match file.heeds(gate) {
            true => reserve_disabled(file, size, ring, gate),
            false => NOTHING,
        };
    }
    if !file.is_plain() {
        return reserve_chosen(file, size, ring);
    }
    reserve_by_other(file, size, ring, gate)
}

/// As [`reserve_closer`], while recording is off, in a broken ring or of a file that has triggers.
#[inline(never)]
extern "C" fn reserve_disabled(
    file: &EventFile,
    size: RecordSize,
    ring: OwnRing<'_>,
    gate: GateWord,
) -> CReservation {
    match gate.is_broken() {
        true => reserve_refused(file, size, ring),
        false => reserve_triggered(file, size, ring.pin()),
    }
}

/// As [`reserve_closer`], in a broken ring: what it refuses is counted, of what is wanted.
#[cold]
#[inline(never)]
extern "C" fn reserve_refused(
    file: &EventFile,
    size: RecordSize,
    ring: OwnRing<'_>,
) -> CReservation {
    // Or the compiler would see that this is a jump and make it elsewhere.
    black_box(reserve_chosen(file, size, ring))
}

/// Runs what follows an event that was recorded.
#[inline(always)]
pub(super) fn follow(hit: &Hit<'_>) {
    if let Some(actions) = hit.file.sink().actions(hit.pin()) {
        actions.recorded(hit);
    }
}

/// Makes a record final, or gives it up when the filter does not let it through, and enables preemption,
/// so that a probe ends with a jump to here.
///
/// This is the fast path, as in [`rtrace_reserve`].
///
/// # Safety
///
/// - `file` is the one that [`rtrace_reserve`] got, `entry` and `token` are what that returned, and
///   `entry` is not null. What was reserved later on this CPU is over.
/// - Preemption is still disabled, by the probe, which leaves it to this to enable it: that is `exit`.
#[no_mangle]
pub(crate) unsafe extern "C" fn rtrace_commit(
    file: &EventFile,
    entry: *mut c_void,
    token: u64,
    exit: Exit,
) {
    if RingPlace::of_token(token).1 != 0 {
        // SAFETY: `entry` and `token` are those of this probe's reservation, as the caller promises.
        return unsafe { commit_marked(file, entry, token, exit) };
    }
    // SAFETY: `token` is that of this probe's reservation and has no bits beside the place.
    unsafe { commit_plain(file, token, exit) };
}

/// Makes a record in the ring final.
///
/// # Safety
///
/// `token` is the place of the last reservation on this CPU that is not over, in the rings of `file`, without
/// the bits of its token.
#[inline(always)]
pub(super) unsafe fn commit_plain(file: &EventFile, token: u64, exit: Exit) {
    let sink = file.sink();
    // SAFETY: It is that of a reservation on this CPU which is not over, in the rings of the same file.
    let out = unsafe { exit.with_ring(sink.buffers().rings(), RingPlace::new(token)) };
    // SAFETY: The last reservation in this ring that is not over is the one of this probe.
    let exit = match unsafe { commit_last(out) } {
        Ok(out) => out.into_exit(),
        Err(UnfinishedCommit::Inside(inside)) => return commit_inside(file, inside),
        Err(UnfinishedCommit::Early(early)) => return commit_again(file, early),
    };
    if !sink.waker().is_quiet() {
        return told(file, exit);
    }
    exit.end();
}

/// Ends an event that left the ring by the fast path and may have a reader to wake or an action to run.
#[cold]
#[inline(never)]
extern "C" fn told(file: &EventFile, exit: Exit) {
    file.sink().waker().published();
    end_recorded(file, exit);
}

/// Ends an event that was recorded and may have an action to run.
#[inline(always)]
fn end_recorded(file: &EventFile, exit: Exit) {
    if !file.sink().has_actions() {
        return exit.end();
    }
    // SAFETY: It goes on in `rtrace_follow` with this file and, in place of `exit`, on this CPU.
    unsafe { c::rt_follow(ptr::from_ref(file).cast()) }
}

/// Goes on with [`end_recorded`], by way of C, which knows the frame of the probe.
///
/// # Safety
///
/// Preemption is still disabled, by the probe of this file: that is `exit`. The probe has not returned.
#[no_mangle]
unsafe extern "C" fn rtrace_follow(file: &EventFile, frame: &ProbeFrame, exit: Exit) {
    follow(&Hit::of_probe(exit.pin(), file, frame));
    exit.end();
}

/// Takes the slow path out of the ring, which the writer has not left.
#[cold]
#[inline(never)]
extern "C" fn commit_inside(file: &EventFile, inside: RingPresence<ExitRing<'_>>) {
    end_recorded(file, inside.leave(file.sink()).into_exit());
}

/// Takes the slow path out of the ring, which the writer has left too early.
#[cold]
#[inline(never)]
extern "C" fn commit_again(file: &EventFile, early: EarlyLeave<ExitRing<'_>>) {
    end_recorded(file, early.leave(file.sink()).into_exit());
}

/// Makes a record in the ring final that has more than a header before its payload, or that may not be
/// wanted.
///
/// # Safety
///
/// `entry` and `token` are those of the last reservation on this CPU that is not over, in the rings of
/// `file`; `token` may have [`TOKEN_ASK`] or [`TOKEN_IN_PLACE`] as well, or is [`TOKEN_REFUSED`].
#[inline(never)]
pub(super) unsafe extern "C" fn commit_reserved(
    file: &EventFile,
    entry: *mut c_void,
    token: u64,
    exit: Exit,
) {
    if token & TOKEN_IN_PLACE != 0 {
        // SAFETY: The entry and the token are the caller's, which has the bit.
        return unsafe { commit_marked_in_place(file, entry, token, exit) };
    }
    if token & TOKEN_ASK != 0 {
        // SAFETY: The entry and the token are the caller's, which has the bit.
        return unsafe { commit_judged(file, entry, token, exit) };
    }
    // What is before the payload does not matter any more.
    let (place, _) = RingPlace::of_token(token);
    // SAFETY: The token is that of the last reservation on this CPU which is not over, in the rings of `file`; a
    // place has no bits.
    unsafe { commit_plain(file, place.word(), exit) };
}

/// Gives a record up.
///
/// # Safety
///
/// As for [`rtrace_commit`], but preemption is enabled by the caller.
#[no_mangle]
unsafe extern "C" fn rtrace_discard(
    file: &EventFile,
    entry: *mut c_void,
    token: u64,
    pin: PinRef<'_>,
) {
    if matches!(token, TOKEN_SCRATCH | TOKEN_REFUSED) {
        // SAFETY: The token says that `entry` is beside the ring, and the probe is done with it.
        return unsafe { scratch::Record::filled(entry) }.end();
    }
    // SAFETY: It is the probe's last reservation, and in the ring, as its token says.
    unsafe { give_up(file.sink(), pin, entry, token & !TOKEN_REFUSED) };
}
