// SPDX-License-Identifier: GPL-2.0

//! Sizes that change while others write and read and while CPUs come and go.

use super::contexts::{check_record, parameter, CONTEXTS, NAME};
use super::size::{events, stats, Random, SUBBUF};
use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::EBUSY;
use crate::module;
use crate::soak::rounds;
use crate::stream::{self, CpuReader};
use crate::stress::Stress;
use crate::sys;
use crate::tree::Instance;
use crate::workload::Load;
use crate::Context;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    exact("size.offline", 60, offline),
    test("size.hotplug", 90, hotplug),
    exact("size.under_writers", 90, under_writers).with_testapi(),
];

/// Others may hold the lock of hotplug for some moments.
pub fn switch_cpu(cpu: usize, value: &str) -> Check {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    let mut result = Ok(());
    sys::wait_until(Duration::from_secs(10), || {
        result = std::fs::write(&file, value);
        result.is_ok()
    });
    result.map_err(|e| format!("{file}: {e}"))
}

/// The last CPU is away while this exists.
struct Away(usize);

impl Away {
    fn new(cpu: usize) -> Check<Self> {
        switch_cpu(cpu, "0").map(|()| Away(cpu))
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        let _ = switch_cpu(self.0, "1");
    }
}

/// What a CPU that is away had recorded is there for every kind of reader; its buffer can be resized
/// and keeps them; then it comes back and records again.
fn offline(context: &Context) -> Check {
    let cpus = sys::online_cpus();
    if cpus < 2 {
        skip!("one CPU cannot go");
    }
    let last = cpus - 1;
    let own = Instance::new(&context.root, "rtg-own")?;
    let record = |from: usize| -> Check {
        sys::pin_to(last);
        let done =
            (from..from + 10).try_for_each(|i| own.set("trace_marker", &format!("marker {i}.")));
        sys::pin_to(0);
        done
    };
    let file = |name: &str| format!("per_cpu/cpu{last}/{name}");
    record(0)?;
    {
        let _away = Away::new(last)?;
        for name in ["trace".to_string(), file("trace")] {
            ensure_eq!(events(&own.get(&name)?), 10, "{name} of a CPU that is away");
        }
        for kb in ["500", "64"] {
            own.set(&file("buffer_size_kb"), kb)?;
            ensure_eq!(events(&own.get("trace")?), 10, "events after {kb} KiB");
        }
        ensure_eq!(
            own.get(&file("buffer_size_kb"))?,
            "67\n",
            "size of a CPU that is away"
        );
        ensure_eq!(stats(&own, last, "entries")?, 10, "entries");
        let mut bytes = vec![0; 1 << 16];
        for name in ["trace_pipe".to_string(), file("trace_pipe")] {
            let mut pipe = own
                .open_nonblock(&name)
                .map_err(|e| format!("{name}: {e}"))?;
            // A line at a time, so that something is left for the others.
            let n = pipe
                .read(&mut bytes[..1])
                .map_err(|e| format!("{name}: {e}"))?;
            ensure_eq!(n, 1, "{name} of a CPU that is away");
        }
        let stream = stream::drain_cpu(&own, last)?;
        ensure_eq!(stream.records.len(), 8, "records of a CPU that is away");
    }
    record(10)?;
    ensure_eq!(
        events(&own.get(&file("trace"))?),
        10,
        "events of a CPU that came back"
    );
    {
        let _away = Away::new(last)?;
        own.set(SUBBUF, "16")?;
        ensure_eq!(events(&own.get("trace")?), 0, "events after another size");
    }
    record(20)?;
    ensure_eq!(
        events(&own.get("trace")?),
        10,
        "events in sub-buffers of another size"
    );
    own.remove()
}

/// Sizes change, CPUs come and go, all readers read and all that the load does is recorded.
fn hotplug(context: &Context) -> Check {
    let cpus = sys::online_cpus();
    if cpus < 2 {
        skip!("one CPU cannot go");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    for system in ["sched", "irq", "timer", "raw_syscalls"] {
        own.set(&format!("events/{system}/enable"), "1")?;
    }
    let _load = Load::start();
    let stop = AtomicBool::new(false);
    let (records, lines) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (raw, text, changed) = std::thread::scope(|scope| {
        let raw = scope.spawn(|| -> Check {
            let mut readers = (0..cpus)
                .map(|cpu| CpuReader::open(&own, cpu))
                .collect::<Check<Vec<_>>>()?;
            while !stop.load(Ordering::Relaxed) {
                for reader in &mut readers {
                    records.fetch_add(reader.drain_and_forget(100)?, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        });
        let text = scope.spawn(|| -> Check {
            while !stop.load(Ordering::Relaxed) {
                lines.fetch_add(own.get("trace")?.lines().count(), Ordering::Relaxed);
                match own.open_nonblock("trace_pipe") {
                    Ok(mut pipe) => _ = pipe.read(&mut [0; 4096]),
                    // A child of the load has the last one until its program begins.
                    Err(EBUSY) => std::thread::sleep(Duration::from_millis(1)),
                    Err(e) => fail!("pipe: {e}"),
                }
            }
            Ok(())
        });
        let change = || -> Check {
            let mut random = Random(7);
            // The last one brings the CPU back.
            for round in 0..rounds(8, 40) {
                switch_cpu(cpus - 1, if round % 2 == 0 { "0" } else { "1" })?;
                for _ in 0..4 {
                    let cpu = random.below(cpus as u64);
                    let (file, most) = match random.below(3) {
                        0 => (SUBBUF.to_string(), 512),
                        1 => ("buffer_size_kb".to_string(), 3000),
                        _ => (format!("per_cpu/cpu{cpu}/buffer_size_kb"), 3000),
                    };
                    own.set(&file, &(1 + random.below(most)).to_string())?;
                }
            }
            Ok(())
        };
        let changed = change();
        let back = switch_cpu(cpus - 1, "1");
        sys::wait_until(Duration::from_secs(10), || {
            let enough = |count: &AtomicUsize| count.load(Ordering::Relaxed) > 100;
            raw.is_finished() || text.is_finished() || enough(&records) && enough(&lines)
        });
        stop.store(true, Ordering::Relaxed);
        let died = |_| Err("a reader died".into());
        (
            raw.join().unwrap_or_else(died),
            text.join().unwrap_or_else(died),
            changed.and(back),
        )
    });
    changed.and(raw).and(text)?;
    let (raw, lines) = (records.into_inner(), lines.into_inner());
    println!("{raw} records, {lines} lines");
    ensure!(raw > 100 && lines > 100, "{raw} records, {lines} lines");
    own.remove()
}

/// Writers in all contexts while the sizes change and readers read: every record is whole, and those
/// that are missing are those that were counted, or refused while a buffer was being changed.
fn under_writers(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs does not count what it throws away");
    }
    let _ = module::unload(NAME);
    let own = Instance::new(&context.root, "rtg-stress")?;
    let cpus = sys::online_cpus();
    let mut readers = (0..cpus)
        .map(|cpu| CpuReader::open(&own, cpu))
        .collect::<Check<Vec<_>>>()?;
    let stop = AtomicBool::new(false);
    let changed = AtomicUsize::new(0);
    std::thread::scope(|scope| -> Check {
        let changes = scope.spawn(|| -> Check {
            let mut random = Random(3);
            while !stop.load(Ordering::Relaxed) {
                let cpu = random.below(cpus as u64);
                let (file, kb) = match random.below(4) {
                    0 => (SUBBUF.to_string(), 4 << random.below(8)),
                    1 => (
                        format!("per_cpu/cpu{cpu}/buffer_size_kb"),
                        1 + random.below(2000),
                    ),
                    2 => ("buffer_size_kb".to_string(), 1 + random.below(20)),
                    _ => ("buffer_size_kb".to_string(), 1 + random.below(4000)),
                };
                own.set(&file, &kb.to_string())?;
                changed.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(random.below(30)));
            }
            Ok(())
        });
        let views = scope.spawn(|| -> Check {
            while !stop.load(Ordering::Relaxed) {
                own.get("per_cpu/cpu0/trace")?;
            }
            Ok(())
        });
        let ms = rounds(1500, 8000);
        let parameters = format!("ms={ms} pause_us=100 instance=rtg-stress");
        let writers = Stress::start(context, &parameters);
        let mut read = Ok(());
        while !writers.is_finished() && read.is_ok() {
            read = readers
                .iter_mut()
                .try_for_each(|reader| reader.drain_some(100));
            let got = readers.iter().map(|reader| reader.stream.records.len());
            let over = changes.is_finished() || views.is_finished();
            if over || got.sum::<usize>() > 1000 && changed.load(Ordering::Relaxed) > 20 {
                writers.enough();
            }
        }
        let written = writers.end();
        stop.store(true, Ordering::Relaxed);
        let died = || "a thread died".to_string();
        let viewed = views.join().map_err(|_| died()).and_then(|viewed| viewed);
        let changed = changes.join().map_err(|_| died()).and_then(|done| done);
        written.and(viewed).and(read).and(changed)
    })?;
    let changed = changed.into_inner();
    readers.iter_mut().try_for_each(CpuReader::drain)?;

    let (written, refused) = (parameter("written")?, parameter("refused")?[0]);
    let mut report = Report::default();
    let (mut missing, mut counted, mut overrun, mut read) = (0, 0, 0, 0);
    for (cpu, reader) in readers.iter().enumerate() {
        let mut next = [0; CONTEXTS.len()];
        for record in &reader.stream.records {
            let payload = check_record(record)?;
            let next = &mut next[payload.context];
            ensure!(
                payload.number >= *next,
                "cpu {cpu}: {} after {next}",
                payload.number
            );
            missing += payload.number - *next;
            *next = payload.number + 1;
        }
        let of_cpu = &written[cpu * CONTEXTS.len()..][..CONTEXTS.len()];
        missing += of_cpu
            .iter()
            .zip(next)
            .map(|(all, next)| all - next)
            .sum::<u64>();
        let records = reader.stream.records.len() as u64;
        report.expect(stats(&own, cpu, "read events")? == records, || {
            format!("cpu {cpu}: read events is not {records}")
        });
        report.expect(stats(&own, cpu, "entries")? == 0, || {
            format!("cpu {cpu}: something is left")
        });
        overrun += stats(&own, cpu, "overrun")?;
        counted += stats(&own, cpu, "commit overrun")? + stats(&own, cpu, "dropped events")?;
        read += records;
    }
    println!(
        "{changed} changes; {} written, {read} read, {overrun} lost, {refused} refused, {counted} of them counted",
        written.iter().sum::<u64>()
    );
    report.expect(missing == overrun + refused, || {
        format!("{missing} are missing, {overrun} were lost and {refused} refused")
    });
    report.expect(counted <= refused, || {
        format!("{counted} of {refused} are counted")
    });
    report.expect(changed > 20 && read > 1000, || {
        format!("{changed} changes, {read} read")
    });
    let unloaded = module::unload(NAME).map_err(|e| format!("unload {NAME}: {e}"));
    report.finish().and(unloaded)?;
    drop(readers);
    own.remove()
}
