// SPDX-License-Identifier: GPL-2.0

//! The same filters on both tracers keep the same records, and show the same lines.

use super::filter::names_function;
use super::side::Pair;
use super::{pair, side_text, test, Test};
use crate::check::{Check, Report};
use crate::stream;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload;
use crate::Context;
use std::collections::{BTreeMap, BTreeSet};

pub const TESTS: &[Test] = &[
    test("same.filters", 120, filters),
    test("same.filtered_lengths", 60, lengths),
    test("same.filters_shown", 60, shown),
];

/// Filters that let through a part of the records, at least.
const CHOSEN: usize = 20;

type Filters = &'static [(&'static str, &'static str)];

/// Each row is one run with these filters, all at once.
const ROUNDS: &[Filters] = &[
    &[
        ("sched/sched_switch", "prev_pid == 0 || next_pid == 0"),
        ("sched/sched_waking", "comm ~ \"rtg*\""),
        ("sched/sched_wakeup", "target_cpu == 0 && prio < 121"),
        (
            "sched/sched_process_fork",
            "common_pid > 1 && child_pid & 1",
        ),
        ("sched/sched_process_exec", "filename ~ \"*exe*\""),
        ("irq/softirq_entry", "vec == 1 || vec == 7 || vec==9"),
        ("irq/softirq_exit", "vec & 1"),
        ("timer/hrtimer_start", "function.function == hrtimer_wakeup"),
        (
            "timer/hrtimer_expire_entry",
            "function.function != hrtimer_wakeup",
        ),
        ("timer/timer_start", "CPU == 0"),
        (
            "raw_syscalls/sys_enter",
            "id == 0 || id == 1 || id == 0x101",
        ),
        ("raw_syscalls/sys_exit", "ret < 0"),
        ("kmem/kmalloc", "bytes_req >= 64 && bytes_alloc < 512"),
        ("workqueue/workqueue_queue_work", "workqueue == \"events\""),
        ("net/net_dev_queue", "name == \"lo\" && len > 100"),
        (
            "task/task_newtask",
            "comm == \"rtguest\" && clone_flags & 0x10000 || pid & 1",
        ),
    ],
    &[
        (
            "sched/sched_switch",
            "prev_comm ~ \"*guest*\" && !(next_comm == 'rtguest' || next_pid == 0)",
        ),
        ("sched/sched_waking", "CPU & CPUS{0}"),
        ("sched/sched_wakeup", "COMM ~ \"rtguest*\""),
        (
            "sched/sched_process_exit",
            "comm ~ \"[a-f]*\" || !(prio >= 120)",
        ),
        ("irq/softirq_entry", "common_pid == 0"),
        ("irq/softirq_exit", "common_flags & 1 || vec != 9"),
        (
            "raw_syscalls/sys_enter",
            "(id == 0 && common_pid > 1) || (id != 1 && !(id > 100))",
        ),
        ("raw_syscalls/sys_exit", "id & CPUS{0-1}"),
        ("timer/hrtimer_start", "mode != 10"),
        (
            "timer/hrtimer_expire_entry",
            "common_preempt_count == 0 && cpu != 0",
        ),
        ("kmem/kmalloc", "node != -1 || COMM != 'rtguest'"),
        ("kmem/kfree", "common_pid != 0 && (CPU < 1 || CPU > 1)"),
        (
            "workqueue/workqueue_queue_work",
            "workqueue ~ \"*_*\" || cpu == CPUS{0}",
        ),
        ("workqueue/workqueue_execute_start", "common_pid & 1"),
        ("signal/signal_generate", "sig == 17"),
    ],
];

/// All records of an instance without filters, by event.
fn count_of(tree: &Tree, events: &BTreeSet<&str>) -> Check<BTreeMap<String, usize>> {
    let mut ids = BTreeMap::new();
    for event in events {
        let id = tree.get(&format!("events/{event}/id"))?;
        ids.insert(id.trim().parse().unwrap_or(0u16), event.to_string());
    }
    let mut counts = BTreeMap::new();
    for stream in stream::drain(tree)? {
        for name in stream
            .records
            .iter()
            .filter_map(|record| ids.get(&record.id()))
        {
            *counts.entry(name.clone()).or_insert(0) += 1;
        }
    }
    Ok(counts)
}

/// A third instance says how many records there were at all.
fn filters(context: &Context) -> Check {
    let systems: &[&str] = &[
        "sched",
        "irq",
        "timer",
        "raw_syscalls",
        "kmem",
        "rcu",
        "workqueue",
        "net",
        "task",
        "signal",
    ];
    let mut report = Report::default();
    let mut chosen = 0;
    let by_name = sys::finds_functions();
    for filters in ROUNDS {
        let known = |row: &&(&str, &str)| by_name || !names_function(row.1);
        let filters: Vec<_> = filters.iter().filter(known).collect();
        let pair = Pair::new(context, systems)?;
        let all = Instance::new(&context.root, "rtg-all")?;
        all.set("buffer_size_kb", "16000")?;
        for tree in [&pair.own, &pair.reference] {
            tree.set("events/enable", "0")?;
        }
        for (event, filter) in &filters {
            for tree in [&pair.own, &pair.reference] {
                tree.set(&format!("events/{event}/filter"), filter)?;
                tree.set(&format!("events/{event}/enable"), "1")?;
            }
            let file = format!("events/{event}/filter");
            report.collect(super::same(&pair.own, &pair.reference, &file));
            all.set(&format!("events/{event}/enable"), "1")?;
        }
        let window = pair.run(|| workload::mixed(6))?;
        all.set("tracing_on", "0")?;
        let lines = side_text::compare_all(&pair)?;
        let compared = pair.compare_all(&window)?;
        let events = filters.iter().map(|(event, _)| *event).collect();
        let unfiltered = count_of(&all, &events)?;
        for (event, filter) in &filters {
            let count = |of: &BTreeMap<String, usize>| of.get(*event).copied().unwrap_or(0);
            let (kept, all) = (count(&compared.counts), count(&unfiltered));
            println!("{event}: {filter}: {kept} of {all}");
            report.expect(all > 0, || format!("{event}: no record at all"));
            if kept == 0 || kept == all {
                continue;
            }
            chosen += 1;
            // Of each task the first and the last line are not compared.
            let name = event.rsplit('/').next().unwrap_or_default();
            let shown = lines.kinds.get(name).copied().unwrap_or(0);
            report.expect(shown > 0 || kept < 10, || {
                format!("{event}: {kept} records, and no line")
            });
        }
    }
    println!("{chosen} filters let a part of the records through");
    report.expect(chosen >= CHOSEN, || {
        format!("only {chosen} filters let a part of the records through")
    });
    report.finish()
}

/// Records of many lengths that a filter lets through, by a number alone and by a string.
fn lengths(context: &Context) -> Check {
    const EVENT: &str = "sched/sched_process_exec";
    // The record is around 30 bytes longer; from 112 bytes on it is of another kind.
    const NAMES: std::ops::Range<usize> = 10..170;
    let mut report = Report::default();
    for filter in ["pid > 0", "filename ~ \"*rtg-exec*\""] {
        let pair = Pair::new(context, &["sched"])?;
        for tree in [&pair.own, &pair.reference] {
            tree.set("events/enable", "0")?;
            tree.set(&format!("events/{EVENT}/filter"), filter)?;
            tree.set(&format!("events/{EVENT}/enable"), "1")?;
        }
        let window = pair.run(|| {
            for len in NAMES.step_by(3) {
                let path = format!("/tmp/rtg-exec-{}", "x".repeat(len));
                let _ = std::os::unix::fs::symlink("/bin/true", &path);
                let _ = std::process::Command::new(&path).status();
                let _ = std::fs::remove_file(&path);
            }
        })?;
        let compared = pair.compare_all(&window)?;
        let count = compared.counts.get(EVENT).copied().unwrap_or(0);
        println!("{filter}: {count} records");
        report.expect(count >= NAMES.len() / 3, || {
            format!("{filter}: only {count} records")
        });
    }
    report.finish()
}

/// `show_event_filters`: names of every length, a refused filter, those of a system, and none.
fn shown(context: &Context) -> Check {
    const STEPS: &[(&str, &str)] = &[
        ("sched/sched_switch", "prev_pid > 5 && prev_comm == \"x\""),
        ("writeback/writeback_dirty_inode_enqueue", "ino > 1"),
        ("sched/sched_waking", "no_such_field > 5"),
        ("irq", "vec == 1"),
        ("sched/sched_switch", "0"),
        ("sched/sched_waking", "pid==1||  pid==2"),
        ("irq", "0"),
    ];
    let (own, reference) = pair(context)?;
    ensure_eq!(own.get("show_event_filters")?, "", "at first");
    let mut report = Report::default();
    for (event, filter) in STEPS {
        let file = format!("events/{event}/filter");
        let answers = [&own, &reference].map(|tree| tree.write(&file, filter.as_bytes()));
        let (ours, theirs) = (
            own.get("show_event_filters")?,
            reference.get("show_event_filters")?,
        );
        report.expect(answers[0] == answers[1] && ours == theirs, || {
            format!("{event} <- {filter:?}: {answers:?}\n{ours}tracefs:\n{theirs}")
        });
    }
    report.finish()
}
