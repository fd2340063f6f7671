// SPDX-License-Identifier: GPL-2.0

//! The module rtbench (tools/guest/bench), which measures inside the kernel.

use crate::check::Check;
use crate::module;
use std::fs;
use std::path::Path;

const MODULE: &str = "/root/rtbench.ko";
const PARAMETERS: &str = "/sys/module/rtbench/parameters";

/// Number of runs that must agree.
const RUNS: usize = 3;
/// Number of runs of a row that may be interrupted; the smallest value is shown.
const LEAST_OF: usize = 12;

/// What a row costs.
#[derive(Clone, Copy)]
pub struct Cost {
    /// Instructions of all.
    pub ticks: u64,
    /// Events, or whatever else the row counts.
    pub done: u64,
    /// Whether all runs agreed. `None`: the smallest of many.
    pub same: Option<bool>,
}

impl Cost {
    pub fn each(self) -> f64 {
        self.ticks as f64 / self.done.max(1) as f64
    }
}

/// One row of the module.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub row: &'a str,
    /// `off`: interrupts are off; `hardirq`; `task`: it may be interrupted.
    pub context: &'a str,
    pub events: u32,
    /// How many are made before.
    pub before: u32,
    /// Whether every event must be refused, or none.
    pub refused: bool,
}

/// The module, loaded.
pub struct Kernel;

impl Kernel {
    pub fn load() -> Check<Self> {
        if !module::is_loaded("rtbench") {
            module::load(Path::new(MODULE), "")?;
        }
        Ok(Kernel)
    }

    /// Unloads it, with the references to rtrace that it holds.
    pub fn unload(self) -> Check {
        module::unload("rtbench").map_err(|e| format!("unload rtbench: {e}"))
    }

    fn set(&self, parameter: &str, value: &str) -> Check {
        let path = format!("{PARAMETERS}/{parameter}");
        fs::write(&path, value).map_err(|e| format!("{value:?} to {path}: {e}"))
    }

    /// The instance of rtrace that `rtrace.` rows write to, until this is called again.
    pub fn choose(&self, instance: &str) -> Check {
        self.set("instance", &format!("{instance}\n"))
    }

    /// Calls `work` while a thread of CPU 0 is woken up once in so many microseconds, and does nothing.
    pub fn with_cycle<T>(&self, period_us: u32, work: impl FnOnce() -> T) -> Check<T> {
        self.set("cycle_us", &period_us.to_string())?;
        let done = work();
        self.set("cycle_us", "0")?;
        Ok(done)
    }

    /// One run.
    pub fn once(&self, asked: Asked) -> Check<Cost> {
        let Asked {
            row,
            context,
            events,
            before,
            refused,
        } = asked;
        self.set("run", &format!("{row} {context} {events} {before}"))?;
        let path = format!("{PARAMETERS}/run");
        let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let numbers: Vec<u64> = text.split_whitespace().flat_map(str::parse).collect();
        let &[ticks, done, failed] = numbers.as_slice() else {
            return Err(format!("{path}: {text:?}"));
        };
        let expected = if refused { done } else { 0 };
        ensure!(
            failed == expected && done != 0,
            "{row} {context}: {failed} of {done} refused"
        );
        Ok(Cost {
            ticks,
            done,
            same: None,
        })
    }

    /// Several runs, each after `prepare`.
    pub fn cost(&self, asked: Asked, mut prepare: impl FnMut() -> Check) -> Check<Cost> {
        let least = asked.context == "task";
        let mut costs = Vec::new();
        for _ in 0..if least { LEAST_OF } else { RUNS } {
            prepare()?;
            costs.push(self.once(asked)?);
        }
        let best = costs.iter().copied().min_by_key(|cost| cost.ticks);
        let best = best.ok_or("no run")?;
        let same = costs.iter().all(|cost| cost.ticks == best.ticks);
        Ok(Cost {
            same: (!least).then_some(same),
            ..best
        })
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let _ = self.choose("");
    }
}
