// SPDX-License-Identifier: GPL-2.0

//! trace_pipe_raw: whole sub-buffers in ftrace's binary form.

use super::pipe::{counted, Reader};
use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::page;
use crate::soak;
use crate::stream::{drain_cpu, CpuStream, Record, NEED_RESCHED};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::io::Read;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("raw.page", 20, one_page),
    test("raw.nonblock", 10, nonblock),
    test("raw.wakes", 30, wakes),
    test("raw.read_sizes", 30, read_sizes),
    exact("raw.short_reads", 60, short_reads),
    exact("raw.many_pages", 60, many_pages),
    exact("raw.missed_events", 60, missed_events),
    test("raw.time_gaps", 30, time_gaps),
    test("raw.poll", 30, poll),
    test("raw.several_readers", 20, several_readers),
    test("raw.given_stays", 60, given_stays),
];

const RAW: &str = "per_cpu/cpu0/trace_pipe_raw";

fn pair(context: &Context) -> Check<(Instance, Instance)> {
    sys::pin_to(0);
    sys::interruptible_by_signal();
    let own = Instance::new(&context.root, "rtg-raw")?;
    let reference = Instance::new(&context.reference, "rtg-raw-ref")?;
    for tree in [&own, &reference] {
        // A pause takes no room in the buffer, however long the machine makes it.
        tree.set("trace_clock", "counter")?;
    }
    Ok((own, reference))
}

/// The text of a marker's record, which follows the common fields and the address.
fn text(record: &Record) -> String {
    let bytes = record.payload.get(16..).unwrap_or_default();
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Markers of every size class: length in the header and in a word of its own.
fn one_page(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let texts = [
        "a".to_string(),
        "hello".into(),
        "x".repeat(93),
        "y".repeat(300),
        "z".repeat(120),
    ];
    let mut pages = Vec::new();
    for tree in [&own, &reference] {
        for text in &texts {
            tree.set("trace_marker", text)?;
        }
        let mut bytes = [0xaa; 5000];
        let mut file = tree
            .open_nonblock(RAW)
            .map_err(|e| format!("open {RAW}: {e}"))?;
        let n = file
            .read(&mut bytes)
            .map_err(|e| format!("read {RAW}: {e}"))?;
        ensure_eq!(n, 4096, "bytes of a page");
        pages.push(bytes[..n].to_vec());
    }
    let (found, wanted) = (page::decode(&pages[0])?, page::decode(&pages[1])?);
    ensure_eq!(found.events.len(), texts.len(), "events");
    ensure!(
        pages[0][page::HEADER + found.len..].iter().all(|b| *b == 0),
        "bytes behind the events"
    );
    ensure_eq!(
        found.ts,
        found.events[0].ts,
        "the page's stamp and the first event's"
    );
    for ((event, reference), text) in found.events.iter().zip(&wanted.events).zip(&texts) {
        let bytes = &event.payload[16..];
        ensure!(
            bytes.starts_with(format!("{text}\n\0").as_bytes()),
            "text {:?}",
            bytes.escape_ascii()
        );
        ensure_eq!(
            event.payload.len(),
            reference.payload.len(),
            "length of {text:?}"
        );
        // All but the type, and the address of each tracer's own function. The one may be written
        // while another task wants the CPU, and the other not.
        ensure_eq!(
            event.payload[2] & !NEED_RESCHED,
            reference.payload[2] & !NEED_RESCHED,
            "flags of {text:?}"
        );
        ensure_eq!(
            event.payload[3..8],
            reference.payload[3..8],
            "common fields of {text:?}"
        );
    }
    ensure!(
        found.events.windows(2).all(|pair| pair[0].ts <= pair[1].ts),
        "stamps go back"
    );
    Ok(())
}

fn nonblock(context: &Context) -> Check {
    let (own, _) = pair(context)?;
    let mut file = own
        .open_nonblock(RAW)
        .map_err(|e| format!("open {RAW}: {e}"))?;
    ensure_eq!(
        file.read(&mut [0; 4096]).map_err(Errno::from),
        Err(EAGAIN),
        "empty"
    );
    own.set("trace_marker", "hello")?;
    ensure_eq!(
        file.read(&mut [0; 4096]).map_err(Errno::from),
        Ok(4096),
        "one event"
    );
    ensure_eq!(
        file.read(&mut [0; 4096]).map_err(Errno::from),
        Err(EAGAIN),
        "empty again"
    );
    Ok(())
}

fn wakes(context: &Context) -> Check {
    let (own, _) = pair(context)?;
    let reader = Reader::start(&own, RAW)?;
    for _ in 0..3 {
        reader.wait_asleep()?;
        own.set("trace_marker", "hello")?;
        reader.next()?.map_err(|e| format!("read: {e}"))?;
    }
    reader.wait_asleep()?;
    reader.stop()
}

/// What reads of odd sizes return: a page in pieces, and buffers too small for an event.
fn read_sizes(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for size in [4096, 5000, 8192, 4095, 2048, 1000, 100, 40, 24, 16, 10, 1] {
        let look = |tree: &Tree| -> Check<(Vec<Op<usize>>, Vec<u8>)> {
            tree.clear()?;
            for i in 0..10 {
                tree.set("trace_marker", &format!("marker {i}"))?;
            }
            let mut file = tree
                .open_nonblock(RAW)
                .map_err(|e| format!("open {RAW}: {e}"))?;
            let (mut results, mut all, mut bytes) = (Vec::new(), Vec::new(), vec![0; size]);
            for _ in 0..6 {
                let result = file.read(&mut bytes).map_err(Errno::from);
                all.extend_from_slice(&bytes[..result.unwrap_or(0)]);
                results.push(result);
            }
            Ok((results, all))
        };
        let (found, wanted) = (look(&own)?, look(&reference)?);
        report.expect(found.0 == wanted.0, || {
            format!("reads of {size}: {:?}, tracefs {:?}", found.0, wanted.0)
        });
        if size >= 1000 {
            let events = page::decode(&found.1).map(|page| page.events.len());
            report.expect(events == Ok(10), || {
                format!("reads of {size} give {events:?} events")
            });
        }
    }
    report.finish()
}

/// A descriptor that is closed takes no event with it that it had no room for: as many are left for the
/// next one as in tracefs, in the snapshot too.
fn short_reads(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for file in [RAW, "per_cpu/cpu0/snapshot_raw"] {
        // Not each kernel's tracefs has snapshots.
        if !reference.exists(file) {
            continue;
        }
        for size in [1, 16, 60, 100, 500, 1000, 4095] {
            let look = |tree: &Tree| -> Check<(Op<usize>, Vec<String>)> {
                tree.clear()?;
                for i in 0..20 {
                    tree.set("trace_marker", &format!("marker {i}"))?;
                }
                if file != RAW {
                    tree.set("snapshot", "1")?;
                }
                let open = || {
                    tree.open_nonblock(file)
                        .map_err(|e| format!("open {file}: {e}"))
                };
                let first = open()?.read(&mut vec![0; size]).map_err(Errno::from);
                let mut stream = CpuStream::default();
                let (mut file, mut page) = (open()?, [0; 4096]);
                while let Ok(4096) = file.read(&mut page) {
                    stream.add(0, &page)?;
                }
                ensure!(
                    stream.lost() == 0 && !stream.uncounted_loss,
                    "told of a loss"
                );
                Ok((first, stream.records.iter().map(text).collect()))
            };
            let (found, wanted) = (look(&own)?, look(&reference)?);
            ensure!(!wanted.1.is_empty() || size >= 1000, "{size} took all");
            report.expect(found == wanted, || {
                format!("{file}, {size} bytes and closed: {found:?}, tracefs {wanted:?}")
            });
        }
    }
    report.finish()
}

/// Hundreds of pages, nothing lost and nothing twice.
fn many_pages(context: &Context) -> Check {
    let (own, _) = pair(context)?;
    let count = soak::fewer(5000);
    for i in 0..count {
        own.set(
            "trace_marker",
            &format!("number {i} {}", "x".repeat(i % 150)),
        )?;
    }
    let stream = drain_cpu(&own, 0)?;
    ensure_eq!(stream.records.len(), count, "events");
    ensure!(stream.pages > 25, "only {} pages", stream.pages);
    ensure!(
        stream.lost() == 0 && !stream.uncounted_loss,
        "a page tells of lost events"
    );
    for (i, record) in stream.records.iter().enumerate() {
        ensure!(
            text(record).starts_with(&format!("number {i} ")),
            "event {i} is {:?}",
            text(record)
        );
    }
    let counted = counted(&own, 0)?;
    ensure_eq!(
        (counted.entries, counted.read),
        (0, count as u64),
        "entries and read events"
    );
    Ok(())
}

/// The first page after a loss says so and how many.
fn missed_events(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let count = soak::fewer(2000);
    let mut losses = Vec::new();
    for tree in [&own, &reference] {
        tree.set("buffer_size_kb", "8")?;
        for i in 0..count {
            tree.set("trace_marker", &format!("number {i}"))?;
        }
        let before = counted(tree, 0)?;
        let stream = drain_cpu(tree, 0)?;
        let first = stream.records.first().map(text).unwrap_or_default();
        ensure_eq!(
            first,
            format!("number {}\n", before.overrun),
            "first event left"
        );
        ensure_eq!(stream.records.len() as u64, before.entries, "events left");
        losses.push((stream.lost(), stream.uncounted_loss, before.overrun));
    }
    let (lost, uncounted, overrun) = losses[0];
    // A full page may have no room for the number; then only the flag can tell.
    ensure!(
        lost == overrun || (lost == 0 && uncounted),
        "pages tell of {lost}, lost were {overrun}"
    );
    ensure_eq!(
        uncounted,
        losses[1].1,
        "loss without a number, as in tracefs {:?}",
        losses[1]
    );
    Ok(())
}

/// Gaps on both sides of what 27 bits of nanoseconds hold.
fn time_gaps(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    for tree in [&own, &reference] {
        tree.set("trace_clock", "mono")?;
    }
    let mut bounds = Vec::new();
    for gap in [0, 1, 130, 140, 300] {
        std::thread::sleep(Duration::from_millis(gap));
        let before = sys::monotonic_ns();
        own.set("trace_marker", "hello")?;
        bounds.push((before, sys::monotonic_ns()));
    }
    let records = drain_cpu(&own, 0)?.records;
    ensure_eq!(records.len(), bounds.len(), "events");
    for (record, (from, to)) in records.iter().zip(bounds) {
        ensure!(
            (from..=to).contains(&record.ts),
            "{} is not within {from}..{to}",
            record.ts
        );
    }
    Ok(())
}

fn poll(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    for tree in [&own, &reference] {
        let file = tree
            .open_nonblock(RAW)
            .map_err(|e| format!("open {RAW}: {e}"))?;
        let ready = |timeout| sys::poll_in(&file, timeout).map_err(|e| format!("poll: {e}"));
        ensure_eq!(
            ready(Duration::ZERO)? & sys::POLLIN,
            0,
            "{} empty",
            tree.shown(RAW)
        );
        tree.set("buffer_size_kb", "8")?;
        for i in 0..1000 {
            tree.set("trace_marker", &format!("number {i}"))?;
        }
        let events = ready(sys::patience(Duration::from_secs(5)))?;
        ensure_eq!(
            events & sys::POLLIN,
            sys::POLLIN,
            "{} full",
            tree.shown(RAW)
        );
    }
    Ok(())
}

/// It may be opened many times; each page goes to one of the readers.
fn several_readers(context: &Context) -> Check {
    let (own, _) = pair(context)?;
    let open = || {
        own.open_nonblock(RAW)
            .map_err(|e| format!("open {RAW}: {e}"))
    };
    let (mut one, mut two) = (open()?, open()?);
    own.set("trace_marker", "first")?;
    ensure_eq!(
        one.read(&mut [0; 4096]).map_err(Errno::from),
        Ok(4096),
        "first reader"
    );
    ensure_eq!(
        two.read(&mut [0; 4096]).map_err(Errno::from),
        Err(EAGAIN),
        "second reader"
    );
    own.set("trace_marker", "second")?;
    ensure_eq!(
        two.read(&mut [0; 4096]).map_err(Errno::from),
        Ok(4096),
        "second reader"
    );
    Ok(())
}

/// A sub-buffer that was read in part belongs to the open file, whatever happens to the buffer: one
/// that writers had left, and one that they were in.
fn given_stays(context: &Context) -> Check {
    let (own, _) = pair(context)?;
    let mark = |word: &str, count: usize| {
        (0..count).try_for_each(|i| own.set("trace_marker", &format!("{word} {i}")))
    };
    let lap = soak::fewer(1500).max(700);
    for count in [300, 3] {
        own.set("buffer_size_kb", "20")?;
        own.clear()?;
        mark("number", count)?;
        let mut file = own
            .open_nonblock(RAW)
            .map_err(|e| format!("open {RAW}: {e}"))?;
        let mut image = [0; 4096];
        let mut read = |part: &mut [u8]| file.read(part).map_err(Errno::from);
        ensure_eq!(read(&mut image[..1000]), Ok(1000), "the first part");
        // Around the buffer, with another reader that exchanges memory, and with other memory.
        mark("later", lap)?;
        drain_cpu(&own, 0)?;
        mark("later", lap)?;
        own.set("buffer_size_kb", "40")?;
        own.clear()?;
        mark("later", lap)?;
        ensure_eq!(read(&mut image[1000..]), Ok(3096), "the rest");
        let mut stream = CpuStream::default();
        stream.add(0, &image)?;
        let texts: Vec<String> = stream.records.iter().map(text).collect();
        // As many as had room in the first part.
        let first = if count == 3 { 3..=3 } else { 15..=60 };
        ensure!(first.contains(&texts.len()), "{} events", texts.len());
        for (i, text) in texts.iter().enumerate() {
            ensure_eq!(*text, format!("number {i}\n"), "an event of the sub-buffer");
        }
    }
    Ok(())
}
