// SPDX-License-Identifier: GPL-2.0

//! Changes settings while events are written and read, in an order that a seed determines.

use super::random::Random;
use crate::check::Check;
use crate::sys;
use crate::tree::{Instance, Tree};
use std::collections::BTreeMap;
use std::time::Duration;

/// The event of rtsoak; it is on in instance 0.
pub const EVENT: &str = "events/rtsoak/rtsoak_event/enable";

/// Events that do not occur here. To switch one makes the kernel patch the instructions that record
/// it, and an emulated CPU that runs there at that moment may keep a stale translation of them
/// (Documentation/building.md).
const QUIET: &str = "events/oom/enable";

const SIZES: [&str; 6] = ["1", "4", "8", "50", "400", "2000"];

/// What is turned, how often, and since when.
pub struct Storm<'a> {
    top: &'a Tree,
    trees: &'a [&'a Tree],
    cpus: usize,
    random: Random,
    done: BTreeMap<&'static str, u64>,
}

type Op = fn(&mut Storm<'_>) -> Check;

/// Nothing is thrown away: what is not read was lost and counted, or refused and counted. A name is
/// there as often as the setting shall be changed.
const KEEPING: &[(&str, Op)] = &[
    ("resize", |storm| storm.resize()),
    ("resize", |storm| storm.resize()),
    ("resize one", |storm| storm.resize_one()),
    ("resize one", |storm| storm.resize_one()),
    ("sub-buffers", |storm| storm.subbuf()),
    ("off and on", |storm| storm.off_and_on()),
    ("off and on", |storm| storm.off_and_on()),
    ("no overwrite", |storm| storm.no_overwrite()),
    ("no overwrite", |storm| storm.no_overwrite()),
    ("events on and off", |storm| storm.event()),
    ("stats", |storm| storm.stats()),
    ("option", |storm| storm.option()),
    ("mkdir and rmdir", |storm| storm.other_instance()),
    ("hotplug", |storm| storm.hotplug()),
];

/// Events are thrown away on purpose.
const CLEARING: &[(&str, Op)] = &[
    ("clear", |storm| storm.clear()),
    ("clear", |storm| storm.clear()),
    ("clear one", |storm| storm.clear_one()),
    ("clear one", |storm| storm.clear_one()),
    ("clock", |storm| storm.clock()),
    ("stats", |storm| storm.stats()),
    ("option", |storm| storm.option()),
];

/// All of that, and snapshots.
const ANYTHING: &[(&str, Op)] = &[
    ("resize", |storm| storm.resize()),
    ("resize one", |storm| storm.resize_one()),
    ("sub-buffers", |storm| storm.subbuf()),
    ("off and on", |storm| storm.off_and_on()),
    ("no overwrite", |storm| storm.no_overwrite()),
    ("events on and off", |storm| storm.event()),
    ("option", |storm| storm.option()),
    ("an instance's life", |storm| storm.short_life()),
    ("hotplug", |storm| storm.hotplug()),
    ("clear", |storm| storm.clear()),
    ("clear one", |storm| storm.clear_one()),
    ("clock", |storm| storm.clock()),
    ("snapshot", |storm| storm.snapshot("1")),
    ("snapshot", |storm| storm.snapshot("1")),
    ("snapshot", |storm| storm.snapshot("1")),
    ("snapshot emptied", |storm| storm.snapshot("2")),
    ("snapshot of one emptied", |storm| {
        storm.empty_snapshot_of_one()
    }),
    ("snapshot dropped", |storm| storm.snapshot("0")),
];

impl<'a> Storm<'a> {
    pub fn new(top: &'a Tree, trees: &'a [&'a Tree], cpus: usize, seed: u64) -> Self {
        Storm {
            top,
            trees,
            cpus,
            random: Random::new(seed),
            done: BTreeMap::new(),
        }
    }

    /// What was done, for the log.
    pub fn told(&self) -> String {
        let told = self
            .done
            .iter()
            .map(|(name, count)| format!("{name} {count}"));
        told.collect::<Vec<_>>().join(", ")
    }

    /// Turns something that throws nothing away.
    pub fn keep(&mut self) -> Check {
        self.turn(KEEPING)
    }

    /// Clears, or changes the clock, or turns something harmless.
    pub fn clear_something(&mut self) -> Check {
        self.turn(CLEARING)
    }

    /// Turns anything.
    pub fn throw_anything(&mut self) -> Check {
        self.turn(ANYTHING)
    }

    fn turn(&mut self, ops: &[(&'static str, Op)]) -> Check {
        let (name, op) = *self.random.pick(ops);
        op(self).map_err(|problem| format!("{name}: {problem}"))?;
        *self.done.entry(name).or_default() += 1;
        self.rest(5);
        Ok(())
    }

    fn rest(&mut self, ms: u64) {
        let us = self.random.below(ms * 1000);
        std::thread::sleep(Duration::from_micros(us));
    }

    fn tree(&mut self) -> &'a Tree {
        let trees = self.trees;
        self.random.pick::<&Tree>(trees)
    }

    fn cpu(&mut self) -> u64 {
        self.random.below(self.cpus as u64)
    }

    fn resize(&mut self) -> Check {
        let kb = *self.random.pick(&SIZES);
        self.tree().set("buffer_size_kb", kb)
    }

    fn resize_one(&mut self) -> Check {
        let kb = *self.random.pick(&SIZES);
        let cpu = self.cpu();
        self.tree()
            .set(&format!("per_cpu/cpu{cpu}/buffer_size_kb"), kb)
    }

    /// What is unread is lost and counted.
    fn subbuf(&mut self) -> Check {
        let kb = *self.random.pick(&["4", "4", "8", "16", "64"]);
        self.tree().set("buffer_subbuf_size_kb", kb)
    }

    fn off_and_on(&mut self) -> Check {
        let tree = self.tree();
        tree.set("tracing_on", "0")?;
        self.rest(3);
        tree.set("tracing_on", "1")
    }

    /// A small buffer is soon full.
    fn no_overwrite(&mut self) -> Check {
        let tree = self.tree();
        tree.set("options/overwrite", "0")?;
        let kb = *self.random.pick(&SIZES[..4]);
        tree.set("buffer_size_kb", kb)?;
        self.rest(20);
        tree.set("options/overwrite", "1")
    }

    fn event(&mut self) -> Check {
        self.trees[0].set(QUIET, "1")?;
        self.rest(3);
        self.trees[0].set(QUIET, "0")
    }

    fn stats(&mut self) -> Check {
        let tree = self.tree();
        for cpu in 0..self.cpus {
            tree.number(&format!("per_cpu/cpu{cpu}/stats"), "entries")?;
        }
        tree.get("buffer_total_size_kb").map(drop)
    }

    fn option(&mut self) -> Check {
        let value = ["0", "1"][self.random.below(2) as usize];
        self.tree().set("options/irq-info", value)
    }

    fn other_instance(&mut self) -> Check {
        let other = Instance::new(self.top.path(), "rtg-soak-other")?;
        other.set(QUIET, "1")?;
        self.rest(3);
        other.get("trace")?;
        other.remove()
    }

    fn short_life(&mut self) -> Check {
        let seed = self.random.below(1 << 32);
        super::ledger::short_life(self.top.path(), self.cpus, seed)
    }

    fn snapshot(&mut self, command: &str) -> Check {
        self.tree().set("snapshot", command)
    }

    fn empty_snapshot_of_one(&mut self) -> Check {
        let file = format!("per_cpu/cpu{}/snapshot", self.cpu());
        self.tree().set(&file, "2")
    }

    /// The last CPU goes and comes back.
    fn hotplug(&mut self) -> Check {
        let file = format!("/sys/devices/system/cpu/cpu{}/online", self.cpus - 1);
        for value in ["0", "1"] {
            // Others may hold the lock of hotplug for some moments.
            let mut result = Ok(());
            sys::wait_until(Duration::from_secs(10), || {
                result = std::fs::write(&file, value);
                result.is_ok()
            });
            result.map_err(|e| format!("{file}: {e}"))?;
            self.rest(5);
        }
        Ok(())
    }

    fn clear(&mut self) -> Check {
        self.tree().clear()
    }

    fn clear_one(&mut self) -> Check {
        let file = format!("per_cpu/cpu{}/trace", self.cpu());
        self.tree().empty(&file)
    }

    fn clock(&mut self) -> Check {
        let tree = self.tree();
        let clocks = tree.get("trace_clock")?;
        let clocks: Vec<_> = clocks.split_whitespace().collect();
        let clock = self.random.pick(&clocks).trim_matches(['[', ']']);
        tree.set("trace_clock", clock)
    }
}
