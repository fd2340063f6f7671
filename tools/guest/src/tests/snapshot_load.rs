// SPDX-License-Identifier: GPL-2.0

//! Snapshots of buffers that are being written to: no event is lost, refused or there twice.

use super::contexts::{check_record, parameter, CONTEXTS, NAME};
use super::size::{stats, Random, SUBBUF};
use super::size_load::switch_cpu;
use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::EBUSY;
use crate::module;
use crate::soak::rounds;
use crate::stream::{CpuReader, Record};
use crate::stress::Stress;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload::Load;
use crate::Context;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    exact("snapshot.loses_nothing", 120, |c| loses_nothing(c, false)).with_testapi(),
    exact("snapshot.beside_a_reader", 120, |c| loses_nothing(c, true)).with_testapi(),
    exact("snapshot.of_tracepoints", 120, of_tracepoints),
    test("snapshot.load", 120, load),
    exact("snapshot.offline", 60, offline),
];

/// Takes all that is in one of the raw files of all CPUs. The order of time holds in each bank, not
/// from one to the other: a writer that was interrupted may have a later time in the older bank.
struct Drain {
    readers: Vec<CpuReader>,
    records: Vec<Record>,
}

impl Drain {
    fn new(tree: &Tree, file: &str) -> Check<Self> {
        let readers = (0..sys::online_cpus())
            .map(|cpu| CpuReader::of(tree, cpu, file))
            .collect::<Check<Vec<_>>>()?;
        Ok(Drain {
            readers,
            records: Vec::new(),
        })
    }

    fn drain(&mut self) -> Check {
        self.drain_some(usize::MAX)
    }

    /// Takes some of it: a reader slower than the writers would never have all of it.
    fn drain_some(&mut self, sub_buffers: usize) -> Check {
        for (cpu, reader) in self.readers.iter_mut().enumerate() {
            reader.drain_some(sub_buffers)?;
            let stream = std::mem::take(&mut reader.stream);
            ensure!(
                stream.lost() == 0 && !stream.uncounted_loss,
                "cpu {cpu}: {} events lost",
                stream.lost()
            );
            self.records.extend(stream.records);
        }
        Ok(())
    }
}

/// Snapshots one after the other, each read to its end, until `done` says so of how many they are.
fn take_all(
    own: &Tree,
    snapshot: &mut Drain,
    mut done: impl FnMut(usize, &Drain) -> bool,
) -> Check<usize> {
    let mut taken = 0;
    while !done(taken, snapshot) {
        own.set("snapshot", "1")?;
        snapshot.drain()?;
        taken += 1;
    }
    Ok(taken)
}

/// Writers in all contexts: each number that one of them used was read once, in a snapshot or live.
fn loses_nothing(context: &Context, reader: bool) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs loses what is written meanwhile");
    }
    let _ = module::unload(NAME);
    let own = Instance::new(&context.root, "rtg-stress")?;
    // Writers that rest take two seconds to fill it, however late the readers are.
    own.set("buffer_size_kb", "16000")?;
    let mut snapshot = Drain::new(&own, "snapshot_raw")?;
    let mut live = Drain::new(&own, "trace_pipe_raw")?;
    let ms = rounds(1500, 8000);
    let writers = Stress::start(
        context,
        &format!("ms={ms} pause_us=100 instance=rtg-stress"),
    );
    let stop = AtomicBool::new(false);
    let lived = AtomicUsize::new(0);
    let taken = std::thread::scope(|scope| {
        let reading = scope.spawn(|| -> Check {
            while reader && !stop.load(Ordering::Relaxed) {
                live.drain_some(100)?;
                lived.store(live.records.len(), Ordering::Relaxed);
            }
            Ok(())
        });
        let taken = take_all(&own, &mut snapshot, |taken, snapshot| {
            // That of a reader that has failed is not waited for.
            let of_reader =
                !reader || reading.is_finished() || lived.load(Ordering::Relaxed) > 1000;
            // With this many, some come while another is under way.
            let got = snapshot.records.len() + lived.load(Ordering::Relaxed);
            if taken > 4 && snapshot.records.len() > 1000 && got > 20_000 && of_reader {
                writers.enough();
            }
            writers.is_finished()
        });
        stop.store(true, Ordering::Relaxed);
        let read = reading.join().unwrap_or(Err("the reader died".into()));
        taken.and_then(|taken| read.map(|()| taken))
    })?;
    writers.end()?;
    live.drain()?;
    own.set("snapshot", "1")?;
    snapshot.drain()?;
    live.drain()?;

    let (written, refused) = (parameter("written")?, parameter("refused")?);
    let nested = parameter("nested")?.iter().sum::<u64>();
    let mut seen: Vec<Vec<bool>> = written.iter().map(|n| vec![false; *n as usize]).collect();
    let mut report = Report::default();
    for record in snapshot.records.iter().chain(&live.records) {
        let payload = check_record(record)?;
        let of = &mut seen[record.cpu * CONTEXTS.len() + payload.context];
        match of.get_mut(payload.number as usize) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => report.add(format!("cpu {}: {} twice", record.cpu, payload.number)),
            None => report.add(format!("cpu {}: {} unknown", record.cpu, payload.number)),
        }
    }
    let missing = seen.iter().flatten().filter(|seen| !**seen).count();
    println!(
        "{taken} snapshots; {} written, {nested} nested, {} in snapshots, {} live",
        written.iter().sum::<u64>(),
        snapshot.records.len(),
        live.records.len()
    );
    report.expect(missing == 0, || format!("{missing} are missing"));
    report.expect(refused.iter().sum::<u64>() == 0, || {
        format!("refused: {refused:?}")
    });
    report.expect(
        taken > 4 && nested > 5 && snapshot.records.len() > 1000,
        || format!("{taken} snapshots, {nested} nested"),
    );
    report.expect(!reader || live.records.len() > 1000, || {
        format!("{} read live", live.records.len())
    });
    let unloaded = module::unload(NAME).map_err(|e| format!("unload {NAME}: {e}"));
    report.finish().and(unloaded)?;
    drop((snapshot, live));
    own.remove()
}

/// The same for probes of tracepoints, which go through C between reserving and committing.
fn of_tracepoints(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs loses what is written meanwhile");
    }
    let snapshots = rounds(12, 60) as u32;
    // Some milliseconds of calls around each snapshot. A caller that is bounded by time only fills the
    // buffer again before a slow reader has emptied the last snapshot, and events are overwritten.
    const CALLS: u32 = 4000;
    const GETTID: u64 = 186;
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("buffer_size_kb", "16000")?;
    let event = "events/raw_syscalls/sys_enter";
    let id: u16 = own
        .get(&format!("{event}/id"))?
        .trim()
        .parse()
        .map_err(|e| format!("id: {e}"))?;
    let mut snapshot = Drain::new(&own, "snapshot_raw")?;
    let mut live = Drain::new(&own, "trace_pipe_raw")?;
    for event in [event, "events/irq", "events/timer", "events/sched"] {
        own.set(&format!("{event}/enable"), "1")?;
    }
    let stop = AtomicBool::new(false);
    let allowed = AtomicU32::new(0);
    let called = std::thread::scope(|scope| -> Check<(u32, u32)> {
        let caller = scope.spawn(|| {
            sys::pin_to(sys::online_cpus() - 1);
            let (thread, mut calls) = (sys::thread_id(), 1);
            while !stop.load(Ordering::Relaxed) {
                if calls < allowed.load(Ordering::Relaxed) {
                    for _ in 0..100 {
                        sys::thread_id();
                    }
                    calls += 100;
                    std::thread::sleep(Duration::from_micros(100));
                } else {
                    // Each sleep is some events: they must not fill the buffer while a slow reader is
                    // busy with the last snapshot.
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
            (thread, calls)
        });
        let taken = take_all(&own, &mut snapshot, |_, _| {
            let done = allowed.fetch_add(CALLS, Ordering::Relaxed) == snapshots * CALLS;
            std::thread::sleep(Duration::from_millis(5));
            done
        });
        stop.store(true, Ordering::Relaxed);
        let called = caller.join().map_err(|_| "the caller died".to_string())?;
        taken.map(|_| called)
    });
    let (thread, calls) = called?;
    own.set("events/enable", "0")?;
    own.set("snapshot", "1")?;
    snapshot.drain()?;
    live.drain()?;
    let ours = |record: &&Record| {
        record.id() == id && record.pid() == thread as i32 && record.number(8, 8) == GETTID
    };
    let found = snapshot
        .records
        .iter()
        .chain(&live.records)
        .filter(ours)
        .count();
    println!("{calls} calls, {} records", snapshot.records.len());
    ensure_eq!(found as u32, calls, "calls");
    ensure!(calls > 1000, "{calls} calls");
    drop((snapshot, live));
    own.remove()
}

/// Everything at once: snapshots of all kinds, sizes, clocks, readers of all files, CPUs that go.
/// When it is over a snapshot is what it always was.
fn load(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    if !own.exists("snapshot") {
        skip!("this kernel's tracefs has no snapshot");
    }
    let cpus = sys::online_cpus();
    for system in ["sched", "irq", "timer", "raw_syscalls"] {
        own.set(&format!("events/{system}/enable"), "1")?;
    }
    let load = Load::start();
    let stop = AtomicBool::new(false);
    let going = || !stop.load(Ordering::Relaxed);
    let (done, results) = std::thread::scope(|scope| {
        let text = scope.spawn(|| -> Check {
            while going() {
                own.get("snapshot")?;
                own.get("per_cpu/cpu0/snapshot")?;
                own.get("trace")?;
            }
            Ok(())
        });
        let consumers = scope.spawn(|| -> Check {
            let mut bytes = vec![0; 1 << 16];
            while going() {
                for file in [
                    "per_cpu/cpu0/snapshot_raw",
                    "per_cpu/cpu0/trace_pipe_raw",
                    "trace_pipe",
                ] {
                    match own.open_nonblock(file) {
                        Ok(mut file) => drop(file.read(&mut bytes)),
                        // A child of the load has the last one until its program begins.
                        Err(EBUSY) => std::thread::sleep(Duration::from_millis(1)),
                        Err(e) => fail!("{file}: {e}"),
                    }
                }
            }
            Ok(())
        });
        let takers = [5u64, 6].map(|seed| {
            let (own, going) = (&own, &going);
            scope.spawn(move || -> Check {
                let mut random = Random(seed);
                while going() {
                    let (file, text) = match random.below(8) {
                        0 => ("snapshot", "0"),
                        1 => ("snapshot", "2"),
                        2 => ("per_cpu/cpu0/snapshot", "2"),
                        _ => ("snapshot", "1"),
                    };
                    own.set(file, text)?;
                }
                Ok(())
            })
        });
        let change = || -> Check {
            let mut random = Random(9);
            for round in 0..rounds(30, 200) {
                let kb = (1 + random.below(3000)).to_string();
                match random.below(6) {
                    0 => own.set(SUBBUF, &(4 << random.below(5)).to_string())?,
                    1 => own.set("per_cpu/cpu0/buffer_size_kb", &kb)?,
                    2 => own.set("trace_clock", ["mono", "local"][round % 2])?,
                    3 => own.clear()?,
                    4 => own.set("tracing_on", ["0", "1"][round % 2])?,
                    _ => own.set("buffer_size_kb", &kb)?,
                }
                if round % 15 == 7 && cpus > 1 {
                    for value in ["0", "1"] {
                        switch_cpu(cpus - 1, value)?;
                    }
                }
            }
            Ok(())
        };
        let done = change();
        stop.store(true, Ordering::Relaxed);
        let results: Vec<Check> = [text, consumers]
            .into_iter()
            .chain(takers)
            .map(|thread| thread.join().unwrap_or(Err("a thread died".into())))
            .collect();
        (done, results)
    });
    drop(load);
    done?;
    results.into_iter().collect::<Check<()>>()?;
    own.set("events/enable", "0")?;
    own.set("tracing_on", "1")?;
    own.clear()?;
    own.set("snapshot", "2")?;
    own.set("trace_marker", "before")?;
    own.set("snapshot", "1")?;
    own.set("trace_marker", "after")?;
    for (file, wanted) in [("snapshot", "before"), ("trace", "after")] {
        let text = own.get(file)?;
        let events: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        ensure!(
            events.len() == 1 && events[0].ends_with(wanted),
            "{file}: {events:?}"
        );
    }
    if context.is_rtracefs() {
        for cpu in 0..cpus {
            let text = own.get(&format!("per_cpu/cpu{cpu}/stats"))?;
            ensure!(!text.contains("broken"), "{text}");
        }
    }
    own.remove()
}

/// What a CPU that is away had recorded is in the snapshot; it comes back and records.
fn offline(context: &Context) -> Check {
    let cpus = sys::online_cpus();
    if cpus < 2 {
        skip!("one CPU cannot go");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    if !own.exists("snapshot") {
        skip!("this kernel's tracefs has no snapshot");
    }
    let last = cpus - 1;
    let switch = |value: &str| switch_cpu(last, value);
    let mark = |text: &str| -> Check {
        sys::pin_to(last);
        let done = own.set("trace_marker", text);
        sys::pin_to(0);
        done
    };
    mark("one")?;
    switch("0")?;
    let away = || -> Check {
        own.set("snapshot", "1")?;
        let text = own.get(&format!("per_cpu/cpu{last}/snapshot"))?;
        ensure!(text.contains("tracing_mark_write: one"), "{text}");
        ensure_eq!(stats(&own, last, "entries")?, 0, "live entries");
        Ok(())
    };
    let checked = away();
    switch("1")?;
    checked?;
    mark("two")?;
    ensure_eq!(
        stats(&own, last, "entries")?,
        1,
        "entries of a CPU that came back"
    );
    own.set("snapshot", "1")?;
    let text = own.get("snapshot")?;
    ensure!(text.contains("tracing_mark_write: two"), "{text}");
    own.remove()
}
