// SPDX-License-Identifier: GPL-2.0

//! trace_pipe: it blocks, wakes, ends, has one reader, and counts what was lost.
//! Markers are the events here, since a test knows when it writes one.

use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::File;
use std::io::Read;
use std::sync::mpsc::{channel, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("pipe.nonblock", 10, nonblock),
    test("pipe.wakes", 30, wakes),
    test("pipe.wakes_every_time", 60, wakes_every_time),
    test("pipe.signal", 30, signal),
    test("pipe.ends_while_asleep", 30, ends_while_asleep),
    test("pipe.ends_after_data", 20, ends_after_data),
    test("pipe.one_reader", 20, one_reader),
    test("pipe.poll", 30, poll),
    test("pipe.small_reads", 20, small_reads),
    exact("pipe.merges_cpus", 30, merges_cpus),
    exact("pipe.lost_events", 60, lost_events),
    exact("pipe.lost_while_reading", 60, lost_while_reading),
    exact("pipe.no_overwrite", 60, no_overwrite),
    test("pipe.rmdir_while_asleep", 30, rmdir_while_asleep),
];

/// Long enough for a slow machine, short enough to call silence a failure.
const SOON: Duration = Duration::from_secs(8);

pub const PIPES: &[&str] = &["trace_pipe", "per_cpu/cpu0/trace_pipe"];

/// A thread that reads a file once for each message that it gets.
pub struct Reader {
    pub thread: u32,
    results: Receiver<Op<String>>,
    worker: JoinHandle<()>,
}

impl Reader {
    /// Starts to read until the end of file or an error.
    pub fn start(tree: &Tree, name: &str) -> Check<Self> {
        let mut file = tree
            .open(name)
            .map_err(|e| format!("open {}: {e}", tree.shown(name)))?;
        let (send, results) = channel();
        let (send_thread, thread) = channel();
        let worker = std::thread::spawn(move || {
            let _ = send_thread.send(sys::thread_id());
            let mut bytes = vec![0; 1 << 16];
            loop {
                let result = file.read(&mut bytes).map_err(Errno::from);
                let result = result.map(|n| String::from_utf8_lossy(&bytes[..n]).into_owned());
                let last = result.as_ref().map_or(true, String::is_empty);
                if send.send(result).is_err() || last {
                    return;
                }
            }
        });
        let thread = thread
            .recv()
            .map_err(|_| "the reader did not start".to_string())?;
        Ok(Reader {
            thread,
            results,
            worker,
        })
    }

    pub fn wait_asleep(&self) -> Check {
        ensure!(sys::wait_asleep(self.thread), "the reader does not sleep");
        Ok(())
    }

    /// The result of the read that is under way.
    pub fn next(&self) -> Check<Op<String>> {
        let patience = sys::patience(SOON);
        self.results
            .recv_timeout(patience)
            .map_err(|_| format!("the reader got nothing in {patience:?}"))
    }

    /// Checks that nothing comes for a while.
    fn silent(&self) -> bool {
        self.results
            .recv_timeout(Duration::from_millis(100))
            .is_err()
    }

    /// Interrupts the read and waits for the thread.
    pub fn stop(self) -> Check {
        let Reader {
            thread,
            results,
            worker,
        } = self;
        drop(results);
        let stopped = sys::wait_until(SOON, || {
            sys::interrupt_thread(thread);
            worker.is_finished()
        });
        ensure!(stopped, "a signal does not end the read");
        let _ = worker.join();
        Ok(())
    }
}

/// Returns what is there now, without waiting.
pub fn drain_text(file: &mut File) -> Check<String> {
    let (mut text, mut bytes) = (Vec::new(), [0; 4096]);
    loop {
        match file.read(&mut bytes) {
            Ok(0) => break,
            Ok(n) => text.extend_from_slice(&bytes[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => break,
            Err(e) => fail!("read: {e}"),
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn instance(context: &Context) -> Check<Instance> {
    sys::pin_to(0);
    sys::interruptible_by_signal();
    Instance::new(&context.root, "rtg-pipe")
}

fn open(tree: &Tree, name: &str) -> Check<File> {
    tree.open_nonblock(name)
        .map_err(|e| format!("open {}: {e}", tree.shown(name)))
}

fn nonblock(context: &Context) -> Check {
    let own = instance(context)?;
    for name in PIPES {
        let mut file = open(&own, name)?;
        let result = file.read(&mut [0; 100]).map_err(Errno::from);
        ensure_eq!(result, Err(EAGAIN), "{name} empty");
        own.set("trace_marker", "hello")?;
        let text = drain_text(&mut file)?;
        ensure!(
            text.ends_with("tracing_mark_write: hello\n"),
            "{name}: {text:?}"
        );
        ensure_eq!(
            file.read(&mut [0; 100]).map_err(Errno::from),
            Err(EAGAIN),
            "{name} again empty"
        );
    }
    Ok(())
}

fn wakes(context: &Context) -> Check {
    let own = instance(context)?;
    for name in PIPES {
        let reader = Reader::start(&own, name)?;
        for text in ["first", "second"] {
            reader.wait_asleep()?;
            own.set("trace_marker", text)?;
            let found = reader.next()?;
            let wanted = format!("tracing_mark_write: {text}\n");
            ensure!(
                found.as_ref().is_ok_and(|f| f.ends_with(&wanted)),
                "{name}: {found:?}"
            );
        }
        reader.wait_asleep()?;
        reader.stop()?;
    }
    Ok(())
}

/// Finds wake-ups that are lost now and then: each event is written as soon as the previous one was
/// read, so the reader is now asleep, now on its way there.
fn wakes_every_time(context: &Context) -> Check {
    let own = instance(context)?;
    let reader = Reader::start(&own, "trace_pipe")?;
    for round in 0..500 {
        own.set("trace_marker", &format!("round {round}"))?;
        let found = reader.next().map_err(|e| format!("round {round}: {e}"))?;
        let wanted = format!("round {round}\n");
        ensure!(
            found.as_ref().is_ok_and(|f| f.ends_with(&wanted)),
            "round {round}: {found:?}"
        );
    }
    reader.stop()
}

fn signal(context: &Context) -> Check {
    let own = instance(context)?;
    for name in PIPES.iter().copied().chain(["per_cpu/cpu0/trace_pipe_raw"]) {
        let reader = Reader::start(&own, name)?;
        reader.wait_asleep()?;
        sys::interrupt_thread(reader.thread);
        ensure_eq!(reader.next()?, Err(EINTR), "{name}");
        reader.stop()?;
    }
    Ok(())
}

/// A reader that has read something and sleeps gets the end of file when tracing goes off.
fn ends_while_asleep(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("a sleeping reader of tracefs is not told that tracing went off");
    }
    let own = instance(context)?;
    for name in PIPES {
        let reader = Reader::start(&own, name)?;
        own.set("trace_marker", "hello")?;
        reader.next()?.map_err(|e| format!("{name}: {e}"))?;
        reader.wait_asleep()?;
        let before = std::time::Instant::now();
        own.set("tracing_on", "0")?;
        ensure_eq!(reader.next()?, Ok(String::new()), "{name}");
        let after = before.elapsed();
        ensure!(
            after < sys::patience(Duration::from_secs(2)),
            "{name}: the end came only after {after:?}"
        );
        own.set("tracing_on", "1")?;
        reader.stop()?;
    }
    Ok(())
}

/// With tracing off a reader still gets what is there, then the end.
fn ends_after_data(context: &Context) -> Check {
    let own = instance(context)?;
    own.set("trace_marker", "hello")?;
    own.set("tracing_on", "0")?;
    let reader = Reader::start(&own, "trace_pipe")?;
    let found = reader.next()?;
    ensure!(
        found.as_ref().is_ok_and(|text| text.ends_with("hello\n")),
        "{found:?}"
    );
    ensure_eq!(reader.next()?, Ok(String::new()), "after the data");
    reader.stop()
}

/// Checks which pipes can be opened beside a reader, as tracefs decides it.
fn one_reader(context: &Context) -> Check {
    let own = instance(context)?;
    let reference = Instance::new(&context.reference, "rtg-pipe-ref")?;
    let mut report = Report::default();
    let names = [
        "trace_pipe",
        "per_cpu/cpu0/trace_pipe",
        "per_cpu/cpu1/trace_pipe",
        "per_cpu/cpu0/trace_pipe_raw",
        "trace",
    ];
    for first in names {
        for second in names {
            let look = |tree: &Tree| {
                let one = tree.open_nonblock(first).map(drop);
                let held = tree.open_nonblock(first);
                let two = tree.open_nonblock(second).map(drop);
                drop(held);
                (one, two, tree.open_nonblock(second).map(drop))
            };
            let (found, wanted) = (look(&own), look(&reference));
            report.expect(found == wanted, || {
                format!("{first}, then {second}: {found:?}, tracefs {wanted:?}")
            });
        }
    }
    let look = |tree: &Tree| (tree.open_nonblock("trace_pipe").err(), Some(EBUSY));
    let held = own.open_nonblock("trace_pipe");
    let (found, wanted) = look(&own);
    report.expect(found == wanted, || format!("second reader: {found:?}"));
    drop(held);
    report.finish()
}

fn poll(context: &Context) -> Check {
    let own = instance(context)?;
    own.set("buffer_percent", "0")?;
    for name in PIPES {
        let mut file = open(&own, name)?;
        let ready = |timeout| sys::poll_in(&file, timeout).map_err(|e| format!("poll {name}: {e}"));
        ensure_eq!(ready(Duration::ZERO)? & sys::POLLIN, 0, "{name} empty");
        own.set("trace_marker", "hello")?;
        ensure_eq!(
            ready(sys::patience(SOON))? & sys::POLLIN,
            sys::POLLIN,
            "{name} with an event"
        );
        drain_text(&mut file)?;
    }

    // Asleep in poll, then woken.
    let file = open(&own, "trace_pipe")?;
    let (send, thread) = channel();
    let sleeper = std::thread::spawn(move || {
        let _ = send.send(sys::thread_id());
        sys::poll_in(&file, sys::patience(SOON))
    });
    let thread = thread.recv().map_err(|_| "no thread".to_string())?;
    ensure!(sys::wait_asleep(thread), "poll does not sleep");
    own.set("trace_marker", "hello")?;
    let events = sleeper.join().map_err(|_| "the thread died".to_string())?;
    ensure_eq!(
        events.map(|events| events & sys::POLLIN),
        Ok(sys::POLLIN),
        "poll asleep"
    );
    Ok(())
}

/// Reads of any size give the same text; a line may be cut.
fn small_reads(context: &Context) -> Check {
    let own = instance(context)?;
    let wanted: String = (0..20).map(|i| format!("marker {i}\n")).collect();
    for size in [1, 13, 100] {
        for line in wanted.lines() {
            own.set("trace_marker", line)?;
        }
        let mut file = open(&own, "trace_pipe")?;
        let (mut text, mut piece) = (Vec::new(), vec![0; size]);
        while let Ok(n @ 1..) = file.read(&mut piece) {
            text.extend_from_slice(&piece[..n]);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        let found: String = text
            .lines()
            .filter_map(|l| l.split("mark_write: ").nth(1))
            .map(|l| format!("{l}\n"))
            .collect();
        ensure_eq!(found, wanted, "in pieces of {size}");
    }
    Ok(())
}

/// Events of all CPUs come out in the order of their stamps.
fn merges_cpus(context: &Context) -> Check {
    let own = instance(context)?;
    own.set("trace_clock", "mono")?;
    let cpus = sys::online_cpus();
    let count = 200;
    std::thread::scope(|scope| {
        for cpu in 0..cpus {
            let own = &own;
            scope.spawn(move || {
                sys::pin_to(cpu);
                for i in 0..count {
                    let _ = own.write("trace_marker", format!("{cpu} {i}").as_bytes());
                }
            });
        }
    });
    let text = drain_text(&mut open(&own, "trace_pipe")?)?;
    let mut last = vec![None; cpus];
    let mut stamp = String::new();
    for line in text.lines() {
        let parse = || -> Option<(String, usize, usize)> {
            let (head, marker) = line.split_once(": tracing_mark_write: ")?;
            let (cpu, number) = marker.split_once(' ')?;
            let stamp = head.rsplit(' ').next()?;
            Some((
                format!("{stamp:>20}"),
                cpu.parse().ok()?,
                number.parse().ok()?,
            ))
        };
        let Some((at, cpu, number)) = parse() else {
            fail!("not a marker: {line:?}")
        };
        ensure!(at >= stamp, "{at} after {stamp}");
        stamp = at;
        ensure_eq!(
            number,
            last[cpu].map_or(0, |n: usize| n + 1),
            "next marker of cpu {cpu}"
        );
        last[cpu] = Some(number);
    }
    ensure_eq!(last, vec![Some(count - 1); cpus], "last markers");
    Ok(())
}

/// The counters of one CPU's `stats`.
pub struct Counted {
    pub entries: u64,
    pub overrun: u64,
    pub dropped: u64,
    pub read: u64,
}

pub fn counted(tree: &Tree, cpu: usize) -> Check<Counted> {
    let number = |label| tree.number(&format!("per_cpu/cpu{cpu}/stats"), label);
    ensure_eq!(number("commit overrun")?, 0, "commit overrun");
    Ok(Counted {
        entries: number("entries")?,
        overrun: number("overrun")?,
        dropped: number("dropped events")?,
        read: number("read events")?,
    })
}

/// Numbered markers in a pipe's text, and the losses that it tells of. Checks that every gap
/// in the numbers is announced with its size.
fn numbers(text: &str) -> Check<(Vec<u64>, u64)> {
    let (mut found, mut lost_in_all, mut lost) = (Vec::new(), 0, 0);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("CPU:0 [LOST ") {
            let count = rest
                .strip_suffix(" EVENTS]")
                .and_then(|count| count.parse::<u64>().ok());
            let Some(count) = count else {
                fail!("not a loss: {line:?}")
            };
            lost += count;
            lost_in_all += count;
            continue;
        }
        let number = line
            .rsplit("number ")
            .next()
            .and_then(|n| n.parse::<u64>().ok());
        let Some(number) = number else {
            fail!("not a marker: {line:?}")
        };
        let expected = found.last().map_or(0, |n| n + 1) + std::mem::take(&mut lost);
        ensure_eq!(number, expected, "the marker after {:?}", found.last());
        found.push(number);
    }
    Ok((found, lost_in_all))
}

fn write_numbers(tree: &Tree, count: u64) -> Check<Op> {
    let mut file = tree
        .open_write("trace_marker")
        .map_err(|e| format!("trace_marker: {e}"))?;
    let mut result = Ok(());
    for number in 0..count {
        let text = format!("number {number}");
        if let Err(e) = std::io::Write::write(&mut file, text.as_bytes()) {
            result = Err(Errno::from(e));
        }
    }
    Ok(result)
}

/// Overwrite mode: the oldest go, and the first line says how many.
fn lost_events(context: &Context) -> Check {
    let own = instance(context)?;
    own.set("buffer_size_kb", "8")?;
    let written = 2000;
    ensure_eq!(write_numbers(&own, written)?, Ok(()), "markers");

    let before = counted(&own, 0)?;
    ensure!(before.overrun > 0, "nothing was overwritten");
    ensure_eq!(
        before.entries + before.overrun,
        written,
        "entries + overrun"
    );
    let mut file = open(&own, "trace_pipe")?;
    let text = drain_text(&mut file)?;
    ensure!(
        text.starts_with("CPU:0 [LOST "),
        "no line of the loss: {:.100?}",
        text
    );
    let (found, lost) = numbers(&text)?;
    ensure_eq!(lost, before.overrun, "lost events");
    ensure_eq!(found.len() as u64, before.entries, "events read");
    ensure_eq!(found.last(), Some(&(written - 1)), "last event");
    let after = counted(&own, 0)?;
    ensure_eq!(
        (after.entries, after.read),
        (0, before.entries),
        "entries and read events after"
    );
    Ok(())
}

/// The same while the reader races with the writer.
fn lost_while_reading(context: &Context) -> Check {
    let own = instance(context)?;
    own.set("buffer_size_kb", "8")?;
    let written = 5000;
    let mut file = open(&own, "trace_pipe")?;
    let (tree, cpus) = (own.clone(), sys::online_cpus());
    let writer = std::thread::spawn(move || {
        sys::pin_to(0);
        write_numbers(&tree, written)
    });
    sys::pin_to(cpus - 1);
    let mut text = String::new();
    while !writer.is_finished() {
        text += &drain_text(&mut file)?;
    }
    ensure_eq!(
        writer.join().map_err(|_| "the writer died".to_string())??,
        Ok(()),
        "markers"
    );
    text += &drain_text(&mut file)?;

    let (found, lost) = numbers(&text)?;
    let counted = counted(&own, 0)?;
    println!("{} read, {lost} lost", found.len());
    ensure_eq!(found.len() as u64 + lost, written, "read + lost");
    ensure_eq!(
        (counted.read, counted.overrun),
        (found.len() as u64, lost),
        "read events and overrun"
    );
    ensure_eq!(counted.entries, 0, "entries");
    Ok(())
}

/// The newest are refused when nothing may be overwritten, and counted.
fn no_overwrite(context: &Context) -> Check {
    let own = instance(context)?;
    let reference = Instance::new(&context.reference, "rtg-pipe-ref")?;
    let written = 2000;
    let mut results = Vec::new();
    for tree in [&own, &reference] {
        tree.set("options/overwrite", "0")?;
        tree.set("buffer_size_kb", "8")?;
        results.push(write_numbers(tree, written)?);
    }
    ensure_eq!(results[0], results[1], "a write into the full buffer");
    let before = counted(&own, 0)?;
    ensure!(before.dropped > 0, "nothing was refused");
    ensure_eq!(before.overrun, 0, "overrun");
    ensure_eq!(
        before.entries + before.dropped,
        written,
        "entries + dropped"
    );

    let (found, lost) = numbers(&drain_text(&mut open(&own, "trace_pipe")?)?)?;
    ensure_eq!(
        (found.len() as u64, lost),
        (before.entries, 0),
        "read and lost"
    );
    own.set("trace_marker", "room again")?;
    let text = drain_text(&mut open(&own, "trace_pipe")?)?;
    ensure!(text.ends_with("room again\n"), "after reading: {text:?}");
    Ok(())
}

/// An instance with a reader asleep cannot go; the reader is not disturbed.
fn rmdir_while_asleep(context: &Context) -> Check {
    let own = instance(context)?;
    let reader = Reader::start(&own, "trace_pipe")?;
    reader.wait_asleep()?;
    let result = std::fs::remove_dir(own.path()).map_err(Errno::from);
    ensure_eq!(result, Err(EBUSY), "rmdir");
    ensure!(reader.silent(), "the refused rmdir woke the reader");
    own.set("trace_marker", "still here")?;
    let found = reader.next()?;
    ensure!(
        found
            .as_ref()
            .is_ok_and(|text| text.ends_with("still here\n")),
        "{found:?}"
    );
    reader.stop()?;
    own.remove()
}
