// SPDX-License-Identifier: GPL-2.0

//! The tracer `hwlat`: its files, its threads and what they find. Where the kernel has the tracer itself
//! (PREEMPT_RT), it gives the expected texts and errors. An emulator takes time from its CPUs all along,
//! so that there is something to find.

use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::path::PathBuf;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("hwlat.files", 30, files),
    test("hwlat.format", 30, format),
    test("hwlat.records", 120, records),
    test("hwlat.threads", 120, threads),
    test("hwlat.top_threshold", 120, top_threshold),
    test("hwlat.cpus", 120, cpus),
    test("hwlat.ends", 120, ends),
];

const MODE: &str = "hwlat_detector/mode";
const WIDTH: &str = "hwlat_detector/width";
const WINDOW: &str = "hwlat_detector/window";
/// Longer than an emulator needs on a machine ten times slower.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the root of rtracefs, and that of tracefs if its kernel has the tracer.
fn roots(context: &Context) -> (Tree, Option<Tree>) {
    let reference = Tree::at(&context.reference);
    let has_it = reference.exists("hwlat_detector") && context.is_rtracefs();
    (Tree::at(&context.root), has_it.then_some(reference))
}

/// The threads with names that begin so, in order.
pub fn threads_named(begin: &str) -> Vec<String> {
    let threads = named_threads(begin).into_iter();
    threads.map(|(name, _)| name).collect()
}

/// Threads whose names begin like that, and their folders in /proc, in the order of the names.
pub fn named_threads(begin: &str) -> Vec<(String, PathBuf)> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let threads = processes.flatten().filter_map(|process| {
        let comm = std::fs::read_to_string(process.path().join("comm")).ok()?;
        let name = comm.trim_end().to_string();
        name.starts_with(begin).then_some((name, process.path()))
    });
    let mut threads: Vec<_> = threads.collect();
    threads.sort();
    threads
}

fn workers() -> Vec<String> {
    threads_named("hwlatd")
}

fn have_workers(expected: &[&str]) -> Check {
    let there = sys::wait_until(PATIENCE, || workers() == expected);
    ensure!(there, "threads {:?}, not {expected:?}", workers());
    Ok(())
}

/// Searches short enough to end at once, with nothing left of other tests.
struct Settings(Tree);

impl Settings {
    fn short(context: &Context) -> Check<Self> {
        let top = Tree::at(&context.root);
        top.set(WIDTH, "2000")?;
        top.set(WINDOW, "10000")?;
        Ok(Self(top))
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for (file, text) in [
            (WINDOW, "1000000"),
            (WIDTH, "500000"),
            (MODE, "round-robin"),
        ] {
            let _ = self.0.set(file, text);
        }
    }
}

fn files(context: &Context) -> Check {
    let (top, reference) = roots(context);
    let rows: &[(&str, &str, Result<(), Errno>)] = &[
        (MODE, "none", Ok(())),
        (MODE, " per-cpu \n", Ok(())),
        (MODE, "foo", Err(EINVAL)),
        (MODE, "[none]", Err(EINVAL)),
        (MODE, "\n", Err(EINVAL)),
        (MODE, "round-robin", Ok(())),
        (WIDTH, "1000001", Err(EINVAL)),
        (WIDTH, "1000000", Ok(())),
        (WINDOW, "999999", Err(EINVAL)),
        (WIDTH, "0", Ok(())),
        (WINDOW, "0", Ok(())),
        (WIDTH, "1", Err(EINVAL)),
        (WINDOW, "18446744073709551615", Ok(())),
        (WINDOW, "18446744073709551616", Err(ERANGE)),
        (WINDOW, "-1", Err(EINVAL)),
        (WINDOW, "0x100", Err(EINVAL)),
        (WIDTH, "abc", Err(EINVAL)),
        (WINDOW, "1000000\n", Ok(())),
        (WIDTH, "500000\n", Ok(())),
    ];
    let mut report = Report::default();
    for tree in [Some(&top), reference.as_ref()].into_iter().flatten() {
        for (file, text) in [
            (MODE, "none [round-robin] per-cpu\n"),
            (WIDTH, "500000\n"),
            (WINDOW, "1000000\n"),
        ] {
            ensure_eq!(tree.get(file)?, text, "{}", tree.shown(file));
        }
        let mut shown = Vec::new();
        for (file, text, expected) in rows {
            let expected = expected.map(|()| text.len());
            let written = tree.write(file, text.as_bytes());
            report.expect(written == expected, || {
                format!(
                    "{} <- {text:?}: {written:?}, not {expected:?}",
                    tree.shown(file)
                )
            });
            shown.push(tree.get(file)?);
        }
        if tree.path() == top.path() {
            continue;
        }
        for ((file, text, _), theirs) in rows.iter().zip(&shown) {
            ensure!(!theirs.is_empty(), "{file} <- {text:?}");
        }
    }
    let instance = Instance::new(&context.root, "rtg-hwlat")?;
    ensure!(!instance.exists("hwlat_detector"), "in an instance");
    for (text, expected, then) in [
        ("17", Ok(2), "17\n"),
        ("abc", Err(EINVAL), "17\n"),
        ("-1", Err(EINVAL), "17\n"),
        ("0\n", Ok(2), "0\n"),
    ] {
        let written = instance.write("tracing_max_latency", text.as_bytes());
        ensure_eq!(written, expected, "tracing_max_latency <- {text:?}");
        ensure_eq!(instance.get("tracing_max_latency")?, then, "after {text:?}");
    }
    report.finish()
}

/// The format of the record is that of the kernel, which has it whatever its configuration.
fn format(context: &Context) -> Check {
    let own = Tree::at(&context.root);
    super::same(
        &own,
        &Tree::at(&context.reference),
        "events/ftrace/hwlat/format",
    )
}

/// A line without what differs each time: digits are `N`, a row of them one.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for c in line
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
    {
        match c {
            '0'..='9' if shape.ends_with('N') => {}
            '0'..='9' => shape.push('N'),
            c => shape.push(c),
        }
    }
    shape
}

/// Has `tree` find something. Returns what its buffer says then.
fn found(tree: &Tree, most: &str) -> Check<String> {
    tree.set("current_tracer", "hwlat")?;
    let seen = sys::wait_until(PATIENCE, || {
        let text = tree.get("trace").unwrap_or_default();
        text.lines()
            .filter(|line| line.contains("inner/outer"))
            .count()
            >= 3
    });
    let text = tree.get("trace")?;
    let longest = tree.get(most)?;
    tree.set("tracing_on", "0")?;
    ensure!(seen, "nothing was found: {text}");
    ensure!(longest.trim() != "-1", "{longest}");
    Ok(text)
}

fn records(context: &Context) -> Check {
    let _settings = Settings::short(context)?;
    let own = Instance::new(&context.root, "rtg-hwlat")?;
    own.set("tracing_thresh", "1")?;
    own.set("tracing_max_latency", "7777777")?;
    let text = found(&own, "tracing_max_latency")?;
    ensure!(text.starts_with("# tracer: hwlat\n"), "{text}");
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let expected = "N.N: #N inner/outer(us): N/N ts:N.N count:N";
    let mut longest = 0;
    for (at, line) in lines.iter().enumerate() {
        let seen = shape(line);
        let (_, what) = seen.split_once(": ").unwrap_or_default();
        let (_, wanted) = expected.split_once(": ").unwrap_or_default();
        ensure_eq!(what, wanted, "{line:?}");
        // The second column is a letter when the scheduler has a wish.
        let flags = line.split_once("] ").map_or("", |(_, rest)| rest);
        let flags = flags.as_bytes().get(..5).unwrap_or_default();
        ensure!(
            flags.starts_with(b"d") && flags.ends_with(b"..."),
            "{line:?}"
        );
        let number = format!("#{:<5} ", at + 1);
        ensure!(line.contains(&number), "sample {} is {line:?}", at + 1);
        let (_, times) = line.split_once("(us): ").unwrap_or_default();
        let times = times.split_once(" ts:").map_or("", |(times, _)| times);
        for time in times.split('/') {
            let us: u64 = time.trim().parse().map_err(|e| format!("{line:?}: {e}"))?;
            longest = longest.max(us);
        }
    }
    ensure!(longest > 1, "nothing was longer than the threshold: {text}");
    let most: u64 = own.get("tracing_max_latency")?.trim().parse().unwrap_or(0);
    ensure!(
        most >= longest,
        "tracing_max_latency is {most}, a line has {longest}"
    );
    own.set("options/raw", "1")?;
    let raw = own.get("trace")?;
    let line = raw.lines().find(|line| !line.starts_with('#'));
    let line = line.unwrap_or_default();
    let (_, numbers) = shape(line).rsplit_once(": ").map_or_else(
        || (String::new(), shape(line)),
        |(before, numbers)| (before.to_string(), numbers.to_string()),
    );
    ensure!(numbers.ends_with("N N N N N"), "raw: {line:?}");
    own.set("options/raw", "0")?;
    let (_, Some(reference)) = roots(context) else {
        return Ok(());
    };
    // The same of the kernel's own.
    let before = (reference.get(WIDTH)?, reference.get(WINDOW)?);
    reference.set(WIDTH, "2000")?;
    reference.set(WINDOW, "10000")?;
    let thresh = reference.get("tracing_thresh")?;
    reference.set("tracing_thresh", "1")?;
    let theirs = Instance::new(&context.reference, "rtg-hwlat")?;
    let other = found(&theirs, "tracing_max_latency");
    theirs.set("current_tracer", "nop")?;
    reference.set("tracing_thresh", thresh.trim())?;
    reference.set(WINDOW, before.1.trim())?;
    reference.set(WIDTH, before.0.trim())?;
    let other = other?;
    let head = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with('#'));
        lines.map(shape).collect()
    };
    ensure_eq!(head(&text), head(&other), "header");
    let first = other.lines().find(|line| !line.starts_with('#'));
    let theirs = shape(first.unwrap_or_default());
    let what = |line: &str| line.split_once(": ").map(|(_, what)| what.to_string());
    ensure_eq!(what(&shape(lines[0])), what(&theirs), "line");
    Ok(())
}

/// Threads are there while the tracer is chosen and recording is on, as many as the mode says. One instance
/// can have the tracer.
fn threads(context: &Context) -> Check {
    let settings = Settings::short(context)?;
    let top = &settings.0;
    let own = Instance::new(&context.root, "rtg-hwlat")?;
    let other = Instance::new(&context.root, "rtg-hwlat2")?;
    have_workers(&[])?;
    // Whatever another test has left.
    own.set("current_tracer", "hwlat")?;
    own.set("tracing_thresh", "10")?;
    own.set("current_tracer", "nop")?;
    ensure_eq!(own.get("tracing_thresh")?, "0\n", "before");
    own.set("current_tracer", "hwlat")?;
    ensure_eq!(own.get("tracing_thresh")?, "10\n", "the usual threshold");
    have_workers(&["hwlatd"])?;
    let refused = other.write("current_tracer", b"hwlat");
    ensure_eq!(refused, Err(EBUSY), "a second instance");
    ensure_eq!(other.get("current_tracer")?, "nop\n", "then");
    own.set("tracing_on", "0")?;
    have_workers(&[])?;
    top.set(MODE, "per-cpu")?;
    have_workers(&[])?;
    own.set("tracing_on", "1")?;
    let all: Vec<_> = (0..sys::online_cpus())
        .map(|cpu| format!("hwlatd/{cpu}"))
        .collect();
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    have_workers(&all)?;
    top.set(MODE, "none")?;
    have_workers(&["hwlatd"])?;
    own.set("tracing_thresh", "25")?;
    own.set("current_tracer", "nop")?;
    have_workers(&[])?;
    ensure_eq!(own.get("tracing_thresh")?, "0\n", "after");
    other.set("current_tracer", "hwlat")?;
    ensure_eq!(
        other.get("tracing_thresh")?,
        "25\n",
        "the threshold that was left"
    );
    other.set("tracing_thresh", "10")?;
    other.set("current_tracer", "nop")?;
    other.set("tracing_thresh", "3")?;
    other.set("current_tracer", "hwlat")?;
    ensure_eq!(other.get("tracing_thresh")?, "3\n", "one that was set");
    other.set("current_tracer", "nop")?;
    ensure_eq!(
        other.get("tracing_thresh")?,
        "3\n",
        "one that was set, after"
    );
    // The usual one is the last one again.
    own.set("current_tracer", "hwlat")?;
    own.set("tracing_thresh", "10")?;
    own.set("current_tracer", "nop")
}

/// Whether the tracer `wakeup` of an instance that has no threshold finds latencies.
fn finds_latencies(own: &Instance, patience: Duration) -> Check<bool> {
    const MOST: &str = "tracing_max_latency";
    own.set(MOST, "0")?;
    Ok(sys::wait_until(patience, || {
        std::thread::sleep(Duration::from_millis(1));
        own.get(MOST).is_ok_and(|most| most != "0\n")
    }))
}

/// The threshold of the top instance, which is that of others as well, is what its file says while it has the tracer
/// and afterwards.
fn top_threshold(context: &Context) -> Check {
    let settings = Settings::short(context)?;
    let top = &settings.0;
    let own = Instance::new(&context.root, "rtg-hwlat")?;
    if own.exists("options/function-trace") {
        own.set("options/function-trace", "0")?;
    }
    own.set("current_tracer", "wakeup")?;
    ensure!(finds_latencies(&own, PATIENCE)?, "without a threshold");
    top.set("current_tracer", "hwlat")?;
    // Nothing waits as long.
    top.set("tracing_thresh", "1000000000")?;
    top.set("current_tracer", "nop")?;
    ensure_eq!(top.get("tracing_thresh")?, "0\n", "after");
    let mut report = Report::default();
    let after = finds_latencies(&own, PATIENCE)?;
    report.expect(after, || "the threshold stays when the tracer goes".into());
    // The one that was left.
    top.set("current_tracer", "hwlat")?;
    let within = finds_latencies(&own, Duration::from_millis(200))?;
    report.expect(!within, || "the threshold does not come with it".into());
    // The usual one is the last one again.
    top.set("tracing_thresh", "10")?;
    top.set("current_tracer", "nop")?;
    top.set("tracing_thresh", "0")?;
    report.finish()
}

/// CPUs that are not recorded are not searched, and CPUs come and go.
fn cpus(context: &Context) -> Check {
    if sys::online_cpus() < 2 {
        skip!("one CPU cannot go");
    }
    let settings = Settings::short(context)?;
    let top = &settings.0;
    top.set(MODE, "per-cpu")?;
    let own = Instance::new(&context.root, "rtg-hwlat")?;
    own.set("tracing_thresh", "1")?;
    own.set("tracing_cpumask", "2")?;
    own.set("current_tracer", "hwlat")?;
    have_workers(&["hwlatd/1"])?;
    own.set("tracing_cpumask", "3")?;
    have_workers(&["hwlatd/0", "hwlatd/1"])?;
    let online = "/sys/devices/system/cpu/cpu1/online";
    let switch = |value: &str| std::fs::write(online, value).map_err(|e| format!("{online}: {e}"));
    switch("0")?;
    have_workers(&["hwlatd/0"])?;
    own.set("tracing_cpumask", "2")?;
    have_workers(&[])?;
    switch("1")?;
    have_workers(&["hwlatd/1"])?;
    top.set(MODE, "round-robin")?;
    have_workers(&["hwlatd"])?;
    own.set("tracing_cpumask", "3")?;
    let of = |cpu: &str| {
        let text = own.get("trace").unwrap_or_default();
        text.contains(&format!("[{cpu}]"))
    };
    let both = sys::wait_until(PATIENCE, || of("000") && of("001"));
    ensure!(both, "not both CPUs were searched: {}", own.get("trace")?);
    ensure_eq!(top.get(MODE)?, "none [round-robin] per-cpu\n", "mode");
    // A user who has the thread run on one other CPU ends that as well.
    let is_free = sys::wait_until(PATIENCE, || {
        let threads = named_threads("hwlatd").into_iter();
        let pids = threads.filter_map(|(_, path)| path.file_name()?.to_str()?.parse().ok());
        // On that CPU it is every other time.
        pids.for_each(|pid| {
            sys::move_task_to(pid, 0);
        });
        top.get(MODE).is_ok_and(|mode| mode.starts_with("[none]"))
    });
    ensure!(is_free, "mode {} on one CPU", top.get(MODE)?);
    top.set(MODE, "round-robin")?;
    have_workers(&["hwlatd"])?;
    // A mode that can be obeyed is, after one that could not.
    switch("0")?;
    own.set("tracing_cpumask", "2")?;
    have_workers(&[])?;
    top.set(MODE, "per-cpu")?;
    switch("1")?;
    have_workers(&["hwlatd/1"])?;
    own.set("current_tracer", "nop")?;
    have_workers(&[])
}

/// An instance goes while its tracer searches, and nothing is left of it.
fn ends(context: &Context) -> Check {
    let settings = Settings::short(context)?;
    for mode in ["none", "round-robin", "per-cpu"] {
        settings.0.set(MODE, mode)?;
        for _ in 0..soak::rounds(3, 20) {
            let own = Instance::new(&context.root, "rtg-hwlat")?;
            own.set("tracing_thresh", "1")?;
            own.set("current_tracer", "hwlat")?;
            own.remove()?;
        }
    }
    have_workers(&[])
}
