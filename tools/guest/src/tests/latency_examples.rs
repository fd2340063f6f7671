// SPDX-License-Identifier: GPL-2.0

//! The examples of Documentation/using.md about latencies, run as they are written there, and what they tell of known
//! delays.

use super::osnoise::Settings;
use super::osnoise::PATIENCE;
use super::{test, Test};
use crate::check::Check;
use crate::json::Json;
use crate::module;
use crate::soak;
use crate::sys;
use crate::tree::Tree;
use crate::using;
use crate::Context;

pub const TESTS: &[Test] = &[
    test("latencies.explained", 120, explained),
    test("latencies.names", 60, names),
    test("latencies.json", 60, lines_of_json),
    test("latencies.histogram", 60, histogram),
];

/// An example: its instances, the first of which is ready when a file has a text.
struct Example {
    name: &'static str,
    instances: &'static [&'static str],
    ready: (&'static str, &'static str),
}

/// Runs an example, in which the last CPU is held as the parameters of `rtdelay` say. Removes its instances.
fn run(context: &Context, example: &Example, parameters: &str) -> Check<String> {
    let (file, text) = example.ready;
    let file = format!("instances/{}/{file}", example.instances[0]);
    let top = Tree::at(&context.root);
    // Restores the settings.
    let _settings = Settings::of(Tree::at(&context.root))?;
    let text = std::thread::scope(|scope| {
        let told = scope.spawn(|| using::run(example.name, &top));
        sys::wait_until(PATIENCE, || {
            told.is_finished() || top.get(&file).is_ok_and(|there| there.contains(text))
        });
        let _ = module::unload("rtdelay");
        let file = context.stress.with_file_name("rtdelay.ko");
        let cpu = sys::online_cpus() - 1;
        let held = module::load(&file, &format!("cpu={cpu} {parameters}"));
        let told = told.join().map_err(|_| "it panicked".to_string())?;
        held?;
        told
    });
    let text = text?;
    for name in example.instances {
        let folder = top.file(&format!("instances/{name}"));
        std::fs::remove_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    Ok(text)
}

/// The longest wait, who waited, and what each section that was in its way took.
fn explained(context: &Context) -> Check {
    let example = Example {
        name: "latency.explained",
        instances: &["late", "noise"],
        ready: ("current_tracer", "wakeup_rt"),
    };
    let text = run(context, &example, "how=wake us=40000 count=3")?;
    ensure!(text.starts_with("# tracer: wakeup_rt\n"), "{text}");
    if !text.contains("task: rtwoken") {
        // Another task of real time waited longer, on a machine that is busy.
        skip!("another task waited: {}", text.lines().nth(4).unwrap_or(""));
    }
    let had_the_cpu = |line: &str| line.contains("thread_noise: rtdelay/");
    ensure!(text.lines().any(had_the_cpu), "who had the CPU: {text}");
    ensure!(text.contains("==> ["), "who got it: {text}");
    Ok(())
}

/// What took the CPUs, by name.
fn names(context: &Context) -> Check {
    if soak::rounds(0, 1) == 0 {
        skip!("in the long run alone");
    }
    let example = Example {
        name: "latency.names",
        instances: &["noise"],
        ready: ("current_tracer", "osnoise"),
    };
    let text = run(context, &example, "how=preempt us=20000 count=3")?;
    for name in ["local_timer", "rtdelay/"] {
        ensure!(text.contains(name), "no {name}: {text}");
    }
    Ok(())
}

/// Each line is an object with what a program asks for.
fn lines_of_json(context: &Context) -> Check {
    if soak::rounds(0, 1) == 0 {
        skip!("in the long run alone");
    }
    let example = Example {
        name: "latency.json",
        instances: &["noise"],
        ready: ("current_tracer", "osnoise"),
    };
    let text = run(context, &example, "how=irqs us=2000 count=3")?;
    let mut noises = 0;
    for line in text.lines() {
        let object = Json::parse(line)?;
        let duration = object.get("fields").and_then(|all| all.number("duration"));
        noises += usize::from(object.text("event") == Some("irq_noise") && duration.is_some());
    }
    ensure!(noises > 0, "{text}");
    Ok(())
}

/// The wait of the task that was kept from its CPU is a row of its own.
fn histogram(context: &Context) -> Check {
    if soak::rounds(0, 1) == 0 {
        skip!("in the long run alone");
    }
    let example = Example {
        name: "latency.histogram",
        instances: &["wait"],
        ready: ("events/synthetic/cpu_wait/trigger", "hist:"),
    };
    let result = run(context, &example, "how=wake us=20000 count=3");
    Tree::at(&context.root)
        .write_truncating("synthetic_events", b"")
        .map_err(|e| format!("synthetic_events: {e:?}"))?;
    let text = result?;
    let row = |line: &&str| line.contains("comm: rtwoken/") && line.contains("us: ~ 2^");
    ensure!(text.lines().any(|line| row(&line)), "{text}");
    Ok(())
}
