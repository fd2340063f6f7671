// SPDX-License-Identifier: GPL-2.0

//! The events of files that do not record everything: tasks that are not listed are left out, and the filter
//! is asked.
//!
//! A record about which a filter is asked is filled beside the ring ([`scratch`]), and most of it ends there
//! by one number ([`Filter::may_match`]) or one string ([`Filter::by_text`]), before even its common fields
//! are made. What is let through then goes into the ring as any other event. When the place beside the ring
//! is in use, the record is filled in the ring and given up there if need be. Files with triggers go their
//! own way: [`triggered`](super::triggered).

use super::{
    entry::{
        commit_plain,
        commit_reserved,
        TOKEN_ASK,
        TOKEN_SCRATCH, //
    },
    exit::Exit,
    fastcall::{
        for_c,
        parts,
        CReservation,
        NOTHING, //
    },
    fill_common,
    filter::Filter,
    in_place::reserve_in_place,
    triggered::{
        commit_light,
        commit_triggered,
        commit_unjudged,
        reserve_triggered, //
    },
    ways::{
        reserve_by_other,
        reserve_in,
        Caller, //
    },
    EventFile,
    RecordChoice,
    RecordSize,
    COMMON, //
};
use crate::{
    buffers::{
        rings::OwnRing,
        RingPlace, //
    },
    kapi::{
        clock,
        grace_either::Either,
        percpu::PinRef,
        scratch, //
    }, //
};
use core::hint::black_box;
use kernel::prelude::*;

/// As [`super::entry::rtrace_reserve`], for a file that does not take all events, or in a broken ring.
#[inline(never)]
pub(super) extern "C" fn reserve_chosen(
    file: &EventFile,
    size: RecordSize,
    ring: OwnRing<'_>,
) -> CReservation {
    match file.choice() {
        RecordChoice::Filtered(places) => match places.begin(ring.pin().pin(), size.into()) {
            Some(entry) => return for_c(entry.as_ptr(), TOKEN_SCRATCH),
            None => return reserve_busy(file, size, ring.pin()),
        },
        RecordChoice::InPlace => return reserve_in_place(file, size, ring),
        RecordChoice::Triggered => return reserve_triggered(file, size, ring.pin()),
        RecordChoice::Some => return reserve_some(file, size, ring.pin()),
        RecordChoice::All => {}
    }
    reserve_all(file, size, ring)
}

/// As [`reserve_chosen`], for a file that takes all events: in a broken ring, or when it did not a moment ago.
#[cold]
#[inline(never)]
extern "C" fn reserve_all(file: &EventFile, size: RecordSize, ring: OwnRing<'_>) -> CReservation {
    // Or the compiler would see that this is a jump and make it elsewhere.
    black_box(reserve_for(file, size, ring))
}

/// As [`reserve_chosen`], when the place is in use.
#[inline(never)]
extern "C" fn reserve_busy(file: &EventFile, size: RecordSize, pin: PinRef<'_>) -> CReservation {
    match file.is_triggered() {
        true => reserve_triggered(file, size, pin),
        false => reserve_some(file, size, pin),
    }
}

/// As [`reserve_chosen`], when there is not only a filter, or its place is in use.
#[inline(never)]
extern "C" fn reserve_some(file: &EventFile, size: RecordSize, pin: PinRef<'_>) -> CReservation {
    if file.ignores(pin) {
        return NOTHING;
    }
    if !file.has_filter() {
        return reserve_wanted(file, size, pin);
    }
    let places = scratch::Places::get();
    if let Some(entry) = places.and_then(|places| places.begin(pin.pin(), size.into())) {
        return for_c(entry.as_ptr(), TOKEN_SCRATCH);
    }
    match parts(reserve_wanted(file, size, pin)) {
        Some((entry, token)) => for_c(entry.as_ptr(), token | TOKEN_ASK),
        None => NOTHING,
    }
}

/// Reserves a record that is wanted.
#[inline(always)]
pub(super) fn reserve_wanted(file: &EventFile, size: RecordSize, pin: PinRef<'_>) -> CReservation {
    reserve_for(file, size, file.ring(pin))
}

/// Reserves a record for `file` in one of its rings.
#[inline(always)]
pub(super) fn reserve_for<C: Caller>(file: &C, size: C::Size, ring: OwnRing<'_>) -> CReservation {
    let gate = ring.gate();
    match clock::InlineClock::left(gate) {
        Some(clock) => reserve_in(file, size, ring, || clock.now()),
        None => reserve_by_other(file, size, ring, gate),
    }
}

/// As [`super::entry::rtrace_commit`], for a record about which the filter is asked, or that has more than
/// a header before its payload.
///
/// # Safety
///
/// `entry` and `token` are what [`super::entry::rtrace_reserve`] returned for `file`, of a record that is
/// not over.
#[inline(never)]
pub(super) unsafe extern "C" fn commit_marked(
    file: &EventFile,
    entry: *mut c_void,
    token: u64,
    exit: Exit,
) {
    if token != TOKEN_SCRATCH {
        // SAFETY: The token says that the record is in the ring.
        return unsafe { commit_reserved(file, entry, token, exit) };
    }
    // SAFETY: The token says that the record is beside the ring, and the probe has filled it.
    let record = unsafe { scratch::Record::filled(entry) };
    let filter = match file.gate() {
        Either::First(filter) => filter,
        Either::Second(trigger) => return commit_light(file, record, trigger, exit),
        Either::None => return commit_ungated(file, record, exit),
    };
    if !filter.may_match(&record) {
        record.end();
        return exit.end();
    }
    if !filter.is_one_number() {
        return commit_asked(file, record, filter, exit);
    }
    commit_wanted(file, record, exit);
}

/// Goes on with what was filled beside the ring, of a file that nothing is asked for first: it has triggers,
/// or its filter was taken away a moment ago and everything is wanted.
#[inline(never)]
extern "C" fn commit_ungated(file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
    let Some(filter) = file.sole_filter() else {
        return commit_triggered(file, record, exit);
    };
    if filter.may_match(&record) {
        return commit_triggered(file, record, exit);
    }
    if !file.is_off() {
        return commit_unjudged(file, record, exit);
    }
    record.end();
    exit.end();
}

/// Records what was filled beside the ring, if the filter lets it through.
#[inline(never)]
pub(super) extern "C" fn commit_asked(
    file: &EventFile,
    record: scratch::Record<'_>,
    filter: &Filter,
    exit: Exit,
) {
    match filter.by_text(&record) {
        Some(true) => commit_wanted(file, record, exit),
        Some(false) => {
            record.end();
            exit.end();
        }
        None => commit_judged_by_all(file, record, filter, exit),
    }
}

/// As [`commit_asked`], if all of the filter lets it through.
#[inline(never)]
extern "C" fn commit_judged_by_all(
    file: &EventFile,
    mut record: scratch::Record<'_>,
    filter: &Filter,
    exit: Exit,
) {
    fill_common(record.bytes(), file.base);
    if !filter.matches(exit.pin().pin(), record.bytes()) {
        record.end();
        return exit.end();
    }
    commit_wanted(file, record, exit);
}

/// Records what was filled beside the ring.
#[inline(never)]
pub(super) extern "C" fn commit_wanted(file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
    // SAFETY: `Places::begin` was asked for a `RecordSize`: by the functions above, and by no other.
    let size = unsafe { RecordSize::of_record(record.size()) };
    let Some((to, token)) = parts(reserve_wanted(file, size, exit.pin())) else {
        record.end();
        return exit.end();
    };
    // SAFETY: As many bytes as those of the record were reserved just now.
    unsafe { record.copy_behind::<COMMON>(to.as_ptr().cast()) };
    record.end();
    if RingPlace::of_token(token).1 != 0 {
        // SAFETY: The reservation was made just now, and is in the ring.
        return unsafe { commit_reserved(file, to.as_ptr(), token, exit) };
    }
    // SAFETY: The reservation was made just now, and its token has no bits beside the place.
    unsafe { commit_plain(file, token, exit) };
}
