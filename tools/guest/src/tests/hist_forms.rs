// SPDX-License-Identifier: GPL-2.0

//! `hist_json`, which says what `hist` says, and `hist_take`, which loses and repeats no event.

use super::hists::{self, lseek, total, ENTER};
use super::json::objects;
use super::{exact, test, Test};
use crate::callers;
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak::record::{CONTEXTS, RINGS};
use crate::soak::writers::Writers;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::io::Read;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("hist.json", 60, json),
    test("hist.take", 60, take),
    exact("hist.taken", 120, taken).with_testapi(),
];

pub(super) const SOAK: &str = "rtsoak/rtsoak_event";

pub(super) fn file(event: &str, name: &str) -> String {
    format!("events/{event}/{name}")
}

pub(super) fn instance(context: &Context) -> Check<Instance> {
    if !context.is_rtracefs() {
        skip!("tracefs has no such files");
    }
    Instance::new(&context.root, "rtg-own")
}

fn feed() {
    lseek(&[(1, -1), (2, 7), (300, 100), (300, -5), (-1, 9), (2, 7)]);
}

/// How often the writers begin.
const ROUNDS: usize = 4;

/// Returns the counts of the entries in the text of `hist`, in their order.
fn counts(text: &str) -> Vec<u64> {
    hists::entries(text).map(|(_, hits, _)| hits).collect()
}

/// The same entries in the same order, with the numbers as numbers and the modifiers as what they mean.
fn json(context: &Context) -> Check {
    /// A command, and the keys of its entries and their values.
    const ROWS: &[(&str, &str)] = &[
        (
            "hist:keys=offset:sort=offset",
            r#"{"offset":1} {} {"offset":2} {} {"offset":300} {} {"offset":18446744073709551615} {}"#,
        ),
        (
            "hist:keys=offset.log2:vals=fd:sort=offset",
            r#"{"offset":{"from":0,"to":1}} {"fd":4294967295} {"offset":{"from":2,"to":2}} {"fd":8589934590} {"offset":{"from":257,"to":512}} {"fd":8589934590} {"offset":{"from":9223372036854775809,"to":18446744073709551615}} {"fd":4294967295}"#,
        ),
        (
            "hist:keys=offset.buckets=100,whence:sort=offset,whence if offset < 1000",
            r#"{"offset":{"from":0,"to":99},"whence":7} {} {"offset":{"from":0,"to":99},"whence":18446744073709551615} {} {"offset":{"from":300,"to":399},"whence":100} {} {"offset":{"from":300,"to":399},"whence":18446744073709551611} {}"#,
        ),
        (
            "hist:keys=__syscall_nr.syscall:vals=hitcount,whence.percent",
            r#"{"__syscall_nr":"sys_lseek"} {"whence":117}"#,
        ),
        (
            "hist:keys=whence*2,offset/100:sort=hitcount if offset < 1000 && whence > 0 && whence < 10",
            r#"{"whence*2":14,"offset/100":0} {}"#,
        ),
        (
            "hist:keys=common_comm,common_pid.execname",
            r#"{"common_comm":"rtg \"q\"","common_pid":{"comm":"rtg \"q\"","pid":PID}} {}"#,
        ),
    ];
    let own = instance(context)?;
    let mut report = Report::default();
    let name = file(ENTER, "hist_json");
    report.expect(own.get(&name)?.is_empty(), || "none".into());
    callers::name_this_thread(b"rtg \"q\"").map_err(|e| format!("{e}"))?;
    let pid = sys::thread_id().to_string();
    for (command, wanted) in ROWS {
        let command = match command.contains(" if ") {
            true => format!("{command} && common_pid == {pid}"),
            false => format!("{command} if common_pid == {pid}"),
        };
        own.set(&file(ENTER, "trigger"), &command)?;
        feed();
        let (text, json) = (own.get(&file(ENTER, "hist"))?, own.get(&name)?);
        let objects = objects(&json)?;
        let (head, rest) = objects.split_first().ok_or("nothing")?;
        let (totals, entries) = rest.split_last().ok_or("no totals")?;
        // The line is the one that `trigger` shows.
        let line = own.get(&file(ENTER, "trigger"))?;
        let line = line.trim_end().trim_end_matches(" [active]");
        report.expect(
            head.text("trigger") == Some(line)
                && json.starts_with("{\"trigger\":")
                && json.contains("\",\"active\":true}\n"),
            || format!("{command}: {json}"),
        );
        let found: Vec<_> = entries
            .iter()
            .filter_map(|entry| entry.number("hitcount"))
            .collect();
        report.expect(
            found
                == counts(&text)
                    .iter()
                    .map(|n| i128::from(*n))
                    .collect::<Vec<_>>(),
            || format!("{command}:\n{json}{text}"),
        );
        for (member, word) in [
            ("hits", "Hits:"),
            ("entries", "Entries:"),
            ("dropped", "Dropped:"),
        ] {
            report.expect(
                totals.number(member) == Some(total(&text, word).into()),
                || format!("{command}: {member}\n{json}{text}"),
            );
        }
        let keys = json.lines().filter_map(|line| {
            let rest = line.strip_prefix("{\"keys\":")?;
            let (key, rest) = rest.split_once(",\"hitcount\":")?;
            let (_, values) = rest.split_once(",\"values\":")?;
            Some(format!("{key} {}", values.strip_suffix('}')?))
        });
        let keys = keys.collect::<Vec<_>>().join(" ");
        report.expect(keys == wanted.replace("PID", &pid), || {
            format!("{command}:\n{keys}\nwanted:\n{wanted}")
        });
        own.empty(&file(ENTER, "trigger"))?;
    }
    own.remove()?;
    report.finish()
}

/// What a read at the beginning takes, and what an open file still shows of it.
fn take(context: &Context) -> Check {
    let own = instance(context)?;
    let mut report = Report::default();
    let name = file(ENTER, "hist_take");
    report.expect(own.get(&name)?.is_empty(), || "none".into());
    let mut piece = [0; 7];
    // Opened and read when there is nothing.
    let mut early = own.open(&name).map_err(|e| format!("{e}"))?;
    let none = early.read(&mut piece).map_err(|e| format!("{e}"))?;
    report.expect(none == 0, || "something".into());
    let command = format!("hist:keys=offset if common_pid == {}", sys::thread_id());
    own.set(&file(ENTER, "trigger"), &command)?;
    feed();
    let mut text = String::new();
    // Without another call of lseek.
    let mut room = vec![0; 1 << 16];
    let len = early.read(&mut room).map_err(|e| format!("{e}"))?;
    text += &String::from_utf8_lossy(&room[..len]);
    report.expect(total(&text, "Hits:") == 6, || format!("{text}, read early"));
    drop(early);
    feed();
    let shown = own.get(&file(ENTER, "hist"))?;
    let mut open = own.open(&name).map_err(|e| format!("{e}"))?;
    let mut text = String::new();
    // In small pieces: one text.
    loop {
        let n = open.read(&mut piece).map_err(|e| format!("{e}"))?;
        if n == 0 {
            break;
        }
        text += &String::from_utf8_lossy(&piece[..n]);
    }
    report.expect(text == shown, || format!("{text}\nshown:\n{shown}"));
    let hits = |tree: &Tree, name: &str| Ok::<_, String>(total(&tree.get(name)?, "Hits:"));
    report.expect(hits(&own, &file(ENTER, "hist"))? == 0, || {
        "still there".into()
    });
    feed();
    drop(open);
    let again = own.get(&name)?;
    report.expect(again == shown, || format!("{again}\nfirst:\n{shown}"));
    report.expect(hits(&own, &name)? == 0, || "taken twice".into());
    own.empty(&file(ENTER, "trigger"))?;
    // The variables of its entries would be lost.
    own.set(&file(ENTER, "trigger"), "hist:keys=common_pid:v=offset")?;
    let busy = std::fs::read(own.file(&name)).map_err(Errno::from);
    report.expect(busy == Err(EBUSY), || format!("{busy:?}"));
    own.empty(&file(ENTER, "trigger"))?;
    own.remove()?;
    report.finish()
}

/// Returns how many events the writers of each context have tried to record on a CPU.
pub(super) fn attempts(writers: &Writers, cpu: usize) -> Check<Vec<u64>> {
    let written = writers.written()?;
    let of = |which| written.tally(cpu, RINGS, which).attempts;
    Ok((0..CONTEXTS.len()).map(of).collect())
}

/// Returns how many events the writers have tried to record.
pub(super) fn attempted(writers: &Writers) -> Check<u64> {
    let written = writers.written()?;
    let of = |which| written.attempts(RINGS, which);
    Ok((0..CONTEXTS.len()).map(of).sum())
}

/// Taken again and again beside writers in all contexts: every event is in one of the texts.
fn taken(context: &Context) -> Check {
    let own = instance(context)?;
    let writers = Writers::load(context, &[])?;
    let mut report = Report::default();
    for command in [
        "hist:keys=common_cpu,common_flags",
        "hist:keys=number:size=128:vals=number",
    ] {
        own.set(&file(SOAK, "trigger"), command)?;
        let (mut hits, mut drops, mut sum, mut texts) = (0, 0, 0, 0);
        let mut add = |text: String| {
            hits += total(&text, "Hits:");
            drops += total(&text, "Dropped:");
            sum += counts(&text).iter().sum::<u64>();
            texts += usize::from(total(&text, "Hits:") != 0);
        };
        let mut attempts = 0;
        for _ in 0..ROUNDS {
            writers.start(7, 4_000, 0, 0)?;
            while writers.busy()? {
                add(own.get(&file(SOAK, "hist_take"))?);
                std::thread::sleep(Duration::from_millis(2));
            }
            writers.stop()?;
            add(own.get(&file(SOAK, "hist_take"))?);
            attempts += attempted(&writers)?;
        }
        println!("{command}: {hits} hits and {drops} drops of {attempts} events, in {texts} texts");
        report.expect(hits + drops == attempts && sum == hits && texts >= ROUNDS, || {
            format!("{command}: {hits} hits, {sum} in entries, {drops} drops of {attempts}, {texts} texts")
        });
        own.set(&file(SOAK, "trigger"), &format!("!{command}"))?;
    }
    writers.unload()?;
    own.remove()?;
    report.finish()
}
