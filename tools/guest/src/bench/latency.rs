// SPDX-License-Identifier: GPL-2.0

//! What the tracers of latencies add to what they trace.

use super::kernel::Kernel;
use super::outside::{mark_begin, mark_end, ticks};
use super::table::{Row, Table};
use crate::check::Check;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a row is measured, and over how many wake-ups. The least is told: the others had a timer in them.
const ROUNDS: usize = 12;
const PAIRS: usize = 1000;

/// Microseconds that no wake-up takes, so that none is the longest.
const NEVER: &str = "1000000000";

/// How often CPUs are looked at.
const SAMPLER: &str = "latency_sampler/period_us";

/// Instructions of waking up a task of real time on this CPU, which runs at once and sleeps again.
fn pair(wakes: &mut File) -> Check<f64> {
    let mut least = u64::MAX;
    for _ in 0..ROUNDS {
        let began = ticks();
        for _ in 0..PAIRS {
            wakes.write_all(&[1]).map_err(|e| e.to_string())?;
        }
        least = least.min(ticks() - began);
    }
    Ok(least as f64 / PAIRS as f64)
}

/// The same with the tracer of the tree at `root`, less what it takes without.
fn traced(root: &Path, wakes: &mut File) -> Check<f64> {
    let own = Instance::new(root, "rtg-bench")?;
    own.set("options/function-trace", "0")?;
    let without = pair(wakes)?;
    own.set("current_tracer", "wakeup_rt")?;
    own.set("tracing_max_latency", NEVER)?;
    let with = pair(wakes)?;
    own.set("current_tracer", "nop")?;
    own.remove()?;
    Ok(with - without)
}

/// Microseconds between two looks, and steps of work that many of them are in.
const PERIOD: u32 = 100;
const STEPS: u64 = 3_000_000;

/// What of osnoise is done.
const OPTIONS: &str = "osnoise/options";
/// How often the timer of timerlat fires, and here.
const CYCLE: &str = "osnoise/timerlat_period_us";
const CYCLE_US: u32 = 1000;

/// The fixed work.
fn steps() {
    for step in 0..STEPS {
        std::hint::black_box(step);
    }
}

/// Instructions of the fixed work, and the microseconds that it takes, where looks are taken.
fn work() -> (u64, u64) {
    let mut least = (u64::MAX, 0);
    for _ in 0..ROUNDS {
        let (began, since) = (ticks(), Instant::now());
        steps();
        let took = (ticks() - began, since.elapsed().as_micros() as u64);
        least = least.min(took);
    }
    least
}

/// Instructions that one of the interruptions adds that came once in `period` microseconds.
fn added(without: u64, with: u64, us: u64, period: u32) -> f64 {
    (with as f64 - without as f64) / (us as f64 / f64::from(period))
}

/// Instructions of a look of this tracer that finds nothing.
fn look(context: &Context, tracer: &str) -> Check<f64> {
    let top = Tree::at(&context.root);
    let before = top.get(SAMPLER)?;
    let own = Instance::new(&context.root, "rtg-bench")?;
    let (without, _) = work();
    top.set(SAMPLER, &PERIOD.to_string())?;
    own.set("current_tracer", tracer)?;
    own.set("tracing_max_latency", NEVER)?;
    let (with, us) = work();
    own.set("current_tracer", "nop")?;
    top.set(SAMPLER, before.trim())?;
    own.remove()?;
    Ok(added(without, with, us, PERIOD))
}

/// Calls `run` while a look of a sampler interrupts this CPU every [`PERIOD`].
fn interrupted<T>(context: &Context, run: impl FnOnce() -> Check<T>) -> Check<T> {
    let top = Tree::at(&context.root);
    let before = top.get(SAMPLER)?;
    let own = Instance::new(&context.root, "rtg-interrupts")?;
    top.set(SAMPLER, &PERIOD.to_string())?;
    own.set("current_tracer", "irqsoff_sampled")?;
    own.set("tracing_max_latency", NEVER)?;
    let result = run();
    own.set("current_tracer", "nop")?;
    top.set(SAMPLER, before.trim())?;
    own.remove()?;
    result
}

/// Instructions that telling of the time of an interrupt adds to it, by the tree at `root`.
fn told(root: &Path) -> Check<f64> {
    let top = Tree::at(root);
    let own = Instance::new(root, "rtg-bench")?;
    let (without, _) = work();
    // Its own thread would take what is left of the CPU.
    top.set(OPTIONS, "NO_OSNOISE_WORKLOAD")?;
    own.set("events/osnoise/irq_noise/enable", "1")?;
    own.set("current_tracer", "osnoise")?;
    let (with, us) = work();
    own.set("current_tracer", "nop")?;
    top.set(OPTIONS, "OSNOISE_WORKLOAD")?;
    own.remove()?;
    Ok(added(without, with, us, PERIOD))
}

/// Instructions of a cycle of timerlat by the tree at `root`: the interrupt, its thread, two records.
fn cycle(root: &Path) -> Check<f64> {
    let (without, _) = work();
    let (with, us) = with_timerlat(root, work)?;
    Ok(added(without, with, us, CYCLE_US))
}

/// Calls `run` while timerlat of the tree at `root` measures.
fn with_timerlat<T>(root: &Path, run: impl FnOnce() -> T) -> Check<T> {
    let top = Tree::at(root);
    let before = top.get(CYCLE)?;
    let own = Instance::new(root, "rtg-bench")?;
    top.set(CYCLE, &CYCLE_US.to_string())?;
    own.set("current_tracer", "timerlat")?;
    let result = run();
    own.set("current_tracer", "nop")?;
    top.set(CYCLE, before.trim())?;
    own.remove()?;
    Ok(result)
}

/// Instructions of the same without a tracer: a timer that wakes up a thread.
fn bare_cycle() -> Check<f64> {
    let kernel = Kernel::load()?;
    let (without, _) = work();
    let (with, us) = kernel.with_cycle(CYCLE_US, work)?;
    Ok(added(without, with, us, CYCLE_US))
}

/// Rows of what tracers of latencies add.
pub fn measure(context: &Context, table: &mut Table) -> Check {
    table.begin("latency", "what a tracer of latencies adds: instructions");
    let (mut sleeps, mut wakes) = sys::pipe().map_err(|e| format!("pipe: {e:?}"))?;
    std::thread::scope(|scope| -> Check {
        scope.spawn(move || {
            sys::pin_to(0);
            sys::set_fifo(80);
            let mut byte = [0];
            while sleeps.read(&mut byte).is_ok_and(|read| read == 1) {}
        });
        let row = Row::new("a wake-up that is followed, and its end");
        let ours = traced(&context.root, &mut wakes)?;
        let reference = Tree::at(&context.reference);
        let there = reference.get("available_tracers")?.contains("wakeup_rt");
        table.add(match there {
            true => row.both(traced(&context.reference, &mut wakes)?, ours),
            false => row.own(ours),
        });
        // The task ends.
        drop(wakes);
        Ok(())
    })?;
    for tracer in sys::OWN_TRACERS {
        let row = Row::new(&format!("a look of {tracer}, interrupt included"));
        table.add(row.own(look(context, tracer)?));
    }
    let reference = Tree::at(&context.reference);
    let tracers = reference.get("available_tracers")?;
    let row = Row::new("telling of an interrupt (irq_noise)");
    let rows = |row: Row, name, of: fn(&Path) -> Check<f64>| -> Check<Row> {
        let ours = of(&context.root)?;
        Ok(match tracers.contains(name) {
            true => row.both(of(&context.reference)?, ours),
            false => row.own(ours),
        })
    };
    table.add(interrupted(context, || rows(row, "osnoise", told))?);
    let row = Row::new("a cycle of timerlat, its thread included");
    table.add(rows(row, "timerlat", cycle)?);
    let row = Row::new("a timer that wakes up a thread, and nothing else");
    table.add(row.kernel(bare_cycle()?));
    Ok(())
}

/// How long the kernel may be busy with what was set up before.
const SETTLED: Duration = Duration::from_secs(2);

/// Runs the work once between the marks of the plugin; returns a line for scripts/breakdown: the cycles that were in it.
fn window(name: &str) -> String {
    // What was set up before has been freed by then.
    std::thread::sleep(SETTLED);
    let since = Instant::now();
    mark_begin();
    steps();
    mark_end();
    let cycles = since.elapsed().as_micros() as u64 / u64::from(CYCLE_US);
    format!("{cycles} {name}\n")
}

/// Looks at cycles of timerlat one by one, beside those of a thread that does nothing and of no thread.
pub fn windows(context: &Context) -> Check<String> {
    let kernel = Kernel::load()?;
    let mut text = window("nothing");
    text += &window("no cycle");
    text += &kernel.with_cycle(CYCLE_US, || window("a timer that wakes up a thread"))?;
    let reference = Tree::at(&context.reference);
    let tracers = reference.get("available_tracers")?;
    let roots = [(&context.reference, "ftrace"), (&context.root, "rtrace")];
    for (root, name) in roots {
        if name == "rtrace" || tracers.contains("timerlat") {
            with_timerlat(root, || text += &window(&format!("{name}, timerlat")))?;
        }
    }
    Ok(text)
}
