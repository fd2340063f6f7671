// SPDX-License-Identifier: GPL-2.0

//! Prints records.
//!
//! - `lines`, `json`: the printers; `maker` is one of the two.
//! - `graph`: lines of the tracer `function_graph`.
//! - `arguments`: those of functions.
//! - `kinds`: records that no tracepoint makes.
//! - `layouts`: what the lines of one event have in common.
//! - `style`: how and what to print; `text`: where the output goes.
//!
//! Called by the files that show events, with copies of records and without a lock. Contexts:
//! process context; may sleep.

mod arguments;
mod call_durations;
mod call_tree;
mod formatter;
mod graph;
mod json;
mod kinds;
mod layouts;
mod lines;
mod style;
mod text;

pub(crate) use self::{
    call_durations::CallSpread,
    call_tree::CallTree,
    formatter::EventFormatter,
    lines::LinePrinter,
    style::{
        Delay,
        SeenEvent,
        Style, //
    },
    text::Text, //
};
