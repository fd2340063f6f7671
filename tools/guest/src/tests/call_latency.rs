// SPDX-License-Identifier: GPL-2.0

//! `$latency`: how long a call took, in the event of its return. ftrace does not have it.

use super::dynamic::Tops;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::sys;
use crate::tree::Instance;
use crate::using;
use crate::Context;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("kprobe.latency", 60, |context| {
        latency(
            context,
            "r:lat/slept hrtimer_nanosleep ns=$latency v=$retval:s32",
        )
    }),
    test("fprobe.latency", 60, |context| {
        latency(
            context,
            "f:lat/slept hrtimer_nanosleep%return ns=$latency v=$retval:s32",
        )
    }),
    test("fprobe.slow", 60, example),
];

const FILE: &str = "dynamic_events";
const SLEEPS: [u64; 4] = [1, 20, 3, 7];

/// Returns the number after `name` in a line.
fn number(line: &str, name: &str) -> Check<u64> {
    let (_, rest) = line
        .split_once(name)
        .ok_or(format!("no {name} in {line}"))?;
    let digits = rest
        .trim_start()
        .split(|c: char| !c.is_ascii_digit())
        .next();
    let digits = digits.unwrap_or_default();
    digits.parse().map_err(|e| format!("{line}: {e}"))
}

/// A call is as long as it is from outside, or less by the way there and back, and not less than it sleeps.
fn latency(context: &Context, line: &str) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    match own.write(FILE, line.as_bytes()) {
        // This kernel has no such probes.
        Err(EINVAL) if line.starts_with('f') => skip!("no probes of functions"),
        taken => ensure!(taken.is_ok(), "{line}: {taken:?}"),
    }
    let mut report = Report::default();
    let shown = own.get(FILE)?;
    report.expect(shown.contains("ns=$latency v=$retval:s32\n"), || {
        shown.clone()
    });
    let format = own.get("events/lat/slept/format")?;
    report.expect(
        format.contains("field:u64 ns;") && format.contains("ns=%Lu"),
        || format.clone(),
    );
    let into = Instance::new(&context.root, "rtg-latency")?;
    into.set("set_event_pid", &sys::thread_id().to_string())?;
    into.set(
        "events/lat/slept/trigger",
        "hist:keys=v:vals=ns.min,ns.max,ns",
    )?;
    into.set("events/lat/slept/enable", "1")?;
    let mut outside = Vec::new();
    for ms in SLEEPS {
        let before = sys::monotonic_ns();
        std::thread::sleep(Duration::from_millis(ms));
        outside.push(sys::monotonic_ns() - before);
    }
    into.set("events/lat/slept/enable", "0")?;
    let text = into.get("trace")?;
    let lines = text.lines().filter(|line| line.contains(" slept: ("));
    let lines: Check<Vec<u64>> = lines.map(|line| number(line, " ns=")).collect();
    let inside = lines?;
    ensure_eq!(inside.len(), SLEEPS.len(), "{text}");
    for ((inside, outside), ms) in inside.iter().zip(&outside).zip(SLEEPS) {
        report.expect((ms * 1_000_000..=*outside).contains(inside), || {
            format!("{inside} ns inside, {outside} outside, of {ms} ms")
        });
    }
    println!("inside {inside:?}, outside {outside:?}");
    // An event like any other. The pids are those of records alone.
    let hist = into.get("events/lat/slept/hist")?;
    let entry = hist
        .lines()
        .find(|line| line.starts_with("{ v:          0 }"));
    let entry = entry.ok_or(format!("no entry: {hist}"))?;
    let total: u64 = inside.iter().sum();
    let (least, greatest) = (inside.iter().min(), inside.iter().max());
    report.expect(
        Some(&number(entry, "ns.min: ")?) <= least
            && Some(&number(entry, "ns.max: ")?) >= greatest
            && number(entry, " ns: ")? >= total,
        || format!("{hist}\n{inside:?}"),
    );
    into.remove()?;
    own.set(FILE, "-:lat/slept")?;
    // Where a call begins it has no length.
    for wrong in [
        "p:lat/x vfs_read $latency",
        "t:lat/x sched_switch a=$latency",
    ] {
        let refused = own.write(FILE, wrong.as_bytes());
        report.expect(refused == Err(EINVAL), || format!("{wrong}: {refused:?}"));
    }
    own.empty("error_log")?;
    report.finish()
}

/// The example of Documentation/using.md.
fn example(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let probe = "f:rtg/there vfs_read%return";
    if own.write(FILE, probe.as_bytes()).is_err() {
        skip!("no probes of functions");
    }
    own.set(FILE, "-:rtg/there")?;
    let text = using::run("dynamic.latency", own)?;
    println!("{text}");
    let entries: Vec<_> = text.lines().filter(|line| line.starts_with('{')).collect();
    ensure!(!entries.is_empty() && entries.len() <= 3, "{text}");
    ensure!(
        entries.iter().all(|line| line.contains(" ns.p99: ")),
        "{text}"
    );
    own.empty("events/files/read/trigger")?;
    own.set(FILE, "-:files/read")
}
