// SPDX-License-Identifier: GPL-2.0

//! What `current_tracer` chooses: what an instance records besides its events.
//!
//! A tracer is a file of this folder and a row of [`ALL`]. Its options are rows of `text::options` with the
//! tracer as their owner: the owner is what finds it.

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

    /// Returns what its options belong to.
    fn owner(&self) -> Option<Owner> {
        None
    }

    /// Returns `set` with its own options as they are.
    fn options(&self, set: OptionSet) -> OptionSet {
        set
    }

    /// Switches one of its own options, for all instances.
    ///
    /// # Errors
    ///
    /// `EINVAL` when it refuses.
    fn set_option(&self, _opt: Opt, _on: bool) -> Result {
        Err(EINVAL)
    }

    /// Begins to record into `sink`, for which it does not record already.
    ///
    /// # Errors
    ///
    /// The tracer's own; then it does not record.
    fn start(&self, sink: &Sink<'_>) -> Result;

    /// Ends what [`Self::start`] began. Nothing uses `sink` when it returns.
    fn stop(&self, sink: &Sink<'_>);
}

/// Every tracer, in the order of `available_tracers`.
static ALL: &[&dyn Tracer] = &[&nop::Nop];

/// The tracer that records nothing by itself.
pub(crate) const NOP: &dyn Tracer = &nop::Nop;

/// Returns every tracer, in the order of `available_tracers`.
pub(crate) fn all() -> impl Iterator<Item = &'static dyn Tracer> {
    ALL.iter().copied()
}

/// Returns the tracer of this name.
pub(crate) fn by_name(name: &[u8]) -> Option<&'static dyn Tracer> {
    all().find(|tracer| tracer.name().as_bytes() == name)
}

/// Returns the tracer that `opt` belongs to.
pub(crate) fn of_option(opt: Opt) -> Option<&'static dyn Tracer> {
    all().find(|tracer| tracer.owner() == Some(opt.owner()))
}

/// Returns `set` with the options of all tracers as they are.
pub(crate) fn options(set: OptionSet) -> OptionSet {
    all().fold(set, |set, tracer| tracer.options(set))
}
