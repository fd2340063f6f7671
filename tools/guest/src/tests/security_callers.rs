// SPDX-License-Identifier: GPL-2.0

//! Who calls matters when a file is opened, and not afterwards: root without capabilities, a
//! descriptor that was passed on, root of a namespace that is root of the machine, an owner of
//! `instances`, a profile of AppArmor, a lockdown for integrity.

use super::dynamic::need_types;
use super::files;
use super::{pair, test, Test};
use crate::apparmor::Profile;
use crate::callers;
use crate::check::{joined, Check, Report};
use crate::errno::*;
use crate::module;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{chown, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

pub const TESTS: &[Test] = &[
    test("security.no_capabilities", 30, no_capabilities),
    test("security.passed_on", 30, passed_on),
    test("security.namespace_of_root", 30, namespace_of_root),
    test("security.owner_of_instances", 30, owner_of_instances),
    test("security.profile", 30, profile),
];

/// Goes before the last test, which makes the machine stricter still.
pub const LAST: &[Test] = &[test("last.integrity", 60, integrity)];

const USER: u32 = 1000;

/// Opens a path for reading or for writing, without waiting and without changing anything.
fn open(path: &Path, writes: bool) -> Op {
    let file = OpenOptions::new()
        .read(!writes)
        .write(writes)
        .custom_flags(sys::O_NONBLOCK)
        .open(path);
    Ok(file.map(drop)?)
}

/// Runs `f` in a thread of its own, which may become another user for good.
fn apart<T: Send>(f: impl FnOnce() -> Check<T> + Send) -> Check<T> {
    std::thread::scope(|scope| joined(scope.spawn(f)))
}

/// Root without capabilities may do what the modes say of root.
fn no_capabilities(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    let tree: &Tree = &own;
    let (report, tried) = apart(move || {
        callers::drop_capabilities().map_err(|e| format!("capset: {e}"))?;
        let (mut report, mut tried) = (Report::default(), 0);
        let each = files::all().filter(|file| file.scope == files::Scope::Each);
        for file in each {
            let path = tree.file(&file.of("sched/sched_switch"));
            let Ok(data) = path.symlink_metadata() else {
                continue;
            };
            tried += 1;
            for (writes, bit) in [(false, 0o400), (true, 0o200)] {
                let found = open(&path, writes);
                let allowed = data.mode() & bit != 0;
                report.expect((found == Err(EACCES)) != allowed, || {
                    let mode = data.mode();
                    format!("{} ({mode:o}), {writes}: {found:?}", path.display())
                });
            }
        }
        Ok((report, tried))
    })?;
    ensure!(tried > 40, "only {tried} files");
    own.remove()?;
    report.finish()
}

/// A descriptor that root has opened is good for any user; it opens nothing else. As in tracefs.
fn passed_on(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let steps = |tree: &Tree| -> Check<Vec<(&'static str, Op)>> {
        let marker = tree
            .open_write("trace_marker")
            .map_err(|e| format!("trace_marker: {e}"))?;
        let found = OpenOptions::new()
            .read(true)
            .custom_flags(sys::O_PATH)
            .open(tree.file("trace"));
        let found = found.map_err(|e| format!("trace: {e}"))?;
        apart(move || {
            callers::become_user(USER, USER).map_err(|e| format!("setresuid: {e}"))?;
            let again = |file: &File, writes: bool| {
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                open(Path::new(&path), writes)
            };
            let chmod =
                |file: &File| -> Op { Ok(file.set_permissions(Permissions::from_mode(0o666))?) };
            let write = |mut file: &File| -> Op { Ok(file.write(b"x").map(drop)?) };
            Ok(vec![
                ("a marker", write(&marker)),
                ("opened again for reading", again(&marker, false)),
                ("opened again for writing", again(&marker, true)),
                ("fchmod", chmod(&marker)),
                ("written without being open", write(&found)),
                ("fchmod without being open", chmod(&found)),
                ("opened", again(&found, false)),
            ])
        })
    };
    let (found, wanted) = (steps(&own)?, steps(&reference)?);
    let mut report = Report::default();
    for ((what, found), (_, wanted)) in found.iter().zip(&wanted) {
        report.expect(found == wanted, || {
            format!("{what}: {found:?}, tracefs {wanted:?}")
        });
    }
    ensure_eq!(found[0].1, Ok(()), "a marker by another user");
    ensure!(
        found[1..].iter().all(|(_, result)| result.is_err()),
        "{found:?}"
    );
    report.finish()
}

/// Root of a namespace that is root of the machine opens files, and mounts nothing: as with tracefs.
fn namespace_of_root(context: &Context) -> Check {
    let place = Path::new("/tmp/rtg-namespace");
    let _ = std::fs::create_dir(place);
    let inside = |attempt: Attempt, root: &Path, kind: &'static str| -> Op {
        let root = root.to_path_buf();
        let mut child = Command::new("/proc/self/exe");
        // SAFETY: The process has one thread: the child may allocate.
        unsafe {
            child.pre_exec(move || {
                if callers::new_namespace_of_root().is_err() {
                    return Err(std::io::Error::from_raw_os_error(ENOSPC.0));
                }
                attempt(&root, kind).map_err(|e| std::io::Error::from_raw_os_error(e.0))
            });
        }
        let status = child.arg("--list").stdout(Stdio::null()).status();
        Ok(status.map(drop)?)
    };
    let attempts: [(&str, Attempt, Op); 4] = [
        ("nothing", |_, _| Ok(()), Ok(())),
        (
            "open",
            |root, _| Tree::at(root).open("trace").map(drop),
            Ok(()),
        ),
        (
            "mkdir",
            |root, _| Ok(std::fs::create_dir(root.join("instances/rtg-namespace"))?),
            Ok(()),
        ),
        (
            "mount",
            |_, kind| sys::mount_fs(kind, Path::new("/tmp/rtg-namespace"), 0, ""),
            Err(EPERM),
        ),
    ];
    for (root, kind) in [
        (&context.root, module::FS_TYPE),
        (&context.reference, "tracefs"),
    ] {
        if !context.is_rtracefs() && kind == module::FS_TYPE {
            continue;
        }
        for (what, attempt, wanted) in &attempts {
            let found = inside(*attempt, root, kind);
            ensure_eq!(&found, wanted, "{kind}: {what}");
        }
        std::fs::remove_dir(root.join("instances/rtg-namespace"))
            .map_err(|e| format!("rmdir: {e}"))?;
    }
    Ok(())
}

/// What is tried on a tree, and with its type.
type Attempt = fn(&Path, &'static str) -> Op;

/// The owner of `instances` gets what is made from then on. What was there stays whose it was, though
/// tracefs gives that away as well.
fn owner_of_instances(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-old")?;
    let instances = context.root.join("instances");
    let give = |owner: u32, mode: u32| -> Check {
        chown(&instances, Some(owner), Some(owner)).map_err(|e| format!("chown: {e}"))?;
        let permissions = Permissions::from_mode(mode);
        std::fs::set_permissions(&instances, permissions).map_err(|e| format!("chmod: {e}"))
    };
    let before = instances.symlink_metadata().map_err(|e| format!("{e}"))?;
    let top = context
        .root
        .symlink_metadata()
        .map_err(|e| format!("{e}"))?;
    give(USER, 0o755)?;
    let check = || -> Check {
        let old = own.path().symlink_metadata().map_err(|e| e.to_string())?;
        if context.is_rtracefs() {
            ensure_eq!((old.uid(), old.gid()), (0, 0), "the owner of the old one");
        }
        let later = Instance::new(&context.root, "rtg-later")?;
        for path in ["", "trace", "per_cpu/cpu0/stats", "events/sched/enable"] {
            let data = later.file(path).symlink_metadata();
            let data = data.map_err(|e| format!("{path}: {e}"))?;
            ensure_eq!(data.uid(), USER, "the owner of a later one's {path:?}");
        }
        // The way to it has to be open, too.
        std::fs::set_permissions(&context.root, Permissions::from_mode(0o755))
            .map_err(|e| format!("chmod: {e}"))?;
        let (old, new) = (own.file("trace"), later.file("trace"));
        let opened = apart(move || {
            callers::become_user(USER, USER).map_err(|e| format!("setresuid: {e}"))?;
            Ok((open(&old, false), open(&new, false)))
        })?;
        let wanted = match context.is_rtracefs() {
            true => (Err(EACCES), Ok(())),
            false => (Ok(()), Ok(())),
        };
        ensure_eq!(opened, wanted, "the old one and the later one, by the user");
        later.remove()
    };
    let checked = check();
    give(before.uid(), before.mode() & 0o7777)?;
    std::fs::set_permissions(&context.root, Permissions::from_mode(top.mode() & 0o7777))
        .map_err(|e| format!("chmod: {e}"))?;
    checked?;
    own.remove()
}

/// What a file tells or needs of the kernel's own files is there for a caller that may open no file but by its path: it
/// is not the caller who opens those.
fn profile(context: &Context) -> Check {
    need_types()?;
    let own = Tree::at(&context.root);
    if !own.exists("touched_functions") {
        skip!("this kernel traces no functions");
    }
    let Some(profile) = Profile::load()? else {
        skip!("this kernel has no AppArmor");
    };
    let (obeyed, list, defined) = apart(|| {
        profile.enter().map_err(|e| format!("changeprofile: {e}"))?;
        let obeyed = std::fs::read_to_string("/proc/thread-self/attr/apparmor/current");
        let list = own.read_bytes("touched_functions").map(drop);
        // The name of a parameter is in BTF.
        let line = b"p:profile/number __task_pid_nr_ns type";
        let defined = own.write("dynamic_events", line).map(drop);
        Ok((obeyed.unwrap_or_default(), list, defined))
    })?;
    if defined.is_ok() {
        own.set("dynamic_events", "-:profile/number")?;
    }
    own.empty("error_log")?;
    ensure_eq!(obeyed.trim(), "rtguest (enforce)", "the profile");
    ensure_eq!((list, defined), (Ok(()), Ok(())), "the list, a definition");
    Ok(())
}

/// A lockdown for integrity forbids nothing here, as in tracefs: what is shown cannot change the kernel.
/// It cannot be undone.
fn integrity(context: &Context) -> Check {
    let file = "/sys/kernel/security/lockdown";
    let _ = sys::mount_fs("securityfs", "/sys/kernel/security".as_ref(), 0, "");
    if !Path::new(file).exists() {
        skip!("this kernel has no lockdown");
    }
    let (own, reference) = pair(context)?;
    std::fs::write(file, "integrity").map_err(|e| format!("{file}: {e}"))?;
    let mut report = Report::default();
    for name in files::all().filter(|file| file.scope == files::Scope::Each) {
        let name = name.of("sched/sched_switch");
        for writes in [false, true] {
            let path = own.file(&name);
            let found = open(&path, writes);
            report.expect(found != Err(EPERM) && found != Err(EACCES), || {
                format!("{}, {writes}: {found:?}", path.display())
            });
        }
    }
    for (root, kind) in [
        (&context.root, module::FS_TYPE),
        (&context.reference, "tracefs"),
    ] {
        let place = Path::new("/tmp/rtg-integrity");
        let _ = std::fs::create_dir(place);
        let made = std::fs::create_dir(root.join("instances/rtg-new")).map_err(Errno::from);
        let removed = std::fs::remove_dir(root.join("instances/rtg-new")).map_err(Errno::from);
        let mounted = match context.is_rtracefs() || kind == "tracefs" {
            true => sys::mount_fs(kind, place, 0, "").and_then(|()| sys::umount(place, 0)),
            false => Ok(()),
        };
        report.expect((made, removed, mounted) == (Ok(()), Ok(()), Ok(())), || {
            format!("{kind}: mkdir {made:?}, rmdir {removed:?}, mount {mounted:?}")
        });
    }
    drop((own, reference));
    report.finish()
}
