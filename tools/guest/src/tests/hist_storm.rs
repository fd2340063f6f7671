// SPDX-License-Identifier: GPL-2.0

//! Histograms that are set, cleared, paused, read, taken and removed, in instances that come and go, while writers in
//! all contexts count in them, and while recording, the event and its filter are switched. What one histogram counts
//! that stays is exact afterwards.

use super::hists::total;
use super::{exact, Test};
use crate::check::{Check, Report};
use crate::soak::record::{CONTEXTS, RINGS};
use crate::soak::writers::Writers;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

pub const TESTS: &[Test] = &[exact("hist.storm", 180, storm).with_testapi()];

const EVENT: &str = "events/rtsoak/rtsoak_event";
const TRIGGER: &str = "events/rtsoak/rtsoak_event/trigger";

/// Commands of one histogram each, which are written one after the other; with the last one it is gone.
const CHANGES: &[&[&str]] = &[
    &[
        "hist:keys=number:size=128",
        "hist:keys=number:pause",
        "hist:keys=number:cont",
        "hist:keys=number:clear",
        "!hist:keys=number",
    ],
    &[
        "hist:keys=common_pid:t=common_timestamp",
        "hist:keys=number.log2:d=common_timestamp-$t:onmatch(rtsoak.rtsoak_event).trace(rtg_storm,$d)",
        "!hist:keys=number.log2:d=common_timestamp-$t:onmatch(rtsoak.rtsoak_event).trace(rtg_storm,$d)",
        "!hist:keys=common_pid:t=common_timestamp",
    ],
];

/// What is switched, to and fro.
const SWITCHED: &[(&str, [&str; 2])] = &[
    ("events/rtsoak/rtsoak_event/enable", ["1", "0"]),
    ("events/rtsoak/rtsoak_event/filter", ["number & 1", "0"]),
    ("tracing_on", ["0", "1"]),
];

/// Does `round` again and again until `done`, at least once; returns how often.
fn rounds(done: &AtomicBool, mut round: impl FnMut() -> Check) -> Check<u32> {
    let mut count = 0;
    loop {
        round()?;
        count += 1;
        if done.load(Ordering::Relaxed) {
            return Ok(count);
        }
    }
}

/// An instance with a histogram of all events, which goes while these are counted.
fn come_and_go(root: &Path) -> Check {
    let own = Instance::new(root, "rtg-gone")?;
    own.set(TRIGGER, "hist:keys=common_cpu:vals=number")?;
    own.set(&format!("{EVENT}/enable"), "1")?;
    own.get(&format!("{EVENT}/hist"))?;
    own.remove()
}

fn read(own: &Tree) -> Check {
    for file in ["hist", "hist_json", "trigger"] {
        own.get(&format!("{EVENT}/{file}"))?;
    }
    Ok(())
}

fn switch(own: &Tree) -> Check {
    for (file, words) in SWITCHED {
        for word in words {
            own.set(file, word)?;
        }
    }
    Ok(())
}

fn storm(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-storm")?;
    let top = Tree::at(&context.root);
    top.set("synthetic_events", "rtg_storm u64 d")?;
    own.set("events/synthetic/rtg_storm/enable", "1")?;
    let writers = Writers::load(context, &[])?;
    // This one stays.
    own.set(TRIGGER, "hist:keys=common_pid:vals=number")?;
    let done = AtomicBool::new(false);
    writers.start(7, 20_000, 0, 0)?;
    let (tree, root, done) = (&*own, &context.root, &done);
    let change = |commands: &'static [&str]| {
        move || {
            let all = || {
                commands
                    .iter()
                    .try_for_each(|command| tree.set(TRIGGER, command))
            };
            rounds(done, all)
        }
    };
    let ended = std::thread::scope(|scope| {
        let threads = [
            scope.spawn(change(CHANGES[0])),
            scope.spawn(change(CHANGES[1])),
            scope.spawn(move || rounds(done, || read(tree))),
            scope.spawn(move || rounds(done, || switch(tree))),
            scope.spawn(move || rounds(done, || come_and_go(root))),
        ];
        let busy = || -> Check {
            while writers.busy()? {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            Ok(())
        };
        let waited = busy();
        done.store(true, Ordering::Relaxed);
        let ended = threads.map(|thread| thread.join().unwrap_or(Err("a thread died".into())));
        waited.map(|()| ended)
    })?;
    writers.stop()?;
    let mut report = Report::default();
    for (ended, what) in
        ended
            .into_iter()
            .zip(["changes", "links", "reads", "switches", "instances"])
    {
        match ended {
            Ok(count) => println!("{what}: {count} rounds"),
            Err(why) => report.expect(false, || format!("{what}: {why}")),
        }
    }
    let written = writers.written()?;
    let cpus = 0..sys::online_cpus();
    let tallies = cpus.flat_map(|cpu| (0..CONTEXTS.len()).map(move |which| (cpu, which)));
    let attempts: u64 = tallies
        .map(|(cpu, which)| written.tally(cpu, RINGS, which).attempts)
        .sum();
    let text = own.get(&format!("{EVENT}/hist"))?;
    let (hits, drops) = (total(&text, "Hits:"), total(&text, "Dropped:"));
    println!("{attempts} events, {hits} hits, {drops} drops");
    report.expect(hits + drops == attempts, || {
        format!("{hits} hits and {drops} drops of {attempts} events\n{text}")
    });
    // The module goes with the histogram.
    writers.unload()?;
    own.set("events/synthetic/rtg_storm/enable", "0")?;
    top.set("synthetic_events", "!rtg_storm")?;
    own.remove()?;
    report.finish()
}
