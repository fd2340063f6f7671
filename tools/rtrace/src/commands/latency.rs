// SPDX-License-Identifier: GPL-2.0

//! `rtrace latency`: the longest latency that a tracer of the kernel has seen, and what took the CPU
//! meanwhile.

use crate::args::{Latency, Tracer};
use crate::commands::timerlat;
use crate::instance::{tracer_user, ChangedFile, Instance};
use crate::job::{code, Job, Watch};
use crate::output::{tell, time, Colour, Output};
use crate::parse::lateness::{Lateness, Noise};
use crate::tree::Tree;
use anyhow::{bail, Result};
use serde_json::json;

/// The option without which `osnoise` has threads of its own.
const WORKLOAD: &str = "OSNOISE_WORKLOAD";

/// Returns the name of a tracer in `current_tracer`.
fn name(tracer: Tracer) -> &'static str {
    match tracer {
        Tracer::Wakeup => "wakeup",
        Tracer::WakeupRt => "wakeup_rt",
        Tracer::WakeupDl => "wakeup_dl",
        Tracer::Timerlat => "timerlat",
        Tracer::Osnoise => "osnoise",
        Tracer::Irqsoff => "irqsoff_sampled",
        Tracer::Preemptoff => "preemptoff_sampled",
    }
}

/// What has the kernel tell how long interrupts and threads take: an instance that measures it, and
/// an option that gets its old value back after that.
struct Measuring<'a> {
    _instance: Instance<'a>,
    _option: Option<ChangedFile<'a>>,
}

impl<'a> Measuring<'a> {
    /// Begins, unless another instance measures: there is one measurement for all.
    fn begin(tree: &'a Tree) -> Result<Self> {
        // With another instance's threads, the option would be refused.
        if let Some(user) = tracer_user(tree, &["osnoise", "timerlat"]) {
            bail!("{user}");
        }
        let options = tree.get("osnoise/options")?;
        let has_threads = options.split_whitespace().any(|word| word == WORKLOAD);
        let without = format!("NO_{WORKLOAD}");
        let option = match has_threads {
            true => Some(ChangedFile::new(
                tree,
                "osnoise/options",
                &without,
                WORKLOAD,
            )?),
            false => None,
        };
        let instance = Instance::new(tree, "noise")?;
        instance.set_tracer("osnoise")?;
        Ok(Self {
            _instance: instance,
            _option: option,
        })
    }
}

/// Writes what took the CPU.
pub fn show_noises(out: Output, noises: &[Noise]) -> Result<()> {
    for noise in noises {
        out.line(&format!(
            "  {:<15} {:<32} {:>6} times {:>12}",
            noise.kind,
            noise.name,
            noise.count,
            time(noise.ns)
        ))?;
    }
    Ok(())
}

fn show(out: Output, name: &str, lateness: Option<&Lateness>) -> Result<()> {
    let Some(all) = lateness else {
        return out.line(&format!("{name}: no latency was seen"));
    };
    let cpu = all
        .cpu
        .map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
    let text = format!(
        "{name}: longest {}, {}{cpu}",
        time(all.max_us * 1000),
        all.task
    );
    out.line(&out.paint(Colour::Bold, &text))?;
    if let Some(proven) = &all.proven {
        out.line(proven)?;
        for caller in &all.callers {
            out.line(&format!("  => {caller}"))?;
        }
    }
    if !all.noises.is_empty() {
        out.line("took the CPU meanwhile:")?;
        show_noises(out, &all.noises)?;
    }
    Ok(())
}

/// Measures, and explains the longest latency. Returns the exit status.
pub fn run(tree: &Tree, out: Output, latency: &Latency) -> Result<u8> {
    let name = name(latency.tracer);
    let tracers = tree.get("available_tracers")?;
    if !tracers.split_whitespace().any(|there| there == name) {
        bail!("this kernel has no tracer {name} (available_tracers has all)");
    }
    match latency.tracer {
        Tracer::Timerlat => return timerlat::late(tree, out, latency),
        Tracer::Osnoise => return timerlat::noise(tree, out, latency),
        _ => {}
    }
    let is_wakeup = name.starts_with("wakeup");
    let measuring = match is_wakeup.then(|| Measuring::begin(tree)).transpose() {
        Ok(measuring) => measuring,
        Err(error) => {
            tell(&format!(
                "rtrace: what took the CPU is not known: {error:#}"
            ));
            None
        }
    };
    let instance = Instance::new(tree, "latency")?;
    if measuring.is_some() {
        instance.put("events/osnoise/enable", "1")?;
    }
    if tree.has(&instance.file("options/function-trace")) {
        instance.put("options/function-trace", "0")?;
    }
    let mut job = Job::prepare(&latency.span, &instance, Watch::Everything)?;
    instance.set_tracer(name)?;
    job.begin()?;
    job.wait()?;
    instance.put("tracing_on", "0")?;
    let trace = instance.show("trace")?;
    let status = job.end()?;
    let lateness = Lateness::of(&trace);
    if out.json {
        let text = latency.trace.then_some(&trace);
        out.object(&json!({"tracer": name, "longest": lateness, "trace": text}))?;
    } else {
        show(out, name, lateness.as_ref())?;
        if latency.trace {
            out.text(&format!("\n{trace}"))?;
        }
    }
    Ok(code(status))
}
