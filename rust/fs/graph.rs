// SPDX-License-Identifier: GPL-2.0

//! `max_graph_depth` and `tracing_thresh`: which calls the tracer `function_graph` records.

use super::{
    file::FileIdentity,
    text_file::{
        no_memory,
        refused, //
    }, //
};
use crate::{
    output::Text,
    text::number,
    tracers, //
};
use core::fmt::Write;
use kernel::prelude::*;

pub(super) const NS_PER_US: u64 = 1_000;

/// Returns the whole microseconds of nanoseconds, as ftrace does.
pub(super) fn us_of(ns: u64) -> u64 {
    ns / NS_PER_US
}

/// `max_graph_depth`.
pub(super) fn show_max_depth(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let depth = at.inst.graph().max_depth();
    writeln!(text, "{}", depth as i32).map_err(no_memory)
}

/// `max_graph_depth`. As in ftrace, the lower half of the number counts.
pub(super) fn store_max_depth(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let depth = number::parse(command).map_err(refused)?;
    at.inst.set_max_depth(depth as u32);
    Ok(())
}

/// `tracing_thresh`, in microseconds.
pub(super) fn show_threshold(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", us_of(at.inst.graph().threshold())).map_err(no_memory)
}

/// `tracing_thresh`.
pub(super) fn store_threshold(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let us = number::parse(command).map_err(refused)?;
    let ns = us.wrapping_mul(NS_PER_US);
    at.inst.graph().set_threshold(ns);
    if at.inst.is_top() {
        tracers::set_top_threshold(ns);
    }
    Ok(())
}
