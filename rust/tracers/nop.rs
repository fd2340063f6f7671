// SPDX-License-Identifier: GPL-2.0

//! The tracer `nop`: it records nothing besides the events. Its two options exist to try out how
//! options of tracers behave: one can be switched, the other refuses.

use super::{
    Host,
    Tracer, //
};
use crate::text::options::{
    Opt,
    OptionSet,
    Owner, //
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// Whether `test_nop_accept` is on.
static ACCEPT: Atomic<bool> = Atomic::new(false);

/// The tracer.
pub(super) struct Nop;

impl Tracer for Nop {
    fn name(&self) -> &'static str {
        "nop"
    }

    fn owner(&self) -> Option<Owner> {
        Some(Owner::Nop)
    }

    fn options(&self, set: OptionSet) -> OptionSet {
        set.with(Opt::TestNopAccept, ACCEPT.load(Relaxed))
    }

    fn set_option(&self, opt: Opt, on: bool) -> Result {
        if opt != Opt::TestNopAccept {
            return Err(EINVAL);
        }
        ACCEPT.store(on, Relaxed);
        Ok(())
    }

    fn start(&self, _: &Host<'_>) -> Result {
        Ok(())
    }

    fn stop(&self, _: &Host<'_>) {}
}
