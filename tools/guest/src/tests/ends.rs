// SPDX-License-Identifier: GPL-2.0

//! Lifetimes: pages in pipes, walks through a tree that changes, errors that leave nothing
//! allocated.

use super::{test, Test};
use crate::callers;
use crate::check::Check;
use crate::errno::*;
use crate::memory::Usage;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload::Load;
use crate::Context;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("ends.spliced_pages", 60, spliced_pages),
    test("ends.tree_walks", 90, tree_walks),
    test("ends.errors_leave_nothing", 90, errors_leave_nothing),
    test("ends.hotplug_storm", 120, hotplug_storm),
];

/// Entries that a walker must have looked at without an error.
const LOOKED_AT: usize = 50;

fn rounds(many: usize) -> usize {
    match sys::proves_locking() {
        true => many / 5,
        false => many,
    }
}

/// What is in a pipe now.
fn drain(pipe: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while sys::poll_in(pipe, std::time::Duration::ZERO).is_ok_and(|r| r & sys::POLLIN != 0) {
        match pipe.read(&mut piece) {
            Ok(n @ 1..) => bytes.extend_from_slice(&piece[..n]),
            _ => break,
        }
    }
    bytes
}

/// Bytes moved into a pipe stay right when the file, the instance and its memory are gone.
fn spliced_pages(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs keeps the instance of a page that is in a pipe");
    }
    for round in 0..rounds(10) {
        for (name, len) in [
            ("trace", 4096),
            ("trace_pipe", 4096),
            ("trace_pipe", 600),
            ("trace_options", 4096),
        ] {
            sys::pin_to(0);
            let own = Instance::new(&context.root, "rtg-ends")?;
            let text = format!("marker of round {round} ").repeat(20);
            for _ in 0..8 {
                own.set("trace_marker", &text)?;
            }
            let wanted = match name {
                "trace_options" => own.get(name)?.into_bytes(),
                // Reading consumes nothing of it.
                "trace" => own.get(name)?.into_bytes(),
                _ => vec![],
            };
            let (mut out, into) = sys::pipe().map_err(|e| format!("pipe: {e}"))?;
            let file = own
                .open_nonblock(name)
                .map_err(|e| format!("{name}: {e}"))?;
            let moved = callers::splice(&file, &into, len, false);
            drop(file);
            own.remove()?;
            // The next user of the freed memory overwrites it.
            let other = Instance::new(&context.root, "rtg-ends")?;
            for _ in 0..8 {
                other.set("trace_marker", &"#".repeat(4000))?;
            }
            let found = drain(&mut out);
            ensure_eq!(moved, Ok(found.len()), "{name}: splice of {len} bytes");
            ensure!(
                !found.is_empty() && found.len() <= len,
                "{name}: {} bytes",
                found.len()
            );
            match wanted.is_empty() {
                false => ensure!(
                    wanted.starts_with(&found),
                    "{name}: another text in the pipe"
                ),
                true => {
                    let shown =
                        len < 4096 || found.windows(text.len()).any(|w| w == text.as_bytes());
                    ensure!(shown, "{name}: the marker is not in the pipe");
                    ensure!(!found.ends_with(b"####"), "{name}: foreign bytes");
                }
            }
            other.remove()?;
        }
    }
    Ok(())
}

/// Everything that a walk finds is looked at, and read if it can be, while instances come and go and
/// the kernel drops what it has cached of names and inodes.
fn tree_walks(context: &Context) -> Check {
    let _load = Load::start();
    let done = AtomicBool::new(false);
    let satisfied = AtomicUsize::new(0);
    let instances = context.root.join("instances");
    let name = |i: usize| instances.join(format!("rtg-walk{}", i % 3));
    let (walks, made) = std::thread::scope(|scope| {
        let walkers = [0, 1].map(|_| {
            scope.spawn(|| {
                let (mut walks, mut seen) = (0usize, BTreeMap::<i32, usize>::new());
                let mut content = false;
                while !done.load(Ordering::Relaxed) {
                    look(&instances, &mut seen, 0);
                    walks += 1;
                    if !content && seen.get(&0).is_some_and(|n| *n > LOOKED_AT) {
                        content = true;
                        satisfied.fetch_add(1, Ordering::Relaxed);
                    }
                }
                (walks, seen)
            })
        });
        let dropper = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = std::fs::write("/proc/sys/vm/drop_caches", "2");
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        });
        let least = rounds(soak::rounds(60, 120));
        let (mut made, mut i) = (0, 0);
        // Continues until the walkers, which may be slower, have seen some of it.
        sys::wait_until(Duration::from_secs(30), || {
            made += usize::from(std::fs::create_dir(name(i)).is_ok());
            let _ = std::fs::write(name(i).join("events/sched/sched_switch/enable"), "1");
            let _ = std::fs::remove_dir(name(i + 1));
            i += 1;
            i >= least && made > 5 && satisfied.load(Ordering::Relaxed) == 2
        });
        done.store(true, Ordering::Relaxed);
        let walks = walkers.map(|w| w.join().unwrap_or_default());
        let _ = dropper.join();
        (walks, made)
    });
    for i in 0..3 {
        sys::wait_until(std::time::Duration::from_secs(5), || {
            std::fs::remove_dir(name(i)).map_err(Errno::from) != Err(EBUSY)
        });
    }
    println!("{made} instances made, walks and errors: {walks:?}");
    ensure!(made > 5, "only {made} instances made");
    for (walks, seen) in &walks {
        ensure!(*walks > 0, "no walk came to its end");
        let allowed = [
            0, ENOENT.0, ENODEV.0, EBUSY.0, EAGAIN.0, EINVAL.0, ENOTDIR.0,
        ];
        ensure!(seen.keys().all(|e| allowed.contains(e)), "errors {seen:?}");
        ensure!(
            seen.get(&0).is_some_and(|n| *n > LOOKED_AT),
            "too little was seen: {seen:?}"
        );
    }
    let left = Tree::at(&context.root).list("instances")?;
    ensure!(
        !left.iter().any(|name| name.contains("walk")),
        "left: {left:?}"
    );
    Ok(())
}

/// Lists a folder, looks at each entry, reads the first bytes; counts the errors.
fn look(folder: &Path, seen: &mut BTreeMap<i32, usize>, depth: usize) {
    let mut count = |result: Result<(), std::io::Error>| {
        let error = result.map_or_else(|e| Errno::from(e).0, |()| 0);
        *seen.entry(error).or_default() += 1;
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) => return count(Err(e)),
    };
    let mut folders = vec![];
    for (i, entry) in entries.enumerate() {
        let Ok(entry) = entry else { continue };
        // Thousands of events are all alike.
        if depth >= 2 && i > 6 {
            break;
        }
        match entry.path().symlink_metadata() {
            Ok(data) if data.is_dir() => folders.push(entry.path()),
            Ok(_) => {
                let file = Tree::at(entry.path()).open_nonblock("");
                let read = file.and_then(|mut file| Ok(file.read(&mut [0; 64]).map(drop)?));
                count(read.map_err(|e| std::io::Error::from_raw_os_error(e.0)));
            }
            Err(e) => count(Err(e)),
        }
    }
    for folder in folders {
        look(&folder, seen, depth + 1);
    }
}

/// Every refusal, over and over, loses no memory.
fn errors_leave_nothing(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-ends")?;
    let folder = context.root.join("instances");
    let round = || -> Check {
        for (file, text) in [
            ("tracing_on", "x"),
            ("buffer_size_kb", "0"),
            ("buffer_size_kb", "1152921504606846976"),
            ("per_cpu/cpu0/buffer_size_kb", "99999999999999"),
            ("trace_clock", "nosuch"),
            ("trace_options", "nosuch"),
            ("current_tracer", "function_graph_x"),
            ("set_event", "nosuch:event"),
            ("set_event", "sched:nosuch:mod:rtrace"),
            ("events/sched/sched_switch/enable", "7"),
            ("options/overwrite", "2"),
        ] {
            let result = own.write(file, text.as_bytes());
            ensure!(result.is_err(), "{file} <- {text}: {result:?}");
        }
        let file = own
            .open_write("trace_marker")
            .map_err(|e| format!("trace_marker: {e}"))?;
        let _ = sys::write_from_nowhere(&file, 4000);
        let pipe = own
            .open_nonblock("trace_pipe")
            .map_err(|e| format!("trace_pipe: {e}"))?;
        ensure_eq!(
            own.open_nonblock("trace_pipe").err(),
            Some(EBUSY),
            "a second reader"
        );
        let _ = sys::read_to_nowhere(&pipe, 4096);
        for name in ["rtg-ends", "a b", &"n".repeat(90)] {
            let result = std::fs::create_dir(folder.join(name));
            ensure!(result.is_err(), "mkdir {name}");
        }
        ensure!(
            std::fs::remove_dir(own.path()).is_err(),
            "rmdir with files open"
        );
        Ok(())
    };
    (0..20).try_for_each(|_| round())?;
    let before = Usage::now()?;
    (0..rounds(2000)).try_for_each(|_| round())?;
    before.expect_no_more()?;
    own.remove()
}

fn is_busy(opened: &Op<File>) -> bool {
    matches!(opened, Err(e) if *e == EBUSY)
}

/// CPUs come and go while instances do, buffers change their size and are cleared, and readers read.
fn hotplug_storm(context: &Context) -> Check {
    let cpus = sys::online_cpus();
    if cpus < 2 {
        skip!("one CPU cannot go");
    }
    let online = format!("/sys/devices/system/cpu/cpu{}/online", cpus - 1);
    let own = Instance::new(&context.root, "rtg-ends")?;
    for system in ["sched", "irq", "timer"] {
        own.set(&format!("events/{system}/enable"), "1")?;
    }
    let done = AtomicBool::new(false);
    let _load = Load::start();
    let result = std::thread::scope(|scope| {
        let reader = scope.spawn(|| -> Check<usize> {
            let mut bytes = 0;
            while !done.load(Ordering::Relaxed) {
                bytes += own.get("trace")?.len();
                // A child of the load also has the files that were open here, until it runs another
                // program.
                let mut opened = own.open_nonblock("trace_pipe");
                sys::wait_until(Duration::from_secs(10), || {
                    if is_busy(&opened) {
                        opened = own.open_nonblock("trace_pipe");
                    }
                    !is_busy(&opened)
                });
                let mut file = opened.map_err(|e| format!("trace_pipe: {e}"))?;
                bytes += file.read(&mut [0; 4096]).unwrap_or(0);
            }
            Ok(bytes)
        });
        let changer = scope.spawn(|| -> Check {
            for round in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                own.set("buffer_size_kb", if round % 2 == 0 { "40" } else { "200" })?;
                own.set(&format!("per_cpu/cpu{}/buffer_size_kb", cpus - 1), "60")?;
                own.clear()?;
                Instance::new(&context.root, "rtg-ends2")?.remove()?;
            }
            Ok(())
        });
        let mut result = Ok(());
        for round in 0..rounds(soak::rounds(20, 40)) {
            for value in ["0", "1"] {
                if let Err(e) = std::fs::write(&online, value) {
                    result = Err(format!("round {round}: {online} <- {value}: {e}"));
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        let read = reader
            .join()
            .unwrap_or_else(|_| Err("the reader died".into()));
        let changed = changer
            .join()
            .unwrap_or_else(|_| Err("the changer died".into()));
        result.and(changed).and(read)
    });
    let _ = std::fs::write(&online, "1");
    println!("{} bytes read", result?);
    // Both CPUs record, and what they record is whole.
    own.set("tracing_on", "0")?;
    crate::stream::drain(&own)?;
    own.remove()
}
