// SPDX-License-Identifier: GPL-2.0

//! Where nothing delays anything, no tracer of latencies tells of a delay.
//!
//! That can be shown only in a guest whose time is the number of its instructions, for there nothing that the
//! host does is a delay: `scripts/guest-suite --icount stock quiet.` with `RTRACE_QUIET_SECONDS`, the seconds of
//! the guest's time for each part. Time jumps while it sleeps.

use super::{test, Test};
use crate::check::Check;
use crate::soak::setting;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::thread;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("quiet.scheduling", 7200, scheduling),
    test("quiet.hardware", 7200, hardware),
];

/// Microseconds of the least delay that the tracers are shown to find (`delays.`).
const DELAY_US: &str = "200";

/// How long nothing happens.
fn quiet() -> Check<Duration> {
    match setting("RTRACE_QUIET_SECONDS", 0) {
        0 => skip!("RTRACE_QUIET_SECONDS is not set"),
        seconds => Ok(Duration::from_secs(seconds)),
    }
}

/// The lines of a text that are no comment.
fn records(own: &Instance) -> Check<String> {
    let text = own.get("trace")?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// A task of real time is woken up a thousand times a second; each of its latencies, each interrupt and each
/// section without interrupts or preemption is short.
fn scheduling(context: &Context) -> Check {
    let duration = quiet()?;
    // One instance at a time samples.
    for sampler in sys::OWN_TRACERS {
        beside(context, sampler, duration)?;
        println!("{sampler}: {} s, no delay", duration.as_secs());
    }
    Ok(())
}

fn beside(context: &Context, sampler: &str, duration: Duration) -> Check {
    let top = Tree::at(&context.root);
    let stop = "osnoise/stop_tracing_us";
    top.set(stop, DELAY_US)?;
    let cycles = Instance::new(&context.root, "rtg-cycles")?;
    cycles.set(
        "events/osnoise/irq_noise/filter",
        &format!("duration >= {DELAY_US}000"),
    )?;
    cycles.set("events/osnoise/irq_noise/enable", "1")?;
    cycles.set("current_tracer", "timerlat")?;
    let mut others = Vec::new();
    for tracer in [sampler, "wakeup_rt"] {
        let own = Instance::new(&context.root, &format!("rtg-{tracer}"))?;
        own.set("options/function-trace", "0")?;
        own.set("tracing_thresh", DELAY_US)?;
        own.set("current_tracer", tracer)?;
        others.push((own, tracer));
    }
    // What the beginning takes is none of it.
    thread::sleep(Duration::from_secs(5));
    cycles.set("tracing_on", "1")?;
    cycles.set("trace", "")?;
    for (own, _) in &others {
        own.set("tracing_max_latency", "0")?;
    }
    thread::sleep(duration);
    let on = cycles.get("tracing_on")?;
    let text = records(&cycles)?;
    cycles.set("current_tracer", "nop")?;
    top.set(stop, "0")?;
    ensure_eq!(on.trim(), "1", "a latency of timerlat: {text}");
    ensure!(
        text.contains("context thread timer_latency"),
        "no cycles: {text}"
    );
    ensure!(!text.contains("irq_noise"), "a long interrupt: {text}");
    for (own, tracer) in others {
        // Above the threshold, and nothing else, is a latency kept.
        let longest = own.get("tracing_max_latency")?;
        let text = records(&own)?;
        own.set("current_tracer", "nop")?;
        ensure_eq!(longest.trim(), "0", "{tracer} tells of {text}");
    }
    Ok(())
}

/// Nobody takes the CPU from its instructions.
fn hardware(context: &Context) -> Check {
    let duration = quiet()?;
    let top = Tree::at(&context.root);
    let files = ["hwlat_detector/width", "hwlat_detector/window"];
    let before = [top.get(files[0])?, top.get(files[1])?];
    // A hundredth of the time, each second of which is a thousand million instructions.
    top.set(files[0], "10000")?;
    top.set(files[1], "1000000")?;
    let own = Instance::new(&context.root, "rtg-hardware")?;
    own.set("current_tracer", "hwlat")?;
    own.set("tracing_thresh", DELAY_US)?;
    own.set("trace", "")?;
    thread::sleep(duration);
    let text = records(&own)?;
    own.set("current_tracer", "nop")?;
    top.set(files[1], before[1].trim())?;
    top.set(files[0], before[0].trim())?;
    ensure!(text.is_empty(), "hwlat tells of {text}");
    println!("{} s, no delay", duration.as_secs());
    Ok(())
}
