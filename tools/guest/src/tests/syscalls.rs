// SPDX-License-Identifier: GPL-2.0

//! The events of single system calls, against those of the kernel's own tracefs:
//! one thread makes known calls while both record.

use super::golden::without_stamp;
use super::{pair, same, test, Test};
use crate::check::{Check, Report};
use crate::format::Format;
use crate::soak::rounds;
use crate::stream;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload::{self, Load};
use crate::Context;
use std::collections::{BTreeSet, HashMap};

pub const TESTS: &[Test] = &[
    test("syscalls.list", 30, list),
    test("syscalls.records", 60, records),
    test("syscalls.lines", 120, lines),
    test("syscalls.some", 30, some),
    test("syscalls.user_buf_size", 30, user_buf_size),
    test("syscalls.old_interface", 30, old_interface),
    test("syscalls.switched", 60, switched),
];

const READ: usize = 0;
const WRITE: usize = 1;
const MMAP: usize = 9;
const MUNMAP: usize = 11;
const PWRITE64: usize = 18;
const EXECVE: usize = 59;
const SETHOSTNAME: usize = 170;
const MOUNT: usize = 165;
const INIT_MODULE: usize = 175;
const SETXATTR: usize = 188;
const GETPGID: usize = 121;
const OPENAT: usize = 257;
const SYMLINKAT: usize = 266;
const FANOTIFY_MARK: usize = 301;
const RENAMEAT2: usize = 316;

/// An argument that no other caller uses: it says where the calls of a test begin and end.
const MARK: usize = 0x123_4567;

/// As long as a file name may not be.
const LONG: usize = 300;

/// The same list of events, both ways. `golden.available_events` looks at the order.
fn list(context: &Context) -> Check {
    let names = |root: &std::path::Path| -> Check<BTreeSet<String>> {
        Ok(Tree::at(root)
            .get("available_events")?
            .lines()
            .filter(|line| line.starts_with("syscalls:"))
            .map(str::to_string)
            .collect())
    };
    let (found, wanted) = (names(&context.root)?, names(&context.reference)?);
    ensure!(wanted.len() > 600, "tracefs has only {}", wanted.len());
    let missing: Vec<_> = wanted.difference(&found).collect();
    let more: Vec<_> = found.difference(&wanted).collect();
    ensure!(
        missing.is_empty() && more.is_empty(),
        "missing: {missing:?}, not in tracefs: {more:?}"
    );
    println!("{} events", found.len());
    Ok(())
}

fn call(number: usize, args: [usize; 6]) -> isize {
    sys::call(number, args)
}

/// Calls with every kind of argument. All but a few fail, and none leaves a trace in the system.
fn calls() -> Check {
    let mark = || call(GETPGID, [MARK, 0, 0, 0, 0, 0]);
    let text = c"hello\x01w\xf6rld\n".as_ptr() as usize;
    let long = [b'a'; LONG];
    let (path, nowhere) = (long.as_ptr() as usize, 8);
    let at = usize::MAX - 99;

    // The last bytes of a page; nothing is mapped after it.
    let pages = call(MMAP, [0, 8192, 3, 0x22, usize::MAX, 0]) as usize;
    ensure!(pages as isize > 0, "mmap: {}", pages as isize);
    call(MUNMAP, [pages + 4096, 4096, 0, 0, 0, 0]);
    let edge = pages + 4096 - 16;
    // SAFETY: The first page is ours alone, and writable.
    unsafe { std::slice::from_raw_parts_mut(edge as *mut u8, 16) }.fill(b'e');

    let null = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .map_err(|e| e.to_string())?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&null) as usize;

    mark();
    for length in [0, 1, 5, 9, 10, 16, 17, 63, 64, 165, 166, 169, 170, LONG] {
        call(WRITE, [fd, path, length, 0, 0, 0]);
        call(PWRITE64, [fd, edge, length, 7, 0, 0]);
    }
    call(WRITE, [fd, text, 13, 0, 0, 0]);
    call(WRITE, [fd, nowhere, 5, 0, 0, 0]);
    call(WRITE, [fd, text, usize::MAX, 0, 0, 0]);
    call(READ, [at, text, 3, 0, 0, 0]);
    for flags in [
        0usize,
        1,
        2,
        3,
        0o101,
        0o100,
        0o1102,
        0o20_200_000,
        0o20_200_002,
        0o2_000_000,
        0x8000_0000,
        0xffff_ffff,
        usize::MAX,
    ] {
        call(OPENAT, [at, nowhere, flags, 0o640, 0, 0]);
    }
    for from in [text, path, edge, nowhere] {
        call(OPENAT, [usize::MAX - 1, from, 0, 0, 0, 0]);
        call(SYMLINKAT, [from, usize::MAX - 1, path, 0, 0, 0]);
        call(RENAMEAT2, [usize::MAX - 1, from, at, text, 0, 0]);
        call(MOUNT, [from, from, text, 0, 0, 0]);
        call(SETHOSTNAME, [from, 100, 0, 0, 0, 0]);
        call(EXECVE, [from, 0, 0, 0, 0, 0]);
        call(SETXATTR, [from, from, nowhere, 0, 0, 0]);
        call(INIT_MODULE, [nowhere, 3, from, 0, 0, 0]);
        call(FANOTIFY_MARK, [at, 0, 0, at, from, 0]);
    }
    // No such calls.
    call(1000, [1, 2, 3, 4, 5, 6]);
    call(usize::MAX, [0; 6]);
    // One with the bit of x32.
    call(0x4000_0000 | GETPGID, [0; 6]);
    mark();

    call(MUNMAP, [pages, 4096, 0, 0, 0, 0]);
    Ok(())
}

/// Lets both trees record `work` with these events on.
fn record(trees: [&Tree; 2], events: &[&str], work: impl FnOnce() -> Check) -> Check {
    for event in events {
        for tree in trees {
            tree.set(&format!("events/syscalls/{event}"), "1")?;
        }
    }
    let result = work();
    for tree in trees {
        tree.set("events/syscalls/enable", "0")?;
    }
    result
}

/// Name of the event, and all that both must have recorded alike.
type Event = (String, Vec<u8>);

/// What this thread did between the marks.
fn marked(tree: &Tree) -> Check<Vec<Event>> {
    let mut names = HashMap::new();
    for name in tree.list("events/syscalls")? {
        if let Ok(text) = tree.get(&format!("events/syscalls/{name}/format")) {
            names.insert(Format::parse(&text)?.id, name);
        }
    }
    let me = sys::thread_id() as i32;
    let mut all = Vec::new();
    for record in stream::drain(tree)?
        .into_iter()
        .flat_map(|stream| stream.records)
        .filter(|record| record.pid() == me)
    {
        let Some(name) = names.get(&record.id()) else {
            fail!("a record of event {}", record.id());
        };
        all.push((record.ts, (name.clone(), record)));
    }
    all.sort_by_key(|&(ts, _)| ts);
    let is_mark = |(_, (name, record)): &(u64, (String, stream::Record))| {
        name == "sys_enter_getpgid" && record.number(16, 8) == MARK as u64
    };
    let first = all.iter().position(is_mark).unwrap_or(0);
    let last = all.iter().rposition(is_mark).unwrap_or(all.len());
    Ok(all
        .drain(first..last)
        .map(|(_, (name, record))| {
            // Without the type, and without the flags that an interrupt may set in between.
            let mut bytes = record.payload.clone();
            bytes[..3].fill(0);
            (name, bytes)
        })
        .collect())
}

fn compare<T: PartialEq + std::fmt::Debug>(
    report: &mut Report,
    when: &str,
    found: &[T],
    wanted: &[T],
) {
    for (number, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        report.expect(found == wanted, || {
            format!("{when}, {number}: {found:?}, tracefs {wanted:?}")
        });
    }
    report.expect(found.len() == wanted.len(), || {
        format!("{when}: {} events, tracefs {}", found.len(), wanted.len())
    });
}

/// Every record has the bytes of ftrace's, the user's memory included.
fn records(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for bytes in ["", "0", "1", "64", "165"] {
        if !bytes.is_empty() {
            for tree in [&own, &reference] {
                tree.set("syscall_user_buf_size", bytes)?;
            }
        }
        record([&own, &reference], &["enable"], calls)?;
        let (found, wanted) = (marked(&own)?, marked(&reference)?);
        ensure!(wanted.len() > 150, "tracefs has only {}", wanted.len());
        compare(&mut report, &format!("size {bytes:?}"), &found, &wanted);
    }
    report.finish()
}

/// Every line of `trace` is ftrace's.
fn lines(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let me = format!("-{} ", sys::thread_id());
    let mark = format!("pid: 0x{MARK:x})");
    let look = |tree: &Tree| -> Check<Vec<String>> {
        let text = tree.get("trace")?;
        let mine: Vec<_> = text.lines().filter(|line| line.contains(&me)).collect();
        let is_mark = |line: &&str| line.contains(&mark);
        let first = mine.iter().position(is_mark).unwrap_or(0);
        let last = mine.iter().rposition(is_mark).unwrap_or(0);
        Ok(mine[first..last]
            .iter()
            .map(|line| unflagged(line))
            .collect())
    };
    for (bytes, verbose) in [("0", "0"), ("3", "0"), ("63", "1"), ("165", "0")] {
        for tree in [&own, &reference] {
            tree.clear()?;
            tree.set("syscall_user_buf_size", bytes)?;
            tree.set("options/verbose", verbose)?;
        }
        record([&own, &reference], &["enable"], calls)?;
        let (found, wanted) = (look(&own)?, look(&reference)?);
        ensure!(wanted.len() > 150, "tracefs has only {}", wanted.len());
        compare(&mut report, &format!("size {bytes}"), &found, &wanted);
    }
    report.finish()
}

/// A line without stamp and without the flag that an interrupt may set in between.
fn unflagged(line: &str) -> String {
    let line = without_stamp(line);
    match line.split_once("] ") {
        Some((head, rest)) => match rest.split_once(' ') {
            Some((_, text)) => format!("{head}] {text}"),
            None => line,
        },
        None => line,
    }
}

/// Only what is enabled is recorded, and both halves of a call are events of their own.
fn some(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let wanted = [
        "sys_enter_getpgid",
        "sys_exit_openat",
        "sys_enter_mount",
        "sys_exit_mount",
    ];
    let files = wanted.map(|name| format!("{name}/enable"));
    let files = files.each_ref().map(String::as_str);
    for tree in [&own, &reference] {
        tree.set("events/syscalls/sys_enter_write/enable", "1")?;
        tree.set("events/syscalls/sys_enter_write/enable", "0")?;
    }
    record([&own, &reference], &files, || {
        same(&own, &reference, "events/syscalls/enable")?;
        same(&own, &reference, "set_event")?;
        calls()
    })?;
    let (found, expected) = (marked(&own)?, marked(&reference)?);
    let names: BTreeSet<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    ensure_eq!(names, BTreeSet::from(wanted), "events");
    let mut report = Report::default();
    compare(&mut report, "some", &found, &expected);
    report.finish()
}

/// What the file says and takes; a new instance begins with the value of the top one.
fn user_buf_size(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let file = "syscall_user_buf_size";
    same(&own, &reference, file)?;
    for text in [
        "0",
        "7",
        "+8",
        "164\n",
        "165",
        "166",
        "100000",
        "18446744073709551615",
        "18446744073709551616",
        "",
        "\n",
        "-1",
        " 5",
        "5 ",
        "0x5",
        "5k",
        "x",
    ] {
        let write = |tree: &Tree| tree.write(file, text.as_bytes());
        let (found, wanted) = (write(&own), write(&reference));
        report.expect(found == wanted, || {
            format!("{text:?}: {found:?}, tracefs {wanted:?}")
        });
        report.collect(same(&own, &reference, file).map_err(|e| format!("after {text:?}: {e}")));
    }
    for root in [&context.root, &context.reference] {
        let top = Tree::at(root);
        let before = top.get(file)?;
        top.set(file, "77")?;
        let value = Instance::new(root, "rtg-third").and_then(|third| third.get(file));
        top.set(file, before.trim())?;
        report.expect(value == Ok("77\n".into()), || {
            format!("{}: a new instance has {value:?}", root.display())
        });
    }
    report.finish()
}

/// Calls by the 32-bit interface have other numbers: neither tracer records them.
fn old_interface(context: &Context) -> Check {
    if !std::path::Path::new("/proc/sys/abi/vsyscall32").exists() {
        skip!("this kernel has no 32-bit system calls");
    }
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let me = std::process::id();
    record([&own, &reference], &["enable"], || {
        call(GETPGID, [MARK, 0, 0, 0, 0, 0]);
        // Number 20 is getpid there, writev here.
        let pid = sys::call_32(20);
        call(GETPGID, [MARK, 0, 0, 0, 0, 0]);
        ensure_eq!(pid as u32, me, "getpid by int 0x80");
        Ok(())
    })?;
    for tree in [&own, &reference] {
        let names: Vec<_> = marked(tree)?.into_iter().map(|(name, _)| name).collect();
        ensure_eq!(
            names,
            ["sys_enter_getpgid", "sys_exit_getpgid"],
            "{}",
            tree.shown("")
        );
    }
    Ok(())
}

/// Events and instances come and go under calls; what is off records nothing.
fn switched(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let load = Load::start();
    for round in 0..rounds(2, 20) {
        let other = Instance::new(&context.root, "rtg-second")?;
        other.set("events/syscalls/enable", "1")?;
        own.set("events/syscalls/enable", "1")?;
        own.set("events/syscalls/sys_enter_write/enable", "0")?;
        own.set(
            "syscall_user_buf_size",
            if round % 2 == 0 { "0" } else { "165" },
        )?;
        own.set("set_event", "!syscalls:sys_enter_read")?;
        other.remove()?;
        own.set("events/syscalls/enable", "0")?;
        ensure!(
            own.get("trace")?.contains(" -> 0x"),
            "round {round}: nothing"
        );
        own.clear()?;
        workload::pipe(20);
        let entries = own.get("trace")?;
        let left = entries
            .lines()
            .filter(|line| !line.starts_with('#'))
            .count();
        ensure_eq!(left, 0, "round {round}: recorded while off");
    }
    drop(load);
    Ok(())
}
