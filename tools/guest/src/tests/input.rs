// SPDX-License-Identifier: GPL-2.0

//! Wrong and odd input to every control file: it must be answered as the
//! kernel's own tracefs answers it, with the same state afterwards, and a refused
//! write must change nothing.
//!
//! The expected error is not written here: the same write goes to an instance of
//! the kernel's tracefs at the same time. Only where rtracefs differs on purpose
//! does a row of `EXCEPTIONS` say so, with the reason.

use super::files::{self, Scope};
use super::fs_tree::walk;
use super::input_rows::{common, Row, State, ROWS};
use super::trees::is_not_built;
use super::{like, pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};

pub const TESTS: &[Test] = &[
    test("input.every_file", 60, every_file),
    test("input.instance_files", 120, instance_files),
    test("input.options", 60, options),
    test("input.top_files", 30, top_files),
    test("input.size_overflow", 20, size_overflow),
    test("input.cpu_names", 10, cpu_names),
    test("input.bad_addresses", 20, bad_addresses),
    test("input.pieces", 30, pieces),
    test("input.seeks", 20, seeks),
    test("input.truncation", 20, truncation),
    test("input.far_words", 30, far_words),
];

/// (file, input, answer, why rtracefs does not answer as tracefs does)
const EXCEPTIONS: &[(&str, &str, Op<usize>, &str)] = &[];

/// One write to both trees, compared.
fn compare(
    report: &mut Report,
    own: &Tree,
    reference: &Tree,
    row: &Row,
    label: &str,
    bytes: &[u8],
) {
    let look = |tree: &Tree| (row.state != State::None).then(|| tree.get(row.file));
    let (before, before_reference) = (look(own), look(reference));
    let (found, expected) = (own.write(row.file, bytes), reference.write(row.file, bytes));
    let (after, after_reference) = (look(own), look(reference));

    let exception = EXCEPTIONS.iter().find(|e| (e.0, e.1) == (row.file, label));
    let wanted = exception.map_or(expected, |e| e.2);
    report.expect(found == wanted, || {
        format!(
            "{} <- {label:?}: {found:?}, tracefs says {wanted:?}",
            row.file
        )
    });
    let kept = row.state == State::Told || before == after;
    report.expect(found.is_ok() || kept, || {
        format!(
            "{} <- {label:?}: refused, yet {before:?} became {after:?}",
            row.file
        )
    });
    if [State::Same, State::Told].contains(&row.state) && exception.is_none() {
        report.expect(after == after_reference, || {
            format!(
                "{} <- {label:?}: reads {after:?}, tracefs {after_reference:?}",
                row.file
            )
        });
    }
    if before != after || before_reference != after_reference {
        for tree in [own, reference] {
            report.collect(tree.set(row.file, row.restore));
        }
    }
}

fn all_inputs(report: &mut Report, own: &Tree, reference: &Tree, row: &Row) {
    for (label, bytes) in common() {
        compare(report, own, reference, row, &label, &bytes);
    }
    for text in row.extra {
        compare(report, own, reference, row, text, text.as_bytes());
    }
}

/// The rows of those instances, whose files this kernel's tracefs has.
fn rows(scope: Scope) -> impl Iterator<Item = &'static Row> {
    let is_of = move |row: &&Row| files::at(row.file).is_some_and(|file| file.scope == scope);
    ROWS.iter()
        .filter(is_of)
        .filter(|row| !is_not_built(row.file))
}

fn instance_files(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for row in rows(Scope::Each) {
        all_inputs(&mut report, &own, &reference, row);
    }
    report.finish()
}

/// Files whose writes have tests of their own.
const ELSEWHERE: &[(&str, &str)] = &[
    ("free_buffer", "snapshot.free_buffer"),
    ("events/enable", "golden.enable_files"),
    ("trace_pipe_json", "json"),
    ("dynamic_events", "kprobe.wrong_texts"),
    ("kprobe_events", "kprobe.wrong_texts"),
    ("uprobe_events", "uprobe.wrong_texts"),
    ("synthetic_events", "synthetic.wrong_texts"),
    ("user_events_data", "user_events.calls"),
    ("events/sched/sched_switch/trigger", "trigger.wrong_texts"),
    ("set_ftrace_filter", "functions.words"),
    ("set_ftrace_notrace", "functions.words"),
    ("max_graph_depth", "graph.words"),
    ("set_graph_function", "graph.words"),
    ("set_graph_notrace", "graph.words"),
    ("tracing_thresh", "graph.words"),
    ("hwlat_detector/mode", "hwlat.files"),
    ("hwlat_detector/width", "hwlat.files"),
    ("hwlat_detector/window", "hwlat.files"),
    ("latency_sampler/period_us", "sampled.files"),
    ("osnoise/cpus", "osnoise.files"),
    ("osnoise/options", "osnoise.files"),
    ("osnoise/print_stack", "timerlat.files"),
    ("osnoise/timerlat_align_us", "timerlat.files"),
    ("osnoise/timerlat_period_us", "timerlat.files"),
    ("osnoise/period_us", "osnoise.files"),
    ("osnoise/runtime_us", "osnoise.files"),
    ("osnoise/stop_tracing_total_us", "osnoise.files"),
    ("osnoise/stop_tracing_us", "osnoise.files"),
    ("tracing_max_latency", "hwlat.files"),
    ("set_ftrace_notrace_pid", "functions.pids"),
    ("set_ftrace_pid", "functions.pids"),
    ("function_profile_enabled", "profile.words"),
    ("function_profile_time", "profile.words"),
    ("trace_stat/function0", "profile.words"),
    ("stack_max_size", "stack.words"),
    ("stack_trace_filter", "stack.words"),
    ("stack_tracer_enabled", "stack.words"),
];

/// Each writable file has a row, or one that stands for it: one CPU for all, one
/// event and one system for all.
fn every_file(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let named = |path: &str| {
        let rows = ROWS.iter().map(|row| row.file);
        rows.chain(ELSEWHERE.iter().map(|(file, _)| *file))
            .any(|file| file == path)
    };
    let like = |path: &str| -> String {
        let parts: Vec<_> = path.split('/').collect();
        match parts[..] {
            ["per_cpu", _, file] => format!("per_cpu/cpu0/{file}"),
            ["trace_stat", _] => "trace_stat/function0".into(),
            ["events", "ftrace", _, file] | ["events", _, _, file] => {
                format!("events/sched/sched_switch/{file}")
            }
            ["events", _, "filter"] => "events/signal/filter".into(),
            ["events", _, file] => format!("events/sched/{file}"),
            _ => path.to_string(),
        }
    };
    let mut report = Report::default();
    let mut count = 0;
    for tree in [&own as &Tree, &own.top()] {
        let mut paths = Vec::new();
        walk(tree, "", &mut paths)?;
        for path in paths {
            let data = tree.file(&path).metadata();
            let writable = data.is_ok_and(|data| data.is_file() && data.mode() & 0o200 != 0);
            // `input.options` writes to each.
            if !writable || path.starts_with("options/") {
                continue;
            }
            count += 1;
            report.expect(named(&like(&path)), || {
                format!("{}: nobody writes nonsense to it", tree.shown(&path))
            });
        }
    }
    for row in ROWS {
        report.expect(files::at(row.file).is_some(), || {
            format!("{} is in no list of files", row.file)
        });
    }
    println!("{count} files that can be written");
    report.expect(count > 1000, || format!("only {count} can be written"));
    report.finish()
}

/// Every option that the tree under test has.
fn options(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let names = own.list("options")?;
    ensure!(names.len() >= 5, "options has only {names:?}");
    for name in names {
        let file = format!("options/{name}");
        let old = own.get(&file)?;
        // Markers that go to several instances at once are another matter.
        if name == "copy_trace_marker" || name == "trace_printk_dest" {
            continue;
        }
        for input in [
            "",
            "\n",
            "2",
            "-1",
            "x",
            "1x",
            "0x1",
            "1\0",
            "4294967297",
            "on",
            "0",
            "1",
        ] {
            let before = own.get(&file)?;
            let (found, wanted) = (
                own.write(&file, input.as_bytes()),
                reference.write(&like(&file), input.as_bytes()),
            );
            report.expect(found == wanted, || {
                format!("{file} <- {input:?}: {found:?}, tracefs says {wanted:?}")
            });
            let (after, wanted) = (own.get(&file)?, reference.get(&like(&file))?);
            report.expect(after == wanted, || {
                format!("{file} <- {input:?}: reads {after:?}, tracefs {wanted:?}")
            });
            report.expect(found.is_ok() || before == after, || {
                format!("{file} <- {input:?}: refused, yet {before:?} became {after:?}")
            });
        }
        report.collect(own.set(&file, old.trim()));
        report.collect(reference.set(&like(&file), old.trim()));
    }
    report.finish()
}

/// Files that only the root has; none of them takes a write, so nothing changes.
fn top_files(context: &Context) -> Check {
    let (own, reference) = (Tree::at(&context.root), Tree::at(&context.reference));
    let mut report = Report::default();
    for row in rows(Scope::Top) {
        all_inputs(&mut report, &own, &reference, row);
    }
    report.finish()
}

/// Sizes whose byte count does not fit into 64 bits. The kernel's tracefs shifts them
/// to something small; rtracefs has to refuse them.
fn size_overflow(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs takes 2^54 as 0");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    let mut report = Report::default();
    for file in [
        "buffer_size_kb",
        "buffer_subbuf_size_kb",
        "per_cpu/cpu0/buffer_size_kb",
    ] {
        let before = own.get(file)?;
        for shift in [40, 53, 54, 55, 63] {
            let text = (1u64 << shift).to_string();
            let found = own.write(file, text.as_bytes());
            report.expect(found.is_err(), || format!("{file} <- 2^{shift}: {found:?}"));
            let after = own.get(file)?;
            report.expect(before == after, || {
                format!("{file} <- 2^{shift}: {before:?} became {after:?}")
            });
        }
    }
    report.finish()
}

fn cpu_names(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let cpus = sys::online_cpus();
    for cpu in 0..cpus {
        own.get(&format!("per_cpu/cpu{cpu}/stats"))?;
    }
    for name in [
        &format!("cpu{cpus}")[..],
        "cpu99",
        "cpu-1",
        "cpu",
        "cpu00",
        "cpu0 ",
        "0",
    ] {
        let found = own.open(&format!("per_cpu/{name}/stats")).err();
        ensure_eq!(found, Some(ENOENT), "open per_cpu/{name}/stats");
    }
    Ok(())
}

/// Pointers that are not the caller's.
fn bad_addresses(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for row in rows(Scope::Each) {
        for len in [0, 1, 10, 5000] {
            let write = |tree: &Tree| {
                tree.open_write(row.file)
                    .map(|f| sys::write_from_nowhere(&f, len))
            };
            let (found, wanted) = (write(&own), write(&reference));
            report.expect(found == wanted, || {
                format!(
                    "{} <- {len} bytes from nowhere: {found:?}, tracefs {wanted:?}",
                    row.file
                )
            });
            // Its text needs room for all of it in tracefs: differences.md.
            if row.file == "tracing_cpumask" {
                continue;
            }
            let read = |tree: &Tree| {
                tree.open_nonblock(row.file)
                    .map(|f| sys::read_to_nowhere(&f, len))
            };
            let (found, wanted) = (read(&own), read(&reference));
            report.expect(found == wanted, || {
                format!(
                    "{} -> {len} bytes to nowhere: {found:?}, tracefs {wanted:?}",
                    row.file
                )
            });
        }
    }
    report.finish()
}

/// Text files that tracefs ends after one read, or that have another text there.
const OWN_TEXTS: &[&str] = &[
    "events/header_page",
    "events/header_event",
    "trace_options",
    "events/sched/sched_switch/id",
];

/// Text files that can be read in any way.
const TEXTS: &[&str] = &[
    "tracing_on",
    "buffer_size_kb",
    "buffer_subbuf_size_kb",
    "buffer_total_size_kb",
    "trace_clock",
    "set_event",
    "current_tracer",
    "trace",
    "events/sched/enable",
    "events/sched/sched_switch/format",
    "per_cpu/cpu0/stats",
    "per_cpu/cpu0/buffer_size_kb",
    "options/overwrite",
];

/// Reading in pieces of any size gives the text of one read.
fn pieces(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("set_event", "sched:sched_switch\n")?;
    own.set("tracing_on", "0")?;
    own.set("events/enable", "0")?;
    let mut report = Report::default();
    let own_files = if context.is_rtracefs() {
        OWN_TEXTS
    } else {
        &[]
    };
    for file in TEXTS.iter().chain(own_files) {
        // `now ts` is a clock: no two reads of it agree.
        let stable = |text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            text.lines()
                .filter(|l| !l.starts_with("now ts"))
                .map(String::from)
                .collect::<Vec<_>>()
        };
        let whole = own
            .read_bytes(file)
            .map_err(|e| format!("read {file}: {e}"))?;
        for size in [1, 7, 64, 4095] {
            let mut found = Vec::new();
            let mut input = own.open(file).map_err(|e| format!("open {file}: {e}"))?;
            let mut piece = vec![0; size];
            loop {
                match input.read(&mut piece) {
                    Ok(0) => break,
                    Ok(n) => found.extend_from_slice(&piece[..n]),
                    Err(e) => fail!("{file} in pieces of {size}: {e}"),
                }
            }
            report.expect(stable(&found) == stable(&whole), || {
                format!(
                    "{file} in pieces of {size}: {} bytes, not {}",
                    found.len(),
                    whole.len()
                )
            });
        }
    }
    report.finish()
}

/// Where a read at an offset, and a seek, take the reader.
fn seeks(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    const HIST: &str = "events/sched/sched_switch/hist";
    let hist = Some(&HIST).filter(|file| reference.exists(file));
    for file in TEXTS.iter().chain(hist) {
        let look = |tree: &Tree| -> Op<Vec<Op<String>>> {
            let mut input = tree.open(file)?;
            let mut found = Vec::new();
            for offset in [0, 1, 2, 100_000] {
                let mut bytes = [0; 4];
                let result = input.read_at(&mut bytes, offset);
                found.push(
                    result
                        .map(|n| bytes[..n].escape_ascii().to_string())
                        .map_err(Errno::from),
                );
            }
            for to in [
                SeekFrom::Start(0),
                SeekFrom::Start(1),
                SeekFrom::Current(-5),
                SeekFrom::End(0),
            ] {
                found.push(input.seek(to).map(|n| n.to_string()).map_err(Errno::from));
            }
            Ok(found)
        };
        let (found, wanted) = (look(&own), look(&reference));
        report.expect(found == wanted, || {
            format!("{file}: {found:?}, tracefs {wanted:?}")
        });
    }
    report.finish()
}

/// What `> file` does, on files where truncation means something and where not.
fn truncation(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for tree in [&own, &reference] {
        tree.set("set_event", "sched:sched_switch")?;
        tree.set("events/sched/enable", "0")?;
        tree.set("trace_marker", "hello")?;
        tree.set("set_event", "sched:sched_waking")?;
    }
    for (file, text) in [
        ("set_event", ""),
        ("set_event", "sched:sched_switch"),
        ("set_event", "nosuch:event"),
        ("tracing_on", ""),
        ("tracing_on", "1"),
        ("trace_options", ""),
        ("trace_clock", ""),
        ("buffer_size_kb", ""),
        ("events/sched/enable", ""),
        ("trace", ""),
    ] {
        let run = |tree: &Tree| {
            (
                tree.write_truncating(file, text.as_bytes()),
                tree.get("set_event"),
            )
        };
        let (found, wanted) = (run(&own), run(&reference));
        report.expect(found == wanted, || {
            format!("{text:?} > {file}: {found:?}, tracefs {wanted:?}")
        });
    }
    for tree in [&own, &reference] {
        let left = tree
            .get("trace")?
            .lines()
            .filter(|line| line.contains("hello"))
            .count();
        report.expect(left == 0, || {
            format!("{}: the marker is still there", tree.shown("trace"))
        });
    }
    report.finish()
}

/// A word after so many blanks that it ends about where the first copy of the write does.
fn far_words(context: &Context) -> Check {
    const WORD: &str = "sched:sched_kthread_stop";
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for end in 4090..4100 {
        let text = format!("{WORD:>end$}\n \n");
        let write = |tree: &Tree| -> Check<String> {
            tree.empty("set_event")?;
            let open = tree.open_write("set_event");
            let mut file = open.map_err(|e| format!("open: {e}"))?;
            let written = file.write_all(text.as_bytes()).map_err(Errno::from);
            Ok(format!("{written:?}, {:?}", tree.get("set_event")?))
        };
        let (found, wanted) = (write(&own)?, write(&reference)?);
        report.expect(found == wanted, || {
            format!("a word that ends at {end}: {found}, tracefs {wanted}")
        });
    }
    report.finish()
}
