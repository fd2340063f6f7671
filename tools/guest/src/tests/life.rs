// SPDX-License-Identifier: GPL-2.0

//! Coming and going: the module, instances, readers, CPUs, over and over and while
//! events are being written.

use super::{test, Test};
use crate::check::Check;
use crate::errno::*;
use crate::memory;
use crate::module;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload::Load;
use crate::Context;
use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("life.instances", 60, instances),
    test("life.rmdir_while_traced", 60, rmdir_while_traced),
    test("life.mkdir_storm", 60, mkdir_storm),
    test("life.killed_reader", 30, killed_reader),
    test("life.cpu_hotplug", 60, cpu_hotplug),
    test("life.reload", 200, reload),
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
    let before = memory::available_kb()?;
    (0..100).try_for_each(|_| round())?;
    memory::expect_back(before)
}

/// An instance goes while its events fire on all CPUs.
fn rmdir_while_traced(context: &Context) -> Check {
    let _load = Load::start();
    for _ in 0..20 {
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

/// Two that make and remove the same names, and one that opens what it finds.
fn mkdir_storm(context: &Context) -> Check {
    let root = context.root.join("instances");
    let storm = |seed: usize| {
        let root = root.clone();
        std::thread::spawn(move || {
            let mut outcomes = BTreeMap::new();
            for i in 0..300 {
                let path = root.join(format!("rtg-storm{}", (i * 7 + seed) % 3));
                let result = if (i + seed) % 2 == 0 {
                    std::fs::create_dir(&path)
                } else {
                    std::fs::remove_dir(&path)
                };
                let outcome = result.map_or_else(|e| e.raw_os_error().unwrap_or(0), |()| 0);
                *outcomes.entry(outcome).or_insert(0) += 1;
            }
            outcomes
        })
    };
    let opener = {
        let root = root.clone();
        std::thread::spawn(move || {
            let mut outcomes = BTreeMap::new();
            for i in 0..600 {
                let tree = Tree::at(root.join(format!("rtg-storm{}", i % 3)));
                let file = ["trace", "tracing_on", "trace_pipe", "events/sched/enable"][i % 4];
                let mut bytes = [0; 100];
                let result = tree
                    .open_nonblock(file)
                    .and_then(|mut f| Ok(f.read(&mut bytes)?));
                *outcomes
                    .entry(result.map_or_else(|e| e.0, |_| 0))
                    .or_insert(0) += 1;
            }
            outcomes
        })
    };
    let makers = [storm(0), storm(1)];
    let mut allowed = BTreeMap::new();
    for (what, worker, errors) in makers
        .into_iter()
        .map(|worker| {
            (
                "mkdir and rmdir",
                worker,
                &[0, EEXIST.0, ENOENT.0, EBUSY.0][..],
            )
        })
        .chain([(
            "open",
            opener,
            &[0, ENOENT.0, ENODEV.0, EAGAIN.0, EBUSY.0][..],
        )])
    {
        let outcomes = worker.join().map_err(|_| format!("{what}: died"))?;
        println!("{what}: {outcomes:?}");
        ensure!(
            outcomes.keys().all(|error| errors.contains(error)),
            "{what}: {outcomes:?}"
        );
        *allowed.entry(what).or_insert(0) += outcomes.get(&0).copied().unwrap_or(0);
    }
    ensure!(
        allowed.values().all(|count| *count > 20),
        "too little was done: {allowed:?}"
    );
    for i in 0..3 {
        let _ = std::fs::remove_dir(root.join(format!("rtg-storm{i}")));
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
        let asleep = sys::wait_until(Duration::from_secs(10), || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
            let opened = std::fs::remove_dir(own.path()).map_err(Errno::from) == Err(EBUSY);
            opened && stat.unwrap_or_default().contains(") S ")
        });
        ensure!(asleep, "{file}: the reader does not sleep");
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
    let overrun = own.number("per_cpu/cpu0/stats", "overrun")?;
    for round in 0..3 {
        ensure!(
            overrun > 0 || text.contains(&format!("away {round}\n")),
            "marker {round} is gone"
        );
    }
    crate::stream::drain(&own)?;
    own.remove()
}

/// The module goes and comes 100 times while its events fire, with instances that are never
/// removed by name.
fn reload(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs is no module");
    }
    let result = reload_rounds(context);
    module::restore(context)?;
    result
}

fn reload_rounds(context: &Context) -> Check {
    let _load = Load::start();
    let top = Tree::at(&context.root);
    let round = |number: usize| -> Check {
        let own = Tree::at(context.root.join("instances/rtg-life"));
        std::fs::create_dir(own.path()).map_err(|e| format!("round {number}: mkdir: {e}"))?;
        enable(&top)?;
        enable(&own)?;
        let written = || own.number("per_cpu/cpu0/stats", "entries").unwrap_or(0);
        let seen = sys::wait_until(Duration::from_secs(10), || written() > 20);
        ensure!(seen, "round {number}: no events came");
        module::umount(context)?;
        // Somebody may still be looking at /proc/modules, which holds it for a moment.
        let unloaded = sys::wait_until(Duration::from_secs(10), || {
            module::unload(module::NAME).is_ok()
        });
        ensure!(
            unloaded,
            "round {number}: unload: {:?}",
            module::unload(module::NAME)
        );
        module::load(&context.module, "")?;
        module::mount(context)
    };
    (0..5).try_for_each(round)?;
    let before = memory::available_kb()?;
    (5..105).try_for_each(round)?;
    memory::expect_back(before)
}
