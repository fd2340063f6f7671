// SPDX-License-Identifier: GPL-2.0

//! Side by side, as text: the lines of `trace`, and of `trace_pipe`, are those of
//! the kernel's tracefs but for the stamps.

use super::side::{Pair, EVERYTHING};
use super::{test, Test};
use crate::align;
use crate::check::{Check, Report};
use crate::sys;
use crate::tree::Tree;
use crate::workload;
use crate::Context;
use std::collections::BTreeMap;
use std::io::Read;

pub const TESTS: &[Test] = &[
    test("side.text", 120, |c| {
        lines(c, &["sched", "irq", "timer", "signal", "task", "workqueue"])
    }),
    test("side.text_all", 120, |c| lines(c, EVERYTHING)),
    test("side.text_pipe", 120, pipe_is_trace),
];

#[derive(Debug, PartialEq, Clone)]
struct Line {
    comm: String,
    pid: String,
    cpu: String,
    flags: String,
    stamp: String,
    text: String,
}

const UNKNOWN: &str = "<...>";

/// `comm-pid [cpu] flags stamp: text`; the name may hold anything.
fn parse(line: &str) -> Option<Line> {
    let (task, rest) = line.split_once(" [")?;
    let (comm, pid) = task.trim().rsplit_once('-')?;
    let (cpu, rest) = rest.split_once("] ")?;
    let (flags, rest) = rest.split_once(' ')?;
    let (stamp, text) = rest.split_once(": ")?;
    let own = |text: &str| text.trim().to_string();
    Some(Line {
        comm: own(comm),
        pid: own(pid),
        cpu: own(cpu),
        flags: own(flags),
        stamp: own(stamp),
        text: stable(text),
    })
}

/// The text without what each tracer reads anew: the clock of timers, the end of a task.
fn stable(text: &str) -> String {
    let clocks = ["now=", "[timeout="];
    if text.starts_with("sched_switch:") {
        // A parent may reap a task that leaves for good between the two probes.
        return text.replace("prev_state=X ", "prev_state=Z ");
    }
    if !text.starts_with("timer_") {
        return text.to_string();
    }
    let words = text
        .split(' ')
        .filter(|word| !clocks.iter().any(|clock| word.starts_with(clock)));
    words.collect::<Vec<_>>().join(" ")
}

impl Line {
    /// As `Serial` of the records: a context whose lines cannot mix with those of another.
    fn serial(&self) -> String {
        let flag = |at| self.flags.chars().nth(at).unwrap_or('?');
        let shut_out = match (flag(0), flag(3)) {
            ('d' | 'D', _) => "irqs off",
            ('.', '.') => "preemptible",
            _ => "not preemptible",
        };
        let of_task = |level| level == '.' || level == 's' && sys::softirqs_are_of_tasks();
        match flag(2) {
            level if of_task(level) && self.pid != "0" => format!("task {}, {shut_out}", self.pid),
            level => format!("{level} on {}, {shut_out}", self.cpu),
        }
    }

    /// Equal but for the stamp, the need-resched letter, and a name that is not known.
    fn same(&self, other: &Line) -> bool {
        let flags = |line: &Line| {
            line.flags
                .char_indices()
                .filter(|(i, _)| *i != 1)
                .map(|(_, c)| c)
                .collect::<String>()
        };
        let comm = self.comm == other.comm || self.comm == UNKNOWN || other.comm == UNKNOWN;
        comm && self.pid == other.pid && flags(self) == flags(other) && self.text == other.text
    }
}

fn read_lines(text: &str, file: &str) -> Check<Vec<Line>> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| parse(line).ok_or_else(|| format!("{file}: not a line: {line:?}")))
        .collect()
}

fn by_serial(lines: Vec<Line>) -> BTreeMap<String, Vec<Line>> {
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for line in lines {
        found.entry(line.serial()).or_default().push(line);
    }
    found
}

fn unknown(lines: &[Line]) -> usize {
    lines.iter().filter(|line| line.comm == UNKNOWN).count()
}

/// Stamps of a merged file never go back.
fn in_order(lines: &[Line], file: &str) -> Check {
    for pair in lines.windows(2) {
        let stamp = |line: &Line| line.stamp.replace('.', "").parse::<u64>().unwrap_or(0);
        ensure!(
            stamp(&pair[0]) <= stamp(&pair[1]),
            "{file}: {:?} before {:?}",
            pair[0],
            pair[1]
        );
    }
    Ok(())
}

/// Lines that are the same in the `trace` of both.
pub struct Compared {
    total: usize,
    /// Lines without the name of the task, in the tree under test and in tracefs.
    unknown: [usize; 2],
    /// Lines by the name of the event.
    pub kinds: BTreeMap<String, usize>,
}

/// Everything that was recorded, which stays.
pub fn compare_all(pair: &Pair) -> Check<Compared> {
    let trace = |tree: &Tree| read_lines(&tree.get("trace")?, &tree.shown("trace"));
    let (own, reference) = (trace(&pair.own)?, trace(&pair.reference)?);
    in_order(&own, "trace")?;
    let mut compared = Compared {
        total: own.len(),
        unknown: [unknown(&own), unknown(&reference)],
        kinds: BTreeMap::new(),
    };

    let mut report = Report::default();
    let reference = by_serial(reference);
    for (key, own) in by_serial(own) {
        let reference = reference.get(&key).map_or(&[][..], Vec::as_slice);
        // At each end there may be one line from the instant of the switch.
        let trimmed = own.get(1..own.len().saturating_sub(1)).unwrap_or_default();
        if let Err((start, common)) = align::find(trimmed, reference, Line::same) {
            report.add(format!(
                "{key}: line {common} of {}: {:?}, tracefs {:?}",
                trimmed.len(),
                trimmed.get(common),
                reference.get(start + common)
            ));
        }
        for line in trimmed {
            let kind = line.text.split(':').next().unwrap_or_default();
            *compared.kinds.entry(kind.to_string()).or_default() += 1;
        }
    }
    report.finish()?;
    Ok(compared)
}

fn lines(context: &Context, systems: &[&str]) -> Check {
    let pair = Pair::new(context, systems)?;
    pair.run(|| workload::mixed(1))?;
    let compared = compare_all(&pair)?;
    let (total, [own, reference]) = (compared.total, compared.unknown);
    ensure!(total > 100, "only {total} lines");
    ensure!(
        own <= reference + total / 100,
        "{own} of {total} lines lack a name, in tracefs {reference}"
    );
    println!("{total} lines, {own} without a name (tracefs {reference})");
    Ok(())
}

/// trace_pipe gives the lines that trace gave, and takes them.
fn pipe_is_trace(context: &Context) -> Check {
    let pair = Pair::new(context, &["sched", "irq", "timer"])?;
    pair.run(|| workload::mixed(1))?;
    let wanted = read_lines(&pair.own.get("trace")?, "trace")?;

    let mut pipe = pair
        .own
        .open_nonblock("trace_pipe")
        .map_err(|e| format!("trace_pipe: {e}"))?;
    let (mut text, mut bytes) = (Vec::new(), [0; 4096]);
    while let Ok(n @ 1..) = pipe.read(&mut bytes) {
        text.extend_from_slice(&bytes[..n]);
    }
    drop(pipe);
    let found = read_lines(&String::from_utf8_lossy(&text), "trace_pipe")?;
    ensure_eq!(found.len(), wanted.len(), "lines");
    if let Some((found, wanted)) = found.iter().zip(&wanted).find(|(a, b)| a != b) {
        fail!("trace_pipe {found:?}, trace {wanted:?}");
    }
    let left = read_lines(&pair.own.get("trace")?, "trace")?;
    ensure!(left.is_empty(), "{} lines are left in trace", left.len());
    Ok(())
}
