// SPDX-License-Identifier: GPL-2.0

//! What filters let through: the same records as the kernel's own tracer, in all four contexts,
//! while filters change and while a module with its events goes.

use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::module;
use crate::soak;
use crate::soak::record::{self, CONTEXTS, NMI, RINGS};
use crate::soak::writers::Writers;
use crate::stream::{self, CpuReader, Record};
use crate::sys;
use crate::tree::Instance;
use crate::workload::Load;
use crate::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    exact("filter.contexts", 180, contexts).with_testapi(),
    test("filter.replaced", 60, replaced),
    test("filter.module", 60, of_a_module).with_testapi(),
];

const SOAK: &str = "rtsoak/rtsoak_event";

/// Events written in task, softirq, hardirq and NMI context, deep inside each other, and filtered
/// there: what comes back is what the filter names, and of that nothing is missing.
fn contexts(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-soak-a")?;
    own.set("buffer_size_kb", "20000")?;
    let writers = Writers::load(context, &[])?;
    type Wanted = fn(usize, u32) -> bool;
    let filters: [(&str, Wanted); 7] = [
        ("number & 1", |_, number| number & 1 == 1),
        ("!(number >= 2000)", |_, number| number < 2000),
        ("who & 3 || number == 7", |context, number| {
            context != 0 || number == 7
        }),
        ("number != 5 && who & 1", |context, number| {
            number != 5 && context & 1 == 1
        }),
        ("number < 1000 && who & 3", |context, number| {
            number < 1000 && context != 0
        }),
        (
            "who & 1 && !(number & 2) && who & 2 && CPU == 0 || number == 0",
            |context, number| context == 3 && number & 2 == 0 || number == 0,
        ),
        (
            "common_flags & 0x48 && COMM ~ \"*\" && common_pid != -1",
            |context, _| context > 1,
        ),
    ];
    let mut report = Report::default();
    for (filter, wanted) in filters {
        own.set("events/rtsoak/rtsoak_event/filter", filter)?;
        own.clear()?;
        own.set("events/rtsoak/rtsoak_event/enable", "1")?;
        writers.start(7, 60_000, 0, 0)?;
        while writers.busy()? {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        writers.stop()?;
        own.set("events/rtsoak/rtsoak_event/enable", "0")?;
        let written = writers.written()?;
        let only_cpu_0 = filter.contains("CPU == 0");
        let mut kept = [0; CONTEXTS.len()];
        for cpu in 0..sys::online_cpus() {
            let stream = stream::drain_cpu(&own, cpu)?;
            report.expect(stream.lost() == 0 && !stream.uncounted_loss, || {
                format!("{filter}: cpu {cpu} lost events")
            });
            let mut found = vec![BTreeSet::new(); CONTEXTS.len()];
            for record in &stream.records {
                let event = record::of_record(cpu, &record.payload)?;
                let named = wanted(event.context, event.number)
                    && (!only_cpu_0 || cpu == 0 || event.number == 0);
                report.expect(named, || format!("{filter}: {event:?} was let through"));
                report.expect(found[event.context].insert(event.number), || {
                    format!("{filter}: {event:?} came twice")
                });
            }
            for (context, found) in found.iter().enumerate() {
                let tally = written.tally(cpu, RINGS, context);
                let named = (0..tally.attempts as u32).filter(|number| {
                    wanted(context, *number) && (!only_cpu_0 || cpu == 0 || *number == 0)
                });
                let missing = named.filter(|number| !found.contains(number)).count();
                let refused = tally.attempts - tally.recorded;
                report.expect(missing as u64 <= refused, || {
                    let name = CONTEXTS[context];
                    format!("{filter}: cpu {cpu}: {missing} of {name} missing, {refused} refused")
                });
                kept[context] += found.len();
            }
        }
        println!("{filter}: {kept:?} of {:?}", written.by_context());
        report.expect_chance(kept[NMI] > 0, || format!("{filter}: nothing from NMIs"));
    }
    writers.unload()?;
    own.remove()?;
    report.finish()
}

/// A filter replaced by another while its event is recorded, switched off and on again: at no
/// moment there is none.
fn replaced(context: &Context) -> Check {
    const FILE: &str = "events/raw_syscalls/sys_enter/filter";
    const OTHER: &str = "events/sched/sched_switch/filter";
    let own = Instance::new(&context.root, "rtg-own")?;
    let id: u16 = own
        .get("events/raw_syscalls/sys_enter/id")?
        .trim()
        .parse()
        .map_err(|e| format!("id: {e}"))?;
    own.set(FILE, "id == 1")?;
    own.set("events/raw_syscalls/sys_enter/enable", "1")?;
    own.set("events/sched/sched_switch/enable", "1")?;
    let stop = AtomicBool::new(false);
    let _load = Load::start();
    let mut readers = (0..sys::online_cpus())
        .map(|cpu| CpuReader::open(&own, cpu))
        .collect::<Check<Vec<_>>>()?;
    let steps = [const { AtomicUsize::new(0) }; 3];
    let until_stopped = |worker: usize, step: &dyn Fn() -> Check| -> Check {
        while !stop.load(Ordering::Relaxed) {
            step()?;
            steps[worker].fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    let wanted = soak::rounds(10, 100);
    let began = Instant::now();
    let changed = std::thread::scope(|scope| {
        let workers = [
            scope.spawn(|| {
                until_stopped(0, &|| {
                    own.set(FILE, "id == 0 || id == 1")?;
                    own.set(FILE, "id == 1 && CPU >= 0")
                })
            }),
            scope.spawn(|| {
                until_stopped(1, &|| {
                    own.set("events/raw_syscalls/sys_enter/enable", "0")?;
                    own.set("events/raw_syscalls/sys_enter/enable", "1")
                })
            }),
            scope.spawn(|| {
                until_stopped(2, &|| {
                    own.set(OTHER, "prev_pid > 5 && prev_comm ~ \"*a*\"")?;
                    let refused = own.write(OTHER, b"nosuch == 1");
                    ensure_eq!(refused, Err(EINVAL), "a field that does not exist");
                    own.set("events/sched/filter", "pid == 1")?;
                    own.set(OTHER, "0")
                })
            }),
        ];
        let mut read = Ok(());
        let enough = sys::wait_until(Duration::from_secs(40), || {
            read = readers.iter_mut().try_for_each(CpuReader::drain);
            let mut records = readers.iter().flat_map(|reader| &reader.stream.records);
            let is_write = |record: &Record| record.id() == id && record.number(8, 8) == 1;
            let done = steps.iter().all(|n| n.load(Ordering::Relaxed) >= wanted);
            let failed = read.is_err() || workers.iter().any(|w| w.is_finished());
            failed || done && records.any(is_write)
        });
        stop.store(true, Ordering::Relaxed);
        let read = read.and(match enough {
            true => Ok(()),
            false => Err(format!("too little was done: {steps:?}")),
        });
        workers.into_iter().fold(read, |result, w| {
            result.and(w.join().unwrap_or(Err("died".into())))
        })
    });
    changed?;
    let mut seen = BTreeMap::new();
    for record in readers.iter().flat_map(|reader| &reader.stream.records) {
        if record.id() == id {
            *seen.entry(record.number(8, 8)).or_insert(0) += 1;
        }
    }
    let seconds = began.elapsed().as_secs_f32();
    println!("{steps:?} steps in {seconds:.1} s, system calls: {seen:?}");
    ensure!(seen.contains_key(&1), "no write was recorded");
    ensure!(seen.keys().all(|call| *call <= 1), "others were: {seen:?}");
    drop(readers);
    own.remove()
}

/// The filter of a module's event goes with the module, on both trees; a file that is still open
/// says so.
fn of_a_module(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let file = format!("events/{SOAK}/filter");
    for round in 0..3 {
        let writers = Writers::load(context, &[])?;
        ensure_eq!(own.get(&file)?, "none\n", "round {round}");
        own.set(&file, "number == 5")?;
        own.set(&format!("events/{SOAK}/enable"), "1")?;
        let mut open = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(own.file(&file))
            .map_err(|e| format!("{file}: {e}"))?;
        writers.unload()?;
        ensure!(!own.exists(&file), "{file} is still there");
        let mut bytes = [0; 64];
        let read = open.read_at(&mut bytes, 0).map_err(Errno::from);
        ensure_eq!(
            read,
            Err(ENODEV),
            "reading the filter of an event that is gone"
        );
        let _ = open.seek(SeekFrom::Start(0));
        let written = open.write(b"number == 6").map_err(Errno::from);
        ensure_eq!(written, Err(ENODEV), "filtering an event that is gone");
    }
    ensure!(!module::is_loaded("rtsoak"), "the module is still there");
    own.remove()
}
