// SPDX-License-Identifier: GPL-2.0

//! The events of files that do not record everything: the tasks of others are left out, and the filter is
//! asked.
//!
//! What a filter is to be asked about is filled beside the ring ([`scratch`]), and most of it ends there
//! by one number ([`Filter::may_match`]), before even its common fields are made. What is let through then
//! goes into the ring as any other event. When the place beside the ring is in use, the record is filled
//! in the ring and given up there if need be.

use super::{
    entry::{
        commit_reserved,
        reserve_here,
        reserve_wanted,
        rtrace_commit,
        OWN,
        TOKEN_ASK,
        TOKEN_SCRATCH, //
    },
    fill_common,
    filter::Filter,
    EventFile,
    COMMON,
    NOTHING, //
};
use crate::kapi::{
    c::rt_reserved,
    percpu::CpuPin,
    scratch, //
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// As [`super::entry::rtrace_reserve`], for a file that does not take all events.
///
/// # Safety
///
/// As there.
#[inline(never)]
pub(super) unsafe extern "C" fn reserve_chosen(file: &EventFile, size: u64) -> rt_reserved {
    if let Some(places) = file.only_filtered() {
        // SAFETY: By the contract.
        let pin = unsafe { CpuPin::assume() };
        // SAFETY: By the contract.
        if let Some(entry) = unsafe { places.begin(&pin, size) } {
            return in_scratch(entry);
        }
    }
    // SAFETY: By the contract.
    unsafe { reserve_looked_at(file, size) }
}

/// What C gets of a place beside the ring.
#[inline(always)]
fn in_scratch(entry: NonNull<c_void>) -> rt_reserved {
    rt_reserved {
        entry: entry.as_ptr(),
        token: TOKEN_SCRATCH,
    }
}

/// As [`reserve_chosen`], when there is more than a filter, or its place is in use.
///
/// # Safety
///
/// As there.
#[inline(never)]
unsafe extern "C" fn reserve_looked_at(file: &EventFile, size: u64) -> rt_reserved {
    // SAFETY: By the contract.
    let pin = unsafe { CpuPin::assume() };
    if file.ignores(&pin) {
        return NOTHING;
    }
    let mut ask = 0;
    if file.has_filter() {
        if let Some(places) = scratch::Places::get() {
            // SAFETY: By the contract.
            if let Some(entry) = unsafe { places.begin(&pin, size) } {
                return in_scratch(entry);
            }
        }
        ask = TOKEN_ASK;
    }
    // SAFETY: By the contract.
    let rt_reserved { entry, token } = unsafe { reserve_wanted(file, size) };
    rt_reserved {
        entry,
        token: token | ask,
    }
}

/// As [`rtrace_commit`], for a record that the filter is to be asked about, or that has more in front of
/// its payload than a header.
///
/// # Safety
///
/// As for [`rtrace_commit`].
#[inline(never)]
pub(super) unsafe extern "C" fn commit_marked(file: &EventFile, entry: *mut c_void, token: u64) {
    if token != TOKEN_SCRATCH {
        // SAFETY: By the contract.
        return unsafe { commit_reserved(file, entry, token) };
    }
    // Without a filter it was taken away a moment ago: everything is wanted.
    let filter = file.filter();
    if let Some(filter) = filter {
        // SAFETY: By the contract, and the token says so.
        let record = unsafe { scratch::Record::filled(entry) };
        if !filter.may_match(&record) {
            return record.end();
        }
    }
    // SAFETY: By the contract, and the token says so; what looked at it is over.
    unsafe { commit_scratch(file, entry, filter) };
}

/// Records what was filled beside the ring and may be let through, if the rest of the filter says so.
///
/// # Safety
///
/// As for [`rtrace_commit`]; `entry` is beside the ring.
#[inline(never)]
unsafe extern "C" fn commit_scratch(file: &EventFile, entry: *mut c_void, filter: Option<&Filter>) {
    // SAFETY: By the contract.
    let mut record = unsafe { scratch::Record::filled(entry) };
    if filter.is_some_and(|filter| !filter.is_one_number() && !passes(filter, file, record.bytes()))
    {
        return record.end();
    }
    // SAFETY: Preemption is disabled, and the size is that of the record; the commit is below.
    let reserved = unsafe { reserve_here(file, record.size()) };
    if reserved.entry.is_null() {
        return record.end();
    }
    // SAFETY: As many bytes as those of the record were reserved just now.
    unsafe { record.copy_behind::<COMMON>(reserved.entry.cast()) };
    record.end();
    // SAFETY: As returned by the reservation; preemption is still disabled.
    unsafe { rtrace_commit(file.cookie(), reserved.entry, reserved.token) };
}

/// Is a record let through whose common fields are not filled?
#[inline(never)]
fn passes(filter: &Filter, file: &EventFile, record: &mut [u8]) -> bool {
    // SAFETY: Only `commit_scratch` calls this.
    let pin = unsafe { CpuPin::assume() };
    fill_common(record, file.id, OWN);
    filter.matches(&pin, record)
}
