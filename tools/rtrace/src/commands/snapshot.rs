// SPDX-License-Identifier: GPL-2.0

//! `rtrace snapshot`: the events that led to another one.

use crate::args::Snapshot;
use crate::instance::{single_event, Instance};
use crate::job::{code, Job, Pipe, Watch};
use crate::output::{tell, Output};
use crate::tree::Tree;
use anyhow::Result;
use std::time::Duration;

/// The time between two looks at whether the event has come.
const STEP: Duration = Duration::from_millis(50);

/// Waits until the trigger has acted. Returns whether it has.
fn await_event(job: &mut Job<'_>, instance: &Instance<'_>, trigger: &str) -> Result<bool> {
    let has_come = || Ok::<_, anyhow::Error>(instance.get(trigger)?.contains("count=0"));
    while !job.is_over()? {
        if has_come()? {
            return Ok(true);
        }
        std::thread::sleep(STEP);
    }
    has_come()
}

/// Records, and shows what led to the event. Returns the exit status.
pub fn run(tree: &Tree, out: Output, snapshot: &Snapshot) -> Result<u8> {
    let at = snapshot
        .at
        .as_deref()
        .map(|at| single_event(tree, at))
        .transpose()?;
    let instance = Instance::new(tree, "snapshot")?;
    if let Some(size) = snapshot.size {
        instance.put("buffer_size_kb", &size.to_string())?;
    }
    let mut job = Job::prepare(&snapshot.span, &instance, Watch::Events)?;
    let trigger = at.map(|(system, event)| format!("events/{system}/{event}/trigger"));
    if let Some(trigger) = &trigger {
        let filter = snapshot.filter.iter().map(|filter| format!(" if {filter}"));
        instance.put(
            trigger,
            &format!("traceoff:1{}", filter.collect::<String>()),
        )?;
    }
    instance.enable(&snapshot.events)?;
    job.begin()?;
    match &trigger {
        Some(trigger) => {
            if !await_event(&mut job, &instance, trigger)? {
                tell("rtrace: the event did not come; these are the last ones");
            }
        }
        None => job.wait()?,
    }
    if out.json {
        let mut pipe = Pipe::open(&instance, out.pipe())?;
        job.read_rest(&mut pipe, &mut |line| out.line(line))?;
    } else {
        instance.put("tracing_on", "0")?;
        out.text(&instance.show("trace")?)?;
    }
    Ok(code(job.end()?))
}
