// SPDX-License-Identifier: GPL-2.0

//! Histograms of `size=auto`: they grow with their entries, and lose and repeat no event meanwhile.

use super::hist_forms::{attempted, file, instance, SOAK};
use super::hists::{self, lseek, total, ENTER};
use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak::writers::Writers;
use crate::sys;
use crate::Context;
use std::collections::HashSet;
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    test("hist.grows", 240, grows),
    exact("hist.grown", 240, grown).with_testapi(),
];

/// Keys, more than the first map has room for, and fewer than the next one.
const KEYS: i64 = 6_000;
const PATIENCE: Duration = Duration::from_secs(180);

/// The key, the hits and the value of each entry.
fn entries(text: &str) -> Vec<(i64, u64, u64)> {
    let rows = hists::entries(text).filter_map(|(key, hits, values)| {
        let key = key.split_once(':')?.1.trim().parse().ok()?;
        let value = values.split_whitespace().last();
        let value = value.and_then(|value| value.parse().ok());
        Some((key, hits, value.unwrap_or(0)))
    });
    rows.collect()
}

/// All keys have an entry after a while; each event is a hit or a drop.
fn grows(context: &Context) -> Check {
    let own = instance(context)?;
    let trigger = file(ENTER, "trigger");
    let mut report = Report::default();
    for wrong in [
        "hist:keys=offset:size=auto:x=whence",
        "hist:keys=offset:size=autos",
        "hist:keys=offset:size=automatic",
    ] {
        let refused = own.write(&trigger, wrong.as_bytes());
        report.expect(refused == Err(EINVAL), || format!("{wrong}: {refused:?}"));
    }
    let command = format!(
        "hist:keys=offset:vals=whence:size=auto if common_pid == {}",
        sys::thread_id()
    );
    own.set(&trigger, &command)?;
    let line = own.get(&trigger)?;
    report.expect(line.contains(":sort=hitcount:size=auto if "), || {
        line.clone()
    });
    let all: Vec<_> = (0..KEYS).map(|key| (key, key % 7)).collect();
    let (began, mut rounds) = (Instant::now(), 0);
    let text = loop {
        lseek(&all);
        rounds += 1;
        let text = own.get(&file(ENTER, "hist"))?;
        let (hits, drops) = (total(&text, "Hits:"), total(&text, "Dropped:"));
        ensure_eq!(hits + drops, rounds * KEYS as u64, "round {rounds}");
        if total(&text, "Entries:") == KEYS as u64 {
            break text;
        }
        ensure!(began.elapsed() < PATIENCE, "{rounds} rounds: {drops} drops");
    };
    let rows = entries(&text);
    ensure_eq!(rows.len() as i64, KEYS, "entries");
    let hits: u64 = rows.iter().map(|(_, hits, _)| hits).sum();
    ensure_eq!(hits, total(&text, "Hits:"), "hits");
    for (key, hits, value) in rows {
        report.expect(value == hits * (key % 7) as u64, || {
            format!("{key}: {hits} hits, {value}")
        });
    }
    println!("{rounds} rounds, {} drops", total(&text, "Dropped:"));
    // What the line says is taken again, and its removal too.
    let removed = format!("!{}", line.trim().trim_end_matches(" [active]"));
    own.set(&trigger, &removed)?;
    own.remove()?;
    report.finish()
}

/// The same beside writers in task, soft interrupt, interrupt and NMI.
fn grown(context: &Context) -> Check {
    let own = instance(context)?;
    let writers = Writers::load(context, &[])?;
    own.set(
        &file(SOAK, "trigger"),
        "hist:keys=number:size=auto:vals=number",
    )?;
    let mut attempts = 0;
    for _ in 0..4 {
        writers.start(7, 40_000, 0, 0)?;
        while writers.busy()? {
            std::thread::sleep(Duration::from_millis(2));
        }
        writers.stop()?;
        attempts += attempted(&writers)?;
    }
    let text = own.get(&file(SOAK, "hist"))?;
    let (hits, drops) = (total(&text, "Hits:"), total(&text, "Dropped:"));
    let rows = entries(&text);
    println!("{} entries, {hits} hits, {drops} drops", rows.len());
    ensure_eq!(hits + drops, attempts, "events");
    ensure_eq!(
        rows.iter().map(|row| row.1).sum::<u64>(),
        hits,
        "in entries"
    );
    let keys: HashSet<_> = rows.iter().map(|row| row.0).collect();
    ensure_eq!(keys.len(), rows.len(), "each key once");
    ensure!(rows.len() > 2048, "{} entries", rows.len());
    for (key, hits, value) in rows {
        ensure_eq!(value, hits.wrapping_mul(key as u64), "{key}");
    }
    own.set(
        &file(SOAK, "trigger"),
        "!hist:keys=number:size=auto:vals=number",
    )?;
    writers.unload()?;
    own.remove()
}
