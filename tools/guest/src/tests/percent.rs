// SPDX-License-Identifier: GPL-2.0

//! `buffer_percent`: how full a buffer is when poll and splice of one CPU's files tell of it; and
//! `ioctl` on `trace_pipe_raw`, which ends such a sleep.

use super::{pair, same, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::rawcalls;
use crate::soak::rounds;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("percent.text", 20, text),
    test("percent.poll", 60, poll),
    test("percent.silent_below", 30, silent_below),
    test("percent.every_time", 120, every_time),
    test("percent.switches", 60, switches),
    test("percent.tracer_begins_anew", 90, tracer_begins_anew),
    test("percent.ioctl", 30, ioctl),
    test("percent.flag_changes", 30, flag_changes),
];

const RAW: &str = "per_cpu/cpu0/trace_pipe_raw";

/// Long enough for a slow machine, short enough to call silence a failure.
const SOON: Duration = Duration::from_secs(20);

/// One marker of this length has a sub-buffer to itself.
const LONG: usize = 3000;

fn text(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    same(&own, &reference, "buffer_percent")?;
    for input in [
        "0",
        "1\n",
        "100",
        "+7",
        "101",
        "50 ",
        "-1",
        "",
        "x",
        "1 2",
        "18446744073709551616",
        "99",
    ] {
        let write = |tree: &Tree| tree.write("buffer_percent", input.as_bytes());
        let (found, wanted) = (write(&own), write(&reference));
        report.expect(found == wanted, || {
            format!("{input:?}: {found:?}, tracefs {wanted:?}")
        });
        same(&own, &reference, "buffer_percent")?;
    }
    report.finish()
}

fn open(tree: &Tree, name: &str) -> Check<File> {
    tree.open_nonblock(name)
        .map_err(|e| format!("open {}: {e}", tree.shown(name)))
}

fn ready(file: &File, timeout: Duration) -> Check<bool> {
    let events = sys::poll_in(file, timeout).map_err(|e| format!("poll: {e}"))?;
    Ok(events & sys::POLLIN != 0)
}

/// How many sub-buffers must be filled before poll says so.
fn poll(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for percent in ["0", "1", "5", "10", "49", "50", "51", "91", "100"] {
        for name in [RAW, "per_cpu/cpu0/trace_pipe", "trace_pipe"] {
            let look = |tree: &Tree| -> Check<Option<usize>> {
                tree.set("buffer_size_kb", "40")?;
                tree.set("buffer_percent", percent)?;
                tree.clear()?;
                let file = open(tree, name)?;
                if ready(&file, Duration::ZERO)? {
                    return Ok(Some(0));
                }
                for written in 1..40 {
                    tree.set("trace_marker", &"x".repeat(LONG))?;
                    if ready(&file, Duration::ZERO)? {
                        return Ok(Some(written));
                    }
                }
                Ok(None)
            };
            let (found, wanted) = (look(&own)?, look(&reference)?);
            report.expect(found == wanted, || {
                format!("{percent} %, {name}: after {found:?} events, tracefs {wanted:?}")
            });
        }
    }
    report.finish()
}

/// A thread that splices once.
struct Splicer {
    thread: u32,
    worker: std::thread::JoinHandle<Op<usize>>,
}

impl Splicer {
    fn start(file: &File) -> Check<Self> {
        let file = file.try_clone().map_err(|e| format!("dup: {e}"))?;
        let (send, receive) = channel();
        let worker = std::thread::spawn(move || {
            let (out, into) = sys::pipe()?;
            let _ = send.send(sys::thread_id());
            let moved = rawcalls::splice(&file, &into, 1 << 20, true);
            drop(out);
            moved
        });
        let thread = receive.recv().map_err(|_| "no thread".to_string())?;
        ensure!(sys::wait_asleep(thread), "the reader does not sleep");
        Ok(Splicer { thread, worker })
    }

    /// How often it went to sleep so far.
    fn sleeps(&self) -> Check<u64> {
        let path = format!("/proc/self/task/{}/status", self.thread);
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        text.lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))
            .and_then(|number| number.trim().parse().ok())
            .ok_or_else(|| format!("{path}: {text}"))
    }

    fn end(self) -> Check<Op<usize>> {
        ensure!(
            sys::wait_until(SOON, || self.worker.is_finished()),
            "the reader sleeps on"
        );
        self.worker.join().map_err(|_| "the reader died".into())
    }
}

/// Below the mark no reader is woken, not even to look.
fn silent_below(context: &Context) -> Check {
    sys::pin_to(0);
    sys::interruptible_by_signal();
    let own = Instance::new(&context.root, "rtg-percent")?;
    own.set("buffer_size_kb", "400")?;
    let file = own.open(RAW).map_err(|e| format!("{RAW}: {e}"))?;
    let reader = Splicer::start(&file)?;
    let before = reader.sleeps()?;
    // 50 of 101 sub-buffers are the mark.
    for _ in 0..40 {
        own.set("trace_marker", &"x".repeat(LONG))?;
    }
    ensure!(sys::wait_asleep(reader.thread), "the reader does not sleep");
    if context.is_rtracefs() {
        ensure_eq!(reader.sleeps()?, before, "sleeps of the reader");
    }
    for _ in 0..20 {
        own.set("trace_marker", &"x".repeat(LONG))?;
    }
    let moved = reader.end()?;
    ensure!(
        moved.is_ok_and(|bytes| bytes >= 16 * 4096 && bytes % 4096 == 0),
        "splice: {moved:?}"
    );
    drop(file);
    own.remove()
}

/// The writer that reaches the mark races with the reader that is going to sleep.
fn every_time(context: &Context) -> Check {
    sys::pin_to(0);
    let own = Instance::new(&context.root, "rtg-percent")?;
    own.set("buffer_size_kb", "8")?;
    own.set("buffer_percent", "100")?;
    let mut file = open(&own, RAW)?;
    let read = Arc::new(AtomicU64::new(0));
    let counter = read.clone();
    let total = if sys::proves_locking() {
        200
    } else {
        rounds(500, 4000)
    } as u64;
    let poller = std::thread::spawn(move || -> Check {
        sys::pin_to(sys::online_cpus() - 1);
        let mut bytes = vec![0; 1 << 16];
        while counter.load(Ordering::Acquire) < total {
            ensure!(
                ready(&file, sys::patience(SOON))?,
                "round {}: poll says nothing",
                counter.load(Ordering::Acquire)
            );
            while let Ok(1..) = file.read(&mut bytes) {}
            counter.fetch_add(1, Ordering::Release);
        }
        Ok(())
    });
    let mut rounds = 0;
    while !poller.is_finished() && rounds < total {
        // The third opens the third sub-buffer of three; what is left of it stays for the next round.
        while read.load(Ordering::Acquire) == rounds && !poller.is_finished() {
            own.set("trace_marker", &"x".repeat(LONG))?;
        }
        rounds = read.load(Ordering::Acquire);
    }
    poller.join().map_err(|_| "the poller died".to_string())??;
    own.remove()
}

/// The mark is reached whatever changes the numbers of sub-buffers while a reader waits for one.
fn switches(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs keeps a reader asleep over some of these");
    }
    sys::pin_to(0);
    sys::interruptible_by_signal();
    let own = Instance::new(&context.root, "rtg-percent")?;
    own.set("buffer_size_kb", "400")?;
    let changes: [(&str, &str); 7] = [
        ("trace", ""),
        ("buffer_size_kb", "200"),
        ("buffer_subbuf_size_kb", "8"),
        ("trace_clock", "mono"),
        ("snapshot", "1"),
        ("snapshot", "1"),
        ("tracing_on", "0"),
    ];
    for (name, value) in changes {
        let file = own.open(RAW).map_err(|e| format!("{RAW}: {e}"))?;
        let reader = Splicer::start(&file)?;
        match name {
            "trace" => own.clear()?,
            _ => own.set(name, value)?,
        }
        if name == "tracing_on" {
            own.set(name, "1")?;
        }
        for _ in 0..60 {
            own.set("trace_marker", &"x".repeat(LONG))?;
        }
        let moved = reader.end().map_err(|e| format!("{name}: {e}"))?;
        ensure!(
            moved.is_ok_and(|bytes| bytes >= 4096),
            "{name}: splice: {moved:?}"
        );
        drop(file);
        own.clear()?;
    }
    own.remove()
}

/// A poller that waits for a share of a ring is told of the first event that makes it, when the tracer has emptied the
/// buffer since.
fn tracer_begins_anew(context: &Context) -> Check {
    const LINES: &str = "options/display-graph";
    if !context.is_rtracefs() {
        skip!("tracefs wakes no reader there");
    }
    sys::pin_to(0);
    let own = Instance::new(&context.root, "rtg-percent")?;
    if !own.get("available_tracers")?.contains("wakeup_dl") {
        skip!("this kernel has no such tracer");
    }
    // No task has a deadline here: nothing is followed and nothing recorded.
    own.set("current_tracer", "wakeup_dl")?;
    if !own.exists(LINES) {
        skip!("this kernel follows no calls");
    }
    // One of 11 sub-buffers is the mark: any, but for the one that the reader is in.
    own.set("buffer_size_kb", "40")?;
    own.set("buffer_percent", "1")?;
    let mut file = open(&own, RAW)?;
    own.set("trace_marker", "read")?;
    let read = file.read(&mut [0; 4096]).map_err(Errno::from);
    ensure!(read.is_ok(), "read: {read:?}");
    ensure!(!ready(&file, Duration::ZERO)?, "poll after all was read");
    let (send, receive) = channel();
    let poller = std::thread::spawn(move || {
        let _ = send.send(sys::thread_id());
        // At its end poll looks once more: it must come before.
        ready(&file, sys::patience(SOON) * 3)
    });
    let thread = receive.recv().map_err(|_| "no thread".to_string())?;
    ensure!(sys::wait_asleep(thread), "the poller does not sleep");
    own.set(LINES, "1")?;
    ensure!(sys::wait_asleep(thread), "the poller does not sleep on");
    ensure!(!poller.is_finished(), "poll tells of nothing");
    own.set("trace_marker", "first")?;
    let woken = sys::wait_until(SOON, || poller.is_finished());
    ensure!(woken, "poll says nothing of the first event");
    let found = poller.join().map_err(|_| "the poller died".to_string())??;
    ensure!(found, "poll ends without an event");
    own.set("current_tracer", "nop")?;
    own.remove()
}

fn ioctl(context: &Context) -> Check {
    sys::pin_to(0);
    sys::interruptible_by_signal();
    let (own, reference) = pair(context)?;
    for tree in [&own, &reference] {
        let file = tree.open(RAW).map_err(|e| format!("{RAW}: {e}"))?;
        ensure_eq!(rawcalls::ioctl(&file, 0), Ok(0), "ioctl(0)");
        // ENOTTY
        ensure_eq!(
            rawcalls::ioctl(&file, 0x5221),
            Err(Errno(25)),
            "another ioctl"
        );
        let other = tree.open("trace").map_err(|e| format!("trace: {e}"))?;
        ensure_eq!(rawcalls::ioctl(&other, 0), Err(Errno(25)), "ioctl of trace");
        let reader = Splicer::start(&file)?;
        ensure_eq!(rawcalls::ioctl(&file, 0), Ok(0), "ioctl(0)");
        ensure_eq!(reader.end()?, Ok(0), "{} splice", tree.shown(RAW));
        // Another open file of the same CPU is not ended by it.
        let again = tree.open(RAW).map_err(|e| format!("{RAW}: {e}"))?;
        let reader = Splicer::start(&again)?;
        rawcalls::ioctl(&file, 0).map_err(|e| format!("ioctl: {e}"))?;
        ensure!(sys::wait_asleep(reader.thread), "the reader does not sleep");
        ensure!(!reader.worker.is_finished(), "another file's reader ended");
        rawcalls::ioctl(&again, 0).map_err(|e| format!("ioctl: {e}"))?;
        ensure_eq!(reader.end()?, Ok(0), "{} splice", tree.shown(RAW));
    }
    Ok(())
}

/// How libtracefs ends a reader: it makes the file non-blocking, then wakes the readers that sleep
/// in it.
fn flag_changes(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    for tree in [&own, &reference] {
        let file = tree.open(RAW).map_err(|e| format!("{RAW}: {e}"))?;
        let mut clone = file.try_clone().map_err(|e| format!("dup: {e}"))?;
        let (send, receive) = channel();
        let worker = std::thread::spawn(move || {
            let _ = send.send(sys::thread_id());
            let result = clone.read(&mut [0; 4096]).map_err(Errno::from);
            // The thread that joins closes the descriptor.
            (result, clone)
        });
        let thread = receive.recv().map_err(|_| "no thread".to_string())?;
        ensure!(sys::wait_asleep(thread), "the reader does not sleep");
        rawcalls::set_nonblock(&file, true).map_err(|e| format!("fcntl: {e}"))?;
        rawcalls::ioctl(&file, 0).map_err(|e| format!("ioctl: {e}"))?;
        ensure!(
            sys::wait_until(SOON, || worker.is_finished()),
            "{}: the reader sleeps on",
            tree.shown(RAW)
        );
        let (result, _clone) = worker.join().map_err(|_| "the reader died".to_string())?;
        ensure_eq!(result, Err(EAGAIN), "{}", tree.shown(RAW));
    }
    Ok(())
}
