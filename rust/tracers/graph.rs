// SPDX-License-Identifier: GPL-2.0

//! `function_graph`: records entry and exit of each function of the kernel that is called. Which functions
//! those are, `set_ftrace_filter` and `set_ftrace_notrace` say; which of their calls, `set_graph_function`,
//! `set_graph_notrace`, `max_graph_depth` and `tracing_thresh`.

use super::{
    Host,
    Tracer, //
};
use crate::{
    hooks,
    kapi::stack,
    text::{
        graph::CallLines,
        options::{
            Opt,
            Owner, //
        }, //
    }, //
};
use kernel::prelude::*;

/// Gets the memory that the options of the instance need.
///
/// # Errors
///
/// `ENOMEM`.
fn prepare(host: &Host<'_>) -> Result {
    match host.options().has(Opt::GraphStack) {
        true => stack::prepare(),
        false => Ok(()),
    }
}

/// The tracer.
pub(super) struct GraphTracer;

impl Tracer for GraphTracer {
    fn name(&self) -> &'static str {
        "function_graph"
    }

    fn is_there(&self) -> bool {
        hooks::IS_THERE && hooks::GRAPH_IS_THERE
    }

    fn records(&self) -> bool {
        true
    }

    fn owner(&self) -> Option<Owner> {
        Some(Owner::Graph)
    }

    fn has_options_by_instance(&self) -> bool {
        true
    }

    fn call_lines(&self) -> Option<CallLines> {
        Some(CallLines::Tracer)
    }

    fn obey(&self, host: &Host<'_>) -> Result {
        prepare(host)?;
        let awake = !host.options().has(Opt::SleepTime);
        host.functions().set_awake(host.sink(), awake)
    }

    fn start(&self, host: &Host<'_>) -> Result {
        prepare(host)?;
        let awake = !host.options().has(Opt::SleepTime);
        host.functions().start_graph(host.sink(), awake)
    }

    fn stop(&self, host: &Host<'_>) {
        host.functions().stop(host.sink());
    }
}
