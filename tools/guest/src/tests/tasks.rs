// SPDX-License-Identifier: GPL-2.0

//! What is remembered of tasks: `saved_cmdlines_size`, `saved_tgids` and the option `record-tgid`.

use super::golden::without_stamp;
use super::osnoise::PATIENCE;
use super::{pair, test, Test};
use crate::callers;
use crate::check::{Check, Report};
use crate::errno::*;
use crate::process;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload;
use crate::Context;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

pub const TESTS: &[Test] = &[
    test("tasks.cmdlines_size", 60, cmdlines_size),
    test("tasks.resize_under_load", 60, resize_under_load),
    test("tasks.names_stay", 60, names_stay),
    test("tasks.changes", 60, changes),
    test("tasks.one_probe", 300, one_probe),
    test("tasks.tgids", 60, tgids),
    test("tasks.tgid_column", 60, tgid_column),
];

const SWITCHES: &str = "events/sched/sched_switch/enable";

/// `PID TEXT` per line.
fn table(tree: &Tree, file: &str) -> Check<BTreeMap<u32, String>> {
    let text = tree.get(file)?;
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let row = line.split_once(' ');
        let Some((Ok(pid), rest)) = row.map(|(pid, rest)| (pid.parse(), rest)) else {
            fail!("{file}: not a line: {line:?}");
        };
        ensure!(
            found.insert(pid, rest.to_string()).is_none(),
            "{file}: {pid} is there twice"
        );
    }
    Ok(found)
}

/// Threads of this process that are seen by the scheduler while `f` runs.
fn with_switches(tree: &Tree, f: impl FnOnce() -> Check) -> Check {
    tree.set(SWITCHES, "1")?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| std::thread::sleep(std::time::Duration::from_millis(50)));
        }
    });
    let result = f();
    tree.set(SWITCHES, "0")?;
    result
}

/// What is taken and refused is tracefs's; there is never less room than was asked for.
fn cmdlines_size(context: &Context) -> Check {
    let file = "saved_cmdlines_size";
    let (own, reference) = (Tree::at(&context.root), Tree::at(&context.reference));
    let size = |tree: &Tree| -> Check<u64> {
        let text = tree.get(file)?;
        let number = text.strip_suffix('\n').and_then(|text| text.parse().ok());
        number.ok_or_else(|| format!("{file}: {text:?}"))
    };
    let before = (size(&own)?, size(&reference)?);
    let mut report = Report::default();
    for input in [
        "1",
        "128",
        "6552",
        "8192",
        "8193",
        "16385",
        "32768",
        "0",
        "32769",
        "-1",
        "x",
        "",
        "18446744073709551616",
    ] {
        let kept = [size(&own)?, size(&reference)?];
        let (found, wanted) = (
            own.write(file, input.as_bytes()),
            reference.write(file, input.as_bytes()),
        );
        report.expect(found == wanted, || {
            format!("{file} <- {input:?}: {found:?}, tracefs {wanted:?}")
        });
        for (tree, kept) in [&own, &reference].into_iter().zip(kept) {
            let now = size(tree)?;
            let right = match found {
                Ok(_) => now >= input.parse().unwrap_or(u64::MAX),
                Err(_) => now == kept,
            };
            report.expect(right, || {
                format!("{} <- {input:?}: {now}, {kept} before", tree.shown(file))
            });
        }
    }
    own.set(file, &before.0.to_string())?;
    reference.set(file, &before.1.to_string())?;
    ensure_eq!(size(&own)?, before.0, "back again");
    report.finish()
}

/// Names stay when the size changes, and are found while it does.
fn resize_under_load(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs forgets all names when the size changes");
    }
    let top = Tree::at(&context.root);
    let (own, _reference) = pair(context)?;
    let me = sys::thread_id();
    with_switches(&own, || {
        let name = std::fs::read_to_string("/proc/self/comm").map_err(|e| e.to_string())?;
        let known =
            || -> Check<Option<String>> { Ok(table(&top, "saved_cmdlines")?.get(&me).cloned()) };
        ensure_eq!(known()?.as_deref(), Some(name.trim()), "this thread");
        let load = workload::Load::start();
        let mut result = Ok(());
        for round in 0..40 {
            let size = ["32768", "1", "16384", "8193"][round % 4];
            result = result.and(top.set("saved_cmdlines_size", size));
            let found = known()?;
            if found.as_deref() != Some(name.trim()) {
                result = result.and(Err(format!("{size} places: {found:?}")));
            }
        }
        drop(load);
        result.and(top.set("saved_cmdlines_size", "1"))
    })
}

/// A process for which the only place is that of `task` runs and ends.
fn run_rival(top: &Tree, task: u32) -> Check {
    let size = top.get("saved_cmdlines_size")?;
    let places: u32 = size.trim().parse().map_err(|_| format!("size {size:?}"))?;
    let mut rivals = (task % places..1 << 15).step_by(places as usize);
    let ran = rivals.any(|pid| pid != task && pid != 0 && process::run_as(pid).is_ok());
    ensure!(ran, "no pid is free that shares a place with {task}");
    Ok(())
}

/// Tasks that come while nothing is recorded do not take the places of those in the trace.
fn names_stay(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("which tasks share a place is rtracefs's own");
    }
    let top = Tree::at(&context.root);
    let (own, _reference) = pair(context)?;
    let known = |task| -> Check<bool> { Ok(table(&top, "saved_cmdlines")?.contains_key(&task)) };

    // A task that sleeps meanwhile, so that it is not seen again.
    own.set(SWITCHES, "1")?;
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let (say, said) = std::sync::mpsc::channel();
    let sleeper = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let _ = say.send(sys::thread_id());
        let _ = ended.recv();
    });
    let task = said.recv().map_err(|e| e.to_string())?;
    ensure!(sys::wait_asleep(task), "{task} does not sleep");
    ensure!(known(task)?, "{task} was not remembered");
    own.set("tracing_on", "0")?;
    run_rival(&top, task)?;
    ensure!(
        known(task)?,
        "forgotten for a task that is not in the trace"
    );
    own.set("tracing_on", "1")?;
    run_rival(&top, task)?;
    ensure!(!known(task)?, "a task in the trace was not remembered");
    drop(end);
    sleeper.join().map_err(|_| "the sleeper died")?;

    // A task that runs on when recording stops, and did not come while it was on.
    sys::pin_to(0);
    let me = sys::thread_id();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let rival = scope.spawn(|| {
            sys::pin_to(1);
            let result = run_rival(&top, me);
            // A parent is told of the end of its child before that has left the CPU, and is remembered once more.
            // While this task sleeps it leaves.
            std::thread::sleep(std::time::Duration::from_millis(10));
            done.store(true, Ordering::Release);
            result
        });
        while !done.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        let result = own.set("tracing_on", "0");
        rival.join().map_err(|_| "the rival's parent died")??;
        result
    })?;
    ensure!(known(me)?, "a task that ran all the time is not known");
    own.set(SWITCHES, "0")
}

/// A switch tells what a known task has changed: a part of its name, or its thread group, for which the option asks
/// later.
fn changes(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for tree in [&own, &reference] {
        with_switches(tree, || {
            std::thread::scope(|scope| {
                let renamed = scope.spawn(|| change(tree, &mut report));
                renamed.join().map_err(|_| "the thread died")?
            })
        })?;
    }
    report.finish()
}

/// Changes the calling thread again and again, and looks at what is known of it after a switch.
fn change(tree: &Instance, report: &mut Report) -> Check {
    let (top, me) = (tree.top(), sys::thread_id());
    let known = |file: &str| -> Check<Option<String>> {
        std::thread::sleep(std::time::Duration::from_millis(20));
        Ok(table(&top, file)?.get(&me).cloned())
    };
    let mut last = None;
    for name in [
        "rtg-changes-a",
        "rtg-changes-b",
        "rtg-Changes-b",
        "r",
        "rtg-changes",
    ] {
        callers::name_this_thread(name.as_bytes()).map_err(|e| format!("{e:?}"))?;
        last = Some(name.to_string());
        let found = known("saved_cmdlines")?;
        report.expect(found == last, || {
            format!("{}: {name:?} is {found:?}", tree.shown(""))
        });
    }
    tree.set("options/record-tgid", "1")?;
    let found = (known("saved_tgids")?, known("saved_cmdlines")?);
    let process = std::process::id().to_string();
    report.expect(found == (Some(process), last), || {
        format!(
            "{}: a group that is asked for later: {found:?}",
            tree.shown("")
        )
    });
    tree.set("options/record-tgid", "0")
}

/// Whether names are remembered and noise is told of switches: one probe does both, whichever of the two began first or
/// ends first.
fn one_probe(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-tasks-events")?;
    let noisy = Instance::new(&context.root, "rtg-tasks-noise")?;
    let top = own.top();
    noisy.set("events/osnoise/thread_noise/enable", "1")?;
    noisy.set("tracing_on", "0")?;
    let switch = |on: bool, what: &str| {
        let bit = if on { "1" } else { "0" };
        match what {
            "events" => own.set(SWITCHES, bit),
            "names" => top.set("options/record-cmd", bit),
            _ => {
                noisy.set("current_tracer", if on { "osnoise" } else { "nop" })?;
                noisy.set("tracing_on", bit)
            }
        }
    };
    let mut threads = 0;
    let mut is_named = || -> Check<bool> {
        threads += 1;
        let name = format!("rtg-probe-{threads}");
        let thread = name.clone();
        std::thread::spawn(move || {
            let named = callers::name_this_thread(thread.as_bytes());
            std::thread::sleep(std::time::Duration::from_millis(50));
            named
        })
        .join()
        .map_err(|_| "the thread died")?
        .map_err(|e| format!("{e:?}"))?;
        Ok(table(&top, "saved_cmdlines")?
            .values()
            .any(|of| *of == name))
    };
    let is_told = || -> Check<bool> {
        noisy.clear()?;
        let told = || {
            noisy
                .get("trace")
                .is_ok_and(|text| text.contains("thread_noise:"))
        };
        Ok(sys::wait_until(PATIENCE, told))
    };
    // What is switched, and whether names are remembered and noise is told after that.
    for (on, what, named, told) in [
        (true, "events", true, false),
        (true, "noise", true, true),
        (false, "names", false, true),
        (true, "names", true, true),
        (false, "events", true, true),
        (false, "noise", false, false),
        (true, "noise", true, true),
        (true, "events", true, true),
        (false, "noise", true, false),
        (false, "names", false, false),
        (true, "names", true, false),
        (false, "events", false, false),
    ] {
        switch(on, what)?;
        let after = format!("after {what} {on}");
        ensure_eq!(is_named()?, named, "{after}: names");
        ensure!(!told || is_told()?, "{after}: no noise was told of");
    }
    Ok(())
}

/// Thread groups of tasks are remembered once the option asks for them.
fn tgids(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for tree in [&own, &reference] {
        let top = tree.top();
        tree.set("options/record-tgid", "1")?;
        let (mut thread, mut known) = (0, BTreeMap::new());
        with_switches(tree, || {
            std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(50));
                sys::thread_id()
            })
            .join()
            .map(|id| thread = id)
            .map_err(|_| "the thread died".to_string())?;
            known = table(&top, "saved_tgids")?;
            Ok(())
        })?;
        let process = std::process::id().to_string();
        report.expect(known.get(&thread) == Some(&process), || {
            format!(
                "{}: {thread} is of {process}: {:?}",
                tree.shown(""),
                known.get(&thread)
            )
        });
        report.expect(!known.contains_key(&0), || {
            "the idle task has a group".into()
        });
        // What is known stays when no more is asked for.
        tree.set("options/record-tgid", "0")?;
        let later = table(&top, "saved_tgids")?;
        report.expect(later.get(&thread) == Some(&process), || {
            format!("{thread} was forgotten")
        });
        report.expect(top.write("saved_tgids", b"1") == Err(EINVAL), || {
            "saved_tgids can be written".into()
        });
    }
    report.finish()
}

/// The column, for tasks whose group is known and for others, with all that stands beside it.
fn tgid_column(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for tree in [&own, &reference] {
        tree.set("options/record-tgid", "1")?;
        with_switches(tree, || Ok(()))?;
    }
    let look = |tree: &Tree| -> Check<Vec<String>> {
        tree.clear()?;
        tree.set("trace_marker", "hello")?;
        let text = tree.get("trace")?;
        Ok(text.lines().map(without_stamp).collect())
    };
    for irq_info in ["1", "0"] {
        for tree in [&own, &reference] {
            tree.set("options/irq-info", irq_info)?;
        }
        let (found, wanted) = (look(&own)?, look(&reference)?);
        report.expect(found == wanted, || {
            format!("irq-info={irq_info}: {found:#?}, tracefs {wanted:#?}")
        });
        let process = format!("({:7}) ", std::process::id());
        report.expect(found.concat().contains(&process), || {
            format!("no {process:?} in {found:?}")
        });
    }
    // The idle tasks are in no group.
    for tree in [&own, &reference] {
        tree.set(SWITCHES, "1")?;
        tree.clear()?;
        let mut text = String::new();
        sys::wait_until(std::time::Duration::from_secs(5), || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            text = tree.get("trace").unwrap_or_default();
            text.contains("<idle>-0 ")
        });
        tree.set(SWITCHES, "0")?;
        let idle = text.lines().find(|line| line.contains("<idle>-0 "));
        report.expect(
            idle.is_some_and(|line| line.contains("-0       (-------) [")),
            || format!("{}: the idle task: {idle:?}", tree.shown("trace")),
        );
    }
    report.finish()
}
