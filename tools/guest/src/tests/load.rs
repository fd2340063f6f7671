// SPDX-License-Identifier: GPL-2.0

//! Settings changed while events are written and read.

use super::{exact, test, Test};
use crate::check::{joined, Check};
use crate::errno::*;
use crate::stream::CpuReader;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload::{self, Load};
use crate::Context;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    test("load.resize", 60, resize),
    test("load.enable", 60, enable),
    test("load.clocks_and_options", 60, clocks_and_options),
    test("load.trace_reads", 60, trace_reads),
    exact("load.toggles", 60, toggles),
];

fn busy(context: &Context) -> Check<Instance> {
    let own = Instance::new(&context.root, "rtg-load")?;
    for system in ["sched", "irq", "timer", "raw_syscalls"] {
        own.set(&format!("events/{system}/enable"), "1")?;
    }
    Ok(own)
}

/// Events still come on every CPU.
fn alive(own: &Tree) -> Check {
    for cpu in 0..sys::online_cpus() {
        let stats = format!("per_cpu/cpu{cpu}/stats");
        let written = || {
            let number = |label| own.number(&stats, label).unwrap_or(0);
            number("entries") + number("overrun") + number("read events")
        };
        let before = written();
        let more = sys::wait_until(Duration::from_secs(10), || written() != before);
        ensure!(more, "cpu {cpu} writes nothing any more");
    }
    Ok(())
}

/// Bigger and smaller, of all CPUs and of one, while a reader takes pages: every page decodes,
/// and the stamps of a CPU go up.
fn resize(context: &Context) -> Check {
    let own = busy(context)?;
    let (stop, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let _load = Load::start();
    let (read, changed) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| -> Check {
            let cpus = 0..sys::online_cpus();
            let mut readers = cpus
                .map(|cpu| CpuReader::open(&own, cpu))
                .collect::<Check<Vec<_>>>()?;
            while !stop.load(Ordering::Relaxed) {
                for reader in &mut readers {
                    count.fetch_add(reader.drain_and_forget(100)?, Ordering::Relaxed);
                }
            }
            Ok(())
        });
        let change = || -> Check {
            for round in 0..10 {
                for kb in ["1", "8", "2000", "100"] {
                    own.set("buffer_size_kb", kb)?;
                    own.set(&format!("per_cpu/cpu{}/buffer_size_kb", round % 2), "50")?;
                }
                alive(&own)?;
            }
            let enough = || reader.is_finished() || count.load(Ordering::Relaxed) > 100;
            sys::wait_until(Duration::from_secs(10), enough);
            Ok(())
        };
        let changed = change();
        stop.store(true, Ordering::Relaxed);
        (
            reader
                .join()
                .unwrap_or_else(|_| Err("the reader died".into())),
            changed,
        )
    });
    changed?;
    read?;
    let read = count.into_inner();
    ensure!(read > 100, "only {read} events were read");
    println!("{read} events read");
    // What was renumbered on the way still has an end.
    let lines = own.get("trace")?.lines().count();
    ensure!(lines < 100_000, "{lines} lines in a small buffer");
    own.remove()
}

/// Events switched on and off by several at once.
fn enable(context: &Context) -> Check {
    let own = busy(context)?;
    let _load = Load::start();
    let result = std::thread::scope(|scope| {
        let workers = [
            "events/sched/enable",
            "events/sched/sched_switch/enable",
            "events/irq/enable",
        ]
        .map(|file| {
            let own = &own;
            scope.spawn(move || {
                (0..6).try_for_each(|i| own.set(file, if i % 2 == 0 { "0" } else { "1" }))
            })
        });
        workers.into_iter().try_for_each(|w| joined(w))
    });
    result?;
    own.set("events/enable", "0")?;
    ensure_eq!(
        own.get("events/sched/enable")?,
        "0\n",
        "events/sched/enable"
    );
    own.clear()?;
    // What would be recorded if something were still on.
    workload::mixed(1);
    for cpu in 0..sys::online_cpus() {
        let entries = own.number(&format!("per_cpu/cpu{cpu}/stats"), "entries")?;
        ensure_eq!(
            entries,
            0,
            "events written by cpu {cpu} with all of them off"
        );
    }
    own.remove()
}

/// The clock, overwrite mode and a clear at any moment.
fn clocks_and_options(context: &Context) -> Check {
    let own = busy(context)?;
    let _load = Load::start();
    for round in 0..10 {
        for clock in ["mono", "global", "counter", "boot", "local"] {
            own.set("trace_clock", clock)?;
            own.set("options/overwrite", if round % 2 == 0 { "0" } else { "1" })?;
            own.set("options/irq-info", if round % 2 == 0 { "1" } else { "0" })?;
            own.clear()?;
        }
        alive(&own)?;
        // Nothing of another clock is left: the stamps of each page are in order.
        own.set("tracing_on", "0")?;
        crate::stream::drain(&own)?;
        own.set("tracing_on", "1")?;
    }
    own.remove()
}

/// `trace` read while the writers overwrite what it is reading: each line is whole, and each
/// CPU's stamps go up (in tracefs they were seen to go back).
fn trace_reads(context: &Context) -> Check {
    let own = busy(context)?;
    own.set("buffer_size_kb", "16")?;
    let _load = Load::start();
    let (mut lines, mut round) = (0, 0);
    let end = Instant::now() + sys::patience(Duration::from_secs(10));
    while round < 10 || (lines <= 100 && Instant::now() < end) {
        round += 1;
        let text = own.get("trace")?;
        let mut last = vec![String::new(); sys::online_cpus()];
        for line in text
            .lines()
            .filter(|l| !l.starts_with('#') && !l.starts_with("CPU:"))
        {
            let parse = || -> Option<(usize, String)> {
                let (_, rest) = line.split_once(" [")?;
                let (cpu, rest) = rest.split_once("] ")?;
                let stamp = rest.split(": ").next()?.rsplit(' ').next()?;
                stamp
                    .contains('.')
                    .then_some((cpu.parse().ok()?, format!("{stamp:>20}")))
            };
            let Some((cpu, stamp)) = parse() else {
                fail!("round {round}: not a line: {line:?}")
            };
            ensure!(
                stamp >= last[cpu] || !context.is_rtracefs(),
                "round {round}: {line:?} after {}",
                last[cpu]
            );
            last[cpu] = stamp;
            lines += 1;
        }
    }
    ensure!(lines > 100, "only {lines} lines");
    println!("{lines} lines");
    own.remove()
}

/// A reader sleeps and wakes while tracing goes on and off; it misses nothing.
fn toggles(context: &Context) -> Check {
    sys::pin_to(0);
    sys::interruptible_by_signal();
    let own = Instance::new(&context.root, "rtg-load")?;
    let mut file = own
        .open("trace_pipe")
        .map_err(|e| format!("trace_pipe: {e}"))?;
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let ends = stop.clone();
    let reader = std::thread::spawn(move || {
        let (mut text, mut bytes) = (Vec::new(), [0; 4096]);
        while !ends.load(Ordering::Relaxed) {
            // The end of file while tracing is off is not final: reading continues later.
            match file.read(&mut bytes).map_err(Errno::from) {
                Ok(0) => std::thread::yield_now(),
                Ok(n) => text.extend_from_slice(&bytes[..n]),
                Err(EINTR) => continue,
                Err(e) => return Err(format!("read: {e}")),
            }
            if text.ends_with(b"the end\n") {
                break;
            }
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    });
    let rounds = 300;
    for round in 0..rounds {
        own.set("tracing_on", "1")?;
        own.set("trace_marker", &format!("round {round}"))?;
        own.set("tracing_on", "0")?;
    }
    own.set("tracing_on", "1")?;
    own.set("trace_marker", "the end")?;
    let ended = sys::wait_until(Duration::from_secs(10), || reader.is_finished());
    stop.store(true, Ordering::Relaxed);
    ensure!(ended, "the reader did not get the last marker");
    let text = reader.join().map_err(|_| "the reader died".to_string())??;
    for round in 0..rounds {
        ensure!(
            text.contains(&format!(": round {round}\n")),
            "marker {round} is missing"
        );
    }
    own.remove()
}
