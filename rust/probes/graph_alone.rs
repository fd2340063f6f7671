// SPDX-License-Identifier: GPL-2.0

//! The calls of the only instance that traces calls, when it asks for nothing special: one that `graph` knows,
//! without the look for those that want the function.
//!
//! As in [`function`](super::function), everything rare goes on in another function, at the end of this one,
//! and nothing that is called here can be traced. The kernel has disabled preemption before it calls a hook,
//! and enables it afterwards.

use super::{
    fast_event::{
        EarlyLeave,
        EventBytes,
        FastEvent,
        RingPresence,
        UnfinishedCommit, //
    },
    graph::{
        KeptTimes,
        ENTRY,
        ENTRY_LEN,
        EXIT,
        EXIT_LEN,
        FOLLOWED,
        IGNORED, //
    },
    Sink,
    COMMON, //
};
use crate::{
    buffers::rings::OwnRing,
    event::context::Base,
    kapi::{
        clock::{
            self,
            ClockId,
            InlineClock, //
        },
        context,
        percpu::CpuPin, //
    },
    ring::writer::FastReserve, //
};
use core::ffi::c_int;

/// Half of a call that is recorded: its entry or its exit.
pub(super) trait CallHalf: EventBytes {
    const BASE: Base;
    /// What the hook answers when there is a record, and when there is none.
    type Answer;
    const TAKEN: Self::Answer;
    const REFUSED: Self::Answer;

    /// Returns the time of the record: that of `clock`, or `now`, which was read before.
    fn time(clock: InlineClock, call: &KeptTimes, now: u64) -> Option<u64>;

    /// As [`Self::time`], read now.
    fn time_anew(call: &KeptTimes) -> u64;

    /// Fills a record whose common fields are `word` and `pid`.
    fn fill(record: &mut [u8], word: u32, pid: i32, address: u64, call: &KeptTimes, now: u64);
}

/// The entry. The time of the record is that of the call.
pub(super) struct EntryHalf;

impl EventBytes for EntryHalf {
    const LEN: usize = ENTRY_LEN;
}

impl CallHalf for EntryHalf {
    const BASE: Base = ENTRY;
    type Answer = c_int;
    const TAKEN: c_int = FOLLOWED;
    const REFUSED: c_int = IGNORED;

    #[inline(always)]
    fn time(clock: InlineClock, call: &KeptTimes, _now: u64) -> Option<u64> {
        let now = clock.now()?;
        call.time.set(now);
        Some(now)
    }

    #[inline(always)]
    fn time_anew(call: &KeptTimes) -> u64 {
        let now = clock::read(ClockId::Local);
        call.time.set(now);
        now
    }

    #[inline(always)]
    fn fill(record: &mut [u8], word: u32, pid: i32, address: u64, _call: &KeptTimes, _now: u64) {
        let Some(record) = record.first_chunk_mut::<ENTRY_LEN>() else {
            return;
        };
        put_head(record, word, pid, address);
        let depth = u64::from(context::call_depth() as u32);
        put(record, COMMON + 8, depth.to_ne_bytes());
    }
}

/// The exit. The time of the record is that at which the hook was called, unless another record has come since.
pub(super) struct ExitHalf;

impl EventBytes for ExitHalf {
    const LEN: usize = EXIT_LEN;
}

impl CallHalf for ExitHalf {
    const BASE: Base = EXIT;
    type Answer = ();
    const TAKEN: () = ();
    const REFUSED: () = ();

    #[inline(always)]
    fn time(_clock: InlineClock, _call: &KeptTimes, now: u64) -> Option<u64> {
        // A writer that has come since has a later time, and the ring declines this one.
        Some(now)
    }

    #[inline(always)]
    fn time_anew(_call: &KeptTimes) -> u64 {
        clock::read(ClockId::Local)
    }

    #[inline(always)]
    fn fill(record: &mut [u8], word: u32, pid: i32, address: u64, call: &KeptTimes, now: u64) {
        let Some(record) = record.first_chunk_mut::<EXIT_LEN>() else {
            return;
        };
        put_head(record, word, pid, address);
        let (depth, overrun) = context::followed_calls();
        put(record, COMMON + 8, depth.to_ne_bytes());
        put(record, COMMON + 12, overrun.to_ne_bytes());
        put(record, COMMON + 16, call.time.get().to_ne_bytes());
        put(record, COMMON + 24, now.to_ne_bytes());
    }
}

/// Puts a field of a record at its place.
#[inline(always)]
fn put<const LEN: usize, const BYTES: usize>(
    record: &mut [u8; LEN],
    at: usize,
    field: [u8; BYTES],
) {
    let place = record.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
    if let Some(place) = place {
        *place = field;
    }
}

/// Puts the fields that all records begin with, and the function.
#[inline(always)]
fn put_head<const LEN: usize>(record: &mut [u8; LEN], word: u32, pid: i32, address: u64) {
    put(record, 0, word.to_ne_bytes());
    put(record, 4, pid.to_ne_bytes());
    put(record, COMMON, address.to_ne_bytes());
}

/// Records half of a call of the function at `address` for the only instance, whose `sink` it is. The hook at an
/// exit was called at `now`.
#[inline(always)]
pub(super) fn record_alone<E: CallHalf>(
    pin: &CpuPin,
    sink: &Sink,
    address: u64,
    call: &KeptTimes,
    now: u64,
) -> E::Answer {
    let ring = sink.buffers().rings().this(pin.by_value());
    let Some(clock) = InlineClock::left(ring.gate()) else {
        return record_closer::<E>(sink, ring, address, call, now);
    };
    let mut event = match FastEvent::<_, E>::reserve(ring, || E::time(clock, call, now)) {
        Ok(event) => event,
        Err(ring) => return record_inside::<E>(sink, ring, address, call, now),
    };
    let raw = context::raw();
    let Some(word) = raw.usual_word(E::BASE) else {
        return finish_elsewhere::<E>(sink, event, address, call, now);
    };
    E::fill(event.payload(), word, raw.pid, address, call, now);
    match event.commit() {
        Ok(_) => {}
        Err(UnfinishedCommit::Inside(inside)) => return leave_inside::<E>(sink, inside),
        Err(UnfinishedCommit::Early(early)) => return leave_again::<E>(sink, early),
    }
    if !sink.waker().is_quiet() {
        return told::<E>(sink);
    }
    E::TAKEN
}

/// Fills a record in any context.
#[inline(always)]
fn fill_anywhere<E: CallHalf>(record: &mut [u8], address: u64, call: &KeptTimes, now: u64) {
    let raw = context::raw();
    let word = raw.any_word(E::BASE);
    E::fill(record, word, raw.pid, address, call, now);
}

/// Goes on with [`record_alone`] in other contexts than that of most tasks.
#[inline(never)]
extern "C" fn finish_elsewhere<E: CallHalf>(
    sink: &Sink,
    mut event: FastEvent<OwnRing<'_>, E>,
    address: u64,
    call: &KeptTimes,
    now: u64,
) -> E::Answer {
    fill_anywhere::<E>(event.payload(), address, call, now);
    event.finish(sink);
    E::TAKEN
}

/// As [`record_alone`], where recording is off or the clock has no place in the gate.
#[inline(never)]
extern "C" fn record_closer<E: CallHalf>(
    sink: &Sink,
    ring: OwnRing<'_>,
    address: u64,
    call: &KeptTimes,
    now: u64,
) -> E::Answer {
    let gate = ring.gate();
    if gate.is_disabled() && !gate.is_broken() {
        return E::REFUSED;
    }
    record_by_clock::<E>(sink, ring, address, call, now)
}

/// As [`record_alone`], with any clock.
#[inline(never)]
extern "C" fn record_by_clock<E: CallHalf>(
    sink: &Sink,
    ring: OwnRing<'_>,
    address: u64,
    call: &KeptTimes,
    now: u64,
) -> E::Answer {
    let writer = ring.writer();
    match writer.reserve(E::LEN, || clock::read(sink.clock())) {
        Ok(mut reserved) => {
            // As late as can be: what the hook takes is no part of the call.
            E::time_anew(call);
            fill_anywhere::<E>(reserved.payload(), address, call, now);
            sink.left(&ring, reserved.commit());
            E::TAKEN
        }
        Err(why) => {
            sink.refused(&ring, why);
            E::REFUSED
        }
    }
}

/// As [`record_alone`], where the fast path has declined once it had entered.
#[cold]
#[inline(never)]
extern "C" fn record_inside<E: CallHalf>(
    sink: &Sink,
    ring: OwnRing<'_>,
    address: u64,
    call: &KeptTimes,
    now: u64,
) -> E::Answer {
    let time = || E::time_anew(call);
    match ring
        .writer()
        .reserve_slow(E::LEN, FastReserve::Entered, time)
    {
        Ok(mut reserved) => {
            fill_anywhere::<E>(reserved.payload(), address, call, now);
            sink.left(&ring, reserved.commit());
            E::TAKEN
        }
        Err(why) => {
            sink.refused(&ring, why);
            E::REFUSED
        }
    }
}

/// Wakes the readers of a record that left the ring by the fast path.
#[cold]
#[inline(never)]
extern "C" fn told<E: CallHalf>(sink: &Sink) -> E::Answer {
    sink.waker().published();
    E::TAKEN
}

/// Takes the slow path out of the ring, which the writer has not left.
#[cold]
#[inline(never)]
extern "C" fn leave_inside<E: CallHalf>(
    sink: &Sink,
    inside: RingPresence<OwnRing<'_>>,
) -> E::Answer {
    inside.leave(sink);
    E::TAKEN
}

/// Takes the slow path out of the ring, which the writer has left too early.
#[cold]
#[inline(never)]
extern "C" fn leave_again<E: CallHalf>(sink: &Sink, early: EarlyLeave<OwnRing<'_>>) -> E::Answer {
    early.leave(sink);
    E::TAKEN
}
