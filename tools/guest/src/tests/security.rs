// SPDX-License-Identifier: GPL-2.0

//! Which users may see a trace: other users, members of the group, root of a container, a
//! machine that is locked down, mappings.

use super::files::{self, Access, Scope};
use super::{like, test, Test};
use crate::callers;
use crate::check::{Check, Report};
use crate::errno::*;
use crate::module;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::OpenOptions;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub const TESTS: &[Test] = &[
    test("security.other_users", 60, other_users),
    test("security.container_root", 30, container_root),
    test("security.mount_matrix", 60, mount_matrix),
    test("security.whole_tree", 120, whole_tree),
    test("security.no_mapping", 30, no_mapping),
];

/// What cannot be undone.
pub const LAST: &[Test] = &[test("last.lockdown", 60, lockdown)];

/// Options and events that each instance has; the walk below must come by these and by all files.
const OF_EACH: &[&str] = &[
    "options/hash-ptr",
    "options/sym-addr",
    "options/pipe-share",
    "options/event-counts",
    "events/syscalls/sys_enter_read/enable",
    "events/ftrace/print/format",
];

/// Folders of events by the hundred, all made alike.
const LARGE: &[&str] = &["net", "btrfs", "xfs", "ext4", "irq_vectors"];

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

/// All paths of the tree and of the instance in it.
fn paths(context: &Context, own: &Tree, skipped: &[&str]) -> Check<Vec<PathBuf>> {
    let mut found = vec![context.root.clone()];
    walk(&context.root, skipped, &mut found)?;
    let top = Tree::at(&context.root);
    let files = files::all().map(|f| (f.of("sched/sched_switch"), f.scope));
    for (name, scope) in files.chain(OF_EACH.iter().map(|n| (n.to_string(), Scope::Each))) {
        let trees: &[&Tree] = match scope {
            Scope::Each => &[&top, own],
            Scope::Top => &[&top],
        };
        for tree in trees {
            let path = match context.is_rtracefs() {
                true => tree.file(&name),
                false => tree.file(&like(&name)),
            };
            ensure!(found.contains(&path), "nobody came by {}", path.display());
        }
    }
    Ok(found)
}

/// Returns who may do what with a file of the top folder or of an instance, if it is one of rtracefs'.
fn access(context: &Context, path: &Path) -> Option<Access> {
    let path = path.strip_prefix(&context.root).ok()?.to_str()?;
    let path = match path.strip_prefix("instances/") {
        Some(inside) => inside.split_once('/')?.1,
        None => path,
    };
    files::at(path).map(|file| file.access)
}

/// Opens a path, without waiting and without changing anything.
fn open(path: &Path, reads: bool, writes: bool) -> Op {
    let file = OpenOptions::new()
        .read(reads)
        .write(writes)
        .custom_flags(sys::O_NONBLOCK)
        .open(path);
    Ok(file.map(drop)?)
}

/// What became of opening a path.
struct Tried {
    path: PathBuf,
    mode: u32,
    reading: Op,
    /// Folders are not tried.
    writing: Option<Op>,
}

/// Opens as `uid` and `gid`, in a thread of their own.
fn open_as(uid: u32, gid: u32, paths: &[PathBuf]) -> Check<Vec<Tried>> {
    let known = |path: &PathBuf| {
        (
            path.clone(),
            path.symlink_metadata().map_or(0, |d| d.mode()),
        )
    };
    let paths: Vec<_> = paths.iter().map(known).collect();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || -> Check<Vec<Tried>> {
            callers::become_user(uid, gid).map_err(|e| format!("setresuid: {e}"))?;
            let tried = |(path, mode): (PathBuf, u32)| Tried {
                reading: open(&path, true, false),
                writing: (mode & 0o170000 != 0o040000).then(|| open(&path, false, true)),
                path,
                mode,
            };
            Ok(paths.into_iter().map(tried).collect())
        });
        worker
            .join()
            .unwrap_or_else(|_| Err("the thread died".into()))
    })
}

fn remount(context: &Context, options: &str) -> Check {
    sys::mount_fs("none", &context.root, sys::MS_REMOUNT, options)
        .map_err(|e| format!("remount {options}: {e}"))
}

/// Only root opens files; a member of the group that a mount names reads what is readable,
/// writes markers and nothing else, and no other user gains by that.
fn other_users(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let paths = paths(context, &own, LARGE)?;
    let mut report = Report::default();
    let nobody = |report: &mut Report| -> Check {
        for tried in open_as(65534, 65534, &paths)? {
            let refused = |result: Op| result == Err(EACCES);
            report.expect(
                refused(tried.reading) && tried.writing.is_none_or(refused),
                || {
                    format!(
                        "nobody opens {}: {:?}, for writing {:?}",
                        tried.path.display(),
                        tried.reading,
                        tried.writing
                    )
                },
            );
        }
        Ok(())
    };
    nobody(&mut report)?;
    remount(context, "gid=1000,mode=750")?;
    let check = |report: &mut Report| -> Check {
        let mut readable = 0;
        for tried in open_as(65534, 1000, &paths)? {
            readable += usize::from(tried.reading.is_ok());
            report.expect(
                (tried.reading == Err(EACCES)) == (tried.mode & 0o040 == 0),
                || {
                    format!(
                        "a member opens {} ({:o}): {:?}",
                        tried.path.display(),
                        tried.mode,
                        tried.reading
                    )
                },
            );
            // What is shown, and with what in it, is for the owner to say; markers are no more than that.
            let marks = access(context, &tried.path) == Some(Access::Append);
            let wanted = match marks {
                true => Ok(()),
                false => Err(EACCES),
            };
            report.expect(tried.writing.is_none_or(|result| result == wanted), || {
                format!(
                    "a member opens {} ({:o}) for writing: {:?}",
                    tried.path.display(),
                    tried.mode,
                    tried.writing
                )
            });
        }
        ensure!(
            readable > 100,
            "a member of the group reads only {readable} files"
        );
        nobody(report)
    };
    let result = check(&mut report);
    remount(context, "gid=0,mode=700")?;
    result?;
    println!("{} paths", paths.len());
    drop(own);
    report.finish()
}

/// A remount that names an owner names that of everything: what is there, in instances too, and what
/// is made later. Modes stay as they are, but for the top folder.
fn whole_tree(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs makes the folders of events while one looks");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    let paths = paths(context, &own, &[])?;
    let mode_of = |path: &PathBuf| path.symlink_metadata().map_or(0, |data| data.mode());
    let modes: Vec<_> = paths.iter().map(mode_of).collect();
    let mut report = Report::default();
    let mut step = |options: &str, uid: u32, gid: u32, top: u32| -> Check {
        remount(context, options)?;
        let later = Instance::new(&context.root, "rtg-later")?;
        let mut made = vec![];
        walk(later.path(), &[], &mut made)?;
        ensure!(
            made.len() > 1000,
            "only {} paths in an instance",
            made.len()
        );
        let old = paths.iter().zip(modes.iter().map(|mode| Some(*mode)));
        let new = made.iter().map(|path| (path, None));
        for (path, mode) in old.chain(new) {
            let data = path
                .symlink_metadata()
                .map_err(|e| format!("{}: {e}", path.display()))?;
            let wanted = match *path == context.root {
                true => 0o040000 | top,
                false => mode.unwrap_or(data.mode()),
            };
            let found = (data.uid(), data.gid(), data.mode());
            report.expect(found == (uid, gid, wanted), || {
                format!(
                    "after {options:?}: {} is {}:{} {:o}, not {uid}:{gid} {wanted:o}",
                    path.display(),
                    found.0,
                    found.1,
                    found.2
                )
            });
            report.expect(data.mode() & 0o007 == 0, || {
                format!("after {options:?}: others may use {}", path.display())
            });
        }
        later.remove()
    };
    let result = [
        ("uid=1001,gid=1002,mode=750", 1001, 1002, 0o750),
        ("gid=7", 1001, 7, 0o750),
        ("mode=700", 1001, 7, 0o700),
        ("uid=0", 0, 7, 0o700),
    ]
    .into_iter()
    .try_for_each(|(options, uid, gid, top)| step(options, uid, gid, top));
    let back = step("uid=0,gid=0,mode=700", 0, 0, 0o700);
    result.and(back)?;
    println!("{} paths", paths.len());
    report.finish()
}

/// Root of a user namespace has no rights here: no mount, no file.
fn container_root(context: &Context) -> Check {
    let place = Path::new("/tmp/rtg-container");
    let _ = std::fs::create_dir(place);
    // In a child, which becomes the user `nobody` and then root of a namespace of its own. What goes wrong on
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

/// No file but `trace_pipe_raw` can be mapped, in whole or in part, in any way.
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

/// Under confidentiality nothing opens, in no way, nothing is made, mounted or mapped; what was opened
/// before goes on, as in tracefs. Options of tracefs say ENODEV instead of EPERM. This cannot be undone,
/// so it is the last test.
fn lockdown(context: &Context) -> Check {
    let file = "/sys/kernel/security/lockdown";
    let _ = sys::mount_fs("securityfs", "/sys/kernel/security".as_ref(), 0, "");
    if !Path::new(file).exists() {
        skip!("this kernel has no lockdown");
    }
    let own = Instance::new(&context.root, "rtg-locked")?;
    own.set("trace_marker", "kept")?;
    let paths = paths(context, &own, LARGE)?;
    let before = own.open("trace").map_err(|e| format!("trace: {e}"))?;
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
        let reads = data.mode() & 0o400 != 0;
        let ways: &[(bool, bool)] = match context.is_rtracefs() {
            // Root may open what its mode forbids.
            true => &[(true, false), (false, true), (true, true)],
            false => &[(reads, !reads)],
        };
        for (reads, writes) in ways {
            let found = open(path, *reads, *writes);
            let quirk = found == Err(ENODEV) && !context.is_rtracefs();
            report.expect(found == Err(EPERM) || quirk, || {
                format!("open {} ({reads}, {writes}): {found:?}", path.display())
            });
        }
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
        ensure_eq!(
            own.write_truncating("trace", b"").map(drop),
            Err(EPERM),
            "emptying"
        );
    }
    let text = std::io::read_to_string(before).map_err(|e| format!("trace: {e}"))?;
    ensure!(text.contains("kept"), "an open file shows {text:?}");
    drop((raw, own));
    report.finish()
}
