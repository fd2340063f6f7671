// SPDX-License-Identifier: GPL-2.0

//! What follows an event that an instance recorded or refused.
//!
//! The actions are files of `actions/`. An instance has a list of those that its options put after each of
//! its events; probes look at it when the waker of the instance says that there is something to look at.

use super::EventFile;
use crate::kapi::{
    percpu::{
        CpuPin,
        PinRef, //
    },
    stack::ProbeFrame, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// An event that was met.
pub(crate) struct Hit<'a> {
    pin: PinRef<'a>,
    pub(crate) file: &'a EventFile,
    /// That of the event's probe, if it is at hand: from there its callers are found soonest.
    pub(crate) frame: Option<&'a ProbeFrame>,
}

impl<'a> Hit<'a> {
    /// Returns one of which the frame is not at hand.
    #[inline(always)]
    pub(crate) fn new(pin: PinRef<'a>, file: &'a EventFile) -> Self {
        Self {
            pin,
            file,
            frame: None,
        }
    }

    /// Returns one of the probe with this frame.
    #[inline(always)]
    pub(super) fn of_probe(pin: PinRef<'a>, file: &'a EventFile, frame: &'a ProbeFrame) -> Self {
        Self {
            pin,
            file,
            frame: Some(frame),
        }
    }

    /// Returns the promise to stay on the CPU of the event.
    #[inline(always)]
    pub(crate) fn pin(&self) -> &'a CpuPin {
        self.pin.pin()
    }
}

/// What follows an event.
///
/// Contexts: any, NMI included, with preemption disabled. No lock, no allocation, no sleep.
pub(crate) trait Action: Send + Sync {
    /// Runs after a record of the event was committed.
    fn recorded(&self, hit: &Hit<'_>);

    /// Runs after the ring refused one, though recording was on.
    fn refused(&self, _hit: &Hit<'_>) {}
}

/// Actions in the order in which they run.
pub(crate) struct ActionList(KVec<Arc<dyn Action>>);

impl ActionList {
    /// Returns a list of none.
    pub(crate) const fn new() -> Self {
        Self(KVec::new())
    }

    /// Adds `action` as the last one.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn push(&mut self, action: Arc<dyn Action>) -> Result {
        Ok(self.0.push(action, GFP_KERNEL)?)
    }

    /// Returns whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs all of them after a record was committed.
    pub(super) fn recorded(&self, hit: &Hit<'_>) {
        self.0.iter().for_each(|action| action.recorded(hit));
    }

    /// Runs all of them after a record was refused.
    pub(super) fn refused(&self, hit: &Hit<'_>) {
        self.0.iter().for_each(|action| action.refused(hit));
    }
}
