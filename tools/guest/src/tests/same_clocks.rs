// SPDX-License-Identifier: GPL-2.0

//! Every clock: the same work recorded by both tracers has the same lines but for the stamps, each
//! stamp lies between those that the other tracer took before and after it, and a line shows the
//! stamp of its record. `clients.report_clocks` has trace-cmd read them.

use super::options_forms::{lines_of, record_by, some_processes, stable, Recorded, EVENTS};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::soak::Share;
use crate::stream;
use crate::tree::Tree;
use crate::Context;

pub const TESTS: &[Test] = &[test("same.clocks", 180, clocks)];

const CLOCKS: usize = 8;

/// Clocks that do not count nanoseconds: their stamps are printed as they are.
const PLAIN: &[&str] = &["counter", "uptime", "x86-tsc"];

fn clocks(context: &Context) -> Check {
    let names = Tree::at(&context.root).get("trace_clock")?;
    let mut report = Report::default();
    let (mut same, mut chosen) = (0, 0);
    let share = Share::one_of(2);
    let names: Vec<_> = names.split_whitespace().collect();
    ensure!(names.len() >= CLOCKS, "only {names:?}");
    for clock in names {
        let clock = clock.trim_matches(['[', ']']);
        if !share.has(clock) {
            continue;
        }
        chosen += 1;
        let recorded = record_by(context, clock, EVENTS, &[], some_processes)?;
        match compare(clock, &recorded) {
            Ok(events) => {
                println!("{clock}: {events} events");
                same += 1;
            }
            Err(reason) => report.add(format!("{clock}: {reason}")),
        }
    }
    report.finish()?;
    println!("{same} clocks");
    ensure_eq!(same, chosen, "clocks");
    Ok(())
}

/// The number of events that are the same.
fn compare(clock: &str, recorded: &Recorded) -> Check<usize> {
    let mut texts = Vec::new();
    let mut stamps = Vec::new();
    for (tree, ids) in recorded.trees() {
        // Where the work was done: a thread of the kernel may make another one elsewhere.
        let lines = lines_of(&tree.get("per_cpu/cpu0/trace")?);
        let stream = stream::drain_cpu(tree, 0)?;
        ensure_eq!(lines.len(), stream.records.len(), "lines and records");
        for (line, record) in lines.iter().zip(&stream.records) {
            let wanted = printed(clock, record.ts);
            ensure!(line.contains(&wanted), "{line:?}: stamp {}", record.ts);
        }
        texts.push(
            lines
                .iter()
                .map(|line| stable(line, ids))
                .collect::<Vec<_>>(),
        );
        stamps.push(stream.records.iter().map(|r| r.ts).collect::<Vec<_>>());
    }
    ensure!(texts[0].len() > 12, "only {:?}", texts[0]);
    ensure_eq!(texts[0], texts[1], "lines");
    match clock {
        // Each tracer has a counter of its own.
        "counter" => {
            for stamps in &stamps {
                let rises = stamps.windows(2).all(|pair| pair[0] < pair[1]);
                ensure!(rises, "does not count: {stamps:?}");
            }
        }
        _ => {
            between(&stamps[0], &stamps[1])?;
            between(&stamps[1], &stamps[0])?;
        }
    }
    Ok(texts[0].len())
}

/// How `trace` shows a stamp.
fn printed(clock: &str, stamp: u64) -> String {
    if PLAIN.contains(&clock) {
        return format!(" {stamp:12}: ");
    }
    let us = (stamp + 500) / 1000;
    format!(" {:5}.{:06}: ", us / 1_000_000, us % 1_000_000)
}

/// Either probe of an event may come first, but both come before those of the next event.
fn between(own: &[u64], reference: &[u64]) -> Check {
    for (at, stamp) in own.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| reference.get(at));
        let behind = reference.get(at + 1);
        ensure!(
            before.is_none_or(|before| before <= stamp) && behind.is_none_or(|b| stamp <= b),
            "stamp {stamp} of event {at} is not between {before:?} and {behind:?}"
        );
    }
    Ok(())
}
