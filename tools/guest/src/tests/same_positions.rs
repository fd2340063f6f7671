// SPDX-License-Identifier: GPL-2.0

//! Where an open file stands after it was written or read to its end: the same as in tracefs.

use super::dynamic::Tops;
use super::golden::without_stamp;
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::tree::Tree;
use crate::{sys, Context};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

pub const TESTS: &[Test] = &[
    test("same.positions", 60, positions),
    test("same.definitions_stay", 60, definitions_stay),
    test("same.settings_stay", 30, settings_stay),
    test("same.trace_goes_on", 30, trace_goes_on),
];

/// Files and what they take.
const WRITES: &[(&str, &str)] = &[
    ("tracing_cpumask", "1"),
    ("buffer_size_kb", "100\n"),
    ("per_cpu/cpu0/buffer_size_kb", "200"),
    ("buffer_subbuf_size_kb", "4"),
    ("buffer_subbuf_size_kb", "8\n"),
    ("buffer_percent", "50"),
    ("tracing_on", "0\n"),
    ("current_tracer", "nop\n"),
    ("trace_clock", "global"),
    ("trace_options", "nooverwrite"),
    ("options/overwrite", "1\n"),
    ("set_event", "sched:sched_switch"),
    ("set_event", "sched:sched_wakeup irq:irq_handler_entry\n"),
    ("set_event_pid", "4242"),
    ("set_event_notrace_pid", "4243 4244\n"),
    ("events/enable", "0"),
    ("events/sched/enable", "0\n"),
    ("events/sched/sched_switch/enable", "1"),
    ("events/sched/sched_switch/filter", "prev_pid == 1"),
    ("events/sched/filter", "0\n"),
    (
        "events/sched/sched_waking/trigger",
        "stacktrace if pid == -1",
    ),
    ("error_log", "anything"),
    ("trace", "anything"),
    ("per_cpu/cpu0/trace", "anything"),
    ("snapshot", "0\n"),
    ("per_cpu/cpu0/snapshot", "2"),
    ("syscall_user_buf_size", "64\n"),
    ("trace_marker", "a marker"),
    ("free_buffer", "x"),
];

/// What Documentation/differences.md says of these.
fn is_listed(name: &str, reads: bool, at: Option<u64>) -> bool {
    match name.rsplit('/').next() {
        Some("free_buffer") => at.is_some(),
        Some("snapshot" | "trigger") => !reads,
        Some("filter") => reads,
        _ => false,
    }
}

/// The result of one write, and what a reader then finds.
fn outcome(tree: &Tree, (name, text): (&str, &str), reads: bool, at: Option<u64>) -> Check<String> {
    let path = tree.file(name);
    let mut open = OpenOptions::new();
    open.read(reads).write(true).custom_flags(sys::O_NONBLOCK);
    let mut file = match open.open(&path).map_err(Errno::from) {
        Ok(file) => file,
        Err(e) => return Ok(format!("open: {e:?}")),
    };
    let written = match at {
        Some(at) => file.write_at(text.as_bytes(), at),
        None => file.write(text.as_bytes()),
    };
    let written = written.map_err(Errno::from);
    let position = file.stream_position().map_err(Errno::from);
    let mut bytes = [0; 100];
    let read = match reads {
        true => file.read(&mut bytes).map_err(Errno::from),
        false => Ok(0),
    };
    // The header of `trace` has another kernel's words, and of texts only their beginning counts.
    let rest = match name.ends_with("trace") || name.ends_with("snapshot") {
        true => String::new(),
        false => String::from_utf8_lossy(&bytes[..read.unwrap_or(0)]).into_owned(),
    };
    let after = file.stream_position().map_err(Errno::from);
    Ok(format!(
        "{written:?} at {position:?}, {read:?} {rest:?}, {after:?}"
    ))
}

/// A write moves the position by what it is worth there; a write at a position is refused by the files
/// whose text the kernel makes for each reader.
fn positions(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for write in WRITES {
        for reads in [true, false] {
            for at in [None, Some(0), Some(3)] {
                if is_listed(write.0, reads, at) {
                    continue;
                }
                let found = outcome(&own, *write, reads, at)?;
                let wanted = outcome(&reference, *write, reads, at)?;
                report.expect(found == wanted, || {
                    let (file, text) = write;
                    format!(
                        "{file} <- {text:?}, read {reads}, at {at:?}: {found}, tracefs {wanted}"
                    )
                });
            }
        }
    }
    report.finish()
}

/// Files of definitions, and two lines for each.
const DEFINITIONS: &[(&str, [&str; 2])] = &[
    (
        "kprobe_events",
        ["p:rtgpos/one vfs_read\n", "p:rtgpos/two vfs_write\n"],
    ),
    (
        "dynamic_events",
        ["p:rtgpos/one vfs_read\n", "p:rtgpos/two vfs_write\n"],
    ),
    (
        "synthetic_events",
        ["rtg_one u64 lat\n", "rtg_two int pid; u64 lat\n"],
    ),
];

/// Opens a file for both, at its beginning.
fn open_both(tree: &Tree, name: &str) -> Check<File> {
    let open = OpenOptions::new()
        .read(true)
        .write(true)
        .open(tree.file(name));
    open.map_err(|e| format!("{}: {e}", tree.shown(name)))
}

/// The result of a write, and what one read gives after it.
fn write_and_read(file: &mut File, text: &str) -> (Op<usize>, String) {
    let written = file.write(text.as_bytes()).map_err(Errno::from);
    let mut bytes = [0; 1000];
    let read = file.read(&mut bytes).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
    (written, text)
}

/// A write of definitions leaves the position where it is: a reader gets all of them, or those that
/// have come since.
fn definitions_stay(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let mut report = Report::default();
    for (name, lines) in DEFINITIONS {
        let mut seen = Vec::new();
        for tree in tops.trees() {
            let mut file = open_both(tree, name)?;
            seen.push(lines.map(|line| write_and_read(&mut file, line)));
        }
        report.expect(seen[0] == seen[1], || {
            format!("{name}: {:?}, tracefs {:?}", seen[0], seen[1])
        });
        tops.clear();
    }
    report.finish()
}

/// Settings that are no part of an instance in tracefs.
const SETTINGS: &[&str] = &[
    "tracing_thresh",
    "tracing_max_latency",
    "hwlat_detector/width",
    "hwlat_detector/window",
    "osnoise/cpus",
    "osnoise/period_us",
    "osnoise/print_stack",
    "osnoise/runtime_us",
    "osnoise/stop_tracing_total_us",
    "osnoise/stop_tracing_us",
    "osnoise/timerlat_align_us",
    "osnoise/timerlat_period_us",
];

/// A write of a setting leaves the position where it is, too: a reader gets all of the text.
fn settings_stay(context: &Context) -> Check {
    let mut report = Report::default();
    for tree in [Tree::at(&context.root), Tree::at(&context.reference)] {
        let same = |name: &&'static str| -> Check<_> { Ok((*name, tree.get(name)?)) };
        let there = SETTINGS.iter().filter(|name| tree.exists(name));
        let mut writes: Vec<_> = there.map(same).collect::<Check<_>>()?;
        if tree.exists("osnoise/options") {
            writes.push(("osnoise/options", "DEFAULTS\n".to_string()));
        }
        for (name, text) in writes {
            let found = write_and_read(&mut open_both(&tree, name)?, &text);
            let wanted = (Ok(text.len()), tree.get(name)?);
            report.expect(found == wanted, || {
                format!("{}: {found:?}, not {wanted:?}", tree.shown(name))
            });
        }
    }
    report.finish()
}

fn read_to_end(file: &mut File) -> Check<String> {
    let (mut text, mut bytes) = (Vec::new(), [0; 4096]);
    loop {
        match file.read(&mut bytes) {
            Ok(0) => return Ok(String::from_utf8_lossy(&text).into_owned()),
            Ok(n) => text.extend_from_slice(&bytes[..n]),
            Err(e) => fail!("read: {e}"),
        }
    }
}

/// A reader of `trace` that reads past the end gets what was recorded since, and the end again.
fn trace_goes_on(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    for name in ["trace", "per_cpu/cpu0/trace"] {
        let mut seen = Vec::new();
        for tree in [&own as &Tree, &reference] {
            tree.clear()?;
            tree.set("trace_marker", "one")?;
            let mut file = tree.open(name).map_err(|e| format!("{name}: {e}"))?;
            let mut texts = vec![read_to_end(&mut file)?.replace("rtg-own", "rtg-ref")];
            ensure!(texts[0].contains("one"), "{}: no marker", tree.shown(name));
            for marker in ["two", "three"] {
                tree.set("trace_marker", marker)?;
                let text = read_to_end(&mut file)?;
                ensure!(
                    text.lines().count() == 1 && text.contains(marker),
                    "{}: behind the end {text:?}",
                    tree.shown(name)
                );
                texts.push(text);
            }
            texts.push(read_to_end(&mut file)?);
            let lines = texts.iter().flat_map(|text| text.lines());
            seen.push(lines.map(without_stamp).collect::<Vec<_>>());
        }
        ensure_eq!(seen[0], seen[1], "{name}");
    }
    Ok(())
}
