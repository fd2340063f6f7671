// SPDX-License-Identifier: GPL-2.0

//! Triggers of `ftrace/print`: the same words and the same markers written to both tracers give the same
//! answers and the same texts.

use super::filter::log_of;
use super::{hists, pair, test, Test};
use crate::check::{Check, Report};
use crate::sys;
use crate::tree::Tree;
use crate::Context;

pub const TESTS: &[Test] = &[
    test("trigger.markers", 60, markers),
    test("trigger.markers_link", 60, linked),
    test("trigger.markers_refused", 60, refused),
];

const MARKER: &str = "events/ftrace/print/trigger";
/// A call that no other program of the guest makes in a loop.
const CALL: &str = "events/syscalls/sys_enter_getppid/trigger";
const ENABLED: &str = "events/syscalls/sys_enter_getppid/enable";
const GETPPID: usize = 110;

/// A step of a story.
enum Step {
    /// Written to the triggers of markers, or of the call.
    Marker(&'static str),
    Caller(&'static str),
    /// Written to another file.
    Set(&'static str, &'static str),
    Mark(&'static str),
    Call,
}
use Step::{Call, Caller, Mark, Marker, Set};

const STORIES: &[&[Step]] = &[
    // Recording goes off after the marker that says so; while it is off nothing acts.
    &[
        Mark("before"),
        Marker("traceoff:1"),
        Marker("traceoff"),
        Marker("traceon"),
        Mark("one"),
        Mark("two"),
        Set("tracing_on", "1"),
        Mark("three"),
        Marker("!traceoff"),
        Mark("four"),
        Marker("traceon"),
        Set("tracing_on", "0"),
        Mark("five"),
        Marker("!traceon"),
    ],
    &[
        Marker("stacktrace:2 if common_pid != 0"),
        Mark("one"),
        Mark("two\n"),
        Mark("three"),
        Marker("!stacktrace"),
    ],
    // Events are switched as by any other event.
    &[
        Marker("enable_event:syscalls:sys_enter_getppid:2"),
        Mark("on"),
        Call,
        Set(ENABLED, "0"),
        Mark("again"),
        Call,
        Caller("enable_event:ftrace:print"),
        Marker("enable_event:ftrace:print"),
        Marker("!enable_event:syscalls:sys_enter_getppid"),
        Set("events/enable", "0"),
        Marker("traceoff if common_pid == 0"),
        Set("events/enable", "0"),
        Mark("still"),
        Set("set_event_pid", "4000000"),
        Marker("disable_event:syscalls:sys_enter_getppid"),
        Mark("of a task that is left out"),
    ],
    // What is in the text.
    &[
        Marker("traceoff if buf == \"stop\""),
        Mark("no"),
        Mark("stopped"),
        Mark("stop"),
        Set("tracing_on", "1"),
        Marker("!traceoff"),
        Marker("traceoff if buf ~ \"*oo*\""),
        Mark("nothing"),
        Mark("foot\n"),
        Set("tracing_on", "1"),
        Marker("!traceoff"),
        Marker("traceoff if ip == 0"),
        Mark("somewhere"),
        Marker("traceoff if nosuch == 1"),
        Marker("!traceoff"),
        Marker("traceoff if buf"),
        Marker("traceoff if buf == 1"),
    ],
    // Counted.
    &[
        Marker("hist:keys=common_comm"),
        Mark("one"),
        Mark("two"),
        Marker("hist:keys=common_pid if buf == \"yes\""),
        Mark("yes"),
        Mark("no"),
        Marker("hist:keys=buf"),
        Marker("hist:keys=nosuch"),
        Marker("hist:keys=common_comm:pause"),
        Mark("three"),
        Marker("!hist:keys=common_comm"),
        Mark("four"),
        Marker("hist:keys=common_comm:clear"),
    ],
    &[
        Marker("snapshot:1"),
        Mark("one"),
        Mark("two"),
        Marker("!snapshot"),
    ],
];

/// Returns everything that shows of both events.
fn seen(tree: &Tree, snapshot: bool) -> Check<String> {
    let mut text = String::new();
    for name in [MARKER, CALL] {
        text += &tree.get(name)?;
        text += &hists::mended(tree.get(&name.replace("/trigger", "/hist"))?);
    }
    for name in ["show_event_triggers", ENABLED, "tracing_on"] {
        text += &tree.get(name)?;
    }
    text += &log_of(tree)?;
    // In this order: opening `snapshot` waits for one that a trigger wants.
    for buffer in ["snapshot", "trace"] {
        if buffer == "snapshot" && !snapshot {
            continue;
        }
        text += buffer;
        for line in tree.get(buffer)?.lines() {
            // A stack has the functions of the tracer, too.
            if !line.starts_with('#') && !line.starts_with(" =>") {
                text += line.split_once(": ").map_or(line, |(_, rest)| rest);
                text += "\n";
            }
        }
    }
    Ok(text)
}

/// Does a step to one tree. Returns the answer of what is not a file that always takes it.
fn act(tree: &Tree, step: &Step) -> String {
    match step {
        Marker(text) => format!("{:?}", tree.write(MARKER, text.as_bytes())),
        Caller(text) => format!("{:?}", tree.write(CALL, text.as_bytes())),
        Set(name, text) => format!("{:?}", tree.write(name, text.as_bytes())),
        Mark(text) => format!("{:?}", tree.write("trace_marker", text.as_bytes())),
        Call => {
            sys::call(GETPPID, [0; 6]);
            String::new()
        }
    }
}

fn what(step: &Step) -> String {
    match step {
        Marker(text) => format!("{MARKER} <- {text:?}"),
        Caller(text) => format!("{CALL} <- {text:?}"),
        Set(name, text) => format!("{name} <- {text:?}"),
        Mark(text) => format!("marker {text:?}"),
        Call => "a call".into(),
    }
}

fn tell(context: &Context, number: usize, story: &[Step], report: &mut Report) -> Check {
    let (own, reference) = pair(context)?;
    let snapshot = story
        .iter()
        .any(|step| matches!(step, Marker(text) if text.starts_with("snapshot")));
    for (at, step) in story.iter().enumerate() {
        // A call is one of both.
        let answers = match step {
            Call => (act(&own, step), String::new()),
            _ => (act(&own, step), act(&reference, step)),
        };
        let what = format!("story {number}, step {at}, {}", what(step));
        report.expect(answers.0 == answers.1, || {
            format!("{what}: {}, tracefs {}", answers.0, answers.1)
        });
        let texts = (seen(&own, snapshot)?, seen(&reference, snapshot)?);
        report.expect(texts.0 == texts.1, || {
            format!("{what}:\n{}tracefs:\n{}", texts.0, texts.1)
        });
    }
    own.remove()?;
    reference.remove()
}

fn markers(context: &Context) -> Check {
    if sys::kernel_with_checks() {
        // Its tracefs has no snapshots, and lockdep warns of what it does itself.
        return Ok(());
    }
    let mut report = Report::default();
    for (number, story) in STORIES.iter().enumerate() {
        tell(context, number, story, &mut report)?;
    }
    report.finish()
}

/// Variables that a marker sets, and the synthetic event of a later call that finds them.
fn linked(context: &Context) -> Check {
    const LINKS: &[Step] = &[
        Marker("hist:keys=common_pid:x=1+2*3"),
        Caller("hist:keys=common_pid:y=$x:onmatch(ftrace.print).rtg_marked($y,common_pid)"),
        Mark("sets"),
        Call,
        Call,
        Caller("hist:keys=common_pid:onmatch(ftrace.nosuch).rtg_marked($y,common_pid)"),
        Marker("!hist:keys=common_pid:x=1+2*3"),
        Caller("!hist:keys=common_pid:y=$x:onmatch(ftrace.print).rtg_marked($y,common_pid)"),
        Marker("!hist:keys=common_pid:x=1+2*3"),
        Marker("hist:keys=common_pid:onmatch(syscalls.sys_enter_getppid).rtg_marked(common_cpu,common_pid)"),
        Mark("last"),
        Marker("!hist:keys=common_pid:onmatch(syscalls.sys_enter_getppid).rtg_marked(common_cpu,common_pid)"),
    ];
    if sys::kernel_with_checks() {
        return Ok(());
    }
    let trees = [Tree::at(&context.root), Tree::at(&context.reference)];
    for tree in &trees {
        tree.set("synthetic_events", "rtg_marked int y; int pid")?;
    }
    let mut report = Report::default();
    let told = tell(context, 0, LINKS, &mut report);
    for tree in &trees {
        tree.set("synthetic_events", "!rtg_marked")?;
    }
    told?;
    report.finish()
}

/// Writes markers until a full buffer refuses the shortest one.
fn fill(tree: &Tree) -> Check {
    for len in [2000, 200, 20, 1] {
        let text = vec![b'x'; len];
        let mut markers = (0..1000).map(|_| tree.write("trace_marker", &text));
        ensure!(
            markers.any(|taken| taken.is_err()),
            "the buffer has room for all"
        );
    }
    Ok(())
}

/// A marker that a full buffer refuses is no event: its writer is told, and no histogram counts it, not even as one
/// that was dropped.
fn refused(context: &Context) -> Check {
    const HIST: &str = "hist:keys=common_comm:vals=hitcount:sort=hitcount:size=2048";
    // All in the buffer of one CPU.
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let mut counted = Vec::new();
    // As above, tracefs is left alone on a kernel with checks.
    let others = (!sys::kernel_with_checks()).then_some(&reference);
    for tree in std::iter::once(&own).chain(others) {
        tree.set("buffer_size_kb", "8")?;
        tree.set("options/overwrite", "0")?;
        fill(tree)?;
        tree.set(MARKER, HIST)?;
        for (is_full, hits) in [(true, 0), (false, 1)] {
            if !is_full {
                tree.clear()?;
            }
            let marked = tree.write("trace_marker", b"x");
            let text = tree.get(&MARKER.replace("/trigger", "/hist"))?;
            let totals = ["Hits:", "Dropped:"].map(|word| hists::total(&text, word));
            report.expect(marked.is_err() == is_full && totals == [hits, 0], || {
                format!("{}: {marked:?}\n{text}", tree.shown(""))
            });
            counted.push((format!("{marked:?}"), text));
        }
        tree.set(MARKER, &format!("!{HIST}"))?;
    }
    let (ours, theirs) = counted.split_at(2);
    report.expect(theirs.is_empty() || ours == theirs, || {
        format!("{ours:?}\ntracefs: {theirs:?}")
    });
    own.remove()?;
    reference.remove()?;
    report.finish()
}
