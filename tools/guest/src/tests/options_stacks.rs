// SPDX-License-Identifier: GPL-2.0

//! `stacktrace` and `userstacktrace`: the same stacks as in tracefs, in the forms that
//! options give them, and from every context.

use super::options_forms::{lines_of, record, record_alike, some_processes, stable, EVENTS};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::stream::Record;
use crate::stress::Stress;
use crate::tree::Instance;
use crate::{module, sys, workload, Context};
use std::collections::HashMap;
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    test("options.stacks", 90, stacks),
    test("options.user_stacks", 90, user_stacks),
    test("options.stacks_of_interrupts", 90, stacks_of_interrupts),
    test("options.stacks_under_load", 120, stacks_under_load),
    test("options.stacks_nest", 120, stacks_nest).with_testapi(),
];

/// The lines of an event, followed by those of its stacks, without the kernel's own probe.
pub(super) fn blocks(text: &str) -> Vec<Vec<String>> {
    let mut blocks: Vec<Vec<String>> = Vec::new();
    let lines = lines_of(text).into_iter();
    for line in lines.filter(|line| !is_of_the_probe(line)) {
        match blocks.last_mut() {
            Some(block)
                if line.starts_with(" => ")
                    || line.contains(" stack trace>")
                    || line.contains(": <stack trace>") =>
            {
                block.push(line);
            }
            _ => blocks.push(vec![line]),
        }
    }
    blocks
}

/// Whether the line is before what led to the event, in a stack of tracefs.
fn is_of_the_probe(line: &str) -> bool {
    [
        " => trace_event_",
        " => trace_buffer_",
        " => __ftrace_trace_stack",
        " => ftrace_",
    ]
    .iter()
    .any(|name| line.starts_with(name))
}

/// The lines of events alone, but for those of markers, which have an address of the tracer.
fn events_of(text: &str) -> Vec<String> {
    let lines = blocks(text).into_iter().map(|block| block[0].clone());
    lines
        .filter(|line| !line.contains("tracing_mark_write"))
        .collect()
}

/// `stacktrace`: each event is followed by the stack that tracefs records, without the tracer's own
/// functions.
fn stacks(context: &Context) -> Check {
    let recorded = record_alike(context, EVENTS, &["stacktrace"], some_processes, events_of)?;
    let mut report = Report::default();
    for option in ["plain", "sym-offset", "sym-addr"] {
        if option != "plain" {
            recorded.set(option)?;
        }
        let mut seen = Vec::new();
        for (tree, ids) in recorded.trees() {
            let text = tree.get("trace")?;
            let blocks: Vec<Vec<String>> = blocks(&text)
                .into_iter()
                .map(|block| block.iter().map(|line| stable(line, ids)).collect())
                // The address of a marker is the tracer's.
                .filter(|block: &Vec<String>| !block[0].contains("tracing_mark_write"))
                .collect();
            seen.push(blocks);
        }
        report.expect(seen[0].len() > 10, || format!("only {:?}", seen[0]));
        for block in &seen[0] {
            report.expect(block.len() > 4, || {
                format!("{option}: no stack in {block:?}")
            });
        }
        let mut both = seen[0].iter().zip(&seen[1]);
        if let Some((found, wanted)) = both.find(|(a, b)| a != b) {
            report.add(format!("{option}: {found:?}, tracefs {wanted:?}"));
        }
        report.expect(seen[0].len() == seen[1].len(), || {
            format!("{} events, tracefs {}", seen[0].len(), seen[1].len())
        });
        if option != "plain" {
            recorded.set(&format!("no{option}"))?;
        }
    }
    report.finish()
}

/// `userstacktrace`: the same callers in user space, as numbers and by file.
fn user_stacks(context: &Context) -> Check {
    let events = [
        "signal/signal_generate",
        "sched/sched_process_fork",
        "task/task_newtask",
    ];
    let recorded = record(context, &events, &["userstacktrace"], some_processes)?;
    let mut report = Report::default();
    for options in [&[][..], &["sym-userobj"], &["sym-userobj", "sym-addr"]] {
        for option in options {
            recorded.set(option)?;
        }
        let mut seen = Vec::new();
        for (tree, ids) in recorded.trees() {
            let blocks: Vec<Vec<String>> = blocks(&tree.get("trace")?)
                .into_iter()
                .map(|block| block.iter().map(|line| stable(line, ids)).collect())
                .filter(|block: &Vec<String>| !block[0].contains("tracing_mark_write"))
                .collect();
            seen.push(blocks);
        }
        let callers = seen[0]
            .iter()
            .flatten()
            .filter(|line| line.starts_with(" => "));
        let callers: Vec<_> = callers.collect();
        report.expect(callers.len() > 3, || format!("only {:?}", seen[0]));
        let by_file = callers.iter().filter(|line| line.contains("[+0x")).count();
        report.expect((by_file > 0) == options.contains(&"sym-userobj"), || {
            format!("{options:?}: {by_file} of {callers:?} by file")
        });
        report.expect(seen[0] == seen[1], || {
            format!("{options:?}: {:?}, tracefs {:?}", seen[0], seen[1])
        });
        for option in options {
            recorded.set(&format!("no{option}"))?;
        }
    }
    report.finish()
}

/// Something is interrupted in user space, in the kernel, and while there is nothing to do.
fn some_interrupts() {
    for _ in 0..20 {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(20) {}
        workload::pipe(200);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The callers of each timer that expired on a CPU. One in an interrupt may come between another one and its stack.
fn timers(text: &str, stacks: &mut HashMap<String, Vec<String>>) {
    let mut open = Vec::new();
    let mut callers: Option<&mut Vec<String>> = None;
    let lines = lines_of(text).into_iter();
    for line in lines.filter(|line| !is_of_the_probe(line)) {
        if line.starts_with(" => ") {
            callers
                .iter_mut()
                .for_each(|callers| callers.push(line.clone()));
        } else if line.contains("<stack trace>") {
            callers = open.pop().map(|timer| stacks.entry(timer).or_default());
        } else if let Some((_, timer)) = line.split_once("hrtimer_expire_entry: ") {
            open.push(timer.to_string());
        }
    }
}

/// Callers in interrupts, and those of what was interrupted, are those that tracefs records: each timer that
/// expires tells an instant, by which its events of both tracers are found.
fn stacks_of_interrupts(context: &Context) -> Check {
    let event = "timer/hrtimer_expire_entry";
    let recorded = record(
        context,
        &[event],
        &["stacktrace", "sym-offset"],
        some_interrupts,
    )?;
    let mut seen = Vec::new();
    for (tree, _) in recorded.trees() {
        let mut stacks = HashMap::new();
        for cpu in 0..sys::online_cpus() {
            timers(&tree.get(&format!("per_cpu/cpu{cpu}/trace"))?, &mut stacks);
        }
        seen.push(stacks);
    }
    let (mut both, mut of_kernel, mut idle) = (0, 0, 0);
    for (timer, stack) in &seen[0] {
        let Some(wanted) = seen[1].get(timer) else {
            continue;
        };
        ensure_eq!(stack, wanted, "{timer}");
        both += 1;
        let interrupt = |line: &String| line.starts_with(" => asm_");
        let at = stack.iter().position(interrupt);
        of_kernel += usize::from(at.is_some_and(|at| at + 1 < stack.len()));
        idle += usize::from(stack.iter().any(|line| line.contains("idle")));
    }
    println!(
        "{both} stacks, {of_kernel} of what was interrupted in the kernel, {idle} of idle CPUs"
    );
    ensure!(
        both > 20 && of_kernel > 5 && idle > 0,
        "{both} stacks, {of_kernel} of the kernel, {idle} idle; {} and {} in all",
        seen[0].len(),
        seen[1].len()
    );
    Ok(())
}

/// Stacks of all events in all contexts: each is a whole record after an event of its context.
fn stacks_under_load(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("buffer_size_kb", "8000")?;
    for option in ["stacktrace", "userstacktrace"] {
        own.set("trace_options", option)?;
    }
    for system in [
        "sched",
        "irq",
        "irq_vectors",
        "timer",
        "raw_syscalls",
        "kmem",
        "nmi",
        "exceptions",
    ] {
        if own.exists(&format!("events/{system}/enable")) {
            own.set(&format!("events/{system}/enable"), "1")?;
        }
    }
    workload::mixed(6);
    own.set("tracing_on", "0")?;
    own.set("events/enable", "0")?;
    let (mut events, mut kernel, mut user, mut deep, mut in_interrupt) =
        (0u64, 0u64, 0u64, 0usize, 0u64);
    let mut outside_nmis = 0u64;
    for stream in crate::stream::drain(&own)? {
        for record in &stream.records {
            match record.id() {
                4 => {
                    let size = record.number(8, 4) as usize;
                    ensure_eq!(record.payload.len(), 16 + 8 * size, "a stack of {size}");
                    for at in 0..size {
                        let address = record.number(16 + 8 * at, 8);
                        ensure!(address >> 63 == 1, "address {address:#x} in the kernel");
                    }
                    deep = deep.max(size);
                    kernel += 1;
                    in_interrupt += u64::from(record.flags() & 0x18 != 0);
                }
                13 => {
                    ensure_eq!(record.payload.len(), 80, "a stack of a process");
                    user += 1;
                }
                _ => {
                    events += 1;
                    outside_nmis += u64::from(record.flags() & 0x40 == 0);
                }
            }
        }
    }
    println!("{events} events, {kernel} stacks up to {deep} deep, {in_interrupt} in interrupts, {user} of user space of {outside_nmis} outside NMIs");
    ensure!(events > 200, "only {events} events");
    // The first records of a full buffer may be stacks alone, and NMIs have none of user space.
    ensure!(
        kernel * 10 > events * 9 && kernel <= events + 100,
        "{kernel} stacks of {events} events"
    );
    ensure!(
        // Threads of the kernel have one, of no callers. What comes while one is being taken has none.
        user * 10 > outside_nmis * 4 && user <= outside_nmis + 100,
        "{user} stacks of user space, {outside_nmis} events outside NMIs"
    );
    ensure!(
        deep > 5 && in_interrupt > 10,
        "depth {deep}, {in_interrupt} in interrupts"
    );
    Ok(())
}

/// The context that wrote a record: task, soft interrupt, interrupt, NMI.
fn level(record: &Record) -> usize {
    match record.flags() {
        flags if flags & 0x40 != 0 => 3,
        flags if flags & 0x08 != 0 => 2,
        flags if flags & 0x10 != 0 => 1,
        _ => 0,
    }
}

/// Stacks from four contexts that interrupt each other: within each context of a CPU every event is
/// followed by its stack, and nothing comes between the two but what the kernel does to find the callers:
/// it takes RCU for each of them, and when it leaves that in an interrupt it may raise RCU's softirq.
fn stacks_nest(context: &Context) -> Check {
    const NAME: &str = "rtstress";
    const RAW_DATA: u16 = 19;
    let _ = module::unload(NAME);
    let own = Instance::new(&context.root, "rtg-stress")?;
    own.set("buffer_size_kb", "16000")?;
    own.set("trace_options", "stacktrace")?;
    // Not irq_vectors: a reschedule interrupt appears as the context that it interrupts.
    for system in ["nmi", "irq", "sched", "timer"] {
        own.set(&format!("events/{system}/enable"), "1")?;
    }
    // Another task has to preempt the writers for that.
    let load = workload::Load::start();
    let writers = Stress::start(context, "ms=500 pause_us=200 readers=1 instance=rtg-stress");
    sys::wait_until(Duration::from_secs(10), || {
        let entries = |cpu| own.number(&format!("per_cpu/cpu{cpu}/stats"), "entries");
        let enough = |cpu| entries(cpu).is_ok_and(|entries| entries > 2000);
        writers.is_finished() || (0..sys::online_cpus()).all(enough)
    });
    let result = writers.end();
    drop(load);
    own.set("events/enable", "0")?;
    let unloaded = module::unload(NAME).map_err(|e| format!("unload {NAME}: {e}"));
    result.and(unloaded)?;

    // The end of an interrupt has the flags of the context that it interrupted, but interrupts are off.
    let key = |record: &Record| 2 * level(record) + usize::from(record.flags() & 0x01 != 0);
    let raises = own.get("events/irq/softirq_raise/id")?;
    let (mut stacks, mut inside) = ([0u64; 4], 0);
    for (cpu, stream) in crate::stream::drain(&own)?.iter().enumerate() {
        let mut open = [const { Vec::new() }; 8];
        let mut began = false;
        let around = |at: usize| {
            let stats = own.shown(&format!("per_cpu/cpu{cpu}/stats"));
            let near = stream.records.iter().enumerate().take(at + 9);
            let near = near.skip(at.saturating_sub(24)).map(|(i, record)| {
                let Record { ts, .. } = record;
                let (id, flags, lost) = (record.id(), record.flags(), record.lost);
                format!("\n{i}: {ts} event {id} flags {flags:#x} lost {lost}")
            });
            format!("{}\n{stats}", near.collect::<String>())
        };
        for (i, record) in stream.records.iter().enumerate() {
            if record.lost > 0 {
                (open, began) = ([const { Vec::new() }; 8], false);
            }
            let at = key(record);
            match record.id() {
                RAW_DATA => {}
                4 => {
                    ensure!(
                        open[at].pop().is_some() || !began,
                        "cpu {cpu}: a stack without an event at {}, key {at}{}",
                        record.ts,
                        around(i)
                    );
                    stacks[at / 2] += 1;
                }
                id => {
                    if let Some(&(before, _)) = open[at].last() {
                        ensure!(
                            id.to_string() == raises.trim() && open[at].len() == 1,
                            "cpu {cpu}: event {before} has no stack before {id} at {}, key {at}{}",
                            record.ts,
                            around(i)
                        );
                        inside += 1;
                    }
                    open[at].push((id, i));
                }
            }
            // What was cut off by a loss lies before the first event of a task.
            began |= at < 2 && record.id() == 4;
        }
        if let Some(&(id, i)) = open.iter().flatten().next() {
            fail!("cpu {cpu}: event {id} has no stack{}", around(i));
        }
    }
    println!("stacks of task, softirq, hardirq, nmi: {stacks:?}, {inside} events inside of others");
    ensure!(
        stacks.iter().all(|count| *count > 5),
        "stacks by context: {stacks:?}"
    );
    Ok(())
}
