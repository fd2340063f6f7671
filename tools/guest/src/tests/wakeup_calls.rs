// SPDX-License-Identifier: GPL-2.0

//! The option `display-graph` of the tracers `wakeup`, `wakeup_rt` and `wakeup_dl`: the functions that are called on
//! the CPU of the task that is followed are recorded and shown as calls. Where the kernel has the tracers itself
//! (PREEMPT_RT), it gives the expected header and lines.

use super::wakeup::{
    followed, number, roots, shape, DirectWakeups, Followed, Policy, FUNCTIONS, HELD, MOST,
};
use super::{test, Test};
use crate::check::Check;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("wakeup.calls", 300, calls),
    test("wakeup.calls_switched", 300, switched),
    test("wakeup.calls_beside", 300, beside),
];

const CALLS: &str = "options/display-graph";
const TRACER: &str = "wakeup_rt";
/// What the timer calls on each CPU.
const TICK: &str = "update_process_times";

/// A line of a call, or of a comment between calls.
struct Line<'a> {
    cpu: u32,
    duration: &'a str,
    text: &'a str,
}

/// Returns the lines of a trace that have the columns of calls under `latency-format`.
fn lines(text: &str) -> Vec<Line<'_>> {
    let line = |line: &'_ str| -> Option<(u32, usize)> {
        let mut columns = line.splitn(5, '|');
        columns
            .next()?
            .strip_suffix(" us ")?
            .trim()
            .parse::<u64>()
            .ok()?;
        let (cpu, task) = columns.next()?.split_once(") ")?;
        (task.len() >= 15).then_some(())?;
        (columns.next()?.len() == 8).then_some(())?;
        Some((cpu.trim().parse().ok()?, columns.next()?.len()))
    };
    let found = text.lines().filter(|line| !line.starts_with('#'));
    let all = found.filter_map(|whole| {
        let (cpu, len) = line(whole)?;
        let text = whole.splitn(5, '|').nth(4)?;
        let duration = &whole[whole.len() - text.len() - 1 - len..][..len];
        Some(Line {
            cpu,
            duration,
            text,
        })
    });
    all.collect()
}

/// Whether a line names the function `name` that was called.
fn is_of(line: &Line<'_>, name: &str) -> bool {
    let text = line.text.trim_start();
    text.strip_prefix(name)
        .is_some_and(|rest| rest.starts_with('('))
}

/// An instance that selects the functions of a tick, as far as the tracer heeds that, and shows calls.
fn with_calls(path: &std::path::Path, name: &str) -> Check<Instance> {
    let own = Instance::new(path, name)?;
    if !own.exists(CALLS) {
        skip!("this kernel cannot trace calls");
    }
    own.set("set_ftrace_filter", "tick_*")?;
    own.set("set_ftrace_filter", TICK)?;
    ensure_eq!(own.get(CALLS)?, "0\n", "{CALLS} at first");
    own.set(CALLS, "1")?;
    Ok(own)
}

fn trace(tree: &Tree) -> Check<String> {
    let Followed { text, .. } = followed(tree, Policy::Fifo(80), 2 * HELD)?;
    Ok(text)
}

/// Checks the trace of a latency that has calls of the tick, if `any`, and returns the shape of its header and of the
/// records between which they are.
fn check(text: &str, any: bool) -> Check<Vec<String>> {
    let all = lines(text);
    let [first, .., last] = &all[..] else {
        fail!("too few lines: {text}");
    };
    let marks = ("   + [001]", "==> [001]");
    for (line, mark) in [(first, marks.0), (last, marks.1)] {
        let is_comment = line.text.starts_with("  /*") && line.text.ends_with(" rtg-waiter */");
        ensure!(
            is_comment && line.text.contains(mark),
            "no comment with {mark:?}: {text}"
        );
        ensure_eq!(line.duration.trim(), "", "the duration of a comment");
    }
    // The caller of the wake-up, and that of the switch, take no time.
    let instant = |line: &&Line<'_>| line.duration == "   0.000 us    ";
    ensure!(
        all.iter().filter(instant).count() >= 2 && text.matches(": <stack trace>\n").count() == 2,
        "no callers: {text}"
    );
    let ticks = all.iter().filter(|line| is_of(line, TICK)).count();
    ensure!((ticks > 0) == any, "{ticks} calls of {TICK}: {text}");
    // A call that was entered on the CPU ends there, unless the trace does before.
    let mut open: Vec<usize> = Vec::new();
    for line in &all {
        let depth = line.text.len() - line.text.trim_start().len();
        let text_of = line.text.trim_start();
        if text_of.ends_with(" {") {
            open.push(depth);
        } else if text_of.starts_with('}') {
            // One that was entered before the trace began is no part of it.
            let entered = open.pop();
            ensure!(
                entered.is_none() || entered == Some(depth),
                "{entered:?} ends at {depth}: {text}"
            );
            ensure!(line.duration.contains(" us "), "no duration: {text}");
        }
    }
    // The task that woke it up ran on the other CPU.
    let elsewhere = all.iter().skip(1).filter(|line| {
        line.cpu == 0 && (is_of(line, TICK) || line.text.trim_start().starts_with("tick_"))
    });
    ensure_eq!(elsewhere.count(), 0, "on the other CPU: {text}");
    let shapes = shape(text);
    let mut kept: Vec<String> = shapes
        .into_iter()
        .filter(|line| line.starts_with('#'))
        .collect();
    // The holder may be preempted or end, which is its state then.
    for line in [first, last] {
        let words = shape(line.text).join(" ").replace(":X ", ":R ");
        kept.push(words.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    Ok(kept)
}

/// The functions are shown as calls, with their times, between the wake-up and the switch; also without those that are
/// called meanwhile.
fn calls(context: &Context) -> Check {
    let _direct = DirectWakeups::new()?;
    let mut all = Vec::new();
    for root in roots(context) {
        let own = with_calls(root.path(), "rtg-calls")?;
        let mut shapes = Vec::new();
        own.set("current_tracer", TRACER)?;
        shapes.push(check(&trace(&own)?, true)?);
        // Other forms of the lines.
        let texts = ["latency-format", "context-info"].map(|option| {
            own.set(&format!("options/{option}"), "0")?;
            let text = own.get("trace")?;
            let head: Vec<_> = text.lines().take(4).collect();
            let shown = shape(&head.join("\n"));
            Ok::<_, String>(shown)
        });
        for (option, shown) in ["latency-format", "context-info"].iter().zip(texts) {
            own.set(&format!("options/{option}"), "1")?;
            shapes.push(shown.map_err(|e| format!("without {option}: {e}"))?);
        }
        own.set(FUNCTIONS, "0")?;
        own.set("tracing_on", "1")?;
        let text = trace(&own)?;
        shapes.push(check(&text, false)?);
        ensure_eq!(
            lines(&text).len(),
            4,
            "lines without function-trace: {text}"
        );
        // Tracing goes on where it was stopped.
        own.set(FUNCTIONS, "1")?;
        own.set("tracing_on", "1")?;
        shapes.push(check(&trace(&own)?, true)?);
        own.set("tracing_on", "1")?;
        own.set("current_tracer", "nop")?;
        ensure_eq!(own.get(CALLS)?, "1\n", "{CALLS} afterwards");
        all.push(shapes);
    }
    if let [own, theirs] = &all[..] {
        ensure_eq!(own, theirs, "beside those of the kernel");
    }
    Ok(())
}

/// The option is switched while the tracer runs: what was found until then is forgotten.
fn switched(context: &Context) -> Check {
    let _direct = DirectWakeups::new()?;
    for root in roots(context) {
        let own = with_calls(root.path(), "rtg-calls")?;
        own.set(CALLS, "0")?;
        own.set("current_tracer", TRACER)?;
        let text = trace(&own)?;
        ensure!(
            lines(&text).is_empty() && text.contains(&format!(": {TICK}")),
            "functions at first: {text}"
        );
        for (on, word) in [("1", "display-graph"), ("0", "nodisplay-graph")] {
            ensure!(number(&own, MOST)? > 0, "nothing was found");
            own.set("trace_options", word)?;
            ensure_eq!(own.get(CALLS)?, format!("{on}\n"), "{word}");
            // It is off, so that nothing is found meanwhile; the kernel asks whether the top instance traces.
            if root.path() == context.root {
                ensure_eq!(number(&own, MOST)?, 0, "{MOST} after {word}");
                // Again, which changes nothing.
                own.set(MOST, "17")?;
                own.set(CALLS, on)?;
                ensure_eq!(number(&own, MOST)?, 17, "{MOST} after another {on}");
            }
            own.set("tracing_on", "1")?;
            let text = trace(&own)?;
            match on {
                "1" => {
                    check(&text, true)?;
                }
                _ => ensure!(
                    lines(&text).is_empty() && text.contains(&format!(": {TICK}")),
                    "functions again: {text}"
                ),
            }
        }
        own.set("tracing_on", "1")?;
        own.set("current_tracer", "nop")?;
        // An option of its own says nothing to other tracers.
        own.set(CALLS, "1")?;
        own.set("trace_marker", "rtg-plain")?;
        let text = own.get("trace")?;
        ensure!(
            text.contains(": tracing_mark_write: rtg-plain\n"),
            "nop: {text}"
        );
    }
    Ok(())
}

/// What `function_graph` is told of its calls is nothing to the tracer, and another instance that has it records as
/// ever; nor does the threshold of latencies count for calls.
fn beside(context: &Context) -> Check {
    let _direct = DirectWakeups::new()?;
    let own = with_calls(&context.root, "rtg-calls")?;
    let other = Instance::new(&context.root, "rtg-calls2")?;
    other.set("set_ftrace_filter", TICK)?;
    other.set("current_tracer", "function_graph")?;
    for (option, on) in [
        ("funcgraph-irqs", "0"),
        ("funcgraph-args", "1"),
        ("funcgraph-retval", "1"),
        ("funcgraph-retaddr", "1"),
        ("funcgraph-errors", "1"),
        ("funcgraph-stack", "1"),
        ("sleep-time", "0"),
    ] {
        let file = format!("options/{option}");
        if own.exists(&file) {
            own.set(&file, on)?;
        }
    }
    let thresh = format!("{}", HELD.as_micros());
    let of = match own.exists("tracing_thresh") {
        true => Tree::at(own.path()),
        false => Tree::at(&context.root),
    };
    of.set("tracing_thresh", &thresh)?;
    own.set("current_tracer", TRACER)?;
    let checked = (|| {
        let text = trace(&own)?;
        check(&text, true)?;
        let told = lines(&text).into_iter().find(|line| {
            is_of(line, TICK) && !line.text.trim_start().starts_with(&format!("{TICK}()"))
        });
        ensure!(told.is_none(), "arguments: {text}");
        // No deeper than that.
        let root = Tree::at(&context.root);
        let file = match own.exists("max_graph_depth") {
            true => own.path().to_path_buf(),
            false => root.path().to_path_buf(),
        };
        let depths = Tree::at(&file);
        depths.set("max_graph_depth", "1")?;
        own.set("tracing_on", "1")?;
        let text = trace(&own);
        depths.set("max_graph_depth", "0")?;
        let text = text?;
        let nested = lines(&text).into_iter().find(|line| {
            line.text.ends_with(" {") || line.text.starts_with("    ") && line.text.ends_with("();")
        });
        ensure!(nested.is_none(), "deeper: {text}");
        Ok(())
    })();
    of.set("tracing_thresh", "0")?;
    checked?;
    own.set("tracing_on", "1")?;
    own.set("current_tracer", "nop")?;
    let text = other.get("trace")?;
    for cpu in [0, 1] {
        let head = format!(" {cpu}) ");
        let any = text
            .lines()
            .any(|line| line.starts_with(&head) && line.contains(&format!("{TICK}()")));
        ensure!(any, "no calls of CPU {cpu} beside it: {text}");
    }
    Ok(())
}
