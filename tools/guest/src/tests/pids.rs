// SPDX-License-Identifier: GPL-2.0

//! `set_event_pid`, `set_event_notrace_pid`, `event-fork` and `tracing_cpumask`, side by side with the
//! kernel's tracefs: the same texts and errors, the same records.

use super::side::Pair;
use super::{pair, same, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak::{rounds, Share};
use crate::stream::{self, Record};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload;
use crate::Context;
use std::collections::BTreeSet;
use std::process::Command;

pub const TESTS: &[Test] = &[
    test("pids.texts", 60, texts),
    test("pids.lists", 60, lists),
    test("pids.records", 120, records),
    test("pids.filtered", 120, filtered),
    test("pids.forks", 60, forks),
    test("pids.cpumask_texts", 30, cpumask_texts),
    test("pids.cpumask", 60, cpumask),
];

const ONLY: &str = "set_event_pid";
const NEVER: &str = "set_event_notrace_pid";

/// One write with or without truncation: the same answer, the same text.
fn texts(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let most = "1".repeat(127);
    let long = "0".repeat(127);
    let longer = "0".repeat(128);
    let many: String = (100..3000).map(|pid| format!("{pid}\n")).collect();
    let texts: &[&[u8]] = &[
        b"1",
        b"2\n",
        b"",
        b"\n",
        b" ",
        b" 3 4\t5\n",
        b"3",
        b"0",
        b"0x10 010 +7",
        b"x",
        b"12x",
        b"6 x",
        b"7 -1",
        b"-1",
        b"1 99999999999999999999",
        b"4294967297",
        b"1073741823",
        b"1073741824",
        b"8 1073741824",
        b"4294967295",
        b"4194303 4194304 4194305",
        b"9\0",
        b"9\x0010",
        b"11 \x0012",
        b"\x0013",
        b"14,15",
        b"\xa016\xa0",
        b"\xff",
        most.as_bytes(),
        long.as_bytes(),
        longer.as_bytes(),
        many.as_bytes(),
    ];
    let share = Share::one_of(3);
    for file in [ONLY, NEVER] {
        for truncate in [false, true] {
            for text in texts {
                if !share.has(&format!("{file} {truncate} {}", text.escape_ascii())) {
                    continue;
                }
                let write = |tree: &Tree| match truncate {
                    true => tree.write_truncating(file, text),
                    false => tree.write(file, text),
                };
                let answers = (write(&own), write(&reference));
                report.expect(answers.0 == answers.1, || {
                    let text = text.escape_ascii().to_string();
                    format!(
                        "{file} <- {text:.60}: {:?}, tracefs {:?}",
                        answers.0, answers.1
                    )
                });
                let result = same(&own, &reference, file);
                report.collect(result.map_err(|e| format!("{}: {e}", text.escape_ascii())));
            }
        }
        for tree in [&own, &reference] {
            let emptied = tree.write_truncating(file, b"");
            ensure_eq!(emptied, Ok(0), "truncating {}", tree.shown(file));
            ensure_eq!(tree.get(file)?, "", "{}", tree.shown(file));
        }
    }
    report.finish()
}

/// The lists of an instance are its own, not inherited, and go with it; a refused write changes
/// nothing.
fn lists(context: &Context) -> Check {
    let one = Instance::new(&context.root, "rtg-one")?;
    one.set(ONLY, "5 6 7")?;
    one.set(NEVER, "8")?;
    one.set("options/event-fork", "1")?;
    ensure_eq!(one.write(ONLY, b"9 x"), Err(EINVAL), "no number");
    ensure_eq!(one.get(ONLY)?, "5\n6\n7\n", "after a refusal");
    let two = Instance::new(&context.root, "rtg-two")?;
    ensure_eq!(two.get(ONLY)?, "", "a new instance");
    ensure_eq!(two.get("options/event-fork")?, "0\n", "a new instance");
    ensure_eq!(one.top().get(ONLY)?, "", "the top");
    one.remove()?;
    for round in 0..rounds(6, 30) {
        let again = Instance::new(&context.root, "rtg-one")?;
        again.set("events/sched/sched_switch/enable", "1")?;
        again.set(ONLY, "1")?;
        again.set(if round % 2 == 0 { NEVER } else { ONLY }, "2")?;
        again.set("options/event-fork", "1")?;
        workload::processes(1);
        again.remove()?;
    }
    two.remove()
}

/// A child of this program that works and tells its own pid first.
struct Worker(std::process::Child);

impl Worker {
    /// It waits for a line, then forks and sleeps.
    fn start() -> Check<Self> {
        let script =
            "read line; i=0; while [ $i -lt 20 ]; do i=$((i+1)); sleep 0.01; /bin/true; done";
        let child = Command::new("/bin/sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .spawn();
        child.map(Worker).map_err(|e| format!("/bin/sh: {e}"))
    }

    fn pid(&self) -> i32 {
        self.0.id() as i32
    }

    fn work(mut self) {
        // Its end is the line.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

const SYSTEMS: &[&str] = &["sched", "irq", "timer", "raw_syscalls", "signal", "task"];

/// The same lists on both: the same records, in several settings.
fn records(context: &Context) -> Check {
    let mut report = Report::default();
    for (what, only, never, fork) in [
        ("one task", true, false, false),
        ("all but one", false, true, false),
        ("one task and its children", true, false, true),
        ("all but one and its children", false, true, true),
        ("both lists", true, true, true),
    ] {
        let pair = Pair::new(context, SYSTEMS)?;
        let worker = Worker::start()?;
        let pid = worker.pid().to_string();
        for tree in [&pair.own as &Tree, &pair.reference] {
            if fork {
                tree.set("options/event-fork", "1")?;
            }
            if only {
                tree.set(ONLY, &pid)?;
                tree.set(ONLY, &std::process::id().to_string())?;
            }
            if never {
                tree.set(NEVER, &pid)?;
            }
        }
        let window = pair.run(|| worker.work())?;
        match pair.compare_all(&window) {
            Ok(compared) => {
                let count: usize = compared.counts.values().sum();
                println!("{what}: {count} records");
                report.expect(count > 50, || format!("{what}: only {count} records"));
            }
            Err(e) => report.add(format!("{what}: {e}")),
        }
        for tree in [&pair.own as &Tree, &pair.reference] {
            for file in [ONLY, NEVER] {
                let emptied = tree.write_truncating(file, b"");
                ensure_eq!(emptied, Ok(0), "truncating {}", tree.shown(file));
            }
        }
    }
    report.finish()
}

/// Lists and filters together: what both let through is recorded, on both.
fn filtered(context: &Context) -> Check {
    const FILTERS: &[(&str, &str)] = &[
        ("raw_syscalls/sys_enter", "id >= 3 && id != 4"),
        ("raw_syscalls/sys_exit", "ret >= 0"),
        ("sched/sched_switch", "!(prev_state == 0)"),
        ("sched/sched_waking", "common_pid != 0"),
        ("task/task_newtask", "comm ~ \"*\""),
    ];
    let mut report = Report::default();
    for list in [ONLY, NEVER] {
        let pair = Pair::new(context, SYSTEMS)?;
        let worker = Worker::start()?;
        for tree in [&pair.own as &Tree, &pair.reference] {
            // First without the list, then after it.
            for (event, filter) in FILTERS.iter().take(2) {
                tree.set(&format!("events/{event}/filter"), filter)?;
            }
            tree.set(list, &worker.pid().to_string())?;
            for (event, filter) in FILTERS.iter().skip(2) {
                tree.set(&format!("events/{event}/filter"), filter)?;
            }
        }
        let window = pair.run(|| worker.work())?;
        match pair.compare_all(&window) {
            Ok(compared) => {
                for (event, filter) in FILTERS {
                    let count = compared.counts.get(*event).copied().unwrap_or(0);
                    println!("{list}: {event}: {filter}: {count} records");
                }
                let count: usize = compared.counts.values().sum();
                report.expect(count > 20, || format!("{list}: only {count} records"));
            }
            Err(e) => report.add(format!("{list}: {e}")),
        }
        for tree in [&pair.own as &Tree, &pair.reference] {
            let emptied = tree.write_truncating(list, b"");
            ensure_eq!(emptied, Ok(0), "truncating {list}");
            for (event, _) in FILTERS {
                tree.set(&format!("events/{event}/filter"), "0")?;
            }
        }
    }
    report.finish()
}

/// All records of system calls, by pid.
fn callers(tree: &Tree) -> Check<BTreeSet<i32>> {
    let id = tree.get("events/raw_syscalls/sys_enter/id")?;
    let id: u16 = id.trim().parse().map_err(|e| format!("id: {e}"))?;
    // Each read would leave a record for the next one.
    tree.set("tracing_on", "0")?;
    let streams = stream::drain(tree)?;
    tree.set("tracing_on", "1")?;
    let records = streams.iter().flat_map(|stream| &stream.records);
    Ok(records.filter(|r| r.id() == id).map(Record::pid).collect())
}

/// Children are in the list while they live, if their parent is, and only with the option.
fn forks(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("buffer_size_kb", "8000")?;
    own.set("events/raw_syscalls/sys_enter/enable", "1")?;
    for (fork, list) in [(false, ONLY), (true, ONLY), (true, NEVER)] {
        own.set("options/event-fork", if fork { "1" } else { "0" })?;
        let worker = Worker::start()?;
        let pid = worker.pid();
        own.set(list, &pid.to_string())?;
        own.clear()?;
        worker.work();
        let listed = own.get(list)?;
        let seen = callers(&own)?;
        let others = seen.iter().filter(|caller| **caller > pid).count();
        println!(
            "{list}, event-fork {fork}: {} tasks, {others} younger",
            seen.len()
        );
        match (fork, list) {
            (false, _) => {
                ensure_eq!(seen, BTreeSet::from([pid]), "without the option");
                ensure_eq!(listed, format!("{pid}\n"), "the list without the option");
            }
            (true, ONLY) => {
                ensure!(seen.contains(&pid), "not {pid}: {seen:?}");
                ensure!(others >= 20, "only {others} children: {seen:?}");
                ensure!(seen.iter().all(|caller| *caller >= pid), "others: {seen:?}");
            }
            _ => {
                ensure!(!seen.contains(&pid), "{pid} is among {seen:?}");
                ensure!(others == 0, "{others} children are among {seen:?}");
            }
        }
        if fork {
            // Tasks go some time after they have ended.
            let gone = sys::wait_until(std::time::Duration::from_secs(10), || {
                own.get(list).is_ok_and(|text| text.is_empty())
            });
            ensure!(gone, "{list} still has {:?}", own.get(list)?);
        }
        let emptied = own.write_truncating(list, b"");
        ensure_eq!(emptied, Ok(0), "truncating {list}");
    }
    own.remove()
}

fn cpumask_texts(context: &Context) -> Check {
    const FILE: &str = "tracing_cpumask";
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    report.collect(same(&own, &reference, FILE));
    let zeros = "0".repeat(300);
    let texts: &[&[u8]] = &[
        b"1",
        b"3\n",
        b"",
        b"\n",
        b" ",
        b"0",
        b"2",
        b"03",
        b"0x3",
        b"x",
        b"1 ",
        b" 1",
        b"1 1",
        b"1,1",
        b"00000000,00000001",
        b"0,0,0,0,1",
        b"4",
        b"7",
        b"f",
        b"F",
        b"ff",
        b"80000000",
        b"ffffffff",
        b"100000000",
        b"000000001",
        b"x00000001",
        b",1",
        b"1,",
        b",",
        b"1\n2",
        b"2\0x",
        b"-1",
        b"+1",
        b"1\xa0",
        b"\xff",
        zeros.as_bytes(),
        b"3",
    ];
    for text in texts {
        let answers = (own.write(FILE, text), reference.write(FILE, text));
        report.expect(answers.0 == answers.1, || {
            let text = text.escape_ascii().to_string();
            format!("{text:.60}: {:?}, tracefs {:?}", answers.0, answers.1)
        });
        let result = same(&own, &reference, FILE);
        report.collect(result.map_err(|e| format!("{}: {e}", text.escape_ascii())));
    }
    if sys::online_cpus() > 1 {
        let last = reference.get(FILE)?;
        ensure_eq!(last.trim_start_matches('0'), "3\n", "two CPUs");
    }
    report.finish()
}

/// Only chosen CPUs record, events as well as markers, also in buffers that change their size and
/// their place.
fn cpumask(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    for tree in [&own as &Tree, &reference] {
        let rows = [
            ("1", [true, false]),
            ("2", [false, true]),
            ("0", [false; 2]),
            ("3", [true; 2]),
        ];
        // A mask of CPUs that are not possible is refused.
        let cpus = sys::online_cpus().min(2);
        for (mask, wanted) in rows
            .iter()
            .filter(|row| cpus > 1 || !["2", "3"].contains(&row.0))
        {
            tree.set("tracing_cpumask", mask)?;
            tree.set("buffer_size_kb", if *mask == "2" { "700" } else { "1400" })?;
            if *mask == "1" && tree.exists("snapshot") {
                tree.set("snapshot", "1")?;
            }
            tree.clear()?;
            tree.set("events/sched/enable", "1")?;
            let mut markers = Vec::new();
            for cpu in 0..cpus {
                std::thread::scope(|scope| {
                    let marker = scope.spawn(move || {
                        sys::pin_to(cpu);
                        tree.write("trace_marker", b"here")
                    });
                    markers.push(marker.join().unwrap_or(Err(EIO)));
                });
            }
            workload::mixed(1);
            tree.set("events/sched/enable", "0")?;
            for cpu in 0..cpus {
                let entries = tree.number(&format!("per_cpu/cpu{cpu}/stats"), "entries")?;
                ensure_eq!(
                    entries > 0,
                    wanted[cpu],
                    "{mask}: {entries} of {}",
                    tree.shown("")
                );
                let marker = if wanted[cpu] { Ok(4) } else { Err(EBADF) };
                ensure_eq!(markers[cpu], marker, "{mask}: a marker on cpu {cpu}");
            }
        }
    }
    Ok(())
}
