// SPDX-License-Identifier: GPL-2.0

//! Ids that are given back.
//!
//! An event whose module is gone keeps its id while there are others: records of it keep their
//! meaning, and a module that comes back with the same events gets their ids again. When ids run
//! short, [`give_back`] empties the rings that may hold records of such events, as ftrace does
//! whenever a module goes, and new events take their places in the table. An event whose place was
//! taken stays in memory until `exit`, for callers that found it before.
//!
//! What could take the new event for the old one, and what prevents it:
//!
//! - A record: the rings are empty, and after that there was a moment without a [`RecordReader`],
//!   which may have copies of records.
//! - An open file, or a folder that a task is in: an [`IdRef`] counts them.
//! - The folder of a system, which is known by the id of the system's first event: that place is
//!   not taken while the system has an event that can be enabled.
//! - A filter: it goes with the module, and none is set for an event that cannot be enabled.
//! - A number of hits: it goes with the records.

use super::{
    by_id,
    groups::GROUPS,
    in_slot,
    used,
    Event, //
};
use crate::kapi::words::SharedPtr;
use core::ptr;
use kernel::{
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Full,
        Relaxed,
        Release, //
    }, //
};

crate::kapi::global::global_mutex! {
    pub(super) static ROUNDS: Mutex<u32> = FIRST_ROUND;
}

/// Number of the first round of [`give_back`]. Those below it say something else in [`IdUse`], and
/// in the instances that are emptied.
pub(crate) const FIRST_ROUND: u32 = 2;

/// What keeps the id of an event from being given back.
pub(super) struct IdUse {
    /// Number of [`IdRef`]s.
    refs: Atomic<u32>,
    /// [`TAKEN`], [`VACANT`], or the round that empties the rings.
    round: Atomic<u32>,
    /// The event whose place was taken before that of this one.
    next: SharedPtr<Event>,
}

/// [`IdUse`] of an event whose records may be in rings.
const TAKEN: u32 = 0;
/// [`IdUse`] of an event whose module is gone, and of which there is no record.
const VACANT: u32 = 1;

impl IdUse {
    pub(super) const fn new() -> Self {
        Self {
            refs: Atomic::new(0),
            round: Atomic::new(TAKEN),
            next: SharedPtr::null(),
        }
    }

    /// Takes the id back into use: the module of the event has come back. The caller holds
    /// [`GROUPS`].
    pub(super) fn take(&self) {
        self.round.store(TAKEN, Relaxed);
    }
}

/// A file or folder that names an event by its id, which means this event as long as this lives.
pub(crate) struct IdRef(&'static Event);

impl IdRef {
    /// Returns one for the event `id`, of which the caller knows that it has not gone, or that its
    /// system has an event that can be enabled; `None` if there is no such event.
    pub(crate) fn new(id: u16) -> Option<Self> {
        let event = by_id(id)?;
        event.id_use.refs.add(1, Relaxed);
        Some(Self(event))
    }
}

impl Drop for IdRef {
    fn drop(&mut self) {
        // Release: pairs with the load in `vacant`. The id is used no more.
        let _ = self.0.id_use.refs.fetch_sub(1, Release);
    }
}

/// Number of [`RecordReader`]s.
static READERS: Atomic<u32> = Atomic::new(0);

/// A reader that may have copies of records, and prints them by their ids.
pub(crate) struct RecordReader(());

impl RecordReader {
    /// Returns one that has no copies yet.
    pub(crate) fn new() -> Self {
        // Full: a reader that `has_record_readers` does not count finds the rings as they were
        // emptied before.
        let _ = READERS.fetch_add(1, Full);
        Self(())
    }
}

impl Drop for RecordReader {
    fn drop(&mut self) {
        let _ = READERS.fetch_sub(1, Release);
    }
}

/// Returns whether there is a reader that may have copies of records.
pub(crate) fn has_record_readers() -> bool {
    // Full: see `RecordReader::new`.
    READERS.fetch_add(0, Full) != 0
}

/// Gives the ids of all events back whose modules are gone. Process context.
///
/// # Errors
///
/// `ENOSPC` while a reader may have copies of their records, `ENOMEM`.
pub(super) fn give_back() -> Result {
    let mut rounds = ROUNDS.lock();
    *rounds = rounds.checked_add(1).unwrap_or(FIRST_ROUND);
    let mut ids = KVec::new();
    let users = {
        let groups = GROUPS.lock();
        for event in used().filter(|event| event.is_gone()) {
            ids.push(event.id(), GFP_KERNEL)?;
            event.id_use.round.store(*rounds, Relaxed);
        }
        (*groups).ok_or(ENOSPC)?
    };
    if !(users.empty)(*rounds, &ids) {
        return Err(ENOSPC);
    }
    let _groups = GROUPS.lock();
    // An event that came back meanwhile may have been recorded again.
    for event in used().filter(|event| event.id_use.round.load(Relaxed) == *rounds) {
        event.id_use.round.store(VACANT, Relaxed);
    }
    Ok(())
}

/// Returns an event whose id can be another one's. The caller holds [`GROUPS`].
pub(super) fn vacant() -> Option<&'static Event> {
    used().find(|event| {
        event.id_use.round.load(Relaxed) == VACANT
            // Acquire: pairs with the drop of an `IdRef`.
            && event.id_use.refs.load(Acquire) == 0
            && !names_system(event)
    })
}

/// Returns whether a folder may be known by the id of `event`: that of its system.
fn names_system(event: &Event) -> bool {
    let mut same = used().filter(|other| other.system() == event.system());
    let is_first = same.next().is_some_and(|first| ptr::eq(first, event));
    is_first && same.any(Event::is_offered)
}

/// The event whose place was taken last.
static REPLACED: SharedPtr<Event> = SharedPtr::null();

/// Keeps `event`, whose place in the table was taken, until `exit`. The caller publishes.
pub(super) fn keep(event: &'static Event) {
    event.id_use.next.store_release(REPLACED.load_acquire());
    // Release: pairs with `in_slot`.
    REPLACED.store_release(ptr::from_ref(event).cast_mut());
}

/// Returns an event that was kept, and keeps it no more. Only for `exit`.
pub(super) fn next_kept() -> Option<*mut Event> {
    let event = in_slot(&REPLACED)?;
    REPLACED.store_release(event.id_use.next.load_acquire());
    Some(ptr::from_ref(event).cast_mut())
}
