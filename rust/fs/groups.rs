// SPDX-License-Identifier: GPL-2.0

//! The folders of events that a module brings or takes away while rtracefs is mounted.
//!
//! The instance layer calls it from its hook for such events. An instance or a mount that is made at
//! the same time finds the events by itself: whoever comes second sees that the folder is there.

use super::{
    file::Node,
    superblock::TYPE,
    tree, //
};
use crate::{
    instance::{
        registry,
        Instance, //
    },
    kapi::{
        events::{
            self,
            Event, //
        },
        walk::Found, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// How deep below the folder of an instance they are.
const EVENTS: usize = 1;
const SYSTEM: usize = 2;

/// Calls `look` with the `events/` of every instance that users see.
fn for_each_instance(mut look: impl FnMut(&Arc<Instance>, &Found<Node>)) {
    TYPE.for_mounted(|root| {
        if let (Some(events), Ok(top)) = (root.child("events"), registry::top()) {
            look(&top, &events);
        }
        let Some(instances) = root.child("instances") else {
            return;
        };
        instances.for_each(|folder| {
            if let (Some(node), Some(events)) = (folder.node(), folder.child("events")) {
                look(&node.inst, &events);
            }
        });
    });
}

/// Makes the folders of `event`.
pub(crate) fn add_event(event: &'static Event) {
    let mut result = Ok(());
    for_each_instance(|inst, events| {
        let added = events.change(EVENTS, |dir| tree::add_system(dir, inst, event));
        result = result.and(added.unwrap_or(Ok(())));
        if let Some(folder) = events.child(event.system()) {
            let added = folder.change(SYSTEM, |dir| tree::add_event(dir, inst, event));
            result = result.and(added.unwrap_or(Ok(())));
        }
    });
    if let Err(error) = result {
        pr_warn!(
            "no folder for {}:{}: {error:?}\n",
            event.system(),
            event.name()
        );
    }
}

/// Removes the folders of `event`, which cannot be enabled any more. Needs no memory.
pub(crate) fn remove_event(event: &'static Event) {
    let last = !events::all().any(|other| other.system() == event.system());
    for_each_instance(|_, events| {
        let Some(folder) = events.child(event.system()) else {
            return;
        };
        if last {
            folder.remove();
        } else if let Some(folder) = folder.child(event.name()) {
            folder.remove();
        }
    });
}
