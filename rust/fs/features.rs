// SPDX-License-Identifier: GPL-2.0

//! `features`: what this version has, for programs; `event_counts`, and `hits` and `lost` of an
//! event: how often each event was met.
//!
//! Everything is printed from the tables that make it: what is listed is there.

use super::{
    events::this_event,
    file::FileIdentity,
    text_file::no_memory,
    tree, //
};
use crate::{
    events,
    kapi::clock,
    output::Text,
    text::{
        clock::ClockId,
        options::Opt, //
    },
    tracers, //
};
use core::fmt::Write;
use kernel::prelude::*;

/// Grows when a line gets another meaning. New lines do not change it.
const VERSION: u32 = 1;

/// `features`: one `KIND NAME` per line.
pub(crate) fn show(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "version {VERSION}").map_err(no_memory)?;
    for clock in ClockId::ALL {
        writeln!(text, "clock {}", clock.name()).map_err(no_memory)?;
    }
    writeln!(text, "local_clock {}", clock::local_way()).map_err(no_memory)?;
    for opt in Opt::ALL.iter().filter(|opt| tracers::is_offered(**opt)) {
        writeln!(text, "option {}", opt.name()).map_err(no_memory)?;
    }
    let mut result = Ok(());
    tree::for_each_file(|folder, name| {
        let name = name.to_str().unwrap_or_default();
        result = result.and(writeln!(text, "file {folder}{name}"));
    });
    result.map_err(no_memory)
}

/// `hits`: how often the event was recorded while the option `event-counts` was on.
pub(crate) fn show_hits(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let (hits, _) = at.inst.counts_of(this_event(at)?.id());
    writeln!(text, "{hits}").map_err(no_memory)
}

/// `lost`: how often the event was refused while the option `event-counts` was on.
pub(crate) fn show_lost(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let (_, lost) = at.inst.counts_of(this_event(at)?.id());
    writeln!(text, "{lost}").map_err(no_memory)
}

/// `event_counts`: `SYSTEM:EVENT HITS LOST` of the events that were met.
pub(crate) fn show_counts(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    for event in events::all() {
        let (hits, lost) = at.inst.counts_of(event.id());
        if (hits, lost) != (0, 0) {
            writeln!(text, "{}:{} {hits} {lost}", event.system(), event.name())
                .map_err(no_memory)?;
        }
    }
    Ok(())
}
