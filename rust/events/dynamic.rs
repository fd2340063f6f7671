// SPDX-License-Identifier: GPL-2.0

//! Events that users and other modules define and remove while the system runs.
//!
//! Such an event keeps its id, its fields and its text after it was removed, so that records of it can
//! still be read; its id is another event's when ids run short, and not before the rings were emptied
//! (`reuse`). Called by `sources`.

use super::{
    groups::{
        self,
        with_ids,
        GROUPS, //
    },
    is_taken,
    next_id,
    publish,
    Event,
    Module,
    Source, //
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// How many were defined.
static SERIALS: Atomic<u64> = Atomic::new(0);

/// Returns the place of a definition in the order of all.
pub(crate) fn next_serial() -> u64 {
    SERIALS.fetch_add(1, Relaxed).wrapping_add(1)
}

/// Adds an event with a source of its own, which `source` makes; once more when ids ran short. `size` is
/// that of a record without its dynamic arrays. Process context.
///
/// # Errors
///
/// `EEXIST` when the name [`is_taken`], `ENOMEM`, and `ENOSPC` when there are too many events.
pub(crate) fn define(
    names: (&str, &str),
    size: u32,
    source: impl FnMut() -> Result<KBox<dyn Source>>,
) -> Result<&'static Event> {
    define_of(None, names, size, source)
}

/// As [`define`], an event of the module `owner`, if there is one, which has it withdrawn before it goes. Process context.
///
/// # Errors
///
/// As there.
pub(crate) fn define_of(
    owner: Option<Module<'_>>,
    names: (&str, &str),
    size: u32,
    mut source: impl FnMut() -> Result<KBox<dyn Source>>,
) -> Result<&'static Event> {
    let mut event = None;
    with_ids(|| {
        let made = source()?;
        let _groups = GROUPS.lock();
        if is_taken(names.0, names.1) {
            return Err(EEXIST);
        }
        let mut new = Event::with_source(next_id()?, names, size, made)?;
        new.serial = next_serial();
        if let Some(owner) = owner {
            new.set_module(owner)?;
        }
        event = Some(publish(new)?);
        Ok(())
    })?;
    event.ok_or(EINVAL)
}

/// Takes `events` away, which users have defined; see [`groups::withdraw`]. Waits once for all. Process context.
pub(crate) fn withdraw<I: Iterator<Item = &'static Event>>(events: impl Fn() -> I) {
    groups::withdraw(events);
}
