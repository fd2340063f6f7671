// SPDX-License-Identifier: GPL-2.0

//! `features`, and the counts of events: each line of the first is true, the second is exact.

use super::files::{self, Scope};
use super::fs_tree::walk;
use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak::{account, fewer};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

pub const TESTS: &[Test] = &[
    test("features.are_there", 30, are_there),
    test("features.files", 60, files),
    exact("features.event_counts", 60, event_counts),
    exact("features.counts_at_each_step", 60, counts_at_each_step),
];

fn instance(context: &Context) -> Check<Instance> {
    if !context.is_rtracefs() {
        skip!("tracefs has no such file");
    }
    Instance::new(&context.root, "rtg-own")
}

/// One `KIND NAME` per line, the version first, and the tree has what it says.
fn are_there(context: &Context) -> Check {
    let own = instance(context)?;
    let top = own.top();
    let text = top.get("features")?;
    ensure!(text.starts_with("version 1\n"), "{text:?}");
    let (clocks, options) = (top.get("trace_clock")?, top.list("options")?);
    let mut report = Report::default();
    let (mut options_told, mut ways_told) = (0, 0);
    for line in text.lines().skip(1) {
        let there = match line.split_once(' ') {
            Some(("clock", name)) => clocks
                .split_whitespace()
                .any(|clock| clock.trim_matches(['[', ']']) == name),
            Some(("local_clock", way)) => {
                ways_told += 1;
                ["inline", "sched_clock"].contains(&way)
            }
            Some(("option", name)) => {
                options_told += 1;
                options.iter().any(|option| option == name)
            }
            Some(("file", path)) => {
                let file = files::all().find(|file| file.path == path);
                file.is_some_and(|file| top.exists(&file.of("sched/sched_switch")))
            }
            _ => false,
        };
        report.expect(there, || format!("{line:?} is not so"));
    }
    ensure_eq!(options_told, options.len(), "options");
    ensure_eq!(ways_told, 1, "ways of the local clock");
    ensure_eq!(top.write("features", b"1"), Err(EINVAL), "a write");
    report.finish()
}

/// The list of `files` is that of `features`, and the files of both trees are those of the list, with
/// the modes that it says.
fn files(context: &Context) -> Check {
    let own = instance(context)?;
    let top = own.top();
    let text = top.get("features")?;
    let told: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("file "))
        .collect();
    let listed: Vec<_> = files::all().map(|file| file.path).collect();
    ensure_eq!(told, listed, "features, and the list of the tests");
    let mut report = Report::default();
    for (tree, scopes) in [
        (&top, &[Scope::Top, Scope::Each][..]),
        (&own as &Tree, &[Scope::Each]),
    ] {
        let mut paths = Vec::new();
        walk(tree, "", &mut paths)?;
        let mut met = BTreeSet::new();
        for path in paths {
            let data = tree.file(&path).symlink_metadata();
            let data = data.map_err(|e| format!("{path}: {e}"))?;
            if !data.is_file() || path.starts_with("options/") {
                continue;
            }
            let Some(file) = files::at(&path).filter(|file| scopes.contains(&file.scope)) else {
                report.add(format!("{} is in no list", tree.shown(&path)));
                continue;
            };
            met.insert(file.path);
            let (found, wanted) = (data.mode() & 0o7777, file.access.mode());
            report.expect(found == wanted, || {
                format!("{}: {found:o}, not {wanted:o}", tree.shown(&path))
            });
        }
        let of_tree = files::all().filter(|file| scopes.contains(&file.scope));
        for file in of_tree.filter(|file| !met.contains(file.path)) {
            report.add(format!("{} is not there", tree.shown(file.path)));
        }
    }
    report.finish()
}

/// `HITS LOST` of an event: the files of the event say the same.
fn counts(tree: &Tree, event: &str) -> Check<(u64, u64)> {
    let counts = counts_of_all(tree, event)?;
    let folder = format!("events/{}", event.replace(':', "/"));
    for (file, count) in [("hits", counts.0), ("lost", counts.1)] {
        ensure_eq!(
            tree.get(&format!("{folder}/{file}"))?,
            format!("{count}\n"),
            "{file}"
        );
    }
    Ok(counts)
}

/// `HITS LOST` of an event in the list of all.
fn counts_of_all(tree: &Tree, event: &str) -> Check<(u64, u64)> {
    for line in tree.get("event_counts")?.lines() {
        let mut words = line.split(' ');
        if words.next() == Some(event) {
            let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
            ensure_eq!(numbers.len(), 2, "{line:?}");
            return Ok((numbers[0], numbers[1]));
        }
    }
    Ok((0, 0))
}

/// As many as the buffers say, while it is wanted and only then.
fn event_counts(context: &Context) -> Check {
    sys::pin_to(0);
    let own = instance(context)?;
    let event = "raw_syscalls:sys_enter";
    let file = "events/raw_syscalls/sys_enter/enable";
    let stats = |label| -> Check<u64> {
        (0..sys::online_cpus()).try_fold(0, |sum, cpu| {
            Ok(sum + own.number(&format!("per_cpu/cpu{cpu}/stats"), label)?)
        })
    };
    let work = || {
        for _ in 0..500 {
            sys::thread_id();
        }
    };
    let record = || -> Check<(u64, u64)> {
        own.clear()?;
        own.set(file, "1")?;
        work();
        own.set(file, "0")?;
        Ok((
            stats("entries")? + stats("overrun")?,
            stats("dropped events")?,
        ))
    };
    record()?;
    ensure_eq!(counts(&own, event)?, (0, 0), "not counted");
    own.set("options/event-counts", "1")?;
    let counted = record()?;
    ensure!(counted.0 > 500, "only {counted:?}");
    ensure_eq!(counts(&own, event)?, counted, "counted");
    let more = record()?;
    let sum = (counted.0 + more.0, counted.1 + more.1);
    ensure_eq!(counts(&own, event)?, sum, "counted on");
    own.set("options/event-counts", "0")?;
    record()?;
    ensure_eq!(counts(&own, event)?, sum, "kept, and not counted on");
    // From 0 again, in a buffer that refuses what it has no room for.
    own.set("options/event-counts", "1")?;
    ensure_eq!(counts(&own, event)?, (0, 0), "from the beginning");
    own.set("buffer_size_kb", "8")?;
    own.set("options/overwrite", "0")?;
    let refused = record()?;
    ensure!(refused.1 > 0, "nothing was refused: {refused:?}");
    ensure_eq!(counts(&own, event)?, refused, "recorded and refused");
    // Nothing is lost while nothing is wanted.
    own.set("tracing_on", "0")?;
    own.set(file, "1")?;
    work();
    own.set(file, "0")?;
    ensure_eq!(counts(&own, event)?, refused, "while recording is off");
    Ok(())
}

/// What is changed between calls, and whether the calls after it are recorded.
const STEPS: &[(&str, &str, bool)] = &[
    ("per_cpu/cpu0/trace", "", true),
    ("trace", "", true),
    ("snapshot", "1", true),
    ("snapshot", "1", true),
    ("snapshot", "2", true),
    ("trace_clock", "mono", true),
    ("buffer_size_kb", "50", true),
    ("buffer_subbuf_size_kb", "8", true),
    ("tracing_on", "0", false),
    ("tracing_on", "1", true),
    (ENABLE, "0", false),
    (ENABLE, "1", true),
    ("tracing_cpumask", "2", false),
    ("tracing_cpumask", "3", true),
    ("set_event_pid", "1", false),
    ("set_event_pid", "", true),
    ("snapshot", "0", true),
];

const ENABLE: &str = "events/raw_syscalls/sys_enter/enable";

/// Every call counts once, whatever is done to the buffers in between; also where there is no room for
/// most of them.
fn counts_at_each_step(context: &Context) -> Check {
    const GETTID: u64 = 186;
    let own = instance(context)?;
    if sys::online_cpus() != 2 {
        skip!("the masks are those of two CPUs");
    }
    sys::pin_to(0);
    let event = "raw_syscalls:sys_enter";
    let filter = format!("id == {GETTID} && common_pid == {}", sys::thread_id());
    own.set("events/raw_syscalls/sys_enter/filter", &filter)?;
    own.set("options/event-counts", "1")?;
    own.set(ENABLE, "1")?;
    let calls = |count: usize| {
        for _ in 0..count {
            sys::thread_id();
        }
    };
    let change = |file: &str, text: &str| match text.is_empty() {
        true => own.empty(file),
        false => own.set(file, text),
    };
    let mut wanted = 0;
    for (file, text, recorded) in STEPS {
        change(file, text)?;
        calls(100);
        wanted += if *recorded { 100 } else { 0 };
        ensure_eq!(counts(&own, event)?, (wanted, 0), "{text:?} to {file}");
    }
    own.set("options/event-counts", "0")?;
    own.set("options/event-counts", "1")?;
    own.set("options/overwrite", "0")?;
    own.set("buffer_size_kb", "8")?;
    let before = account::ledger(&own, 0)?;
    let many = fewer(3000);
    for (file, text) in [
        ("trace", ""),
        ("snapshot", "1"),
        ("buffer_size_kb", "12"),
        ("per_cpu/cpu0/trace", ""),
    ] {
        change(file, text)?;
        calls(many);
    }
    let since = account::ledger(&own, 0)?.since(&before);
    let (hits, lost) = counts(&own, event)?;
    ensure_eq!(hits + lost, 4 * many as u64, "hits and lost");
    ensure_eq!((hits, lost), (since.recorded, since.dropped), "{since:?}");
    ensure!(lost > 0, "there was room for all");
    own.remove()
}
