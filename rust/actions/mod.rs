// SPDX-License-Identifier: GPL-2.0

//! What an instance puts after each of its events: actions that its options switch.
//!
//! An action is a file of this folder and a row of [`ALL`]. It runs in the probe of the event, in the order
//! of the rows.

mod count;
#[cfg(CONFIG_KUNIT = "y")]
pub(crate) mod dummy;
mod stack;

pub(crate) use self::count::Counts;

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

/// What the actions of one instance have for themselves.
#[derive(Default)]
pub(crate) struct Memory {
    /// Made when events are counted first.
    counts: Option<Arc<Counts>>,
}

impl Memory {
    /// Returns how often the event `id` was recorded and refused while it was counted.
    pub(crate) fn counts_of(&self, id: u16) -> (u64, u64) {
        self.counts.as_ref().map_or((0, 0), |counts| counts.of(id))
    }
}

/// An action that follows all events of an instance while one of its options is on.
///
/// Contexts: process context, under the lock of the instance's actions.
trait Follower: Sync {
    /// Returns the option.
    fn option(&self) -> Opt;

    /// Returns the action, with all that it needs.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn action(&self, memory: &mut Memory) -> Result<Arc<dyn Action>>;

    /// Prepares what [`Self::action`] has returned for its first event since the option was off.
    fn begin(&self, _memory: &Memory) {}
}

/// Every such action, in the order in which they run.
static ALL: &[&dyn Follower] = &[
    &count::EventCounts,
    &stack::KernelStack,
    &stack::UserStack,
    #[cfg(CONFIG_KUNIT = "y")]
    &dummy::Dummy,
];

/// Returns whether `a` and `b` have the same actions.
pub(crate) fn are_same(a: OptionSet, b: OptionSet) -> bool {
    ALL.iter()
        .all(|row| a.has(row.option()) == b.has(row.option()))
}

/// Returns the actions of these options; `None` when there are none.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn list(options: OptionSet, memory: &mut Memory) -> Result<Option<KBox<ActionList>>> {
    let mut list = ActionList::new();
    for row in ALL.iter().filter(|row| options.has(row.option())) {
        list.push(row.action(memory)?)?;
    }
    match list.is_empty() {
        true => Ok(None),
        false => Ok(Some(KBox::new(list, GFP_KERNEL)?)),
    }
}

/// Prepares the actions that `new` has and `old` has not for their first event.
pub(crate) fn begin(old: OptionSet, new: OptionSet, memory: &Memory) {
    ALL.iter()
        .filter(|row| new.has(row.option()) && !old.has(row.option()))
        .for_each(|row| row.begin(memory));
}
