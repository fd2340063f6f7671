// SPDX-License-Identifier: GPL-2.0

//! The trace of the longest latency: how long, who waited, and what took the CPU meanwhile.

use serde::Serialize;

/// What took the CPU: an interrupt, a soft interrupt or a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Noise {
    pub kind: &'static str,
    pub name: String,
    pub count: u64,
    pub ns: u64,
}

/// What the trace of a tracer of latencies says.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    pub max_us: u64,
    /// `NAME-PID` of the task that waited, or that was looked at.
    pub task: String,
    pub cpu: Option<u32>,
    /// The most first.
    pub noises: Vec<Noise>,
    /// What was proven of a section that was sampled.
    pub proven: Option<String>,
    /// The callers, the innermost first.
    pub callers: Vec<String>,
}

/// The events of `osnoise` that tell of a duration.
const KINDS: &[(&str, &str)] = &[
    ("irq_noise: ", "interrupt"),
    ("softirq_noise: ", "soft interrupt"),
    ("thread_noise: ", "thread"),
];

/// Returns kind, name and nanoseconds of a line with an event of `osnoise`.
pub fn noise(line: &str) -> Option<(&'static str, String, u64)> {
    let (at, mark, kind) = KINDS
        .iter()
        .filter_map(|(mark, kind)| {
            line.find(&format!(" {mark}"))
                .map(|at| (at + 1, *mark, *kind))
        })
        .next()?;
    let rest = &line[at + mark.len()..];
    let (name, rest) = rest.split_once(" start ")?;
    let (_, rest) = rest.split_once(" duration ")?;
    let ns = rest.split(' ').next()?.parse().ok()?;
    let name = name.trim();
    // An idle CPU is taken by nothing.
    let is_idle = name.starts_with("swapper/") && name.ends_with(":0");
    (!is_idle).then(|| (kind, name.to_string(), ns))
}

/// Returns the microseconds since the beginning of the latency in a line with them: `5299us+: `.
fn since_begin(line: &str) -> Option<u64> {
    let (before, _) = line.split_once(": ")?;
    let (before, _) = before.rsplit_once("us")?;
    before.rsplit(' ').next()?.parse().ok()
}

/// Returns the CPU of a line with the microseconds since the beginning of the latency: that before the flags in
/// `rtdelay/-131       1dNh2. 5299us+: `.
fn cpu_of(line: &str) -> Option<u32> {
    let (before, _) = line.split_once(": ")?;
    let (before, _) = before.rsplit_once("us")?;
    let place = before.split_whitespace().rev().nth(1)?;
    let (cpu, _) = place.split_once(|c: char| !c.is_ascii_digit())?;
    cpu.parse().ok()
}

/// Adds a noise to those of its name.
pub fn add_noise(noises: &mut Vec<Noise>, (kind, name, ns): (&'static str, String, u64)) {
    match noises.iter_mut().find(|n| n.kind == kind && n.name == name) {
        Some(noise) => {
            noise.count += 1;
            noise.ns += ns;
        }
        None => noises.push(Noise {
            kind,
            name,
            count: 1,
            ns,
        }),
    }
}

impl Lateness {
    /// Returns what a text of `trace` says; None without the header of a latency.
    pub fn of(text: &str) -> Option<Self> {
        let mut all = Self::default();
        let mut is_there = false;
        let mut wants_callers = false;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# latency: ") {
                is_there = true;
                all.max_us = rest.split(' ').next()?.parse().ok()?;
                let cpu = rest
                    .split_once("CPU#")
                    .and_then(|(_, cpu)| cpu.split(' ').next());
                all.cpu = cpu.and_then(|cpu| cpu.parse().ok());
            } else if let Some((_, rest)) = line.split_once("| task: ") {
                all.task = rest.split(" (uid:").next().unwrap_or(rest).to_string();
            } else if let Some((kind, name, ns)) = noise(line) {
                // The other CPUs recorded theirs meanwhile, and nobody waited for those.
                if cpu_of(line).is_some_and(|on| all.cpu.is_some_and(|cpu| cpu != on)) {
                    continue;
                }
                // What began before the latency took only a part of it.
                let most = since_begin(line).map_or(ns, |us| us * 1000);
                add_noise(&mut all.noises, (kind, name, ns.min(most)));
            } else if let Some(at) = line.find(" off: at least ") {
                let begin = line[..at].rfind(": ").map_or(0, |colon| colon + 2);
                all.proven = Some(line[begin..].to_string());
                all.callers.clear();
                wants_callers = true;
            } else if let Some(caller) = line.trim_start().strip_prefix("=> ") {
                if wants_callers {
                    all.callers.push(caller.to_string());
                }
            } else if !line.ends_with("<stack trace>") {
                wants_callers = false;
            }
        }
        all.noises.sort_by(|a, b| b.ns.cmp(&a.ns));
        is_there.then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAKEUP: &str = "\
# tracer: wakeup_rt
# latency: 40506 us, #50/50, CPU#1 | (M:PREEMPT(lazy) VP:0, KP:0, SP:0 HP:0 #P:2)
#    | task: rtwoken/1-130 (uid:0 nice:0 policy:1 rt_prio:50)
rtdelay/-131       1dNh2. 5299us+: irq_noise: local_timer:236 start 11.340854670 duration 67560 ns
      sh-120       0d.h2. 5400us : irq_noise: local_timer:236 start 11.340954670 duration 300000 ns
rtdelay/-131       1dNh2. 6299us+: irq_noise: local_timer:236 start 11.340954670 duration 2440 ns
rtdelay/-131       1.Ns2. 5331us#: softirq_noise:    SCHED:7 start 11.340939336 duration 15703 ns
rtdelay/-131       1d..2. 40433us+: thread_noise: rtdelay/1:131 start 11.333319213 duration 41775530 ns
 <idle>/-0         1d..2. 40434us+: thread_noise: swapper/1:0 start 11.300000000 duration 1000 ns
";

    #[test]
    fn the_longest_wait_and_what_was_in_its_way() {
        let all = Lateness::of(WAKEUP).expect("a latency");
        assert_eq!(
            (all.max_us, &all.task[..], all.cpu),
            (40506, "rtwoken/1-130", Some(1))
        );
        let rows: Vec<_> = all
            .noises
            .iter()
            .map(|n| (n.kind, &n.name[..], n.count, n.ns))
            .collect();
        assert_eq!(
            rows,
            [
                ("thread", "rtdelay/1:131", 1, 40433000),
                ("interrupt", "local_timer:236", 2, 70000),
                ("soft interrupt", "SCHED:7", 1, 15703),
            ]
        );
    }

    #[test]
    fn a_line_has_its_cpu() {
        let rows = [
            ("rtdelay/-131       1dNh2. 5299us+: x", Some(1)),
            ("    a 1 -99999     12.N... 7us : x", Some(12)),
            ("  <idle>-0       255d..2.    0us : x", Some(255)),
            (" <idle>-0       [000] d.h1.     4.659000: x", None),
            ("", None),
        ];
        for (line, cpu) in rows {
            assert_eq!(cpu_of(line), cpu, "{line}");
        }
    }

    #[test]
    fn a_sampled_section_has_its_bounds_and_callers() {
        let text = "\
# latency: 19040 us, #2/2, CPU#1 | (M:PREEMPT(lazy) VP:0, KP:0, SP:0 HP:0 #P:2)
#    | task: rtdelay/1-143 (uid:0 nice:0 policy:0 rt_prio:0)
rtdelay/-143       1d.h1. 20041us : preemption off: at least 19040.105 us, at most 20970.441 us, 20 looks at rtdelay/1-143
rtdelay/-143       1d.h1. 20046us : <stack trace>
 => hold
 => thread
";
        let all = Lateness::of(text).expect("a latency");
        let proven = all.proven.expect("bounds");
        assert!(
            proven.starts_with("preemption off: at least 19040.105 us"),
            "{proven}"
        );
        assert_eq!(all.callers, ["hold", "thread"]);
    }

    #[test]
    fn a_trace_without_a_latency_has_none() {
        assert_eq!(Lateness::of("# tracer: nop\n#\n"), None);
    }
}
