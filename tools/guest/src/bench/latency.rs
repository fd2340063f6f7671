// SPDX-License-Identifier: GPL-2.0

//! What the tracers of latencies add to what they trace.

use super::outside::ticks;
use super::table::{Row, Table};
use crate::check::Check;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// How often a row is measured, and over how many wake-ups. The least is told: the others had a timer in them.
const ROUNDS: usize = 12;
const PAIRS: usize = 1000;

/// Microseconds that no wake-up takes, so that none is the longest.
const NEVER: &str = "1000000000";

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

/// Rows of what tracers of latencies add.
pub fn measure(context: &Context, table: &mut Table) -> Check {
    table.begin("latency", "what a tracer of latencies adds: instructions");
    let (mut sleeps, mut wakes) = sys::pipe().map_err(|e| format!("pipe: {e:?}"))?;
    std::thread::scope(|scope| {
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
    })
}
