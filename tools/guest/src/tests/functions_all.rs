// SPDX-License-Identifier: GPL-2.0

//! All functions of the kernel at a time, with every event, with stacks and readers: nothing meets
//! itself, and each call is a record or a counted loss.
//!
//! Only in a guest with one CPU (`guest-suite --cpus 1`): with two, the emulator runs stale bytes of
//! places that the kernel is patching (Documentation/building.md).

use super::pipe::{counted, Counted};
use super::{test, Test};
use crate::check::Check;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

pub const TESTS: &[Test] = &[
    test("functions.all_exact", 300, all_exact),
    test("functions.all_losses", 300, all_losses),
    test("functions.all_with_events", 600, all_with_events),
];

/// An instance whose tracer is on and records nothing yet.
fn tracing(context: &Context, kilobytes: &str) -> Check<Instance> {
    if !sys::traces_functions() {
        skip!("this kernel traces no functions");
    }
    if sys::online_cpus() != 1 {
        skip!("more than one CPU");
    }
    let own = Instance::new(&context.root, "rtg-all")?;
    own.set("buffer_size_kb", kilobytes)?;
    own.set("tracing_on", "0")?;
    own.set("current_tracer", "function")?;
    Ok(own)
}

fn getppid() {
    sys::call(110, [0; 6]);
}

/// Some of all that a kernel does: files, memory, tasks.
fn work(rounds: usize) {
    for _ in 0..rounds {
        getppid();
        let _ = std::fs::read_to_string("/proc/self/maps");
        let _ = std::fs::read_dir("/sys/kernel").map(|folder| folder.count());
        let _ = thread::spawn(getppid).join();
    }
}

/// Nothing is lost in a large buffer: each call of this task is there, once, with all that it calls.
fn all_exact(context: &Context) -> Check {
    const CALLS: usize = 50;
    let own = tracing(context, "65536")?;
    own.set("tracing_on", "1")?;
    (0..CALLS).for_each(|_| getppid());
    own.set("tracing_on", "0")?;
    let counted = counted(&own, 0)?;
    ensure_eq!((counted.overrun, counted.dropped), (0, 0), "lost");
    let (text, task) = (own.get("trace")?, format!("-{} ", sys::thread_id()));
    let called = format!(": {} <-", sys::getppid_function());
    let calls = text
        .lines()
        .filter(|line| line.contains(&task) && line.contains(&called));
    ensure_eq!(calls.count(), CALLS, "calls of {called}");
    let functions = text.lines().filter(|line| !line.starts_with('#')).count();
    println!("{functions} functions");
    ensure_eq!(functions as u64, counted.entries, "lines and entries");
    own.remove()
}

/// Reads all that `trace_pipe` has until recording is off and it is empty. Returns the lines of records,
/// and the losses that it told of.
fn read_all(tree: &Tree, is_over: &AtomicBool) -> Check<(u64, u64)> {
    let mut pipe = tree
        .open_nonblock("trace_pipe")
        .map_err(|e| format!("trace_pipe: {e}"))?;
    let (mut bytes, mut rest) = (vec![0; 1 << 16], Vec::new());
    let (mut lines, mut lost) = (0, 0);
    loop {
        let over = is_over.load(SeqCst);
        let read = pipe.read(&mut bytes).unwrap_or(0);
        if read == 0 {
            if over {
                return Ok((lines, lost));
            }
            thread::yield_now();
            continue;
        }
        rest.extend_from_slice(&bytes[..read]);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            match line.split_once("[LOST ") {
                Some((_, told)) => {
                    let number = told.split(' ').next().and_then(|n| n.parse::<u64>().ok());
                    lost += number.ok_or_else(|| format!("{line:?} is no loss"))?;
                }
                None => lines += 1,
            }
        }
    }
}

/// A reader beside writers that are much faster: what it did not get is in the counters, and told.
fn all_losses(context: &Context) -> Check {
    let own = tracing(context, "256")?;
    let is_over = AtomicBool::new(false);
    let ((lines, told), counted) = thread::scope(|scope| -> Check<_> {
        let reader = scope.spawn(|| read_all(&own, &is_over));
        own.set("tracing_on", "1")?;
        work(20);
        own.set("tracing_on", "0")?;
        is_over.store(true, SeqCst);
        let read = reader.join().map_err(|_| "the reader panicked")??;
        Ok((read, counted(&own, 0)?))
    })?;
    let Counted {
        entries,
        overrun,
        read,
        ..
    } = counted;
    println!("{lines} lines, {told} told lost; {read} read, {overrun} overrun");
    ensure_eq!(entries, 0, "records that are left");
    ensure_eq!(lines, read, "lines and records read");
    ensure_eq!(told, overrun, "losses told and counted");
    ensure!(lines > 1000, "only {lines} lines");
    own.remove()
}

/// Events that a kernel with checks has hundreds of times in each interrupt. With stacks, which take it half a
/// millisecond each, the interrupts of the clock would leave no time for anything else.
const TOO_MANY_FOR_STACKS: &[&str] = &["lock", "preemptirq"];

/// Every event, with stacks of both kinds, in two instances, beside readers of text and bytes.
fn all_with_events(context: &Context) -> Check {
    let own = tracing(context, "512")?;
    let other = Instance::new(&context.root, "rtg-all-too")?;
    other.set("current_tracer", "function")?;
    let is_over = AtomicBool::new(false);
    let lines = thread::scope(|scope| -> Check<u64> {
        let reader = scope.spawn(|| read_all(&own, &is_over));
        scope.spawn(|| {
            let mut page = vec![0; 4096];
            let file = other.open_nonblock("per_cpu/cpu0/trace_pipe_raw");
            while let (Ok(mut file), false) = (file.as_ref(), is_over.load(SeqCst)) {
                let _ = file.read(&mut page);
                thread::yield_now();
            }
        });
        own.set("events/enable", "1")?;
        own.set("tracing_on", "1")?;
        work(5);
        for folder in TOO_MANY_FOR_STACKS {
            let file = format!("events/{folder}/enable");
            if sys::kernel_with_checks() && own.exists(&file) {
                own.set(&file, "0")?;
            }
        }
        for option in ["stacktrace", "userstacktrace"] {
            own.set("trace_options", option)?;
            work(5);
        }
        own.set("tracing_on", "0")?;
        is_over.store(true, SeqCst);
        Ok(reader.join().map_err(|_| "the reader panicked")??.0)
    })?;
    // Interrupts of a writer that has not left the ring may fill all of it; that is counted, too.
    let number = |label| own.number("per_cpu/cpu0/stats", label);
    let (read, refused) = (number("read events")?, number("commit overrun")?);
    println!("{lines} lines; {read} read, {refused} refused while a writer was interrupted");
    ensure!(read > 1000, "only {read} records read");
    ensure_eq!(number("entries")?, 0, "records that are left");
    other.remove()?;
    own.remove()
}
