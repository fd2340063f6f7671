// SPDX-License-Identifier: GPL-2.0

//! `hist` of an event: what its histograms have counted.

use super::{
    events::this_event,
    file::{
        Arg,
        At, //
    },
};
use crate::{
    events::RECORDS,
    hist::print::HistNames,
    kapi::{
        strings,
        symbol::Symbol, //
    },
    output::Text, //
};
use core::fmt;
use kernel::prelude::*;

/// What the kernel calls addresses and system calls.
struct OfKernel;

impl HistNames for OfKernel {
    fn symbol(
        &self,
        address: u64,
        offset: bool,
        show: &mut dyn FnMut(&str) -> fmt::Result,
    ) -> fmt::Result {
        let symbol = match offset {
            true => Symbol::at(address),
            false => Symbol::function_at(address),
        };
        show(symbol.text())
    }

    fn syscall(
        &self,
        number: u64,
        show: &mut dyn FnMut(Option<&str>) -> fmt::Result,
    ) -> fmt::Result {
        show(strings::syscall(number))
    }
}

/// `hist` of an event. Records that no tracepoint makes have none.
pub(crate) fn show(at: &At<'_>, text: &mut Text) -> Result {
    match at.arg {
        Arg::Event(id) if id < RECORDS => Ok(()),
        _ => at.inst.show_hists(this_event(at)?, &OfKernel, text),
    }
}
