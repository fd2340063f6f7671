// SPDX-License-Identifier: GPL-2.0

//! The threads that read while everything else goes on.

use super::random::Random;
use super::record::{self, Line};
use super::seen::{Got, Seen};
use crate::check::Check;
use crate::errno::{Errno, EAGAIN, EINTR};
use crate::page;
use crate::sys;
use crate::tree::Tree;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How a reader waits for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It sleeps in `read`.
    Read,
    /// It sleeps in `poll`.
    Poll,
    /// It sleeps in `epoll_wait`.
    Epoll,
    /// It looks again and again.
    Look,
}

pub const WAITS: [Wait; 4] = [Wait::Read, Wait::Poll, Wait::Epoll, Wait::Look];

/// A stream of events, open.
pub struct Source {
    file: File,
    name: String,
    wait: Wait,
    epoll: Option<File>,
    /// How long it sleeps in `poll` at most.
    patience: Duration,
}

impl Source {
    pub fn open(tree: &Tree, name: &str, wait: Wait) -> Check<Self> {
        let file = match wait {
            Wait::Read => tree.open(name),
            _ => tree.open_nonblock(name),
        };
        let name = tree.shown(name);
        let file = file.map_err(|e| format!("open {name}: {e}"))?;
        let epoll = match wait {
            Wait::Epoll => Some(sys::epoll_of(&file).map_err(|e| format!("epoll {name}: {e}"))?),
            _ => None,
        };
        Ok(Source {
            file,
            name,
            wait,
            epoll,
            patience: Duration::from_millis(100),
        })
    }

    /// It waits for longer.
    pub fn patient(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Returns whether it gives pages, not lines.
    pub fn is_raw(&self) -> bool {
        self.name.ends_with("_raw")
    }

    /// Waits until there may be something to read; false after a signal, too.
    fn ready(&self) -> Check<bool> {
        let events = match &self.epoll {
            Some(epoll) => sys::epoll_in(epoll, self.patience),
            None => sys::poll_in(&self.file, self.patience),
        };
        match events {
            Ok(events) => Ok(events & sys::POLLIN != 0),
            Err(EINTR) => Ok(false),
            Err(e) => Err(format!("poll {}: {e}", self.name)),
        }
    }

    /// Returns whether nothing is left. It asks the file, because epoll knows of an event only after
    /// the wake-up, which a thread of an RT kernel does milliseconds after the last write.
    fn is_empty(&self) -> Check<bool> {
        loop {
            match sys::poll_in(&self.file, Duration::ZERO) {
                Ok(events) => return Ok(events & sys::POLLIN == 0),
                Err(EINTR) => {}
                Err(e) => fail!("poll {}: {e}", self.name),
            }
        }
    }

    /// Waits and reads; `None` when `stop` is set and there is nothing left. A signal makes it look
    /// at `stop`.
    pub fn next(&mut self, bytes: &mut [u8], stop: &AtomicBool) -> Check<Option<usize>> {
        loop {
            if stop.load(Ordering::Acquire) {
                if self.is_empty()? {
                    return Ok(None);
                }
            } else if matches!(self.wait, Wait::Poll | Wait::Epoll) && !self.ready()? {
                continue;
            }
            match self.file.read(bytes).map_err(Errno::from) {
                // The end of a pipe while tracing is off: it goes on again.
                Ok(0) => std::thread::sleep(Duration::from_millis(1)),
                Ok(n) => return Ok(Some(n)),
                Err(EAGAIN) if self.wait == Wait::Look => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(EAGAIN | EINTR) => {}
                Err(e) => fail!("read {}: {e}", self.name),
            }
        }
    }
}

/// Consumes one CPU's pages until `stop`, and then the rest.
pub fn raw(
    tree: &Tree,
    cpu: usize,
    wait: Wait,
    got: Got<'_>,
    stop: &AtomicBool,
) -> Check<Vec<Counts>> {
    let name = format!("per_cpu/cpu{cpu}/trace_pipe_raw");
    raw_of(tree, &name, cpu, wait, got, stop)
}

/// The same of a file of that CPU, which may be that of the snapshot.
pub fn raw_of(
    tree: &Tree,
    name: &str,
    cpu: usize,
    wait: Wait,
    mut got: Got<'_>,
    stop: &AtomicBool,
) -> Check<Vec<Counts>> {
    let mut source = Source::open(tree, name, wait)?;
    let mut bytes = vec![0; 1 << 16];
    while let Some(n) = source.next(&mut bytes, stop)? {
        let bad = |problem: String| format!("{}: {problem}", source.name);
        page_of(cpu, &bytes[..n], &mut got).map_err(bad)?;
    }
    Ok(counts(got))
}

/// Notes what a page holds.
pub fn page_of(cpu: usize, bytes: &[u8], got: &mut Got<'_>) -> Check {
    let page = page::decode(bytes)?;
    if page.missed {
        got.lost(cpu, page.missed_count)?;
    }
    for event in &page.events {
        got.stamp(cpu, event.ts)?;
        got.event(record::of_record(cpu, event.payload)?)?;
    }
    Ok(())
}

/// Consumes lines until `stop`, and then the rest.
pub fn pipe(
    tree: &Tree,
    name: &str,
    wait: Wait,
    mut got: Got<'_>,
    stop: &AtomicBool,
) -> Check<Vec<Counts>> {
    let mut source = Source::open(tree, name, wait)?;
    let mut lines = Lines::default();
    let mut bytes = vec![0; 1 << 16];
    while let Some(n) = source.next(&mut bytes, stop)? {
        let bad = |problem: String| format!("{}: {problem}", source.name);
        lines.add(&bytes[..n], &mut got).map_err(bad)?;
    }
    ensure!(
        lines.rest.is_empty(),
        "{}: half a line at the end",
        source.name
    );
    Ok(counts(got))
}

/// Text that comes in pieces.
#[derive(Default)]
pub struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    pub fn add(&mut self, bytes: &[u8], got: &mut Got<'_>) -> Check {
        self.rest.extend_from_slice(bytes);
        let end = self.rest.iter().rposition(|byte| *byte == b'\n');
        let whole = end.map_or(0, |end| end + 1);
        let text = std::str::from_utf8(&self.rest[..whole]).map_err(|e| e.to_string())?;
        for line in text.lines() {
            match record::of_line(line)? {
                Line::Event(event) => got.event(event)?,
                Line::Lost(cpu, count) => got.lost(cpu, Some(count))?,
                Line::Comment => {}
            }
        }
        self.rest.drain(..whole);
        Ok(())
    }
}

/// The events of one CPU that a reader got.
#[derive(Clone, Default)]
pub struct Counts {
    pub read: u64,
    pub lost: u64,
    pub uncounted: u64,
    pub log: Vec<record::Event>,
}

impl Counts {
    /// Adds what another reader got.
    pub fn add(&mut self, other: &Counts) {
        self.read += other.read;
        self.lost += other.lost;
        self.uncounted += other.uncounted;
        self.log.extend_from_slice(&other.log);
    }
}

fn counts(got: Got<'_>) -> Vec<Counts> {
    let of_cpu = |cpu| Counts {
        read: got.read(cpu),
        lost: got.losses(cpu),
        uncounted: got.uncounted(cpu),
        log: got.log(cpu).to_vec(),
    };
    (0..got.cpus()).map(of_cpu).collect()
}

/// How much of `trace` is read at once.
const MOST_TEXT: usize = 1 << 20;

/// Reads `trace` and `per_cpu/cpuN/trace` of the instances, again and again. Returns how many lines
/// there were.
pub fn viewer(trees: &[&Tree], seen: &[Seen], seed: u64, stop: &AtomicBool) -> Check<u64> {
    let mut random = Random::new(seed);
    let mut bytes = vec![0; 1 << 16];
    let mut events = 0;
    while !stop.load(Ordering::Acquire) {
        let ring = random.below(trees.len() as u64) as usize;
        let name = match random.below(2) {
            0 => "trace".to_string(),
            _ => format!(
                "per_cpu/cpu{}/trace",
                random.below(seen[ring].cpus() as u64)
            ),
        };
        let shown = trees[ring].shown(&name);
        let bad = |problem: String| format!("{shown}: {problem}");
        let mut file = trees[ring]
            .open(&name)
            .map_err(|e| bad(format!("open: {e}")))?;
        let mut got = Got::viewer(&seen[ring]);
        let mut lines = Lines::default();
        let mut text = 0;
        while text < MOST_TEXT {
            let n = match file.read(&mut bytes).map_err(Errno::from) {
                Ok(0) => break,
                Ok(n) => n,
                Err(EINTR) => continue,
                Err(e) => return Err(bad(format!("read: {e}"))),
            };
            text += n;
            lines.add(&bytes[..n], &mut got).map_err(bad)?;
        }
        events += (0..got.cpus()).map(|cpu| got.read(cpu)).sum::<u64>();
        // Other threads must see the writers, too.
        std::thread::sleep(Duration::from_millis(random.below(20)));
    }
    Ok(events)
}
