// SPDX-License-Identifier: GPL-2.0

//! Coming and going: the module, instances, readers, CPUs, over and over and while
//! events are being written.

use super::{test, Test};
use crate::check::Check;
use crate::errno::*;
use crate::memory::Usage;
use crate::module;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload::Load;
use crate::Context;
use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    test("life.instances", 60, instances),
    test("life.rmdir_while_traced", 60, rmdir_while_traced),
    test("life.mkdir_storm", 60, mkdir_storm),
    test("life.killed_reader", 30, killed_reader),
    test("life.cpu_hotplug", 60, cpu_hotplug),
    test("life.reload", 280, reload),
];

const BUSY_EVENTS: &[&str] = &["sched", "irq", "timer", "raw_syscalls"];

fn enable(tree: &Tree) -> Check {
    BUSY_EVENTS
        .iter()
        .try_for_each(|system| tree.set(&format!("events/{system}/enable"), "1"))
}

/// Made and removed one after the other, nothing stays.
fn instances(context: &Context) -> Check {
    let round = || -> Check {
        let own = Instance::new(&context.root, "rtg-life")?;
        own.set("trace_marker", "hello")?;
        own.remove()
    };
    // The first rounds fill caches that stay.
    (0..5).try_for_each(|_| round())?;
    let before = Usage::now()?;
    (0..soak::fewer(soak::rounds(60, 100))).try_for_each(|_| round())?;
    before.expect_no_more()
}

/// An instance goes while its events fire on all CPUs.
fn rmdir_while_traced(context: &Context) -> Check {
    let _load = Load::start();
    for _ in 0..soak::rounds(3, 8) {
        let own = Instance::new(&context.root, "rtg-life")?;
        enable(&own)?;
        let written = || own.number("per_cpu/cpu0/stats", "entries").unwrap_or(0);
        ensure!(
            sys::wait_until(Duration::from_secs(10), || written() > 50),
            "no events came"
        );
        own.remove()?;
    }
    Ok(())
}

/// How often each outcome came: 0 for success, else the error number.
type Outcomes = BTreeMap<i32, usize>;

fn count<T>(outcomes: &mut Outcomes, result: Op<T>) {
    *outcomes
        .entry(result.map_or_else(|e| e.0, |_| 0))
        .or_insert(0) += 1;
}

/// Whether enough succeeded for the outcomes to mean something.
fn is_enough(outcomes: &Outcomes) -> bool {
    outcomes.get(&0).is_some_and(|n| *n > 10)
}

/// Two threads make and remove the same names, one opens what it finds: some 300 times each, and on
/// until each of the three has done enough.
fn mkdir_storm(context: &Context) -> Check {
    let path = |i: usize| context.root.join(format!("instances/rtg-storm{}", i % 3));
    let satisfied = AtomicUsize::new(0);
    let note = |content: &mut bool, outcomes: &Outcomes| {
        if !*content && is_enough(outcomes) {
            *content = true;
            satisfied.fetch_add(1, Ordering::Relaxed);
        }
    };
    let least = soak::fewer(300);
    let make = |seed: usize| {
        let (mut outcomes, mut content) = (Outcomes::new(), false);
        for i in 0..10_000 {
            if i >= least && satisfied.load(Ordering::Relaxed) == 3 {
                break;
            }
            let (path, odd) = (path(i * 7 + seed), (i + seed) % 2 == 1);
            let result = if odd {
                std::fs::remove_dir(path)
            } else {
                std::fs::create_dir(path)
            };
            count(&mut outcomes, result.map_err(Errno::from));
            note(&mut content, &outcomes);
        }
        outcomes
    };
    let done = AtomicBool::new(false);
    let open = || {
        let (mut outcomes, mut content) = (Outcomes::new(), false);
        let files = ["trace", "tracing_on", "trace_pipe", "events/sched/enable"];
        for (i, file) in (0..).zip(files.into_iter().cycle()) {
            if done.load(Ordering::Relaxed) {
                break;
            }
            let file = Tree::at(path(i)).open_nonblock(file);
            count(
                &mut outcomes,
                file.and_then(|mut file| Ok(file.read(&mut [0; 100])?)),
            );
            note(&mut content, &outcomes);
        }
        outcomes
    };
    let (makers, opener) = std::thread::scope(|scope| {
        let opener = scope.spawn(open);
        let makers = [0, 1].map(|seed| scope.spawn(move || make(seed)));
        let makers = makers.map(|maker| maker.join().unwrap_or_default());
        done.store(true, Ordering::Relaxed);
        (makers, opener.join().unwrap_or_default())
    });
    (0..3).for_each(|i| drop(std::fs::remove_dir(path(i))));

    println!("mkdir and rmdir: {makers:?}, open: {opener:?}");
    let made = [0, EEXIST.0, ENOENT.0, EBUSY.0, ENODEV.0];
    let opened = [0, ENOENT.0, ENODEV.0, EAGAIN.0, EBUSY.0];
    for (outcomes, allowed) in makers
        .iter()
        .map(|m| (m, &made))
        .chain([(&opener, &opened)])
    {
        ensure!(
            outcomes.keys().all(|error| allowed.contains(error)),
            "{outcomes:?}"
        );
        ensure!(is_enough(outcomes), "too little was done: {outcomes:?}");
    }
    let left = Tree::at(&context.root).list("instances")?;
    ensure!(
        !left.iter().any(|name| name.contains("storm")),
        "left: {left:?}"
    );
    Ok(())
}

/// A reader that is killed in its sleep lets go of everything.
fn killed_reader(context: &Context) -> Check {
    for file in ["trace_pipe", "per_cpu/cpu0/trace_pipe_raw"] {
        let own = Instance::new(&context.root, "rtg-life")?;
        let mut child = Command::new("cat")
            .arg(own.file(file))
            .stdout(Stdio::null())
            .spawn()
            .map_err(|e| format!("cat: {e}"))?;
        let (path, process) = (own.file(file), format!("/proc/{}", child.id()));
        let asleep = sys::wait_until(Duration::from_secs(10), || {
            let files = std::fs::read_dir(format!("{process}/fd"))
                .into_iter()
                .flatten()
                .flatten();
            let opened = files
                .flat_map(|entry| std::fs::read_link(entry.path()))
                .any(|target| target == path);
            let stat = std::fs::read_to_string(format!("{process}/stat")).unwrap_or_default();
            opened && stat.contains(") S ")
        });
        ensure!(asleep, "{file}: the reader does not sleep");
        let busy = std::fs::remove_dir(own.path()).map_err(Errno::from);
        ensure_eq!(busy, Err(EBUSY), "{file}: rmdir with a reader");
        child
            .kill()
            .and_then(|()| child.wait())
            .map_err(|e| format!("kill: {e}"))?;
        own.remove()?;
    }
    Ok(())
}

/// A CPU that goes and comes back loses nothing that it had written.
fn cpu_hotplug(context: &Context) -> Check {
    let cpus = sys::online_cpus();
    if cpus < 2 {
        skip!("one CPU cannot go");
    }
    let online = format!("/sys/devices/system/cpu/cpu{}/online", cpus - 1);
    let own = Instance::new(&context.root, "rtg-life")?;
    enable(&own)?;
    let switch = |value: &str| std::fs::write(&online, value).map_err(|e| format!("{online}: {e}"));
    for round in 0..3 {
        let _load = Load::start();
        switch("0")?;
        own.set("trace_marker", &format!("away {round}"))?;
        switch("1")?;
        let stats = format!("per_cpu/cpu{}/stats", cpus - 1);
        let written =
            || Ok::<_, String>(own.number(&stats, "entries")? + own.number(&stats, "overrun")?);
        let before: u64 = written()?;
        let more = sys::wait_until(Duration::from_secs(10), || {
            written().is_ok_and(|n| n > before + 20)
        });
        ensure!(more, "round {round}: no events from the CPU that came back");
    }
    own.set("tracing_on", "0")?;
    let text = own.get("trace")?;
    let overrun = (0..cpus).try_fold(0, |sum, cpu| {
        Ok::<_, String>(sum + own.number(&format!("per_cpu/cpu{cpu}/stats"), "overrun")?)
    })?;
    for round in 0..3 {
        ensure!(
            overrun > 0 || text.contains(&format!("away {round}\n")),
            "marker {round} is gone"
        );
    }
    crate::stream::drain(&own)?;
    own.remove()
}

/// The module goes and comes again and again while its events fire, with instances that are never
/// removed by name.
fn reload(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs is no module");
    }
    // On the test kernel the tests that KUnit runs at each load make pages missing from all counts,
    // though each of them was freed (kmem:mm_page_free says so): about one MiB per load.
    module::run_kunit(false)?;
    let result = reload_rounds(context);
    module::restore(context)?;
    module::run_kunit(true)?;
    result
}

fn reload_rounds(context: &Context) -> Check {
    // It always goes under a load, and comes under one each fourth time: that takes ten times as long.
    let mut load = None;
    let every = soak::rounds(4, 1);
    let top = Tree::at(&context.root);
    let mut round = |number: usize| -> Check {
        load.get_or_insert_with(Load::start);
        let own = Tree::at(context.root.join("instances/rtg-life"));
        std::fs::create_dir(own.path()).map_err(|e| format!("round {number}: mkdir: {e}"))?;
        for tree in [&top, &own] {
            tree.set("events/sched/sched_switch/enable", "1")?;
            tree.set("events/raw_syscalls/sys_enter/enable", "1")?;
        }
        let written = || own.number("per_cpu/cpu0/stats", "entries").unwrap_or(0);
        let seen = sys::wait_until(Duration::from_secs(10), || written() > 20);
        ensure!(seen, "round {number}: no events came");
        module::umount(context)?;
        // A reader of /proc/modules may still hold it for a moment.
        module::unload_when_free(module::NAME).map_err(|e| format!("round {number}: {e}"))?;
        if number % every != 0 {
            load = None;
        }
        module::load(&context.module, "")?;
        module::mount(context)
    };
    // A kernel with checks takes up to 25 seconds for each, and names what was lost afterwards.
    let first = 3;
    let rounds = match (sys::checks_memory(), sys::kernel_with_checks()) {
        (true, _) => soak::rounds(2, 7),
        (false, true) => soak::rounds(4, 7),
        (false, false) => soak::rounds(5, 100),
    };
    (0..first).try_for_each(&mut round)?;
    let (before, began) = (Usage::now()?, Instant::now());
    (first..first + rounds).try_for_each(&mut round)?;
    println!("{rounds} rounds in {} s", began.elapsed().as_secs());
    drop(load);
    before.expect_no_more()
}
