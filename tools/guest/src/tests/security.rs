// SPDX-License-Identifier: GPL-2.0

//! Who may see a trace, and who may not: other users, members of the group, root of a container, a
//! machine that is locked down, mappings.

use super::{test, Test};
use crate::callers;
use crate::check::{Check, Report};
use crate::errno::*;
use crate::module;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub const TESTS: &[Test] = &[
    test("security.other_users", 60, other_users),
    test("security.container_root", 30, container_root),
    test("security.mount_matrix", 60, mount_matrix),
    test("security.no_mapping", 30, no_mapping),
];

/// What cannot be undone.
pub const LAST: &[Test] = &[test("last.lockdown", 60, lockdown)];

/// Every path below `folder`, without what is below `skipped`.
fn walk(folder: &Path, skipped: &[&str], found: &mut Vec<PathBuf>) -> Check {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if entry.file_type().is_ok_and(|t| t.is_dir()) && !skipped.iter().any(|s| name == **s) {
            walk(&path, skipped, found)?;
        }
        found.push(path);
    }
    Ok(())
}

fn paths(context: &Context) -> Check<Vec<PathBuf>> {
    let mut found = vec![context.root.clone()];
    // Thousands of files of events are all made alike.
    walk(
        &context.root,
        &["net", "btrfs", "xfs", "ext4", "irq_vectors"],
        &mut found,
    )?;
    Ok(found)
}

/// Opens as `uid` and `gid`, in a thread of their own; how often each answer came.
fn open_as(uid: u32, gid: u32, paths: &[PathBuf]) -> Check<Vec<(PathBuf, Op)>> {
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || -> Check<Vec<(PathBuf, Op)>> {
            callers::become_user(uid, gid).map_err(|e| format!("setresuid: {e}"))?;
            let open = |path: &PathBuf| {
                let result = Tree::at(path).open_nonblock("").map(drop);
                (path.clone(), result)
            };
            Ok(paths.iter().map(open).collect())
        });
        worker
            .join()
            .unwrap_or_else(|_| Err("the thread died".into()))
    })
}

/// Nobody but root opens anything; a member of the group that a mount names reads what is readable,
/// and nobody else gains by that.
fn other_users(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let paths = paths(context)?;
    let mut report = Report::default();
    for (path, result) in open_as(65534, 65534, &paths)? {
        report.expect(result == Err(EACCES), || {
            format!("nobody opens {}: {result:?}", path.display())
        });
    }
    let remount = |options| {
        sys::mount_fs("none", &context.root, sys::MS_REMOUNT, options)
            .map_err(|e| format!("remount {options}: {e}"))
    };
    remount("gid=1000,mode=750")?;
    let check = |report: &mut Report| -> Check {
        let mut readable = 0;
        for (path, result) in open_as(65534, 1000, &paths)? {
            let mode = path.symlink_metadata().map_or(0, |data| data.mode());
            readable += usize::from(result.is_ok());
            report.expect((result == Err(EACCES)) == (mode & 0o040 == 0), || {
                format!("a member opens {} ({mode:o}): {result:?}", path.display())
            });
        }
        ensure!(
            readable > 100,
            "a member of the group reads only {readable} files"
        );
        for (path, result) in open_as(65534, 65534, &paths)? {
            report.expect(result == Err(EACCES), || {
                format!("another opens {}: {result:?}", path.display())
            });
        }
        Ok(())
    };
    let result = check(&mut report);
    remount("gid=0,mode=700")?;
    result?;
    println!("{} paths", paths.len());
    drop(own);
    report.finish()
}

/// Root of a user namespace is nobody here: no mount, no file.
fn container_root(context: &Context) -> Check {
    let place = Path::new("/tmp/rtg-container");
    let _ = std::fs::create_dir(place);
    // In a child, which becomes nobody and then root of a namespace of its own. What goes wrong on
    // the way to its program is the error of the start.
    let inside = |attempt: fn(&Path, &Path) -> Op| -> Op {
        let (place, root) = (place.to_path_buf(), context.root.clone());
        let mut child = Command::new("/proc/self/exe");
        // SAFETY: The process has one thread: the child may allocate.
        unsafe {
            child.pre_exec(move || {
                let prepared = callers::become_user(65534, 65534);
                let prepared = prepared.and_then(|()| callers::new_user_namespace());
                if prepared.is_err() {
                    return Err(std::io::Error::from_raw_os_error(ENOSPC.0));
                }
                attempt(&place, &root).map_err(|e| std::io::Error::from_raw_os_error(e.0))
            });
        }
        let status = child.arg("--list").stdout(Stdio::null()).status();
        status.map(drop).map_err(Errno::from)
    };
    let ready = inside(|_, _| Ok(()));
    ensure_eq!(ready, Ok(()), "a user namespace");
    let mounted = inside(|place, _| sys::mount_fs(module::FS_TYPE, place, 0, ""));
    ensure_eq!(mounted, Err(EPERM), "a mount in a user namespace");
    let opened = inside(|_, root| Tree::at(root).open("trace").map(drop));
    ensure_eq!(opened, Err(EACCES), "open in a user namespace");
    Ok(())
}

/// Further mounts with options: both trees change alike, for what is there and what is made later.
fn mount_matrix(context: &Context) -> Check {
    let places = [
        Path::new("/tmp/rtg-mount-own"),
        Path::new("/tmp/rtg-mount-ref"),
    ];
    let trees = [&context.root, &context.reference];
    let types = [module::FS_TYPE, "tracefs"];
    let mut report = Report::default();
    let look = |root: &Path| {
        let paths = [
            "",
            "trace",
            "instances",
            "instances/rtg-mount",
            "instances/rtg-mount/trace",
            "instances/rtg-mount/per_cpu/cpu0/stats",
            "options/overwrite",
        ];
        paths.map(|path| match root.join(path).symlink_metadata() {
            Ok(data) => format!("{path} {:o} {}:{}", data.mode(), data.uid(), data.gid()),
            Err(e) => format!("{path} {e}"),
        })
    };
    for place in places {
        let _ = std::fs::create_dir(place);
    }
    for options in [
        "",
        "gid=7",
        "uid=8,mode=710",
        "",
        "mode=700",
        "gid=x",
        "uid=0,gid=0,mode=700",
    ] {
        let mut results = vec![];
        for ((place, tree), kind) in places.iter().zip(trees).zip(types) {
            let mounted = sys::mount_fs(kind, place, 0, options);
            let instance = tree.join("instances/rtg-mount");
            let made = std::fs::create_dir(&instance).map_err(Errno::from);
            results.push((
                mounted,
                made,
                look(tree),
                mounted.is_ok().then(|| look(place)),
            ));
            let _ = std::fs::remove_dir(&instance);
            if mounted.is_ok() {
                sys::umount(place, 0).map_err(|e| format!("umount: {e}"))?;
            }
        }
        report.expect(results[0] == results[1], || {
            format!(
                "mount -o {options:?}: {:?}, tracefs {:?}",
                results[0], results[1]
            )
        });
    }
    report.finish()
}

/// No file but `trace_pipe_raw` can be mapped, whatever part of it and however.
fn no_mapping(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs has files that can be mapped");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("trace_marker", "hello")?;
    let pages = [0, 1, 2, 0xff, 0xf_ffff];
    let offsets = [0, 1, 2, 0x7fff_ffff, i64::MAX >> 12, -1];
    for name in [
        "trace",
        "trace_pipe",
        "per_cpu/cpu0/trace_pipe",
        "per_cpu/cpu0/snapshot_raw",
        "tracing_on",
        "trace_marker",
    ] {
        let file = std::fs::OpenOptions::new()
            .read(name != "trace_marker")
            .write(!name.contains("pipe") && !name.contains("raw"))
            .open(own.file(name))
            .map_err(|e| format!("{name}: {e}"))?;
        for (pages, offset) in pages.iter().flat_map(|p| offsets.map(|o| (*p, o))) {
            for (writable, shared) in [(false, false), (false, true), (true, false), (true, true)] {
                let result = callers::map(&file, pages, offset, writable, shared);
                let refused = matches!(result, Err(ENODEV | EACCES | EINVAL | EOVERFLOW | ENOMEM));
                ensure!(refused, "{name}: {pages} pages from {offset}: {result:?}");
            }
        }
    }
    Ok(())
}

/// Under confidentiality nothing opens, nothing is made and nothing mounted; options of tracefs say
/// ENODEV instead of EPERM. This cannot be undone, so it is the last test.
fn lockdown(context: &Context) -> Check {
    let file = "/sys/kernel/security/lockdown";
    let _ = sys::mount_fs("securityfs", "/sys/kernel/security".as_ref(), 0, "");
    if !Path::new(file).exists() {
        skip!("this kernel has no lockdown");
    }
    let own = Instance::new(&context.root, "rtg-locked")?;
    let paths = paths(context)?;
    let raw = own.open_nonblock("per_cpu/cpu0/trace_pipe_raw");
    let raw = raw.map_err(|e| format!("trace_pipe_raw: {e}"))?;
    std::fs::write(file, "confidentiality").map_err(|e| format!("{file}: {e}"))?;
    let mut report = Report::default();
    let mut files = 0;
    for path in &paths {
        let Ok(data) = path.symlink_metadata() else {
            continue;
        };
        if data.is_dir() {
            continue;
        }
        let tree = Tree::at(path);
        let found = match data.mode() & 0o400 {
            0 => tree.open_write("").map(drop),
            _ => tree.open_nonblock("").map(drop),
        };
        let quirk = found == Err(ENODEV) && !context.is_rtracefs();
        report.expect(found == Err(EPERM) || quirk, || {
            format!("open {}: {found:?}, not EPERM", path.display())
        });
        files += 1;
    }
    println!("{files} files");
    ensure!(files > 100, "only {files} files");
    if context.is_rtracefs() {
        let mapped = callers::map(&raw, 1, 0, false, true);
        ensure_eq!(mapped, Err(EPERM), "a file that was open is mapped");
        let made = std::fs::create_dir(context.root.join("instances/rtg-new")).map_err(Errno::from);
        ensure_eq!(made, Err(EPERM), "mkdir");
        let place = Path::new("/tmp/rtg-locked");
        let _ = std::fs::create_dir(place);
        let mounted = sys::mount_fs(module::FS_TYPE, place, 0, "");
        ensure_eq!(mounted, Err(EPERM), "mount");
    }
    drop((raw, own));
    report.finish()
}
