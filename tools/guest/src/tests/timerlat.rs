// SPDX-License-Identifier: GPL-2.0

//! The tracer `timerlat`: its files, its threads and what they measure. Where the kernel has the tracer itself
//! (PREEMPT_RT), it gives the expected texts and errors.

use super::osnoise::{lines, roots, Settings, PATIENCE};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("timerlat.files", 60, files),
    test("timerlat.format", 30, format),
    test("timerlat.records", 240, records),
    test("timerlat.instances", 120, instances),
    test("timerlat.stops", 120, stops),
    test("timerlat.cpus", 240, cpus),
    test("timerlat.ends", 240, ends),
];

const PERIOD: &str = "osnoise/timerlat_period_us";
const ALIGN: &str = "osnoise/timerlat_align_us";
const STACK: &str = "osnoise/print_stack";
const STOP: &str = "osnoise/stop_tracing_us";
const STOP_TOTAL: &str = "osnoise/stop_tracing_total_us";
const CPUS: &str = "osnoise/cpus";

fn have_workers(expected: &[&str]) -> Check {
    let there = sys::wait_until(PATIENCE, || {
        super::hwlat::threads_named("timerlat/") == expected
    });
    let found = super::hwlat::threads_named("timerlat/");
    ensure!(there, "threads {found:?}, not {expected:?}");
    Ok(())
}

fn all_workers() -> Vec<String> {
    let cpus = 0..sys::online_cpus();
    cpus.map(|cpu| format!("timerlat/{cpu}")).collect()
}

fn files(context: &Context) -> Check {
    let (top, reference) = roots(context);
    let rows: &[(&str, &str, Result<(), Errno>)] = &[
        (PERIOD, "100", Ok(())),
        (PERIOD, "99", Err(EINVAL)),
        (PERIOD, "1000000\n", Ok(())),
        (PERIOD, "1000001", Err(EINVAL)),
        (PERIOD, "abc", Err(EINVAL)),
        (PERIOD, "0x100", Err(EINVAL)),
        (PERIOD, "18446744073709551616", Err(ERANGE)),
        (PERIOD, "1000", Ok(())),
        (ALIGN, "18446744073709551615", Ok(())),
        (ALIGN, "-1", Err(EINVAL)),
        (ALIGN, "0", Ok(())),
        (STACK, "17\n", Ok(())),
        (STACK, "x", Err(EINVAL)),
        (STACK, "0", Ok(())),
    ];
    let mut report = Report::default();
    for tree in [Some(&top), reference.as_ref()].into_iter().flatten() {
        for (file, text) in [(PERIOD, "1000\n"), (ALIGN, "0\n"), (STACK, "0\n")] {
            ensure_eq!(tree.get(file)?, text, "{}", tree.shown(file));
        }
        let mut now = String::new();
        for (file, text, expected) in rows {
            let expected = expected.map(|()| text.len());
            let written = tree.write(file, text.as_bytes());
            report.expect(written == expected, || {
                format!(
                    "{} <- {text:?}: {written:?}, not {expected:?}",
                    tree.shown(file)
                )
            });
            let then = tree.get(file)?;
            let right = match expected {
                Ok(_) => then.trim() == text.trim(),
                Err(_) => *file == STACK || then == now || now.is_empty(),
            };
            report.expect(right, || {
                format!("{} <- {text:?}: {then:?}", tree.shown(file))
            });
            now = then;
        }
    }
    report.finish()
}

/// The format of the record is that of the kernel, which has it whatever its configuration.
fn format(context: &Context) -> Check {
    let (own, reference) = (Tree::at(&context.root), Tree::at(&context.reference));
    super::same(&own, &reference, "events/ftrace/timerlat/format")?;
    let file = "events/osnoise/timerlat_sample/format";
    if !reference.exists(file) {
        return Ok(());
    }
    let without_id = |tree: &Tree| -> Check<String> {
        let text = tree.get(file)?;
        let lines = text.lines().filter(|line| !line.starts_with("ID: "));
        Ok(lines.collect::<Vec<_>>().join("\n"))
    };
    ensure_eq!(without_id(&own)?, without_id(&reference)?, "{file}");
    Ok(())
}

/// A record: its CPU, number, context and latency.
fn parse(line: &str) -> Option<(String, u32, String, u64)> {
    let (before, text) = line.split_once(": #")?;
    let (_, cpu) = before.split_once('[')?;
    let (cpu, _) = cpu.split_once(']')?;
    let words: Vec<_> = text.split_whitespace().collect();
    match words[..] {
        [number, "context", context, "timer_latency", ns, "ns"] => Some((
            cpu.to_string(),
            number.parse().ok()?,
            context.to_string(),
            ns.parse().ok()?,
        )),
        _ => None,
    }
}

/// Each tick has a record of its interrupt, then one of its thread, which is later.
fn records(context: &Context) -> Check {
    let (top, reference) = roots(context);
    let mut headers = Vec::new();
    for root in [Some(top), reference].into_iter().flatten() {
        let ours = root.path() == context.root;
        let path = root.path().to_path_buf();
        let settings = Settings::of(root)?;
        settings.tree.set(PERIOD, "20000")?;
        let own = Instance::new(&path, "rtg-timerlat")?;
        own.set("current_tracer", "timerlat")?;
        let seen = sys::wait_until(PATIENCE, || lines(&own).len() >= 40);
        own.set("tracing_on", "0")?;
        let all = lines(&own);
        let text = own.get("trace")?;
        let head = text.lines().filter(|line| line.starts_with('#'));
        headers.push(head.map(str::to_string).collect::<Vec<_>>());
        let most = own.get("tracing_max_latency")?;
        own.set("current_tracer", "nop")?;
        settings.tree.set(PERIOD, "1000")?;
        ensure!(seen, "too few records: {all:?}");
        let mut last = std::collections::HashMap::new();
        let mut longest = 0;
        for line in &all {
            let Some((cpu, number, context, latency)) = parse(line) else {
                fail!("{line:?}");
            };
            let before = last.insert(cpu, (number, context.clone(), latency));
            match (context.as_str(), before) {
                ("irq", None) => ensure_eq!(number, 1, "{line:?}"),
                ("irq", Some((other, context, _))) => {
                    let next = number == other + 1 && context == "thread";
                    ensure!(next || !ours, "after {context} #{other}: {line:?}");
                }
                ("thread", Some((other, context, irq))) => {
                    let same = number == other && context == "irq";
                    ensure!(same || !ours, "after {context} #{other}: {line:?}");
                    ensure!(latency >= irq || !ours, "before its interrupt: {line:?}");
                    longest = longest.max(latency);
                }
                _ => fail!("{line:?}"),
            }
        }
        let most: u64 = most.trim().parse().unwrap_or(0);
        ensure!(
            most + 1 >= longest / 1000 || !ours,
            "tracing_max_latency is {most}, {longest} ns seen"
        );
    }
    let different = headers.iter().any(|head| *head != headers[0]);
    ensure!(!different, "{headers:#?}");
    Ok(())
}

/// Several instances get the records of one measurement; osnoise and timerlat exclude each other.
fn instances(context: &Context) -> Check {
    let (top, _) = roots(context);
    let settings = Settings::of(top)?;
    settings.tree.set(PERIOD, "20000")?;
    let result = together(context);
    settings.tree.set(PERIOD, "1000")?;
    result
}

fn together(context: &Context) -> Check {
    let one = Instance::new(&context.root, "rtg-timerlat")?;
    let two = Instance::new(&context.root, "rtg-timerlat2")?;
    let all = all_workers();
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    one.set("current_tracer", "timerlat")?;
    have_workers(&all)?;
    let refused = two.write("current_tracer", b"osnoise");
    ensure_eq!(refused, Err(EBUSY), "osnoise beside timerlat");
    two.set("current_tracer", "timerlat")?;
    let both = sys::wait_until(PATIENCE, || lines(&one).len() > 4 && lines(&two).len() > 4);
    ensure!(both, "not both have records");
    one.set("current_tracer", "nop")?;
    have_workers(&all)?;
    two.set("tracing_on", "0")?;
    have_workers(&[])?;
    // It has the tracer while it does not record.
    let refused = one.write("current_tracer", b"osnoise");
    ensure_eq!(refused, Err(EBUSY), "osnoise beside timerlat that is off");
    ensure_eq!(one.get("current_tracer")?, "nop\n", "the tracer");
    two.set("tracing_on", "1")?;
    have_workers(&all)?;
    two.set("current_tracer", "nop")?;
    have_workers(&[])?;
    one.set("current_tracer", "osnoise")?;
    let refused = two.write("current_tracer", b"timerlat");
    ensure_eq!(refused, Err(EBUSY), "timerlat beside osnoise");
    one.set("current_tracer", "nop")?;
    two.set("current_tracer", "timerlat")?;
    two.set("current_tracer", "nop")?;
    have_workers(&[])
}

/// Tracing stops at a latency, with the stack that the timer interrupted, and the buffer says so.
fn stops(context: &Context) -> Check {
    let (top, _) = roots(context);
    let settings = Settings::of(top)?;
    let top = &settings.tree;
    top.set(PERIOD, "20000")?;
    for (file, context_name) in [(STOP, "irq"), (STOP_TOTAL, "thread")] {
        let own = Instance::new(&context.root, "rtg-timerlat")?;
        own.set("events/osnoise/enable", "1")?;
        top.set(STACK, "1")?;
        top.set(file, "1")?;
        own.set("current_tracer", "timerlat")?;
        let off = sys::wait_until(PATIENCE, || {
            own.get("tracing_on").is_ok_and(|on| on == "0\n")
        });
        top.set(file, "0")?;
        top.set(STACK, "0")?;
        ensure!(off, "{file}: tracing goes on");
        let text = own.get("trace")?;
        own.set("current_tracer", "nop")?;
        ensure!(
            text.contains(": stop tracing hit on cpu "),
            "{file}: {text}"
        );
        ensure!(
            text.contains(&format!("context {context_name:>6} timer")),
            "{file}: {text}"
        );
        ensure!(text.contains("<stack trace>"), "{file}, no stack: {text}");
        ensure!(
            text.contains(": timerlat_sample: timer_latency="),
            "{file}: {text}"
        );
    }
    top.set(PERIOD, "1000")?;
    have_workers(&[])
}

/// CPUs that are not listed are not measured, and CPUs come and go.
fn cpus(context: &Context) -> Check {
    if sys::online_cpus() < 2 {
        skip!("one CPU cannot go");
    }
    let (top, _) = roots(context);
    let settings = Settings::of(top)?;
    let top = &settings.tree;
    top.set(PERIOD, "20000")?;
    let own = Instance::new(&context.root, "rtg-timerlat")?;
    top.set(CPUS, "1")?;
    own.set("current_tracer", "timerlat")?;
    have_workers(&["timerlat/1"])?;
    top.set(CPUS, "0-1")?;
    have_workers(&["timerlat/0", "timerlat/1"])?;
    let online = "/sys/devices/system/cpu/cpu1/online";
    let switch = |value: &str| std::fs::write(online, value).map_err(|e| format!("{online}: {e}"));
    switch("0")?;
    have_workers(&["timerlat/0"])?;
    switch("1")?;
    have_workers(&["timerlat/0", "timerlat/1"])?;
    own.clear()?;
    let of = |cpu: &str| lines(&own).iter().any(|line| line.contains(cpu));
    let both = sys::wait_until(PATIENCE, || of("[000]") && of("[001]"));
    ensure!(both, "not both CPUs have records");
    // The ticks of CPUs that are aligned follow each other.
    top.set(ALIGN, "5000")?;
    top.set("osnoise/options", "TIMERLAT_ALIGN")?;
    own.clear()?;
    let seen = sys::wait_until(PATIENCE, || lines(&own).len() > 4);
    top.set(ALIGN, "0")?;
    ensure!(seen, "no records of aligned ticks");
    own.set("current_tracer", "nop")?;
    top.set(PERIOD, "1000")?;
    have_workers(&[])
}

/// An instance goes while its tracer measures, and nothing is left of it.
fn ends(context: &Context) -> Check {
    let (top, _) = roots(context);
    let settings = Settings::of(top)?;
    settings.tree.set(PERIOD, "20000")?;
    for _ in 0..soak::rounds(3, 20) {
        let own = Instance::new(&context.root, "rtg-timerlat")?;
        own.set("current_tracer", "timerlat")?;
        own.remove()?;
        let own = Instance::new(&context.root, "rtg-timerlat")?;
        settings.tree.set(STOP, "1")?;
        own.set("current_tracer", "timerlat")?;
        own.remove()?;
        settings.tree.set(STOP, "0")?;
    }
    settings.tree.set(PERIOD, "1000")?;
    have_workers(&[])
}
