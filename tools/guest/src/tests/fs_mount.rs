// SPDX-License-Identifier: GPL-2.0

//! Mounting: options, several mounts of the one tree, and what a mount or an open
//! file means for unloading the module.

use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::module;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("fs.mount_options", 60, mount_options),
    test("fs.second_mount", 20, second_mount),
    test("fs.options_of_tracefs", 60, options_of_tracefs),
    test("fs.umount_keeps_instances", 20, umount_keeps_instances),
    test("fs.unload_refused", 60, unload_refused),
    test("fs.first_size", 60, first_size),
];

/// Remount options in this order; each is compared with tracefs, then the modes and owners.
const REMOUNTS: &[&str] = &[
    "gid=1000",
    "uid=1001",
    "mode=750",
    "mode=0700",
    "gid=5,uid=6",
    "gid=x",
    "gid=-2",
    "uid=4294967295",
    "mode=9",
    "mode=abc",
    "gid",
    "uid=",
    "uid=0,gid=0,mode=700",
];

fn remount(root: &Path, options: &str) -> Op {
    // The kernel does not look at the type when it changes what is mounted.
    sys::mount_fs("none", root, sys::MS_REMOUNT, options)
}

fn mount_options(context: &Context) -> Check {
    let (own, reference) = (
        Instance::new(&context.root, "rtg-own")?,
        Instance::new(&context.reference, "rtg-own")?,
    );
    let mut report = Report::default();
    let look = |root: &Path| {
        let tree = Tree::at(root);
        [
            "",
            "tracing_on",
            "instances",
            "instances/rtg-own",
            "instances/rtg-own/tracing_on",
            "options",
            "per_cpu/cpu0",
            "per_cpu/cpu0/stats",
            "trace_marker",
        ]
        .map(|path| match tree.file(path).symlink_metadata() {
            Ok(data) => format!("{path} {:o} {}:{}", data.mode(), data.uid(), data.gid()),
            Err(e) => format!("{path} {e}"),
        })
    };
    let mut step = |what: &str, found: Op, wanted: Op| {
        report.expect(found == wanted, || {
            format!("{what}: {found:?}, tracefs {wanted:?}")
        });
        for (found, wanted) in look(&context.root).iter().zip(&look(&context.reference)) {
            report.expect(found == wanted, || {
                format!("after {what}: {found}, tracefs {wanted}")
            });
        }
    };
    for options in REMOUNTS {
        step(
            options,
            remount(&context.root, options),
            remount(&context.reference, options),
        );
    }
    // A file that was given away stays so until a remount names the owner.
    for root in [&context.root, &context.reference] {
        std::os::unix::fs::chown(root.join("tracing_on"), Some(7), Some(8))
            .map_err(|e| format!("chown: {e}"))?;
    }
    for options in ["mode=700", "gid=0", "uid=0"] {
        step(
            options,
            remount(&context.root, options),
            remount(&context.reference, options),
        );
    }
    for root in [&context.root, &context.reference] {
        let _ = std::os::unix::fs::chown(root.join("tracing_on"), Some(0), Some(0));
    }
    if context.is_rtracefs() {
        let found = remount(&context.root, "nosuch=1");
        report.expect(found == Err(EINVAL), || {
            format!("unknown option: {found:?}")
        });
    }
    drop((own, reference));
    report.finish()
}

/// A second place to see the same tree.
fn second_mount(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("about mounts of rtracefs");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    let place = Path::new("/tmp/rtg-mount");
    let _ = std::fs::create_dir(place);
    sys::mount_fs(module::FS_TYPE, place, 0, "").map_err(|e| format!("second mount: {e}"))?;
    let check = || -> Check {
        let there = Tree::at(place.join("instances/rtg-own"));
        there.set("tracing_on", "0")?;
        ensure_eq!(
            own.get("tracing_on")?,
            "0\n",
            "tracing_on seen through the first mount"
        );
        std::fs::create_dir(place.join("instances/rtg-new")).map_err(|e| format!("mkdir: {e}"))?;
        let names = own.top().list("instances")?;
        ensure!(
            names.iter().any(|name| name == "rtg-new"),
            "instances: {names:?}"
        );
        std::fs::remove_dir(context.root.join("instances/rtg-new"))
            .map_err(|e| format!("rmdir: {e}"))
    };
    let result = check();
    sys::umount(place, 0).map_err(|e| format!("umount: {e}"))?;
    result
}

/// What the kernel's tracefs was mounted with stays when the module is loaded and reads there.
fn options_of_tracefs(context: &Context) -> Check {
    if !context.is_rtracefs() || !sys::traces_functions() {
        skip!("nothing is read in tracefs");
    }
    let line = || -> Check<String> {
        let mounts = std::fs::read_to_string("/proc/mounts").map_err(|e| e.to_string())?;
        let place = Some(context.reference.as_path());
        let mut lines = mounts.lines();
        let line = lines.find(|line| line.split(' ').nth(1).map(Path::new) == place);
        Ok(line.unwrap_or_default().to_string())
    };
    ensure_eq!(remount(&context.reference, "mode=711"), Ok(()), "remount");
    let look = || -> Check<[String; 2]> {
        let before = line()?;
        module::reload(context)?;
        Tree::at(&context.root).get("enabled_functions")?;
        Ok([before, line()?])
    };
    let lines = look();
    ensure_eq!(remount(&context.reference, "mode=700"), Ok(()), "remount");
    let [before, after] = lines?;
    ensure!(before.contains("mode=711"), "{before}");
    ensure_eq!(after, before, "after a look at the functions");
    Ok(())
}

fn umount_keeps_instances(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("the kernel's tracefs stays mounted");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("trace_marker", "kept")?;
    own.set("options/irq-info", "0")?;
    own.set("events/sched/sched_switch/enable", "1")?;
    own.set("events/sched/sched_switch/enable", "0")?;
    module::umount(context)?;
    ensure!(!own.exists("trace"), "the tree is visible without a mount");
    module::mount(context)?;
    ensure!(own.get("trace")?.contains("kept"), "the marker is gone");
    ensure_eq!(own.get("options/irq-info")?, "0\n", "options/irq-info");
    own.remove()
}

/// Loaded, mounted, open: the module stays until the last of them is over.
fn unload_refused(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs is no module");
    }
    let result = unload_steps(context);
    module::restore(context)?;
    result
}

fn unload_steps(context: &Context) -> Check {
    ensure_eq!(
        module::unload(module::NAME),
        Err(EAGAIN),
        "unload while mounted"
    );
    let top = Tree::at(&context.root);
    let file = top.open("tracing_on").map_err(|e| format!("open: {e}"))?;
    ensure_eq!(
        sys::umount(&context.root, 0),
        Err(EBUSY),
        "umount with a file open"
    );
    sys::umount(&context.root, sys::MNT_DETACH).map_err(|e| format!("detach: {e}"))?;
    ensure_eq!(
        module::unload(module::NAME),
        Err(EAGAIN),
        "unload with a file open"
    );
    drop(file);
    let unloaded = sys::wait_until(Duration::from_secs(10), || {
        module::unload(module::NAME).is_ok()
    });
    ensure!(
        unloaded,
        "unload after the last close: {:?}",
        module::unload(module::NAME)
    );
    let types = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    ensure!(
        !types.contains(module::FS_TYPE),
        "the file system type is still registered"
    );
    module::load(&context.module, "")?;
    module::mount(context)
}

/// Before first use the root's buffer is small and tells what it will grow to.
fn first_size(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("the kernel's own buffer has grown long ago");
    }
    module::reload(context)?;
    let top = Tree::at(&context.root);
    let cpus = sys::online_cpus();
    ensure_eq!(
        top.get("buffer_size_kb")?,
        "7 (expanded: 1408)\n",
        "buffer_size_kb"
    );
    ensure_eq!(
        top.get("per_cpu/cpu0/buffer_size_kb")?,
        "7\n",
        "per_cpu/cpu0/buffer_size_kb"
    );
    let total = format!("{} (expanded: {})\n", 7 * cpus, 1408 * cpus);
    ensure_eq!(
        top.get("buffer_total_size_kb")?,
        total,
        "buffer_total_size_kb"
    );
    top.set("events/sched/sched_switch/enable", "1")?;
    top.set("events/sched/sched_switch/enable", "0")?;
    ensure_eq!(
        top.get("buffer_size_kb")?,
        "1410\n",
        "buffer_size_kb after an event was enabled"
    );
    Ok(())
}
