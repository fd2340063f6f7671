// SPDX-License-Identifier: GPL-2.0

//! The folders of events that a module takes away while rtracefs is mounted. Those of events that a
//! module brings appear by themselves (`fs::events_dir`).
//!
//! Called when the event cannot be enabled any more: no lookup finds it from then on.

use super::{
    file::FileNode,
    superblock::TYPE, //
};
use crate::{
    event::format::INTERNAL_SYSTEM,
    events::{
        self,
        Event, //
    },
    kapi::walk::FoundDentry, //
};

/// The depth of these folders below that of an instance.
const EVENTS: usize = 1;
const SYSTEM: usize = 2;

/// Calls `look` with the `events/` of every instance that users see.
fn for_each_instance(mut look: impl FnMut(&FoundDentry<'_, FileNode>)) {
    TYPE.for_mounted(|root| {
        root.in_child("events", &mut look);
        root.in_child("instances", |instances| {
            instances.for_each(|folder| folder.in_child("events", &mut look));
        });
    });
}

/// Removes the folders of `event`, which cannot be enabled any more. Needs no memory.
pub(crate) fn remove_event(event: &'static Event) {
    let stays = |other: &Event| other.system() == event.system();
    let last = event.system() != INTERNAL_SYSTEM && !events::all().any(stays);
    for_each_instance(|events| {
        // A lookup that began while the event could still be enabled holds the lock, and is over
        // then.
        events.settle(EVENTS);
        events.in_child(event.system(), |folder| {
            if last {
                folder.remove();
                return;
            }
            folder.settle(SYSTEM);
            folder.in_child(event.name(), |folder| folder.remove());
        });
    });
}
