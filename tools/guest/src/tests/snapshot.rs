// SPDX-License-Identifier: GPL-2.0

//! `snapshot`, `snapshot_raw` and `free_buffer`: what they say, take and refuse, side by side with
//! tracefs, and what becomes of open files, memory and the instance.

use super::size::{Random, SUBBUF};
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::faults::Faults;
use crate::memory::{self, meminfo_kb};
use crate::page;
use crate::rawcalls;
use crate::soak::{rounds, Share};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("snapshot.side_by_side", 60, side_by_side),
    test("snapshot.any_commands", 120, any_commands),
    test("snapshot.unused_top", 60, unused_top),
    test("snapshot.order", 60, order),
    test("snapshot.open_text", 60, open_text),
    test("snapshot.pipe_follows", 60, pipe_follows),
    test("snapshot.raw", 60, raw),
    test("snapshot.no_memory", 120, no_memory),
    test("snapshot.faults", 120, faults),
    test(
        "snapshot.goes_with_its_instance",
        90,
        goes_with_its_instance,
    ),
    test("snapshot.free_buffer", 60, free_buffer),
    test(
        "snapshot.free_buffer_of_the_killed",
        60,
        free_buffer_of_the_killed,
    ),
];

const FREED: &str = "# * Snapshot is freed *";
const ALLOCATED: &str = "# * Snapshot is allocated *";

fn both(context: &Context) -> Check<(Instance, Instance)> {
    let (own, reference) = pair(context)?;
    if !reference.exists("snapshot") {
        skip!("this kernel's tracefs has no snapshot");
    }
    Ok((own, reference))
}

/// A text without what two trees cannot have in common: of an event only what was written stays.
fn stable(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| match line.split_once("tracing_mark_write: ") {
            Some((_, marker)) => format!("marker {marker}"),
            None => line.to_string(),
        })
        .collect()
}

/// The markers of a text.
fn markers(text: &str) -> Vec<String> {
    let mut lines = stable(text);
    lines.retain(|line| line.starts_with("marker "));
    lines
}

fn shows(tree: &Tree, file: &str, wanted: &[&str]) -> Check {
    let wanted: Vec<_> = wanted.iter().map(|m| format!("marker {m}")).collect();
    ensure_eq!(markers(&tree.get(file)?), wanted, "{}", tree.shown(file));
    Ok(())
}

fn mark(tree: &Tree, text: &str) -> Check {
    tree.set("trace_marker", text)
}

/// Whether tracefs exchanges the buffers of one CPU, as no kernel of a distribution does; it has another help then.
fn exchanges_one_cpu() -> bool {
    static SEEN: OnceLock<bool> = OnceLock::new();
    *SEEN.get_or_init(|| {
        let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        symbols.contains(" ring_buffer_swap_cpu\n")
    })
}

/// Everything that a snapshot may change and that a user can look at.
fn look(tree: &Tree) -> Check<Vec<(String, Vec<String>)>> {
    let mut files: Vec<String> = [
        "snapshot",
        "trace",
        "buffer_size_kb",
        "tracing_on",
        "trace_clock",
    ]
    .map(String::from)
    .into();
    for cpu in 0..sys::online_cpus() {
        for file in ["snapshot", "trace", "buffer_size_kb"] {
            if file != "snapshot" || !exchanges_one_cpu() {
                files.push(format!("per_cpu/cpu{cpu}/{file}"));
            }
        }
    }
    files
        .into_iter()
        .map(|file| tree.get(&file).map(|text| (file, stable(&text))))
        .collect()
}

/// The same write to both: the same answer, and afterwards all files say the same.
fn same_write(own: &Tree, reference: &Tree, file: &str, text: &str) -> Check {
    let (found, wanted) = (
        own.write(file, text.as_bytes()),
        reference.write(file, text.as_bytes()),
    );
    ensure_eq!(found, wanted, "{text:?} > {file}");
    same_look(own, reference).map_err(|e| format!("after {text:?} > {file}: {e}"))
}

/// All files say the same.
fn same_look(own: &Tree, reference: &Tree) -> Check {
    for ((file, own), (_, reference)) in look(own)?.into_iter().zip(look(reference)?) {
        let differs =
            (0..own.len().max(reference.len())).find(|i| own.get(*i) != reference.get(*i));
        if let Some(i) = differs {
            fail!(
                "{file}, line {i}: {:?}, tracefs {:?}",
                own.get(i),
                reference.get(i)
            );
        }
    }
    Ok(())
}

/// Numbers, and what is none.
const COMMANDS: &[&str] = &[
    "0",
    "1",
    "2\n",
    "+1\n",
    "3",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "",
    "\n",
    "x",
    "1 ",
    " 1",
    "0x1",
    "1\n1",
];

/// Both buffers are empty.
///
/// tracefs remembers when a buffer was emptied with the file, not with the buffer: of the buffer that
/// comes to that file with the next snapshot it hides what is older.
fn empty(tree: &Tree) -> Check {
    tree.set("snapshot", "2")?;
    tree.clear()
}

/// All commands in all states, of the instance and of a CPU.
fn side_by_side(context: &Context) -> Check {
    let (own, reference) = both(context)?;
    sys::pin_to(0);
    let mut report = Report::default();
    for (tree, other) in [(&own, &reference)] {
        for file in ["snapshot", "per_cpu/cpu0/snapshot_raw", "free_buffer"] {
            let mode = |tree: &Tree| {
                std::fs::metadata(tree.file(file))
                    .map(|m| m.permissions().mode())
                    .map_err(|e| format!("{file}: {e}"))
            };
            report.expect(mode(tree)? == mode(other)?, || format!("{file}: mode"));
        }
    }
    let share = Share::one_of(3);
    for state in ["0", "1", "3"] {
        for file in ["snapshot", "per_cpu/cpu0/snapshot"] {
            if file != "snapshot" && exchanges_one_cpu() {
                continue;
            }
            // Those that do something always.
            let chosen = |command: &&&str| {
                ["0", "1", "2\n"].contains(*command)
                    || share.has(&format!("{state} {file} {command}"))
            };
            for command in COMMANDS.iter().filter(chosen) {
                for tree in [&own, &reference] {
                    tree.set("snapshot", "0")?;
                    empty(tree)?;
                    if state != "0" {
                        mark(tree, "of the snapshot")?;
                        tree.set("snapshot", "1")?;
                        tree.set("snapshot", state)?;
                    }
                    mark(tree, "live")?;
                }
                report.collect(same_write(&own, &reference, file, command));
            }
        }
    }
    report.finish()
}

/// Hundreds of commands one after the other, of everything that has to do with a snapshot.
fn any_commands(context: &Context) -> Check {
    let (own, reference) = both(context)?;
    sys::pin_to(0);
    let mut random = Random(11);
    for step in 0..rounds(80, 600) {
        let marker = format!("step {step}");
        let (file, text): (&str, &str) = match random.below(20) {
            0..=5 => ("trace_marker", &marker),
            6..=11 => ("snapshot", "1"),
            12 => ("snapshot", "0"),
            13 => ("snapshot", "2"),
            14 => ("per_cpu/cpu0/snapshot", "2"),
            15 => ("per_cpu/cpu1/snapshot", "2"),
            16 => (
                "buffer_size_kb",
                ["100", "2000", "7"][random.below(3) as usize],
            ),
            17 => ("per_cpu/cpu1/buffer_size_kb", "300"),
            18 => ("tracing_on", ["0", "1", "1"][random.below(3) as usize]),
            _ => ("trace_clock", ["mono", "local"][random.below(2) as usize]),
        };
        same_write(&own, &reference, file, text).map_err(|e| format!("step {step}: {e}"))?;
        if file.ends_with("snapshot") && text != "1" {
            for tree in [&own, &reference] {
                empty(tree)?;
            }
        }
    }
    own.remove()
}

/// The first use of the top instance gives it its size, but not if it is none.
fn unused_top(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs has been used");
    }
    crate::module::reload(context)?;
    let top = Tree::at(&context.root);
    let unused = top.get("buffer_size_kb")?;
    ensure!(unused.contains("expanded"), "used: {unused:?}");
    ensure_eq!(top.write("snapshot", b"x"), Err(EINVAL), "x");
    ensure_eq!(top.get("buffer_size_kb")?, unused, "after a refusal");
    top.set("snapshot", "2")?;
    ensure_eq!(top.get("buffer_size_kb")?, "1410\n", "after 2");
    ensure!(top.get("snapshot")?.contains(FREED), "2 allocates");
    mark(&top, "one")?;
    top.set("snapshot", "1")?;
    shows(&top, "snapshot", &["one"])?;
    shows(&top, "trace", &[])?;
    top.set("snapshot", "0")
}

/// Sub-buffers of another size: both buffers have them, whichever of the two is live.
fn order(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    if !own.exists("snapshot") {
        skip!("this kernel's tracefs has no snapshot");
    }
    sys::pin_to(0);
    let image = |file: &str| -> Check<usize> {
        let file = format!("per_cpu/cpu0/{file}");
        let mut bytes = vec![0; 1 << 20];
        let n = own
            .open_nonblock(&file)
            .and_then(|mut f| Ok(f.read(&mut bytes)?))
            .map_err(|e| format!("{file}: {e}"))?;
        let events = page::decode(&bytes[..n])?.events.len();
        ensure_eq!(events, 1, "events in {file}");
        Ok(n)
    };
    for (i, kb) in [8usize, 64, 4, 512, 16].into_iter().enumerate() {
        // Allocated in sub-buffers of the old size, or of the new.
        if i % 2 == 0 {
            own.set("snapshot", "1")?;
        }
        own.set(SUBBUF, &kb.to_string())?;
        for _ in 0..3 {
            mark(&own, "before")?;
            own.set("snapshot", "1")?;
            mark(&own, "after")?;
            ensure_eq!(image("snapshot_raw")?, kb << 10, "{kb} KiB: snapshot");
            ensure_eq!(image("trace_pipe_raw")?, kb << 10, "{kb} KiB: live");
        }
        if i % 2 == 1 {
            own.set("snapshot", "0")?;
        }
    }
    own.remove()
}

/// A text that is being read is made from one buffer to its end, whatever happens to it.
fn open_text(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    if !context.is_rtracefs() {
        skip!("tracefs goes on in the other buffer");
    }
    sys::pin_to(0);
    let lines = |of: &str| (0..200).try_for_each(|i| mark(&own, &format!("{of} {i}")));
    let wanted = |of: &str| -> Vec<_> { (0..200).map(|i| format!("marker {of} {i}")).collect() };
    lines("first")?;
    let open = |name: &str| own.open(name).map_err(|e| format!("{name}: {e}"));
    let begin = |file: &mut std::fs::File| -> Check<Vec<u8>> {
        let mut bytes = vec![0; 3000];
        let n = file.read(&mut bytes).map_err(|e| format!("read: {e}"))?;
        bytes.truncate(n);
        Ok(bytes)
    };
    let finish = |mut bytes: Vec<u8>, file: &mut std::fs::File| -> Check<Vec<String>> {
        file.read_to_end(&mut bytes)
            .map_err(|e| format!("read: {e}"))?;
        Ok(markers(&String::from_utf8_lossy(&bytes)))
    };
    // `trace` while its buffer becomes the snapshot, `snapshot` while its buffer becomes live.
    let mut trace = open("trace")?;
    let part = begin(&mut trace)?;
    own.set("snapshot", "1")?;
    ensure_eq!(finish(part, &mut trace)?, wanted("first"), "trace");
    lines("second")?;
    let mut snapshot = open("snapshot")?;
    let part = begin(&mut snapshot)?;
    own.set("snapshot", "1")?;
    ensure_eq!(finish(part, &mut snapshot)?, wanted("first"), "snapshot");
    // Read again from the beginning both show what there is now.
    trace.rewind().map_err(|e| format!("rewind: {e}"))?;
    snapshot.rewind().map_err(|e| format!("rewind: {e}"))?;
    ensure_eq!(finish(vec![], &mut trace)?, wanted("first"), "trace again");
    ensure_eq!(
        finish(vec![], &mut snapshot)?,
        wanted("second"),
        "snapshot again"
    );
    // Cleared and freed below the reader: it ends.
    snapshot.rewind().map_err(|e| format!("rewind: {e}"))?;
    let part = begin(&mut snapshot)?;
    let had = part.len();
    own.set("snapshot", "0")?;
    let rest = finish(part, &mut snapshot)?;
    ensure!(rest.len() < 200 && had > 0, "{} lines", rest.len());
    snapshot.rewind().map_err(|e| format!("rewind: {e}"))?;
    let mut text = String::new();
    snapshot
        .read_to_string(&mut text)
        .map_err(|e| format!("read: {e}"))?;
    ensure!(text.contains(FREED), "{text}");
    Ok(())
}

/// `trace_pipe` reads what is live: nothing that went away with a snapshot, nothing twice.
fn pipe_follows(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    if !own.exists("snapshot") {
        skip!("this kernel's tracefs has no snapshot");
    }
    sys::pin_to(0);
    let mut pipe = own
        .open_nonblock("trace_pipe")
        .map_err(|e| format!("trace_pipe: {e}"))?;
    let mut read = |most: usize| -> Vec<String> {
        let mut bytes = vec![0; most];
        let mut all = Vec::new();
        while let Ok(n @ 1..) = pipe.read(&mut bytes) {
            all.extend_from_slice(&bytes[..n]);
            if most == 1 {
                break;
            }
        }
        markers(&String::from_utf8_lossy(&all))
    };
    for i in 0..3 {
        mark(&own, &format!("first {i}"))?;
    }
    // The first line is made, and with it the event is gone; the others are looked at and stay.
    read(1);
    own.set("snapshot", "1")?;
    shows(&own, "snapshot", &["first 1", "first 2"])?;
    mark(&own, "second")?;
    let lines = read(4096);
    // The rest of the line that was begun comes first.
    ensure_eq!(
        lines.last().map(String::as_str),
        Some("marker second"),
        "last line"
    );
    ensure!(lines.len() <= 2, "{lines:?}");
    own.set("snapshot", "1")?;
    ensure_eq!(
        read(4096),
        ["marker first 1", "marker first 2"],
        "what came back"
    );
    shows(&own, "trace", &[])?;
    shows(&own, "snapshot", &[])?;
    drop(pipe);
    own.remove()
}

/// `snapshot_raw` gives what `trace_pipe_raw` would have given; a reader waits for a snapshot.
fn raw(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    if !own.exists("snapshot") {
        skip!("this kernel's tracefs has no snapshot");
    }
    sys::pin_to(0);
    let file = "per_cpu/cpu0/snapshot_raw";
    let mut bytes = vec![0; 4096];
    let mut open = own
        .open_nonblock(file)
        .map_err(|e| format!("{file}: {e}"))?;
    let empty = open.read(&mut bytes).map_err(Errno::from);
    ensure_eq!(empty, Err(EAGAIN), "without a snapshot");
    // One that may wait, whatever splice may.
    let waits = own.open(file).map_err(|e| format!("{file}: {e}"))?;
    let splice = |len| -> Check<Op<usize>> {
        let (_out, into) = sys::pipe().map_err(|e| format!("pipe: {e}"))?;
        Ok(rawcalls::splice(&waits, &into, len, false))
    };
    ensure_eq!(splice(4096)?, Err(EAGAIN), "splice without a snapshot");
    ensure_eq!(own.write(file, b"1"), Err(EINVAL), "write");
    mark(&own, "one")?;
    mark(&own, "two")?;
    own.set("snapshot", "1")?;
    mark(&own, "three")?;
    ensure_eq!(splice(100)?, Err(EINVAL), "less than a sub-buffer");
    let n = open.read(&mut bytes).map_err(|e| format!("{file}: {e}"))?;
    ensure_eq!(n, 4096, "an image");
    let events = page::decode(&bytes)?.events.len();
    ensure_eq!(events, 2, "events");
    shows(&own, "snapshot", &[])?;
    shows(&own, "trace", &["three"])?;
    let again = open.read(&mut bytes).map_err(Errno::from);
    ensure_eq!(again, Err(EAGAIN), "all was read");

    let mut sleeper = own.open(file).map_err(|e| format!("{file}: {e}"))?;
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = tell.send(sys::thread_id());
        sleeper.read(&mut [0; 4096]).map_err(Errno::from)
    });
    let id = told.recv().map_err(|e| format!("thread: {e}"))?;
    ensure!(sys::wait_asleep(id), "the reader does not sleep");
    mark(&own, "no snapshot")?;
    std::thread::sleep(Duration::from_millis(20));
    ensure!(!thread.is_finished(), "woken without a snapshot");
    if context.is_rtracefs() {
        ensure_eq!(
            sys::poll_in(&open, Duration::from_millis(1)),
            Ok(0),
            "poll without a snapshot"
        );
    }
    own.set("snapshot", "1")?;
    let read = thread.join().map_err(|_| "the reader died".to_string())?;
    ensure_eq!(read, Ok(4096), "the reader");
    mark(&own, "poll")?;
    own.set("snapshot", "1")?;
    let ready = sys::poll_in(&open, sys::patience(Duration::from_secs(5)));
    ensure!(ready.is_ok_and(|e| e & sys::POLLIN != 0), "{ready:?}");
    if context.is_rtracefs() {
        // tracefs keeps what is in a sub-buffer that was not filled.
        ensure_eq!(splice(8192)?, Ok(4096), "one sub-buffer");
        ensure_eq!(splice(8192)?, Err(EAGAIN), "all was moved");
    }
    drop(waits);
    drop(open);
    own.remove()
}

/// Without memory for a second buffer there is no snapshot, and nothing has changed.
fn no_memory(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs takes what others need");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    sys::pin_to(0);
    mark(&own, "kept")?;
    let available = meminfo_kb("MemAvailable")?;
    let cpus = sys::online_cpus() as u64;
    own.set("buffer_size_kb", &(available * 6 / 10 / cpus).to_string())?;
    let before = look(&own)?;
    ensure_eq!(own.write("snapshot", b"1"), Err(ENOMEM), "1");
    ensure_eq!(look(&own)?, before, "after ENOMEM");
    // A snapshot that there is stops a size that both cannot have.
    own.set("buffer_size_kb", "1000")?;
    own.set("snapshot", "1")?;
    mark(&own, "live")?;
    let before = look(&own)?;
    let size = (available * 6 / 10 / cpus).to_string();
    for file in ["buffer_size_kb", "per_cpu/cpu0/buffer_size_kb"] {
        let size = if file == "buffer_size_kb" {
            size.clone()
        } else {
            (available * 6 / 10).to_string()
        };
        ensure_eq!(own.write(file, size.as_bytes()), Err(ENOMEM), "{file}");
        ensure_eq!(look(&own)?, before, "after ENOMEM of {file}");
    }
    own.set("snapshot", "0")?;
    own.set("buffer_size_kb", &size)?;
    own.remove()
}

/// Each allocation of each command fails once.
fn faults(context: &Context) -> Check {
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    own.set("buffer_size_kb", "60")?;
    sys::pin_to(0);
    let path = own.file("snapshot");
    for (state, command) in [("0", "1"), ("1", "1"), ("1", "2"), ("1", "0"), ("0", "0")] {
        let prepare = || -> Check<Vec<_>> {
            own.clear()?;
            own.set("snapshot", "0")?;
            mark(&own, "of the snapshot")?;
            if state == "1" {
                own.set("snapshot", "1")?;
            }
            mark(&own, "live")?;
            look(&own)
        };
        let before = prepare()?;
        let tally = faults.exhaust(
            &format!("{command:?} > snapshot, after {state:?}"),
            || {
                let mut file = std::fs::OpenOptions::new().write(true).open(&path)?;
                Ok(file.write(command.as_bytes()).map(drop)?)
            },
            |result| match result {
                Err(_) => {
                    ensure_eq!(look(&own)?, before, "after ENOMEM");
                    Ok(())
                }
                Ok(()) => {
                    let text = own.get("snapshot")?;
                    let freed = text.contains(FREED);
                    ensure_eq!(freed, command == "0", "freed");
                    if command == "2" {
                        ensure!(text.contains(ALLOCATED), "cleared: {text}");
                    }
                    prepare().map(drop)
                }
            },
        )?;
        ensure!(tally.refused > 0, "{command:?}: {tally:?}");
    }
    own.remove()
}

/// An instance goes with its snapshot, but not while a file of it is open; its memory comes back.
fn goes_with_its_instance(context: &Context) -> Check {
    let run = || -> Check {
        let own = Instance::new(&context.root, "rtg-own")?;
        if !own.exists("snapshot") {
            skip!("this kernel's tracefs has no snapshot");
        }
        own.set("buffer_size_kb", "8000")?;
        mark(&own, "one")?;
        own.set("snapshot", "1")?;
        for file in [
            "snapshot",
            "per_cpu/cpu0/snapshot",
            "per_cpu/cpu0/snapshot_raw",
        ] {
            let open = own.open(file).map_err(|e| format!("{file}: {e}"))?;
            let busy = std::fs::remove_dir(own.path()).map_err(Errno::from);
            ensure_eq!(busy, Err(EBUSY), "rmdir with {file} open");
            drop(open);
        }
        own.remove()
    };
    run()?;
    memory::steady(|| (0..rounds(8, 40)).try_for_each(|_| run()))?;
    // Allocated and freed over and over.
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("buffer_size_kb", "8000")?;
    memory::steady(|| {
        (0..rounds(8, 40)).try_for_each(|_| {
            own.set("snapshot", "1")?;
            own.set("snapshot", "0")
        })
    })?;
    own.remove()
}

/// What is written does not matter; the close does it, for the snapshot, too.
fn free_buffer(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    sys::pin_to(0);
    let mut report = Report::default();
    let size = |tree: &Tree| tree.get("buffer_size_kb");
    for (write, option) in [(true, "1"), (true, "0"), (false, "0"), (false, "1")] {
        let mut found = Vec::new();
        for tree in [&own, &reference] {
            tree.set("buffer_size_kb", "1408")?;
            tree.set("tracing_on", "1")?;
            tree.set("options/disable_on_free", option)?;
            let mut file = match write {
                true => tree.open_write("free_buffer"),
                false => tree.open("free_buffer"),
            }
            .map_err(|e| format!("free_buffer: {e}"))?;
            let second = file.try_clone().map_err(|e| format!("dup: {e}"))?;
            let answer = match write {
                true => file.write(b"any").map_err(Errno::from),
                false => file.read(&mut [0; 10]).map_err(Errno::from),
            };
            let full = (size(tree)?, tree.get("tracing_on")?);
            drop(file);
            let still = size(tree)?;
            let busy = std::fs::remove_dir(tree.path()).map_err(Errno::from);
            drop(second);
            let freed = (size(tree)?, tree.get("tracing_on")?);
            found.push((answer, full, still, busy, freed));
        }
        report.expect(found[0] == found[1], || {
            format!(
                "write {write}, option {option}: {:?}, tracefs {:?}",
                found[0], found[1]
            )
        });
        ensure_eq!(found[0].4 .0, "7\n", "size of a freed buffer");
    }
    for tree in [&own, &reference] {
        tree.set("tracing_on", "1")?;
        tree.set("options/disable_on_free", "0")?;
        mark(tree, "after")?;
        shows(tree, "trace", &["after"])?;
    }
    report.finish()?;
    // The snapshot has the size of the buffer.
    if reference.exists("snapshot") {
        for tree in [&own, &reference] {
            tree.set("snapshot", "1")?;
            tree.set("buffer_size_kb", "5000")?;
            drop(tree.open_write("free_buffer").map_err(|e| format!("{e}"))?);
        }
        same_look(&own, &reference)?;
    }
    own.remove()
}

/// However a program ends, what it held open frees the buffer.
fn free_buffer_of_the_killed(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("buffer_size_kb", "1408")?;
    let file = own.open_write("free_buffer").map_err(|e| format!("{e}"))?;
    let mut child = Command::new("sleep")
        .arg("1000")
        .stdout(file)
        .spawn()
        .map_err(|e| format!("sleep: {e}"))?;
    ensure_eq!(own.get("buffer_size_kb")?, "1410\n", "while it lives");
    child.kill().map_err(|e| format!("kill: {e}"))?;
    child.wait().map_err(|e| format!("wait: {e}"))?;
    let mut size = String::new();
    let freed = sys::wait_until(Duration::from_secs(5), || {
        size = own.get("buffer_size_kb").unwrap_or_default();
        size == "7\n"
    });
    ensure!(freed, "its size is {size:?}");
    own.remove()
}
