// SPDX-License-Identifier: GPL-2.0

//! Filters, pids, CPUs, snapshots, splice and binary markers with each allocation failing: with ENOMEM
//! every file says what it said before.

use super::faults::open;
use super::files::{self, ControlFile, Scope};
use super::{exact, test, Test};
use crate::callers;
use crate::check::{Check, Report};
use crate::errno::*;
use crate::faults::Faults;
use crate::soak::Share;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::cell::RefCell;
use std::io::{Read, Write};

pub const TESTS: &[Test] = &[
    test("faults.files", 280, files),
    test("faults.refused_filters", 120, refused_filters),
    exact("faults.spliced", 120, spliced),
];

const EVENT: &str = "events/timer/timer_start";

/// All that a refused write could have changed.
fn state(tree: &Tree) -> Check<Vec<(String, String)>> {
    let of_tree = |file: &&ControlFile| {
        file.is_text() && file.scope == Scope::Each && !file.path.contains('/')
    };
    let files = files::all().filter(of_tree);
    let mut files: Vec<_> = files.map(|file| file.path.to_string()).collect();
    files.push("per_cpu/cpu0/snapshot".into());
    files.push(NAMES.into());
    for event in tree.list("events/timer")? {
        let file = format!("events/timer/{event}/filter");
        if tree.exists(&file) {
            files.push(file);
        }
    }
    files
        .into_iter()
        .map(|file| tree.get(&file).map(|text| (file, without_names(&text))))
        .collect()
}

/// A text without the names of tasks: a name may become known at any time.
fn without_names(text: &str) -> String {
    let without = |line: &str| -> String {
        let Some((task, rest)) = line.split_once(" [") else {
            return line.to_string();
        };
        let pid = task.rsplit('-').next().unwrap_or(task);
        format!("-{} [{rest}", pid.trim())
    };
    text.lines().map(without).collect::<Vec<_>>().join("\n")
}

/// Files of a tree that differ from what they were.
fn unchanged(tree: &Tree, before: &[(String, String)]) -> Check {
    for (found, wanted) in state(tree)?.iter().zip(before) {
        ensure_eq!(found, wanted, "after ENOMEM");
    }
    Ok(())
}

/// Writes a text, or only empties the file when there is none.
fn put(tree: &Tree, (file, text): &(&str, &str)) -> Check {
    match text.is_empty() {
        true => tree.empty(file),
        false => tree.set(file, text),
    }
}

/// What each row begins with, whatever the rows before it have left.
const FIRST: &[(&str, &str)] = &[
    (ENABLE, "0"),
    (SYSTEM, "0"),
    ("set_event_pid", ""),
    ("set_event_notrace_pid", ""),
    ("set_ftrace_pid", ""),
    ("trace_options", "nofunction-fork"),
    ("trace_options", "noevent-fork"),
    (NAMES, "1"),
    ("snapshot", "0"),
    ("trace", ""),
    ("error_log", ""),
];

/// A write, what is written before it, and what takes it back.
struct Row {
    first: &'static [(&'static str, &'static str)],
    write: (&'static str, &'static str),
    back: &'static [(&'static str, &'static str)],
    /// Whether it needs memory.
    needs: bool,
}

const fn row(
    first: &'static [(&'static str, &'static str)],
    write: (&'static str, &'static str),
    back: &'static [(&'static str, &'static str)],
) -> Row {
    Row {
        first,
        write,
        back,
        needs: true,
    }
}

/// The option of the top instance by which names of tasks are remembered for all instances.
const NAMES: &str = "../../options/record-cmd";
const FILTER: &str = "events/timer/timer_start/filter";
const ENABLE: &str = "events/timer/timer_start/enable";
const SYSTEM: &str = "events/timer/filter";

/// An event that is enabled and never recorded, without names.
const QUIETLY_ENABLED: &[(&str, &str)] =
    &[(FILTER, "flags == 0x7fffffff"), (NAMES, "0"), (ENABLE, "1")];

const ROWS: &[Row] = &[
    row(
        &[],
        (FILTER, "flags == 0x7fffffff && CPU & CPUS{0}"),
        &[(FILTER, "0")],
    ),
    // One that is in use is replaced.
    row(
        &[(FILTER, "flags == 0x7fffffff"), (ENABLE, "1")],
        (FILTER, "flags == 0x7ffffffe || COMM ~ \"no*such\""),
        &[(FILTER, "flags == 0x7fffffff")],
    ),
    row(
        &[(FILTER, "flags == 0x7fffffff")],
        (FILTER, "0"),
        &[(FILTER, "flags == 0x7fffffff"), (ENABLE, "0")],
    ),
    row(
        &[(FILTER, "flags == 0x7fffffff")],
        (SYSTEM, "common_pid == 1"),
        &[(SYSTEM, "0"), (FILTER, "flags == 0x7fffffff")],
    ),
    // Most events of the system do not have the field, and say so.
    row(
        &[(SYSTEM, "0")],
        (SYSTEM, "flags == 0x7fffffff"),
        &[(SYSTEM, "0"), ("error_log", "")],
    ),
    row(
        &[(SYSTEM, "common_pid == 1")],
        (SYSTEM, "0"),
        &[(SYSTEM, "common_pid == 1")],
    ),
    row(
        &[(SYSTEM, "0")],
        ("set_event_pid", "1 22 333"),
        &[("set_event_pid", "")],
    ),
    row(
        &[("set_event_pid", "1 2")],
        ("set_event_pid", "22"),
        &[("set_event_pid", ""), ("set_event_pid", "1 2")],
    ),
    row(
        &[(FILTER, "flags == 0x7fffffff"), (ENABLE, "1")],
        ("set_event_notrace_pid", "4 5"),
        &[("set_event_notrace_pid", "")],
    ),
    row(
        &[("set_event_pid", ""), (ENABLE, "0")],
        ("tracing_cpumask", "1"),
        &[],
    ),
    row(&[], ("snapshot", "1"), &[("snapshot", "0")]),
    Row {
        needs: false,
        ..row(&[("snapshot", "1")], ("snapshot", "1"), &[])
    },
    Row {
        needs: false,
        ..row(&[("snapshot", "1")], ("per_cpu/cpu0/snapshot", "2"), &[])
    },
    // Both buffers, or none.
    row(
        &[("snapshot", "1"), ("snapshot", "2")],
        ("buffer_size_kb", "90"),
        &[("buffer_size_kb", "60")],
    ),
    row(
        &[("snapshot", "1"), ("snapshot", "2")],
        ("buffer_subbuf_size_kb", "8"),
        &[("buffer_subbuf_size_kb", "4"), ("buffer_size_kb", "60")],
    ),
    Row {
        needs: false,
        ..row(
            &[("snapshot", "1"), ("snapshot", "2")],
            ("snapshot", "0"),
            &[("snapshot", "1"), ("snapshot", "2")],
        )
    },
    row(
        &[],
        ("trace_options", "stacktrace"),
        &[("trace_options", "nostacktrace")],
    ),
    row(
        &[],
        ("trace_options", "userstacktrace"),
        &[("trace_options", "nouserstacktrace")],
    ),
    row(
        &[],
        ("trace_options", "record-tgid"),
        &[("trace_options", "norecord-tgid")],
    ),
    // The first of the two that needs what the scheduler tells.
    row(
        QUIETLY_ENABLED,
        ("trace_options", "record-tgid"),
        &[("trace_options", "norecord-tgid")],
    ),
    row(QUIETLY_ENABLED, (NAMES, "1"), &[(NAMES, "0")]),
    row(
        &[],
        ("trace_options", "event-fork"),
        &[("trace_options", "noevent-fork")],
    ),
    row(
        &[("set_ftrace_pid", "1")],
        ("trace_options", "function-fork"),
        &[("trace_options", "nofunction-fork")],
    ),
    // On as it is, and off.
    row(
        &[("set_ftrace_pid", "1"), ("trace_options", "function-fork")],
        ("trace_options", "function-fork"),
        &[],
    ),
    row(
        &[("set_ftrace_pid", "1"), ("trace_options", "function-fork")],
        ("trace_options", "nofunction-fork"),
        &[("trace_options", "function-fork")],
    ),
    row(
        &[("trace_options", "event-fork")],
        ("trace_options", "event-fork"),
        &[],
    ),
    row(
        &[],
        ("options/event-counts", "1"),
        &[("options/event-counts", "0")],
    ),
    row(
        &[],
        ("options/pipe-share", "1"),
        &[("options/pipe-share", "0")],
    ),
    row(&[], ("buffer_percent", "70"), &[("buffer_percent", "50")]),
    row(
        &[],
        ("syscall_user_buf_size", "20"),
        &[("syscall_user_buf_size", "63")],
    ),
    row(
        &[],
        ("trace_marker_raw", "\x01\0\0\0more"),
        &[("trace", "")],
    ),
    row(&[], ("error_log", ""), &[]),
];

fn files(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("some files are ours");
    }
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    // A row leaves `tracing_cpumask` at this CPU, and markers are refused on others.
    sys::pin_to(0);
    own.set("buffer_size_kb", "60")?;
    let share = Share::one_of(3);
    let mut report = Report::default();
    for Row {
        first,
        write,
        back,
        needs,
    } in ROWS
    {
        let (file, text) = *write;
        if !share.has(&format!("{first:?} {file} {text}")) {
            continue;
        }
        let all = FIRST.iter().chain(*first);
        all.clone().try_for_each(|step| put(&own, step))?;
        own.set("trace_marker", "kept")?;
        let before = RefCell::new(state(&own)?);
        let path = own.file(file);
        let flags = if text.is_empty() { sys::O_TRUNC } else { 0 };
        let result = faults.exhaust(
            &format!("{text:?} > {file}"),
            || {
                let mut file = open(&path, true, flags)?;
                match text.is_empty() {
                    true => Ok(()),
                    false => Ok(file.write(text.as_bytes()).map(drop)?),
                }
            },
            |result| {
                if result.is_err() {
                    return unchanged(&own, &before.borrow());
                }
                back.iter().try_for_each(|step| put(&own, step))?;
                own.set("trace_marker", "kept")?;
                *before.borrow_mut() = state(&own)?;
                Ok(())
            },
        );
        report.collect(result.and_then(|tally| {
            ensure!(!needs || tally.refused > 0, "{file}: {tally:?}");
            Ok(())
        }));
    }
    own.set(NAMES, "1")?;
    report.finish()?;
    own.remove()
}

/// A text that is wrong is EINVAL and shown with what is wrong, or ENOMEM and nothing is.
fn refused_filters(context: &Context) -> Check {
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    // What there is to see with memory; `filter.right_texts` compares it with tracefs.
    ensure_eq!(
        own.write(FILTER, b"nosuch == 1"),
        Err(EINVAL),
        "a wrong filter"
    );
    let wanted = own.get(FILTER)?;
    ensure!(
        wanted.contains("\nparse_error: Field not found\n"),
        "{wanted:?}"
    );
    put(&own, &("error_log", ""))?;
    own.set(FILTER, "flags == 0x7fffffff")?;
    let before = RefCell::new(state(&own)?);
    let path = own.file(FILTER);
    let mut told = 0;
    let tally = faults.exhaust(
        "a wrong filter",
        || {
            let mut file = open(&path, true, 0)?;
            match file.write(b"nosuch == 1").map_err(Errno::from) {
                Err(EINVAL) => Ok(()),
                Err(e) => Err(e),
                Ok(_) => Err(EIO),
            }
        },
        |result| {
            if result.is_err() {
                return unchanged(&own, &before.borrow());
            }
            ensure_eq!(own.get(FILTER)?, wanted, "the filter");
            // Without memory for it, only the log does not say so.
            told += usize::from(own.get("error_log")?.contains("nosuch"));
            own.set(FILTER, "flags == 0x7fffffff")?;
            put(&own, &("error_log", ""))?;
            *before.borrow_mut() = state(&own)?;
            Ok(())
        },
    )?;
    ensure!(tally.refused > 0 && told > 0, "{tally:?}, {told} told");
    let enabled = own.get(&format!("{EVENT}/enable"))?;
    ensure_eq!(enabled, "0\n", "the event");
    own.remove()
}

/// What splice is refused stays in the buffer, and comes with the next one, each byte once.
fn spliced(context: &Context) -> Check {
    const EVENTS: usize = 400;
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    sys::pin_to(0);
    own.set("buffer_size_kb", "60")?;
    own.set("buffer_percent", "0")?;
    let left = || own.number("per_cpu/cpu0/stats", "entries");
    let refill = || -> Check<u64> {
        own.clear()?;
        for i in 0..EVENTS {
            own.set("trace_marker", &format!("marker {i:04}"))?;
        }
        left()
    };
    let before = RefCell::new(refill()?);
    let (mut reader, writer) = sys::pipe().map_err(|e| format!("pipe: {e}"))?;
    let path = own.file("per_cpu/cpu0/trace_pipe_raw");
    let mut bytes = vec![0; 1 << 16];
    let tally = faults.exhaust(
        "splice",
        || {
            let file = open(&path, false, sys::O_NONBLOCK)?;
            callers::splice(&file, &writer, 8192, false)
        },
        |result| {
            let Ok(moved) = result else {
                ensure_eq!(left()?, *before.borrow(), "events after ENOMEM");
                return Ok(());
            };
            // Fewer pages than with all memory are correct.
            ensure!((4096..=8192).contains(&moved), "{moved} bytes were moved");
            let read = reader.read(&mut bytes).map_err(|e| format!("pipe: {e}"))?;
            ensure_eq!(read, moved, "bytes in the pipe");
            let text = String::from_utf8_lossy(&bytes[..read]);
            let found = text.matches("marker ").count() as u64;
            ensure!(text.contains("marker 0000"), "the oldest is not there");
            ensure_eq!(found + left()?, *before.borrow(), "events, moved and left");
            *before.borrow_mut() = refill()?;
            Ok(())
        },
    )?;
    ensure!(tally.refused > 0, "{tally:?}");
    drop((reader, writer));
    own.remove()
}
