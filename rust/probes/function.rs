// SPDX-License-Identifier: GPL-2.0

//! The hook: the kernel calls it at the beginning of functions, in any context, NMI included.
//!
//! It looks up the instances that the function is traced for and records the function and its caller for
//! each. Nothing that it calls is a function that can be traced, so it does not meet itself; a guest test
//! compares the two lists.

use super::{
    exit::{
        leave,
        Exit, //
    },
    given::fill_common,
    Sink,
    COMMON,
    OWN, //
};
use crate::{
    buffers::rings::OwnRing,
    event::{
        context::Base,
        format, //
    },
    functions::table::{
        self,
        Place, //
    },
    kapi::{
        clock,
        grace_ref::GraceRef,
        percpu,
        port::Kernel, //
    },
    ring::{
        cpu::GateWord,
        packed::PackedSize,
        reservation::Reservation,
        writer::FastReserve, //
    }, //
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// The bytes of a record: the common fields, the function, and its caller.
const LEN: usize = COMMON + 16;
const SIZE: PackedSize = PackedSize::new(LEN);
const BASE: Base = Base::new(format::FUNCTION.id, OWN);

/// The most instances that trace functions at a time.
pub(crate) const MOST_TARGETS: usize = u64::BITS as usize;

/// An instance that functions are recorded for.
///
/// # Invariants
///
/// The sink stays until no [`Dispatch`] that was published has the target, and the hooks that may have
/// found it have ended.
pub(crate) struct FunctionTarget(NonNull<Sink>);

// SAFETY: It is a reference to a `Sync` value.
unsafe impl Send for FunctionTarget {}
// SAFETY: It is a reference to a `Sync` value.
unsafe impl Sync for FunctionTarget {}

impl FunctionTarget {
    /// Returns the target that records into `sink`.
    ///
    /// # Safety
    ///
    /// The sink stays as the invariant of the type says.
    pub(crate) unsafe fn new(sink: &Sink) -> Self {
        // INVARIANT: The caller promises that.
        Self(sink.into())
    }

    /// Returns another target that records into the same sink.
    ///
    /// # Safety
    ///
    /// As for [`Self::new`].
    pub(crate) unsafe fn again(&self) -> Self {
        // INVARIANT: The caller promises that.
        Self(self.0)
    }

    /// Returns whether it records into `sink`.
    pub(crate) fn is(&self, sink: &Sink) -> bool {
        self.0 == sink.into()
    }

    #[inline(always)]
    fn sink(&self) -> &Sink {
        // SAFETY: The sink stays while a hook may find the target (invariant).
        unsafe { self.0.as_ref() }
    }
}

/// For whom functions are recorded.
#[derive(Default)]
pub(crate) struct Dispatch {
    /// At most [`MOST_TARGETS`].
    pub(crate) targets: KVec<FunctionTarget>,
    /// One bit for each target that wants every function.
    pub(crate) always: u64,
    /// What the others want; empty when there is one target alone that wants whatever calls the hook.
    pub(crate) table: KVVec<Place>,
}

impl Dispatch {
    /// Calls `record` for each target that wants the function at `address`.
    #[inline(always)]
    fn for_each(&self, address: u64, mut record: impl FnMut(&Sink)) {
        if self.table.is_empty() {
            if let Some(target) = self.targets.first() {
                record(target.sink());
            }
            return;
        }
        let mut wanted = self.always | table::tracers(&self.table, address);
        while wanted != 0 {
            let target = self.targets.get(wanted.trailing_zeros() as usize);
            wanted &= wanted.wrapping_sub(1);
            if let Some(target) = target {
                record(target.sink());
            }
        }
    }
}

/// What the hook follows.
static DISPATCH: GraceRef<Dispatch> = GraceRef::none();

/// Has the hook follow `dispatch` from now on. Hooks that began before may still follow the one before it.
///
/// # Safety
///
/// `dispatch` stays until another one, or none, was set and all hooks that began before have ended.
pub(crate) unsafe fn set_dispatch(dispatch: Option<&Dispatch>) {
    // SAFETY: The caller promises to keep it as long as a hook may have got it.
    unsafe { DISPATCH.set(dispatch) };
}

/// Records that the function at `address` was called from `caller`.
///
/// # Safety
///
/// Called by the kernel at the beginning of a function.
#[no_mangle]
unsafe extern "C" fn rtrace_function(
    address: u64,
    caller: u64,
    _ops: *mut c_void,
    _regs: *mut c_void,
) {
    percpu::disable_preemption();
    // SAFETY: Preemption was disabled just now, and nothing else enables it.
    let exit = unsafe { Exit::new() };
    if let Some(dispatch) = DISPATCH.get() {
        dispatch.for_each(address, |sink| {
            let ring = sink.buffers().rings().this(exit.pin());
            record(sink, ring, [address, caller]);
        });
    }
    exit.end();
}

/// Records a function and its caller into `ring`, one of `sink`.
///
/// This is the fast path, as in [`entry`](super::entry).
#[inline(always)]
fn record(sink: &Sink, ring: OwnRing<'_>, addresses: [u64; 2]) {
    let gate = ring.gate();
    // SAFETY: `Instance` leaves nothing with the highest bit in gates but the words of such clocks.
    let Some(clock) = (unsafe { clock::Here::left(gate) }) else {
        return record_closer(sink, ring, gate, addresses);
    };
    match ring.writer().reserve_fast(LEN, SIZE, || clock.now()) {
        Some(reserved) => finish(sink, ring, reserved, addresses),
        None => record_inside(sink, ring, addresses),
    }
}

/// Fills and commits.
#[inline(always)]
fn finish(
    sink: &Sink,
    ring: OwnRing<'_>,
    mut reserved: Reservation<'_, Kernel>,
    addresses: [u64; 2],
) {
    fill(reserved.payload(), addresses);
    let (_, bits) = reserved.into_raw();
    debug_assert_eq!(bits, 0);
    // SAFETY: The last reservation in this ring that is not over was made by the fast path just now, so
    // that it has nothing but a header before its payload.
    match unsafe { ring.writer().commit_fast() } {
        Ok(()) if sink.waker().is_quiet() => {}
        Ok(()) => sink.waker().published(),
        // SAFETY: The fast path out of this ring said so just now.
        Err(outcome) => unsafe { leave(sink, ring, outcome) },
    }
}

/// Fills a record.
#[inline(always)]
fn fill(record: &mut [u8], addresses: [u64; 2]) {
    let Some(record) = record.first_chunk_mut::<LEN>() else {
        return;
    };
    fill_common(record, BASE);
    let rest = record.get_mut(COMMON..).unwrap_or_default();
    for (place, address) in rest.chunks_exact_mut(8).zip(addresses) {
        place.copy_from_slice(&address.to_ne_bytes());
    }
}

/// As [`record`], where recording is off or the clock has no place in the gate, which is that of `ring`.
#[inline(never)]
extern "C" fn record_closer(sink: &Sink, ring: OwnRing<'_>, gate: GateWord, addresses: [u64; 2]) {
    if gate.is_disabled() && !gate.is_broken() {
        return;
    }
    let reserved = ring.writer().reserve(LEN, || clock::read(sink.clock()));
    put(sink, ring, reserved, addresses);
}

/// As [`record`], where the fast path has declined once it had entered.
#[cold]
#[inline(never)]
extern "C" fn record_inside(sink: &Sink, ring: OwnRing<'_>, addresses: [u64; 2]) {
    let time = || clock::read(sink.clock());
    let reserved = ring.writer().reserve_slow(LEN, FastReserve::Entered, time);
    put(sink, ring, reserved, addresses);
}

/// Fills and commits what was reserved, or notes why it was refused.
#[inline(always)]
fn put(
    sink: &Sink,
    ring: OwnRing<'_>,
    reserved: Result<Reservation<'_, Kernel>, crate::ring::writer::ReserveError>,
    addresses: [u64; 2],
) {
    match reserved {
        Ok(mut reserved) => {
            fill(reserved.payload(), addresses);
            sink.left(&ring, reserved.commit());
        }
        Err(why) => sink.refused(&ring, why),
    }
}
