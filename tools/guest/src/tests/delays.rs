// SPDX-License-Identifier: GPL-2.0

//! Delays that are known (stress/rtdelay.c) and what the latency tracers say of them: each is found by the right
//! one, as what it was, and no time is told of twice. What a tracer says is compared with what the module has read
//! from the same clock, as bounds: how fast the machine is does not matter.

use super::osnoise::{lines, roots, Settings, PATIENCE};
use super::{test, Test};
use crate::check::Check;
use crate::module;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("delays.noise", 240, noise),
    test("delays.nmis", 240, nmis),
    test("delays.timerlat", 240, timerlat),
    test("delays.wakeup", 240, wakeup),
    test("delays.hwlat", 240, hwlat),
    test("delays.sampled", 240, sampled),
];

const NAME: &str = "rtdelay";
/// The times of records have no more digits, and two of them are compared.
const ROUNDED: u64 = 2_000;

/// A CPU was held from and until these times, in nanoseconds of the clock `local`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    pub(super) begin: u64,
    pub(super) end: u64,
}

impl Delay {
    pub(super) fn len(self) -> u64 {
        self.end - self.begin
    }
}

/// The last CPU, which is to be held.
pub(super) fn cpu() -> usize {
    sys::online_cpus() - 1
}

fn numbers(parameter: &str) -> Check<Vec<u64>> {
    let path = format!("/sys/module/{NAME}/parameters/{parameter}");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    let all = text
        .trim()
        .split(',')
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().map_err(|e| format!("{path}: {text:?}: {e}")));
    all.collect()
}

fn pairs(from: &str, to: &str) -> Check<Vec<Delay>> {
    let both = numbers(from)?.into_iter().zip(numbers(to)?);
    Ok(both.map(|(begin, end)| Delay { begin, end }).collect())
}

/// Holds the CPU, and returns when.
pub(super) fn hold(context: &Context, parameters: &str) -> Check<Vec<Delay>> {
    let _ = module::unload(NAME);
    let file = context.stress.with_file_name("rtdelay.ko");
    module::load(&file, &format!("cpu={} {parameters}", cpu()))?;
    let delays = pairs("begins", "ends")?;
    ensure!(!delays.is_empty(), "{parameters}: no delays");
    Ok(delays)
}

pub(super) fn ns_of(seconds: &str) -> Option<u64> {
    let (seconds, rest) = seconds.split_once('.')?;
    let digits = rest.len() as u32;
    let rest: u64 = rest.parse().ok()?;
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + rest * 10u64.pow(9 - digits))
}

/// The time of a line of the CPU that is held, and what it says.
fn of_cpu(line: &str) -> Option<(u64, &str)> {
    let (before, text) = line.split_once(": ")?;
    let words: Vec<_> = before.split_whitespace().collect();
    let place = format!("[{:03}]", cpu());
    let time = words.last()?;
    words.contains(&place.as_str()).then_some(())?;
    Some((ns_of(time)?, text))
}

/// What an event says of a section: its end is the time of the event.
#[derive(Clone, Debug)]
struct Section {
    event: String,
    what: String,
    start: u64,
    duration: u64,
    told: u64,
}

fn section(line: &str) -> Option<Section> {
    let (told, text) = of_cpu(line)?;
    let (event, text) = text.split_once(": ")?;
    let (what, text) = text.split_once("start ")?;
    let words: Vec<_> = text.split_whitespace().collect();
    let [start, "duration", duration, "ns", ..] = words[..] else {
        return None;
    };
    Some(Section {
        event: event.into(),
        what: what.trim().into(),
        start: ns_of(start)?,
        duration: duration.parse().ok()?,
        told,
    })
}

impl Section {
    /// Whether this one began and ended inside of `other`.
    fn is_inside(&self, other: &Section) -> bool {
        self.start >= other.start
            && self.told <= other.told
            && (self.start, self.told) != (other.start, other.told)
    }

    fn covers(&self, delay: Delay) -> bool {
        self.start <= delay.begin && self.told + ROUNDED >= delay.end
    }
}

/// What took so long is told of once, as what it was, and without what interrupted it.
fn noise(context: &Context) -> Check {
    let (top, _) = roots(context);
    let settings = Settings::of(top)?;
    // No thread measures, so that there are no pauses between measurements.
    settings
        .tree
        .set("osnoise/options", "NO_OSNOISE_WORKLOAD")?;
    let mut kinds: Vec<(&str, &[&str])> = vec![
        ("preempt", &["thread_noise", "rtdelay"]),
        ("irqs", &["thread_noise", "rtdelay"]),
        ("hardirq", &["irq_noise", "local_timer"]),
    ];
    // Those of a task share the CPU with other tasks: in pieces, which nothing covers.
    if !sys::softirqs_are_of_tasks() {
        kinds.push(("softirq", &["softirq_noise", "TASKLET"]));
    }
    for (how, expected) in kinds {
        for (us, count) in [(200, 4), (2_000, 3), (20_000, 2)] {
            let own = Instance::new(&context.root, "rtg-delays")?;
            own.set("buffer_size_kb", "8192")?;
            own.set("events/osnoise/enable", "1")?;
            own.set("current_tracer", "osnoise")?;
            let delays = hold(context, &format!("how={how} us={us} count={count}"))?;
            own.set("tracing_on", "0")?;
            ensure_eq!(delays.len(), count, "{how}, {us}");
            let all: Vec<_> = lines(&own)
                .iter()
                .filter_map(|line| section(line))
                .collect();
            for delay in delays {
                told_once(&all, delay, expected)
                    .map_err(|e| format!("{how}, {us} us, {delay:?}: {e}"))?;
            }
        }
    }
    Ok(())
}

fn told_once(all: &[Section], delay: Delay, expected: &[&str]) -> Check {
    // The innermost one that covers it.
    let covering = all.iter().filter(|section| section.covers(delay));
    let Some(this) = covering.max_by_key(|section| section.start) else {
        fail!("no section covers it: {all:#?}");
    };
    let right = this.event == expected[0] && expected[1..].iter().all(|w| this.what.contains(w));
    ensure!(right, "it is {this:?}, not {expected:?}");
    let inside = |outer: &Section| -> u64 {
        let inner = all.iter().filter(|section| section.is_inside(outer));
        inner.map(|section| section.duration).sum()
    };
    ensure!(
        this.duration + inside(this) >= delay.len(),
        "{this:?} and {} ns inside of it",
        inside(this)
    );
    // Whatever it was inside of has not told of it again.
    for outer in all {
        if !this.is_inside(outer) && outer.start != this.start {
            continue;
        }
        let (sum, room) = (
            outer.duration + inside(outer),
            outer.told + ROUNDED - outer.start,
        );
        ensure!(
            sum <= room,
            "{outer:?} and what was inside of it took {sum} of {room} ns"
        );
    }
    Ok(())
}

/// The numbers of an `osnoise` record, from the NMIs on.
fn record(line: &str) -> Option<Vec<u64>> {
    let (_, text) = of_cpu(line)?;
    let words: Vec<_> = text.split_whitespace().collect();
    let numbers = words.iter().skip(4).map(|word| word.parse().ok());
    (words.len() == 9).then(|| numbers.collect()).flatten()
}

/// NMIs are counted, and what they take is noise that has a cause.
fn nmis(context: &Context) -> Check {
    if sys::online_cpus() < 2 {
        skip!("a CPU can not send itself an NMI while it measures");
    }
    let (top, _) = roots(context);
    let settings = Settings::of(top)?;
    settings.tree.set("tracing_thresh", "300")?;
    let own = Instance::new(&context.root, "rtg-delays")?;
    own.set("buffer_size_kb", "8192")?;
    own.set("events/osnoise/sample_threshold/enable", "1")?;
    own.set("current_tracer", "osnoise")?;
    let begun = sys::wait_until(PATIENCE, || {
        lines(&own).iter().any(|line| record(line).is_some())
    });
    ensure!(begun, "no records");
    let mut sent = hold(context, "how=nmi us=500 count=20")?;
    sent.extend(hold(context, "how=nmi us=500 count=20 pause_us=30000")?);
    let last = sent.last().map_or(0, |delay| delay.end);
    let ended = sys::wait_until(PATIENCE, || {
        let mut all = lines(&own);
        all.retain(|line| record(line).is_some() && of_cpu(line).is_some_and(|at| at.0 > last));
        !all.is_empty()
    });
    own.set("tracing_on", "0")?;
    ensure!(ended, "no record after the last");
    let all = lines(&own);
    let counted: u64 = all
        .iter()
        .filter_map(|line| record(line))
        .map(|all| all[1])
        .sum();
    let noises: Vec<_> = all.iter().filter_map(|line| section(line)).collect();
    let mut found = 0;
    for delay in &sent {
        let mut over = noises.iter().filter(|noise| {
            noise.start <= delay.begin && noise.start + noise.duration >= delay.end
        });
        let Some(noise) = over.next() else {
            // Between two measurements.
            continue;
        };
        ensure!(over.next().is_none(), "{delay:?} is told of twice");
        let line = all.iter().find(|line| {
            section(line).is_some_and(|s| s.start == noise.start && s.told == noise.told)
        });
        let line = line.map_or("", String::as_str);
        ensure!(!line.ends_with("interference 0"), "as of hardware: {line}");
        found += 1;
    }
    ensure!(
        counted >= found,
        "{counted} NMIs counted, {found} of them known"
    );
    ensure!(
        found * 2 >= sent.len() as u64,
        "{found} of {} are in noises",
        sent.len()
    );
    println!("{} NMIs, {found} in noises, {counted} counted", sent.len());
    Ok(())
}

/// A record of timerlat: when it was told, its context and latency.
fn tick(line: &str) -> Option<(u64, String, u64)> {
    let (told, text) = of_cpu(line)?;
    let words: Vec<_> = text.split_whitespace().collect();
    match words[..] {
        [_, "context", context, "timer_latency", latency, "ns"] => {
            Some((told, context.into(), latency.parse().ok()?))
        }
        _ => None,
    }
}

/// The two clocks may go so differently.
fn about(ns: u64) -> u64 {
    ns - ns / 100
}

/// With interrupts disabled the interrupt is late, with preemption disabled the thread alone.
fn timerlat(context: &Context) -> Check {
    const PERIOD_US: u64 = 5_000;
    let (top, _) = roots(context);
    let settings = Settings::of(top)?;
    let period = "osnoise/timerlat_period_us";
    settings.tree.set(period, &PERIOD_US.to_string())?;
    let result = (|| {
        for how in ["irqs", "preempt"] {
            let own = Instance::new(&context.root, "rtg-delays")?;
            own.set("buffer_size_kb", "8192")?;
            own.set("current_tracer", "timerlat")?;
            let delays = hold(context, &format!("how={how} us=20000 count=3"))?;
            let last = delays.last().map_or(0, |delay| delay.end);
            let after = |line: &String| tick(line).is_some_and(|tick| tick.0 > last + ROUNDED);
            let ended = sys::wait_until(PATIENCE, || {
                lines(&own).iter().filter(|line| after(line)).count() > 2
            });
            own.set("tracing_on", "0")?;
            ensure!(ended, "{how}: no records after the last delay");
            let all: Vec<_> = lines(&own).iter().filter_map(|line| tick(line)).collect();
            for delay in delays {
                late(&all, delay, how, PERIOD_US * 1_000)
                    .map_err(|e| format!("{how}, {delay:?}: {e}"))?;
            }
        }
        Ok(())
    })();
    settings.tree.set(period, "1000")?;
    result
}

fn late(all: &[(u64, String, u64)], delay: Delay, how: &str, period: u64) -> Check {
    let during: Vec<_> = all
        .iter()
        .filter(|tick| tick.0 > delay.begin + ROUNDED && tick.0 + ROUNDED < delay.end)
        .collect();
    let after = |context: &str| {
        let mut of = all.iter().filter(|tick| tick.1 == context);
        of.find(|tick| tick.0 + ROUNDED >= delay.end)
    };
    let (Some(irq), Some(thread)) = (after("irq"), after("thread")) else {
        fail!("no tick after it");
    };
    if how == "irqs" {
        ensure!(during.is_empty(), "during it: {during:?}");
        // One was due in the first period of it.
        let least = about(delay.len() - period);
        ensure!(irq.2 >= least, "{irq:?}, and {least} ns at least");
        ensure!(thread.2 >= irq.2, "{thread:?} after {irq:?}");
        return Ok(());
    }
    ensure!(during.len() < 2, "during it: {during:?}");
    let Some(tick) = during.first() else {
        // As it began, or as it ended.
        return Ok(());
    };
    ensure_eq!(tick.1, "irq", "during it");
    let least = about(tick.2 + delay.end.saturating_sub(tick.0 + ROUNDED));
    ensure!(thread.2 >= least, "{thread:?}, and {least} ns at least");
    Ok(())
}

/// A thread of real time is woken where preemption is disabled.
fn wakeup(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-delays")?;
    own.set("options/function-trace", "0").or_else(|e| {
        if own.exists("options/function-trace") {
            Err(e)
        } else {
            Ok(())
        }
    })?;
    own.set("current_tracer", "wakeup_rt")?;
    let held = hold(context, "how=wake us=20000 count=3")?;
    let waited = pairs("before", "ran")?;
    own.set("tracing_on", "0")?;
    let longest = own.get("tracing_max_latency")?;
    let longest: u64 = longest
        .trim()
        .parse()
        .map_err(|e| format!("{longest:?}: {e}"))?;
    let text = own.get("trace")?;
    let least = held.iter().map(|delay| delay.len()).max().unwrap_or(0) / 1_000;
    ensure!(
        longest + 1 >= least,
        "{longest} us, at least {least}: {text}"
    );
    if text.contains("task: rtwoken") {
        let most = waited.iter().map(|wait| wait.len()).max().unwrap_or(0) / 1_000;
        ensure!(longest <= most + 1, "{longest} us, at most {most}: {text}");
    }
    Ok(())
}

/// An NMI holds a CPU that searches for what holds it.
fn hwlat(context: &Context) -> Check {
    if sys::online_cpus() < 2 {
        skip!("a CPU can not send itself an NMI while it searches");
    }
    const US: u64 = 2_000;
    let top = Tree::at(&context.root);
    let files = ["hwlat_detector/width", "hwlat_detector/window"];
    let before: Vec<_> = files.iter().map(|file| top.get(file)).collect();
    top.set(files[0], "50000")?;
    top.set(files[1], "100000")?;
    let own = Instance::new(&context.root, "rtg-delays")?;
    let result = (|| {
        own.set("tracing_cpumask", &format!("{:x}", 1u64 << cpu()))?;
        own.set("current_tracer", "hwlat")?;
        for _ in 0..20 {
            let _ = hold(context, &format!("how=nmi us={US} count=30"))?;
            let all = lines(&own);
            if all.iter().any(|line| longest(line) >= US) {
                return Ok(());
            }
        }
        fail!("not seen: {:?}", lines(&own))
    })();
    own.set("current_tracer", "nop")?;
    for (file, text) in files.iter().zip(before).rev() {
        top.set(file, text?.trim())?;
    }
    result
}

/// The longest time of a line of hwlat, in microseconds.
fn longest(line: &str) -> u64 {
    let times = line.split_once("inner/outer(us): ");
    let times = times.and_then(|(_, rest)| rest.split_whitespace().next());
    let times = times.unwrap_or("").split('/');
    times
        .filter_map(|time| time.parse().ok())
        .max()
        .unwrap_or(0)
}

/// What a sampler says of a section: when it told of that, the bounds and how often it looked.
fn sampled_section(line: &str) -> Option<(u64, u64, u64, u64)> {
    let (told, text) = of_cpu(line)?;
    let (_, text) = text.split_once(" off: at least ")?;
    let (lower, text) = text.split_once(" us, at most ")?;
    let (upper, text) = text.split_once(" us, ")?;
    let ns = |us: &str| us.replace('.', "").parse::<u64>().ok();
    let looks = text.split_once(' ')?.0.parse().ok()?;
    Some((told, ns(lower)?, ns(upper)?, looks))
}

/// Each delay lies between the bounds, and the callers of the section are those that made it.
fn sampled(context: &Context) -> Check {
    let mut kinds = vec![
        ("irqsoff_sampled", "irqs", "rtdelay"),
        ("preemptoff_sampled", "preempt", "rtdelay"),
    ];
    // Those of a task can be preempted.
    if !sys::softirqs_are_of_tasks() {
        kinds.push(("preemptoff_sampled", "softirq", ""));
    }
    for (tracer, how, task) in kinds {
        let mut seen = String::new();
        // The host may have other things to do than a CPU, which is a section as well: a longer one is found.
        let found = [20_000, 40_000, 80_000, 160_000].into_iter().any(|us| {
            let found = sampled_once(context, tracer, how, task, us);
            found.map_err(|why| seen.push_str(&why)).is_ok()
        });
        ensure!(found, "{tracer}, {how}: {seen}");
    }
    Ok(())
}

fn sampled_once(context: &Context, tracer: &str, how: &str, task: &str, us: u64) -> Check {
    let own = Instance::new(&context.root, "rtg-delays")?;
    own.set("current_tracer", tracer)?;
    own.set("options/latency-format", "0")?;
    let delays = hold(context, &format!("how={how} us={us} count=3"))?;
    // The look after the last one.
    std::thread::sleep(std::time::Duration::from_millis(50));
    own.set("tracing_on", "0")?;
    let (text, longest) = (own.get("trace")?, own.get("tracing_max_latency")?);
    let told: Vec<_> = text.lines().filter_map(sampled_section).collect();
    let [(at, lower, upper, looks)] = told[..] else {
        fail!("one section: {text}");
    };
    let mut near = delays.iter();
    // It is told of at the look after it, or as it ends.
    let near = near.find(|delay| at + ROUNDED >= delay.end && at < delay.end + about(delay.len()));
    let Some(delay) = near else {
        fail!("{delays:?}: {text}");
    };
    let length = delay.len();
    ensure!(upper >= about(length), "{delay:?} above {upper}: {text}");
    let room = at + ROUNDED - delay.begin;
    ensure!(about(lower) <= room, "{delay:?} below {lower}: {text}");
    ensure!(
        lower * 2 >= length,
        "{delay:?}, at least {lower} only: {text}"
    );
    if how != "irqs" {
        ensure!(looks > 1, "{looks} looks: {text}");
    }
    ensure_eq!(
        longest.trim(),
        ((lower + 500) / 1_000).to_string(),
        "{text}"
    );
    ensure!(
        text.contains(&format!("looks at {task}")) || text.contains(&format!("look at {task}")),
        "not {task}: {text}"
    );
    ensure!(text.contains(" => "), "no callers: {text}");
    if !task.is_empty() {
        ensure!(text.contains(" => kthread\n"), "other callers: {text}");
    }
    println!("{how}: {length} ns, told {lower} to {upper} ns, {looks} looks");
    Ok(())
}
