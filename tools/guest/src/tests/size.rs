// SPDX-License-Identifier: GPL-2.0

//! Sizes of buffers and of their sub-buffers: what the files say, and what happens to events and to
//! open files.

use super::{pair, same, test, Test};
use crate::check::{Check, Report};
use crate::stream::{self, LARGEST};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::io::{Read, Seek};

pub const TESTS: &[Test] = &[
    test("size.texts", 30, texts),
    test("size.events_go_with_their_sub_buffers", 30, events_go),
    test("size.open_files", 30, open_files),
];

pub const SUBBUF: &str = "buffer_subbuf_size_kb";
/// KiB of every size of sub-buffers.
pub const SIZES: [u64; 8] = [4, 8, 16, 32, 64, 128, 256, 512];

/// Numbers without order, the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) % n
    }
}

pub fn stats(tree: &Tree, cpu: usize, label: &str) -> Check<u64> {
    tree.number(&format!("per_cpu/cpu{cpu}/stats"), label)
}

/// The sum of a counter over the CPUs.
fn sum(tree: &Tree, label: &str) -> Check<u64> {
    (0..sys::online_cpus())
        .map(|cpu| stats(tree, cpu, label))
        .sum()
}

pub fn markers(tree: &Tree, count: usize) -> Check {
    (0..count).try_for_each(|i| {
        tree.set(
            "trace_marker",
            &format!("marker {i:04} {}", "x".repeat(200)),
        )
    })
}

/// The lines of events.
pub fn events(text: &str) -> usize {
    text.lines().filter(|line| line.contains("marker ")).count()
}

/// The files say the same as those of the kernel, after every size.
fn texts(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for kb in SIZES.into_iter().chain([5, 9, 1, 100, 257, 4]) {
        for tree in [&own, &reference] {
            tree.set(SUBBUF, &kb.to_string())?;
        }
        for file in [SUBBUF, "events/header_page"] {
            report.collect(same(&own, &reference, file));
        }
        for size in ["1", "100", "1408", "5000"] {
            for tree in [&own, &reference] {
                tree.set("buffer_size_kb", size)?;
            }
            for file in [
                "buffer_size_kb",
                "buffer_total_size_kb",
                "per_cpu/cpu0/buffer_size_kb",
            ] {
                report.collect(same(&own, &reference, file));
            }
        }
    }
    // Room for as much as before; the kernel goes on showing the old size.
    own.set("buffer_size_kb", "1408")?;
    for (kb, room) in [(8, "1413\n"), (512, "1535\n"), (4, "1537\n")] {
        own.set(SUBBUF, &kb.to_string())?;
        let found = own.get("buffer_size_kb")?;
        report.expect(found == room || !context.is_rtracefs(), || {
            format!("{kb} KiB in a sub-buffer: {found:?} instead of {room:?}")
        });
    }
    report.finish()
}

/// Another size of sub-buffers throws away what was not read, in this instance alone, and counts it;
/// the same size, however it is written, throws away nothing. Recording stays as it was.
fn events_go(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let other = Instance::new(&context.root, "rtg-other")?;
    // The CPU that has lost something must be the one that records again.
    sys::pin_to(0);
    markers(&own, 30)?;
    markers(&other, 5)?;
    own.set(SUBBUF, "3")?;
    ensure_eq!(events(&own.get("trace")?), 30, "after the same size");
    let overrun = || sum(&own, "overrun");
    for (on, kb) in [("1", "64"), ("0", "16"), ("1", "4")] {
        own.set("tracing_on", "1")?;
        markers(&own, 7)?;
        own.set("tracing_on", on)?;
        let (before, unread) = (overrun()?, sum(&own, "entries")?);
        ensure!(unread >= 7, "{unread} unread events");
        own.set(SUBBUF, kb)?;
        ensure_eq!(
            own.get("tracing_on")?,
            format!("{on}\n"),
            "{kb}: tracing_on"
        );
        ensure_eq!(events(&own.get("trace")?), 0, "{kb}: events");
        ensure_eq!(sum(&own, "entries")?, 0, "{kb}: entries");
        if context.is_rtracefs() {
            ensure_eq!(overrun()?, before + unread, "{kb}: overrun");
        }
    }
    ensure_eq!(
        events(&other.get("trace")?),
        5,
        "events of another instance"
    );
    ensure_eq!(other.get(SUBBUF)?, "4\n", "size of another instance");
    markers(&own, 3)?;
    ensure_eq!(events(&own.get("trace")?), 3, "events behind");
    let told: u64 = stream::drain(&own)?.iter().map(|s| s.lost()).sum();
    ensure!(told > 0 || !context.is_rtracefs(), "nobody tells of a loss");
    Ok(())
}

/// Open files continue: the rest of an old sub-buffer, then whole ones of the new size.
fn open_files(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs lets nobody change the size while trace is open");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    sys::pin_to(0);
    let open = |name| own.open_nonblock(name).map_err(|e| format!("{name}: {e}"));
    let mut raw = open("per_cpu/cpu0/trace_pipe_raw")?;
    let (mut pipe, mut trace) = (open("trace_pipe")?, open("trace")?);
    let mut bytes = vec![0; LARGEST + 1];
    let mut last = 4096;
    for kb in [4, 512, 8, 64, 4] {
        own.set(SUBBUF, &kb.to_string())?;
        let size = kb << 10;
        markers(&own, 3000)?;
        // A part of an image, then another size, then the rest of that image.
        let n = raw
            .read(&mut bytes[..1000])
            .map_err(|e| format!("raw: {e}"))?;
        ensure_eq!(n, 1000, "{kb} KiB: a part");
        let n = pipe
            .read(&mut bytes[..300])
            .map_err(|e| format!("pipe: {e}"))?;
        ensure!(n > 0, "{kb} KiB: no line");
        trace.rewind().map_err(|e| format!("trace: {e}"))?;
        let n = trace
            .read(&mut bytes[..2000])
            .map_err(|e| format!("trace: {e}"))?;
        ensure!(n > 0, "{kb} KiB: trace ended");
        let between = if kb == 32 { 16 } else { 32 };
        own.set(SUBBUF, &between.to_string())?;
        let n = raw.read(&mut bytes).map_err(|e| format!("raw: {e}"))?;
        ensure_eq!(n, size - 1000, "{kb} KiB: the rest");
        markers(&own, 3)?;
        let n = raw.read(&mut bytes).map_err(|e| format!("raw: {e}"))?;
        ensure_eq!(n, between << 10, "{kb} KiB, then {between}: an image");
        ensure_eq!(
            crate::page::decode(&bytes[..n])?.events.len(),
            3,
            "{kb} KiB: events"
        );
        markers(&own, 2)?;
        let mut text = String::new();
        while let Ok(n) = pipe.read(&mut bytes) {
            text += &String::from_utf8_lossy(&bytes[..n]);
        }
        ensure!(
            text.contains("marker 0001"),
            "{kb} KiB: {text:?} in the pipe"
        );
        while trace.read(&mut bytes).map_err(|e| format!("trace: {e}"))? != 0 {}
        last = size;
    }
    ensure_eq!(last, 4096, "the last size");
    Ok(())
}
