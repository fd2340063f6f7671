// SPDX-License-Identifier: GPL-2.0

//! `trace-cmd sqlhist`: from a query it makes a synthetic event and the histograms of two events. The same on tracefs
//! and on rtracefs, but for the numbers in the names that it makes up.

use super::clients_commands::on_both;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::client::{without_numbers, Client};
use crate::soak::rounds;
use crate::tree::Tree;
use crate::Context;

pub const TESTS: &[Test] = &[test("clients.sqlhist", 120, sqlhist)];

const WAKING: &str = "sched/sched_waking";
const SWITCH: &str = "sched/sched_switch";

/// Options and queries, one after the other.
const QUERIES: &[(&str, &str)] = &[
    // Strings of both events.
    (
        "-e -n rtg_two",
        "SELECT start.comm AS who, end.next_comm AS comm, start.prio, \
         (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat \
         FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid WHERE start.prio < 140",
    ),
    // The largest, with a snapshot.
    (
        "-e -n rtg_max -T -m lat",
        "SELECT end.next_comm AS comm, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat \
         FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid",
    ),
    // A histogram alone.
    ("-e", "SELECT CAST(next_pid AS _COUNTER_), CAST(prev_prio AS HEX) FROM sched_switch"),
    // What is wrong.
    (
        "-e -n rtg_no",
        "SELECT a.pid FROM nosuch AS a JOIN sched_switch AS b ON a.pid = b.next_pid",
    ),
];

const MADE: &[&str] = &["rtg_two", "rtg_max"];

/// What a tree says after a query.
fn state(tree: &Tree) -> Check<String> {
    let mut all = tree.get("synthetic_events")?;
    for event in [WAKING, SWITCH] {
        all += &tree.get(&format!("events/{event}/trigger"))?;
    }
    let lines: Vec<&str> = all.lines().filter(|line| !line.starts_with('#')).collect();
    Ok(without_numbers(&lines.join("\n")))
}

fn sqlhist(context: &Context) -> Check {
    Client::of(context)?;
    let trees = [Tree::at(&context.root), Tree::at(&context.reference)];
    let mut report = Report::default();
    for (options, query) in QUERIES.iter().take(rounds(MADE.len(), QUERIES.len())) {
        let mut words = vec!["sqlhist"];
        words.extend(options.split(' '));
        words.push(query);
        // Each takes seconds to read all formats.
        let (own, reference) = on_both(false, |client| {
            let answer = client.trace_cmd(&words, &[])?;
            let text = without_numbers(&(answer.out + &answer.err));
            // It prints paths, and the last error of any file that it looked for.
            let text = text.replace("/sys/kernel/rtracing", "/sys/kernel/tracing");
            let text = text.replace("/sys/kernel/debug/tracing", "/sys/kernel/tracing");
            let text = text.replace("trace-cmd: No such file or directory\n", "");
            Ok((answer.status == 0, text))
        })?;
        let said = [own, reference];
        report.expect(said[0] == said[1], || format!("{query}: {said:#?}"));
        let states = [state(&trees[0])?, state(&trees[1])?];
        report.expect(states[0] == states[1], || format!("{query}: {states:#?}"));
    }
    let own = &trees[0];
    for name in MADE {
        own.set(&format!("events/synthetic/{name}/enable"), "1")?;
    }
    crate::workload::mixed(1);
    let text = own.get("trace")?;
    for line in text.lines().filter(|line| line.contains(": rtg_")) {
        let lat = line.rsplit_once(" lat=").map(|(_, lat)| lat.parse::<u64>());
        report.expect(matches!(lat, Some(Ok(0..10_000_000))), || line.to_string());
        for name in ["who=", "comm="] {
            report.expect(!line.contains(&format!("{name} ")), || {
                format!("no name: {line}")
            });
        }
    }
    for name in MADE {
        report.expect(text.contains(&format!(": {name}: ")), || {
            format!("no {name} in\n{text}")
        });
    }
    for tree in &trees {
        for name in MADE {
            tree.set(&format!("events/synthetic/{name}/enable"), "0")?;
        }
        // What refers to the other goes first.
        for event in [SWITCH, WAKING] {
            tree.empty(&format!("events/{event}/trigger"))?;
        }
        tree.set("synthetic_events", "")?;
        for name in MADE {
            tree.set("synthetic_events", &format!("!{name}"))?;
        }
        tree.empty("error_log")?;
        tree.clear()?;
    }
    report.finish()
}
