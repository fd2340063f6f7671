// SPDX-License-Identifier: GPL-2.0

//! The events of files with one trigger that needs nothing but words of the record, while all of them are recorded.
//!
//! The trigger looks at such a record in the ring, once the probe has filled it. One that the ring refuses is filled
//! beside it, for the trigger alone; what it is refused for was counted then.

use super::{
    chosen::reserve_for,
    entry::{
        commit_plain,
        TOKEN_ASK,
        TOKEN_IN_PLACE,
        TOKEN_REFUSED, //
    },
    exit::Exit,
    fastcall::{
        for_c,
        CReservation, //
    },
    given::given,
    triggered::{
        commit_judged,
        commit_refused,
        missed,
        reserve_triggered, //
    },
    ways::{
        Caller,
        ReservedRecord, //
    },
    EventFile,
    RecordSize, //
};
use crate::{
    buffers::{
        rings::OwnRing,
        RingPlace, //
    },
    kapi::{
        percpu::PinRef,
        scratch, //
    },
    ring::{
        packed::PackedSize,
        writer::ReserveError, //
    },
    text::clock::ClockId, //
};
use core::ptr;
use kernel::prelude::*;

/// As [`super::entry::rtrace_reserve`], for such a file.
#[inline(never)]
pub(super) extern "C" fn reserve_in_place(
    file: &EventFile,
    size: RecordSize,
    ring: OwnRing<'_>,
) -> CReservation {
    let (packed, least) = (PackedSize::from(size), file.least_size());
    // Most have no strings and arrays of any length.
    let is_long_enough = packed == least || packed.payload() >= least.payload();
    if file.is_off() || !is_long_enough {
        return reserve_triggered(file, size, ring.pin());
    }
    reserve_for(MarkedFile::of(file), size, ring)
}

/// A file that gives its reservations [`TOKEN_IN_PLACE`].
#[repr(transparent)]
struct MarkedFile(EventFile);

impl MarkedFile {
    /// Returns `file` as one.
    #[inline(always)]
    fn of(file: &EventFile) -> &Self {
        // SAFETY: It is nothing but a file, and borrowed for as long.
        unsafe { &*ptr::from_ref(file).cast() }
    }
}

impl Caller for MarkedFile {
    type Size = RecordSize;

    #[inline(always)]
    fn clock(&self) -> ClockId {
        self.0.clock()
    }

    #[inline(always)]
    fn given(&self, ring: OwnRing<'_>, reserved: ReservedRecord<'_, RecordSize>) -> CReservation {
        given::<TOKEN_IN_PLACE>(&self.0, ring, reserved)
    }

    #[cold]
    fn refused(&self, ring: OwnRing<'_>, why: ReserveError) {
        self.0.refused(ring, why);
    }

    #[inline(always)]
    fn follows_refusals(&self) -> bool {
        self.0.follows_refusals()
    }

    #[inline(always)]
    fn instead(&self, size: RecordSize, ring: OwnRing<'_>) -> CReservation {
        reserve_beside(&self.0, size, ring.pin())
    }
}

/// As [`reserve_in_place`], when the ring has refused the record.
#[inline(never)]
extern "C" fn reserve_beside(file: &EventFile, size: RecordSize, pin: PinRef<'_>) -> CReservation {
    match scratch::begin_at_any_level(pin.pin(), size.into()) {
        Some(entry) => for_c(entry.as_ptr(), TOKEN_REFUSED),
        None => missed(file, pin),
    }
}

/// A record in the ring that the probe has filled.
///
/// # Invariants
///
/// - `entry` and `token` are those of the last reservation on this CPU that is not over, in the rings of its file.
/// - It has as many bytes as the [`EventFile::least_size`] of that.
pub(crate) struct FilledRecord {
    entry: *mut c_void,
    token: u64,
}

impl FilledRecord {
    /// Returns what reads its words.
    ///
    /// # Safety
    ///
    /// None is read that ends after the [`EventFile::least_size`] of its file.
    #[inline(always)]
    pub(crate) unsafe fn words(&self) -> scratch::RecordWords<'_> {
        // SAFETY: So many bytes are there (invariant), and only read until its reservation is over, which takes it. The
        // caller promises the rest.
        unsafe { scratch::RecordWords::of_bytes(self.entry) }
    }

    /// Makes it final, and ends the event.
    #[inline(always)]
    pub(crate) fn commit(self, file: &EventFile, exit: Exit) {
        // SAFETY: It is that of this record, which ends here.
        unsafe { commit_in_place(file, self.token, exit) };
    }

    /// Does the same after all triggers have looked at it; what they say counts.
    #[inline(always)]
    pub(crate) fn commit_judged(self, file: &EventFile, exit: Exit) {
        let token = self.token & !TOKEN_IN_PLACE | TOKEN_ASK;
        // SAFETY: They are those of such a reservation (invariant).
        unsafe { commit_judged(file, self.entry, token, exit) };
    }
}

/// Makes the record of `token` final.
///
/// # Safety
///
/// It is that of a [`FilledRecord`] of `file`.
#[inline(never)]
unsafe extern "C" fn commit_in_place(file: &EventFile, token: u64, exit: Exit) {
    let (place, _) = RingPlace::of_token(token);
    // SAFETY: It is the place of such a reservation, as the caller promises, without the bits.
    unsafe { commit_plain(file, place.word(), exit) };
}

/// As [`super::entry::rtrace_commit`], for a record of such a file.
///
/// # Safety
///
/// As for [`super::entry::commit_reserved`]; `token` has [`TOKEN_IN_PLACE`].
#[inline(always)]
pub(super) unsafe fn commit_marked_in_place(
    file: &EventFile,
    entry: *mut c_void,
    token: u64,
    exit: Exit,
) {
    if token == TOKEN_REFUSED {
        // SAFETY: The token says that the record is beside the ring, and the probe has filled it.
        return commit_refused(file, unsafe { scratch::Record::filled(entry) }, exit);
    }
    // INVARIANT: The caller promises the reservation. `reserve_in_place` has looked at its size.
    let record = FilledRecord { entry, token };
    match file.trigger_in_place() {
        Some(trigger) if trigger.is_unlimited() => trigger.end_in_place(record, file, exit),
        _ => record.commit_judged(file, exit),
    }
}
