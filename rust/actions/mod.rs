// SPDX-License-Identifier: GPL-2.0

//! Actions that follow each event of an instance, switched by the options of the instance.
//!
//! What triggers do is here as well: `trigger`, and `hist`, which counts.
//!
//! An action is a file in this folder and a row of [`ALL`]. It runs in the probe of the event;
//! several actions run in the order of the rows.

mod count;
pub(crate) mod counts;
#[cfg(CONFIG_KUNIT = "y")]
pub(crate) mod dummy;
mod growth;
pub(crate) mod hist;
pub(crate) mod hist_names;
pub(crate) mod linked;
mod quick;
mod quick_effect;
mod quick_kept;
mod quick_link;
mod quick_number;
mod quick_pair;
mod quick_text;
mod stack;
mod tally;
pub(crate) mod trigger;

pub(crate) use self::count::EventCounters;

use crate::{
    probes::{
        Action,
        ActionList, //
    },
    text::options::{
        Opt,
        OptionSet, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// State of the actions of one instance.
#[derive(Default)]
pub(crate) struct ActionMemory {
    /// Allocated when events are first counted.
    counts: Option<Arc<EventCounters>>,
}

impl ActionMemory {
    /// Returns how often the event `id` was recorded and how often it was refused while events were
    /// counted.
    pub(crate) fn counts_of(&self, id: u16) -> (u64, u64) {
        self.counts.as_ref().map_or((0, 0), |counts| counts.of(id))
    }

    /// Forgets what was counted of the events with these ids, whose probes are off.
    pub(crate) fn forget_counts(&self, ids: &[u16]) {
        if let Some(counts) = &self.counts {
            ids.iter().for_each(|&id| counts.forget(id));
        }
    }
}

/// An action that follows all events of an instance while its option is on.
///
/// Contexts: process context, under the lock of the instance's actions.
trait Follower: Sync {
    /// Returns the option that switches the action.
    fn option(&self) -> Opt;

    /// Returns the action, with all memory that it needs.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn action(&self, memory: &mut ActionMemory) -> Result<Arc<dyn Action>>;

    /// Prepares the action that [`Self::action`] returned for the first event after its option was
    /// switched on.
    fn begin(&self, _memory: &ActionMemory) {}
}

/// All actions, in the order in which they run.
static ALL: &[&dyn Follower] = &[
    &count::EventCounts,
    &stack::KernelStack,
    &stack::UserStack,
    #[cfg(CONFIG_KUNIT = "y")]
    &dummy::DummyAction,
];

/// Returns whether `a` and `b` switch on the same actions.
pub(crate) fn are_same(a: OptionSet, b: OptionSet) -> bool {
    ALL.iter()
        .all(|row| a.has(row.option()) == b.has(row.option()))
}

/// Returns the actions that `options` switch on; `None` if there are none.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn list(
    options: OptionSet,
    memory: &mut ActionMemory,
) -> Result<Option<Arc<ActionList>>> {
    let mut list = ActionList::new();
    for row in ALL.iter().filter(|row| options.has(row.option())) {
        list.push(row.action(memory)?)?;
    }
    match list.is_empty() {
        true => Ok(None),
        false => Ok(Some(Arc::new(list, GFP_KERNEL)?)),
    }
}

/// Prepares the actions that are on in `new` and off in `old` for their first event.
pub(crate) fn begin(old: OptionSet, new: OptionSet, memory: &ActionMemory) {
    ALL.iter()
        .filter(|row| new.has(row.option()) && !old.has(row.option()))
        .for_each(|row| row.begin(memory));
}
