// SPDX-License-Identifier: GPL-2.0

//! Latency tracers with each of their allocations failing: ENOMEM and no thread, or all of it.

use super::osnoise::Settings;
use super::{test, Test};
use crate::check::Check;
use crate::errno::Errno;
use crate::faults::Faults;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::File;
use std::io::Write;

pub const TESTS: &[Test] = &[
    test("faults.latencies", 240, tracers),
    test("faults.latency_settings", 240, settings),
    test("faults.timerlat_fd", 120, loads),
];

const TRACER: &str = "current_tracer";
const OPTIONS: &str = "osnoise/options";

fn no_threads() -> Check {
    for name in ["hwlatd", "osnoise/", "timerlat/", "rtsampler/"] {
        let there = super::hwlat::threads_named(name);
        ensure!(there.is_empty(), "refused, but there are {there:?}");
    }
    Ok(())
}

/// A write without the allocations of a growing path.
fn write(tree: &Tree, file: &str, text: &str) -> impl FnMut() -> Result<(), Errno> {
    let (path, text) = (tree.file(file), text.to_string());
    move || {
        let mut file = super::faults::open(&path, true, 0)?;
        Ok(file.write(text.as_bytes()).map(drop)?)
    }
}

fn tracers(context: &Context) -> Check {
    // Each begins hundreds of times.
    if soak::rounds(0, 1) == 0 {
        skip!("in the long run alone");
    }
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    let top = own.top();
    for (tracer, options) in [
        ("hwlat", "DEFAULTS"),
        ("osnoise", "DEFAULTS"),
        ("osnoise", "NO_OSNOISE_WORKLOAD"),
        ("timerlat", "DEFAULTS"),
        ("timerlat", "NO_OSNOISE_WORKLOAD"),
        ("wakeup", "DEFAULTS"),
        ("wakeup_rt", "DEFAULTS"),
        ("wakeup_dl", "DEFAULTS"),
        ("irqsoff_sampled", "DEFAULTS"),
        ("preemptoff_sampled", "DEFAULTS"),
        ("irqsoff", "DEFAULTS"),
        ("preemptirqsoff", "DEFAULTS"),
    ] {
        top.set(OPTIONS, options)?;
        let tally = faults.exhaust(tracer, write(&own, TRACER, tracer), |result| {
            if result.is_err() {
                ensure_eq!(own.get(TRACER)?, "nop\n", "refused, but");
                return no_threads();
            }
            ensure_eq!(own.get(TRACER)?, format!("{tracer}\n"), "taken, but");
            own.set(TRACER, "nop")
        });
        let tally = tally.map_err(|e| format!("{options}: {e}"));
        top.set(OPTIONS, "DEFAULTS")?;
        let tally = tally?;
        println!("{tracer}, {options}: {tally:?}");
        ensure!(tally.refused > 0, "{tracer}: {tally:?}");
    }
    no_threads()
}

/// A setting that stops what measures and begins anew.
fn settings(context: &Context) -> Check {
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    let settings = Settings::of(own.top())?;
    let top = &settings.tree;
    for tracer in ["osnoise", "timerlat"] {
        own.set(TRACER, tracer)?;
        for (file, text) in [
            ("osnoise/cpus", "0"),
            (OPTIONS, "OSNOISE_IRQ_DISABLE"),
            (OPTIONS, "NO_OSNOISE_WORKLOAD"),
            (OPTIONS, "OSNOISE_WORKLOAD"),
        ] {
            faults.exhaust(
                &format!("{tracer}, {text} > {file}"),
                write(top, file, text),
                |result| match result {
                    Ok(()) => Ok(()),
                    Err(_) => {
                        // What was written may count or not; it is not half of either.
                        top.get(file)?;
                        top.set(file, text)
                    }
                },
            )?;
        }
        top.set("osnoise/cpus", "all")?;
        top.set(OPTIONS, "DEFAULTS")?;
        own.set(TRACER, "nop")?;
        no_threads()?;
    }
    Ok(())
}

/// The file of a task that measures.
fn loads(context: &Context) -> Check {
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    let settings = Settings::of(own.top())?;
    settings.tree.set(OPTIONS, "NO_OSNOISE_WORKLOAD")?;
    own.set(TRACER, "timerlat")?;
    sys::pin_to(0);
    let path = settings.tree.file("osnoise/per_cpu/cpu0/timerlat_fd");
    let tally = faults.exhaust(
        "open",
        || super::faults::open(&path, false, 0),
        |result: Result<File, Errno>| {
            drop(result);
            // The CPU is free again.
            File::open(&path)
                .map(drop)
                .map_err(|e| format!("again: {e}"))
        },
    )?;
    ensure!(tally.refused > 2, "{tally:?}");
    own.set(TRACER, "nop")
}
