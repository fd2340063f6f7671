// SPDX-License-Identifier: GPL-2.0

//! Tracers: what an instance records besides its events, chosen by `current_tracer`.
//!
//! A tracer is a file in this folder and a row of [`ALL`]. Its options are rows of `text::options`
//! that name the tracer as their owner.

#[cfg(CONFIG_KUNIT = "y")]
pub(crate) mod dummy;
mod nop;

use crate::{
    buffers::Buffers,
    text::options::{
        Opt,
        OptionSet,
        Owner, //
    },
};
use kernel::prelude::*;

/// Where a tracer records.
pub(crate) struct Sink<'a> {
    /// The rings of the instance.
    #[cfg_attr(
        not(CONFIG_KUNIT = "y"),
        expect(dead_code, reason = "`nop` records nothing")
    )]
    pub(crate) buffers: &'a Buffers,
}

/// A tracer.
///
/// Contexts: process context, under the lock of the instance's tracer.
pub(crate) trait Tracer: Sync {
    /// Returns its name in `current_tracer`.
    fn name(&self) -> &'static str;

    /// Returns the owner that its options name.
    fn owner(&self) -> Option<Owner> {
        None
    }

    /// Returns `set` with the tracer's own options as they are switched.
    fn options(&self, set: OptionSet) -> OptionSet {
        set
    }

    /// Switches one of the tracer's own options, for all instances.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the tracer refuses.
    fn set_option(&self, _opt: Opt, _on: bool) -> Result {
        Err(EINVAL)
    }

    /// Starts recording into `sink`. The caller ensures that the tracer does not record into it
    /// already.
    ///
    /// # Errors
    ///
    /// The tracer's own; it does not record then.
    fn start(&self, sink: &Sink<'_>) -> Result;

    /// Stops what [`Self::start`] began. Nothing uses `sink` after the return.
    fn stop(&self, sink: &Sink<'_>);
}

/// All tracers, in the order of `available_tracers`.
static ALL: &[&dyn Tracer] = &[&nop::Nop];

/// The tracer that records nothing besides the events.
pub(crate) const NOP: &dyn Tracer = &nop::Nop;

/// Returns all tracers, in the order of `available_tracers`.
pub(crate) fn all() -> impl Iterator<Item = &'static dyn Tracer> {
    ALL.iter().copied()
}

/// Returns the tracer `name`.
pub(crate) fn by_name(name: &[u8]) -> Option<&'static dyn Tracer> {
    all().find(|tracer| tracer.name().as_bytes() == name)
}

/// Returns the tracer that owns `opt`.
pub(crate) fn of_option(opt: Opt) -> Option<&'static dyn Tracer> {
    all().find(|tracer| tracer.owner() == Some(opt.owner()))
}

/// Returns `set` with the options of all tracers as they are switched.
pub(crate) fn options(set: OptionSet) -> OptionSet {
    all().fold(set, |set, tracer| tracer.options(set))
}
