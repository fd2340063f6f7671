// SPDX-License-Identifier: GPL-2.0

//! Requests for buffers that are larger than memory, alone, several at once, and of a task that is
//! killed.

use super::size::{events, markers, stats, Random, SIZES, SUBBUF};
use super::{test, Test};
use crate::check::{joined, Check};
use crate::errno::*;
use crate::memory::{self, meminfo_kb, oom_kills};
use crate::soak::rounds;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    test("size.no_memory", 60, no_memory),
    test("size.short_of_memory", 60, short_of_memory),
    test("size.memory_pressure", 60, memory_pressure),
    test("size.killed", 60, killed),
];

/// What must be as it was after a request that failed.
fn state(tree: &Tree) -> Check<Vec<String>> {
    let files = [
        "buffer_size_kb",
        "buffer_total_size_kb",
        "per_cpu/cpu0/buffer_size_kb",
        "per_cpu/cpu1/buffer_size_kb",
        SUBBUF,
        "tracing_on",
        "events/header_page",
    ];
    let mut state = files
        .iter()
        .map(|file| tree.get(file))
        .collect::<Check<Vec<_>>>()?;
    state.push(events(&tree.get("trace")?).to_string());
    for cpu in 0..sys::online_cpus() {
        for label in ["entries", "overrun", "dropped events", "read events"] {
            state.push(stats(tree, cpu, label)?.to_string());
        }
    }
    Ok(state)
}

/// A request for more than there is changes nothing: neither size, nor content, nor recording, nor
/// that the top instance is not used yet.
fn no_memory(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs forgets that it was not used");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    let top = own.top();
    markers(&own, 20)?;
    let huge = [
        "1000000000",
        "17179869184",
        "18014398509481983",
        "4194304000",
    ];
    for on in ["1", "0"] {
        own.set("tracing_on", on)?;
        for tree in [&*own, &top] {
            let before = state(tree)?;
            for file in ["buffer_size_kb", "per_cpu/cpu1/buffer_size_kb"] {
                for kb in huge {
                    let found = tree.write(file, kb.as_bytes());
                    ensure_eq!(found, Err(ENOMEM), "{kb} to {file}");
                    ensure_eq!(state(tree)?, before, "after {kb} to {file}");
                }
            }
        }
    }
    // Half of the memory can be had, but not once more for sub-buffers of another size.
    let cpus = sys::online_cpus() as u64;
    let half = meminfo_kb("MemAvailable")? * 6 / 10 / cpus;
    own.set("buffer_size_kb", &half.to_string())?;
    let before = state(&own)?;
    for kb in ["8", "512"] {
        ensure_eq!(
            own.write(SUBBUF, kb.as_bytes()),
            Err(ENOMEM),
            "{kb} to {SUBBUF}"
        );
        ensure_eq!(state(&own)?, before, "after {kb} to {SUBBUF}");
    }
    ensure_eq!(events(&own.get("trace")?), 20, "events");
    // Freeing memory needs none.
    own.set("buffer_size_kb", &(half - 100).to_string())?;
    own.set("buffer_size_kb", "100")?;
    ensure_eq!(events(&own.get("trace")?), 20, "events after that");
    own.remove()
}

/// Takes memory until less is available than requests for buffers leave to the system.
fn memory_but_reserve() -> Check<Vec<Vec<u8>>> {
    const PIECE: usize = 256 << 10;
    let reserve = (meminfo_kb("MemTotal")? / 16).min(16 << 10);
    let mut taken = vec![];
    while meminfo_kb("MemAvailable")? > reserve * 3 / 4 {
        taken.push(vec![1; PIECE]);
    }
    Ok(taken)
}

/// A size that needs no sub-buffer that there is not can be had when there is no memory for any.
fn short_of_memory(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs has no reserve");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("buffer_size_kb", "2000")?;
    own.set("snapshot", "1")?;
    markers(&own, 20)?;
    let taken = memory_but_reserve()?;
    let refused = own.write("buffer_size_kb", b"2100");
    ensure_eq!(refused, Err(ENOMEM), "a larger size");
    for (file, kb) in [
        ("buffer_size_kb", 2000),
        ("per_cpu/cpu0/buffer_size_kb", 1900),
        ("buffer_size_kb", 1800),
    ] {
        let found = own.write(file, kb.to_string().as_bytes());
        ensure!(found.is_ok(), "{kb} to {file}: {found:?}");
    }
    let refused = own.write("buffer_size_kb", b"2000");
    ensure_eq!(refused, Err(ENOMEM), "the size of before");
    drop(own.open_write("free_buffer").map_err(|e| e.to_string())?);
    let size = own.get("buffer_size_kb")?;
    drop(taken);
    ensure_eq!(size, "7\n", "the size after free_buffer");
    own.remove()
}

/// Several instances want large buffers at the same time, over and over: some get them, some get
/// ENOMEM, and no task is killed for it.
fn memory_pressure(context: &Context) -> Check {
    memory::steady(|| pressure(context))
}

fn pressure(context: &Context) -> Check {
    const INSTANCES: usize = 4;
    let killed = oom_kills();
    let trees = (0..INSTANCES)
        .map(|i| Instance::new(&context.root, &format!("rtg-large{i}")))
        .collect::<Check<Vec<_>>>()?;
    let (all, began) = (meminfo_kb("MemAvailable")?, Instant::now());
    let usual = Duration::from_secs(rounds(2, 10) as u64);
    let cpus = sys::online_cpus() as u64;
    let (taken, refused) = (AtomicU32::new(0), AtomicU32::new(0));
    // A slow machine takes its time for a request.
    let go_on = || {
        let few = |count: &AtomicU32| count.load(Ordering::Relaxed) <= 3;
        let time = began.elapsed();
        time < usual || (few(&taken) || few(&refused)) && time < sys::patience(usual)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = trees
            .iter()
            .zip(1..)
            .map(|(tree, seed)| {
                let (taken, refused, go_on) = (&taken, &refused, &go_on);
                scope.spawn(move || -> Check {
                    let mut random = Random(seed);
                    while go_on() {
                        let kb = all * (10 + random.below(200)) / 100 / cpus;
                        let (file, text) = match random.below(8) {
                            0 => (SUBBUF, SIZES[random.below(4) as usize]),
                            1 => ("per_cpu/cpu0/buffer_size_kb", kb),
                            2 => ("buffer_size_kb", 8),
                            _ => ("buffer_size_kb", kb),
                        };
                        match tree.write(file, text.to_string().as_bytes()) {
                            Ok(_) => _ = taken.fetch_add(1, Ordering::Relaxed),
                            Err(ENOMEM) => _ = refused.fetch_add(1, Ordering::Relaxed),
                            Err(e) => fail!("{text} to {file}: {e}"),
                        }
                        tree.set("trace_marker", "marker")?;
                    }
                    Ok(())
                })
            })
            .collect();
        let join = |w: std::thread::ScopedJoinHandle<'_, _>| joined(w);
        workers.into_iter().map(join).collect::<Check<Vec<()>>>()
    })?;
    ensure_eq!(oom_kills(), killed, "tasks that the OOM killer ended");
    let (taken, refused) = (taken.into_inner(), refused.into_inner());
    println!("{taken} taken, {refused} refused");
    ensure!(taken > 3 && refused > 3, "{taken} taken, {refused} refused");
    trees.into_iter().try_for_each(Instance::remove)
}

/// A task that is killed while it gets memory gives it back.
fn killed(context: &Context) -> Check {
    memory::steady(|| kill_some(context))
}

fn kill_some(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let large = meminfo_kb("MemAvailable")? * 6 / 10 / sys::online_cpus() as u64;
    let file = own.file("buffer_size_kb");
    for round in 0..rounds(8, 30) as u64 {
        let script = format!(
            "exec 2>/dev/null; while :; do echo {large} >{0}; echo 8 >{0}; done",
            file.display()
        );
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .spawn()
            .map_err(|e| format!("sh: {e}"))?;
        std::thread::sleep(Duration::from_millis(40 * round));
        let ended = child.kill().and_then(|()| child.wait());
        ended.map_err(|e| format!("kill: {e}"))?;
    }
    own.set("buffer_size_kb", "100")?;
    markers(&own, 3)?;
    ensure_eq!(events(&own.get("trace")?), 3, "events");
    own.remove()
}
