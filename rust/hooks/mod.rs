// SPDX-License-Identifier: GPL-2.0

//! The functions of the kernel that are traced, and for which instance.
//!
//! - `list`: the functions that can be traced.
//! - `selections`: what `set_ftrace_filter` and `set_ftrace_notrace` of one instance select; `filter`: how that
//!   changes while its tracer records; `edit`: the editing of it; `waiting`: what waits for modules.
//! - `how`: what the tracer `function` wants recorded.
//! - `engine`: which functions call the one hook of rtrace, and whose records it makes.
//! - `graph`: the same for the two hooks at entry and exit; `users`: what is the same for both.
//! - `profile`: which functions are counted; `deepest`: what the stack tracer has seen.
//! - `found`: functions by a pattern, for probes that users define.
//! - `modules`: functions that come and go with modules.
//!
//! Lock order: that of a filter, then an engine's, then the list's. The hook takes no lock.

mod deepest;
mod edit;
mod engine;
mod filter;
mod found;
mod graph;
mod list;
mod modules;
mod profile;
mod request;
mod selections;
mod users;
mod waiting;

pub(crate) use self::{
    deepest::{
        set_stack_max,
        stack_max,
        stack_rows, //
    },
    edit::Edit,
    engine::follow_commands,
    filter::FunctionFilter,
    found::matching,
    list::current,
    modules::{
        FunctionsFollower,
        ModuleWatch, //
    },
    profile::{
        profile_report,
        Measure, //
    },
    request::RecordingRequest,
    selections::FilterKind, //
};
pub(crate) use crate::kapi::{
    function_hook::IS_THERE,
    graph_hook::IS_THERE as GRAPH_IS_THERE, //
};
