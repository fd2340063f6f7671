// SPDX-License-Identifier: GPL-2.0

//! The tracers `preemptoff` and `preemptirqsoff`, on kernels that tell when preemption is switched off and on: beside the
//! kernel's own, with sections of known length that stress/rtdelay.c makes, and with those that the kernel's events tell
//! of.

use super::delays::{cpu, hold};
use super::irqsoff::{parts, places, records, sections, some_time, us_of, FUNCTIONS, MOST};
use super::{test, Test};
use crate::check::Check;
use crate::errno::*;
use crate::soak;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("preemptoff.there", 60, there),
    test("preemptoff.delay", 300, delay),
    test("preemptoff.beside", 300, beside),
    test("preemptoff.idle", 240, idle),
    test("preemptoff.events", 600, events),
    test("preemptoff.ends", 300, ends),
];

const TRACERS: [&str; 2] = ["preemptoff", "preemptirqsoff"];

/// Whether tracefs has the events that tell of preemption.
fn kernel_tells() -> bool {
    let events = "/sys/kernel/tracing/events/preemptirq";
    ["preempt_disable", "preempt_enable"]
        .iter()
        .all(|name| std::path::Path::new(events).join(name).exists())
}

/// An instance without functions. Skips the test in a kernel that has not the tracers.
fn instance(context: &Context) -> Check<Instance> {
    if !kernel_tells() {
        skip!("this kernel does not tell when preemption is off");
    }
    let own = Instance::new(&context.root, "rtg-preemptoff")?;
    without_functions(&own)?;
    Ok(own)
}

/// All functions are hooked in a minute here.
fn without_functions(tree: &Tree) -> Check {
    match tree.exists(FUNCTIONS) {
        true => tree.set(FUNCTIONS, "0"),
        false => Ok(()),
    }
}

/// The tracers are there where the kernel has the events that they need, and nowhere else; one at a time.
fn there(context: &Context) -> Check {
    let top = Tree::at(&context.root);
    let all = top.get("available_tracers")?;
    let own = Instance::new(&context.root, "rtg-preemptoff")?;
    let other = Instance::new(&context.root, "rtg-preemptoff2")?;
    for tree in [&own, &other] {
        without_functions(tree)?;
    }
    for tracer in TRACERS {
        let is_there = all.split_whitespace().any(|name| name == tracer);
        ensure_eq!(is_there, kernel_tells(), "{all}");
        let expected = match kernel_tells() {
            true => Ok(tracer.len()),
            false => Err(EINVAL),
        };
        let chosen = own.write("current_tracer", tracer.as_bytes());
        ensure_eq!(chosen, expected, "{tracer}");
        if kernel_tells() {
            for second in ["irqsoff", "preemptoff", "preemptirqsoff"] {
                let refused = other.write("current_tracer", second.as_bytes());
                ensure_eq!(refused, Err(EBUSY), "{second} beside {tracer}");
            }
        }
        own.set("current_tracer", "nop")?;
    }
    Ok(())
}

/// A section of known length is found within a tenth by each tracer that is to find it.
fn delay(context: &Context) -> Check {
    let own = instance(context)?;
    for (tracer, how) in [
        ("preemptoff", "preempt"),
        ("preemptirqsoff", "preempt"),
        ("preemptirqsoff", "irqs"),
    ] {
        own.set("current_tracer", tracer)?;
        for us in [20_000, 60_000] {
            some_time(|_| delay_once(context, &own, (tracer, how, us)))?;
        }
    }
    own.set("current_tracer", "nop")
}

fn delay_once(context: &Context, own: &Instance, (tracer, how, us): (&str, &str, u64)) -> Check {
    own.set("tracing_on", "1")?;
    own.set(MOST, "0")?;
    let delays = hold(context, &format!("how={how} us={us} count=3"))?;
    own.set("tracing_on", "0")?;
    let (text, told) = (own.get("trace")?, us_of(own)?);
    let most = delays.iter().map(|delay| delay.len()).max().unwrap_or(0) / 1_000;
    ensure!(
        told >= most && told <= most + most / 10,
        "{tracer}, {how}: {told} us, not {most}: {text}"
    );
    ensure!(
        text.starts_with(&format!("# tracer: {tracer}\n"))
            && text.contains(&format!(", CPU#{} | (M:", cpu()))
            && text.contains("#    | task: rtdelay/"),
        "header of {tracer}: {text}"
    );
    let (began, ended) = places(&text)?;
    let records = records(&text);
    let [first, .., last] = records[..] else {
        fail!("no records: {text}");
    };
    ensure!(
        first.ends_with(&format!(": {began}")) || first.ends_with(&format!(" <-{began}")),
        "{began:?} is not first: {text}"
    );
    ensure!(
        last.ends_with(&format!(" <-{ended}")),
        "{ended:?} is not last: {text}"
    );
    println!("{tracer}, {how}, {us} us: {most} us held, {told} us told");
    Ok(())
}

/// What the text of a section has: the places, the first function, the caller of the last one, and the callers.
#[derive(Debug)]
struct Shape {
    places: (String, String),
    first: String,
    last_caller: String,
    callers: Vec<String>,
}

impl Shape {
    fn of(text: &str) -> Check<Self> {
        let records = records(text);
        let what = |line: Option<&&str>| {
            let what = line.and_then(|line| line.split_once(": "));
            what.map_or("", |(_, what)| what).to_string()
        };
        let last = what(records.last());
        let callers = text.lines().filter_map(|line| line.strip_prefix(" => "));
        Ok(Self {
            places: places(text)?,
            first: what(records.first()),
            last_caller: last.split_once(" <-").map_or("", |(_, by)| by).to_string(),
            callers: callers.map(str::to_string).collect(),
        })
    }

    /// Returns whether the kernel's tracer tells the same as ours. Which of its own functions are the last one and no
    /// callers depends on what the compiler inlined there; so do the first callers.
    fn is_as(&self, kernels: &Self) -> bool {
        self.places == kernels.places
            && self.first == kernels.first
            && self.last_caller == kernels.last_caller
            && !kernels.callers.is_empty()
            && self.callers.ends_with(&kernels.callers)
    }
}

/// Places, functions and callers are those that the kernel's own tracer has, where it is.
fn beside(context: &Context) -> Check {
    let own = instance(context)?;
    let reference = Instance::new(&context.reference, "rtg-preemptoff")?;
    let available = reference.get("available_tracers")?;
    for (tracer, how) in [
        ("irqsoff", "irqs"),
        ("preemptoff", "preempt"),
        ("preemptirqsoff", "preempt"),
        ("preemptirqsoff", "irqs"),
    ] {
        if !available.split_whitespace().any(|name| name == tracer) {
            skip!("this kernel has no tracer {tracer}");
        }
        some_time(|_| {
            let mut shapes = Vec::new();
            for tree in [&own, &reference] {
                without_functions(tree)?;
                tree.set("current_tracer", tracer)?;
                tree.set("tracing_on", "1")?;
                tree.set(MOST, "0")?;
                hold(context, &format!("how={how} us=30000 count=1"))?;
                tree.set("tracing_on", "0")?;
                let text = tree.get("trace")?;
                ensure!(us_of(tree)? >= 30_000, "{tracer}: {text}");
                shapes.push(Shape::of(&text)?);
                tree.set("current_tracer", "nop")?;
            }
            let [ours, kernels] = &shapes[..] else {
                fail!("{} texts", shapes.len());
            };
            ensure!(
                ours.is_as(kernels),
                "{tracer}, {how}: {ours:?}, the kernel's: {kernels:?}"
            );
            println!("{tracer}, {how}: {ours:?}, the kernel's: {kernels:?}");
            Ok(())
        })?;
    }
    Ok(())
}

/// How long all CPUs are idle: longer than any section.
const ASLEEP: Duration = Duration::from_secs(3);

/// An idle CPU has preemption off, and no latency.
fn idle(context: &Context) -> Check {
    let own = instance(context)?;
    for tracer in TRACERS {
        own.set("current_tracer", tracer)?;
        own.set(MOST, "0")?;
        std::thread::sleep(ASLEEP);
        own.set("tracing_on", "0")?;
        let told = us_of(&own)?;
        ensure!(
            told > 0 && u128::from(told) < ASLEEP.as_micros() / 2,
            "{tracer}: {told} us: {}",
            own.get("trace")?
        );
        own.set("tracing_on", "1")?;
        own.set("current_tracer", "nop")?;
    }
    Ok(())
}

/// The section that is kept is one of those that the kernel's own events tell of, or one of an idle CPU.
fn events(context: &Context) -> Check {
    let own = instance(context)?;
    let reference = Instance::new(&context.reference, "rtg-preemptoff")?;
    reference.set("buffer_size_kb", "16384")?;
    reference.set("tracing_on", "0")?;
    reference.set("events/preemptirq/preempt_disable/enable", "1")?;
    reference.set("events/preemptirq/preempt_enable/enable", "1")?;
    own.set("current_tracer", "preemptoff")?;
    some_time(|at| {
        own.set("tracing_on", "1")?;
        own.set(MOST, "0")?;
        reference.clear()?;
        reference.set("tracing_on", "1")?;
        match at % 2 {
            0 => drop(hold(context, "how=preempt us=20000 count=1")?),
            _ => std::thread::sleep(Duration::from_millis(100)),
        }
        reference.set("tracing_on", "0")?;
        own.set("tracing_on", "0")?;
        let told = us_of(&own)? * 1_000;
        own.set("options/latency-format", "0")?;
        let text = own.get("trace")?;
        own.set("options/latency-format", "1")?;
        let header = own.get("trace")?;
        let (began, ended) = places(&header)?;
        let first = records(&text).first().and_then(|line| parts(line));
        let Some((cpu, begin, _)) = first else {
            fail!("no records: {text}");
        };
        let names = ("preempt_disable", "preempt_enable");
        let all = sections(&reference.get("trace")?, names);
        let near = |section: &&super::irqsoff::Section| section.begin.abs_diff(begin);
        let same = |section: &&super::irqsoff::Section| section.cpu == cpu;
        let Some(found) = all.iter().filter(same).min_by_key(near) else {
            fail!("{began:?} on CPU {cpu} is none of {}: {header}", all.len());
        };
        let about = told / 10 + 200_000;
        let length = found.end - found.begin;
        ensure!(
            near(&found) < 1_000_000 && length.abs_diff(told) < about,
            "{told} ns from {began} to {ended}, not {length} from {} to {}: {header}",
            found.began,
            found.ended
        );
        println!(
            "{began} to {ended}: {told} ns told, {length} of {}",
            all.len()
        );
        Ok(())
    })?;
    own.set("current_tracer", "nop")
}

/// They go while CPUs have preemption off, and settings change meanwhile.
fn ends(context: &Context) -> Check {
    let own = instance(context)?;
    for round in 0..soak::fewer(6) {
        own.set("current_tracer", TRACERS[round % 2])?;
        hold(context, "how=preempt us=500 count=4")?;
        own.set("buffer_size_kb", &format!("{}", 100 + round))?;
        own.clear()?;
        own.get("trace")?;
        own.set("trace_clock", if round % 2 == 0 { "mono" } else { "local" })?;
        own.set("tracing_on", "0")?;
        own.set("tracing_on", "1")?;
        own.set("tracing_cpumask", "1")?;
        own.set("tracing_cpumask", "3")?;
        own.get("trace")?;
        own.set("current_tracer", "nop")?;
    }
    own.set("trace_clock", "local")?;
    own.set("current_tracer", TRACERS[0])?;
    own.remove()
}
