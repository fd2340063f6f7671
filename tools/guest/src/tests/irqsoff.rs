// SPDX-License-Identifier: GPL-2.0

//! The tracer `irqsoff`, on kernels that tell when interrupts are switched off and on. Sections of known length are made
//! by stress/rtdelay.c; what other sections there are, the kernel's own events `preemptirq` say.

use super::delays::{cpu, hold, ns_of};
use super::osnoise::PATIENCE;
use super::{test, Test};
use crate::check::Check;
use crate::errno::*;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::using;
use crate::Context;
use std::io::Read;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("irqsoff.there", 30, there),
    test("irqsoff.options", 120, options),
    test("irqsoff.delay", 300, delay),
    test("irqsoff.threshold", 240, threshold),
    test("irqsoff.each_kept", 240, each_kept),
    test("irqsoff.nmis", 240, nmis),
    test("irqsoff.events", 600, events),
    test("irqsoff.functions", 300, functions),
    test("irqsoff.ends", 300, ends),
    test("irqsoff.offline", 240, offline),
    test("irqsoff.example", 120, example),
];

const TRACER: &str = "irqsoff";
pub(super) const MOST: &str = "tracing_max_latency";
/// How often a section is looked for: the host may have other things to do than a CPU that has interrupts off, and
/// another section is the longest one then.
const TRIES: usize = 10;

/// Whether tracefs has the events that tell of interrupts.
fn kernel_tells() -> bool {
    let events = "/sys/kernel/tracing/events/preemptirq";
    ["irq_disable", "irq_enable"]
        .iter()
        .all(|name| std::path::Path::new(events).join(name).exists())
}

pub(super) const FUNCTIONS: &str = "options/function-trace";

/// An instance without functions. Skips the test in a kernel that has not the tracer.
fn instance(context: &Context) -> Check<Instance> {
    if !kernel_tells() {
        skip!("this kernel does not tell when interrupts are off");
    }
    let own = Instance::new(&context.root, "rtg-irqsoff")?;
    if own.exists(FUNCTIONS) {
        own.set(FUNCTIONS, "0")?;
    }
    Ok(own)
}

/// The tracer is there where the kernel has the events that it needs, and nowhere else.
fn there(context: &Context) -> Check {
    let top = Tree::at(&context.root);
    let all = top.get("available_tracers")?;
    let mut names = all.split_whitespace();
    ensure_eq!(names.any(|name| name == TRACER), kernel_tells(), "{all}");
    let own = Instance::new(&context.root, "rtg-irqsoff")?;
    // All functions are hooked in a minute here.
    if own.exists(FUNCTIONS) {
        own.set(FUNCTIONS, "0")?;
    }
    let expected = match kernel_tells() {
        true => Ok(TRACER.len()),
        false => Err(EINVAL),
    };
    ensure_eq!(
        own.write("current_tracer", TRACER.as_bytes()),
        expected,
        "chosen"
    );
    Ok(())
}

/// What it holds and refuses, and that all is as before afterwards.
fn options(context: &Context) -> Check {
    let own = instance(context)?;
    let held = ["latency-format", "overwrite", "pause-on-trace"];
    for option in held {
        own.set(&format!("options/{option}"), "0")?;
    }
    own.set(MOST, "17")?;
    own.set("current_tracer", TRACER)?;
    for option in held {
        ensure_eq!(own.get(&format!("options/{option}"))?, "1\n", "{option}");
    }
    let refused = own.write("options/overwrite", b"0");
    ensure_eq!(refused, Err(EINVAL), "overwrite off");
    let refused = own.write("snapshot", b"1");
    ensure_eq!(refused, Err(EBUSY), "snapshot");
    let second = Instance::new(&context.root, "rtg-irqsoff2")?;
    let refused = second.write("current_tracer", TRACER.as_bytes());
    ensure_eq!(refused, Err(EBUSY), "a second one");
    // Other latencies beside it.
    for other in ["wakeup", "irqsoff_sampled", "hwlat"] {
        second.set("options/function-trace", "0")?;
        second.set("current_tracer", other)?;
        second.set("current_tracer", "nop")?;
    }
    let found = || own.get(MOST).is_ok_and(|us| us != "17\n" && us != "0\n");
    ensure!(sys::wait_until(PATIENCE, found), "no section was found");
    own.set("current_tracer", "nop")?;
    for option in held {
        ensure_eq!(
            own.get(&format!("options/{option}"))?,
            "0\n",
            "{option} afterwards"
        );
    }
    second.set("current_tracer", TRACER)?;
    second.remove()?;
    own.set("current_tracer", TRACER)?;
    own.remove()
}

pub(super) fn us_of(tree: &Tree) -> Check<u64> {
    let text = tree.get(MOST)?;
    text.trim().parse().map_err(|e| format!("{text:?}: {e}"))
}

/// The lines of records, without those of callers.
pub(super) fn records(text: &str) -> Vec<&str> {
    let is_record = |line: &&str| {
        !line.starts_with('#') && !line.starts_with(" => ") && !line.ends_with("<stack trace>")
    };
    text.lines().filter(is_record).collect()
}

/// The two places that a header names.
pub(super) fn places(text: &str) -> Check<(String, String)> {
    let place = |label: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(label));
        let name = line.filter(|name| !name.is_empty() && !name.starts_with("0x"));
        name.map(String::from)
            .ok_or_else(|| format!("no {label:?}: {text}"))
    };
    Ok((place("#  => started at: ")?, place("#  => ended at:   ")?))
}

/// Tries until `once` succeeds.
pub(super) fn some_time(mut once: impl FnMut(usize) -> Check) -> Check {
    let mut seen = String::new();
    let found = (0..TRIES).any(|at| once(at).map_err(|why| seen = why).is_ok());
    ensure!(found, "the last of {TRIES}: {seen}");
    Ok(())
}

/// A section of known length is found within a tenth, with where it began and ended.
fn delay(context: &Context) -> Check {
    let own = instance(context)?;
    own.set("current_tracer", TRACER)?;
    for us in [20_000, 60_000] {
        some_time(|_| delay_once(context, &own, us))?;
    }
    own.set("current_tracer", "nop")
}

fn delay_once(context: &Context, own: &Instance, us: u64) -> Check {
    own.set("tracing_on", "1")?;
    own.set(MOST, "0")?;
    let delays = hold(context, &format!("how=irqs us={us} count=3"))?;
    own.set("tracing_on", "0")?;
    let (text, told) = (own.get("trace")?, us_of(own)?);
    let most = delays.iter().map(|delay| delay.len()).max().unwrap_or(0) / 1_000;
    ensure!(
        told >= most && told <= most + most / 10,
        "{told} us, not {most}: {delays:?}: {text}"
    );
    let records = records(&text);
    let head = format!("# latency: {told} us, #{0}/{0}, CPU#", records.len() + 1);
    ensure!(
        text.contains(&head)
            && text.contains(&format!(", CPU#{} | (M:", cpu()))
            && text.contains("#    | task: rtdelay/"),
        "header, not {head:?}: {text}"
    );
    let (began, ended) = places(&text)?;
    // From the place where it began to the one where it ended, and the function that switches there, with the callers.
    let [first, .., switch] = records[..] else {
        fail!("no records: {text}");
    };
    ensure!(
        first.ends_with(&format!(": {began}")) || first.ends_with(&format!(" <-{began}")),
        "{began:?} is not first: {text}"
    );
    ensure!(
        switch.contains(": trace_hardirqs_on") && switch.ends_with(&format!(" <-{ended}")),
        "{ended:?} is not last: {text}"
    );
    let own_cpu = format!("{}d", cpu());
    let of_section = |line: &&str| {
        let place = line.split_whitespace().nth(1);
        place.is_some_and(|place| place.starts_with(&own_cpu))
    };
    ensure!(
        records.iter().all(of_section),
        "other CPUs, or interrupts on: {text}"
    );
    let callers = text
        .split_once("<stack trace>\n")
        .map_or("", |(_, callers)| callers);
    ensure!(
        callers.starts_with(" => ") && callers.contains(" => kthread\n"),
        "no callers: {text}"
    );
    println!("{us} us: {most} us held, {told} us told");
    Ok(())
}

/// With a threshold a section is kept that is shorter than another one before, and none that is shorter than that.
fn threshold(context: &Context) -> Check {
    let own = instance(context)?;
    own.set("current_tracer", TRACER)?;
    own.set("tracing_thresh", "15000")?;
    some_time(|_| {
        own.set("tracing_on", "1")?;
        hold(context, "how=irqs us=60000 count=1")?;
        let longest = us_of(&own)?;
        ensure!(longest >= 60_000, "{longest} us");
        hold(context, "how=irqs us=20000 count=1")?;
        own.set("tracing_on", "0")?;
        let then = us_of(&own)?;
        ensure!((15_000..60_000).contains(&then), "{longest}, then {then}");
        let head = format!("# latency: {then} us, #");
        let text = own.get("trace")?;
        ensure!(text.contains(&head), "not {head:?}: {text}");
        own.set("tracing_on", "1")?;
        hold(context, "how=irqs us=1000 count=3")?;
        ensure!(us_of(&own)? >= 15_000, "{} us", us_of(&own)?);
        Ok(())
    })?;
    own.set("tracing_thresh", "0")?;
    own.set("current_tracer", "nop")
}

/// Each section is one to be kept, so that there always is another one: readers get the trace of one nevertheless.
fn each_kept(context: &Context) -> Check {
    let own = instance(context)?;
    own.set("tracing_thresh", "1")?;
    own.set("current_tracer", TRACER)?;
    own.set("options/pause-on-trace", "0")?;
    for _ in 0..soak::fewer(20) {
        // Without a pause it may be that of another one by now.
        let text = own.get("trace")?;
        ensure!(text.starts_with("# tracer: irqsoff\n"), "{text}");
        std::thread::sleep(Duration::from_millis(10));
    }
    own.set("options/pause-on-trace", "1")?;
    let text = own.get("trace")?;
    let (began, _) = places(&text)?;
    let first = records(&text).first().copied().unwrap_or_default();
    ensure!(first.contains(&format!(": {began}")), "{text}");
    own.set("tracing_thresh", "0")?;
    own.set("current_tracer", "nop")
}

/// What an NMI takes that interrupts no section is no latency.
fn nmis(context: &Context) -> Check {
    let own = instance(context)?;
    own.set("current_tracer", TRACER)?;
    let held = 60_000;
    some_time(|_| {
        own.set("tracing_on", "1")?;
        own.set(MOST, "0")?;
        hold(context, &format!("how=nmi us={held} count=1"))?;
        own.set("tracing_on", "0")?;
        let told = us_of(&own)?;
        ensure!(told > 0 && told < held, "{told} us: {}", own.get("trace")?);
        Ok(())
    })?;
    own.set("current_tracer", "nop")
}

/// A section, as the kernel's events have it; times in nanoseconds.
pub(super) struct Section {
    pub(super) cpu: usize,
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) began: String,
    pub(super) ended: String,
}

/// The CPU, the time and the text of a line without `latency-format`.
pub(super) fn parts(line: &str) -> Option<(usize, u64, &str)> {
    let (before, text) = line.split_once(": ")?;
    let mut words = before.split_whitespace().rev();
    let time = ns_of(words.next()?)?;
    let cpu = words.find_map(|word| word.strip_prefix('[')?.strip_suffix(']')?.parse().ok())?;
    Some((cpu, time, text))
}

/// The sections that are whole in the kernel's `trace`, between events of these names.
pub(super) fn sections(text: &str, (disable, enable): (&str, &str)) -> Vec<Section> {
    let mut open: Vec<Option<(u64, String)>> = vec![None; sys::online_cpus()];
    let mut all = Vec::new();
    for (cpu, time, what) in text.lines().filter_map(parts) {
        let Some((event, rest)) = what.split_once(": caller=") else {
            continue;
        };
        let name: String = rest.chars().take_while(|c| *c != '+').collect();
        let Some(open) = open.get_mut(cpu) else {
            continue;
        };
        match (event, open.take()) {
            (event, _) if event == disable => *open = Some((time, name)),
            (event, Some((begin, began))) if event == enable => all.push(Section {
                cpu,
                begin,
                end: time,
                began,
                ended: name,
            }),
            _ => {}
        }
    }
    all
}

/// The section that is kept is one of those that the kernel's own events tell of, and none of these is much longer.
fn events(context: &Context) -> Check {
    let own = instance(context)?;
    let reference = Instance::new(&context.reference, "rtg-irqsoff")?;
    reference.set("buffer_size_kb", "8192")?;
    reference.set("tracing_on", "0")?;
    reference.set("events/preemptirq/irq_disable/enable", "1")?;
    reference.set("events/preemptirq/irq_enable/enable", "1")?;
    own.set("current_tracer", TRACER)?;
    some_time(|at| {
        own.set("tracing_on", "1")?;
        own.set(MOST, "0")?;
        reference.clear()?;
        // All that these tell of is in the time of the tracer.
        reference.set("tracing_on", "1")?;
        match at % 2 {
            0 => std::thread::sleep(Duration::from_millis(100)),
            _ => drop(hold(context, "how=irqs us=20000 count=1")?),
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
        let all = sections(&reference.get("trace")?, ("irq_disable", "irq_enable"));
        let near = |section: &&Section| section.begin.abs_diff(begin);
        let same = |section: &&Section| section.cpu == cpu && section.began == began;
        let Some(found) = all.iter().filter(same).min_by_key(near) else {
            fail!("{began:?} on CPU {cpu} is none of {}: {header}", all.len());
        };
        let about = told / 10 + 200_000;
        let length = found.end - found.begin;
        ensure!(
            near(&found) < 1_000_000 && length.abs_diff(told) < about && found.ended == ended,
            "{told} ns, not {length} from {} to {}: {header}",
            found.began,
            found.ended
        );
        let longest = all.iter().map(|of| of.end - of.begin).max().unwrap_or(0);
        ensure!(
            longest < told + about,
            "{longest} ns, but {told} told: {header}"
        );
        println!("{began}: {told} ns told, {length} of {}", all.len());
        Ok(())
    })?;
    own.set("current_tracer", "nop")
}

/// Functions are recorded that are called in a section, and no others.
fn functions(context: &Context) -> Check {
    let own = instance(context)?;
    if !own.exists(FUNCTIONS) {
        skip!("this kernel cannot trace functions");
    }
    let (inside, outside) = ("hrtimer_interrupt", "vfs_write");
    own.set("set_ftrace_filter", inside)?;
    own.set("set_ftrace_filter", outside)?;
    own.set(FUNCTIONS, "1")?;
    own.set("current_tracer", TRACER)?;
    for on in [true, false, true] {
        own.set(FUNCTIONS, if on { "1" } else { "0" })?;
        some_time(|_| {
            own.set("tracing_on", "1")?;
            own.set(MOST, "0")?;
            hold(context, "how=hardirq us=20000 count=1")?;
            own.set("tracing_on", "0")?;
            let (text, told) = (own.get("trace")?, us_of(&own)?);
            ensure!(told >= 20_000, "{told} us: {text}");
            let calls = records(&text);
            let any = calls
                .iter()
                .any(|line| line.contains(&format!(": {inside}")));
            ensure_eq!(any, on, "{inside} in {text}");
            // The first one is the place where it begins.
            let first = calls.first().copied().unwrap_or(inside);
            ensure!(!first.contains(inside), "{inside} is first: {text}");
            Ok(())
        })?;
    }
    // What was written here was, with interrupts on.
    let mut live = Vec::new();
    let mut pipe = own
        .open_nonblock("trace_pipe")
        .map_err(|e| format!("{e:?}"))?;
    let _ = pipe.read_to_end(&mut live);
    let live = String::from_utf8_lossy(&live);
    let count = |name: &str| live.matches(&format!(": {name}")).count();
    ensure!(
        count(inside) > 0 && count(outside) == 0,
        "{} of {inside}, {} of {outside}",
        count(inside),
        count(outside)
    );
    drop(pipe);
    own.set("current_tracer", "nop")
}

/// It goes while CPUs have interrupts off, and settings change meanwhile.
fn ends(context: &Context) -> Check {
    let own = instance(context)?;
    for round in 0..soak::fewer(8) {
        own.set("current_tracer", TRACER)?;
        hold(context, "how=irqs us=500 count=4")?;
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
    own.set("current_tracer", TRACER)?;
    own.remove()
}

/// How long a CPU is away: longer than any section.
const AWAY: Duration = Duration::from_secs(5);
/// A section that there is on no CPU that is online.
const LONG: Duration = Duration::from_secs(4);
const ONLINE: &str = "/sys/devices/system/cpu/cpu1/online";

/// Has a CPU go, and come again.
fn away() -> Check {
    let switch = |value: &str| std::fs::write(ONLINE, value).map_err(|e| format!("{ONLINE}: {e}"));
    switch("0")?;
    std::thread::sleep(AWAY);
    switch("1")?;
    let there = sys::wait_until(PATIENCE, || sys::online_cpus() > 1);
    ensure!(there, "it did not come again");
    Ok(())
}

/// A CPU that is not online has no latency.
fn offline(context: &Context) -> Check {
    let own = instance(context)?;
    if !std::path::Path::new(ONLINE).exists() {
        skip!("no CPU can go");
    }
    own.set("current_tracer", TRACER)?;
    // So short that there are others meanwhile, and so long that none is: the section in which the CPU goes would not
    // count if the banks were exchanged after its beginning.
    for most in [0, LONG.as_micros()] {
        own.set(MOST, &format!("{most}"))?;
        away()?;
        let told = us_of(&own)?;
        ensure!(
            told > 0 && u128::from(told) < AWAY.as_micros(),
            "{told} us, first {most} us: {}",
            own.get("trace")?
        );
    }
    // It has sections again.
    some_time(|_| {
        own.set("tracing_on", "1")?;
        own.set(MOST, "0")?;
        hold(context, "how=irqs us=20000 count=1")?;
        own.set("tracing_on", "0")?;
        let text = own.get("trace")?;
        let head = format!("CPU#{} |", cpu());
        ensure!(us_of(&own)? >= 20_000 && text.contains(&head), "{text}");
        Ok(())
    })?;
    own.set("current_tracer", "nop")
}

/// The example of using.md, with functions.
fn example(context: &Context) -> Check {
    let own = instance(context)?;
    if own.exists(FUNCTIONS) {
        own.set(FUNCTIONS, "1")?;
    }
    let text = using::run("irqsoff", &own)?;
    let (began, _) = places(&text)?;
    let first = records(&text).into_iter().find(|line| line.contains("us"));
    ensure!(
        first.is_some_and(|line| line.contains(&format!(": {began}"))),
        "{began:?} is not first: {text}"
    );
    own.set("current_tracer", "nop")
}
