// SPDX-License-Identifier: GPL-2.0

//! One call of a function that is hooked, for whatever it is hooked; and what it takes to hook all of them.

use super::inside::{asked, pair, set_all, sides, Setting, CONTEXTS, FIRST};
use super::kernel::{Cost, Kernel};
use super::outside::ticks;
use super::table::{Row, Table};
use crate::check::Check;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

const FILTER: &str = "set_ftrace_filter";
const ONLY: &str = "set_ftrace_pid";

/// One call of a function that the tracer `function` records, or `function_graph`.
pub fn measure(context: &Context, table: &mut Table) -> Check {
    let rows: &[(&str, Setting, Setting)] = &[
        ("function", &[], &[]),
        (
            "with arguments",
            &[("options/func-args", "1")],
            &[("options/func-args", "0")],
        ),
        (
            "clock x86-tsc",
            &[("trace_clock", "x86-tsc")],
            &[("trace_clock", "local")],
        ),
        (
            "clock mono",
            &[("trace_clock", "mono")],
            &[("trace_clock", "local")],
        ),
        (
            "tracing_on is 0",
            &[("tracing_on", "0")],
            &[("tracing_on", "1")],
        ),
    ];
    let kernel = Kernel::load()?;
    let sides = sides(context)?;
    table.begin(
        "function",
        "one call that is recorded, the loop included: instructions",
    );
    for &(short, long) in CONTEXTS {
        let off = kernel.cost(asked("call", short, FIRST), || Ok(()))?;
        table.add(pair("function that is not hooked", long, off, off));
    }
    for &(name, set, unset) in rows {
        for &(short, long) in CONTEXTS {
            let of = |ours: bool| {
                let tree = if ours { &sides.1 } else { &sides.0 };
                set_all(tree, set)?;
                tree.set(FILTER, "rtbench_function")?;
                tree.set("current_tracer", "function")?;
                let cost = kernel.cost(asked("call", short, FIRST), || tree.clear());
                tree.set("current_tracer", "nop")?;
                set_all(tree, unset)?;
                cost
            };
            table.add(pair(name, long, of(false)?, of(true)?));
        }
    }
    for (name, on) in [
        ("function_graph", "1"),
        ("function_graph, tracing_on is 0", "0"),
    ] {
        for &(short, long) in CONTEXTS {
            let of = |ours: bool| {
                let tree = if ours { &sides.1 } else { &sides.0 };
                tree.set("tracing_on", on)?;
                tree.set(FILTER, "rtbench_function")?;
                tree.set("current_tracer", "function_graph")?;
                let cost = kernel.cost(asked("call", short, FIRST), || tree.clear());
                tree.set("current_tracer", "nop")?;
                tree.set("tracing_on", "1")?;
                cost
            };
            table.add(pair(name, long, of(false)?, of(true)?));
        }
    }
    // The same function in two instances.
    for &(short, long) in CONTEXTS {
        let of = |ours: bool| {
            let (root, one) = match ours {
                true => (&context.root, &sides.1),
                false => (&context.reference, &sides.0),
            };
            let two = Instance::new(root, "rtg-bench-2")?;
            two.set("buffer_size_kb", "4096")?;
            for tree in [one, &two] {
                tree.set(FILTER, "rtbench_function")?;
                tree.set("current_tracer", "function")?;
            }
            let cost = kernel.cost(asked("call", short, FIRST), || {
                two.clear()?;
                one.clear()
            });
            for tree in [one, &two] {
                tree.set("current_tracer", "nop")?;
            }
            two.remove()?;
            cost
        };
        table.add(pair("in two instances", long, of(false)?, of(true)?));
    }
    let both = [&sides.0, &sides.1];
    tasks(&kernel, both, table)?;
    profile(&kernel, both, table)?;
    stacks(&kernel, both, table)?;
    switches(both, table)
}

/// One call of a task that is in the list of those to record, or is not.
fn tasks(kernel: &Kernel, sides: [&Instance; 2], table: &mut Table) -> Check {
    let listed = sys::thread_id().to_string();
    for (tracer, name, pid) in [
        ("function", "function, of a task that is listed", &*listed),
        ("function", "function, of another task", "1"),
        ("function_graph", "function_graph, of another task", "1"),
    ] {
        let of = |tree: &Instance| -> Check<Cost> {
            tree.set(FILTER, "rtbench_function")?;
            tree.set(ONLY, pid)?;
            tree.set("current_tracer", tracer)?;
            let cost = kernel.cost(asked("call", "off", FIRST), || tree.clear());
            tree.set("current_tracer", "nop")?;
            tree.empty(ONLY)?;
            cost
        };
        table.add(pair(name, "irqs off", of(sides[0])?, of(sides[1])?));
    }
    Ok(())
}

/// Hooking every function of the kernel, and none again: the first time and later.
fn switches(sides: [&Instance; 2], table: &mut Table) -> Check {
    const MILLION: f64 = 1e6;
    const TIMES: usize = 3;
    for tracer in ["function", "function_graph"] {
        let of = |tree: &Instance| -> Check<[f64; 3]> {
            tree.empty(FILTER)?;
            tree.set("tracing_on", "0")?;
            let switch = |tracer: &str| -> Check<f64> {
                let began = ticks();
                tree.set("current_tracer", tracer)?;
                Ok((ticks() - began) as f64 / MILLION)
            };
            let (mut first, mut later) = ([0.0; 2], [f64::MAX; 2]);
            for time in 0..=TIMES {
                let took = [switch(tracer)?, switch("nop")?];
                match time {
                    0 => first = took,
                    _ => later = [later[0].min(took[0]), later[1].min(took[1])],
                }
            }
            tree.set("tracing_on", "1")?;
            Ok([first[0], later[0], later[1]])
        };
        let (ftrace, rtrace) = (of(sides[0])?, of(sides[1])?);
        let names = ["on, the first time", "on", "off"];
        for ((name, ftrace), rtrace) in names.iter().zip(ftrace).zip(rtrace) {
            let name = format!("millions: {tracer} for all functions {name}");
            table.add(Row::new(&name).both(ftrace, rtrace));
        }
    }
    Ok(())
}

/// One call whose stack is not the deepest.
fn stacks(kernel: &Kernel, sides: [&Instance; 2], table: &mut Table) -> Check {
    const STACK_FILTER: &str = "stack_trace_filter";
    const SYSCTL: &str = "/proc/sys/kernel/stack_tracer_enabled";
    for &(short, long) in CONTEXTS {
        let of = |ours: bool| -> Check<Cost> {
            let tree = sides[usize::from(ours)].top();
            let switch = match ours {
                true => tree.file("stack_tracer_enabled"),
                false => SYSCTL.into(),
            };
            let turn = |on| std::fs::write(&switch, on).map_err(|e| e.to_string());
            tree.set("stack_max_size", "1000000")?;
            tree.set(STACK_FILTER, "rtbench_function")?;
            turn("1")?;
            let cost = kernel.cost(asked("call", short, FIRST), || Ok(()));
            turn("0")?;
            tree.empty(STACK_FILTER)?;
            cost
        };
        table.add(pair(
            "stack tracer, not the deepest",
            long,
            of(false)?,
            of(true)?,
        ));
    }
    Ok(())
}

/// One call that the function profiler counts.
fn profile(kernel: &Kernel, sides: [&Instance; 2], table: &mut Table) -> Check {
    const ENABLED: &str = "function_profile_enabled";
    const TIME: &str = "function_profile_time";
    for (name, time) in [
        ("profiler, hits and times", "1"),
        ("profiler, hits alone", "0"),
    ] {
        for &(short, long) in CONTEXTS {
            let of = |tree: &Tree| -> Check<Option<Cost>> {
                // Most kernels have none, and those that do have one kind.
                if !tree.exists(ENABLED) || !tree.exists(TIME) && time == "0" {
                    return Ok(None);
                }
                if tree.exists(TIME) {
                    tree.set(TIME, time)?;
                }
                tree.set(FILTER, "rtbench_function")?;
                tree.set(ENABLED, "1")?;
                let cost = kernel.cost(asked("call", short, FIRST), || Ok(()));
                tree.set(ENABLED, "0")?;
                tree.empty(FILTER)?;
                cost.map(Some)
            };
            let rtrace = of(&sides[1].top())?.ok_or("no profiler")?;
            table.add(match of(&sides[0].top())? {
                Some(ftrace) => pair(name, long, ftrace, rtrace),
                None => Row::new(name).context(long).own(rtrace.each()),
            });
        }
    }
    Ok(())
}
