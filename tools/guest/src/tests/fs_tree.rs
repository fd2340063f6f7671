// SPDX-License-Identifier: GPL-2.0

//! What is in the tree, with which modes and owners, and what the file system
//! lets one do with names: only `instances` takes mkdir and rmdir.

use super::files::{self, Scope};
use super::trees::{is_not_built, is_own, OF_THE_TOP};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{symlink, MetadataExt, OpenOptionsExt};
use std::path::Path;

pub const TESTS: &[Test] = &[
    test("fs.tree", 60, tree),
    test("fs.modes", 60, modes),
    test("fs.names", 60, names),
    test("fs.instance_names", 30, instance_names),
    test("fs.instance_state", 30, instance_state),
    test("fs.busy", 60, busy),
    test("fs.gone", 20, gone),
];

/// The mode bits of users that are neither the owner nor in the group.
const OTHERS: u32 = 0o7;

/// Folders of every instance, and options that each has.
const EVERYWHERE: &[&str] = &[
    "events",
    "options",
    "options/overwrite",
    "options/irq-info",
    "options/context-info",
    "options/markers",
    "options/record-tgid",
    "options/annotate",
    "per_cpu/cpu0",
];

/// The same of the root alone.
const TOP_ONLY: &[&str] = &["instances", "options/record-cmd"];

/// All paths below a folder of a tree, without what the instances hold.
pub fn walk(tree: &Tree, folder: &str, found: &mut Vec<String>) -> Check {
    for name in tree.list(folder)? {
        let path = if folder.is_empty() {
            name
        } else {
            format!("{folder}/{name}")
        };
        let is_folder = tree
            .file(&path)
            .symlink_metadata()
            .is_ok_and(|m| m.is_dir());
        if is_folder && path != "instances" {
            walk(tree, &path, found)?;
        }
        found.push(path);
    }
    Ok(())
}

fn tree(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let top = own.top();
    let mut report = Report::default();
    let folders = |names: &'static [&str], scope| names.iter().map(move |n| (n.to_string(), scope));
    let files = files::all().map(|f| (f.of("sched/sched_switch"), f.scope));
    for (name, scope) in files
        .filter(|(name, _)| {
            let differs = is_own(name) || is_not_built(name) || OF_THE_TOP.contains(&name.as_str());
            context.is_rtracefs() || !differs
        })
        .chain(folders(EVERYWHERE, Scope::Each))
        .chain(folders(TOP_ONLY, Scope::Top))
    {
        report.expect(top.exists(&name), || format!("no {}", top.shown(&name)));
        report.expect(own.exists(&name) == (scope == Scope::Each), || {
            format!("{} is of {scope:?}", own.shown(&name))
        });
    }
    for cpu in 0..sys::online_cpus() {
        report.expect(own.exists(&format!("per_cpu/cpu{cpu}/trace")), || {
            format!("no cpu{cpu}")
        });
    }
    // Every event that is offered has its three files.
    for line in top.get("available_events")?.lines() {
        for file in ["enable", "format", "id"] {
            let path = format!("events/{}/{file}", line.replace(':', "/"));
            report.expect(own.exists(&path), || format!("no {}", own.shown(&path)));
        }
    }
    report.finish()
}

/// What in tracefs is of the same kind: it has no raw events, nor those of osnoise, but a system and an event
/// like them.
fn like(path: &str) -> String {
    let inside = path.strip_prefix("events/raw");
    let inside = match inside.or_else(|| path.strip_prefix("events/osnoise")) {
        Some(inside) if inside.is_empty() || inside.starts_with('/') => inside,
        _ => return super::like(path),
    };
    match inside.splitn(3, '/').collect::<Vec<_>>()[..] {
        ["", _, file] => super::like(&format!("events/sched/sched_switch/{file}")),
        ["", name] if !["enable", "filter"].contains(&name) => "events/sched/sched_switch".into(),
        _ => format!("events/sched{inside}"),
    }
}

/// Type, mode and owner of everything are those of the same path in tracefs. Only that tracefs
/// opens the folders of events to others is not taken over: nothing of rtracefs is.
fn modes(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let reference = Instance::new(&context.reference, "rtg-ref")?;
    let global = reference.top();
    let mut report = Report::default();
    let mut count = 0;
    for (own, reference) in [
        (&own.top(), &reference.top()),
        (&own as &Tree, &reference as &Tree),
    ] {
        let mut paths = vec![String::new()];
        walk(own, "", &mut paths)?;
        for path in paths {
            let look = |tree: &Tree, path: &str| -> Op<(String, u32, u32)> {
                let data = tree.file(path).symlink_metadata()?;
                Ok((
                    format!("{:o}", data.mode() & !OTHERS),
                    data.uid(),
                    data.gid(),
                ))
            };
            // What every instance of rtracefs has and of tracefs only the top.
            let of_the_top = OF_THE_TOP.contains(&path.as_str());
            let reference = if of_the_top { &global } else { reference };
            let (found, wanted) = (look(own, &path), look(reference, &like(&path)));
            report.expect(found == wanted || is_not_built(&path), || {
                format!("{}: {found:?}, tracefs {wanted:?}", own.shown(&path))
            });
            let others = own
                .file(&path)
                .symlink_metadata()
                .map_or(0, |data| data.mode() & OTHERS);
            report.expect(others == 0 || !context.is_rtracefs(), || {
                format!("{}: open to others", own.shown(&path))
            });
            count += 1;
        }
    }
    println!("{count} paths");
    report.finish()
}

/// Something done to a path below the root.
type Operation = fn(&Path, &str) -> std::io::Result<()>;

/// Everything that one may try with a name.
fn names(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let reference = Instance::new(&context.reference, "rtg-own")?;
    let mut report = Report::default();
    let operations: &[(&str, Operation)] = &[
        ("mkdir", |root, path| std::fs::create_dir(root.join(path))),
        ("rmdir", |root, path| std::fs::remove_dir(root.join(path))),
        ("unlink", |root, path| std::fs::remove_file(root.join(path))),
        ("create", |root, path| {
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(root.join(path))
                .map(drop)
        }),
        ("symlink", |root, path| symlink("trace", root.join(path))),
        ("link", |root, path| {
            std::fs::hard_link(root.join("trace"), root.join(path))
        }),
        ("rename from", |root, path| {
            std::fs::rename(root.join(path), root.join("instances/rtg-new"))
        }),
        ("rename to", |root, path| {
            std::fs::rename(root.join("instances/rtg-own"), root.join(path))
        }),
        ("mkfifo", |root, path| {
            sys::make_fifo(&root.join(path)).map_err(|e| std::io::Error::from_raw_os_error(e.0))
        }),
        ("truncate a folder", |root, path| {
            OpenOptions::new()
                .write(true)
                .truncate(true)
                .open(root.join(path).join(".."))
                .map(drop)
        }),
    ];
    // Each is a new name in its folder, or one that is there and must stay.
    let paths = [
        "rtg-new",
        "events/rtg-new",
        "options/rtg-new",
        "per_cpu/rtg-new",
        "instances/rtg-own/rtg-new",
        "instances/rtg-own/events/rtg-new",
        "instances/rtg-own",
        "trace",
        "events",
        "instances",
        "instances/rtg-own/trace",
        "instances/rtg-own/options",
        "instances/rtg-none/rtg-new",
        "trace/rtg-new",
    ];
    for path in paths {
        for (name, operation) in operations {
            // It is busy-free and would go: the test needs it.
            if path == "instances/rtg-own" && *name == "rmdir" {
                continue;
            }
            let run = |root: &Path| operation(root, path).map_err(Errno::from);
            let (found, wanted) = (run(&context.root), run(&context.reference));
            report.expect(found == wanted, || {
                format!("{name} {path}: {found:?}, tracefs {wanted:?}")
            });
        }
    }
    drop((own, reference));
    report.finish()
}

fn instance_names(context: &Context) -> Check {
    let instances = context.root.join("instances");
    let mkdir = |name: &str| std::fs::create_dir(instances.join(name)).map_err(Errno::from);
    let rmdir = |name: &str| std::fs::remove_dir(instances.join(name)).map_err(Errno::from);
    let mut report = Report::default();
    for name in ["a", "rtg-A_z.9", "..a", "-", &"n".repeat(60)[..]] {
        for (what, result, wanted) in [
            ("mkdir", mkdir(name), Ok(())),
            ("second mkdir", mkdir(name), Err(EEXIST)),
            ("rmdir", rmdir(name), Ok(())),
            ("second rmdir", rmdir(name), Err(ENOENT)),
            ("mkdir again", mkdir(name), Ok(())),
            ("rmdir again", rmdir(name), Ok(())),
        ] {
            report.expect(result == wanted, || {
                format!("{what} {name}: {result:?}, not {wanted:?}")
            });
        }
    }
    for (name, wanted) in [
        (".", EEXIST),
        ("..", EEXIST),
        (&"n".repeat(256)[..], ENAMETOOLONG),
    ] {
        let found = mkdir(name);
        report.expect(found == Err(wanted), || {
            format!("mkdir {name}: {found:?}, not {wanted}")
        });
    }
    if context.is_rtracefs() {
        // Names reach logs and other files: rtracefs takes only plain ones.
        for name in [
            "with space",
            "new\nline",
            "tab\t",
            "\u{e9}",
            "a*",
            "a:b",
            "\u{1b}[31m",
        ] {
            let found = mkdir(name);
            report.expect(found == Err(EINVAL), || {
                format!("mkdir {name:?}: {found:?}, not EINVAL")
            });
            let _ = rmdir(name);
        }
        for (letters, wanted) in [
            (63, Ok(())),
            (64, Ok(())),
            (65, Err(ENAMETOOLONG)),
            (255, Err(ENAMETOOLONG)),
            (256, Err(ENAMETOOLONG)),
            (4000, Err(ENAMETOOLONG)),
        ] {
            let name = "n".repeat(letters);
            let (found, gone) = (mkdir(&name), rmdir(&name));
            let same = gone.is_ok() == wanted.is_ok();
            report.expect(found == wanted && same, || {
                format!("{letters} letters: mkdir {found:?}, rmdir {gone:?}, not {wanted:?}")
            });
        }
    }
    report.finish()
}

/// Instances do not share what belongs to each.
fn instance_state(context: &Context) -> Check {
    let one = Instance::new(&context.root, "rtg-one")?;
    let two = Instance::new(&context.root, "rtg-two")?;
    let top = one.top();
    let files = [
        "tracing_on",
        "buffer_size_kb",
        "trace_clock",
        "options/markers",
        "events/sched/enable",
    ];
    let look = |tree: &Tree| {
        files
            .iter()
            .map(|file| tree.get(file))
            .collect::<Check<Vec<_>>>()
    };
    let (before_two, before_top) = (look(&two)?, look(&top)?);
    one.set("trace_marker", "only in one")?;
    one.set("events/sched/sched_switch/enable", "1")?;
    one.set("buffer_size_kb", "100")?;
    one.set("options/markers", "0")?;
    one.set("trace_clock", "mono")?;
    one.set("tracing_on", "0")?;
    ensure_eq!(look(&two)?, before_two, "another instance");
    ensure_eq!(look(&top)?, before_top, "the root");
    for tree in [&two as &Tree, &top] {
        ensure!(
            !tree.get("trace")?.contains("only in one"),
            "the marker is in {}",
            tree.shown("trace")
        );
    }
    Ok(())
}

/// Files of an instance that tracefs, too, counts as use of it.
const BUSY_IN_TRACEFS: &[&str] = &[
    "trace",
    "trace_pipe",
    "tracing_on",
    "per_cpu/cpu0/trace_pipe_raw",
    "trace_clock",
    "set_event",
];

/// An instance with any of its files open cannot be removed.
fn busy(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let mut report = Report::default();
    let mut paths = Vec::new();
    walk(&own, "", &mut paths)?;
    let mut opened = 0;
    for path in paths {
        let Ok(data) = own.file(&path).symlink_metadata() else {
            continue;
        };
        let many = path.starts_with("events/") && !path.starts_with("events/sched/sched_s");
        let left_out = many && path.matches('/').count() > 1;
        let counts = context.is_rtracefs() || BUSY_IN_TRACEFS.contains(&path.as_str());
        if data.is_dir() || left_out || !counts {
            continue;
        }
        let readable = data.mode() & 0o400 != 0;
        let file = if readable {
            own.open_nonblock(&path)
        } else {
            own.open_write(&path)
        };
        let file = file.map_err(|e| format!("open {path}: {e}"))?;
        let result = std::fs::remove_dir(own.path()).map_err(Errno::from);
        report.expect(result == Err(EBUSY), || {
            format!("rmdir with {path} open: {result:?}")
        });
        opened += 1;
        drop(file);
        if result.is_ok() {
            report.collect(std::fs::create_dir(own.path()).map_err(|e| format!("mkdir: {e}")));
        }
    }
    ensure!(
        opened >= BUSY_IN_TRACEFS.len(),
        "only {opened} files opened"
    );
    report.collect(own.remove());
    report.finish()
}

/// A file whose instance went away, still held by a descriptor that is not an open: ENODEV.
fn gone(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let mut held = Vec::new();
    let more: &[&str] = if context.is_rtracefs() {
        &[
            "options/overwrite",
            "events/sched/enable",
            "events/sched/sched_switch/enable",
            "trace_marker",
        ]
    } else {
        &[]
    };
    let files = [
        "tracing_on",
        "trace",
        "trace_pipe",
        "per_cpu/cpu0/stats",
        "buffer_size_kb",
    ];
    for path in files.iter().chain(more) {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(sys::O_PATH)
            .open(own.file(path));
        held.push((path, file.map_err(|e| format!("{path}: {e}"))?));
    }
    own.remove()?;
    for (path, file) in held {
        let again = format!("/proc/self/fd/{}", file.as_raw_fd());
        let result = File::open(&again).map(drop).map_err(Errno::from);
        ensure_eq!(
            result,
            Err(ENODEV),
            "open {path} of the instance that is gone"
        );
    }
    Ok(())
}
