// SPDX-License-Identifier: GPL-2.0

//! The exact texts of the files about events, options and tracers: against the
//! kernel's own tracefs, and against strings written here.

use super::{pair, same, test, Test};
use crate::check::{Check, Report};
use crate::format;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("golden.tracers", 10, tracers),
    test("golden.options", 30, options),
    test("golden.header_page", 10, header_page),
    test("golden.set_event", 60, set_event),
    test("golden.enable_files", 60, enable_files),
    test("golden.available_events", 60, available_events),
    test("golden.formats", 120, formats),
    test("golden.saved_cmdlines", 30, saved_cmdlines),
];

fn tracers(context: &Context) -> Check {
    let top = Tree::at(&context.root);
    let own = Instance::new(&context.root, "rtg-own")?;
    ensure_eq!(own.get("current_tracer")?, "nop\n", "current_tracer");
    let available = top.get("available_tracers")?;
    ensure!(
        available.ends_with("nop\n"),
        "available_tracers: {available:?}"
    );
    if context.is_rtracefs() {
        // The kernel's, in its order, less those that rtrace does not have.
        let theirs = Tree::at(&context.reference).get("available_tracers")?;
        let theirs: Vec<&str> = theirs.split_whitespace().collect();
        let at = |name| theirs.iter().position(|other| *other == name);
        let is_theirs = |name: &&str| match sys::has_latency_tracers() {
            true => !sys::OWN_TRACERS.contains(name),
            false => !sys::LATENCY_TRACERS.contains(name),
        };
        let ours = available.split_whitespace().filter(is_theirs);
        let places: Vec<_> = ours.map(at).collect();
        ensure!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "available_tracers: {available:?}, tracefs {theirs:?}"
        );
        let traces = available.split_whitespace().any(|name| name == "function");
        ensure_eq!(
            traces,
            sys::traces_functions(),
            "{available:?} has function"
        );
    }
    Ok(())
}

/// Options that the tree has are those of ftrace, with ftrace's defaults and order.
fn options(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let theirs = reference.get("trace_options")?;
    let mut order = theirs.lines();
    let text = own.get("trace_options")?;
    let ours = |name: &str| super::like(&format!("options/{name}")) != format!("options/{name}");
    for line in text
        .lines()
        .filter(|line| !ours(line.strip_prefix("no").unwrap_or(line)))
    {
        report.expect(order.any(|l| l == line), || {
            format!("trace_options: {line:?} out of place")
        });
    }
    for name in own.list("options")?.into_iter().filter(|name| !ours(name)) {
        report.collect(same(&own, &reference, &format!("options/{name}")));
    }
    for name in [
        "overwrite",
        "irq-info",
        "context-info",
        "record-cmd",
        "markers",
        "annotate",
    ] {
        let home = if own.exists(&format!("options/{name}")) {
            &own as &Tree
        } else {
            &own.top()
        };
        report.expect(
            home.get(&format!("options/{name}")) == Ok("1\n".into()),
            || format!("options/{name}: {:?}", home.get(&format!("options/{name}"))),
        );
    }
    report.finish()
}

fn header_page(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    same(&own, &reference, "events/header_page")?;
    same(&own, &reference, "events/header_event")
}

/// set_event lists what is enabled, in the order of the registry, not of the writes.
fn set_event(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for text in [
        "sched:sched_switch",
        "irq:*",
        "sched:sched_wak*",
        "sched_waking",
        "!irq:softirq_*",
        "signal",
        "timer:",
        "!sched:sched_switch",
        "sched:sched_switch timer:timer_start",
        "!*:timer_st*",
        "!signal:signal_generate !irq",
        "*:sched_process_f*",
    ] {
        let (found, wanted) = (
            own.write("set_event", text.as_bytes()),
            reference.write("set_event", text.as_bytes()),
        );
        report.expect(found == wanted, || {
            format!("{text:?}: {found:?}, tracefs {wanted:?}")
        });
        report.collect(
            same(&own, &reference, "set_event").map_err(|e| format!("after {text:?}: {e}")),
        );
    }
    report.finish()
}

/// 0, 1 and X of an event, its system and all events.
fn enable_files(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let files = [
        "events/signal/signal_deliver/enable",
        "events/signal/signal_generate/enable",
        "events/signal/enable",
        "events/irq/enable",
        "events/enable",
    ];
    for (file, value) in [
        ("", ""),
        ("events/signal/signal_deliver/enable", "1"),
        ("events/signal/signal_generate/enable", "1"),
        ("events/signal/signal_deliver/enable", "1"),
        ("events/irq/enable", "1"),
        ("events/signal/signal_deliver/enable", "0"),
        ("events/signal/enable", "1"),
        ("events/signal/enable", "0"),
        ("events/enable", "0"),
    ] {
        if !file.is_empty() {
            for tree in [&own, &reference] {
                tree.set(file, value)?;
            }
        }
        for name in files {
            report.collect(
                same(&own, &reference, name).map_err(|e| format!("{value} > {file:?}: {e}")),
            );
        }
    }
    report.finish()
}

/// Every event is one of ftrace's, listed in ftrace's order.
fn available_events(context: &Context) -> Check {
    let (own, reference) = (Tree::at(&context.root), Tree::at(&context.reference));
    let mut report = Report::default();
    let theirs = reference.get("available_events")?;
    let mut order = theirs.lines();
    let text = own.get("available_events")?;
    // Raw events, which tracefs does not have, and those that rtrace makes itself come after all others.
    let is_theirs = |line: &&str| !line.starts_with("raw:") && !line.starts_with("osnoise:");
    for line in text.lines().filter(is_theirs) {
        report.expect(order.any(|l| l == line), || {
            format!("{line:?} is out of place")
        });
    }
    let count = text.lines().count();
    ensure!(count >= 100, "only {count} events");
    println!("{count} events");

    for system in [
        "sched",
        "irq",
        "irq_vectors",
        "timer",
        "signal",
        "task",
        "workqueue",
        "power",
        "block",
        "net",
        "skb",
        "napi",
        "kmem",
        "writeback",
        "raw_syscalls",
        "nmi",
        "msr",
        "module",
        "oom",
        "rcu",
        "percpu",
        "printk",
    ] {
        let count = |text: &str| {
            text.lines()
                .filter(|l| l.split(':').next() == Some(system))
                .count()
        };
        let (found, all) = (count(&text), count(&theirs));
        report.expect(found > 0 || all == 0, || {
            format!("no event of {system}, tracefs has {all}")
        });
        if found != all {
            println!("{system}: {found} of {all} events");
        }
    }
    report.finish()
}

/// `format` is ftrace's but for the number, which must be the one of `id`, and unique.
fn formats(context: &Context) -> Check {
    let (own, reference) = (Tree::at(&context.root), Tree::at(&context.reference));
    let mut report = Report::default();
    let mut ids = std::collections::HashMap::new();
    for line in own.get("available_events")?.lines() {
        let Some((system, event)) = line.split_once(':') else {
            fail!("available_events: {line:?}")
        };
        let file = format!("events/{system}/{event}/format");
        let found = own.get(&file)?;
        // tracefs has no raw events; `rawev` looks at their formats, `osnoise.events` at those of osnoise.
        if system != "raw" && system != "osnoise" {
            let wanted = reference.get(&file)?;
            report.expect(
                format::without_id(&found) == format::without_id(&wanted),
                || format!("{line}: {found:?}, tracefs {wanted:?}"),
            );
        }
        let id = format::Format::parse(&found)?.id;
        report.expect(
            own.get(&format!("events/{system}/{event}/id")) == Ok(format!("{id}\n")),
            || format!("{line}: id is not {id}"),
        );
        if let Some(other) = ids.insert(id, line.to_string()) {
            report.add(format!("{line} and {other} are both {id}"));
        }
    }
    println!("{} formats", ids.len());
    // rasdaemon waits for these for ever.
    if reference.exists("events/ras") {
        for event in reference.list("events/ras")? {
            let name = format!("events/ras/{event}");
            report.expect(own.exists(&name), || format!("no {name}"));
        }
    }
    report.finish()
}

/// A task that was switched in while an event was enabled can be named later.
fn saved_cmdlines(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("events/sched/sched_switch/enable", "1")?;
    std::thread::sleep(std::time::Duration::from_millis(20));
    crate::workload::pipe(5);
    own.set("events/sched/sched_switch/enable", "0")?;
    let text = own.top().get("saved_cmdlines")?;
    let wanted = format!("{} rtguest", std::process::id());
    // The kernel's name of a process that was started by /proc/self/exe is `exe`.
    let name = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    let wanted = wanted.replace("rtguest", name.trim());
    ensure!(
        text.lines().any(|line| line == wanted),
        "no line {wanted:?} in {text:?}"
    );
    for line in text.lines() {
        let pid = line
            .split(' ')
            .next()
            .and_then(|pid| pid.parse::<i32>().ok());
        ensure!(pid.is_some(), "not `pid comm`: {line:?}");
    }
    let trace = own.get("trace")?;
    ensure!(
        trace
            .lines()
            .any(|l| l.contains(&format!("{}-{}", name.trim(), std::process::id()))),
        "trace does not name {wanted:?}"
    );
    Ok(())
}
