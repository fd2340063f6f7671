// SPDX-License-Identifier: GPL-2.0

//! The commands of `set_ftrace_filter`, beside the kernel's: the same answers to each word, the same lines,
//! and the same done when a function is called. What rtrace promises about modules and instances.

use super::functions::{getpgid_of, getppid, select, sides, FILTER, GETPGID, GETPPID};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::kmsg;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("functions.command_words", 120, command_words),
    test("functions.commands", 180, commands),
    test("functions.command_stacks", 60, command_stacks),
    test("functions.command_ends", 60, command_ends),
    test("functions.command_dumps", 60, command_dumps),
];

/// An event that a command switches, and its call.
const EVENT: &str = "syscalls:sys_enter_getpgid";
const ENABLE: &str = "events/syscalls/sys_enter_getpgid/enable";

/// A word with `F` for the function that is called and `E` for the event.
fn word(text: &str) -> String {
    let word = |part: &str| match part {
        "F" => GETPPID.to_string(),
        "!F" => format!("!{}", *GETPPID),
        "E" => EVENT.to_string(),
        part => part.to_string(),
    };
    text.split(':').map(word).collect::<Vec<_>>().join(":")
}

/// Words in this order, each written to both: the same answers, and the same lines after each.
fn command_words(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let mut report = Report::default();
    let words = [
        "F:traceoff",
        "F:traceoff",
        "F:traceoff:3",
        "F:traceoff:4",
        "F:traceon:0x10",
        "!F:traceoff",
        "!F:traceoff",
        "!F:traceoff:9",
        "F:traceoff:count=4",
        "F:traceoff:x",
        "F:traceoff:-1",
        "F:traceoff:99999999999999999999",
        "F:traceoff:18446744073709551615",
        "!*:traceoff:0",
        "F:traceon:",
        "F:traceon:5:more",
        "!F:traceon:",
        "nosuch:traceon",
        "0:traceon",
        "7x:traceon",
        "!nosuch:traceon",
        "!7:stacktrace",
        "F:stacktrace",
        "F:stacktrace:2",
        "__x64_sys_getpgid:stacktrace:5",
        "!*:stacktrace:1",
        "!*:stacktrace",
        "F:enable_event",
        "F:enable_event:syscalls",
        "F:enable_event:syscalls:nosuch",
        "F:enable_event:E:",
        "F:enable_event:E:y",
        "F:enable_event:E",
        "F:enable_event:syscalls:sys_enter_getppid",
        "F:disable_event:E:2",
        "!nosuch:disable_event:E:2",
        "!F:disable_event:E",
        "!F:disable_event:E:0",
        "!F:enable_event:syscalls:nosuch",
        "F:traceoff",
        "F",
        "!F",
        "!F:enable_event:E",
        "!:traceoff",
        "F:nosuch",
        "F:snapshot:2",
        "F:snapshot:3",
        "!F:snapshot",
        "!F:snapshot:0",
        "F:dump",
        "F:dump",
        "F:dump:x",
        "!F:dump:7",
        "!F:dump",
        "F:dump:5:more",
        "nosuch:dump",
        "0:dump",
        "F:cpudump:3",
        "F:cpudump",
        "__x64_sys_getpgid:cpudump:",
        "!F:cpudump:0",
        "!F:dump:",
        "!*:cpudump",
        "F:dumps",
        "F:mod:traceon",
    ];
    for text in words {
        // The kernels with checks are built without snapshots.
        if text.contains("snapshot") && sys::kernel_with_checks() {
            continue;
        }
        let line = format!("{}\n", word(text));
        let answers = (
            own.write(FILTER, line.as_bytes()),
            reference.write(FILTER, line.as_bytes()),
        );
        report.expect(answers.0 == answers.1, || {
            format!("{text}: {:?}, tracefs {:?}", answers.0, answers.1)
        });
        // tracefs shows the functions of a command in the order of a hash.
        let look = |tree: &Tree| -> Check<String> {
            let text = tree.get(FILTER)?;
            let mut lines: Vec<_> = text.lines().collect();
            lines.sort();
            Ok(lines.join("\n") + "\n" + &tree.get(ENABLE)?)
        };
        let (found, wanted) = (look(&own)?, look(&reference)?);
        report.expect(found == wanted, || {
            format!("after {text}:\n{found}\ntracefs:\n{wanted}")
        });
    }
    // Commands belong to functions that are traced.
    let not_there = "set_ftrace_notrace";
    let line = word("F:traceoff\n");
    let answers = (
        own.write(not_there, line.as_bytes()),
        reference.write(not_there, line.as_bytes()),
    );
    report.expect(answers.0 == answers.1 && answers.0 == Err(EINVAL), || {
        format!("{not_there}: {answers:?}")
    });
    // Emptying the file leaves commands alone.
    for tree in [&own, &reference] {
        tree.set(FILTER, &word("F:traceoff:2"))?;
        tree.empty(FILTER)?;
    }
    let (found, wanted) = (own.get(FILTER)?, reference.get(FILTER)?);
    report.expect(
        found == wanted && found.contains(":traceoff:count=2"),
        || format!("emptied:\n{found}\ntracefs:\n{wanted}"),
    );
    for tree in [&own, &reference] {
        tree.set(FILTER, &word("!F:traceoff:0"))?;
    }
    report.finish()
}

/// A step of a story.
enum Step {
    /// Writes a word to a file.
    Set(&'static str, &'static str),
    /// Calls the function so often.
    Call(usize),
    /// Makes the event happen so often.
    Event(usize),
}

use Step::{Call, Event, Set};

const STORIES: &[&[Step]] = &[
    &[
        Set(FILTER, "F:traceoff"),
        Call(1),
        Set("tracing_on", "1"),
        Call(2),
        Set(FILTER, "!F:traceoff"),
        Set("tracing_on", "1"),
        Call(1),
    ],
    // A count goes down only where something changes.
    &[
        Set(FILTER, "F:traceoff:2"),
        Call(3),
        Set("tracing_on", "1"),
        Call(2),
        Set("tracing_on", "1"),
        Call(2),
        Set(FILTER, "!F:traceoff:0"),
        Set(FILTER, "F:traceon:1"),
        Call(1),
        Set("tracing_on", "0"),
        Call(1),
        Set("tracing_on", "0"),
        Call(1),
        Set(FILTER, "!F:traceon:0"),
    ],
    &[
        Set(FILTER, "F:enable_event:E:1"),
        Event(2),
        Call(1),
        Event(3),
        Set(FILTER, "F:disable_event:E"),
        Call(1),
        Event(4),
        Set(FILTER, "!F:enable_event:E:0"),
        Set(ENABLE, "1"),
        Event(1),
        Call(1),
        Event(2),
        Set(FILTER, "!F:disable_event:E"),
        Set(ENABLE, "0"),
        Event(1),
    ],
    &[
        Set(FILTER, "F:stacktrace:2"),
        Call(3),
        Set(FILTER, "F:stacktrace"),
        Call(2),
        Set("tracing_on", "0"),
        Call(2),
        Set("tracing_on", "1"),
        Set(FILTER, "!F:stacktrace"),
        Set(FILTER, "!F:stacktrace:0"),
        Call(1),
    ],
    // The newest is obeyed first.
    &[
        Set(FILTER, "F:traceoff"),
        Set(FILTER, "F:stacktrace"),
        Call(1),
        Set(FILTER, "!F:stacktrace"),
        Set(FILTER, "!F:traceoff"),
        Set("tracing_on", "1"),
        Set(FILTER, "F:stacktrace"),
        Set(FILTER, "F:traceoff"),
        Call(1),
        Set(FILTER, "!F:traceoff"),
        Set(FILTER, "!F:stacktrace"),
    ],
];

/// What is done when functions are called, step by step: the same files in both.
fn commands(context: &Context) -> Check {
    let mut report = Report::default();
    sys::pin_to(0);
    for (number, story) in STORIES.iter().enumerate() {
        let (own, reference) = sides(context)?;
        let pid = format!("-{} ", sys::thread_id());
        for (at, step) in story.iter().enumerate() {
            match step {
                Set(file, text) => {
                    own.set(file, &word(text))?;
                    reference.set(file, &word(text))?;
                }
                Call(times) => (0..*times).for_each(|_| getppid()),
                Event(times) => (0..*times).for_each(|_| getpgid_of(0)),
            }
            let look = |tree: &Tree| -> Check<String> {
                let trace = tree.get("trace")?;
                let lines = || trace.lines().filter(|line| line.contains(&pid));
                let of = |word: &str| lines().filter(|line| line.contains(word)).count();
                Ok(format!(
                    "{}{}{}{} stacks, {} events",
                    tree.get(FILTER)?,
                    tree.get(ENABLE)?,
                    tree.get("tracing_on")?,
                    of("<stack trace>"),
                    of("sys_getpgid("),
                ))
            };
            let (found, wanted) = (look(&own)?, look(&reference)?);
            report.expect(found == wanted, || {
                format!("story {number}, step {at}:\n{found}\ntracefs:\n{wanted}")
            });
        }
    }
    report.finish()
}

/// The callers that `stacktrace` records: those of the kernel, one tracer after the other.
fn command_stacks(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    sys::pin_to(0);
    let record = |tree: &Tree| -> Check<Vec<String>> {
        tree.set(FILTER, &word("F:stacktrace"))?;
        getppid();
        tree.set(FILTER, &word("!F:stacktrace"))?;
        getppid();
        let text = tree.get("trace")?;
        let lines = text.lines().filter(|line| line.starts_with(" =>"));
        Ok(lines.map(str::to_string).collect())
    };
    let (found, wanted) = (record(&own)?, record(&reference)?);
    ensure!(!found.is_empty(), "{}", own.shown("trace"));
    ensure_eq!(found, wanted, "callers");
    Ok(())
}

/// Commands and records side by side, in several instances; commands end with their
/// instance.
fn command_ends(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    sys::pin_to(0);
    let other = Instance::new(&context.root, "rtg-commands")?;
    select(&own, FILTER, GETPGID)?;
    own.set("current_tracer", "function")?;
    own.set(FILTER, &word("F:traceoff:1"))?;
    other.set(FILTER, &word("F:enable_event:E"))?;
    let recorded = |tree: &Tree, word: &str| -> Check<usize> {
        let (pid, text) = (format!("-{} ", sys::thread_id()), tree.get("trace")?);
        let lines = text.lines().filter(|line| line.contains(&pid));
        Ok(lines.filter(|line| line.contains(word)).count())
    };
    (0..3).for_each(|_| getpgid_of(0));
    getppid();
    (0..5).for_each(|_| getpgid_of(0));
    ensure_eq!(own.get("tracing_on")?, "0\n", "the command");
    ensure_eq!(recorded(&own, GETPGID)?, 3, "{}", own.shown("trace"));
    ensure_eq!(
        recorded(&other, "sys_getpgid(")?,
        5,
        "{}",
        other.shown("trace")
    );
    ensure_eq!(other.get(FILTER)?.lines().count(), 2, "its own commands");
    other.remove()?;
    own.set("tracing_on", "1")?;
    getppid();
    (0..2).for_each(|_| getpgid_of(0));
    ensure_eq!(recorded(&own, GETPGID)?, 5, "after the other instance");
    own.set("current_tracer", "nop")?;
    own.set(FILTER, &word("!F:traceoff:1"))?;
    // What does nothing does not count: this instance does not record.
    own.set(FILTER, &word("F:stacktrace:2"))?;
    own.set("tracing_on", "0")?;
    getppid();
    let shown = own.get(FILTER)?;
    ensure!(shown.contains(":stacktrace:count=2"), "{shown}");
    own.set(FILTER, &word("!F:stacktrace:0"))?;
    Ok(())
}

/// The lines that a dump has printed since `mark`, without what the kernel has before them.
fn dumped(mark: &str) -> Vec<String> {
    let lines = kmsg::after(mark).into_iter();
    let of_dump = lines.skip_while(|line| !line.contains("Dumping ftrace"));
    of_dump
        .map(|line| line.strip_prefix("rtrace: ").unwrap_or(&line).to_string())
        .collect()
}

/// Waits for a dump that is whole.
fn wait_for_dump(mark: &str) -> Check<Vec<String>> {
    let is_whole = || {
        let lines = dumped(mark);
        let ends = |line: &&String| line.starts_with("-----") || line.contains("buffer empty");
        let wanted = if lines.iter().any(|line| line.contains("buffer empty")) {
            1
        } else {
            2
        };
        lines.iter().filter(ends).count() == wanted
    };
    let seen = sys::wait_until(Duration::from_secs(30), is_whole);
    ensure!(seen, "no dump: {:?}", kmsg::after(mark));
    Ok(dumped(mark))
}

/// Dumps go to the kernel's log, in the frame of the kernel's own, and leave what they show. Recording is off then.
fn command_dumps(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    sys::pin_to(0);
    let mark = |text: &str| -> Check<String> {
        let mark = format!("rtg-dump-{text}-{}", sys::thread_id());
        kmsg::write(&mark).map_err(|e| format!("kmsg: {e}"))?;
        Ok(mark)
    };
    let call = |tree: &Tree, command: &str| -> Check<Vec<String>> {
        tree.set("tracing_on", "1")?;
        tree.set(FILTER, &word(&format!("F:{command}")))?;
        let mark = mark(command)?;
        getppid();
        let lines = wait_for_dump(&mark)?;
        ensure_eq!(tree.get("tracing_on")?, "0\n", "{command}");
        Ok(lines)
    };
    let events = |tree: &Tree| -> Check<Vec<String>> {
        let text = tree.get("trace")?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Ok(lines.map(str::to_string).collect())
    };
    let empty = call(&own, "dump")?;
    ensure_eq!(
        empty,
        [
            "Dumping ftrace instance rtg-own buffer:",
            "   (ftrace buffer empty)"
        ],
        "nothing recorded"
    );
    ensure_eq!(
        own.get(FILTER)?.lines().last(),
        Some(&*word("F:dump:count=0")),
        "once"
    );
    own.set("tracing_on", "1")?;
    let before = mark("again")?;
    getppid();
    ensure_eq!(own.get("tracing_on")?, "1\n", "not once more");
    own.set(FILTER, &word("!F:dump"))?;

    own.set("trace_marker", "one\n")?;
    sys::pin_to(sys::online_cpus() - 1);
    own.set("trace_marker", "two\n")?;
    sys::pin_to(0);
    ensure_eq!(dumped(&before), Vec::<String>::new(), "not once more");
    let all = call(&own, "dump")?;
    let shown = events(&own)?;
    ensure_eq!(shown.len(), 2, "{shown:?}");
    ensure_eq!(all.len(), 5, "{all:?}");
    ensure_eq!(all[2..4], shown[..], "the lines of trace");
    own.set(FILTER, &word("!F:dump"))?;
    if sys::online_cpus() > 1 {
        let one = call(&own, "cpudump")?;
        ensure_eq!(one.len(), 4, "{one:?}");
        ensure!(one[2].ends_with(": one"), "{one:?}");
        // While recording is off nothing is printed again.
        let mark = mark("off")?;
        getppid();
        own.set("tracing_on", "1")?;
        own.set(FILTER, &word("!F:cpudump"))?;
        ensure_eq!(
            dumped(&mark),
            Vec::<String>::new(),
            "while recording is off"
        );
    }

    // The same frame as the kernel's, which dumps its top folder, whatever instance the command is of.
    let (top, theirs) = (own.top(), reference.top());
    theirs.set("trace_marker", "three\n")?;
    reference.set(FILTER, &word("F:dump"))?;
    let mark = mark("kernel")?;
    getppid();
    let wanted = wait_for_dump(&mark);
    let _ = theirs.set("tracing_on", "1");
    reference.set(FILTER, &word("!F:dump"))?;
    top.clear()?;
    top.set("trace_marker", "three\n")?;
    let found = call(&top, "dump");
    let _ = top.set("tracing_on", "1");
    top.set(FILTER, &word("!F:dump"))?;
    let (found, wanted) = (found?, wanted?);
    ensure_eq!(found.len(), wanted.len(), "{found:?} {wanted:?}");
    let frame = |lines: &[String]| [&lines[..2], &lines[3..]].concat();
    ensure_eq!(frame(&found), frame(&wanted), "the frame");
    own.remove()
}
