// SPDX-License-Identifier: GPL-2.0

//! `rtrace latency timerlat` and `osnoise`: histograms of their samples in the kernel, and for the
//! longest latency the snapshot that it took.

use crate::args::Latency;
use crate::commands::latency::show_noises;
use crate::instance::Instance;
use crate::job::{code, Job, Watch};
use crate::output::{time, Colour, Output};
use crate::parse::hist;
use crate::parse::lateness::{add_noise, noise as noise_of, Noise};
use crate::tree::Tree;
use anyhow::{bail, Result};
use serde_json::{json, Value};

/// What is measured, by the number in the records of `timerlat`.
const CONTEXTS: &[&str] = &["timer interrupt", "thread", "return to user"];
/// The events that tell what took a CPU, with the field that names it.
const NOISES: &[(&str, &str, &str)] = &[
    ("irq_noise", "desc", "interrupt"),
    ("softirq_noise", "vector", "soft interrupt"),
    ("thread_noise", "comm", "thread"),
];
/// How many names of each kind are shown.
const MOST: usize = 5;
/// The statistics of a field.
const STATISTICS: &str =
    "timer_latency.min,timer_latency.avg,timer_latency.max,timer_latency.quantiles";

/// Returns CPU and microseconds of a line of `trace`.
fn place(line: &str) -> Option<(u32, u64)> {
    let (_, rest) = line.split_once(" [")?;
    let (cpu, rest) = rest.split_once(']')?;
    let stamp = rest.split_whitespace().nth(1)?.strip_suffix(':')?;
    let (seconds, us) = stamp.split_once('.')?;
    let us: u64 = us.parse().ok()?;
    Some((
        cpu.parse().ok()?,
        seconds.parse::<u64>().ok()? * 1_000_000 + us,
    ))
}

/// Returns the name of a number in a list of names.
fn name_in(names: &[&'static str], number: Option<u64>) -> Option<&'static str> {
    names.get(usize::try_from(number?).ok()?).copied()
}

/// Returns what the records of `timerlat` call that number.
fn context(number: Option<u64>) -> &'static str {
    name_in(CONTEXTS, number).unwrap_or("?")
}

/// Returns the number of `NAME=` in a line.
fn number(line: &str, name: &str) -> Option<u64> {
    let (_, rest) = line.split_once(&format!(" {name}="))?;
    rest.split(' ').next()?.parse().ok()
}

/// The longest latency of a snapshot.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
struct Longest {
    ns: u64,
    cpu: u32,
    context: &'static str,
    noises: Vec<Noise>,
}

/// Returns the longest latency in a snapshot and what took its CPU meanwhile.
fn longest(snapshot: &str) -> Option<Longest> {
    let samples = snapshot
        .lines()
        .filter(|line| line.contains(" timerlat_sample: "));
    let worst = samples.max_by_key(|line| number(line, "timer_latency"))?;
    let ns = number(worst, "timer_latency")?;
    let (cpu, end) = place(worst)?;
    let begin = end.saturating_sub(ns.div_ceil(1000));
    let mut noises = Vec::new();
    for line in snapshot.lines() {
        let Some((on, at)) = place(line) else {
            continue;
        };
        if on != cpu || !(begin..=end).contains(&at) {
            continue;
        }
        if let Some((kind, name, ns)) = noise_of(line) {
            // What began before the latency took only a part of it.
            add_noise(&mut noises, (kind, name, ns.min((at - begin) * 1000)));
        }
    }
    noises.sort_by(|a, b| b.ns.cmp(&a.ns));
    Some(Longest {
        ns,
        cpu,
        context: context(number(worst, "context")),
        noises,
    })
}

/// Returns a number as one, 0 for what is none: the width of a column does not hold for a [`Value`].
fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Returns a number of the values of an entry, 0 if it is not there.
fn value(entry: &Value, name: &str) -> u64 {
    whole(&entry["values"][name])
}

/// Returns the upper end of a quantile, 0 if it is not there.
fn quantile(entry: &Value, field: &str, of: &str) -> u64 {
    whole(&entry["values"][format!("{field}.quantiles")][of]["to"])
}

/// Refuses a measurement without samples.
fn has_samples<T>(tree: &Tree, rows: &[T]) -> Result<()> {
    if rows.is_empty() {
        let options = tree.get("osnoise/options")?;
        bail!(
            "no sample was taken (osnoise/options: {})",
            options.trim_end()
        );
    }
    Ok(())
}

/// Measures how late timers and threads are. Returns the exit status.
pub fn late(tree: &Tree, out: Output, latency: &Latency) -> Result<u8> {
    let instance = Instance::new(tree, "latency")?;
    let trigger = "events/osnoise/timerlat_sample/trigger";
    instance.put(
        trigger,
        &format!("hist:keys=common_cpu,context:vals={STATISTICS}:sort=common_cpu,context"),
    )?;
    // The buffer at the longest one is what explains it.
    instance.add(
        trigger,
        "hist:keys=common_type:ns=timer_latency:onmax($ns).snapshot()",
    )?;
    instance.put("events/osnoise/enable", "1")?;
    let mut job = Job::prepare(&latency.span, &instance, Watch::Everything)?;
    instance.set_tracer("timerlat")?;
    job.begin()?;
    job.wait()?;
    instance.put("tracing_on", "0")?;
    let text = instance.show("events/osnoise/timerlat_sample/hist_json")?;
    let snapshot = instance.show("snapshot")?;
    let status = job.end()?;
    let (entries, _) = hist::entries(&text);
    let rows: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["keys"].get("context").is_some())
        .collect();
    has_samples(tree, &rows)?;
    let longest = longest(&snapshot);
    if out.json {
        let trace = latency.trace.then_some(&snapshot);
        out.object(
            &json!({"tracer": "timerlat", "rows": rows, "longest": longest, "trace": trace}),
        )?;
        return Ok(code(status));
    }
    let heading = format!(
        "{:>3} {:<16} {:>9} {:>11} {:>11} {:>11} {:>11} {:>11}",
        "CPU", "LATENCY OF", "SAMPLES", "MIN", "50 %", "99 %", "99.9 %", "MAX"
    );
    out.line(&out.paint(Colour::Bold, &heading))?;
    for entry in rows {
        let ns = |name: &str| time(value(entry, &format!("timer_latency.{name}")));
        let quantile = |of: &str| time(quantile(entry, "timer_latency", of));
        out.line(&format!(
            "{:>3} {:<16} {:>9} {:>11} {:>11} {:>11} {:>11} {:>11}",
            whole(&entry["keys"]["common_cpu"]),
            context(entry["keys"]["context"].as_u64()),
            whole(&entry["hitcount"]),
            ns("min"),
            quantile("p50"),
            quantile("p99"),
            quantile("p99.9"),
            ns("max")
        ))?;
    }
    if let Some(longest) = longest {
        let text = format!(
            "longest: {} of the {} on CPU {}",
            time(longest.ns),
            longest.context,
            longest.cpu
        );
        out.line(&out.paint(Colour::Bold, &text))?;
        if !longest.noises.is_empty() {
            out.line("took the CPU meanwhile:")?;
        }
        show_noises(out, &longest.noises)?;
    }
    if latency.trace {
        out.text(&format!("\n{snapshot}"))?;
    }
    Ok(code(status))
}

/// The soft interrupts, by the number in the records of `osnoise`.
const SOFTIRQS: &[&str] = &[
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
];

/// Returns the name of a soft interrupt.
fn softirq(number: &Value) -> String {
    name_in(SOFTIRQS, number.as_u64()).map_or(number.to_string(), str::to_string)
}

/// What `osnoise_sample` has, as a histogram can add up two fields at a time.
const SAMPLE: &[&str] = &[
    "runtime,noise,max_sample.max",
    "hw_count,nmi_count",
    "irq_count,softirq_count",
    "thread_count",
];

/// Returns the entries of several histograms as one for each key, which has all values.
fn merged(entries: Vec<Value>) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for entry in entries {
        match all.iter_mut().find(|other| other["keys"] == entry["keys"]) {
            Some(other) => {
                let more = entry["values"].as_object().cloned().unwrap_or_default();
                if let Some(values) = other["values"].as_object_mut() {
                    values.extend(more);
                }
            }
            None => all.push(entry),
        }
    }
    all
}

/// Measures what takes the CPUs. Returns the exit status.
pub fn noise(tree: &Tree, out: Output, latency: &Latency) -> Result<u8> {
    let instance = Instance::new(tree, "latency")?;
    let folder = |event: &str| format!("events/osnoise/{event}");
    for values in SAMPLE {
        let trigger = format!("hist:keys=common_cpu:vals={values}:sort=common_cpu");
        instance.add(&format!("{}/trigger", folder("osnoise_sample")), &trigger)?;
    }
    for (event, key, _) in NOISES {
        let trigger = format!("hist:keys={key}:vals=duration:sort=duration.top={MOST}");
        instance.put(&format!("{}/trigger", folder(event)), &trigger)?;
    }
    let mut job = Job::prepare(&latency.span, &instance, Watch::Everything)?;
    instance.set_tracer("osnoise")?;
    job.begin()?;
    job.wait()?;
    instance.put("tracing_on", "0")?;
    let (rows, _) =
        hist::entries(&instance.show(&format!("{}/hist_json", folder("osnoise_sample")))?);
    let rows = merged(rows);
    has_samples(tree, &rows)?;
    let mut noises = Vec::new();
    for (event, key, kind) in NOISES {
        let (entries, _) = hist::entries(&instance.show(&format!("{}/hist_json", folder(event)))?);
        for entry in entries {
            let name = match &entry["keys"][key] {
                Value::String(name) => name.clone(),
                other => softirq(other),
            };
            noises.push(Noise {
                kind,
                name,
                count: whole(&entry["hitcount"]),
                ns: value(&entry, "duration"),
            });
        }
    }
    noises.sort_by(|a, b| b.ns.cmp(&a.ns));
    let status = job.end()?;
    if out.json {
        out.object(&json!({"tracer": "osnoise", "rows": rows, "noises": noises}))?;
        return Ok(code(status));
    }
    let heading = format!(
        "{:>3} {:>9} {:>11} {:>9} {:>11} {:>6} {:>6} {:>8} {:>8} {:>8}",
        "CPU", "PERIODS", "NOISE", "OF ALL", "LONGEST", "HW", "NMI", "IRQ", "SOFTIRQ", "THREAD"
    );
    out.line(&out.paint(Colour::Bold, &heading))?;
    for entry in &rows {
        let number = |name: &str| value(entry, name);
        // The records have microseconds.
        let share = number("noise") as f64 * 100.0 / number("runtime").max(1) as f64;
        out.line(&format!(
            "{:>3} {:>9} {:>11} {:>7.2} % {:>11} {:>6} {:>6} {:>8} {:>8} {:>8}",
            whole(&entry["keys"]["common_cpu"]),
            whole(&entry["hitcount"]),
            time(number("noise") * 1000),
            share,
            time(number("max_sample.max") * 1000),
            number("hw_count"),
            number("nmi_count"),
            number("irq_count"),
            number("softirq_count"),
            number("thread_count")
        ))?;
    }
    out.line(&out.paint(Colour::Bold, "took most:"))?;
    show_noises(out, &noises)?;
    Ok(code(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNAPSHOT: &str = "\
# tracer: timerlat
          <idle>-0       [000] d.h1.     4.659000: irq_noise: local_timer:236 start 4.658000000 duration 99000 ns
          <idle>-0       [001] d.h1.     4.660100: timerlat_sample: timer_latency=92286 seqnum=1 context=0
              sh-120     [001] d..2.     4.660900: thread_noise:       sh:120 start 4.660000000 duration 700000 ns
          <idle>-0       [001] d.h1.     4.660950: irq_noise: local_timer:236 start 4.660910000 duration 30000 ns
      swapper/1-0        [001] d..2.     4.660910: thread_noise: swapper/1:0 start 4.600000000 duration 60000000 ns
          <idle>-0       [001] d.h1.     4.660097: irq_noise: irq:9 start 4.660000000 duration 96000 ns
          <idle>-0       [001] d.h1.     4.650000: irq_noise: local_timer:236 start 4.650000000 duration 11111 ns
      timerlat/1-120     [001] .....     4.661010: timerlat_sample: timer_latency=922541 seqnum=1 context=1
";

    #[test]
    fn the_longest_is_explained_by_what_its_cpu_had_meanwhile() {
        let longest = longest(SNAPSHOT).expect("a sample");
        assert_eq!(
            (longest.ns, longest.cpu, longest.context),
            (922541, 1, "thread")
        );
        let rows: Vec<_> = longest.noises.iter().map(|n| (&n.name[..], n.ns)).collect();
        assert_eq!(
            rows,
            [
                ("sh:120", 700000),
                ("local_timer:236", 30000),
                ("irq:9", 10000)
            ]
        );
    }

    #[test]
    fn a_snapshot_without_samples_explains_nothing() {
        assert_eq!(longest("# tracer: timerlat\n"), None);
    }

    #[test]
    fn histograms_with_the_same_keys_are_merged() {
        let entry = |cpu: u64, name: &str, n: u64| json!({"keys": {"common_cpu": cpu}, "hitcount": 3, "values": {name: n}});
        let all = merged(vec![
            entry(0, "a", 1),
            entry(1, "a", 2),
            entry(0, "b", 3),
            entry(1, "b", 4),
        ]);
        assert_eq!(all.len(), 2);
        assert_eq!(all[1]["values"], json!({"a": 2, "b": 4}));
        assert_eq!(all[0]["hitcount"], 3);
    }

    #[test]
    fn soft_interrupts_have_names() {
        let names = [json!(1), json!(9), json!(10)].map(|n| softirq(&n));
        assert_eq!(names, ["TIMER", "RCU", "10"]);
    }

    #[test]
    fn what_was_measured_has_a_name() {
        let names = [Some(0), Some(2), Some(3), None].map(context);
        assert_eq!(names, ["timer interrupt", "return to user", "?", "?"]);
    }

    #[test]
    fn what_an_entry_lacks_is_zero() {
        let entry = json!({"values": {"a": 3, "b": "text"}});
        let numbers = ["a", "b", "c"].map(|name| value(&entry, name));
        assert_eq!(numbers, [3, 0, 0]);
        assert_eq!(value(&json!({}), "a"), 0);
    }

    #[test]
    fn quantiles_have_an_upper_end() {
        let entry = json!({"values": {"x.quantiles": {"p99": {"from": 5, "to": 9}}}});
        assert_eq!(quantile(&entry, "x", "p99"), 9);
        assert_eq!(quantile(&entry, "x", "p50"), 0);
    }
}
