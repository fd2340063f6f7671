// SPDX-License-Identifier: GPL-2.0

//! An action for KUnit tests: it counts the events that it follows. It consists of this file and
//! its row in [`super::ALL`]. Its option is one that writers do not look at.

use super::{
    ActionMemory, //
    Follower,
};
use crate::{
    probes::{
        Action,
        Hit, //
    },
    text::options::Opt, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// Option that switches the action.
pub(crate) const OPTION: Opt = Opt::SymAddr;

/// Number of events that the action has followed since its option was switched on.
pub(crate) static FOLLOWED: Atomic<u32> = Atomic::new(0);

/// A dummy action.
pub(super) struct DummyAction;

impl Follower for DummyAction {
    fn option(&self) -> Opt {
        OPTION
    }

    fn action(&self, _: &mut ActionMemory) -> Result<Arc<dyn Action>> {
        Ok(Arc::new(DummyAction, GFP_KERNEL)?)
    }

    fn begin(&self, _: &ActionMemory) {
        FOLLOWED.store(0, Relaxed);
    }
}

impl Action for DummyAction {
    fn recorded(&self, _: &Hit<'_>) {
        FOLLOWED.fetch_add(1, Relaxed);
    }
}
