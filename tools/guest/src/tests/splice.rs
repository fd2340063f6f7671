// SPDX-License-Identifier: GPL-2.0

//! Sub-buffers of `trace_pipe_raw` that move into a pipe: which, how many, and how long they live.

use super::pipe::counted;
use super::{exact, pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::page;
use crate::rawcalls;
use crate::stream::CpuStream;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("splice.results", 60, results),
    test("splice.lengths", 30, lengths),
    exact("splice.missed_events", 60, missed_events),
    test("splice.pages_outlive_all", 60, pages_outlive_all),
    exact("splice.while_writing", 90, while_writing),
    test("splice.tee", 30, tee),
    test("splice.text", 30, text),
];

const RAW: &str = "per_cpu/cpu0/trace_pipe_raw";

/// One marker of this length has a sub-buffer of 4 KiB to itself.
const LONG: usize = 3000;

fn open(tree: &Tree) -> Check<File> {
    tree.open_nonblock(RAW)
        .map_err(|e| format!("open {}: {e}", tree.shown(RAW)))
}

fn pipe() -> Check<(File, File)> {
    sys::pipe().map_err(|e| format!("pipe: {e}"))
}

fn mark(tree: &Tree, number: usize, len: usize) -> Check {
    let text = format!("number {number} ");
    tree.set(
        "trace_marker",
        &(text.clone() + &"x".repeat(len - text.len())),
    )
}

/// Numbers of the markers in pages of `size` bytes.
fn numbers(bytes: &[u8], size: usize) -> Check<Vec<usize>> {
    let mut found = Vec::new();
    for image in bytes.chunks(size) {
        let page = page::decode(image)?;
        let used = page::HEADER + page.len + if page.missed_count.is_some() { 8 } else { 0 };
        ensure!(
            image[used..].iter().all(|b| *b == 0),
            "bytes behind the events of a page"
        );
        for event in page.events {
            let text = String::from_utf8_lossy(&event.payload[16..]).into_owned();
            let number = text.split(' ').nth(1).and_then(|n| n.parse().ok());
            found.push(number.ok_or_else(|| format!("no number in {text:?}"))?);
        }
    }
    Ok(found)
}

/// The same markers in both trees: the same results and the same events, page by page.
fn results(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for (size, kb) in [(4096, "4"), (8192, "8"), (65536, "64")] {
        for count in [0, 1, 2, 5, 24] {
            for len in [size, size * 3 + 100, 1 << 20] {
                let look = |tree: &Tree| -> Check<(Vec<Op<usize>>, Vec<usize>)> {
                    tree.set("buffer_subbuf_size_kb", kb)?;
                    tree.clear()?;
                    for number in 0..count * (size / 4096) {
                        mark(tree, number, LONG)?;
                    }
                    let (mut results, mut found) = (Vec::new(), Vec::new());
                    let file = open(tree)?;
                    for _ in 0..6 {
                        let (mut out, into) = pipe()?;
                        results.push(rawcalls::splice(&file, &into, len, false));
                        found.extend(numbers(&rawcalls::drain(&mut out), size)?);
                    }
                    Ok((results, found))
                };
                let (found, wanted) = (look(&own)?, look(&reference)?);
                report.expect(found == wanted, || {
                    format!("{count} of {size}, {len}: {found:?}, tracefs {wanted:?}")
                });
            }
        }
    }
    report.finish()
}

/// Lengths below a sub-buffer, positions beside one, and a sub-buffer that was read in part.
fn lengths(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let look = |tree: &Tree| -> Check<Vec<Op<usize>>> {
        let file = open(tree)?;
        let mut results = Vec::new();
        let splice = |len| -> Check<Op<usize>> {
            let (_out, into) = pipe()?;
            Ok(rawcalls::splice(&file, &into, len, false))
        };
        // Nothing there: the length is not looked at.
        results.push(splice(100)?);
        for number in 0..6 {
            mark(tree, number, LONG)?;
        }
        results.extend([splice(0)?, splice(100)?, splice(4095)?, splice(4096)?]);
        // Part of an image moves the position to where no sub-buffer begins.
        results.push((&file).read(&mut [0; 3500]).map_err(Errno::from));
        results.push(splice(8192)?);
        results.push((&file).read(&mut [0; 596]).map_err(Errno::from));
        results.push(splice(8192)?);
        Ok(results)
    };
    let (found, wanted) = (look(&own)?, look(&reference)?);
    ensure_eq!(found, wanted, "results as in tracefs");
    Ok(())
}

/// The first page after a loss says so, and how many.
fn missed_events(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut seen = Vec::new();
    for tree in [&own, &reference] {
        tree.set("buffer_size_kb", "40")?;
        for number in 0..60 {
            mark(tree, number, LONG)?;
        }
        let before = counted(tree, 0)?;
        let file = open(tree)?;
        let (mut out, into) = pipe()?;
        let moved = rawcalls::splice(&file, &into, 1 << 20, false);
        ensure!(moved.is_ok_and(|n| n >= 4096), "splice: {moved:?}");
        let bytes = rawcalls::drain(&mut out);
        let first = page::decode(&bytes[..4096])?;
        ensure_eq!(
            (first.missed, first.missed_count),
            (true, Some(before.overrun)),
            "{}: events lost in front of the first page",
            tree.shown(RAW)
        );
        let second = page::decode(&bytes[4096..8192])?;
        ensure!(!second.missed, "the second page tells of a loss, too");
        seen.push((moved, numbers(&bytes, 4096)?));
    }
    ensure_eq!(seen[0], seen[1], "pages as in tracefs");
    Ok(())
}

/// Pages in a pipe stay what they are, whatever becomes of the ring that they were in.
fn pages_outlive_all(context: &Context) -> Check {
    sys::pin_to(0);
    let fates: [(&str, &str); 6] = [
        ("trace", ""),
        ("buffer_size_kb", "8"),
        ("buffer_subbuf_size_kb", "64"),
        ("trace_clock", "mono"),
        ("close", ""),
        ("rmdir", ""),
    ];
    for kb in ["4", "8"] {
        for (name, value) in fates {
            if !context.is_rtracefs() && name == "rmdir" {
                continue;
            }
            let own = Instance::new(&context.root, "rtg-splice")?;
            own.set("buffer_subbuf_size_kb", kb)?;
            let size = own.get("buffer_subbuf_size_kb")?.trim().parse::<usize>();
            let size = size.map_err(|e| e.to_string())? << 10;
            for number in 0..20 {
                mark(&own, number, LONG)?;
            }
            let file = open(&own)?;
            let (mut out, into) = pipe()?;
            let moved = rawcalls::splice(&file, &into, 4 * size, false);
            ensure_eq!(moved, Ok(4 * size), "splice");
            let mut keep = Some((file, own));
            match name {
                "trace" => keep.as_ref().map_or(Ok(()), |(_, own)| own.clear())?,
                "close" | "rmdir" => {
                    if let Some((file, own)) = keep.take() {
                        drop(file);
                        if name == "rmdir" {
                            own.remove()?;
                        }
                    }
                }
                _ => keep
                    .as_ref()
                    .map_or(Ok(()), |(_, own)| own.set(name, value))?,
            }
            // The next user of the memory overwrites it.
            let other = Instance::new(&context.root, "rtg-splice-other")?;
            for tree in [Some(&other), keep.as_ref().map(|(_, own)| own)]
                .into_iter()
                .flatten()
            {
                for number in 1000..1400 {
                    mark(tree, number, LONG)?;
                }
            }
            let found = numbers(&rawcalls::drain(&mut out), size)?;
            let wanted: Vec<usize> = (0..found.len()).collect();
            ensure!(found.len() >= 4, "{name}: {} events", found.len());
            ensure_eq!(found, wanted, "{name}: events in the pipe");
            drop(keep);
            other.remove()?;
        }
    }
    Ok(())
}

/// A reader splices what another thread writes: each event comes once, in order, or is counted.
fn while_writing(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-splice")?;
    own.set("buffer_size_kb", "64")?;
    let least = if sys::proves_locking() { 3000 } else { 20000 };
    let writer_tree = Tree::at(own.path());
    let done = Arc::new(AtomicUsize::new(0));
    let spliced = done.clone();
    let writer = std::thread::spawn(move || -> Check<usize> {
        sys::pin_to(0);
        let mut number = 0;
        // A reader that the machine gives no time to is waited for.
        while number < least || (number < 50 * least && spliced.load(Ordering::Relaxed) <= 10) {
            mark(&writer_tree, number, 100 + number % 900)?;
            number += 1;
        }
        Ok(number)
    });
    sys::pin_to(sys::online_cpus() - 1);
    let mut file = open(&own)?;
    let (mut out, into) = pipe()?;
    rawcalls::set_pipe_size(&into, 1 << 20).map_err(|e| format!("pipe size: {e}"))?;
    let mut stream = CpuStream::default();
    loop {
        let over = writer.is_finished();
        match rawcalls::splice(&file, &into, 1 << 20, false) {
            Ok(_) => {
                for image in rawcalls::drain(&mut out).chunks(4096) {
                    stream.add(0, image)?;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
            Err(EAGAIN) if over => break,
            Err(EAGAIN) => _ = sys::poll_in(&file, Duration::from_millis(20)),
            Err(e) => fail!("splice: {e}"),
        }
    }
    let total = writer.join().map_err(|_| "the writer died".to_string())??;
    let spliced = done.load(Ordering::Relaxed);
    let mut rest = [0; 4096];
    while let Ok(4096) = file.read(&mut rest) {
        stream.add(0, &rest)?;
    }
    let mut next = 0u64;
    for record in &stream.records {
        let text = String::from_utf8_lossy(&record.payload[16..]).into_owned();
        let number = text.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
        let number = number.ok_or_else(|| format!("no number in {text:?}"))?;
        if !stream.uncounted_loss {
            ensure_eq!(
                number,
                next + record.lost,
                "number after {} lost",
                record.lost
            );
        }
        ensure!(number >= next, "number {number} after {next}");
        next = number + 1;
    }
    ensure_eq!(next, total as u64, "the last event");
    ensure!(spliced > 10, "only {spliced} pages were spliced");
    let stats = counted(&own, 0)?;
    ensure_eq!(
        (stats.read + stats.overrun, stats.entries),
        (total as u64, 0),
        "read and lost"
    );
    println!("{spliced} pages spliced, {} events lost", stats.overrun);
    drop(file);
    own.remove()
}

/// Two pipes share the pages; each has them until it is drained.
fn tee(context: &Context) -> Check {
    sys::pin_to(0);
    let own = Instance::new(&context.root, "rtg-splice")?;
    for number in 0..6 {
        mark(&own, number, LONG)?;
    }
    let file = open(&own)?;
    let (mut out, into) = pipe()?;
    let (mut other_out, other_into) = pipe()?;
    let moved = rawcalls::splice(&file, &into, 4 * 4096, false);
    ensure_eq!(moved, Ok(4 * 4096), "splice");
    ensure_eq!(
        rawcalls::tee(&out, &other_into, 1 << 20),
        Ok(4 * 4096),
        "tee"
    );
    drop(file);
    own.remove()?;
    for pipe in [&mut out, &mut other_out] {
        ensure_eq!(
            numbers(&rawcalls::drain(pipe), 4096)?,
            [0, 1, 2, 3],
            "events"
        );
    }
    Ok(())
}

/// The lines of `trace_pipe`, and of `trace`, through a pipe: those that a read gives, and as often.
fn text(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    sys::pin_to(0);
    let mut seen = Vec::new();
    for tree in [&own as &Tree, &reference as &Tree] {
        for number in 0..40 {
            tree.set("trace_marker", &format!("marker {number}"))?;
        }
        let mut texts = Vec::new();
        for file in ["trace", "trace_pipe"] {
            let open = tree
                .open_nonblock(file)
                .map_err(|e| format!("{file}: {e}"))?;
            let (mut out, into) = pipe()?;
            let mut text = Vec::new();
            let end = loop {
                match rawcalls::splice(&open, &into, 4096, false) {
                    Ok(n @ 1..) => {
                        let mut bytes = vec![0; n];
                        out.read_exact(&mut bytes).map_err(|e| e.to_string())?;
                        text.extend(bytes);
                    }
                    end => break end,
                }
            };
            let text = String::from_utf8_lossy(&text).into_owned();
            let lines = text.lines().map(super::golden::without_stamp);
            texts.push((file, end, lines.collect::<Vec<_>>()));
        }
        seen.push(texts);
    }
    let markers = |lines: &[String]| lines.iter().filter(|l| l.contains("marker ")).count();
    for (file, _, lines) in &seen[0] {
        ensure_eq!(markers(lines), 40, "markers in {file}");
    }
    ensure_eq!(seen[0], seen[1], "spliced");
    Ok(())
}
