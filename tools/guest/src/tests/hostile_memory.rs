// SPDX-License-Identifier: GPL-2.0

//! As many as there is memory for: instances, open files, a snapshot that does not fit, a control
//! group that may have little. What is refused changes nothing, nobody is killed, and all comes back.

use super::size::{events, markers};
use super::{test, Test};
use crate::callers;
use crate::check::Check;
use crate::errno::*;
use crate::memory::{self, meminfo_kb, oom_kills, Usage};
use crate::soak::{fewer, rounds};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("memory.hundreds_of_instances", 120, hundreds_of_instances),
    test("memory.instances_until_full", 120, instances_until_full),
    test("memory.snapshot_too_large", 60, snapshot_too_large),
    test("memory.control_group", 60, control_group),
    test("memory.open_files", 120, open_files),
    test("memory.events_of_all", 120, events_of_all),
];

/// Instance number `i`, with small buffers.
fn small(context: &Context, i: usize) -> Check<Instance> {
    let own = Instance::new(&context.root, &format!("rtg-many{i}"))?;
    own.set("buffer_size_kb", "8")?;
    Ok(own)
}

/// There is no limit but memory. Each records its own, markers and an event that is on in all.
fn hundreds_of_instances(context: &Context) -> Check {
    let count = fewer(300);
    let before = Usage::now()?;
    let all = (0..count).map(|i| small(context, i));
    let all = all.collect::<Check<Vec<_>>>()?;
    sys::pin_to(0);
    let thread = sys::thread_id();
    for (i, own) in all.iter().enumerate() {
        own.set("events/syscalls/sys_enter_getpgid/enable", "1")?;
        own.set("trace_marker", &format!("marker of {i}"))?;
    }
    let calls = 3;
    for _ in 0..calls {
        sys::call(121, [thread as usize, 0, 0, 0, 0, 0]);
    }
    for (i, own) in all.iter().enumerate() {
        let text = own.get("trace")?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let (marks, calls_of): (Vec<_>, Vec<_>) =
            lines.partition(|line| line.contains("tracing_mark_write"));
        let own_mark = format!("tracing_mark_write: marker of {i}");
        ensure!(
            marks.len() == 1 && marks[0].ends_with(&own_mark),
            "instance {i}: {marks:?}"
        );
        let task = format!("-{thread} ");
        let found = calls_of.iter().filter(|line| line.contains(&task)).count();
        ensure_eq!(found, calls, "instance {i}: calls in {text:?}");
    }
    let names = Tree::at(&context.root).list("instances")?;
    let made = names.iter().filter(|name| name.starts_with("rtg-many"));
    ensure_eq!(made.count(), count, "names in the folder");
    all.into_iter().try_for_each(Instance::remove)?;
    println!("{count} instances");
    before.expect_no_more()
}

/// Instances until there is no memory: the one that is too many is ENOMEM, and those before it work.
fn instances_until_full(context: &Context) -> Check {
    memory::steady(|| until_full(context))
}

fn until_full(context: &Context) -> Check {
    let killed = oom_kills();
    let mut all: Vec<Instance> = vec![];
    // A twentieth of what there is for each, then as many small ones as there is room for.
    let large = meminfo_kb("MemAvailable")? / 20 / sys::online_cpus() as u64;
    let mut sizes = true;
    let refused = loop {
        ensure!(all.len() < 10_000, "no end");
        let path = context
            .root
            .join(format!("instances/rtg-full{}", all.len()));
        let _ = std::fs::remove_dir(&path);
        match std::fs::create_dir(&path).map_err(Errno::from) {
            Ok(()) => {}
            Err(e) => break e,
        }
        // Of that folder, which this gives back when the test ends.
        let own = Instance::there(&context.root, path);
        if sizes {
            match own.write("buffer_size_kb", large.to_string().as_bytes()) {
                Ok(_) => {}
                Err(ENOMEM) => sizes = false,
                Err(e) => fail!("{large} KiB: {e}"),
            }
        }
        all.push(own);
    };
    ensure_eq!(refused, ENOMEM, "the one after {}", all.len());
    for own in &all {
        markers(own, 2)?;
        ensure_eq!(events(&own.get("trace")?), 2, "{}", own.shown("trace"));
    }
    ensure_eq!(oom_kills(), killed, "tasks that the OOM killer ended");
    println!("{} instances", all.len());
    all.into_iter().try_for_each(Instance::remove)
}

/// Buffers that fit once, not twice: no snapshot, all stays, and nothing is kept for it.
fn snapshot_too_large(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    if !own.exists("snapshot") {
        skip!("this kernel's tracefs has no snapshot");
    }
    markers(&own, 20)?;
    let most = meminfo_kb("MemAvailable")? * 6 / 10 / sys::online_cpus() as u64;
    own.set("buffer_size_kb", &most.to_string())?;
    for _ in 0..rounds(3, 10) {
        ensure_eq!(own.write("snapshot", b"1"), Err(ENOMEM), "a snapshot");
    }
    ensure_eq!(events(&own.get("trace")?), 20, "events afterwards");
    markers(&own, 5)?;
    ensure_eq!(
        events(&own.get("trace")?),
        25,
        "events with those recorded since"
    );
    if context.is_rtracefs() {
        let text = own.get("snapshot")?;
        ensure!(
            text.contains("is freed"),
            "the snapshot has memory: {text:?}"
        );
    }
    own.set("buffer_size_kb", "100")?;
    own.set("snapshot", "1")?;
    ensure_eq!(
        events(&own.get("snapshot")?),
        25,
        "events of a snapshot that fits"
    );
    own.remove()
}

const GROUPS: &str = "/tmp/rtg-groups";

/// Buffers are charged to the control group of the task that asks for them: with little memory it is
/// refused, no task is killed, and others are not concerned.
fn control_group(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs charges nobody");
    }
    with_groups(|groups| in_group(context, groups))
}

/// Calls `run` with the root of the control groups.
pub(super) fn with_groups(run: impl FnOnce(&Path) -> Check) -> Check {
    let groups = Path::new(GROUPS);
    let _ = std::fs::create_dir(groups);
    if sys::mount_fs("cgroup2", groups, 0, "").is_err() {
        skip!("this kernel has no control groups");
    }
    let checked = run(groups);
    sys::umount(groups, sys::MNT_DETACH).map_err(|e| format!("umount: {e}"))?;
    checked
}

fn in_group(context: &Context, groups: &Path) -> Check {
    let set = |file: &str, text: &str| -> Check {
        let path = groups.join(file);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
    };
    if set("cgroup.subtree_control", "+memory").is_err() {
        skip!("this kernel has no memory controller");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    markers(&own, 5)?;
    let before = own.get("buffer_size_kb")?;
    let killed = oom_kills();
    std::fs::create_dir(groups.join("little")).map_err(|e| format!("mkdir: {e}"))?;
    set("little/memory.max", "16M")?;
    set("little/cgroup.procs", "0")?;
    let inside = || -> Check {
        ensure_eq!(own.write("buffer_size_kb", b"40000"), Err(ENOMEM), "40 MB");
        ensure_eq!(own.get("buffer_size_kb")?, before, "the size afterwards");
        ensure_eq!(events(&own.get("trace")?), 5, "events afterwards");
        own.set("buffer_size_kb", "1000")?;
        own.set("snapshot", "1")?;
        own.set("snapshot", "0")
    };
    let checked = inside();
    set("cgroup.procs", "0")?;
    checked?;
    let events = std::fs::read_to_string(groups.join("little/memory.events")).unwrap_or_default();
    ensure!(events.contains("oom_kill 0"), "{events:?}");
    ensure_eq!(oom_kills(), killed, "tasks that the OOM killer ended");
    own.set("buffer_size_kb", "40000")?;
    own.remove()?;
    // What was charged may go a little later.
    let gone = sys::wait_until(Duration::from_secs(5), || {
        std::fs::remove_dir(groups.join("little")).is_ok()
    });
    ensure!(gone, "the group stays");
    set("cgroup.subtree_control", "-memory")
}

/// Thousands of open files of one instance, each read: all memory comes back.
fn open_files(context: &Context) -> Check {
    let count = fewer(rounds(600, 4000));
    callers::allow_files(count as u64 + 1000).map_err(|e| format!("a limit: {e}"))?;
    memory::steady(|| {
        let own = Instance::new(&context.root, "rtg-own")?;
        markers(&own, 200)?;
        for name in [
            "trace",
            "per_cpu/cpu0/trace_pipe_raw",
            "events/sched/sched_switch/format",
            "trace_pipe",
        ] {
            if name == "trace_pipe" {
                if !own.exists("options/pipe-share") {
                    continue;
                }
                own.set("options/pipe-share", "1")?;
            }
            let mut files = vec![];
            for i in 0..count {
                let file = own.open_nonblock(name);
                let mut file = file.map_err(|e| format!("{name}, number {i}: {e}"))?;
                // A consumer that comes too late finds nothing.
                match file.read(&mut [0; 100]).map_err(Errno::from) {
                    Ok(_) | Err(EAGAIN) => files.push(file),
                    Err(e) => fail!("{name}, number {i}: {e}"),
                }
            }
            ensure_eq!(
                std::fs::remove_dir(own.path()).map_err(Errno::from),
                Err(EBUSY),
                "rmdir with {name} open {count} times"
            );
        }
        own.remove()
    })
}

/// An event whose one probe serves all instances is on in 65 of them at most; one more is refused, and
/// can be had when another has it no more.
fn events_of_all(context: &Context) -> Check {
    const MOST: usize = 65;
    if !context.is_rtracefs() {
        skip!("about a limit of rtrace");
    }
    let top = Tree::at(&context.root);
    top.set("synthetic_events", "rtg_all u64 number")?;
    let check = || -> Check {
        let file = "events/synthetic/rtg_all/enable";
        let all = (0..=MOST).map(|i| small(context, i));
        let all = all.collect::<Check<Vec<_>>>()?;
        for own in &all[..MOST] {
            own.set(file, "1")?;
        }
        let last = &all[MOST];
        ensure_eq!(last.write(file, b"1"), Err(ENOSPC), "one more");
        ensure_eq!(last.get(file)?, "0\n", "that one");
        all[7].set(file, "0")?;
        last.set(file, "1")?;
        all.into_iter().try_for_each(Instance::remove)
    };
    let checked = check();
    top.write("synthetic_events", b"!rtg_all")
        .map_err(|e| format!("removing the event: {e}"))?;
    checked
}
