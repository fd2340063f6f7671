// SPDX-License-Identifier: GPL-2.0

//! Readers that have the buffer mapped while others write to it: each event comes once or is counted.

use super::contexts::{check_record, parameter, CONTEXTS, NAME};
use super::mapping::{mark, number};
use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::maps::MapReader;
use crate::module;
use crate::soak::rounds;
use crate::stress::Stress;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    exact("mapping.while_writing", 120, |c| {
        while_writing(c, "4", true)
    }),
    exact("mapping.large_while_writing", 120, |c| {
        while_writing(c, "64", true)
    }),
    exact("mapping.no_overwrite", 120, |c| {
        while_writing(c, "4", false)
    }),
    exact("mapping.contexts", 120, |c| contexts(c, 32000)).with_testapi(),
    exact("mapping.contexts_lost", 120, |c| contexts(c, 80)).with_testapi(),
    test("mapping.comes_and_goes", 120, comes_and_goes),
];

/// One writer, one reader; in a buffer that is too small for the reader's pace.
fn while_writing(context: &Context, kb: &str, overwrite: bool) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("buffer_subbuf_size_kb", kb)?;
    own.set("buffer_size_kb", "64")?;
    own.set("buffer_percent", "0")?;
    own.set("options/overwrite", if overwrite { "1" } else { "0" })?;
    let least = if sys::proves_locking() { 3000 } else { 20000 };
    let mut reader = MapReader::open(&own, 0)?;
    let tree = Tree::at(own.path());
    let done = Arc::new(AtomicUsize::new(0));
    let steps = done.clone();
    let writer = std::thread::spawn(move || -> Check<usize> {
        sys::pin_to(0);
        let mut i = 0;
        // A reader that the machine gives no time to is waited for.
        while i < least || (i < 50 * least && steps.load(Ordering::Relaxed) <= 50) {
            match mark(&tree, i, 20 + i % 900) {
                // Full.
                Err(e) if overwrite => return Err(e),
                _ => {}
            }
            i += 1;
        }
        Ok(i)
    });
    sys::pin_to(sys::online_cpus() - 1);
    loop {
        let over = writer.is_finished();
        match reader.step()? {
            true => _ = done.fetch_add(1, Ordering::Relaxed),
            false if over => break,
            false => _ = sys::poll_in(&reader.file, Duration::from_millis(20)),
        }
    }
    let total = writer.join().map_err(|_| "the writer died".to_string())??;
    let steps = done.load(Ordering::Relaxed);
    let (mut next, mut refused) = (0, 0);
    for record in &reader.stream.records {
        let number = number(record)?;
        ensure!(number >= next, "{number} behind {next}");
        let gap = (number - next) as u64;
        if overwrite {
            ensure_eq!(gap, record.lost, "lost in front of {number}");
        }
        refused += gap - record.lost;
        next = number + 1;
    }
    refused += (total - next) as u64;
    let stats = "per_cpu/cpu0/stats";
    let (meta, lost) = (reader.meta(), reader.stream.lost());
    ensure_eq!(own.number(stats, "dropped events")?, refused, "refused");
    ensure_eq!(
        (meta.read, meta.overrun, meta.entries),
        (
            reader.stream.records.len() as u64,
            lost,
            total as u64 - refused
        ),
        "read, overwritten and written"
    );
    ensure_eq!(own.number(stats, "entries")?, 0, "left");
    ensure!(steps > 50, "only {steps} steps");
    println!(
        "{steps} steps, {} of {total} events, {lost} overwritten, {refused} refused",
        reader.stream.records.len()
    );
    drop(reader);
    own.remove()
}

/// Writers in four contexts on all CPUs.
fn contexts(context: &Context, kb: usize) -> Check {
    let _ = module::unload(NAME);
    let own = Instance::new(&context.root, "rtg-stress")?;
    // Of the large one writers that rest fill a fifth in a second at most.
    own.set("buffer_size_kb", &kb.to_string())?;
    let instance = match context.is_rtracefs() {
        true => "rtg-stress",
        false => "",
    };
    if !context.is_rtracefs() {
        own.set("set_event", &format!(":mod:{NAME}"))?;
    }
    let mut readers = (0..sys::online_cpus())
        .map(|cpu| MapReader::open(&own, cpu))
        .collect::<Check<Vec<_>>>()?;
    let writers = Stress::start(
        context,
        &format!("ms=1500 pause_us=100 instance={instance}"),
    );
    // If events shall be lost, the readers wait until some were, and are slow from then on.
    let lossy = kb < 100;
    let lost = |cpu: usize| own.number(&format!("per_cpu/cpu{cpu}/stats"), "overrun");
    let each_lost = || (0..sys::online_cpus()).all(|cpu| lost(cpu).is_ok_and(|lost| lost > 0));
    if lossy {
        let some = || writers.is_finished() || each_lost();
        sys::wait_until(Duration::from_secs(10), some);
    }
    let mut steps = 0;
    while !writers.is_finished() {
        for reader in &mut readers {
            steps += usize::from(reader.step()?);
        }
        if steps > 200 {
            writers.enough();
        }
        if lossy {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    writers.end()?;
    let written = parameter("written")?;
    let mut report = Report::default();
    for (cpu, reader) in readers.iter_mut().enumerate() {
        reader.drain()?;
        let mut next = [0; CONTEXTS.len()];
        for record in &reader.stream.records {
            let payload = check_record(record)?;
            let of = &mut next[payload.context];
            ensure!(
                payload.number >= *of,
                "cpu {cpu}: {} behind {of}",
                payload.number
            );
            *of = payload.number + 1;
        }
        let stats = format!("per_cpu/cpu{cpu}/stats");
        let refused =
            own.number(&stats, "commit overrun")? + own.number(&stats, "dropped events")?;
        let total: u64 = written[cpu * CONTEXTS.len()..][..CONTEXTS.len()]
            .iter()
            .sum();
        let (meta, read) = (reader.meta(), reader.stream.records.len() as u64);
        println!(
            "cpu {cpu}: {total} written, {read} read in {} sub-buffers, {} overwritten, \
             {refused} refused",
            reader.stream.pages, meta.overrun
        );
        report.expect(read + meta.overrun + refused == total, || {
            format!("cpu {cpu}: the account of {total} writes is wrong")
        });
        report.expect(
            (meta.read, meta.entries) == (read, total - refused)
                && (!context.is_rtracefs() || reader.stream.lost() == meta.overrun),
            || format!("cpu {cpu}: {} lost, {meta:?}", reader.stream.lost()),
        );
        report.expect(total > 100, || format!("cpu {cpu}: only {total} writes"));
    }
    let lost: u64 = readers.iter().map(|r| r.meta().overrun).sum();
    report.expect((lost != 0) == lossy, || format!("{lost} events lost"));
    drop(readers);
    let unloaded = module::unload(NAME).map_err(|e| format!("unload {NAME}: {e}"));
    report.finish()?;
    unloaded?;
    own.remove()
}

/// Mappings, sizes, snapshots and readers of all kinds at once, each refused or done.
fn comes_and_goes(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("buffer_size_kb", "64")?;
    let stop = AtomicBool::new(false);
    let go_on = || !stop.load(Ordering::Relaxed);
    let (done, busy) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let counts = || [&done, &busy].map(|count| count.load(Ordering::Relaxed));
    let tally = std::thread::scope(|scope| -> Check<(usize, usize, usize)> {
        let writer = scope.spawn(|| -> Check {
            let mut i = 0;
            while go_on() {
                // EBADF: the buffer is being changed.
                let _ = own.write("trace_marker", format!("number {i} of many").as_bytes());
                i += 1;
            }
            Ok(())
        });
        let changer = scope.spawn(|| -> Check {
            while go_on() {
                for (file, text) in [
                    ("buffer_size_kb", "100"),
                    ("snapshot", "1"),
                    ("buffer_subbuf_size_kb", "8"),
                    ("snapshot", "0"),
                    ("per_cpu/cpu0/buffer_size_kb", "64"),
                    ("buffer_subbuf_size_kb", "4"),
                ] {
                    match own.write(file, text.as_bytes()) {
                        Ok(_) => _ = done.fetch_add(1, Ordering::Relaxed),
                        Err(EBUSY) => _ = busy.fetch_add(1, Ordering::Relaxed),
                        Err(e) => fail!("{text} > {file}: {e}"),
                    }
                }
                own.clear()?;
            }
            Ok(())
        });
        let viewer = scope.spawn(|| -> Check {
            while go_on() {
                own.get("trace")?;
            }
            Ok(())
        });
        let mut mapped = 0;
        let began = Instant::now();
        let usual = Duration::from_secs(rounds(4, 40) as u64);
        let result = (|| -> Check {
            while began.elapsed() < usual
                || ((mapped <= 3 || counts().iter().any(|count| *count <= 3))
                    && began.elapsed() < sys::patience(usual)
                    && !(writer.is_finished() || changer.is_finished() || viewer.is_finished()))
            {
                // The size may have changed between the two parts of it.
                let Ok(reader) = MapReader::open(&own, 0) else {
                    continue;
                };
                for _ in 0..20 {
                    reader.get().map_err(|e| format!("get the reader: {e}"))?;
                    let meta = reader.meta();
                    ensure!(meta.id < meta.subbufs, "{meta:?}");
                    reader.image(meta.id);
                }
                mapped += 1;
            }
            Ok(())
        })();
        stop.store(true, Ordering::Relaxed);
        let died = |_| "a thread died".to_string();
        writer.join().map_err(died)??;
        viewer.join().map_err(died)??;
        changer.join().map_err(died)??;
        let [done, busy] = counts();
        result.map(|()| (mapped, done, busy))
    })?;
    let (mapped, done, busy) = tally;
    println!("{mapped} mappings, {done} changes, {busy} refused");
    ensure!(mapped > 3 && done > 3 && busy > 3, "{tally:?}");
    own.remove()
}
