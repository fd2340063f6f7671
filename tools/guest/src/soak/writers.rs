// SPDX-License-Identifier: GPL-2.0

//! The writers: loads, starts and stops rtsoak, and reads what it did.

use super::record::{CONTEXTS, NMI, RINGS, STREAMS};
use crate::check::Check;
use crate::module;
use crate::Context;

const NAME: &str = "rtsoak";
const REASONS: usize = 5;

/// Why a write was refused, as rtsoak counts it.
pub const FULL: usize = 1;
pub const COMMIT_OVERRUN: usize = 2;
pub const RECURSION: usize = 3;

/// What one context of one CPU did to one stream.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    pub attempts: u64,
    pub recorded: u64,
    pub refused: [u64; REASONS],
}

impl Tally {
    /// Adds another.
    pub fn add(&mut self, other: &Tally) {
        self.attempts += other.attempts;
        self.recorded += other.recorded;
        for (sum, count) in self.refused.iter_mut().zip(other.refused) {
            *sum += count;
        }
    }
}

/// The numbers of one context on one CPU.
#[derive(Clone, Copy, Default)]
struct OfContext {
    deepest: u64,
    nested: u64,
    arrived: u64,
    deep: u64,
}

#[derive(Clone, Default)]
struct OfCpu {
    tallies: [[Tally; CONTEXTS.len()]; STREAMS],
    contexts: [OfContext; CONTEXTS.len()],
}

/// What the writers did since they were started.
#[derive(Default)]
pub struct Written {
    pub ns: u64,
    cpus: Vec<OfCpu>,
}

impl Written {
    pub fn tally(&self, cpu: usize, stream: usize, context: usize) -> Tally {
        let of = self.cpus.get(cpu);
        of.map_or(Tally::default(), |of| of.tallies[stream][context])
    }

    /// How often a context came to write, on all CPUs.
    pub fn attempts(&self, stream: usize, context: usize) -> u64 {
        let of_cpu = |of: &OfCpu| of.tallies[stream][context].attempts;
        self.cpus.iter().map(of_cpu).sum()
    }

    /// Over all contexts of a CPU.
    pub fn of_stream(&self, cpu: usize, stream: usize) -> Tally {
        let mut sum = Tally::default();
        for context in 0..CONTEXTS.len() {
            sum.add(&self.tally(cpu, stream, context));
        }
        sum
    }

    pub fn recorded(&self) -> u64 {
        let streams = (0..self.cpus.len()).flat_map(|cpu| (0..STREAMS).map(move |s| (cpu, s)));
        streams
            .map(|(cpu, s)| self.of_stream(cpu, s).recorded)
            .sum()
    }

    /// Per context: events recorded.
    pub fn by_context(&self) -> [u64; CONTEXTS.len()] {
        std::array::from_fn(|context| {
            let of_cpu =
                |of: &OfCpu| -> u64 { of.tallies.iter().map(|t| t[context].recorded).sum() };
            self.cpus.iter().map(of_cpu).sum()
        })
    }

    fn contexts(&self) -> impl Iterator<Item = &OfContext> {
        self.cpus.iter().flat_map(|of| &of.contexts)
    }

    /// Most writes that were inside each other.
    pub fn deepest(&self) -> u64 {
        self.contexts().map(|of| of.deepest).max().unwrap_or(0)
    }

    /// Writes that began inside another.
    pub fn nested(&self) -> u64 {
        self.contexts().map(|of| of.nested).sum()
    }

    /// Writes that began inside as many others as a ring allows, if all of them were to one ring.
    pub fn too_deep(&self) -> u64 {
        self.contexts().map(|of| of.deep).sum()
    }

    /// NMIs that came, on all CPUs.
    pub fn nmis(&self) -> u64 {
        self.cpus.iter().map(|of| of.contexts[NMI].arrived).sum()
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let what = words.next()?;
        let numbers = words.map(|word| word.parse().ok());
        let numbers = numbers.collect::<Option<Vec<u64>>>()?;
        let at = |index: usize| numbers.get(index).copied();
        if what == "ns" {
            self.ns = at(0)?;
            return Some(());
        }
        let cpu = at(0)? as usize;
        if self.cpus.len() <= cpu {
            self.cpus.resize_with(cpu + 1, OfCpu::default);
        }
        let of = &mut self.cpus[cpu];
        if what == "tally" {
            let streams = of.tallies.get_mut(at(1)? as usize)?;
            *streams.get_mut(at(2)? as usize)? = Tally {
                attempts: at(3)?,
                recorded: at(4)?,
                refused: numbers.get(5..)?.try_into().ok()?,
            };
            return Some(());
        }
        let context = CONTEXTS.iter().position(|name| *name == what)?;
        of.contexts[context] = OfContext {
            deepest: at(1)?,
            nested: at(2)?,
            arrived: at(3)?,
            deep: at(4)?,
        };
        Some(())
    }
}

/// The loaded module. It goes when this is dropped.
pub struct Writers(());

impl Writers {
    /// Loads the module; it writes to these instances.
    pub fn load(context: &Context, instances: &[&str]) -> Check<Self> {
        ensure!(instances.len() <= RINGS, "too many instances");
        let _ = module::unload(NAME);
        let file = context.stress.with_file_name(format!("{NAME}.ko"));
        module::load(&file, &format!("instances={}", instances.join(",")))?;
        Ok(Writers(()))
    }

    pub fn set(&self, parameter: &str, value: impl ToString) -> Check {
        let file = format!("/sys/module/{NAME}/parameters/{parameter}");
        std::fs::write(&file, value.to_string()).map_err(|e| format!("{file}: {e}"))
    }

    /// Starts to write, until `events` events were recorded.
    pub fn start(&self, seed: u64, events: u64, pause_us: u64, nice: i32) -> Check {
        self.set("seed", seed & 0xffff_ffff)?;
        self.set("events", events)?;
        self.set("pause_us", pause_us)?;
        self.set("nice", nice)?;
        self.set("run", 1)
    }

    /// Returns whether they are writing.
    pub fn busy(&self) -> Check<bool> {
        let file = format!("/sys/module/{NAME}/parameters/run");
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
        Ok(text.trim() == "1")
    }

    /// Stops the writers, and returns when they have ended.
    pub fn stop(&self) -> Check {
        self.set("run", 0)
    }

    /// What they did; exact when they were stopped.
    pub fn written(&self) -> Check<Written> {
        let file = format!("/proc/{NAME}");
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
        let mut written = Written::default();
        for line in text.lines() {
            ensure!(written.line(line).is_some(), "{file}: {line:?}");
        }
        Ok(written)
    }

    /// The module must go.
    pub fn unload(self) -> Check {
        std::mem::forget(self);
        module::unload(NAME).map_err(|e| format!("unload {NAME}: {e}"))
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        let _ = module::unload(NAME);
    }
}
