// SPDX-License-Identifier: GPL-2.0

//! The folders of events: listed whole although an entry exists only once it is looked up, and then
//! the same for all users.

use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::module;
use crate::soak;
use crate::sys::{self, Dirent};
use crate::tree::{Instance, Tree};
use crate::Context;
use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{chown, MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, Ordering};

pub const TESTS: &[Test] = &[
    test("listing.entries", 60, entries),
    test("listing.positions", 60, positions),
    test("listing.on_demand", 60, on_demand),
    test("listing.changes_stay", 30, changes_stay),
    test("listing.together", 120, together),
    test("listing.module", 120, module_comes_and_goes),
    test("listing.ids", 60, ids),
];

/// Kinds of directory entries.
const FOLDER: u8 = 4;
const FILE: u8 = 8;

/// A folder with few, one with many and one without folders in it.
const FOLDERS: &[&str] = &[
    "events",
    "events/ftrace",
    "events/ftrace/print",
    "events/sched",
    "events/sched/sched_switch",
    "events/syscalls",
];

fn rtracefs(context: &Context) -> Check<Instance> {
    if !context.is_rtracefs() {
        skip!("how rtracefs does it");
    }
    Instance::new(&context.root, "rtg-own")
}

/// All entries of a folder, read `room` bytes at a time.
fn list(tree: &Tree, folder: &str, room: usize) -> Check<Vec<Dirent>> {
    let file = tree.open(folder).map_err(|e| format!("{folder}: {e}"))?;
    let mut found = Vec::new();
    loop {
        let some = sys::getdents(&file, room).map_err(|e| format!("list {folder}: {e}"))?;
        if some.is_empty() {
            return Ok(found);
        }
        found.extend(some);
    }
}

/// The entry of each name says what the name then is, before and after it was looked up, in
/// pieces as in one; and no two are one inode.
fn entries(context: &Context) -> Check {
    let own = rtracefs(context)?;
    let mut report = Report::default();
    let mut numbers = BTreeSet::new();
    let mut count = 0;
    for folder in FOLDERS {
        let whole = list(&own, folder, 1 << 16)?;
        ensure_eq!(list(&own, folder, 64)?, whole, "{folder} in pieces");
        let names: BTreeSet<_> = whole.iter().map(|entry| &entry.name).collect();
        ensure_eq!(names.len(), whole.len(), "names in {folder}");
        for entry in whole.iter().filter(|entry| entry.name != "..") {
            let path = match entry.name.as_str() {
                "." => folder.to_string(),
                name => format!("{folder}/{name}"),
            };
            let data = own
                .file(&path)
                .symlink_metadata()
                .map_err(|e| format!("{path}: {e}"))?;
            let kind = if data.is_dir() { FOLDER } else { FILE };
            report.expect((entry.inode, entry.kind) == (data.ino(), kind), || {
                format!("{path}: {entry:?}, but inode {} of kind {kind}", data.ino())
            });
            let known = !numbers.insert(data.ino());
            report.expect(
                !known || entry.name == "." || FOLDERS.contains(&&*path),
                || format!("{path}: its inode is another's too"),
            );
            count += 1;
        }
        ensure_eq!(list(&own, folder, 1 << 16)?, whole, "{folder} again");
    }
    let other = Instance::new(&context.root, "rtg-other")?;
    let theirs = other.file("events/sched/sched_switch/enable").metadata();
    report.expect(
        theirs.is_ok_and(|data| !numbers.contains(&data.ino())),
        || "an inode of two instances".into(),
    );
    println!("{count} entries");
    ensure!(count > 500, "only {count} entries");
    report.finish()
}

/// What follows an entry is found again by its position, whatever was read in between; a position
/// where nothing can be is the end.
fn positions(context: &Context) -> Check {
    let own = rtracefs(context)?;
    for folder in FOLDERS {
        let whole = list(&own, folder, 1 << 16)?;
        let mut file = own.open(folder).map_err(|e| format!("{folder}: {e}"))?;
        let mut at = |position: i64| -> Check<Vec<Dirent>> {
            let seek = file.seek(SeekFrom::Start(position as u64));
            seek.map_err(|e| format!("{folder}: seek to {position}: {e}"))?;
            sys::getdents(&file, 1 << 16).map_err(|e| format!("{folder}, {position}: {e}"))
        };
        for (index, entry) in whole.iter().enumerate().rev().step_by(7) {
            let behind = at(entry.next)?;
            let wanted = &whole[index + 1..];
            ensure!(
                wanted.starts_with(&behind),
                "{folder}: behind {entry:?} came {behind:?}"
            );
            ensure!(
                wanted.is_empty() || !behind.is_empty(),
                "{folder}: nothing behind {entry:?}"
            );
        }
        for position in [8193, 8194, 65536, 1 << 31, i64::MAX] {
            ensure_eq!(at(position)?, [], "{folder} at {position}");
        }
    }
    Ok(())
}

/// How many inodes the kernel has.
fn inodes() -> Check<i64> {
    let text = std::fs::read_to_string("/proc/sys/fs/inode-nr").map_err(|e| e.to_string())?;
    let count = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    count.ok_or_else(|| format!("inode-nr: {text:?}"))
}

/// An instance has inodes for the events that were looked up.
fn on_demand(context: &Context) -> Check {
    // Unused entries go now, not in between.
    std::fs::write("/proc/sys/vm/drop_caches", "2").map_err(|e| e.to_string())?;
    let before = inodes()?;
    let own = rtracefs(context)?;
    let made = inodes()? - before;
    let names = list(&own, "events/syscalls", 1 << 16)?;
    let listed = inodes()? - before;
    for entry in names.iter().filter(|entry| !entry.name.starts_with('.')) {
        ensure!(
            own.exists(&format!("events/syscalls/{}", entry.name)),
            "{entry:?}"
        );
    }
    let looked_up = inodes()? - before;
    println!("inodes: {made} made, {listed} when listed, {looked_up} when looked up");
    ensure!(
        made < 80 + 20 * sys::online_cpus() as i64,
        "{made} inodes for an instance"
    );
    ensure!(listed < made + 10, "{listed} when listed");
    ensure!(
        looked_up > listed + 600,
        "{looked_up} inodes of all system calls"
    );
    own.remove()?;
    let mut left = 0;
    // Inodes go after a grace period, and those of a process that has just ended late.
    let gone = sys::wait_until(std::time::Duration::from_secs(5), || {
        left = inodes().unwrap_or(i64::MAX) - before;
        left < 10
    });
    ensure!(gone, "{left} inodes are left");
    Ok(())
}

/// Owner and mode that a user gave to a file stay, also when memory is short.
fn changes_stay(context: &Context) -> Check {
    let own = rtracefs(context)?;
    let paths = [
        "events/sched/sched_switch/enable",
        "events/sched/sched_switch",
        "events/irq",
    ];
    for path in paths {
        let file = own.file(path);
        std::fs::set_permissions(&file, Permissions::from_mode(0o605))
            .map_err(|e| e.to_string())?;
        chown(&file, Some(12), Some(34)).map_err(|e| e.to_string())?;
    }
    std::fs::write("/proc/sys/vm/drop_caches", "3").map_err(|e| e.to_string())?;
    for path in paths {
        let data = own.file(path).metadata().map_err(|e| e.to_string())?;
        let found = (data.mode() & 0o7777, data.uid(), data.gid());
        ensure_eq!(found, (0o605, 12, 34), "{path}");
    }
    // What is made in a folder belongs to the folder's owner.
    let file = own.file("events/irq/softirq_raise/enable");
    let data = file.metadata().map_err(|e| e.to_string())?;
    ensure_eq!((data.uid(), data.gid()), (12, 34), "in events/irq");
    Ok(())
}

/// Looks up everything below a folder.
fn walk(tree: &Tree, folder: &str) -> Check<usize> {
    let mut count = 0;
    for entry in list(tree, folder, 1 << 12)? {
        if entry.name == "." || entry.name == ".." {
            continue;
        }
        let path = format!("{folder}/{}", entry.name);
        count += 1;
        match entry.kind {
            FOLDER => count += walk(tree, &path)?,
            _ => {
                _ = tree
                    .file(&path)
                    .metadata()
                    .map_err(|e| format!("{path}: {e}"))?
            }
        }
    }
    Ok(count)
}

/// Several tasks look the same names up for the first time: each is made once, and counted once as
/// a link of its folder.
fn together(context: &Context) -> Check {
    for round in 0..10 {
        let own = rtracefs(context)?;
        let tree: &Tree = &own;
        let counts = std::thread::scope(|scope| {
            let walkers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| walk(tree, "events/block")))
                .collect();
            let ended = walkers
                .into_iter()
                .map(|walker| walker.join().expect("no panic"));
            ended.collect::<Check<Vec<_>>>()
        })?;
        ensure!(
            counts
                .iter()
                .all(|count| *count == counts[0] && *count > 50),
            "{counts:?}"
        );
        for folder in ["events", "events/block"] {
            let links = own
                .file(folder)
                .metadata()
                .map_err(|e| e.to_string())?
                .nlink();
            let wanted = match folder {
                // The others were not looked up.
                "events" => 2 + 1,
                _ => 2 + tree.list(folder)?.len() as u64 - 2,
            };
            ensure_eq!(links, wanted, "round {round}: links of {folder}");
        }
        own.remove()?;
    }
    Ok(())
}

/// The event of a module is there as long as the module, for tasks that look it up all the time and
/// have the folders open.
fn module_comes_and_goes(context: &Context) -> Check {
    const NAME: &str = "rtrace_sample";
    const SYSTEM: &str = "events/rtrace_sample";
    const FILE: &str = "events/rtrace_sample/sample_tick/enable";
    let own = rtracefs(context)?;
    let tree: &Tree = &own;
    let image = File::open("/root/rtrace_sample.ko").map_err(|e| format!("{NAME}: {e}"))?;
    let open = tree.open("events").map_err(|e| format!("events: {e}"))?;
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut met = [0u32; 2];
                    while !ended.load(Ordering::Relaxed) {
                        match tree.read_bytes(FILE) {
                            Ok(_) => met[0] += 1,
                            Err(ENOENT | ENODEV) => met[1] += 1,
                            Err(other) => return Err(format!("{FILE}: {other}")),
                        }
                        let _ = tree.list(SYSTEM);
                    }
                    Ok(met)
                })
            })
            .collect();
        let rounds = || -> Check {
            for round in 0..soak::rounds(6, 40) {
                sys::finit_module(&image, "").map_err(|e| format!("load: {e}"))?;
                let text = tree.get(FILE);
                let (mut folder, mut listed) =
                    (open.try_clone().map_err(|e| e.to_string())?, false);
                folder.rewind().map_err(|e| e.to_string())?;
                loop {
                    let some = sys::getdents(&folder, 512).map_err(|e| format!("events: {e}"))?;
                    listed |= some.iter().any(|entry| SYSTEM.ends_with(&entry.name));
                    if some.is_empty() {
                        break;
                    }
                }
                let gone = crate::sys::wait_until(std::time::Duration::from_secs(20), || {
                    module::unload(NAME).is_ok()
                });
                ensure!(gone, "round {round}: the module stays");
                ensure_eq!(text?, "0\n", "round {round}");
                ensure!(listed, "round {round}: not listed in the open folder");
                ensure!(
                    !tree.exists(SYSTEM),
                    "round {round}: the system outlives its module"
                );
                ensure!(
                    !tree.list("events")?.contains(&NAME.to_string()),
                    "round {round}: still listed"
                );
            }
            Ok(())
        };
        let result = rounds();
        ended.store(true, Ordering::Relaxed);
        for one in looking {
            let met = one.join().expect("no panic")?;
            println!("looked up: {} times there, {} times not", met[0], met[1]);
        }
        result
    })?;
    own.remove()
}

/// The id of each event that a tree offers.
fn all_ids(tree: &Tree) -> Check<Vec<u64>> {
    let events = tree.get("available_events")?;
    let id = |event: &str| {
        let file = format!("events/{}/id", event.replace(':', "/"));
        let id = tree.get(&file)?;
        id.trim()
            .parse()
            .map_err(|e| format!("{file}: {id:?}: {e}"))
    };
    events.lines().map(id).collect()
}

/// Whether perf_event_open() takes a number for a tracepoint's.
fn perf_knows(id: u64) -> Check<bool> {
    const PERF_EVENT_OPEN: usize = 298;
    const TRACEPOINT: u64 = 2;
    const SIZE: u64 = 64;
    // Type and size of the structure, and the event; all else is 0.
    let attributes = [TRACEPOINT | SIZE << 32, id, 0, 0, 0, 0, 0, 0];
    let (any_task, cpu, no_group) = (usize::MAX, 0, usize::MAX);
    let args = [attributes.as_ptr() as usize, any_task, cpu, no_group, 0, 0];
    match sys::call(PERF_EVENT_OPEN, args) {
        descriptor @ 0.. => {
            use std::os::fd::FromRawFd;
            // SAFETY: It is new, and no other value owns it.
            drop(unsafe { File::from_raw_fd(descriptor as i32) });
            Ok(true)
        }
        // ENOENT or EINVAL: there is no such event.
        -2 | -22 => Ok(false),
        other => fail!("perf_event_open: {other}"),
    }
}

/// A program that passes an id of rtrace to perf_event_open() is refused, and gets no other event.
fn ids(context: &Context) -> Check {
    let own = rtracefs(context)?;
    let reference = Tree::at(&context.reference);
    let (own, reference) = (all_ids(&own.top())?, all_ids(&reference)?);
    let unique: BTreeSet<_> = own.iter().collect();
    ensure_eq!(unique.len(), own.len(), "different ids");
    ensure!(
        own.iter()
            .all(|id| *id > 2 * reference.iter().max().unwrap_or(&0)),
        "ids {:?} and up, the kernel's up to {:?}",
        own.iter().min(),
        reference.iter().max()
    );
    if !reference.iter().any(|id| perf_knows(*id) == Ok(true)) {
        skip!("this kernel has no perf_event_open()");
    }
    for id in own {
        ensure!(!perf_knows(id)?, "perf_event_open() takes {id}");
    }
    Ok(())
}
