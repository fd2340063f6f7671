// SPDX-License-Identifier: GPL-2.0

//! The tracer `osnoise`: its files, its threads and what they measure. Where the kernel has the tracer itself
//! (PREEMPT_RT), it gives the expected texts and errors.

use super::hostile_memory::with_groups;
use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("osnoise.files", 60, files),
    test("osnoise.format", 30, format),
    test("osnoise.records", 240, records),
    exact("osnoise.events", 240, events),
    test("osnoise.instances", 120, instances),
    test("osnoise.stops", 120, stops),
    test("osnoise.cpus", 240, cpus),
    test("osnoise.groups", 120, groups),
    test("osnoise.moved", 120, moved),
    test("osnoise.ends", 240, ends),
];

/// Longer than an emulator needs on a machine ten times slower.
pub const PATIENCE: Duration = Duration::from_secs(120);

const PERIOD: &str = "osnoise/period_us";
const RUNTIME: &str = "osnoise/runtime_us";
const CPUS: &str = "osnoise/cpus";
const OPTIONS: &str = "osnoise/options";
const STOP: &str = "osnoise/stop_tracing_us";
const STOP_TOTAL: &str = "osnoise/stop_tracing_total_us";

/// Returns the root of rtracefs, and that of tracefs if its kernel has the tracer.
pub fn roots(context: &Context) -> (Tree, Option<Tree>) {
    let reference = Tree::at(&context.reference);
    let has_it = reference.exists("osnoise") && context.is_rtracefs();
    (Tree::at(&context.root), has_it.then_some(reference))
}

/// Settings of a tree, put back when this goes.
pub struct Settings {
    pub tree: Tree,
    before: Vec<(&'static str, String)>,
}

impl Settings {
    pub fn of(tree: Tree) -> Check<Self> {
        let mut before = Vec::new();
        for file in [PERIOD, RUNTIME, CPUS, STOP, STOP_TOTAL, "tracing_thresh"] {
            before.push((file, tree.get(file)?.trim().to_string()));
        }
        Ok(Self { tree, before })
    }

    /// Measurements of 20 ms, one after the other.
    fn short(tree: Tree) -> Check<Self> {
        let settings = Self::of(tree)?;
        settings.tree.set(RUNTIME, "20000")?;
        settings.tree.set(PERIOD, "50000")?;
        Ok(settings)
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for (file, text) in &self.before {
            let _ = self.tree.set(file, text);
        }
        let _ = self.tree.set(OPTIONS, "DEFAULTS");
    }
}

fn have_workers(expected: &[&str]) -> Check {
    let there = sys::wait_until(PATIENCE, || {
        super::hwlat::threads_named("osnoise/") == expected
    });
    let found = super::hwlat::threads_named("osnoise/");
    ensure!(there, "threads {found:?}, not {expected:?}");
    Ok(())
}

pub fn lines(tree: &Tree) -> Vec<String> {
    let text = tree.get("trace").unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_string).collect()
}

fn header(tree: &Tree) -> Check<Vec<String>> {
    let text = tree.get("trace")?;
    let lines = text.lines().filter(|line| line.starts_with('#'));
    Ok(lines.map(str::to_string).collect())
}

fn files(context: &Context) -> Check {
    let (top, reference) = roots(context);
    let cpus = sys::online_cpus();
    let all = if cpus == 1 {
        "0".to_string()
    } else {
        format!("0-{}", cpus - 1)
    };
    let rows: &[(&str, &str, Result<(), Errno>)] = &[
        (RUNTIME, "1000001", Err(EINVAL)),
        (PERIOD, "999999", Err(EINVAL)),
        (RUNTIME, "0", Ok(())),
        (PERIOD, "0", Ok(())),
        (RUNTIME, "1", Err(EINVAL)),
        (PERIOD, "18446744073709551616", Err(ERANGE)),
        (PERIOD, "0x100", Err(EINVAL)),
        (PERIOD, "-1", Err(EINVAL)),
        (PERIOD, "1000000\n", Ok(())),
        (RUNTIME, "1000000", Ok(())),
        (STOP, "17", Ok(())),
        (STOP, "abc", Err(EINVAL)),
        (STOP, "0\n", Ok(())),
        (STOP_TOTAL, "18446744073709551615", Ok(())),
        (STOP_TOTAL, "18446744073709551616", Err(ERANGE)),
        (STOP_TOTAL, "0", Ok(())),
        (CPUS, "abc", Err(EINVAL)),
        (CPUS, "0-9999", Err(ERANGE)),
        (CPUS, "9999", Err(ERANGE)),
        (CPUS, "0\n", Ok(())),
        (CPUS, "", Ok(())),
        (CPUS, "all\n", Ok(())),
        (OPTIONS, "foo", Err(EINVAL)),
        (OPTIONS, "osnoise_workload", Err(EINVAL)),
        (OPTIONS, "NO_DEFAULTS", Err(EINVAL)),
        (OPTIONS, "OSNOISE_IRQ_DISABLE", Ok(())),
        (OPTIONS, "NO_OSNOISE_WORKLOAD\n", Ok(())),
        (OPTIONS, "TIMERLAT_ALIGN", Ok(())),
        (OPTIONS, "NO_OSNOISE_IRQ_DISABLE", Ok(())),
        (OPTIONS, "DEFAULTS", Ok(())),
    ];
    let mut report = Report::default();
    let mut texts = Vec::new();
    for tree in [Some(&top), reference.as_ref()].into_iter().flatten() {
        ensure_eq!(tree.get(CPUS)?, format!("{all}\n"), "{}", tree.shown(CPUS));
        ensure_eq!(tree.get(PERIOD)?, "1000000\n", "{}", tree.shown(PERIOD));
        ensure_eq!(tree.get(RUNTIME)?, "1000000\n", "{}", tree.shown(RUNTIME));
        let mut after = vec![tree.get(OPTIONS)?];
        for (file, text, expected) in rows {
            let expected = expected.map(|()| text.len());
            let before = tree.get(file)?;
            let written = tree.write(file, text.as_bytes());
            report.expect(written == expected, || {
                format!(
                    "{} <- {text:?}: {written:?}, not {expected:?}",
                    tree.shown(file)
                )
            });
            let now = tree.get(file)?;
            report.expect(!text.is_empty() || now == before, || {
                format!("{} <- nothing: {before:?} became {now:?}", tree.shown(file))
            });
            after.push(now);
        }
        texts.push(after);
    }
    if let [ours, theirs] = &texts[..] {
        let names = rows
            .iter()
            .map(|(file, text, _)| format!("{file} <- {text:?}"));
        let names = std::iter::once("at first".to_string()).chain(names);
        for ((ours, theirs), name) in ours.iter().zip(theirs).zip(names) {
            report.expect(ours == theirs, || {
                format!("{name}: {ours:?}, tracefs {theirs:?}")
            });
        }
    }
    ensure_eq!(
        texts[0][0],
        "DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP NO_OSNOISE_PREEMPT_DISABLE \
         NO_OSNOISE_IRQ_DISABLE NO_TIMERLAT_ALIGN \n",
        "options"
    );
    let own = Instance::new(&context.root, "rtg-osnoise")?;
    ensure!(!own.exists("osnoise"), "in an instance");
    report.finish()
}

/// The format of the record is that of the kernel, which has it whatever its configuration.
fn format(context: &Context) -> Check {
    let own = Tree::at(&context.root);
    super::same(
        &own,
        &Tree::at(&context.reference),
        "events/ftrace/osnoise/format",
    )
}

/// The numbers of a line after the time.
fn numbers(line: &str) -> Check<Vec<f64>> {
    let (_, text) = line.split_once(": ").unwrap_or_default();
    let numbers = text.split_whitespace().map(str::parse);
    let numbers: Result<Vec<f64>, _> = numbers.collect();
    numbers.map_err(|e| format!("{line:?}: {e}"))
}

/// The lines say what they mean, and are those of the kernel where it has the tracer.
fn records(context: &Context) -> Check {
    let (top, reference) = roots(context);
    let settings = Settings::short(top)?;
    let own = Instance::new(&context.root, "rtg-osnoise")?;
    own.set("current_tracer", "osnoise")?;
    let seen = sys::wait_until(PATIENCE, || lines(&own).len() >= 6);
    ensure!(seen, "no records: {}", own.get("trace")?);
    let head = header(&own)?;
    own.set("tracing_on", "0")?;
    have_workers(&[])?;
    ensure_eq!(head[0], "# tracer: osnoise", "header");
    ensure!(
        head.iter()
            .any(|line| line.contains("Interference counters:")),
        "{head:?}"
    );
    let mut longest = 0.0f64;
    for line in lines(&own) {
        let all = numbers(&line)?;
        ensure_eq!(all.len(), 9, "{line:?}");
        let (runtime, noise, free, max) = (all[0], all[1], all[2], all[3]);
        let long = runtime >= 20000.0;
        ensure!(long, "runtime: {line:?}");
        let sound = noise <= runtime && max <= noise;
        ensure!(sound, "noise: {line:?}");
        let share = (runtime - noise) * 100.0 / runtime;
        let same = (share - free).abs() < 0.001;
        ensure!(same, "{share} per cent: {line:?}");
        longest = longest.max(max);
        // The interrupts of the timer, at least, come on every kernel that is not without ticks.
        ensure!(all[5] == 0.0, "no NMI came: {line:?}");
    }
    let irqs: f64 = lines(&own)
        .iter()
        .filter_map(|line| Some(numbers(line).ok()?[6]))
        .sum();
    let some = irqs > 0.0;
    ensure!(some, "no interrupts: {:?}", lines(&own));
    let most: f64 = own
        .get("tracing_max_latency")?
        .trim()
        .parse()
        .unwrap_or(-1.0);
    let seen = most + 1.0 >= longest;
    ensure!(seen, "tracing_max_latency is {most}, a line has {longest}");
    let line = lines(&own)[0].clone();
    own.set("options/raw", "1")?;
    let raw = lines(&own)[0].clone();
    let (all, numbers_of_raw) = (numbers(&line)?, raw.split_whitespace().rev());
    let tail: Vec<f64> = numbers_of_raw
        .take(5)
        .filter_map(|n| n.parse().ok())
        .collect();
    let expected: Vec<f64> = all.iter().rev().take(5).copied().collect();
    ensure_eq!(tail, expected, "raw {raw:?} of {line:?}");
    own.set("options/raw", "0")?;
    let mut json = own
        .open_nonblock("trace_pipe_json")
        .map_err(|e| format!("json: {e}"))?;
    let mut bytes = vec![0; 1 << 16];
    let len = json.read(&mut bytes).map_err(|e| format!("json: {e}"))?;
    let text = String::from_utf8_lossy(&bytes[..len]);
    ensure!(
        text.contains("\"event\":\"osnoise\"") && text.contains("\"thread_count\":"),
        "{text}"
    );
    drop(settings);
    let Some(reference) = reference else {
        return Ok(());
    };
    let settings = Settings::short(reference)?;
    let theirs = Instance::new(&context.reference, "rtg-osnoise")?;
    theirs.set("current_tracer", "osnoise")?;
    let seen = sys::wait_until(PATIENCE, || lines(&theirs).len() >= 2);
    let other = header(&theirs);
    let line = lines(&theirs).first().cloned().unwrap_or_default();
    theirs.set("current_tracer", "nop")?;
    drop(settings);
    ensure!(seen, "no records of the kernel's");
    ensure_eq!(head, other?, "header");
    ensure_eq!(numbers(&line)?.len(), 9, "{line:?}");
    Ok(())
}

/// The events that the tracer makes, and the column of the record that counts them.
const EVENTS: &[(&str, usize)] = &[("irq_noise", 6), ("softirq_noise", 7), ("thread_noise", 8)];

/// The events tell of each section that a record counts, and of no other.
fn events(context: &Context) -> Check {
    let (top, reference) = roots(context);
    let _settings = Settings::short(top)?;
    let own = Instance::new(&context.root, "rtg-osnoise")?;
    for name in [
        "sample_threshold",
        "irq_noise",
        "thread_noise",
        "osnoise_sample",
    ] {
        let file = format!("events/osnoise/{name}/format");
        let without_id = |tree: &Tree| -> Check<String> {
            let text = tree.get(&file)?;
            let lines = text.lines().filter(|line| !line.starts_with("ID: "));
            Ok(lines.collect::<Vec<_>>().join("\n"))
        };
        if let Some(reference) = &reference {
            ensure_eq!(without_id(&own)?, without_id(reference)?, "{file}");
        }
    }
    own.set("buffer_size_kb", "8192")?;
    // Of the noises themselves, the longest.
    own.set("tracing_thresh", "1000")?;
    own.set("events/osnoise/enable", "1")?;
    own.set("current_tracer", "osnoise")?;
    let is_record = |line: &&String| {
        let text = line.split_once(": ").map_or("", |(_, text)| text);
        !text.contains(": ")
    };
    let seen = sys::wait_until(PATIENCE, || {
        lines(&own).iter().filter(is_record).count() > 8
    });
    own.set("tracing_on", "0")?;
    ensure!(seen, "too few records: {}", own.get("trace")?);
    let mut left = std::collections::HashMap::new();
    let (mut compared, mut told) = (0, 0);
    for line in lines(&own) {
        let cpu = line.split_once("] ").map_or("", |(before, _)| before);
        let cpu = cpu.rsplit_once('[').map_or("", |(_, cpu)| cpu).to_string();
        let seen: &mut [u64; 3] = left.entry(cpu).or_default();
        let (_, text) = line.split_once(": ").unwrap_or_default();
        let Some((name, rest)) = text.split_once(": ") else {
            let all = numbers(&line)?;
            for (seen, (name, column)) in seen.iter_mut().zip(EVENTS) {
                let wanted = all[*column] as u64;
                ensure_eq!(*seen, wanted, "{name} before {line:?}");
                told += wanted;
                *seen = 0;
            }
            compared += 1;
            continue;
        };
        if let Some(at) = EVENTS.iter().position(|(event, _)| *event == name) {
            seen[at] += 1;
            let words: Vec<_> = rest.split_whitespace().collect();
            let well = matches!(words[..], [what, "start", _, "duration", ns, "ns"]
                if what.contains(':') && ns.parse::<u64>().is_ok());
            ensure!(well, "{line:?}");
        } else {
            let known = ["sample_threshold", "osnoise_sample"].contains(&name);
            ensure!(known, "{line:?}");
        }
    }
    let enough = compared > 8 && told > 20;
    ensure!(enough, "{compared} records, {told} events");
    println!("{compared} records, {told} events");
    Ok(())
}

/// Several instances get the records of one measurement, each while it records.
fn instances(context: &Context) -> Check {
    let (top, _) = roots(context);
    let _settings = Settings::short(top)?;
    let one = Instance::new(&context.root, "rtg-osnoise")?;
    let two = Instance::new(&context.root, "rtg-osnoise2")?;
    let all: Vec<_> = (0..sys::online_cpus())
        .map(|cpu| format!("osnoise/{cpu}"))
        .collect();
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    have_workers(&[])?;
    one.set("current_tracer", "osnoise")?;
    have_workers(&all)?;
    two.set("current_tracer", "osnoise")?;
    have_workers(&all)?;
    let both = sys::wait_until(PATIENCE, || lines(&one).len() > 3 && lines(&two).len() > 3);
    ensure!(both, "not both have records");
    one.set("tracing_on", "0")?;
    have_workers(&all)?;
    let (before, others) = (lines(&one).len(), lines(&two).len());
    let seen = sys::wait_until(PATIENCE, || lines(&two).len() > others + 2);
    ensure!(seen, "the other one has no more records");
    ensure_eq!(lines(&one).len(), before, "records while it is off");
    two.set("current_tracer", "nop")?;
    have_workers(&[])?;
    one.set("tracing_on", "1")?;
    have_workers(&all)?;
    one.set("current_tracer", "nop")?;
    have_workers(&[])
}

/// Tracing stops at a noise, and the buffer says so.
fn stops(context: &Context) -> Check {
    let (top, _) = roots(context);
    let settings = Settings::short(top)?;
    for file in [STOP, STOP_TOTAL] {
        let own = Instance::new(&context.root, "rtg-osnoise")?;
        settings.tree.set(file, "1")?;
        own.set("current_tracer", "osnoise")?;
        let off = sys::wait_until(PATIENCE, || {
            own.get("tracing_on").is_ok_and(|on| on == "0\n")
        });
        settings.tree.set(file, "0")?;
        ensure!(off, "{file}: tracing goes on");
        let text = own.get("trace")?;
        ensure!(
            text.contains(": stop tracing hit on cpu "),
            "{file}: {text}"
        );
        own.set("current_tracer", "nop")?;
    }
    have_workers(&[])
}

/// CPUs that are not listed are not measured, and CPUs come and go.
fn cpus(context: &Context) -> Check {
    if sys::online_cpus() < 2 {
        skip!("one CPU cannot go");
    }
    let (top, _) = roots(context);
    let settings = Settings::short(top)?;
    let top = &settings.tree;
    let own = Instance::new(&context.root, "rtg-osnoise")?;
    top.set(CPUS, "1")?;
    own.set("current_tracer", "osnoise")?;
    have_workers(&["osnoise/1"])?;
    top.set(CPUS, "0-1")?;
    have_workers(&["osnoise/0", "osnoise/1"])?;
    let online = "/sys/devices/system/cpu/cpu1/online";
    let switch = |value: &str| std::fs::write(online, value).map_err(|e| format!("{online}: {e}"));
    switch("0")?;
    have_workers(&["osnoise/0"])?;
    switch("1")?;
    have_workers(&["osnoise/0", "osnoise/1"])?;
    for option in ["OSNOISE_PREEMPT_DISABLE", "OSNOISE_IRQ_DISABLE"] {
        top.set(OPTIONS, option)?;
        own.clear()?;
        let seen = sys::wait_until(PATIENCE, || lines(&own).len() >= 3);
        ensure!(seen, "{option}: no records");
    }
    top.set(OPTIONS, "NO_OSNOISE_WORKLOAD")?;
    have_workers(&[])?;
    own.set("current_tracer", "nop")?;
    top.set(OPTIONS, "DEFAULTS")?;
    have_workers(&[])
}

/// The threads that `tracer` has in the tree, and their folders in /proc.
fn workers_of(tree: &Tree, tracer: &str) -> Check<Vec<(String, PathBuf)>> {
    tree.set("current_tracer", tracer)?;
    let begin = format!("{tracer}/");
    let threads = || super::hwlat::named_threads(&begin);
    let all = sys::wait_until(PATIENCE, || threads().len() == sys::online_cpus());
    ensure!(all, "threads of {tracer}: {:?}", threads());
    Ok(threads())
}

/// Control groups take the threads, which stay on their CPUs.
fn groups(context: &Context) -> Check {
    let (top, reference) = roots(context);
    let trees = Iterator::chain([top].into_iter(), reference);
    for tree in trees {
        let settings = Settings::short(tree)?;
        for tracer in ["osnoise", "timerlat"] {
            with_groups(|groups| {
                let group = groups.join("rtg-osnoise");
                std::fs::create_dir(&group).map_err(|e| format!("mkdir: {e}"))?;
                for (name, folder) in workers_of(&settings.tree, tracer)? {
                    let (place, pid) = (group.join("cgroup.procs"), folder.file_name());
                    let pid = pid.unwrap_or_default().as_encoded_bytes();
                    // A thread can be taken once it runs.
                    let taken = sys::wait_until(PATIENCE, || std::fs::write(&place, pid).is_ok());
                    ensure!(taken, "{name}: {:?}", std::fs::write(&place, pid));
                    let own = std::fs::read_to_string(folder.join("cgroup")).unwrap_or_default();
                    ensure!(
                        own.contains("0::/rtg-osnoise\n"),
                        "the group of {name}: {own}"
                    );
                }
                settings.tree.set("current_tracer", "nop")?;
                let gone = sys::wait_until(PATIENCE, || std::fs::remove_dir(&group).is_ok());
                ensure!(gone, "the group of {tracer} stays");
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// A task that asks for a thread to be moved does not wait for the end of the tracer; all that have it are told.
fn moved(context: &Context) -> Check {
    const TOLD: &str = "migration requested to osnoise threads, leaving.";
    if sys::online_cpus() < 2 {
        skip!("there is no other CPU");
    }
    let (top, reference) = roots(context);
    let roots = [(top, &context.root)].into_iter();
    for (top, root) in roots.chain(reference.map(|tree| (tree, &context.reference))) {
        let _settings = Settings::short(top)?;
        for tracer in ["osnoise", "timerlat"] {
            let own = Instance::new(root, "rtg-osnoise")?;
            let threads = workers_of(&own, tracer)?;
            let (name, folder) = threads.first().ok_or("no threads")?;
            let pid = folder
                .file_name()
                .and_then(|pid| pid.to_str()?.parse().ok());
            let pid: u32 = pid.ok_or("no pid")?;
            // While it was not yet let go, it cannot be asked.
            let asked = sys::wait_until(PATIENCE, || sys::move_task_to(pid, 1));
            ensure!(asked, "{name} cannot be moved");
            let told = sys::wait_until(PATIENCE, || {
                own.get("trace").is_ok_and(|text| text.contains(TOLD))
            });
            ensure!(told, "{name}: {}", own.get("trace")?);
            own.set("current_tracer", "nop")?;
            own.remove()?;
        }
    }
    have_workers(&[])
}

/// An instance goes while its tracer measures, and nothing is left of it.
fn ends(context: &Context) -> Check {
    let (top, _) = roots(context);
    let settings = Settings::short(top)?;
    for _ in 0..soak::rounds(3, 20) {
        let own = Instance::new(&context.root, "rtg-osnoise")?;
        own.set("current_tracer", "osnoise")?;
        own.remove()?;
        let own = Instance::new(&context.root, "rtg-osnoise")?;
        settings.tree.set(STOP, "1")?;
        own.set("current_tracer", "osnoise")?;
        own.remove()?;
        settings.tree.set(STOP, "0")?;
    }
    have_workers(&[])
}
