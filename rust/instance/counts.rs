// SPDX-License-Identifier: GPL-2.0

//! Counting events of an instance: switched by the option `event-counts`, told by `event_counts`.
//!
//! The counts are made when they are first wanted and stay until the instance goes, so that a probe that
//! still counts when the option is switched off writes to memory that is there. Their lock is a leaf.

use super::Instance;
use crate::{
    kapi::grace,
    probes::Counts, //
};
use kernel::prelude::*;

impl Instance {
    /// Makes the counts, so that [`Self::count_events`] needs no memory.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn prepare_counts(&self) -> Result {
        let mut counts = self.counts.lock();
        if counts.is_none() {
            *counts = Some(KBox::new(Counts::new()?, GFP_KERNEL)?);
        }
        Ok(())
    }

    /// Begins to count at 0, or ends it: then the counts stay as they are. Does nothing if that is so.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, unless they were prepared.
    pub(super) fn count_events(&self, on: bool) -> Result {
        if on {
            self.prepare_counts()?;
        }
        let counts = self.counts.lock();
        let Some(these) = counts.as_ref() else {
            return Ok(());
        };
        if on == self.recorder.counts().is_some() {
            return Ok(());
        }
        if on {
            these.reset();
        }
        // SAFETY: They go with the instance, whose probes are off then.
        unsafe { self.recorder.set_counts(on.then_some(these)) };
        if !on {
            // Who looked before counts to the end.
            grace::writers_left();
        }
        Ok(())
    }

    /// How often the event `id` was recorded and refused while it was counted.
    pub(crate) fn counts_of(&self, id: u16) -> (u64, u64) {
        let counts = self.counts.lock();
        counts.as_ref().map_or((0, 0), |counts| counts.of(id))
    }
}
