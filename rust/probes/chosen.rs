// SPDX-License-Identifier: GPL-2.0

//! The events of files that do not record everything: the tasks of others are left out, and the filter is
//! asked.
//!
//! What a filter is to be asked about is filled beside the ring ([`scratch`]), and most of it ends there
//! by one number ([`Filter::may_match`]), before even its common fields are made. What is let through then
//! goes into the ring as any other event. When the place beside the ring is in use, the record is filled
//! in the ring and given up there if need be.

#![allow(improper_ctypes_definitions, reason = "see `ForC`")]

use super::{
    entry::{
        commit_plain,
        commit_reserved,
        end,
        TOKEN_ASK,
        TOKEN_SCRATCH, //
    },
    fill_common,
    filter::Filter,
    for_c,
    steps::parts,
    ways::{
        reserve_by_other,
        reserve_in, //
    },
    Choice,
    EventFile,
    ForC,
    COMMON,
    NOTHING, //
};
use crate::{
    buffers::Place,
    kapi::{
        clock,
        percpu::CpuPin,
        scratch, //
    },
    ring::packed::PackedSize, //
};
use kernel::prelude::*;

/// As [`super::entry::rtrace_reserve`], for a file that does not take all events, or in a broken ring.
///
/// # Safety
///
/// As there.
#[inline(never)]
pub(super) unsafe extern "C" fn reserve_chosen(file: &EventFile, size: PackedSize) -> ForC {
    match file.choice() {
        Choice::Filtered(places) => {
            // SAFETY: By the contract.
            let pin = unsafe { CpuPin::assume() };
            if let Some(entry) = places.begin(&pin, size) {
                return for_c(entry.as_ptr(), TOKEN_SCRATCH);
            }
        }
        // SAFETY: By the contract.
        Choice::All => return unsafe { reserve_wanted(file, size) },
        Choice::Some => {}
    }
    // SAFETY: By the contract.
    unsafe { reserve_some(file, size) }
}

/// As [`reserve_chosen`], when there is not only a filter, or its place is in use.
///
/// # Safety
///
/// As there.
#[inline(never)]
unsafe extern "C" fn reserve_some(file: &EventFile, size: PackedSize) -> ForC {
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    if file.ignores(&pin) {
        return NOTHING;
    }
    if !file.has_filter() {
        // SAFETY: By the contract.
        return unsafe { reserve_wanted(file, size) };
    }
    let places = scratch::Places::get();
    if let Some(entry) = places.and_then(|places| places.begin(&pin, size)) {
        return for_c(entry.as_ptr(), TOKEN_SCRATCH);
    }
    // SAFETY: By the contract.
    match parts(unsafe { reserve_wanted(file, size) }) {
        Some((entry, token)) => for_c(entry.as_ptr(), token | TOKEN_ASK),
        None => NOTHING,
    }
}

/// Reserves a record that is wanted.
///
/// # Safety
///
/// As for [`reserve_chosen`].
#[inline(always)]
unsafe fn reserve_wanted(file: &EventFile, size: PackedSize) -> ForC {
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    let ring = file.ring(&pin);
    let gate = ring.gate();
    // SAFETY: By the contract; `Instance` leaves nothing else there.
    unsafe {
        match clock::Here::left(gate) {
            Some(clock) => reserve_in(file, size, ring, || clock.now()),
            None => reserve_by_other(file, size, ring, gate),
        }
    }
}

/// As [`super::entry::rtrace_commit`], for a record that the filter is to be asked about, or that has more
/// in front of its payload than a header.
///
/// # Safety
///
/// As there.
#[inline(never)]
pub(super) unsafe extern "C" fn commit_marked(file: &EventFile, entry: *mut c_void, token: u64) {
    if token != TOKEN_SCRATCH {
        // SAFETY: By the contract.
        return unsafe { commit_reserved(file, entry, token) };
    }
    if let Some(filter) = file.filter() {
        // SAFETY: By the contract, and the token says so.
        let record = unsafe { scratch::Record::filled(entry) };
        if !filter.may_match(&record) {
            record.end();
            // SAFETY: By the contract.
            return unsafe { end() };
        }
        if !filter.is_one_number() {
            // SAFETY: By the contract; what looked at the entry is over.
            return unsafe { commit_asked(file, entry, filter) };
        }
    }
    // Without a filter it was taken away a moment ago: everything is wanted.
    // SAFETY: By the contract; what looked at the entry is over.
    unsafe { commit_wanted(file, entry) };
}

/// Records what was filled beside the ring, if all of the filter lets it through. The [`end`].
///
/// # Safety
///
/// As for [`super::entry::rtrace_commit`]; `entry` is beside the ring.
#[inline(never)]
unsafe extern "C" fn commit_asked(file: &EventFile, entry: *mut c_void, filter: &Filter) {
    // SAFETY: By the contract.
    let (pin, mut record) = unsafe { (CpuPin::assume(), scratch::Record::filled(entry)) };
    fill_common(record.bytes(), file.base);
    if !filter.matches(&pin, record.bytes()) {
        record.end();
        // SAFETY: By the contract.
        return unsafe { end() };
    }
    // SAFETY: By the contract; what looked at the entry is over.
    unsafe { commit_wanted(file, entry) };
}

/// Records what was filled beside the ring. The [`end`].
///
/// # Safety
///
/// As for [`super::entry::rtrace_commit`]; `entry` is beside the ring.
#[inline(never)]
unsafe extern "C" fn commit_wanted(file: &EventFile, entry: *mut c_void) {
    // SAFETY: By the contract.
    let record = unsafe { scratch::Record::filled(entry) };
    // SAFETY: By the contract; the commit is below.
    let reserved = unsafe { reserve_wanted(file, record.size()) };
    let Some((to, token)) = parts(reserved) else {
        record.end();
        // SAFETY: By the contract.
        return unsafe { end() };
    };
    // SAFETY: As many bytes as those of the record were reserved just now.
    unsafe { record.copy_behind::<COMMON>(to.as_ptr().cast()) };
    record.end();
    if Place::of_token(token).1 != 0 {
        // SAFETY: As returned by the reservation; preemption is still disabled.
        return unsafe { commit_reserved(file, to.as_ptr(), token) };
    }
    // SAFETY: As above, and the token has no bits.
    unsafe { commit_plain(file, token) };
}
