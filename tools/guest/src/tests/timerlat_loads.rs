// SPDX-License-Identifier: GPL-2.0

//! `osnoise` and `timerlat` without threads of their own: what runs is told of, and tasks of user space measure by
//! `timerlat_fd`. Where the kernel has the tracers itself (PREEMPT_RT), the same is done with it.

use super::osnoise::{lines, roots, Settings, PATIENCE};
use super::{test, Test};
use crate::check::Check;
use crate::errno::*;
use crate::load_task::LoadTask;
use crate::module;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("timerlat_loads.noise", 120, noise),
    test("timerlat_loads.opens", 120, opens),
    test("timerlat_loads.records", 120, records),
    test("timerlat_loads.stops", 120, stops),
    test("timerlat_loads.killed", 120, killed),
    test("timerlat_loads.moved", 120, moved),
    test("timerlat_loads.offline", 120, offline),
    test("timerlat_loads.unload", 240, unload),
    test("timerlat_loads.ends", 240, ends),
];

const PERIOD: &str = "osnoise/timerlat_period_us";
const OPTIONS: &str = "osnoise/options";
const STOP_TOTAL: &str = "osnoise/stop_tracing_total_us";
const SIGKILL: Option<i32> = Some(9);

/// The trees that have the files, with an instance each, and no threads.
fn in_each(context: &Context, f: impl Fn(&Tree, &Instance) -> Check) -> Check {
    let (top, reference) = roots(context);
    in_these([Some(top), reference].into_iter().flatten(), f)
}

fn in_these(roots: impl Iterator<Item = Tree>, f: impl Fn(&Tree, &Instance) -> Check) -> Check {
    for root in roots {
        let path = root.path().to_path_buf();
        let settings = Settings::of(root)?;
        settings.tree.set(PERIOD, "20000")?;
        settings.tree.set(OPTIONS, "NO_OSNOISE_WORKLOAD")?;
        let own = Instance::new(&path, "rtg-loads")?;
        let result = f(&settings.tree, &own);
        let ended = own.set("current_tracer", "nop");
        settings.tree.set(PERIOD, "1000")?;
        drop(settings);
        result
            .and(ended)
            .map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

fn need_two_cpus() -> Check {
    if sys::online_cpus() < 2 {
        skip!("two CPUs are needed");
    }
    Ok(())
}

fn no_threads(name: &str) -> Check {
    let there = super::hwlat::threads_named(name);
    ensure!(there.is_empty(), "threads {there:?}");
    Ok(())
}

/// Without threads osnoise tells of all that runs, and records nothing.
fn noise(context: &Context) -> Check {
    in_each(context, |_, own| {
        own.set("events/osnoise/enable", "1")?;
        own.set("current_tracer", "osnoise")?;
        no_threads("osnoise/")?;
        let has = |name: &str| lines(own).iter().any(|line| line.contains(name));
        let idle = || {
            let swapper = |line: &String| line.contains(": thread_noise: swapper/");
            lines(own).iter().any(swapper)
        };
        let seen = sys::wait_until(PATIENCE, || {
            has(": irq_noise: ") && has(": thread_noise: ") && idle()
        });
        own.set("tracing_on", "0")?;
        ensure!(seen, "{:?}", lines(own));
        let all = lines(own);
        let other = all.iter().find(|line| !line.contains("_noise: "));
        ensure!(other.is_none(), "{other:?}");
        // The longest file has to be read in one piece to say so.
        let head = own.get("trace")?;
        ensure!(head.starts_with("# tracer: osnoise\n"), "{head}");
        own.clear()?;
        own.set("tracing_on", "1")?;
        let again = sys::wait_until(PATIENCE, || has(": irq_noise: "));
        ensure!(again, "nothing after it was off");
        own.set("current_tracer", "nop")?;
        own.clear()?;
        std::thread::sleep(std::time::Duration::from_millis(50));
        ensure!(lines(own).is_empty(), "after its end: {:?}", lines(own));
        Ok(())
    })
}

/// Who may open the file of a CPU, and when.
fn opens(context: &Context) -> Check {
    need_two_cpus()?;
    in_each(context, |top, own| {
        let mut task = LoadTask::start(top.path(), None)?;
        task.expect("open 0", &EINVAL.to_string())?;
        own.set("current_tracer", "osnoise")?;
        task.expect("open 0", &EINVAL.to_string())?;
        own.set("current_tracer", "nop")?;
        top.set(OPTIONS, "OSNOISE_WORKLOAD")?;
        own.set("current_tracer", "timerlat")?;
        task.expect("open 0", &EINVAL.to_string())?;
        own.set("current_tracer", "nop")?;
        top.set(OPTIONS, "NO_OSNOISE_WORKLOAD")?;
        own.set("current_tracer", "timerlat")?;
        no_threads("timerlat/")?;
        for cpu in 0..2 {
            task.expect(&format!("open {cpu}"), &EPERM.to_string())?;
        }
        task.expect("pin 0", "0")?;
        task.expect("open 1", &EPERM.to_string())?;
        task.expect("open 0", "0")?;
        let mut other = LoadTask::start(top.path(), Some(0))?;
        // Of the CPU that it is on.
        other.expect("open 0", &EBUSY.to_string())?;
        other.expect("open 1", &EBUSY.to_string())?;
        other.expect("pin 1", "0")?;
        other.expect("open 0", &EPERM.to_string())?;
        other.expect("open 1", "0")?;
        other.expect("read", "0")?;
        task.expect("read", "0")?;
        task.expect("close", "0")?;
        task.expect("open 0", "0")?;
        task.expect("read", "0")?;
        task.expect("close", "0")?;
        other.expect("close", "0")
    })
}

/// The number and the context of each record.
fn contexts(own: &Tree) -> Vec<(u32, String)> {
    let parse = |line: &String| {
        let (_, text) = line.split_once(": #")?;
        let words: Vec<_> = text.split_whitespace().collect();
        let number = words.first()?.parse().ok()?;
        Some((number, words.get(2)?.to_string()))
    };
    lines(own).iter().filter_map(parse).collect()
}

/// Each read makes the records of its tick, and a signal ends one without.
fn records(context: &Context) -> Check {
    in_each(context, |top, own| {
        own.set("current_tracer", "timerlat")?;
        let mut task = LoadTask::start(top.path(), Some(0))?;
        task.expect("open 0", "0")?;
        for _ in 0..3 {
            task.expect("read", "0")?;
        }
        top.set(PERIOD, "1000000")?;
        task.expect("interrupted", "0")?;
        own.set("tracing_on", "0")?;
        let all = contexts(own);
        let expected = [
            (1, "irq"),
            (1, "thread"),
            (1, "user-ret"),
            (2, "irq"),
            (2, "thread"),
            (2, "user-ret"),
            (3, "irq"),
            (3, "thread"),
            (3, "user-ret"),
        ];
        let expected = expected.map(|(number, context)| (number, context.to_string()));
        ensure_eq!(all, expected, "records");
        top.set(PERIOD, "20000")
    })
}

/// A task that is late stops tracing, and measures on.
fn stops(context: &Context) -> Check {
    in_each(context, |top, own| {
        own.set("current_tracer", "timerlat")?;
        top.set(STOP_TOTAL, "1")?;
        let mut task = LoadTask::start(top.path(), Some(0))?;
        task.expect("open 0", "0")?;
        task.expect("read", "0")?;
        top.set(STOP_TOTAL, "0")?;
        ensure_eq!(own.get("tracing_on")?, "0\n", "tracing_on");
        let text = own.get("trace")?;
        ensure!(text.contains(": stop tracing hit on cpu 0"), "{text}");
        // The latency that has stopped it counts.
        let most = own.get("tracing_max_latency")?;
        ensure!(most != "0\n", "no latency: {text}");
        task.expect("read", "0")?;
        own.set("tracing_on", "1")?;
        task.expect("read", "0")?;
        ensure!(!contexts(own).is_empty(), "no records");
        Ok(())
    })
}

/// Does something with the top and with an instance.
type Deed = fn(&Tree, &Tree) -> Check;

/// When the measurement ends, so does the task: at the end of the last instance, and when settings change.
fn killed(context: &Context) -> Check {
    // In 7.3.4 a read that goes on meanwhile starts a timer that was just filled with zeros: a panic.
    let ours = std::iter::once(Tree::at(&context.root));
    in_these(ours, |top, own| {
        let deeds: [(&str, Deed); 4] = [
            ("nop", |_, own| own.set("current_tracer", "nop")),
            ("tracing_on", |_, own| own.set("tracing_on", "0")),
            ("cpus", |top, _| top.set("osnoise/cpus", "all")),
            ("options", |top, _| {
                top.set(OPTIONS, "OSNOISE_WORKLOAD")?;
                top.set(OPTIONS, "NO_OSNOISE_WORKLOAD")
            }),
        ];
        for (name, deed) in deeds {
            own.set("current_tracer", "timerlat")?;
            let mut task = LoadTask::start(top.path(), Some(0))?;
            task.expect("open 0", "0")?;
            task.expect("reads", "reads")?;
            deed(top, own)?;
            ensure_eq!(task.signal()?, SIGKILL, "{name}");
            own.set("tracing_on", "1")?;
            own.set("current_tracer", "nop")?;
        }
        Ok(())
    })
}

/// A task that goes to another CPU has spoiled the measurement.
fn moved(context: &Context) -> Check {
    need_two_cpus()?;
    in_each(context, |top, own| {
        own.set("current_tracer", "timerlat")?;
        let mut task = LoadTask::start(top.path(), Some(0))?;
        task.expect("open 0", "0")?;
        task.expect("read", "0")?;
        task.expect("pin 1", "0")?;
        ensure_eq!(own.get("tracing_on")?, "0\n", "tracing_on");
        task.expect("read", &EINVAL.to_string())?;
        task.expect("pin 0", "0")?;
        task.expect("read", &EINVAL.to_string())?;
        let text = own.get("trace")?;
        for part in [
            ": timerlat user-thread migrated\n",
            "due to exception: timerlat user-thread migrated\n",
        ] {
            ensure!(text.contains(part), "no {part:?}: {text}");
        }
        task.expect("close", "0")?;
        own.set("current_tracer", "nop")?;
        own.set("current_tracer", "osnoise")?;
        let head = own.get("trace")?;
        ensure!(head.contains("# osnoise is tainted!\n"), "{head}");
        Ok(())
    })
}

/// The task of a CPU that goes is killed.
fn offline(context: &Context) -> Check {
    need_two_cpus()?;
    let online = "/sys/devices/system/cpu/cpu1/online";
    let switch = |value: &str| std::fs::write(online, value).map_err(|e| format!("{online}: {e}"));
    // 7.3.4 starts a thread when the CPU comes again, and complains when that one ends.
    let ours = std::iter::once(Tree::at(&context.root));
    in_these(ours, |top, own| {
        own.set("current_tracer", "timerlat")?;
        let mut task = LoadTask::start(top.path(), Some(1))?;
        task.expect("open 1", "0")?;
        task.expect("reads", "reads")?;
        switch("0")?;
        let ended = task.signal();
        switch("1")?;
        ensure_eq!(ended?, SIGKILL, "the task");
        let mut task = LoadTask::start(top.path(), Some(1))?;
        task.expect("open 1", "0")?;
        task.expect("read", "0")?;
        Ok(())
    })
}

/// The module stays while a task measures.
fn unload(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("of the module");
    }
    let top = Tree::at(&context.root);
    top.set(OPTIONS, "NO_OSNOISE_WORKLOAD")?;
    top.set(PERIOD, "20000")?;
    top.set("current_tracer", "timerlat")?;
    let mut task = LoadTask::start(top.path(), Some(0))?;
    task.expect("open 0", "0")?;
    task.expect("read", "0")?;
    let refused = module::unload("rtrace");
    ensure!(refused.is_err(), "unloaded while a file is open");
    task.expect("read", "0")?;
    task.expect("reads", "reads")?;
    top.set("current_tracer", "nop")?;
    ensure_eq!(task.signal()?, SIGKILL, "the task");
    top.set("current_tracer", "timerlat")?;
    module::reload(context)?;
    // Whatever was current goes with the module.
    for tracer in ["wakeup", "hwlat"].into_iter().take(soak::rounds(1, 2)) {
        top.set("events/sched/enable", "1")?;
        top.set("current_tracer", tracer)?;
        std::thread::sleep(std::time::Duration::from_millis(50));
        module::reload(context)?;
        ensure_eq!(top.get("current_tracer")?, "nop\n", "after {tracer}");
    }
    no_threads("hwlatd")?;
    no_threads("osnoise/")?;
    no_threads("timerlat/")
}

/// Files are closed while the measurement ends.
fn ends(context: &Context) -> Check {
    in_each(context, |top, own| {
        for round in 0..soak::rounds(6, 40) {
            own.set("current_tracer", "timerlat")?;
            let mut task = LoadTask::start(top.path(), Some(0))?;
            task.expect("open 0", "0")?;
            if round % 2 == 0 {
                task.expect("reads", "reads")?;
            }
            if round % 3 != 0 {
                own.set("current_tracer", "nop")?;
                drop(task);
            } else {
                drop(task);
                own.set("current_tracer", "nop")?;
            }
        }
        Ok(())
    })
}
