// SPDX-License-Identifier: GPL-2.0

//! One event, then silence: a reader that sleeps, or is on its way to sleep, has to get it. The event
//! comes from every context, at every distance from the reader's last look.

use super::random::Random;
use super::readers::{page_of, Lines, Source, Wait};
use super::record::CONTEXTS;
use super::seen::{Got, Seen};
use crate::check::{joined, Check};
use crate::sys;
use crate::tree::Tree;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// No reader is that slow: it goes on sleeping although there is an event.
const FOREVER: Duration = Duration::from_secs(100);

/// Rounds that there are in any case, and how often it is made sure that the reader sleeps.
const LEAST: u64 = 60;
pub const ASLEEP: u64 = 16;

/// A reader, and how it waits.
pub const READERS: [(&str, Wait); 6] = [
    ("per_cpu/cpu0/trace_pipe_raw", Wait::Read),
    ("per_cpu/cpu0/trace_pipe_raw", Wait::Poll),
    ("per_cpu/cpu0/trace_pipe_raw", Wait::Epoll),
    ("per_cpu/cpu0/trace_pipe", Wait::Read),
    ("trace_pipe", Wait::Poll),
    ("trace_pipe", Wait::Epoll),
];

/// Reads until `stop`, and keeps `read` up to date.
fn read(mut source: Source, seen: &Seen, read: &AtomicU64, stop: &AtomicBool) -> Check {
    let mut got = Got::consumer(seen, false);
    let (mut bytes, mut lines) = (vec![0; 1 << 16], Lines::default());
    while let Some(n) = source.next(&mut bytes, stop)? {
        match source.is_raw() {
            true => page_of(0, &bytes[..n], &mut got)?,
            false => lines.add(&bytes[..n], &mut got)?,
        }
        ensure_eq!(got.losses(0) + got.uncounted(0), 0, "losses");
        read.store(got.read(0), Ordering::Release);
    }
    Ok(())
}

/// How often a thread of this process went to sleep.
fn sleeps(thread: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status"));
    let status = status.unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

/// Single events from CPU 0 for one reader: `rounds`, or as many as there is time for, but `LEAST`.
/// Returns how many, and how often the reader slept.
pub fn run(
    tree: &Tree,
    (name, wait): (&str, Wait),
    rounds: u64,
    time: Duration,
    seed: u64,
) -> Check<(u64, u64)> {
    let file = "/sys/module/rtsoak/parameters/once";
    let once = std::fs::File::options().write(true).open(file);
    let mut once = once.map_err(|e| format!("{file}: {e}"))?;
    let source = Source::open(tree, name, wait)?.patient(2 * FOREVER);
    let (seen, got, stop) = (Seen::new(0, 1), AtomicU64::new(0), AtomicBool::new(false));
    let mut random = Random::new(seed);
    sys::interruptible_by_signal();
    sys::pin_to(0);

    std::thread::scope(|scope| {
        let (send, thread) = channel();
        let (seen, got, stop) = (&seen, &got, &stop);
        let reader = scope.spawn(move || {
            sys::pin_to(sys::online_cpus() - 1);
            let _ = send.send(sys::thread_id());
            read(source, seen, got, stop)
        });
        let thread = thread.recv().unwrap_or(0);
        let mut result = Ok(());
        let (began, mut done) = (Instant::now(), 0);
        for round in 0..rounds {
            if began.elapsed() > time && round >= LEAST {
                break;
            }
            let context = random.below(CONTEXTS.len() as u64);
            // The reader has just read the event before: from now on it goes to sleep.
            match round % ASLEEP {
                0 if !sys::wait_asleep(thread) => {
                    result = Err(format!("{name}: round {round}: it does not sleep"));
                    break;
                }
                0 => {}
                _ => {
                    let longest = 1 << random.below(15);
                    (0..random.below(longest)).for_each(|_| std::hint::spin_loop());
                }
            }
            if let Err(e) = once.write_all(context.to_string().as_bytes()) {
                result = Err(format!("{file}: {e}"));
                break;
            }
            let written = Instant::now();
            while got.load(Ordering::Acquire) <= round
                && !reader.is_finished()
                && written.elapsed() < FOREVER
            {
                std::thread::yield_now();
            }
            if got.load(Ordering::Acquire) <= round {
                result = Err(format!(
                    "{name}: round {round}: no event of {} in {FOREVER:?}",
                    CONTEXTS[context as usize]
                ));
                break;
            }
            done += 1;
        }
        let slept = sleeps(thread);
        stop.store(true, Ordering::Release);
        while !reader.is_finished() {
            sys::interrupt_thread(thread);
            std::thread::sleep(Duration::from_millis(2));
        }
        let read = joined(reader);
        read.map_err(|problem| format!("{name}: {problem}"))?;
        result.map(|()| (done, slept))
    })
}
