// SPDX-License-Identifier: GPL-2.0

//! Each operation with each of its allocations failing: ENOMEM or success, nothing half done, and
//! it works again right after.

use super::files::{self, Scope};
use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::faults::Faults;
use crate::maps::{self, Area, Meta};
use crate::module;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub const TESTS: &[Test] = &[
    test("faults.mount", 60, mount),
    test("faults.instances", 120, instances),
    test("faults.knobs", 240, knobs),
    test("faults.events", 240, events),
    test("faults.reads", 240, reads),
    exact("faults.consumed", 120, consumed),
    test("faults.mapping", 120, mapping),
    test("faults.module", 280, load_module),
    test("faults.sample_module", 240, sample_module),
];

/// What a refused operation must not change.
fn state(tree: &Tree) -> Check<Vec<String>> {
    let mut all = tree.list("")?;
    for file in [
        "tracing_on",
        "trace_clock",
        "trace_options",
        "buffer_size_kb",
        "per_cpu/cpu0/buffer_size_kb",
        "per_cpu/cpu1/buffer_size_kb",
        "set_event",
        "current_tracer",
    ] {
        // One CPU less, one file less.
        if tree.exists(file) {
            all.push(tree.get(file)?);
        }
    }
    for cpu in 0..sys::online_cpus() {
        let stats = format!("per_cpu/cpu{cpu}/stats");
        for label in [
            "entries",
            "overrun",
            "bytes",
            "dropped events",
            "read events",
        ] {
            all.push(format!("{label} {}", tree.number(&stats, label)?));
        }
    }
    Ok(all)
}

/// Opens without the allocations of a growing path.
pub fn open(path: &Path, write: bool, flags: i32) -> Op<File> {
    Ok(OpenOptions::new()
        .read(!write)
        .write(write)
        .custom_flags(flags)
        .open(path)?)
}

fn mount(context: &Context) -> Check {
    let faults = Faults::new()?;
    let place = Path::new("/tmp/rtg-faults");
    let _ = std::fs::create_dir(place);
    let tally = faults.exhaust(
        "mount",
        || sys::mount_fs(module::FS_TYPE, place, 0, "uid=0,mode=0711"),
        |result| match result {
            Ok(()) => sys::umount(place, 0).map_err(|e| format!("umount: {e}")),
            Err(_) => {
                ensure!(!module::is_mounted(place), "refused, but mounted");
                Ok(())
            }
        },
    )?;
    ensure!(tally.refused > 5, "{tally:?}");
    // The first mount already made what the file system shows; this one only adds itself.
    let top = Tree::at(&context.root);
    ensure!(top.exists("trace_pipe"), "the first mount is gone");
    Ok(())
}

fn instances(context: &Context) -> Check {
    let faults = Faults::new()?;
    let top = Tree::at(&context.root);
    let path = top.file("instances/rtg-faults");
    let _ = std::fs::remove_dir(&path);
    let before = top.list("instances")?;
    let tally = faults.exhaust_by(
        "mkdir",
        |n| faults.sparse(n),
        || Ok(std::fs::create_dir(&path)?),
        |result| match result {
            Ok(()) => {
                let own = Tree::at(&path);
                own.set("trace_marker", "whole")?;
                ensure!(own.get("trace")?.contains("whole"), "made, but not whole");
                std::fs::remove_dir(&path).map_err(|e| format!("rmdir: {e}"))
            }
            Err(_) => {
                ensure_eq!(top.list("instances")?, before, "instances");
                Ok(())
            }
        },
    )?;
    ensure!(tally.refused > soak::rounds(3, 5), "{tally:?}");

    let make = || -> Check {
        std::fs::create_dir(&path).map_err(|e| format!("mkdir: {e}"))?;
        Tree::at(&path).set("events/sched/sched_switch/enable", "1")
    };
    make()?;
    faults.exhaust(
        "rmdir",
        || Ok(std::fs::remove_dir(&path)?),
        |result| match result {
            Ok(()) => make(),
            Err(_) => {
                let on = Tree::at(&path).get("events/sched/sched_switch/enable")?;
                ensure_eq!(on, "1\n", "refused, but");
                Ok(())
            }
        },
    )?;
    std::fs::remove_dir(&path).map_err(|e| format!("rmdir: {e}"))?;
    ensure_eq!(top.list("instances")?, before, "instances");
    Ok(())
}

/// A file, what is written, and what takes it back.
type Knob = (&'static str, &'static str, &'static str);

/// No text: the file is only opened with truncation.
const KNOBS: &[Knob] = &[
    ("tracing_on", "0", "1"),
    ("trace_options", "nooverwrite", "overwrite"),
    ("options/overwrite", "0", "1"),
    ("options/stacktrace", "1", "0"),
    ("current_tracer", "nop", "nop"),
    ("trace_clock", "mono", "local"),
    ("buffer_size_kb", "300", "200"),
    ("buffer_size_kb", "90", "200"),
    ("per_cpu/cpu0/buffer_size_kb", "300", "200"),
    ("trace_marker", "another", ""),
    ("trace", "", ""),
    ("set_event", "", "timer:timer_start"),
];

fn knobs(context: &Context) -> Check {
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    own.set("buffer_size_kb", "200")?;
    let mut report = Report::default();
    for (file, text, back) in KNOBS {
        // Room for the marker in every state, and something to lose.
        own.set("trace_marker", "kept")?;
        let before = std::cell::RefCell::new(state(&own)?);
        let path = own.file(file);
        let flags = if text.is_empty() { sys::O_TRUNC } else { 0 };
        if *file == "set_event" {
            own.set("tracing_on", "0")?;
            own.set(file, back)?;
            *before.borrow_mut() = state(&own)?;
        }
        let result = faults.exhaust(
            &format!("{text:?} > {file}"),
            || {
                let mut file = open(&path, true, flags)?;
                if text.is_empty() {
                    return Ok(());
                }
                Ok(file.write(text.as_bytes()).map(drop)?)
            },
            |result| {
                if result.is_err() {
                    ensure_eq!(state(&own)?, *before.borrow(), "state after ENOMEM");
                    return Ok(());
                }
                if !back.is_empty() {
                    own.set(file, back)?;
                }
                if *file != "set_event" {
                    own.set("trace_marker", "kept")?;
                }
                *before.borrow_mut() = state(&own)?;
                Ok(())
            },
        );
        report.collect(result.and_then(|tally| {
            ensure!(tally.refused > 0, "{file}: {tally:?}");
            Ok(())
        }));
    }
    report.finish()?;
    own.remove()
}

/// Enabling: one event is on or off; of a system some may be on after ENOMEM, as in ftrace.
fn events(context: &Context) -> Check {
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    // As a first event makes it; the size is no part of what a refused write must keep.
    own.set("buffer_size_kb", "200")?;
    let one = "events/timer/timer_start/enable";
    let system = "events/timer/enable";
    let mut report = Report::default();
    for (file, on, off, exact) in [
        (one, "1", "0", true),
        ("set_event", "timer:timer_start", "!timer:timer_start", true),
        (system, "1", "0", false),
        ("set_event", "timer:*", "!timer:*", false),
    ] {
        for (text, back) in [(on, off), (off, on)] {
            own.set("events/enable", "0")?;
            if text == off {
                own.set(file, on)?;
            }
            let path = own.file(file);
            let before = own.get("events/timer/enable")?;
            let result = faults.exhaust(
                &format!("{text:?} > {file}"),
                || {
                    let mut file = open(&path, true, 0)?;
                    Ok(file.write(text.as_bytes()).map(drop)?)
                },
                |result| match result {
                    Ok(()) => own.set(file, back),
                    Err(_) if exact => {
                        ensure_eq!(own.get(system)?, before, "state after ENOMEM");
                        Ok(())
                    }
                    Err(_) => own.set(file, back),
                },
            );
            report.collect(result.and_then(|tally| {
                ensure!(tally.faults > 0, "{file}: {tally:?}");
                Ok(())
            }));
        }
    }
    own.set("events/enable", "0")?;
    report.finish()?;
    own.remove()
}

/// Opening and reading each file; a text that is given is the whole text.
fn reads(context: &Context) -> Check {
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    own.set("buffer_size_kb", "200")?;
    own.set("options/event-counts", "1")?;
    own.set("events/timer/timer_start/enable", "1")?;
    own.set("events/timer/timer_start/enable", "0")?;
    own.set("events/timer/timer_start/filter", "flags == 1")?;
    let _ = own.write("events/timer/timer_start/filter", b"nosuch == 1");
    own.set("set_event_pid", "1 22 333")?;
    for i in 0..20 {
        if i == 10 {
            own.set("snapshot", "1")?;
        }
        own.set("trace_marker", &format!("marker {i}"))?;
    }
    own.set("tracing_on", "0")?;

    let mut buffer = vec![1u8; 1 << 20];
    let mut report = Report::default();
    let top = own.top();
    let texts = files::all().filter(|file| file.is_text());
    let texts = texts.map(|file| (file.of("timer/timer_start"), file.scope));
    let more = ["options/overwrite", "events/ftrace/print/format"];
    for (file, scope) in texts.chain(more.map(|file| (file.to_string(), Scope::Each))) {
        let tree = match scope {
            Scope::Each => &own as &Tree,
            Scope::Top => &top,
        };
        let file = file.as_str();
        let path = tree.file(file);
        let wanted = tree.get(file)?;
        // Both closures look at it, one after the other.
        let read = std::cell::RefCell::new((&mut buffer, 0));
        let result = faults.exhaust(
            file,
            || {
                let mut read = read.borrow_mut();
                let mut file = open(&path, false, 0)?;
                read.1 = 0;
                loop {
                    let at = read.1;
                    match file.read(&mut read.0[at..])? {
                        0 => return Ok(()),
                        n => read.1 += n,
                    }
                }
            },
            |result| {
                let read = read.borrow();
                let found = String::from_utf8_lossy(&read.0[..read.1]);
                ensure!(
                    result.is_err() || found == wanted,
                    "{} bytes of {}",
                    found.len(),
                    wanted.len()
                );
                Ok(())
            },
        );
        report.collect(result.and_then(|tally| {
            ensure!(tally.refused > 0, "{file}: {tally:?}");
            Ok(())
        }));
    }
    let stats = own.file("per_cpu/cpu0/stats");
    report.collect(
        faults
            .exhaust(
                "stats",
                || Ok(open(&stats, false, 0)?.read(&mut buffer).map(drop)?),
                |_| Ok(()),
            )
            .map(drop),
    );
    let folder = own.file("events/timer");
    let wanted = own.list("events/timer")?.len();
    report.collect(
        faults
            .exhaust(
                "a folder",
                || {
                    let mut count = 0;
                    for entry in std::fs::read_dir(&folder)? {
                        entry?;
                        count += 1;
                    }
                    Ok(count)
                },
                |result| {
                    ensure!(result.is_err() || result == Ok(wanted), "{result:?} names");
                    Ok(())
                },
            )
            .map(drop),
    );
    report.finish()?;
    own.remove()
}

/// Readers that take events away: one that is refused has taken none.
fn consumed(context: &Context) -> Check {
    const EVENTS: u64 = 50;
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    sys::pin_to(0);
    own.set("buffer_size_kb", "200")?;
    for file in [
        "trace_pipe",
        "per_cpu/cpu0/trace_pipe",
        "trace_pipe_json",
        "per_cpu/cpu0/trace_pipe_json",
        "per_cpu/cpu0/trace_pipe_raw",
    ] {
        let refill = || -> Check {
            own.clear()?;
            for i in 0..EVENTS {
                own.set("trace_marker", &format!("marker {i:04}"))?;
            }
            let left = own.number("per_cpu/cpu0/stats", "entries")?;
            ensure_eq!(left, EVENTS, "{file}: events written");
            Ok(())
        };
        refill()?;
        let path = own.file(file);
        let mut buffer = vec![1u8; 4096];
        let tally = faults.exhaust(
            file,
            || {
                let mut file = open(&path, false, sys::O_NONBLOCK)?;
                let n = file.read(&mut buffer)?;
                Ok(String::from_utf8_lossy(&buffer[..n]).into_owned())
            },
            |result| {
                let left = own.number("per_cpu/cpu0/stats", "entries")?;
                let Ok(text) = result else {
                    ensure_eq!(left, EVENTS, "events after ENOMEM");
                    return Ok(());
                };
                ensure!(
                    text.contains("marker 0000\n") || text.contains("marker 0000\\n"),
                    "the oldest is not there: {text:?}"
                );
                ensure!(left < EVENTS, "nothing was taken");
                refill()
            },
        )?;
        ensure!(tally.refused > 0, "{file}: {tally:?}");
    }
    own.remove()
}

/// A refused mapping does not exist: the buffer can have another size. The second one needs less
/// than the first.
fn mapping(context: &Context) -> Check {
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    sys::pin_to(0);
    for kb in ["4", "64"] {
        own.set("buffer_subbuf_size_kb", kb)?;
        own.set("buffer_size_kb", "1000")?;
        own.clear()?;
        own.set("trace_marker", "marker")?;
        let file = open(
            &own.file("per_cpu/cpu0/trace_pipe_raw"),
            false,
            sys::O_NONBLOCK,
        )
        .map_err(|e| format!("open: {e}"))?;
        let meta = Meta::of(&Area::shared(&file, maps::PAGE, 0).map_err(|e| format!("map: {e}"))?);
        let all = meta.subbuf_size as usize * (meta.subbufs as usize + 1);
        for second in [false, true] {
            let held = second.then(|| Area::shared(&file, maps::PAGE, 0));
            let before = state(&own)?;
            let tally = faults.exhaust(
                "mmap",
                || Area::shared(&file, all, 0),
                |result| {
                    let busy = result.is_ok() || second;
                    let resized = own.write("buffer_size_kb", b"1000").map(drop);
                    let wanted = if busy { Err(EBUSY) } else { Ok(()) };
                    ensure_eq!(resized, wanted, "buffer_size_kb");
                    if let Ok(area) = &result {
                        ensure_eq!(Meta::of(area).entries, 1, "events");
                    }
                    drop(result);
                    ensure_eq!(state(&own)?, before, "state");
                    Ok(())
                },
            )?;
            ensure!(tally.refused > 0, "{kb} KiB: {tally:?}");
            drop(held);
        }
    }
    own.remove()
}

fn load_module(context: &Context) -> Check {
    let faults = Faults::new()?;
    module::umount(context)?;
    module::unload(module::NAME).map_err(|e| format!("unload: {e}"))?;
    // Its KUnit tests would run at each load that goes well.
    module::run_kunit(false)?;
    let result = load_with_faults(context, &faults);
    module::restore(context)?;
    module::run_kunit(true)?;
    result
}

fn load_with_faults(context: &Context, faults: &Faults) -> Check {
    let image = File::open(&context.module).map_err(|e| format!("module: {e}"))?;
    let events = || -> Check<String> {
        module::mount(context)?;
        let events = Tree::at(&context.root).get("available_events")?;
        module::umount(context)?;
        Ok(events)
    };
    sys::finit_module(&image, "").map_err(|e| format!("load: {e}"))?;
    let all = events()?;
    module::unload(module::NAME).map_err(|e| format!("unload: {e}"))?;
    let tally = faults.exhaust_by(
        "load",
        |n| faults.sparse(n),
        || sys::finit_module(&image, ""),
        |result| match result {
            Ok(()) => {
                let offered = events()?;
                module::unload(module::NAME).map_err(|e| format!("unload: {e}"))?;
                ensure!(offered == all, "loaded, but some events are missing");
                Ok(())
            }
            Err(_) => {
                ensure!(!module::is_loaded(module::NAME), "refused, but loaded");
                let types = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
                ensure!(!types.contains(module::FS_TYPE), "refused, but registered");
                Ok(())
            }
        },
    )?;
    println!("load: {tally:?}");
    ensure!(tally.refused > soak::rounds(5, 10), "{tally:?}");
    Ok(())
}

/// A module with an event of its own goes while it is recorded: what is enabled in its memory must
/// be off when that goes, memory or not. (It is loaded with memory: the kernel's own tracer warns
/// when it gets none then.)
fn sample_module(context: &Context) -> Check {
    const NAME: &str = "rtrace_sample";
    const EVENT: &str = "events/rtrace_sample/sample_tick";
    let faults = Faults::new()?;
    let own = Instance::new(&context.root, "rtg-faults")?;
    let image = File::open("/root/rtrace_sample.ko").map_err(|e| format!("{NAME}: {e}"))?;
    let unload = || module::unload(NAME);
    let enable = format!("{EVENT}/enable");
    let again = || -> Check {
        sys::finit_module(&image, "").map_err(|e| format!("load: {e}"))?;
        own.set(&enable, "1")
    };
    again()?;
    let tally = faults.exhaust("unload the sample", unload, |result| match result {
        Ok(()) => {
            ensure!(!own.exists(EVENT), "the event outlives its module");
            ensure_eq!(own.get("set_event")?, "", "set_event without the module");
            again()
        }
        Err(_) => Ok(()),
    })?;
    ensure!(tally.faults > 0, "{tally:?}");
    unload().map_err(|e| format!("unload: {e}"))?;
    own.remove()
}
