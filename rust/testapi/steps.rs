// SPDX-License-Identifier: GPL-2.0

//! The steps of a writer and of readers, one by one, to be measured.
//!
//! tools/guest/native measures with this source, too, and has another way to a handle.

#![allow(improper_ctypes_definitions, reason = "see `probes::fastcall`")]

use crate::{
    buffers::{
        consumer::Consumer,
        rings::OwnRing,
        Buf,
        RingPlace, //
    },
    kapi::{
        clock::{
            self,
            ClockId,
            InlineClock, //
        },
        pages::Image,
        percpu::PinRef, //
    },
    probes::{
        commit_last,
        for_c,
        give_up,
        reserve_by_other,
        reserve_in,
        token,
        CReservation,
        Caller,
        EarlyLeave,
        ReservedRecord,
        RingPresence,
        Sink,
        UnfinishedCommit, //
    },
    ring::{
        give::PartialTake,
        packed::PackedSize,
        writer::ReserveError, //
    }, //
};
use kernel::{
    error::from_result,
    ffi::{
        c_long,
        c_uint, //
    },
    prelude::*, //
};

/// Reserves `size` bytes, which get no common fields: what a probe does, less the event. Any context,
/// NMI included.
///
/// # Safety
///
/// `sink` is a handle from `rtrace_test_open` and not closed, `size` what [`PackedSize::new`] makes of
/// bytes; preemption is disabled, for which `pin` stands without bytes, until [`rtrace_test_commit`] or
/// [`rtrace_test_discard`], one of which follows unless the entry is null.
#[no_mangle]
unsafe extern "C" fn rtrace_test_reserve(
    sink: &Sink,
    size: PackedSize,
    pin: PinRef<'_>,
) -> CReservation {
    let ring = sink.buffers().rings().this(pin);
    let gate = ring.gate();
    match InlineClock::left(gate) {
        Some(clock) => reserve_in(sink, size, ring, || clock.now()),
        // Not in a function of its own: nothing else is asked before it.
        None if gate.word() == clock::LEFT_TSC => {
            rare();
            reserve_in(sink, size, ring, || Some(clock::tsc()))
        }
        None => reserve_by_other(sink, size, ring, gate),
    }
}

/// Has the compiler put the code that calls this apart from the rest.
#[cold]
fn rare() {}

impl Caller for Sink {
    type Size = PackedSize;

    #[inline(always)]
    fn clock(&self) -> ClockId {
        Sink::clock(self)
    }

    #[inline(always)]
    fn given(&self, ring: OwnRing<'_>, reserved: ReservedRecord<'_, PackedSize>) -> CReservation {
        let (entry, bits) = reserved.into_inner().into_raw();
        for_c(entry.as_ptr().cast(), token(ring, bits))
    }

    #[cold]
    fn refused(&self, ring: OwnRing<'_>, why: ReserveError) {
        Sink::refused(self, &ring, why);
    }

    #[inline(always)]
    fn follows_refusals(&self) -> bool {
        false
    }
}

/// Makes what was reserved final.
///
/// # Safety
///
/// `sink` as it was given to [`rtrace_test_reserve`], the others as that returned them, and `entry`
/// is not null; preemption is still disabled.
#[no_mangle]
unsafe extern "C" fn rtrace_test_commit(
    sink: &Sink,
    _entry: *mut c_void,
    token: u64,
    pin: PinRef<'_>,
) {
    let (place, _) = RingPlace::of_token(token);
    // SAFETY: `rtrace_test_reserve` found it, in the rings of the same instance.
    let ring = unsafe { sink.buffers().rings().at(place, pin) };
    // SAFETY: The last reservation in this ring that is not over is the one of the caller.
    match unsafe { commit_last(ring) } {
        Ok(_) => sink.waker().published(),
        Err(UnfinishedCommit::Inside(inside)) => commit_inside(sink, inside),
        Err(UnfinishedCommit::Early(early)) => commit_again(sink, early),
    }
}

/// Takes the slow path out of the ring, which the writer has not left.
#[cold]
#[inline(never)]
extern "C" fn commit_inside(sink: &Sink, inside: RingPresence<OwnRing<'_>>) {
    inside.leave(sink);
}

/// Takes the slow path out of the ring, which the writer has left too early.
#[cold]
#[inline(never)]
extern "C" fn commit_again(sink: &Sink, early: EarlyLeave<OwnRing<'_>>) {
    early.leave(sink);
}

/// Gives what was reserved up.
///
/// # Safety
///
/// As for [`rtrace_test_commit`].
#[no_mangle]
unsafe extern "C" fn rtrace_test_discard(
    sink: &Sink,
    entry: *mut c_void,
    token: u64,
    pin: PinRef<'_>,
) {
    // SAFETY: `entry` and `token` are of a reservation in this instance that is not over.
    unsafe { give_up(sink, pin, entry, token) };
}

/// Returns the time by the clock of the instance of `sink`, a handle from `rtrace_test_open` that is not closed.
/// Any context, NMI included, with preemption disabled.
#[no_mangle]
extern "C" fn rtrace_test_clock(sink: &Sink) -> u64 {
    clock::read(sink.clock())
}

/// Consumes all unread events of `cpu`, one by one as `trace_pipe` does. Returns how many, or an error.
/// Process context; `sink` is a handle from `rtrace_test_open` that is not closed.
#[no_mangle]
extern "C" fn rtrace_test_consume(sink: &Sink, cpu: c_uint) -> c_long {
    from_result(|| consume(sink, cpu))
}

fn consume(sink: &Sink, cpu: u32) -> Result<c_long> {
    let mut consumer = Consumer::new(cpu);
    let mut events: c_long = 0;
    while consumer.look(sink.buffers())? {
        while consumer.stamp().is_some() && consumer.take(sink.buffers()) {
            events = events.wrapping_add(1);
        }
    }
    Ok(events)
}

/// Consumes all unread events of `cpu` by sub-buffers, as a `read` of `trace_pipe_raw` does. Returns
/// how many sub-buffers, or an error. Process context; `sink` is a handle from `rtrace_test_open` that
/// is not closed.
#[no_mangle]
extern "C" fn rtrace_test_read_pages(sink: &Sink, cpu: c_uint) -> c_long {
    from_result(|| {
        let mut image = Image::none();
        let mut pages: c_long = 0;
        while sink
            .buffers()
            .raw_read(Buf::Live, cpu, &mut image, usize::MAX)?
            == PartialTake::Taken
        {
            pages = pages.wrapping_add(1);
        }
        Ok(pages)
    })
}
