// SPDX-License-Identifier: GPL-2.0

//! The folder of a group whose last events two tasks remove at the same moment: its parent has lost one link.

use super::dynamic::Tops;
use super::{test, Test};
use crate::chance::Chance;
use crate::check::Check;
use crate::soak;
use crate::tree::Tree;
use crate::Context;
use std::os::unix::fs::MetadataExt;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[test("dynamic.removed_at_once", 120, removed_at_once)];

const FILE: &str = "dynamic_events";

/// Returns the links of `events`: its own two, and one of each group that was looked up.
fn links(tree: &Tree) -> Check<u64> {
    let events = tree.file("events").metadata();
    Ok(events.map_err(|e| format!("events: {e}"))?.nlink())
}

/// Waits without sleeping.
fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Runs both at the same moment, each after the time that is named.
fn at_once(
    one: (Duration, impl FnOnce() -> Check + Send),
    other: (Duration, impl FnOnce() -> Check + Send),
) -> Check {
    let begin = Barrier::new(2);
    thread::scope(|scope| {
        let one = scope.spawn(|| {
            begin.wait();
            spin(one.0);
            one.1()
        });
        begin.wait();
        spin(other.0);
        let result = other.1();
        one.join().expect("no panic").and(result)
    })
}

/// A synthetic event and a probe, whose lists have locks of their own, are the last events of their group.
fn removed_at_once(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let before = links(own)?;
    let mut chance = Chance::new(soak::seed());
    for round in 0..soak::fewer(soak::rounds(100, 1000)) {
        own.set(FILE, "p:synthetic/one vfs_read")?;
        own.set("synthetic_events", "two int a")?;
        for name in ["one", "two"] {
            own.get(&format!("events/synthetic/{name}/enable"))?;
        }
        ensure_eq!(links(own)?, before + 1, "round {round}: links");
        let mut early = [0, 0];
        early[chance.below(2)] = chance.below(40);
        let early = early.map(|time| Duration::from_micros(time as u64));
        at_once(
            (early[0], || own.set(FILE, "-:synthetic/one")),
            (early[1], || own.set("synthetic_events", "!two")),
        )?;
        ensure!(
            !own.exists("events/synthetic"),
            "round {round}: still there"
        );
        ensure_eq!(links(own)?, before, "round {round}: links, both removed");
    }
    Ok(())
}
