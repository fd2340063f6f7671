// SPDX-License-Identifier: GPL-2.0

//! `trace_pipe_raw` in the memory of a program: what can be mapped and what cannot, what the first page
//! says, and what a mapping prevents.

use super::{exact, pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::maps::{self, Area, MapReader, Meta, EXEC, MAYMOVE, PAGE, PRIVATE, READ, SHARED, WRITE};
use crate::module;
use crate::rawcalls;
use crate::soak::{rounds, Share};
use crate::stream::Record;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::sync::mpsc::channel;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("mapping.first_page", 60, first_page),
    exact("mapping.events", 90, events),
    test("mapping.areas", 90, areas),
    test("mapping.changes", 60, changes),
    test("mapping.child", 30, child),
    test("mapping.refuses", 60, refuses),
    test("mapping.pins", 60, pins),
    test("mapping.several", 30, several),
    exact("mapping.other_readers", 60, other_readers),
    exact("mapping.stays_while_read", 90, stays_while_read),
    test("mapping.cleared", 60, cleared),
    test("mapping.waits", 60, waits),
    test("mapping.unused_top", 60, unused_top),
];

const RAW: &str = "per_cpu/cpu0/trace_pipe_raw";

/// Long enough for a slow machine, short enough to call silence a failure.
const SOON: Duration = Duration::from_secs(20);

/// One marker of this length has a sub-buffer of 4 KiB to itself.
pub const LONG: usize = 3000;

pub fn mark(tree: &Tree, number: usize, len: usize) -> Check {
    let text = format!("number {number} ");
    let rest = len.saturating_sub(text.len());
    tree.set("trace_marker", &(text + &"x".repeat(rest)))
}

/// The number of a marker.
pub fn number(record: &Record) -> Check<usize> {
    let text = String::from_utf8_lossy(record.payload.get(16..).unwrap_or_default()).into_owned();
    let number = text.split(' ').nth(1).and_then(|n| n.parse().ok());
    number.ok_or_else(|| format!("no number in {text:?}"))
}

fn open(tree: &Tree) -> Check<File> {
    tree.open_nonblock(RAW)
        .map_err(|e| format!("open {}: {e}", tree.shown(RAW)))
}

fn head(file: &File) -> Check<Area> {
    Area::shared(file, PAGE, 0).map_err(|e| format!("map the first page: {e}"))
}

/// What both trees say the same of.
fn comparable(meta: Meta) -> Meta {
    Meta {
        // tracefs forgets it before it tells.
        lost: 0,
        // There the unused end of a sub-buffer counts as consumed.
        consumed: meta.consumed.min(1),
        ..meta
    }
}

/// The numbers of the first page, step by step, in buffers that fill up and overflow.
fn first_page(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for kb in ["4", "8", "64"] {
        for (count, len) in [(0, 1), (16, 2), (16, LONG), (100, 1000), (700, LONG)] {
            let look = |tree: &Tree| -> Check<Vec<Meta>> {
                tree.set("buffer_subbuf_size_kb", kb)?;
                tree.set("buffer_size_kb", "300")?;
                // A pause takes no room in the buffer, however long the machine makes it.
                tree.set("trace_clock", "counter")?;
                tree.clear()?;
                let file = open(tree)?;
                let head = head(&file)?;
                let mut seen = vec![Meta::of(&head)];
                for step in 0..5 {
                    if step == 1 {
                        (0..count).try_for_each(|i| mark(tree, i, len))?;
                    }
                    if step == 4 {
                        mark(tree, count, 3)?;
                    }
                    let result = rawcalls::ioctl(&file, maps::GET_READER);
                    ensure_eq!(result, Ok(0), "get the reader");
                    seen.push(comparable(Meta::of(&head)));
                }
                Ok(seen)
            };
            let (found, wanted) = (look(&own)?, look(&reference)?);
            report.expect(found == wanted, || {
                format!("{kb} KiB, {count} of {len}:\n    {found:?}\n    tracefs {wanted:?}")
            });
        }
    }
    report.finish()
}

/// The same markers in both trees: the same events, sub-buffer by sub-buffer, the lost ones counted.
fn events(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for kb in ["4", "8", "64"] {
        for (count, len) in [(1, 5), (40, 700), (300, LONG), (3000, 60)] {
            let look = |tree: &Tree| -> Check<(Vec<usize>, usize)> {
                tree.set("buffer_subbuf_size_kb", kb)?;
                tree.set("buffer_size_kb", "200")?;
                tree.set("trace_clock", "counter")?;
                tree.clear()?;
                let mut reader = MapReader::open(tree, 0)?;
                for i in 0..count {
                    mark(tree, i, len)?;
                    if i == count / 3 {
                        reader.step()?;
                    }
                }
                reader.drain()?;
                let records = &reader.stream.records;
                let numbers = records.iter().map(number).collect::<Check<Vec<_>>>()?;
                Ok((numbers, reader.stream.pages))
            };
            let (found, wanted) = (look(&own)?, look(&reference)?);
            report.expect(found == wanted, || {
                format!(
                    "{kb} KiB, {count} of {len}: {} events in {}, tracefs {} in {}",
                    found.0.len(),
                    found.1,
                    wanted.0.len(),
                    wanted.1
                )
            });
        }
    }
    report.finish()
}

/// Which parts of the file can be mapped, and how.
fn areas(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let share = Share::one_of(3);
    for kb in ["4", "8", "64"] {
        for tree in [&own, &reference] {
            tree.set("buffer_subbuf_size_kb", kb)?;
            tree.set("buffer_size_kb", "300")?;
        }
        let open = |tree: &Tree| -> Check<File> {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).open(tree.file(RAW));
            file.map_err(|e| format!("open {}: {e}", tree.shown(RAW)))
        };
        let (own, reference) = (open(&own)?, open(&reference)?);
        let meta = Meta::of(&head(&own)?);
        let size = meta.subbuf_size as usize / PAGE;
        let all = size * (meta.subbufs as usize + 1);
        let far = usize::MAX / PAGE;
        let pages = [
            0,
            1,
            2,
            size,
            all - size,
            all - 1,
            all,
            all + 1,
            far / 2,
            far,
        ];
        let offsets = [
            0,
            1,
            size,
            2 * size,
            size + 1,
            all - size,
            all - 1,
            all,
            all + 1,
        ];
        let offsets = offsets.into_iter().chain([far / 2, far - 1, far]);
        let kinds = [
            (READ, SHARED),
            (READ, PRIVATE),
            (READ | WRITE, SHARED),
            (READ | WRITE, PRIVATE),
            (WRITE, SHARED),
            (EXEC, SHARED),
            (READ | EXEC, SHARED),
            (0, SHARED),
        ];
        for (pages, offset) in pages
            .into_iter()
            .flat_map(|p| offsets.clone().map(move |o| (p, o)))
        {
            if !share.has(&format!("{kb} {pages} {offset}")) {
                continue;
            }
            for (prot, flags) in kinds {
                let map = |file: &File| {
                    let len = pages.wrapping_mul(PAGE);
                    Area::of(file, len, prot, flags, offset.wrapping_mul(PAGE)).map(drop)
                };
                let (found, wanted) = (map(&own), map(&reference));
                report.expect(found == wanted, || {
                    format!(
                        "{kb} KiB, {pages} pages from {offset} of {all}, {prot} {flags}: \
                         {found:?}, tracefs {wanted:?}"
                    )
                });
            }
        }
        // Nothing of that is left.
        let size = Meta::of(&head(&own)?).subbuf_size as usize;
        ensure_eq!(size / PAGE * PAGE, size, "bytes of a sub-buffer");
    }
    for name in [
        "per_cpu/cpu0/snapshot_raw",
        "trace",
        "per_cpu/cpu0/trace_pipe",
    ] {
        if !reference.exists(name) {
            // This kernel's tracefs has no snapshots.
            continue;
        }
        let map = |tree: &Tree| -> Check<Op> {
            let file = tree.open_nonblock(name);
            let file = file.map_err(|e| format!("open {}: {e}", tree.shown(name)))?;
            Ok(Area::shared(&file, PAGE, 0).map(drop))
        };
        let (found, wanted) = (map(&own)?, map(&reference)?);
        report.expect(found == wanted, || {
            format!("{name}: {found:?}, tracefs {wanted:?}")
        });
    }
    // A size that could not be had while it was mapped.
    own.set("buffer_size_kb", "100")?;
    report.finish()
}

/// What can be done to a mapping later: it can move as a whole and go as a whole.
fn changes(context: &Context) -> Check {
    const DONTNEED: usize = 4;
    const REMOVE: usize = 9;
    const DONTFORK: usize = 10;
    const DOFORK: usize = 11;
    const DODUMP: usize = 17;
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let look = |tree: &Tree| -> Check<Vec<Op>> {
        mark(tree, 7, 20)?;
        let file = open(tree)?;
        let meta = Meta::of(&head(&file)?);
        let len = meta.subbuf_size as usize * meta.subbufs as usize;
        let mut area = Area::shared(&file, len + PAGE, 0).map_err(|e| format!("map: {e}"))?;
        let size = len + PAGE;
        let mut results = vec![
            area.protect(READ | WRITE),
            area.protect(WRITE),
            area.protect(0),
            area.protect(READ),
            area.cut(0, PAGE),
            area.cut(PAGE, PAGE),
            area.cut(len, PAGE),
            area.resize(size, size + PAGE, 0),
            area.resize(size, size + PAGE, MAYMOVE),
            area.resize(size, size - PAGE, MAYMOVE),
            area.resize(PAGE, 2 * PAGE, MAYMOVE),
            area.resize(0, size, MAYMOVE),
            area.advise(REMOVE),
            area.advise(DOFORK),
            area.advise(DODUMP),
            area.advise(DONTFORK),
        ];
        // tracefs takes a mapping that moved for two that end, and says so in the log.
        if context.is_rtracefs() && std::ptr::eq(tree, &*own) {
            ensure_eq!(area.relocate(), Ok(()), "a mapping moves");
        }
        let get = rawcalls::ioctl(&file, maps::GET_READER).map(drop);
        results.push(get);
        let meta = Meta::of(&area);
        ensure_eq!((meta.entries, meta.read), (1, 1), "after it was moved");
        results.push(tree.write("buffer_size_kb", b"100").map(drop));
        results.push(area.advise(DONTNEED));
        drop(area);
        let get = rawcalls::ioctl(&file, maps::GET_READER).map(drop);
        results.push(get);
        results.push(tree.write("buffer_size_kb", b"100").map(drop));
        Ok(results)
    };
    let (found, wanted) = (look(&own)?, look(&reference)?);
    ensure_eq!(found, wanted, "results as in tracefs");
    ensure_eq!(found[0], Err(EACCES), "a mapping becomes writable");
    if context.is_rtracefs() {
        let area = head(&open(&own)?)?;
        ensure_eq!(
            (area.protect(EXEC), area.protect(READ | EXEC)),
            (Err(EACCES), Err(EACCES)),
            "a mapping becomes executable"
        );
    }
    Ok(())
}

/// A child does not have the mapping, and its end takes none away.
fn child(context: &Context) -> Check {
    sys::pin_to(0);
    let own = Instance::new(&context.root, "rtg-own")?;
    let file = open(&own)?;
    let area = head(&file)?;
    ensure_eq!(area.is_inherited(), Ok(false), "inherited");
    let busy = |own: &Tree| own.write("buffer_size_kb", b"100").map(drop);
    ensure_eq!(busy(&own), Err(EBUSY), "mapped, after the child has gone");
    ensure_eq!(Meta::of(&area).entries, 0, "events");
    drop(area);
    ensure_eq!(busy(&own), Ok(()), "not mapped any more");
    drop(file);
    own.remove()
}

/// What a mapping prevents, and what is possible nevertheless.
fn refuses(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let look = |tree: &Tree| -> Check<Vec<(String, Op)>> {
        let mut results = Vec::new();
        let mut tries = |when: &str| {
            for (file, text) in [
                ("buffer_size_kb", "200"),
                ("buffer_size_kb", "300"),
                ("buffer_size_kb", "300"),
                ("per_cpu/cpu0/buffer_size_kb", "300"),
                ("per_cpu/cpu0/buffer_size_kb", "200"),
                ("per_cpu/cpu1/buffer_size_kb", "200"),
                ("per_cpu/cpu1/buffer_size_kb", "300"),
                ("buffer_subbuf_size_kb", "4"),
                ("buffer_subbuf_size_kb", "8"),
                ("snapshot", "1"),
                ("snapshot", "2"),
                ("snapshot", "0"),
                ("trace_clock", "global"),
                ("tracing_on", "0"),
                ("tracing_on", "1"),
                ("options/overwrite", "0"),
                ("options/overwrite", "1"),
                ("buffer_subbuf_size_kb", "4"),
                ("buffer_size_kb", "300"),
                ("trace_clock", "local"),
            ] {
                // One CPU less, or a tracefs without snapshots.
                if !tree.exists(file) || !reference.exists(file) {
                    continue;
                }
                let result = tree.write(file, text.as_bytes()).map(drop);
                results.push((format!("{when}: {text} > {file}"), result));
            }
        };
        tries("before");
        tree.set("buffer_size_kb", "300")?;
        let file = open(tree)?;
        let area = head(&file)?;
        tries("mapped");
        drop(area);
        tries("after");
        if !reference.exists("snapshot") {
            return Ok(results);
        }
        // A snapshot that exists but is not being taken is in no reader's way.
        tree.set("snapshot", "1")?;
        let area = head(&file);
        results.push((
            "map beside a snapshot".into(),
            area.as_ref().map(drop).map_err(|_| EIO),
        ));
        results.push(("snapshot".into(), tree.write("snapshot", b"1").map(drop)));
        results.push(("free".into(), tree.write("snapshot", b"0").map(drop)));
        Ok(results)
    };
    let (found, wanted) = (look(&own)?, look(&reference)?);
    let mut report = Report::default();
    for (found, wanted) in found.iter().zip(&wanted) {
        report.expect(found == wanted, || format!("{found:?}, tracefs {wanted:?}"));
    }
    report.expect(found.iter().any(|(_, r)| *r == Err(EBUSY)), || {
        "nothing was refused".into()
    });
    report.finish()
}

/// A mapping alone keeps its instance and the module.
fn pins(context: &Context) -> Check {
    sys::pin_to(0);
    let own = Instance::new(&context.root, "rtg-own")?;
    let file = open(&own)?;
    let area = head(&file)?;
    drop(file);
    mark(&own, 1, 10)?;
    let gone = std::fs::remove_dir(own.path()).map_err(Errno::from);
    ensure_eq!(gone, Err(EBUSY), "rmdir while it is mapped");
    if context.is_rtracefs() {
        sys::umount(&context.root, sys::MNT_DETACH).map_err(|e| format!("umount: {e}"))?;
        let unloaded = module::unload(module::NAME);
        let meta = Meta::of(&area);
        module::mount(context)?;
        ensure_eq!(unloaded, Err(EAGAIN), "unload while it is mapped");
        ensure_eq!(meta.subbuf_size as usize, PAGE, "the first page");
    }
    let file = open(&own)?;
    rawcalls::ioctl(&file, maps::GET_READER).map_err(|e| format!("get the reader: {e}"))?;
    ensure_eq!(Meta::of(&area).read, 1, "events read");
    drop(file);
    drop(area);
    own.remove()
}

/// Mappings of one CPU show the same memory, and the last that goes frees it.
fn several(context: &Context) -> Check {
    sys::pin_to(0);
    let own = Instance::new(&context.root, "rtg-own")?;
    let mut first = MapReader::open(&own, 0)?;
    let second = MapReader::open(&own, 0)?;
    (0..10).try_for_each(|i| mark(&own, i, LONG))?;
    ensure!(first.step()?, "no event");
    let meta = first.meta();
    ensure_eq!(second.meta(), meta, "the first page");
    ensure_eq!(second.image(meta.id), first.image(meta.id), "the reader");
    first.drain()?;
    ensure_eq!(second.meta().read, 10, "events read");
    let busy = || own.write("buffer_size_kb", b"100").map(drop);
    drop(first);
    ensure_eq!(busy(), Err(EBUSY), "with one mapping left");
    mark(&own, 10, 10)?;
    second.get().map_err(|e| format!("get the reader: {e}"))?;
    ensure_eq!(second.meta().read, 11, "events read");
    let other = MapReader::open(&own, sys::online_cpus() - 1)?;
    drop(second);
    ensure_eq!(busy(), Err(EBUSY), "with one of another CPU");
    drop(other);
    ensure_eq!(busy(), Ok(()), "without");
    own.remove()
}

/// `read`, `splice` and `trace_pipe` go on beside a mapping: each event goes to one of them.
fn other_readers(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let look = |tree: &Tree| -> Check<Vec<Vec<usize>>> {
        tree.set("buffer_size_kb", "100")?;
        tree.clear()?;
        let mut reader = MapReader::open(tree, 0)?;
        reader.alone = false;
        let mut seen = Vec::new();
        for round in 0..40 {
            // Each has a sub-buffer to itself, so that no reader gets a part of one.
            (0..6).try_for_each(|i| mark(tree, round * 6 + i, LONG))?;
            match round % 4 {
                0 => {
                    let (mut out, into) = sys::pipe().map_err(|e| format!("pipe: {e}"))?;
                    rawcalls::splice(&reader.file, &into, 4096, false)
                        .map_err(|e| format!("splice: {e}"))?;
                    let mut stream = crate::stream::CpuStream::default();
                    stream.add(0, &rawcalls::drain(&mut out))?;
                    seen.push(stream.records.iter().map(number).collect::<Check<_>>()?);
                }
                1 => {
                    let mut image = [0; 4096];
                    let read = (&reader.file).read(&mut image);
                    ensure_eq!(read.map_err(Errno::from), Ok(4096), "read");
                    let mut stream = crate::stream::CpuStream::default();
                    stream.add(0, &image)?;
                    seen.push(stream.records.iter().map(number).collect::<Check<_>>()?);
                }
                _ => {}
            }
            let had = reader.stream.records.len();
            reader.drain()?;
            let new = reader.stream.records[had..].iter().map(number);
            seen.push(new.collect::<Check<_>>()?);
        }
        Ok(seen)
    };
    // Which calls of tracefs give a sub-buffer without events does not matter.
    for tree in [&own, &reference] {
        let all: Vec<usize> = look(tree)?.into_iter().flatten().collect();
        ensure_eq!(all, (0..240).collect::<Vec<_>>(), "{}", tree.shown(RAW));
    }
    let taken = look(&own)?;
    ensure!(
        taken.iter().all(|part| !part.is_empty()),
        "a reader got nothing: {taken:?}"
    );
    Ok(())
}

/// What was given stays as it is until the program asks for more, whichever readers look at the buffer and
/// however often writers go round.
fn stays_while_read(context: &Context) -> Check {
    sys::pin_to(0);
    // Around the buffer some times.
    let more = rounds(40, 200);
    for (kb, count) in [("4", 1), ("4", 3), ("8", 9)] {
        let own = Instance::new(&context.root, "rtg-own")?;
        own.set("buffer_subbuf_size_kb", kb)?;
        own.set("buffer_size_kb", "40")?;
        own.set("buffer_percent", "0")?;
        let mut reader = MapReader::open(&own, 0)?;
        (0..count).try_for_each(|i| mark(&own, i, LONG / 2))?;
        ensure!(reader.step()?, "no event");
        let meta = reader.meta();
        let used = 16 + meta.consumed as usize;
        let before = reader.image(meta.id);
        for i in 0..more {
            mark(&own, 1000 + i, LONG / 2)?;
            ensure_eq!(sys::poll_in(&reader.file, SOON), Ok(sys::POLLIN), "poll");
            own.get("trace")?;
            own.get("per_cpu/cpu0/trace")?;
            own.get("per_cpu/cpu0/stats")?;
            let now = reader.image(meta.id);
            ensure!(
                now[16..used] == before[16..used] && now[..8] == before[..8],
                "what was given has changed after {i} events"
            );
            ensure_eq!(reader.meta(), meta, "the first page");
        }
        reader.drain()?;
        let last = reader.stream.records.last().map(number);
        ensure_eq!(last, Some(Ok(999 + more)), "the last event");
        let (overrun, lost) = (reader.meta().overrun, reader.stream.lost());
        ensure!(
            overrun > 0 && overrun == lost,
            "{overrun} overwritten, {lost} told"
        );
        ensure_eq!(
            reader.stream.records.len() as u64 + lost,
            (count + more) as u64,
            "events and lost ones"
        );
        drop(reader);
        own.remove()?;
    }
    Ok(())
}

/// A buffer that is emptied while it is mapped.
fn cleared(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let look = |tree: &Tree| -> Check<Vec<(Meta, usize)>> {
        tree.set("buffer_size_kb", "40")?;
        let mut reader = MapReader::open(tree, 0)?;
        let mut seen = Vec::new();
        for round in 0..12 {
            (0..round * 5).try_for_each(|i| mark(tree, i, 1000))?;
            match round % 3 {
                0 => _ = reader.step()?,
                1 => reader.drain()?,
                _ => {}
            }
            match round % 4 {
                3 => tree.set("trace_clock", if round < 6 { "mono" } else { "local" })?,
                2 => _ = tree.write_truncating("per_cpu/cpu0/trace", b""),
                _ => tree.clear()?,
            }
            let meta = reader.meta();
            let image = reader.image(meta.id);
            let len = u64::from_le_bytes(image[8..16].try_into().unwrap_or_default());
            ensure_eq!(len, 0, "bytes in the reader's sub-buffer");
            // Where that is differs: it stays the one that it was.
            seen.push((Meta { id: 0, ..meta }, 0));
            reader.stream = Default::default();
            mark(tree, 5, 10)?;
            reader.drain()?;
            let numbers: Check<Vec<_>> = reader.stream.records.iter().map(number).collect();
            ensure_eq!(numbers?, [5], "events behind");
            reader.stream = Default::default();
        }
        Ok(seen)
    };
    let (found, wanted) = (look(&own)?, look(&reference)?);
    ensure_eq!(found, wanted, "the first pages as in tracefs");
    Ok(())
}

/// A thread that asks for the next reader once, and may sleep.
struct Asker {
    thread: u32,
    worker: std::thread::JoinHandle<Op<usize>>,
}

impl Asker {
    fn start(file: &File) -> Check<Self> {
        let file = file.try_clone().map_err(|e| format!("dup: {e}"))?;
        let (send, receive) = channel();
        let worker = std::thread::spawn(move || {
            let _ = send.send(sys::thread_id());
            rawcalls::ioctl(&file, maps::GET_READER)
        });
        let thread = receive.recv().map_err(|_| "no thread".to_string())?;
        Ok(Asker { thread, worker })
    }

    fn asleep(self) -> Check<Self> {
        ensure!(sys::wait_asleep(self.thread), "it does not sleep");
        Ok(self)
    }

    fn end(self) -> Check<Op<usize>> {
        ensure!(
            sys::wait_until(SOON, || self.worker.is_finished()),
            "it sleeps on"
        );
        self.worker.join().map_err(|_| "the thread died".into())
    }
}

/// A reader that may sleep waits for the share of `buffer_percent`, a signal, or a call that ends
/// it.
fn waits(context: &Context) -> Check {
    sys::pin_to(0);
    sys::interruptible_by_signal();
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("buffer_size_kb", "40")?;
    let file = own.open(RAW).map_err(|e| format!("open: {e}"))?;
    if context.is_rtracefs() {
        ensure_eq!(
            rawcalls::ioctl(&file, maps::GET_READER),
            Err(ENODEV),
            "without a mapping"
        );
    }
    let area = head(&file)?;
    own.set("buffer_percent", "0")?;
    let asker = Asker::start(&file)?.asleep()?;
    mark(&own, 1, 10)?;
    ensure_eq!(asker.end()?, Ok(0), "an event");
    ensure_eq!(Meta::of(&area).read, 1, "events read");

    own.set("buffer_percent", "50")?;
    let asker = Asker::start(&file)?.asleep()?;
    (0..3).try_for_each(|i| mark(&own, i, LONG))?;
    ensure!(!asker.worker.is_finished(), "woken with less than a half");
    (0..6).try_for_each(|i| mark(&own, i, LONG))?;
    ensure_eq!(asker.end()?, Ok(0), "half full");
    ensure!(Meta::of(&area).read > 1, "nothing new");
    // It is still half full.
    ensure_eq!(Asker::start(&file)?.end()?, Ok(0), "half full, at once");

    own.clear()?;
    let asker = Asker::start(&file)?.asleep()?;
    rawcalls::ioctl(&file, 0).map_err(|e| format!("ioctl 0: {e}"))?;
    ensure_eq!(asker.end()?, Ok(0), "told to look again");
    let asker = Asker::start(&file)?.asleep()?;
    let thread = asker.thread;
    let interrupted = sys::wait_until(SOON, || {
        sys::interrupt_thread(thread);
        asker.worker.is_finished()
    });
    ensure!(interrupted, "a signal does not end it");
    ensure_eq!(asker.end()?, Err(EINTR), "a signal");
    rawcalls::set_nonblock(&file, true).map_err(|e| format!("O_NONBLOCK: {e}"))?;
    ensure_eq!(Asker::start(&file)?.end()?, Ok(0), "may not sleep");
    ensure_eq!(Meta::of(&area).read, 0, "events read");
    drop(area);
    ensure_eq!(
        rawcalls::ioctl(&file, maps::GET_READER),
        Err(ENODEV),
        "the mapping is gone"
    );
    ensure_eq!(
        rawcalls::ioctl(&file, 0x5221),
        Err(Errno(25)),
        "another one"
    );
    drop(file);
    own.remove()
}

/// The top instance keeps its first size while it is mapped: what would give it another is refused.
fn unused_top(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("the kernel's own has been used");
    }
    sys::pin_to(0);
    module::reload(context)?;
    let top = Tree::at(&context.root);
    let enable = "events/timer/timer_start/enable";
    let file = open(&top)?;
    let area = head(&file)?;
    let before = top.get("buffer_size_kb")?;
    for (file, text) in [(enable, "1"), ("snapshot", "1"), ("buffer_size_kb", "100")] {
        let result = top.write(file, text.as_bytes()).map(drop);
        ensure_eq!(result, Err(EBUSY), "{text} > {file}");
    }
    ensure_eq!(top.get("buffer_size_kb")?, before, "the size");
    ensure_eq!(top.get(enable)?, "0\n", "{enable}");
    drop(area);
    top.set(enable, "1")?;
    top.set(enable, "0")?;
    ensure!(
        top.get("buffer_size_kb")? != before,
        "it has its first size"
    );
    top.clear()
}
