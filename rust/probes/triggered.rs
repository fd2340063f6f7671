// SPDX-License-Identifier: GPL-2.0

//! The events of files that have triggers, or that triggers of other events switch.
//!
//! Such a record is filled beside the ring, whether recording is on or not. The triggers look at it there;
//! what is to be recorded after that goes into the ring by the slow path. There is a place beside the ring
//! for each level of nesting; when all are in use, the record is filled in the ring. Where that refuses it as well
//! the triggers are told, so that histograms count a drop.

use super::{
    chosen::{
        commit_asked,
        commit_wanted,
        reserve_wanted, //
    },
    entry::{
        follow,
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
    trigger::{
        PendingTriggers,
        RestOfTriggers,
        Trigger,
        TriggerList, //
    },
    EventFile,
    Hit,
    RecordSize,
    COMMON, //
};
use crate::{
    buffers::RingPlace,
    event::{
        context::Base,
        field, //
    },
    kapi::{
        c,
        context,
        grace_either::Either,
        percpu::{
            CpuPin,
            PinRef, //
        },
        scratch,
        stack::ProbeFrame, //
    },
    ring::{
        reservation::Reservation,
        writer::ReserveError, //
    }, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::prelude::*;

/// Where a record has the number of the task.
const PID_AT: usize = field::PID_AT as usize;

/// As [`super::entry::rtrace_reserve`], for a file that has triggers or that is switched by some.
#[inline(never)]
pub(super) extern "C" fn reserve_triggered(
    file: &EventFile,
    size: RecordSize,
    pin: PinRef<'_>,
) -> CReservation {
    if file.ignores(pin) {
        return NOTHING;
    }
    match file.triggers() {
        None => return reserve_switched(file, size, pin),
        Some(list) if list.is_early() => return reserve_early(file, size, pin, list),
        Some(_) => {}
    }
    let places = scratch::Places::get();
    match places.and_then(|places| places.begin(pin.pin(), size.into())) {
        Some(entry) => for_c(entry.as_ptr(), TOKEN_SCRATCH),
        None => reserve_nested(file, size, pin),
    }
}

/// The same, for a file without triggers: those of others switch it.
#[inline(never)]
extern "C" fn reserve_switched(
    file: &EventFile,
    size: RecordSize,
    pin: PinRef<'_>,
) -> CReservation {
    let gate = file.ring(pin).gate();
    if file.is_off() || gate.is_disabled() && !gate.is_broken() {
        return NOTHING;
    }
    reserve_nested(file, size, pin)
}

/// The same, for triggers that can act early.
#[inline(never)]
extern "C" fn reserve_early(
    file: &EventFile,
    size: RecordSize,
    pin: PinRef<'_>,
    list: &TriggerList,
) -> CReservation {
    if list.is_due(file) {
        return reserve_acting(file, size, pin);
    }
    match file.is_off() {
        true => NOTHING,
        false => reserve_on(file, size, pin),
    }
}

/// The same, when none of them has something to do.
#[inline(never)]
extern "C" fn reserve_on(file: &EventFile, size: RecordSize, pin: PinRef<'_>) -> CReservation {
    match file.has_filter() {
        true => reserve_nested(file, size, pin),
        false => reserve_wanted(file, size, pin),
    }
}

/// The same, when one of them may act.
#[inline(never)]
extern "C" fn reserve_acting(file: &EventFile, size: RecordSize, pin: PinRef<'_>) -> CReservation {
    let Some(list) = file.triggers().filter(|list| list.is_early()) else {
        return reserve_nested(file, size, pin);
    };
    let off = file.is_off();
    if !off && file.has_filter() {
        return reserve_nested(file, size, pin);
    }
    list.act(&Hit::new(pin, file));
    // As in `judge`.
    match off || file.is_off() {
        true => NOTHING,
        false => reserve_wanted(file, size, pin),
    }
}

/// The same, beside the ring at any level, or in it when all places are in use.
#[inline(never)]
extern "C" fn reserve_nested(file: &EventFile, size: RecordSize, pin: PinRef<'_>) -> CReservation {
    if let Some(entry) = scratch::begin_at_any_level(pin.pin(), size.into()) {
        return for_c(entry.as_ptr(), TOKEN_SCRATCH);
    }
    match parts(reserve_wanted(file, size, pin)) {
        Some((entry, token)) => for_c(entry.as_ptr(), token | TOKEN_ASK),
        None => missed(file, pin),
    }
}

/// Tells the triggers of an event that has no record: nothing is recorded of it.
#[cold]
#[inline(never)]
pub(super) extern "C" fn missed(file: &EventFile, pin: PinRef<'_>) -> CReservation {
    if let Some(list) = file.triggers() {
        list.miss(pin.pin());
    }
    NOTHING
}

/// Has the triggers that act early look at a whole record. Returns whether it is to be recorded, and the
/// triggers that act afterwards. `open` says whether recording was on when the event came.
#[inline(always)]
fn judge<'a>(hit: &Hit<'a>, record: &[u8], open: bool) -> (bool, PendingTriggers<'a>) {
    let file = hit.file;
    let off = file.is_off();
    let (pending, open, off) = match file.triggers() {
        None => (PendingTriggers::NONE, open, off),
        Some(list) => {
            let pending = list.before(hit, record);
            // As in ftrace: where no trigger asks about the record, recording can begin with this event, and
            // an event that switches itself on begins with its next one; else the other way round.
            match list.is_conditional() {
                true => (pending, open, file.is_off()),
                false => (pending, true, off || file.is_off()),
            }
        }
    };
    let kept = |filter: &super::Filter| filter.matches(hit.pin(), record);
    let wanted = open && !off && file.filter().is_none_or(kept);
    (wanted, pending)
}

/// As [`super::entry::rtrace_commit`], for a record beside the ring of such a file. The filter of its only trigger
/// lets the record through, or was not asked.
#[inline(never)]
pub(super) extern "C" fn commit_triggered(
    file: &EventFile,
    record: scratch::Record<'_>,
    exit: Exit,
) {
    match file.sole_trigger() {
        Some(trigger) if trigger.judges() => return commit_acting(file, record, exit),
        Some(trigger) => return commit_sole(file, record, trigger, exit),
        None => {}
    }
    match file.triggers() {
        Some(list) if list.is_light() => commit_all_light(file, record, list, exit),
        Some(list) if list.may_act(&record) => commit_acting(file, record, exit),
        _ => commit_unjudged(file, record, exit),
    }
}

/// The same, when a trigger may look for the callers of the probe.
#[inline(always)]
fn commit_with_callers(file: &EventFile, record: scratch::Record<'_>, _: Exit) {
    // SAFETY: It goes on in `rtrace_act` with this file and this record and, in place of the `Exit`, on this CPU.
    unsafe { c::rt_act(ptr::from_ref(file).cast(), record.into_entry()) }
}

/// Goes on with [`commit_with_callers`], by way of C, which knows the frame of the probe.
///
/// # Safety
///
/// As for [`super::entry::rtrace_commit`], for a record beside the ring. The probe has not returned.
#[no_mangle]
unsafe extern "C" fn rtrace_act(
    file: &EventFile,
    entry: *mut c_void,
    frame: &ProbeFrame,
    exit: Exit,
) {
    // SAFETY: It is that of the record that `commit_with_callers` had.
    let record = unsafe { scratch::Record::filled(entry) };
    act(&Hit::of_probe(exit.pin(), file, frame), record);
    exit.end();
}

/// The same, when no trigger acts.
#[inline(never)]
pub(super) extern "C" fn commit_unjudged(
    file: &EventFile,
    record: scratch::Record<'_>,
    exit: Exit,
) {
    let filter = file.filter();
    if file.is_off() || filter.is_some_and(|filter| !filter.may_match(&record)) {
        record.end();
        return exit.end();
    }
    match filter {
        None => commit_wanted(file, record, exit),
        Some(_) => commit_acting(file, record, exit),
    }
}

/// The same, for a file with one trigger, which acts on all records and lightly.
#[inline(always)]
pub(super) fn commit_light(
    file: &EventFile,
    record: scratch::Record<'_>,
    trigger: &Trigger,
    exit: Exit,
) {
    if !trigger.is_unlimited() {
        return commit_sole(file, record, trigger, exit);
    }
    trigger.end_lightly(file, record, exit);
}

/// Writes the one common field that triggers read which act lightly.
#[inline(always)]
pub(super) fn put_pid(record: &mut scratch::Record<'_>) {
    record.put::<PID_AT>(context::pid() as u32);
}

/// The same, for a file with several such triggers.
#[inline(never)]
extern "C" fn commit_all_light(
    file: &EventFile,
    mut record: scratch::Record<'_>,
    list: &TriggerList,
    exit: Exit,
) {
    put_pid(&mut record);
    let rest = list.act_lightly(file, record.to_read(), exit.pin());
    if !rest.is_empty() {
        return commit_rest(file, record, rest, exit);
    }
    commit_counted(file, record, exit);
}

/// The same, from one on that acts only so often.
#[inline(never)]
extern "C" fn commit_rest(
    file: &EventFile,
    mut record: scratch::Record<'_>,
    rest: RestOfTriggers<'_>,
    exit: Exit,
) {
    let bytes = record.bytes();
    fill_common(bytes, file.base);
    rest.act(&Hit::new(exit.pin(), file), bytes);
    commit_counted(file, record, exit);
}

/// The same, when the only trigger may act, which needs the record and decides nothing about the event.
#[inline(never)]
extern "C" fn commit_sole(
    file: &EventFile,
    mut record: scratch::Record<'_>,
    trigger: &Trigger,
    exit: Exit,
) {
    let bytes = record.bytes();
    fill_common(bytes, file.base);
    trigger.act_on(&Hit::new(exit.pin(), file), bytes);
    commit_counted(file, record, exit);
}

/// The same, after the trigger has acted, or all of them. Most such events are there for the triggers alone.
#[inline(always)]
pub(crate) fn commit_counted(file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
    if file.is_off() {
        record.end();
        return exit.end();
    }
    commit_on(file, record, exit);
}

/// The same, of an event that is recorded if recording is on.
#[inline(never)]
extern "C" fn commit_on(file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
    if file.ring(exit.pin()).gate().is_disabled() {
        record.end();
        return exit.end();
    }
    match file.filter() {
        None => commit_wanted(file, record, exit),
        Some(filter) => commit_asked(file, record, filter, exit),
    }
}

/// The same, when a trigger may act, or all of the filter is asked.
#[inline(never)]
extern "C" fn commit_acting(file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
    match file.triggers() {
        Some(list) if list.needs_callers() => commit_with_callers(file, record, exit),
        _ => commit_without_callers(file, record, exit),
    }
}

/// The same, when no trigger looks for the callers of the probe.
#[inline(never)]
extern "C" fn commit_without_callers(file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
    act(&Hit::new(exit.pin(), file), record);
    exit.end();
}

/// Has the triggers act, and records the event if it is wanted.
#[inline(always)]
fn act(hit: &Hit<'_>, mut record: scratch::Record<'_>) {
    let (file, pin) = (hit.file, hit.pin());
    fill_common(record.bytes(), file.base);
    let open = !file.ring(pin.by_value()).gate().is_disabled();
    let (wanted, pending) = judge(hit, record.bytes(), open);
    let kept = wanted && file.put(pin, record.bytes());
    // What follows may make events itself.
    record.end();
    if kept {
        follow(hit);
    }
    pending.act(hit);
}

/// Has the triggers look at a record beside the ring, which has refused it.
#[inline(never)]
pub(super) extern "C" fn commit_refused(
    file: &EventFile,
    mut record: scratch::Record<'_>,
    exit: Exit,
) {
    let hit = Hit::new(exit.pin(), file);
    let mut pending = PendingTriggers::NONE;
    match file.gate() {
        Either::Second(trigger) if trigger.is_unlimited() => {
            put_pid(&mut record);
            trigger.act_lightly(file, record.to_read(), exit.pin());
        }
        _ => {
            fill_common(record.bytes(), file.base);
            (_, pending) = judge(&hit, record.bytes(), false);
        }
    }
    record.end();
    pending.act(&hit);
    exit.end();
}

/// As [`super::entry::rtrace_commit`], for a record in the ring that may not be wanted.
///
/// # Safety
///
/// As for [`super::entry::commit_reserved`]; `token` has [`TOKEN_ASK`].
#[inline(never)]
pub(super) unsafe extern "C" fn commit_judged(
    file: &EventFile,
    entry: *mut c_void,
    token: u64,
    exit: Exit,
) {
    let sink = file.sink();
    let (place, bits) = RingPlace::of_token(token & !TOKEN_ASK);
    // SAFETY: It is that of a reservation on this CPU which is not over, in the rings of the same file.
    let ring = unsafe { sink.buffers().rings().at(place, exit.pin()) };
    let Some(entry) = NonNull::new(entry.cast()) else {
        return exit.end();
    };
    // SAFETY: `entry` and `bits` are those of the last reservation in this ring that is not over.
    let mut reserved = unsafe { Reservation::from_raw(ring.writer(), entry, bits) };
    let hit = Hit::new(exit.pin(), file);
    let (wanted, pending) = judge(&hit, reserved.payload(), true);
    let published = match wanted {
        true => reserved.commit(),
        false => reserved.discard(),
    };
    sink.left(&ring, published);
    if wanted {
        follow(&hit);
    }
    pending.act(&hit);
    exit.end();
}

impl EventFile {
    /// Records an event that the instance itself makes and that is always recorded: `len` bytes with the
    /// common fields, all of which `fill` writes but these. The triggers look at it before `finish` has
    /// written what they do not see. Any context.
    ///
    /// # Errors
    ///
    /// Why it was not recorded. The triggers have not acted then, and are told of no miss: there is no event, as in
    /// ftrace, and the caller tells the writer so.
    pub(crate) fn record_own(
        &self,
        pin: &CpuPin,
        (base, len): (Base, usize),
        fill: impl FnOnce(&mut [u8]),
        finish: impl FnOnce(&mut [u8]),
    ) -> Result<(), ReserveError> {
        let hit = Hit::new(pin.by_value(), self);
        let mut pending = PendingTriggers::NONE;
        self.sink().record_whole(pin, base, len, |record| {
            record.get_mut(COMMON..).map(fill);
            if let Some(list) = self.triggers() {
                pending = list.before(&hit, record);
            }
            record.get_mut(COMMON..).map(finish);
        })?;
        pending.act(&hit);
        Ok(())
    }
}
