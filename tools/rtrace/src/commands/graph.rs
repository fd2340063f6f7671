// SPDX-License-Identifier: GPL-2.0

//! `rtrace graph`: what a function calls, and where the time of its calls is.

use crate::args::{Graph, View};
use crate::commands::report_losses;
use crate::instance::Instance;
use crate::job::{code, Job, Pipe, Watch};
use crate::output::Output;
use crate::tree::Tree;
use anyhow::{bail, Result};
use serde_json::json;

/// Selects what is recorded.
fn select(instance: &Instance<'_>, graph: &Graph) -> Result<()> {
    if !graph.calls.is_empty() {
        instance.put("set_ftrace_filter", &graph.function)?;
        for pattern in &graph.calls {
            instance.add("set_ftrace_filter", pattern)?;
        }
    }
    // What is selected here and not hooked would be recorded never.
    instance.put("set_graph_function", &graph.function)?;
    if let Some(depth) = graph.depth {
        instance.put("max_graph_depth", &depth.to_string())?;
    }
    if let Some(threshold) = graph.threshold {
        instance.put("tracing_thresh", &threshold.to_string())?;
    }
    Ok(())
}

/// Returns a line of `trace_durations` or `trace_folded` as an object.
fn object(view: View, line: &str) -> Option<serde_json::Value> {
    if view == View::Folded {
        let (stack, ns) = line.rsplit_once(' ')?;
        let stack: Vec<&str> = stack.split(';').collect();
        return Some(json!({"stack": stack, "ns": ns.parse::<u64>().ok()?}));
    }
    let mut words = line.split_whitespace();
    let function = words.next().filter(|word| *word != "#")?;
    let mut number = || words.next()?.parse::<u64>().ok();
    let (from, to, calls) = (number()?, number()?, number()?);
    Some(json!({"function": function, "from_ns": from, "to_ns": to, "calls": calls}))
}

/// Records calls, and shows them. Returns the exit status.
pub fn run(tree: &Tree, out: Output, graph: &Graph) -> Result<u8> {
    let instance = Instance::new(tree, "graph")?;
    let tracers = tree.get("available_tracers")?;
    if !tracers
        .split_whitespace()
        .any(|name| name == "function_graph")
    {
        bail!("this kernel has no function_graph (available_tracers has all)");
    }
    select(&instance, graph)?;
    let mut job = Job::prepare(&graph.span, &instance, Watch::Functions)?;
    instance.set_tracer("function_graph")?;
    match graph.view {
        View::Calls => {
            let mut pipe = Pipe::open(&instance, out.pipe())?;
            let mut take = |line: &str| out.line(line);
            job.begin()?;
            job.read(&mut pipe, &mut take)?;
            job.read_rest(&mut pipe, &mut take)?;
        }
        View::Durations | View::Folded => {
            job.begin()?;
            job.wait()?;
            instance.put("tracing_on", "0")?;
            let file = match graph.view {
                View::Folded => "trace_folded",
                _ => "trace_durations",
            };
            let text = instance.show(file)?;
            if out.json {
                let mut values = text.lines().filter_map(|line| object(graph.view, line));
                values.try_for_each(|value| out.object(&value))?;
            } else {
                out.text(&text)?;
            }
        }
    }
    report_losses(&instance)?;
    Ok(code(job.end()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_stacks_are_objects() {
        let line =
            "vfs_read                                  1024            2047             301  ####";
        let value = object(View::Durations, line).expect("an object");
        assert_eq!(value["function"], "vfs_read");
        assert_eq!(
            (&value["to_ns"], &value["calls"]),
            (&json!(2047), &json!(301))
        );
        let heading =
            "# function                             from ns           to ns           calls";
        assert_eq!(object(View::Durations, heading), None);
        let value = object(View::Folded, "sh;ksys_read;vfs_read 81734").expect("an object");
        assert_eq!(
            value,
            json!({"stack": ["sh", "ksys_read", "vfs_read"], "ns": 81734})
        );
    }
}
