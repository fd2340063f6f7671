// SPDX-License-Identifier: GPL-2.0

//! Tracers of functions while all that they follow changes: CPUs, tasks, modules; and their end while tasks are
//! inside. Few functions are hooked: with several CPUs the emulator may run stale bytes of those that are being
//! patched (Documentation/building.md).

use super::functions::{getppid, sides, FILTER, GETPPID};
use super::graph::select;
use super::{test, Test};
use crate::check::{joined, Check};
use crate::module;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("functions.storm", 240, storm),
    test("functions.unload", 120, unload),
];

/// What forks, exits, and sleeps.
const OTHERS: &str = "kernel_clone do_exit wake_up_new_task hrtimer_nanosleep";
const SLEEP: &str = "hrtimer_nanosleep";
/// A module with a function that a timer calls.
const SAMPLE: &str = "rtrace_sample";
const SAMPLE_FUNCTION: &str = "tick";

/// Whether calls can be followed to their ends.
fn follows_calls(tree: &Tree) -> Check<bool> {
    Ok(tree.get("available_tracers")?.contains("function_graph"))
}

/// Functions that call anything of rtrace, as the kernel tells of them.
fn hooked(reference: &Tree) -> Check<Vec<String>> {
    let text = reference.get("enabled_functions")?;
    let ours = text.lines().filter(|line| line.contains("[rtrace]"));
    Ok(ours.map(str::to_string).collect())
}

/// Runs `change` again and again until `over`.
fn again(over: &AtomicBool, mut change: impl FnMut() -> Check) -> Check<u32> {
    for round in 0.. {
        if over.load(SeqCst) {
            return Ok(round);
        }
        change()?;
    }
    Ok(u32::MAX)
}

/// Takes a CPU away and brings it back.
fn replug(cpu: usize) -> Check {
    let online = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    for value in ["0", "1"] {
        // Others may hold the lock of hotplug for some moments.
        let is_done = || std::fs::write(&online, value).is_ok();
        ensure!(
            sys::wait_until(Duration::from_secs(20), is_done),
            "{online} <- {value}"
        );
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// CPUs go and come, tasks are born and die, a module with hooked functions comes and goes, and readers read,
/// beside both tracers, the profiler and the stack tracer: each call of one task is recorded once, by both.
fn storm(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let calls = Instance::new(&context.root, "rtg-calls")?;
    let has_calls = follows_calls(&calls)?;
    let (top, cpus) = (own.top(), sys::online_cpus());
    let sample = format!("/root/{SAMPLE}.ko");
    let functions = format!("{} {OTHERS}", *GETPPID);
    for tree in [&own, &calls] {
        tree.set("buffer_size_kb", "16384")?;
        select(tree, FILTER, &functions)?;
        // Remembered for when the module comes.
        let word = format!("*:mod:{SAMPLE}\n");
        ensure_eq!(
            tree.write(FILTER, word.as_bytes()),
            Ok(word.len()),
            "a module that is not there"
        );
    }
    calls.set("options/funcgraph-proc", "1")?;
    own.set("current_tracer", "function")?;
    if has_calls {
        calls.set("current_tracer", "function_graph")?;
    }
    select(&top, FILTER, &functions)?;
    top.set("function_profile_enabled", "1")?;
    select(&top, "stack_trace_filter", &functions)?;
    top.set("stack_tracer_enabled", "1")?;

    sys::pin_to(0);
    let over = AtomicBool::new(false);
    let rounds = soak::rounds(3, 30);
    let (over, in_module) = (&over, AtomicUsize::new(0));
    let called_there = format!(": {SAMPLE_FUNCTION} <-");
    let (called, changed) = thread::scope(|scope| -> Check<_> {
        let forks = scope.spawn(|| {
            again(over, || {
                let child = std::process::Command::new("true").status();
                child.map_err(|e| format!("true: {e}"))?;
                let threads: Vec<_> = (0..4).map(|_| thread::spawn(getppid)).collect();
                threads.into_iter().for_each(|thread| {
                    let _ = thread.join();
                });
                Ok(())
            })
        });
        let modules = scope.spawn(|| {
            again(over, || {
                module::load(Path::new(&sample), "")?;
                // Its timer comes ten times a second.
                thread::sleep(Duration::from_millis(250));
                // Without the module its functions have no names.
                let text = own.get("trace")?;
                in_module.fetch_add(text.matches(&called_there).count(), SeqCst);
                module::unload(SAMPLE).map_err(|e| format!("unload {SAMPLE}: {e}"))
            })
        });
        let readers = scope.spawn(|| {
            again(over, || {
                for tree in [&own, &calls] {
                    tree.get("per_cpu/cpu0/stats")?;
                    tree.get(FILTER)?;
                }
                top.get("trace_stat/function0")?;
                top.get("stack_trace")?;
                calls.get("trace_folded").map(drop)
            })
        });
        let mut called = 0;
        let mut result = Ok(());
        for _ in 0..rounds {
            (0..50).for_each(|_| getppid());
            called += 50;
            if cpus > 1 && result.is_ok() {
                result = replug(cpus - 1);
            }
        }
        over.store(true, SeqCst);
        let mut changed = Vec::new();
        for (name, thread) in [("forks", forks), ("modules", modules), ("reads", readers)] {
            let done = joined(thread);
            changed.push((name, done.map_err(|e| format!("{name}: {e}"))?));
        }
        result.map(|()| (called, changed))
    })?;
    println!("{called} calls, {rounds} times without a CPU, {changed:?}");
    for tree in [&own, &calls] {
        tree.set("tracing_on", "0")?;
    }
    for cpu in 0..cpus {
        for tree in [&own, &calls] {
            let lost = tree.number(&format!("per_cpu/cpu{cpu}/stats"), "overrun")?;
            ensure_eq!(lost, 0, "lost on CPU {cpu}");
        }
    }
    let task = sys::thread_id();
    let (name, text) = (*GETPPID, own.get("trace")?);
    let of_task = format!("-{task} ");
    let is_call = |line: &&str| line.contains(&of_task) && line.contains(&format!(": {name} <-"));
    ensure_eq!(text.lines().filter(is_call).count(), called, "{name}");
    ensure!(in_module.load(SeqCst) > 0, "no call in the module");
    if has_calls {
        let text = calls.get("trace")?;
        // One in which the task was preempted is two lines.
        let forms = [format!(" {name}();"), format!(" {name}() {{")];
        let is_call =
            |line: &&str| line.contains(&of_task) && forms.iter().any(|form| line.contains(form));
        ensure_eq!(text.lines().filter(is_call).count(), called, "{name}()");
    }

    top.set("function_profile_enabled", "0")?;
    top.set("stack_tracer_enabled", "0")?;
    top.set("stack_max_size", "0")?;
    for file in [FILTER, "stack_trace_filter"] {
        top.empty(file)?;
    }
    calls.remove()?;
    own.remove()?;
    ensure_eq!(hooked(&reference.top())?, Vec::<String>::new(), "hooks");
    Ok(())
}

/// The module goes while a task sleeps in a function that both tracers and a command hook, in instances that
/// nobody has removed; and again when it has come back.
fn unload(context: &Context) -> Check {
    if soak::rounds(0, 1) == 0 {
        skip!("in the long run alone");
    }
    for _ in 0..3 {
        let (own, reference) = sides(context)?;
        let calls = Instance::new(&context.root, "rtg-calls")?;
        let has_calls = follows_calls(&calls)?;
        for tree in [&own, &calls] {
            select(tree, FILTER, &format!("{SLEEP} {}", *GETPPID))?;
        }
        let command = format!("{SLEEP}:traceon\n");
        ensure_eq!(
            own.write(FILTER, command.as_bytes()),
            Ok(command.len()),
            "a command"
        );
        own.set("current_tracer", "function")?;
        if has_calls {
            calls.set("current_tracer", "function_graph")?;
        }
        let sleeper = thread::spawn(|| thread::sleep(Duration::from_secs(5)));
        let is_in = || {
            own.get("trace")
                .is_ok_and(|text| text.contains(&format!(": {SLEEP} <-")))
        };
        ensure!(sys::wait_until(Duration::from_secs(20), is_in), "no call");
        // They end with the module.
        std::mem::forget((own, calls));
        module::reload(context)?;
        let left = hooked(&reference.top())?;
        ensure!(!sleeper.is_finished(), "it has slept well already");
        ensure_eq!(left, Vec::<String>::new(), "hooks after the module went");
        sleeper.join().map_err(|_| "the sleeper panicked")?;
        getppid();
    }
    Ok(())
}
