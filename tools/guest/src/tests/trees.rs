// SPDX-License-Identifier: GPL-2.0

//! The whole tree beside tracefs, file by file: which names exist, what can be opened how, what
//! a first read and wrong input give. `fs.modes` checks modes and owners.
//!
//! `MISSING`, `OWN` and `DIFFER` say which differences are meant; Documentation/differences.md and
//! the README say them to users.

use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::sys;
use crate::tree::Tree;
use crate::Context;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;

pub const TESTS: &[Test] = &[
    test("tree.names", 60, names),
    test("tree.opens", 120, opens),
    test("tree.reads", 120, reads),
    test("tree.wrong_input", 200, wrong_input),
];

/// Names of tracefs that rtracefs lacks, and why. A name ends at the end of the path.
const MISSING: &[(&str, &str)] = &[
    ("dyn_ftrace_total_info", FUNCTIONS),
    (
        "printk_formats",
        "the strings of trace_printk() are not the kernel's to give",
    ),
    ("btf_ids", "the types of arguments are in the kernel's BTF"),
];

const FUNCTIONS: &str = "of function tracers, only function and function_graph are there";

/// Names that only rtracefs has.
const OWN: &[&str] = &[
    "dynamic_profile",
    "event_counts",
    "events/ftrace/fgraph_retaddr_entry",
    "events/ftrace/off_sampled",
    "events/raw",
    "features",
    "function_profile_enabled",
    "function_profile_time",
    "hist_json",
    "hist_take",
    "hits",
    "latency_sampler",
    "lost",
    "stack_tracer_enabled",
    "totals",
    "trace_durations",
    "trace_folded",
    "trace_pipe_json",
    "trace_stat",
    "user_events_data",
    "user_events_status",
];

/// Names that every instance of rtracefs has, and of tracefs only the top.
pub const OF_THE_TOP: &[&str] = &[
    "max_graph_depth",
    "set_graph_function",
    "set_graph_notrace",
    "tracing_thresh",
];

/// Names that the kernels with checks leave out of tracefs: they are built without. The event is one of rtrace's KUnit
/// tests.
const NOT_BUILT: &[&str] = &[
    "events/dummy",
    "options/func-args",
    "options/func-once",
    "options/funcgraph-args",
    "snapshot",
    "snapshot_raw",
    "stack_max_size",
    "stack_trace",
    "stack_trace_filter",
];

/// Names of latency tracers, which most kernels leave out of tracefs.
const OF_LATENCIES: &[&str] = &[
    "hwlat_detector",
    "osnoise",
    "events/osnoise",
    "tracing_max_latency",
];

/// A name that tracefs alone has, for one of those reasons.
pub fn is_missing(path: &str) -> bool {
    missing_row(path).is_some()
}

/// The row of [`MISSING`] for this name, or for a folder that it is in.
fn missing_row(path: &str) -> Option<&'static (&'static str, &'static str)> {
    MISSING
        .iter()
        .find(|(name, _)| is_named(path, name) || path.starts_with(&format!("{name}/")))
}

/// A name that rtracefs alone has, or what is in a folder of that name.
pub fn is_own(path: &str) -> bool {
    let inside = |name: &str| path.starts_with(&format!("{name}/"));
    OWN.iter().any(|name| is_named(path, name) || inside(name))
}

/// Returns whether this is one of them, on such a kernel.
pub fn is_not_built(path: &str) -> bool {
    let is_in = |names: &[&str]| {
        let inside = |name: &str| path.starts_with(&format!("{name}/"));
        names
            .iter()
            .any(|name| is_named(path, name) || inside(name))
    };
    sys::kernel_with_checks() && is_in(NOT_BUILT)
        || !sys::has_latency_tracers() && is_in(OF_LATENCIES)
}

/// The names in a folder of each tree, as differences of tracefs and of rtracefs.
fn differing(own: &Tree, reference: &Tree, folder: &str) -> Check<[Vec<String>; 2]> {
    let list =
        |tree: &Tree| -> Check<BTreeSet<String>> { Ok(tree.list(folder)?.into_iter().collect()) };
    let (found, wanted) = (list(own)?, list(reference)?);
    let path = |name: &String| match folder {
        "" => name.clone(),
        _ => format!("{folder}/{name}"),
    };
    Ok([
        wanted.difference(&found).map(path).collect(),
        found.difference(&wanted).map(path).collect(),
    ])
}

/// Whether the path is that name, or ends in it.
fn is_named(path: &str, name: &str) -> bool {
    path.strip_suffix(name)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// The folders whose names both trees have, except those of systems and events that only
/// one of them offers.
fn folders(own: &Tree, reference: &Tree) -> Check<Vec<String>> {
    let mut folders = vec![String::new(), "per_cpu".into(), "events/sched".into()];
    for cpu in 0..sys::online_cpus() {
        folders.push(format!("per_cpu/cpu{cpu}"));
    }
    for system in own.list("events")? {
        let system = format!("events/{system}");
        if system == "events/ftrace" || !reference.file(&system).is_dir() {
            continue;
        }
        for event in own.list(&system)? {
            let event = format!("{system}/{event}");
            if own.file(&event).is_dir() && reference.file(&event).is_dir() {
                folders.push(event);
            }
        }
    }
    Ok(folders)
}

fn names(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let mut needed = BTreeSet::new();
    for (own, reference) in [
        (&own as &Tree, &reference as &Tree),
        (&own.top(), &reference.top()),
    ] {
        for folder in folders(own, reference)? {
            let [missing, extra] = differing(own, reference, &folder)?;
            for path in missing {
                // Events that rtracefs does not offer: Documentation/events.md.
                if folder == "events/sched" {
                    continue;
                }
                match missing_row(&path) {
                    Some((name, _)) => _ = needed.insert(*name),
                    None => report.add(format!("{}: only in tracefs", reference.shown(&path))),
                }
            }
            for path in extra {
                let is_in = |names: &[&str]| names.iter().any(|name| is_named(&path, name));
                report.expect(
                    is_not_built(&path) || is_in(OWN) || is_in(OF_THE_TOP),
                    || format!("{}: not in tracefs", own.shown(&path)),
                );
            }
        }
        // There is no file for an option that has no effect, and none that
        // tracefs lacks, except rtrace's own, which do nothing unless they are set.
        let [missing, mut extra] = differing(own, reference, "options")?;
        extra.retain(|path| super::like(path) == *path);
        println!("options only in tracefs: {missing:?}");
        report.expect(extra.is_empty(), || format!("not in tracefs: {extra:?}"));
    }
    for (name, why) in MISSING {
        if !needed.contains(name) {
            println!("{name} ({why}): tracefs has no such name, or rtracefs has it too");
        }
    }
    report.finish()
}

/// Files whose opening changes the buffer for all users, or waits.
const LEFT_ALONE: &[&str] = &["free_buffer"];

/// The files that both trees have: all but those of events; a few of these stand for all.
fn files(own: &Tree, reference: &Tree) -> Check<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![String::new(), "options".into(), "per_cpu/cpu0".into()];
    folders.extend(
        [
            "events",
            "events/sched",
            "events/sched/sched_switch",
            "events/irq",
            "events/irq/softirq_entry",
            "events/timer/hrtimer_start",
            "events/raw_syscalls/sys_enter",
            "events/ftrace/print",
        ]
        .map(String::from),
    );
    for folder in folders {
        for name in own.list(&folder)? {
            let path = match folder.as_str() {
                "" => name,
                _ => format!("{folder}/{name}"),
            };
            let both = |test: fn(&std::path::Path) -> bool| {
                test(&own.file(&path)) && test(&reference.file(&path))
            };
            if both(|file| file.is_file()) && !LEFT_ALONE.iter().any(|name| is_named(&path, name)) {
                found.push(path);
            }
        }
    }
    ensure!(found.len() > 40, "only {} files in common", found.len());
    Ok(found)
}

/// Both instances, and both tops with the files that no instance has.
fn each_pair(context: &Context, mut check: impl FnMut(&Tree, &Tree, &str)) -> Check {
    let (own, reference) = pair(context)?;
    let everywhere = files(&own, &reference)?;
    for file in &everywhere {
        check(&own, &reference, file);
    }
    let (own, reference) = (own.top(), reference.top());
    for file in files(&own, &reference)? {
        if !everywhere.contains(&file) {
            check(&own, &reference, &file);
        }
    }
    Ok(())
}

/// Every way to open a file: taken or refused as by tracefs.
fn opens(context: &Context) -> Check {
    const WAYS: &[(&str, bool, bool, i32)] = &[
        ("read", true, false, 0),
        ("write", false, true, 0),
        ("read and write", true, true, 0),
        ("truncate", false, true, sys::O_TRUNC),
        ("append", false, true, 0o2000),
        ("a folder", true, false, 0o200_000),
        ("direct", true, false, 0o40_000),
    ];
    let mut report = Report::default();
    let mut count = 0;
    each_pair(context, |own, reference, file| {
        for (way, read, write, flags) in WAYS {
            let open = |tree: &Tree| -> Op {
                OpenOptions::new()
                    .read(*read)
                    .write(*write)
                    .custom_flags(*flags | sys::O_NONBLOCK)
                    .open(tree.file(file))
                    .map(drop)
                    .map_err(Errno::from)
            };
            let (found, wanted) = (open(own), open(reference));
            count += 1;
            if differs(file, way).is_none_or(|(ours, _)| ours != found) {
                report.expect(found == wanted, || {
                    format!("{}, {way}: {found:?}, tracefs {wanted:?}", own.shown(file))
                });
            }
        }
    })?;
    println!("{count} times opened");
    report.finish()
}

/// What a first read is: text, nothing, or an error.
fn reads(context: &Context) -> Check {
    // Names of tasks are kept from the first event on.
    for top in [&context.root, &context.reference] {
        let top = Tree::at(top);
        top.set("events/sched/sched_switch/enable", "1")?;
        std::thread::sleep(std::time::Duration::from_millis(50));
        top.set("events/sched/sched_switch/enable", "0")?;
    }
    let mut report = Report::default();
    let mut count = 0;
    each_pair(context, |own, reference, file| {
        let read = |tree: &Tree| -> Op<bool> {
            let mut open = tree.open_nonblock(file)?;
            Ok(open.read(&mut vec![0; 1 << 16])? > 0)
        };
        let (found, wanted) = (read(own), read(reference));
        count += 1;
        if differs(file, "read").is_none_or(|(ours, _)| ours.map(|()| true) != found) {
            report.expect(found == wanted, || {
                format!("{}: {found:?}, tracefs {wanted:?}", own.shown(file))
            });
        }
    })?;
    println!("{count} files read");
    report.finish()
}

/// (file, way or input, ours, why): what rtracefs answers otherwise.
const DIFFER: &[(&str, &str, Op, &str)] = &[];

fn differs(file: &str, what: &str) -> Option<(Op, &'static str)> {
    DIFFER
        .iter()
        .find(|row| is_named(file, row.0) && row.1 == what)
        .map(|row| (row.2, row.3))
}

/// Inputs that no file takes but those that take any text: the same answer as tracefs, byte counts
/// included, and a refusal changes nothing.
fn wrong_input(context: &Context) -> Check {
    let inputs: Vec<(&str, Vec<u8>)> = vec![
        ("empty", vec![]),
        ("garbage", b"garbage\n".to_vec()),
        ("space", b" ".to_vec()),
        ("minus", b"-1\n".to_vec()),
        ("huge", b"99999999999999999999\n".to_vec()),
        ("binary", vec![0, 0xff, 1, b'\n']),
        ("5000 bytes", vec![b'x'; 5000]),
        ("5000 digits", vec![b'9'; 5000]),
        ("quotes", b"\"'\\".to_vec()),
    ];
    let mut report = Report::default();
    let mut count = 0;
    each_pair(context, |own, reference, file| {
        for (label, input) in &inputs {
            // Reading streams would consume; the text of a filter or a log tells of the refusal.
            let text = |tree: &Tree| match is_stream(file) || is_named(file, "filter") {
                true => None,
                false => tree.read_bytes(file).ok(),
            };
            let write = |tree: &Tree| -> Op<usize> {
                tree.open_write(file)?.write(input).map_err(Errno::from)
            };
            let before = text(own);
            let (found, wanted) = (write(own), write(reference));
            count += 1;
            if differs(file, label).is_none_or(|(ours, _)| ours != found.map(drop)) {
                report.expect(found == wanted, || {
                    format!(
                        "{} <- {label}: {found:?}, tracefs {wanted:?}",
                        own.shown(file)
                    )
                });
            }
            report.expect(found.is_ok() || before == text(own), || {
                format!("{} <- {label}: refused, yet changed", own.shown(file))
            });
        }
    })?;
    println!("{count} writes");
    report.finish()
}

/// Whether each read of the file tells something else.
fn is_stream(file: &str) -> bool {
    ["trace_pipe", "trace_pipe_raw", "snapshot_raw", "stats"]
        .iter()
        .any(|name| is_named(file, name))
}
