// SPDX-License-Identifier: GPL-2.0

//! Raw records of other modules: a C interface to write bytes into an instance from any context, and
//! the steps of writers and readers one by one, to be measured.
//!
//! rtsoak uses the former to nest writers of all contexts, rtbench the latter (both tools/guest). See
//! shim/testapi.h. Only in a module that was built with `RTRACE_TEST=1`: a product has none of it.
//!
//! A handle is the address of an instance of which it holds a reference: C passes a handle where a
//! function here takes `&Instance`.

#![allow(improper_ctypes_definitions, reason = "see `probes::fastcall`")]

use crate::{
    buffers::{
        consumer::Consumer,
        rings::OwnRing,
        Buf,
        RingPlace, //
    },
    instance::{
        registry,
        Instance,
        InstanceRef, //
    },
    kapi::{
        clock::{
            self,
            ClockId,
            Here, //
        },
        foreign::CText,
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
        Caller,
        ForC,
        LeftEarly,
        ReservedRecord,
        StillInside,
        Unfinished, //
    },
    ring::{
        give::PartialTake,
        packed::PackedSize,
        writer::ReserveError, //
    }, //
};
use core::{
    ptr::null_mut,
    slice, //
};
use kernel::{
    error::from_result,
    ffi::{
        c_int,
        c_long,
        c_uint, //
    },
    prelude::*, //
};

/// Opens the instance `name`, the top one when that is empty. Returns a handle, or null. Process
/// context.
///
/// # Safety
///
/// `name` is a string.
#[no_mangle]
unsafe extern "C" fn rtrace_test_open(name: CText<'_>) -> *mut c_void {
    match registry::find(name.string()).and_then(|inst| inst.get()) {
        Ok(inst) => inst.into_raw().cast_mut().cast(),
        Err(_) => null_mut(),
    }
}

/// Records `len` bytes as one `raw_data` event. Any context, NMI included. Returns 0, or an error
/// that says why the event was refused: see `Instance::raw_data`.
///
/// # Safety
///
/// `inst` is a handle from [`rtrace_test_open`] and not closed; `len` bytes can be read at `bytes`.
#[no_mangle]
unsafe extern "C" fn rtrace_test_write(
    inst: &Instance,
    bytes: *const c_void,
    len: c_uint,
) -> c_int {
    // SAFETY: The caller keeps `len` bytes at `bytes` readable meanwhile.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), len as usize) };
    from_result(|| inst.raw_data(bytes).map(|()| 0))
}

/// Closes a handle. Process context.
///
/// # Safety
///
/// `handle` is from [`rtrace_test_open`], not closed, and used no more.
#[no_mangle]
unsafe extern "C" fn rtrace_test_close(handle: *mut c_void) {
    // SAFETY: `rtrace_test_open` gave this reference away, and the caller closes it once.
    drop(unsafe { InstanceRef::from_raw(handle.cast()) });
}

/// Reserves `size` bytes, which get no common fields: what a probe does, less the event. Any context,
/// NMI included.
///
/// # Safety
///
/// `inst` is a handle from [`rtrace_test_open`] and not closed, `size` what [`PackedSize::new`] makes of
/// bytes; preemption is disabled, for which `pin` stands without bytes, until [`rtrace_test_commit`] or
/// [`rtrace_test_discard`], one of which follows unless the entry is null.
#[no_mangle]
unsafe extern "C" fn rtrace_test_reserve(
    inst: &Instance,
    size: PackedSize,
    pin: PinRef<'_>,
) -> ForC {
    let ring = inst.buffers().rings().this(pin);
    let gate = ring.gate();
    match Here::left(gate) {
        Some(clock) => reserve_in(inst, size, ring, || clock.now()),
        // Not in a function of its own: nothing else is asked before it.
        None if gate.word() == clock::LEFT_TSC => {
            rare();
            reserve_in(inst, size, ring, || Some(clock::tsc()))
        }
        None => reserve_by_other(inst, size, ring, gate),
    }
}

/// Has the compiler put the code that calls this apart from the rest.
#[cold]
fn rare() {}

impl Caller for Instance {
    type Size = PackedSize;

    #[inline(always)]
    fn clock(&self) -> ClockId {
        self.sink().clock()
    }

    #[inline(always)]
    fn given(&self, ring: OwnRing<'_>, reserved: ReservedRecord<'_, PackedSize>) -> ForC {
        let (entry, bits) = reserved.into_inner().into_raw();
        for_c(entry.as_ptr().cast(), token(ring, bits))
    }

    #[cold]
    fn refused(&self, ring: OwnRing<'_>, why: ReserveError) {
        self.sink().refused(&ring, why);
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
/// `inst` as it was given to [`rtrace_test_reserve`], the others as that returned them, and `entry`
/// is not null; preemption is still disabled.
#[no_mangle]
unsafe extern "C" fn rtrace_test_commit(
    inst: &Instance,
    _entry: *mut c_void,
    token: u64,
    pin: PinRef<'_>,
) {
    let sink = inst.sink();
    let (place, _) = RingPlace::of_token(token);
    // SAFETY: `rtrace_test_reserve` found it, in the rings of the same instance.
    let ring = unsafe { sink.buffers().rings().at(place, pin) };
    // SAFETY: The last reservation in this ring that is not over is the one of the caller.
    match unsafe { commit_last(ring) } {
        Ok(_) => sink.waker().published(),
        Err(Unfinished::Inside(inside)) => commit_inside(inst, inside),
        Err(Unfinished::Early(early)) => commit_again(inst, early),
    }
}

/// Takes the slow path out of the ring, which the writer has not left.
#[cold]
#[inline(never)]
extern "C" fn commit_inside(inst: &Instance, inside: StillInside<OwnRing<'_>>) {
    inside.leave(inst.sink());
}

/// Takes the slow path out of the ring, which the writer has left too early.
#[cold]
#[inline(never)]
extern "C" fn commit_again(inst: &Instance, early: LeftEarly<OwnRing<'_>>) {
    early.leave(inst.sink());
}

/// Gives what was reserved up.
///
/// # Safety
///
/// As for [`rtrace_test_commit`].
#[no_mangle]
unsafe extern "C" fn rtrace_test_discard(
    inst: &Instance,
    entry: *mut c_void,
    token: u64,
    pin: PinRef<'_>,
) {
    // SAFETY: `entry` and `token` are of a reservation in this instance that is not over.
    unsafe { give_up(inst.sink(), pin, entry, token) };
}

/// Returns the time by the clock of the instance, a handle from [`rtrace_test_open`] that is not closed.
/// Any context, NMI included, with preemption disabled.
#[no_mangle]
extern "C" fn rtrace_test_clock(inst: &Instance) -> u64 {
    clock::read(inst.sink().clock())
}

/// Consumes all unread events of `cpu`, one by one as `trace_pipe` does. Returns how many, or an error.
/// Process context; `inst` is a handle from [`rtrace_test_open`] that is not closed.
#[no_mangle]
extern "C" fn rtrace_test_consume(inst: &Instance, cpu: c_uint) -> c_long {
    from_result(|| consume(inst, cpu))
}

fn consume(inst: &Instance, cpu: u32) -> Result<c_long> {
    let mut consumer = Consumer::new(cpu);
    let mut events: c_long = 0;
    while consumer.look(inst.buffers())? {
        while consumer.stamp().is_some() && consumer.take(inst.buffers()) {
            events = events.wrapping_add(1);
        }
    }
    Ok(events)
}

/// Consumes all unread events of `cpu` by sub-buffers, as a `read` of `trace_pipe_raw` does. Returns
/// how many sub-buffers, or an error. Process context; `inst` is a handle from [`rtrace_test_open`] that
/// is not closed.
#[no_mangle]
extern "C" fn rtrace_test_read_pages(inst: &Instance, cpu: c_uint) -> c_long {
    from_result(|| {
        let mut image = Image::none();
        let mut pages: c_long = 0;
        while inst
            .buffers()
            .raw_read(Buf::Live, cpu, &mut image, usize::MAX)?
            == PartialTake::Taken
        {
            pages = pages.wrapping_add(1);
        }
        Ok(pages)
    })
}
