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
    test("latencies.explained", 240, explained),
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

/// How long the CPU is held of which the longest wait tells, in microseconds.
const HELD: u64 = 40_000;
/// How often that wait may not be the longest one, on a machine that is busy.
const TRIES: usize = 5;

/// Returns how many microseconds of a trace the noise in a line took, if it is one of this CPU.
fn noise_of(line: &str, cpu: usize) -> Option<u64> {
    let (place, noise) = line.split_once("_noise: ")?;
    // The task, the CPU with flags, when it ended.
    let mut words = place.rsplit_once("us")?.0.split_whitespace().rev();
    let ended: u64 = words.next()?.parse().ok()?;
    let on = words.next()?.split(|c: char| !c.is_ascii_digit()).next()?;
    let (_, duration) = noise.split_once(" duration ")?;
    let duration: u64 = duration.split(' ').next()?.parse().ok()?;
    // It may have begun before the trace.
    (on.parse() == Ok(cpu)).then_some(ended.min(duration / 1000))
}

/// Returns why the longest wait is a longer one than that for the CPU that was held, if it is: another task of real time
/// waited, or the same one for something else, such as an interrupt in which the host kept the CPU from running.
fn other_wait(text: &str, cpu: usize) -> Option<String> {
    let line_with = |part: &str| text.lines().find(|line| line.contains(part));
    let head = line_with("# latency: ")?;
    let wait: u64 = head.split(' ').nth(2)?.parse().ok()?;
    let task = line_with("task: ")?;
    let noise: u64 = text.lines().filter_map(|line| noise_of(line, cpu)).sum();
    let is_explained = wait.saturating_sub(noise) < HELD;
    let is_of_others = line_with("thread_noise: rtdelay/").is_none() && is_explained;
    let is_other = wait >= HELD && (!task.contains("task: rtwoken") || is_of_others);
    is_other.then(|| format!("{task}, {noise} us of noise in {wait} us"))
}

/// The longest wait, who waited, and what each section that was in its way took.
fn explained(context: &Context) -> Check {
    let example = Example {
        name: "latency.explained",
        instances: &["late", "noise"],
        ready: ("current_tracer", "wakeup_rt"),
    };
    let mut others = Vec::new();
    for _ in 0..TRIES {
        let text = run(context, &example, &format!("how=wake us={HELD} count=3"))?;
        ensure!(text.starts_with("# tracer: wakeup_rt\n"), "{text}");
        if let Some(other) = other_wait(&text, sys::online_cpus() - 1) {
            others.push(other);
            continue;
        }
        ensure!(text.contains("task: rtwoken"), "who waited: {text}");
        let had_the_cpu = |line: &str| line.contains("thread_noise: rtdelay/");
        ensure!(text.lines().any(had_the_cpu), "who had the CPU: {text}");
        ensure!(text.contains("==> ["), "who got it: {text}");
        return Ok(());
    }
    lack!(
        "the longest wait is always another one: {}",
        others.join(", ")
    )
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
