// SPDX-License-Identifier: GPL-2.0

//! The actions that follow each event of an instance, as its options switch them.
//!
//! Writers find the actions by one pointer to a list. The list is replaced as a whole; the old one
//! is freed after all writers that may have found it have left.

use super::Instance;
use crate::{
    actions::{
        self,
        ActionMemory, //
    },
    probes::ActionList,
    text::options::OptionSet, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The actions of an instance.
pub(super) struct Actions {
    /// The options for which the list was made that writers follow.
    options: OptionSet,
    memory: ActionMemory,
}

impl Actions {
    /// Returns no actions.
    pub(super) fn new() -> Self {
        Self {
            options: OptionSet::from_bits(0),
            memory: ActionMemory::default(),
        }
    }

    /// Allocates what `options` need.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn prepare(&mut self, options: OptionSet) -> Result<PreparedList> {
        match actions::are_same(self.options, options) {
            true => Ok(PreparedList(None)),
            false => Ok(PreparedList(Some(actions::list(
                options,
                &mut self.memory,
            )?))),
        }
    }
}

/// A list that can replace the present one without further allocation; `None` if the present one
/// stays.
pub(super) struct PreparedList(Option<Option<Arc<ActionList>>>);

impl Instance {
    /// Lets the prepared actions of `options` follow each event. If there was a list before, waits
    /// until writers have left it.
    pub(super) fn follow(&self, actions: &mut Actions, options: OptionSet, prepared: PreparedList) {
        let PreparedList(Some(list)) = prepared else {
            return;
        };
        actions::begin(actions.options, options, &actions.memory);
        let before = self.sink.set_actions(list);
        actions.options = options;
        drop(before);
    }

    /// Returns how often the event `id` was recorded and how often it was refused while events were
    /// counted.
    pub(crate) fn counts_of(&self, id: u16) -> (u64, u64) {
        self.actions.lock().memory.counts_of(id)
    }

    /// Forgets what was counted of the events with these ids, whose probes are off.
    pub(super) fn forget_counts(&self, ids: &[u16]) {
        self.actions.lock().memory.forget_counts(ids);
    }
}
