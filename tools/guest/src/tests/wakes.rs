// SPDX-License-Identifier: GPL-2.0

//! Readers that sleep: one event then silence, files closed and instances removed under them, events
//! switched while they sleep, wake-ups that are traced themselves.

use super::pipe::{Reader, PIPES};
use super::{test, Test};
use crate::check::Check;
use crate::errno::*;
use crate::soak;
use crate::sys;
use crate::tree::Instance;
use crate::Context;
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    test("wakes.poll_every_time", 90, poll_every_time),
    test("wakes.switched_events", 60, switched_events),
    test("wakes.closed_by_another", 60, closed_by_another),
    test("wakes.written_then_removed", 60, written_then_removed),
    test("wakes.traced_wakeups", 60, traced_wakeups),
];

/// Long enough for a slow machine, short enough to call silence a failure.
const SOON: Duration = Duration::from_secs(20);

const RAW: &str = "per_cpu/cpu0/trace_pipe_raw";

fn instance(context: &Context) -> Check<Instance> {
    sys::pin_to(0);
    sys::interruptible_by_signal();
    Instance::new(&context.root, "rtg-wakes")
}

/// In the usual run and in the long one.
fn rounds(usual: usize, long: usize) -> u64 {
    let many = soak::rounds(usual, long) as u64;
    match sys::proves_locking() {
        true => many / 4,
        false => many,
    }
}

/// One event, then silence: a poll that has begun or is about to begin sees it. The poller runs on
/// another CPU, so that its look and the event race.
fn poll_every_time(context: &Context) -> Check {
    let own = instance(context)?;
    own.set("buffer_percent", "0")?;
    let mut marker = own
        .open_write("trace_marker")
        .map_err(|e| format!("trace_marker: {e}"))?;
    // The reader of one pipe of a kind keeps others out.
    for name in ["trace_pipe", "per_cpu/cpu0/trace_pipe", RAW] {
        if name != "trace_pipe" && !context.is_rtracefs() {
            continue;
        }
        let mut file = own
            .open_nonblock(name)
            .map_err(|e| format!("{name}: {e}"))?;
        let seen = Arc::new(AtomicU64::new(0));
        let (counter, total) = (seen.clone(), rounds(1000, 20_000));
        let poller = std::thread::spawn(move || -> Check {
            sys::pin_to(sys::online_cpus() - 1);
            let mut bytes = vec![0; 1 << 16];
            for round in 0..total {
                let patience = sys::patience(SOON);
                let ready = sys::poll_in(&file, patience).map_err(|e| format!("poll: {e}"))?;
                ensure!(
                    ready & sys::POLLIN != 0,
                    "round {round}: poll says nothing in {patience:?}"
                );
                loop {
                    match file.read(&mut bytes).map_err(Errno::from) {
                        Ok(1..) => continue,
                        Ok(0) | Err(EAGAIN) => break,
                        Err(e) => fail!("round {round}: read: {e}"),
                    }
                }
                counter.store(round + 1, Ordering::Release);
            }
            Ok(())
        });
        let mut written = 0;
        while !poller.is_finished() && written < total {
            std::io::Write::write_all(&mut marker, b"x").map_err(|e| format!("marker: {e}"))?;
            written += 1;
            // Not a moment later than the poller has read it.
            while seen.load(Ordering::Acquire) < written && !poller.is_finished() {
                std::hint::spin_loop();
            }
        }
        let result = poller.join().map_err(|_| "the poller died".to_string())?;
        result.map_err(|e| format!("{name}: {e}"))?;
        println!("{name}: {written} rounds");
    }
    drop(marker);
    own.remove()
}

/// Events and tracing go on and off, the buffer is cleared and resized while readers sleep: the next
/// marker wakes each of them.
fn switched_events(context: &Context) -> Check {
    let own = instance(context)?;
    for name in PIPES {
        let reader = Reader::start(&own, name)?;
        for round in 0..rounds(20, 200) {
            own.set("events/sched/sched_process_fork/enable", "1")?;
            own.set("events/sched/sched_process_fork/enable", "0")?;
            own.clear()?;
            if round % 4 == 0 {
                own.set("buffer_size_kb", if round % 8 == 0 { "100" } else { "50" })?;
            }
            own.set("trace_marker", &format!("round {round}"))?;
            let wanted = format!("round {round}\n");
            loop {
                let text = reader
                    .next()
                    .map_err(|e| format!("{name}, round {round}: {e}"))?
                    .map_err(|e| format!("{name}, round {round}: {e}"))?;
                if text.ends_with(&wanted) {
                    break;
                }
            }
        }
        reader.stop()?;
    }
    own.remove()
}

/// A descriptor is closed by one thread while another sleeps in it: on a pipe of raw pages that ends
/// the sleep, as in tracefs, and nothing keeps the instance.
fn closed_by_another(context: &Context) -> Check {
    let own = instance(context)?;
    let names: &[&str] = match context.is_rtracefs() {
        true => &[RAW, "trace_pipe", "per_cpu/cpu0/trace_pipe"],
        false => &[RAW],
    };
    for name in names {
        for _ in 0..rounds(30, 200) {
            let file = own.open(name).map_err(|e| format!("{name}: {e}"))?;
            let fd = file.into_raw_fd();
            let (send, thread) = channel();
            let sleeper = std::thread::spawn(move || {
                let _ = send.send(sys::thread_id());
                // SAFETY: The descriptor is open now. The other thread closes it, and this value does
                // not.
                let mut file = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
                file.read(&mut [0; 4096]).map_err(Errno::from)
            });
            let thread = thread.recv().map_err(|_| "no thread".to_string())?;
            ensure!(
                sys::wait_asleep(thread),
                "{name}: the reader does not sleep"
            );
            // SAFETY: The descriptor that was opened above, closed here only.
            drop(unsafe { File::from_raw_fd(fd) });
            let ended = sys::wait_until(SOON, || sleeper.is_finished());
            if !ended {
                sys::interrupt_thread(thread);
            }
            let result = sleeper.join().map_err(|_| "the reader died".to_string())?;
            ensure!(ended, "{name}: the read outlived its descriptor");
            ensure!(
                matches!(result, Ok(0) | Err(EINTR | EBADF)),
                "{name}: {result:?}"
            );
        }
    }
    own.remove()
}

/// An event wakes a sleeper; in the same moment the file closes and the instance goes.
fn written_then_removed(context: &Context) -> Check {
    for round in 0..rounds(60, 600) {
        let own = instance(context)?;
        own.set("buffer_percent", "0")?;
        let name = if round % 2 == 0 { "trace_pipe" } else { RAW };
        let file = own.open(name).map_err(|e| format!("{name}: {e}"))?;
        let sleeper = std::thread::spawn(move || {
            sys::pin_to(sys::online_cpus() - 1);
            let ready = sys::poll_in(&file, sys::patience(SOON));
            drop(file);
            ready
        });
        if round % 3 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        own.set("trace_marker", "hello")?;
        let ready = sleeper.join().map_err(|_| "the sleeper died".to_string())?;
        if context.is_rtracefs() || name == "trace_pipe" {
            ensure_eq!(
                ready.map(|r| r & sys::POLLIN),
                Ok(sys::POLLIN),
                "round {round}, {name}"
            );
        }
        own.remove().map_err(|e| format!("round {round}: {e}"))?;
    }
    Ok(())
}

/// The interrupt that wakes a reader is an event, which wakes the reader: it still gets all the rest,
/// and so do all others.
fn traced_wakeups(context: &Context) -> Check {
    let own = instance(context)?;
    // Small, so that the reader never lags far.
    own.set("buffer_size_kb", "32")?;
    let events = [
        "events/irq_vectors/enable",
        "events/sched/sched_waking/enable",
        "events/sched/sched_wakeup/enable",
    ];
    for file in events {
        own.set(file, "1")?;
    }
    let mut file = own
        .open("trace_pipe")
        .map_err(|e| format!("trace_pipe: {e}"))?;
    let (send, markers) = channel();
    let reader = std::thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        let mut rest = String::new();
        while let Ok(n @ 1..) = file.read(&mut bytes) {
            rest.push_str(&String::from_utf8_lossy(&bytes[..n]));
            let whole = rest.rfind('\n').map_or(0, |at| at + 1);
            for line in rest[..whole].lines() {
                let number = line.split_once("tracing_mark_write: round ");
                if number.is_some_and(|(_, n)| send.send(n.parse::<u64>()).is_err()) {
                    return;
                }
            }
            rest.drain(..whole);
        }
    });
    let wait = |round: u64| -> Check {
        // The buffer may come round before the reader has a marker: then once more.
        let end = Instant::now() + sys::patience(SOON);
        while Instant::now() < end {
            own.set("trace_marker", &format!("round {round}"))?;
            while let Ok(found) = markers.recv_timeout(Duration::from_millis(200)) {
                if found == Ok(round) {
                    return Ok(());
                }
            }
        }
        fail!("round {round}: the reader does not get its marker")
    };
    let result = (0..rounds(40, 200)).try_for_each(wait);
    for file in events {
        own.set(file, "0")?;
    }
    drop(markers);
    let ended = sys::wait_until(SOON, || {
        let _ = own.set("trace_marker", "round 0");
        reader.is_finished()
    });
    ensure!(ended, "the reader does not end");
    let _ = reader.join();
    result?;
    own.remove()
}
