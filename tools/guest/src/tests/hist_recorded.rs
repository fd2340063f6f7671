// SPDX-License-Identifier: GPL-2.0

//! Histograms of events that are recorded as well: what is counted is what is in the ring.

use super::{hists, test, Test};
use crate::check::{Check, Report};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::collections::BTreeMap;

pub const TESTS: &[Test] = &[test("hist.recorded", 60, recorded)];

const RENAMES: usize = 200;
const PROGRAMS: usize = 20;

/// The task gets names of many lengths.
fn rename() -> Check {
    for round in 0..RENAMES {
        let name = format!("rtg{}", "x".repeat(round % 12));
        std::fs::write("/proc/thread-self/comm", name).map_err(|e| format!("comm: {e}"))?;
    }
    Ok(())
}

/// Programs are executed: each forks, and is loaded by a name.
fn execute() -> Check {
    for _ in 0..PROGRAMS {
        let status = std::process::Command::new("true").status();
        ensure!(status.is_ok_and(|status| status.success()), "true");
    }
    Ok(())
}

/// How often the fields have these numbers.
type Counts = BTreeMap<Vec<String>, usize>;

/// Counts the lines of an event by its fields.
fn lines(text: &str, event: &str, fields: &[&str]) -> Counts {
    let mut counts = Counts::new();
    let begin = format!(" {event}: ");
    for (_, line) in text.lines().filter_map(|line| line.split_once(&begin)) {
        let number = |field: &&str| {
            let mut words = line.split([' ', '=']).skip_while(|word| word != field);
            words.nth(1).unwrap_or_default().to_string()
        };
        *counts
            .entry(fields.iter().map(number).collect())
            .or_default() += 1;
    }
    counts
}

/// Returns what the entries of a histogram say.
fn entries(text: &str) -> Counts {
    let number = |key: &str| key.split(':').nth(1).unwrap_or_default().trim().to_string();
    let rows = hists::entries(text);
    rows.map(|(keys, hits, _)| (keys.split(',').map(number).collect(), hits as usize))
        .collect()
}

/// An event that a workload makes.
struct Row {
    event: &'static str,
    /// The keys, and their names in lines.
    fields: &'static [(&'static str, &'static str)],
    /// Whether the first one is this task, so that those of others are told apart.
    is_own: bool,
    workload: fn() -> Check,
    /// So many events, at least.
    least: usize,
}

const ROWS: &[Row] = &[
    // A number at the end.
    Row {
        event: "task/task_rename",
        fields: &[("pid", "pid"), ("oom_score_adj", "oom_score_adj")],
        is_own: true,
        workload: rename,
        least: RENAMES,
    },
    // Strings after it.
    Row {
        event: "sched/sched_process_fork",
        fields: &[("parent_pid", "pid"), ("child_pid", "child_pid")],
        is_own: true,
        workload: execute,
        least: PROGRAMS,
    },
    // Its word is not whole in the shortest record.
    Row {
        event: "sched/sched_process_exec",
        fields: &[("pid", "pid"), ("old_pid", "old_pid")],
        is_own: false,
        workload: execute,
        least: PROGRAMS,
    },
];

/// The same events in both, counted where they are recorded and beside the ring.
fn recorded(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let task = sys::thread_id().to_string();
    let mut report = Report::default();
    for row in ROWS {
        let keys: Vec<&str> = row.fields.iter().map(|(key, _)| *key).collect();
        let shown: Vec<&str> = row.fields.iter().map(|(_, shown)| *shown).collect();
        for modifier in ["", ":size=auto", " if common_pid >= 0"] {
            if modifier == ":size=auto" && !context.is_rtracefs() {
                continue;
            }
            let command = format!("hist:keys={}{modifier}", keys.join(","));
            let (text, hist) = one(&own, row, &command)?;
            let name = row.event.rsplit('/').next().unwrap_or_default();
            let mut counts = [lines(&text, name, &shown), entries(&hist)];
            if row.is_own {
                counts.iter_mut().for_each(|counts| {
                    counts.retain(|numbers, _| numbers.first() == Some(&task));
                });
            }
            let [in_ring, counted] = counts;
            let events: usize = counted.values().sum();
            report.expect(in_ring == counted && events >= row.least, || {
                format!("{name}, {command}: {in_ring:?}, counted {counted:?}")
            });
        }
    }
    own.remove()?;
    report.finish()
}

/// Returns the lines and the histogram of an event.
fn one(own: &Tree, row: &Row, command: &str) -> Check<(String, String)> {
    let file = |name: &str| format!("events/{}/{name}", row.event);
    own.clear()?;
    own.set(&file("trigger"), command)?;
    own.set(&file("enable"), "1")?;
    (row.workload)()?;
    own.set(&file("enable"), "0")?;
    let texts = (own.get("trace")?, own.get(&file("hist"))?);
    own.set(&file("trigger"), &format!("!{command}"))?;
    Ok(texts)
}
