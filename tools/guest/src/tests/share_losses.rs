// SPDX-License-Identifier: GPL-2.0

//! A reader of a shared `trace_pipe` is told of the events that it cannot get, and gets none
//! twice, whatever is done to the buffers meanwhile.

use super::{exact, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::json::Json;
use crate::soak::rounds;
use crate::stream::drain_cpu;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

pub const TESTS: &[Test] = &[
    exact("share.told", 120, told),
    exact("share.emptied_meanwhile", 90, emptied_meanwhile),
    exact("share.snapshots_meanwhile", 90, snapshots_meanwhile),
];

/// Each kind of pipe.
const PIPES: [&str; 4] = [
    "trace_pipe",
    "trace_pipe_json",
    "per_cpu/cpu0/trace_pipe",
    "per_cpu/cpu0/trace_pipe_json",
];

fn instance(context: &Context) -> Check<Instance> {
    if !context.is_rtracefs() {
        skip!("tracefs has one reader");
    }
    sys::pin_to(0);
    let own = Instance::new(&context.root, "rtg-share")?;
    own.set("options/pipe-share", "1")?;
    own.set("trace_clock", "mono")?;
    Ok(own)
}

/// What a reader got: the numbers of the markers, and how many it was told that it missed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Got {
    numbers: Vec<u64>,
    lost: u64,
}

/// A reader, and how many bytes it reads at once.
struct Sharer {
    file: File,
    json: bool,
    text: Vec<u8>,
}

impl Sharer {
    fn open(tree: &Tree, name: &str) -> Check<Self> {
        let file = tree
            .open_nonblock(name)
            .map_err(|e| format!("{}: {e}", tree.shown(name)))?;
        Ok(Sharer {
            file,
            json: name.ends_with("json"),
            text: Vec::new(),
        })
    }

    /// Reads once; says whether there was anything. A writer may be faster than a reader for ever.
    fn read(&mut self) -> Check<bool> {
        let mut bytes = [0; 5000];
        match self.file.read(&mut bytes).map_err(Errno::from) {
            Ok(n) if n > 0 => self.text.extend_from_slice(&bytes[..n]),
            Ok(_) | Err(EAGAIN) => return Ok(false),
            Err(e) => fail!("read: {e}"),
        }
        Ok(true)
    }

    /// All that there is, and what was read since the last time.
    fn all(&mut self) -> Check<Got> {
        while self.read()? {}
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.text)).into_owned();
        let mut got = Got::default();
        for line in text.lines() {
            let marker = match self.json {
                true => {
                    let object = Json::parse(line)?;
                    got.lost += object.number("lost").unwrap_or(0) as u64;
                    match object.get("fields").and_then(|fields| fields.get("buf")) {
                        Some(Json::Text(text)) => text.clone(),
                        _ => continue,
                    }
                }
                false => line.to_string(),
            };
            if let Some((_, number)) = marker.rsplit_once("number ") {
                let number = number.trim().parse();
                got.numbers
                    .push(number.map_err(|e| format!("{line:?}: {e}"))?);
            } else if let Some((_, lost)) = marker.split_once("[LOST ") {
                let lost = lost.split(' ').next().unwrap_or_default();
                got.lost += lost.parse::<u64>().map_err(|e| format!("{line:?}: {e}"))?;
            } else {
                fail!("a line that is no marker: {line:?}");
            }
        }
        Ok(got)
    }
}

fn mark(tree: &Tree, numbers: std::ops::Range<u64>) -> Check {
    { numbers }.try_for_each(|at| tree.set("trace_marker", &format!("number {at}")))
}

/// A consumer reads all that is there.
fn consume(tree: &Tree) -> Check {
    tree.set("options/pipe-share", "0")?;
    let mut file = tree
        .open_nonblock("trace_pipe")
        .map_err(|e| format!("trace_pipe: {e}"))?;
    super::pipe::drain_text(&mut file)?;
    tree.set("options/pipe-share", "1")
}

/// What is done to the buffer of CPU 0 when it has the markers 0 to 9, and a reader has read
/// as many of them as it likes; then the markers that follow.
type Deed = (&'static str, fn(&Tree) -> Check);

/// Operations that take unread events away; readers are told.
const TAKEN: &[Deed] = &[
    ("a snapshot", |tree| tree.set("snapshot", "1")),
    ("two snapshots", |tree| {
        tree.set("snapshot", "1")?;
        tree.set("snapshot", "1")
    }),
    ("a snapshot that is emptied", |tree| {
        tree.set("snapshot", "1")?;
        tree.set("snapshot", "2")
    }),
    ("a snapshot that is freed", |tree| {
        tree.set("snapshot", "1")?;
        tree.set("snapshot", "0")
    }),
    ("another size of sub-buffers", |tree| {
        let now = tree.get("buffer_subbuf_size_kb")?;
        let other = if now.trim() == "4" { "8" } else { "4" };
        tree.set("buffer_subbuf_size_kb", other)
    }),
    ("a consumer", consume),
    ("a consumer of sub-buffers", |tree| {
        drain_cpu(tree, 0).map(drop)
    }),
];

/// Operations that empty the buffer.
const EMPTIED: &[Deed] = &[
    ("trace", |tree| tree.clear()),
    ("the trace of the CPU", |tree| {
        tree.empty("per_cpu/cpu0/trace")
    }),
    ("a clock", |tree| {
        tree.set("trace_clock", "local")?;
        tree.set("trace_clock", "mono")
    }),
];

/// Operations that leave everything as it is.
const KEPT: &[Deed] = &[
    ("nothing", |_| Ok(())),
    ("the trace of another CPU", |tree| {
        tree.empty("per_cpu/cpu1/trace")
    }),
    ("the snapshot of the CPU", |tree| tree.set("snapshot", "2")),
    ("another size", |tree| {
        tree.set("buffer_size_kb", "200")?;
        tree.set("buffer_size_kb", "100")
    }),
    ("a reader of trace", |tree| tree.get("trace").map(drop)),
];

/// Two readers, one that has read all and one that has read nothing, before each operation.
fn told(context: &Context) -> Check {
    let own = instance(context)?;
    let mut report = Report::default();
    own.set("buffer_size_kb", "100")?;
    let deeds = [(TAKEN, 10, 0), (EMPTIED, 0, 0), (KEPT, 0, 10)];
    for pipe in PIPES {
        for (deeds, lost, kept) in deeds {
            for (name, deed) in deeds {
                own.clear()?;
                let mut early = Sharer::open(&own, pipe)?;
                let mut late = Sharer::open(&own, pipe)?;
                mark(&own, 0..10)?;
                let first = early.all()?;
                report.expect(first.numbers == (0..10).collect::<Vec<_>>(), || {
                    format!("{pipe}, before {name}: {first:?}")
                });
                deed(&own)?;
                let between = early.all()?;
                report.expect(between == Got::default(), || {
                    format!("{pipe}, behind {name}: {between:?} again")
                });
                mark(&own, 10..13)?;
                let second = early.all()?;
                let wanted = Got {
                    numbers: (10..13).collect(),
                    lost: 0,
                };
                report.expect(second == wanted, || {
                    format!("{pipe}, who had read all before {name}: {second:?}")
                });
                let all = late.all()?;
                let wanted = Got {
                    numbers: (10 - kept..13)
                        .filter(|at| kept != 0 || *at >= 10)
                        .collect(),
                    lost,
                };
                report.expect(all == wanted, || {
                    format!("{pipe}, who had read nothing before {name}: {all:?}")
                });
                // The operation once more, with what each of them knows by now.
                deed(&own)?;
                mark(&own, 13..14)?;
                for (who, reader) in [("early", &mut early), ("late", &mut late)] {
                    let last = reader.all()?;
                    report.expect(last.numbers == [13] && last.lost == 0, || {
                        format!("{pipe}, {who}, behind {name} again: {last:?}")
                    });
                }
            }
        }
        // Overwritten between opening and the first read, and because the buffer became smaller.
        for shrink in [false, true] {
            own.clear()?;
            own.set("buffer_size_kb", if shrink { "200" } else { "8" })?;
            let mut reader = Sharer::open(&own, pipe)?;
            mark(&own, 0..2000)?;
            own.set("buffer_size_kb", "8")?;
            let got = reader.all()?;
            let whole = got.lost + got.numbers.len() as u64 == 2000;
            let rest = (got.lost..2000).collect::<Vec<_>>();
            report.expect(whole && got.lost > 100 && got.numbers == rest, || {
                format!(
                    "{pipe}, 2000 into 8 KiB: {} lost and {} from {:?}",
                    got.lost,
                    got.numbers.len(),
                    got.numbers.first()
                )
            });
            own.set("buffer_size_kb", "100")?;
        }
    }
    report.finish()
}

/// Two readers while `deed` is done again and again and another task writes markers; what each got.
fn meanwhile(own: &Instance, deed: impl Fn(&Tree) -> Check) -> Check<(u64, Vec<Got>)> {
    own.set("buffer_size_kb", "100")?;
    own.clear()?;
    let mut readers = [
        Sharer::open(own, "trace_pipe")?,
        Sharer::open(own, "per_cpu/cpu0/trace_pipe_json")?,
    ];
    let least = rounds(40, 400);
    let (over, tree) = (AtomicBool::new(false), Tree::at(own.path()));
    let written = std::thread::scope(|scope| -> Check<u64> {
        let writer = scope.spawn(|| -> Check<u64> {
            sys::pin_to(0);
            let mut at = 0;
            while !over.load(Ordering::Relaxed) {
                let marker = format!("number {at}");
                match tree.write("trace_marker", marker.as_bytes()) {
                    Ok(_) => at += 1,
                    // Nothing is recorded while a buffer is emptied.
                    Err(EBADF) => std::thread::yield_now(),
                    Err(e) => fail!("trace_marker: {e}"),
                }
            }
            Ok(at)
        });
        sys::pin_to(sys::online_cpus() - 1);
        let done = (|| {
            for round in 0..least {
                deed(own)?;
                for _ in 0..10 {
                    readers[0].read()?;
                }
                if round % 3 == 0 {
                    readers[1].read()?;
                }
            }
            Ok(())
        })();
        over.store(true, Ordering::Relaxed);
        let written = writer.join().map_err(|_| "the writer died".to_string())?;
        done.and(written)
    })?;
    // Before the last event every reader is told what it missed.
    sys::pin_to(0);
    mark(own, written..written + 1)?;
    let got = readers.iter_mut().map(Sharer::all);
    Ok((written + 1, got.collect::<Check<_>>()?))
}

fn rises(got: &Got) -> bool {
    got.numbers.windows(2).all(|pair| pair[0] < pair[1])
}

/// Nothing comes twice or goes back while the buffer is emptied.
fn emptied_meanwhile(context: &Context) -> Check {
    let own = instance(context)?;
    for cpu in ["per_cpu/cpu0/trace", "per_cpu/cpu1/trace"] {
        let (written, all) = meanwhile(&own, |tree| tree.empty(cpu))?;
        for got in all {
            ensure!(rises(&got), "{cpu}: an event comes again");
            let sum = got.numbers.len() as u64 + got.lost;
            let exact = cpu.contains("cpu1");
            ensure!(
                sum <= written && (!exact || sum == written),
                "{cpu}: {} events and {} lost of {written}",
                got.numbers.len(),
                got.lost
            );
            ensure_eq!(got.numbers.last(), Some(&(written - 1)), "the last event");
        }
    }
    Ok(())
}

/// Each event comes once or is counted as lost while snapshots are taken.
fn snapshots_meanwhile(context: &Context) -> Check {
    let own = instance(context)?;
    let (written, all) = meanwhile(&own, |tree| tree.set("snapshot", "1"))?;
    for got in all {
        ensure!(rises(&got), "an event comes again");
        ensure_eq!(
            got.numbers.len() as u64 + got.lost,
            written,
            "events and lost, {} of them",
            got.lost
        );
    }
    Ok(())
}
