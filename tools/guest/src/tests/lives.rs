// SPDX-License-Identifier: GPL-2.0

//! What keeps an instance, the mount and the module: descriptors that are asleep, in flight or
//! inherited, mounts of all kinds, names that are used again. tracefs does the same, where it can be
//! compared.

use super::{pair, test, Test};
use crate::callers;
use crate::check::{Check, Report};
use crate::errno::*;
use crate::module;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("lives.killed_asleep", 60, killed_asleep),
    test("lives.in_flight", 30, in_flight),
    test("lives.inherited", 30, inherited),
    test("lives.same_name_again", 30, same_name_again),
    test("lives.polled_and_watched", 30, polled_and_watched),
    test("lives.mounts_of_it", 30, mounts_of_it),
    test("lives.detached_mount", 60, detached_mount),
    test("lives.other_namespace", 60, other_namespace),
];

fn rmdir(tree: &Tree) -> Op {
    Ok(std::fs::remove_dir(tree.path())?)
}

/// Removes a folder that a task which is ending may hold for some moments.
fn rmdir_soon(tree: &Tree) -> Op {
    let mut result = Ok(());
    sys::wait_until(Duration::from_secs(5), || {
        result = rmdir(tree);
        result != Err(EBUSY)
    });
    result
}

/// A program that reads, with no output.
fn reader(mut command: Command) -> Check<Child> {
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    child.map_err(|e| format!("{command:?}: {e}"))
}

fn kill(mut child: Child) -> Check {
    let ended = child.kill().and_then(|()| child.wait());
    ended.map(drop).map_err(|e| format!("kill: {e}"))
}

/// Waits until a program has the file open and sleeps.
fn wait_asleep(child: &Child, file: &Path) -> bool {
    let process = format!("/proc/{}", child.id());
    sys::wait_until(Duration::from_secs(10), || {
        let files = std::fs::read_dir(format!("{process}/fd"));
        let mut files = files.into_iter().flatten().flatten();
        let opened = files.any(|at| std::fs::read_link(at.path()).is_ok_and(|to| to == file));
        let stat = std::fs::read_to_string(format!("{process}/stat")).unwrap_or_default();
        opened && stat.contains(") S ")
    })
}

/// Eight readers asleep in each stream: the instance stays until the last of them was killed.
fn killed_asleep(context: &Context) -> Check {
    const READERS: usize = 8;
    let own = Instance::new(&context.root, "rtg-lives")?;
    let shares = own.exists("options/pipe-share");
    if shares {
        own.set("options/pipe-share", "1")?;
    }
    let files = [
        "trace_pipe",
        "per_cpu/cpu0/trace_pipe",
        "per_cpu/cpu0/trace_pipe_raw",
        "per_cpu/cpu0/snapshot_raw",
    ];
    for name in files.into_iter().filter(|name| own.exists(name)) {
        let alone = name.ends_with("trace_pipe") && !shares;
        let mut readers = vec![];
        for _ in 0..if alone { 1 } else { READERS } {
            let mut command = Command::new("dd");
            command.args([&format!("if={}", own.shown(name)), "bs=64k"]);
            readers.push(reader(command)?);
        }
        for child in &readers {
            ensure!(wait_asleep(child, &own.file(name)), "{name}: not asleep");
        }
        while let Some(child) = readers.pop() {
            ensure_eq!(rmdir(&own), Err(EBUSY), "{name}: rmdir with a reader");
            kill(child)?;
        }
        ensure_eq!(rmdir_soon(&own), Ok(()), "{name}: rmdir without readers");
        std::fs::create_dir(own.path()).map_err(|e| format!("mkdir: {e}"))?;
        if shares {
            own.set("options/pipe-share", "1")?;
        }
    }
    own.remove()
}

/// A descriptor that is on its way over a socket is an open file; it goes with the sockets.
fn in_flight(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    for tree in [&own, &reference] {
        let at = tree.shown("trace");
        tree.set("trace_marker", "sent along")?;
        let sockets = || UnixStream::pair().map_err(|e| format!("sockets: {e}"));
        let (here, there) = sockets()?;
        let file = tree.open("trace").map_err(|e| format!("{at}: {e}"))?;
        callers::send_descriptor(&here, &file).map_err(|e| format!("send: {e}"))?;
        drop(file);
        ensure_eq!(rmdir(tree), Err(EBUSY), "{at}: rmdir meanwhile");
        let file = callers::receive_descriptor(&there).map_err(|e| format!("receive: {e}"))?;
        let text = std::io::read_to_string(&file).map_err(|e| format!("{at}: {e}"))?;
        ensure!(text.contains("sent along"), "{at}: {text:?}");
        // Nobody receives it this time.
        callers::send_descriptor(&here, &file).map_err(|e| format!("send: {e}"))?;
        drop(file);
        ensure_eq!(rmdir(tree), Err(EBUSY), "{at}: rmdir meanwhile");
        drop((here, there));
        ensure_eq!(rmdir_soon(tree), Ok(()), "{at}: rmdir without the sockets");
    }
    Ok(())
}

/// A child that inherited a consumer keeps the place of the consumer, and the instance.
fn inherited(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    for tree in [&own, &reference] {
        let at = tree.shown("trace_pipe");
        let file = tree.open("trace_pipe").map_err(|e| format!("{at}: {e}"))?;
        let mut command = Command::new("sleep");
        command.arg("1000").stdin(file);
        let child = reader(command)?;
        ensure_eq!(
            tree.open_nonblock("trace_pipe").map(drop),
            Err(EBUSY),
            "{at}: a second one"
        );
        ensure_eq!(rmdir(tree), Err(EBUSY), "{at}: rmdir meanwhile");
        kill(child)?;
        let again = sys::wait_until(Duration::from_secs(5), || {
            tree.open_nonblock("trace_pipe").is_ok()
        });
        ensure!(again, "{at}: cannot be opened when the child is gone");
        ensure_eq!(rmdir_soon(tree), Ok(()), "{at}: rmdir afterwards");
    }
    Ok(())
}

/// What was found in an instance that is gone is not part of another one of its name.
fn same_name_again(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-lives")?;
    let find = |name: &str| {
        let found = OpenOptions::new()
            .read(true)
            .custom_flags(sys::O_PATH)
            .open(own.file(name));
        found.map_err(|e| format!("{name}: {e}"))
    };
    let files = [
        find("trace")?,
        find("tracing_on")?,
        find("per_cpu/cpu0/stats")?,
    ];
    let again = |file: &File| -> Op {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(File::open(path).map(drop)?)
    };
    ensure_eq!(rmdir(&own), Ok(()), "rmdir");
    for file in &files {
        ensure_eq!(again(file), Err(ENODEV), "of the instance that is gone");
    }
    std::fs::create_dir(own.path()).map_err(|e| format!("mkdir: {e}"))?;
    if context.is_rtracefs() {
        for file in &files {
            ensure_eq!(again(file), Err(ENODEV), "beside another of its name");
        }
    }
    ensure_eq!(own.get("tracing_on")?, "1\n", "tracing_on of the new one");
    own.remove()
}

/// A closed file that an epoll knew, and what inotify watches, keep nothing.
fn polled_and_watched(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    for tree in [&own, &reference] {
        let at = tree.shown("trace_pipe");
        let file = tree
            .open_nonblock("trace_pipe")
            .map_err(|e| format!("{at}: {e}"))?;
        let epoll = sys::epoll_of(&file).map_err(|e| format!("epoll: {e}"))?;
        // Some kernels have no inotify.
        let watch = match sys::watch(&tree.file("trace")) {
            Err(ENOSYS) => None,
            watch => Some(watch.map_err(|e| format!("inotify: {e}"))?),
        };
        ensure_eq!(rmdir(tree), Err(EBUSY), "{at}: rmdir while it is open");
        drop(file);
        tree.set("trace_marker", "nobody waits")?;
        let events = sys::epoll_in(&epoll, Duration::from_millis(10));
        ensure_eq!(events, Ok(0), "{at}: events of a file that was closed");
        ensure_eq!(rmdir_soon(tree), Ok(()), "{at}: rmdir afterwards");
        drop((epoll, watch));
    }
    Ok(())
}

/// Mounts of an instance elsewhere, mounts on it, and tasks in it: as in tracefs.
fn mounts_of_it(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let place = Path::new("/tmp/rtg-lives");
    let _ = std::fs::create_dir(place);
    let steps = |tree: &Tree| -> Vec<(&'static str, Op)> {
        let mkdir = || -> Op { Ok(std::fs::create_dir(tree.path())?) };
        let enter = |path: &Path| -> Op { Ok(std::env::set_current_dir(path)?) };
        let open = |path: &str| -> Op { Ok(File::open(path).map(drop)?) };
        let there = Tree::at(place);
        vec![
            ("bind", sys::bind(tree.path(), place)),
            (
                "a marker there",
                there.write("trace_marker", b"x").map(drop),
            ),
            ("rmdir of what is mounted elsewhere", rmdir(tree)),
            ("open there", there.open("trace").map(drop)),
            ("umount", sys::umount(place, 0)),
            ("mkdir", mkdir()),
            ("tmpfs on it", sys::mount_fs("tmpfs", tree.path(), 0, "")),
            ("rmdir with a mount on it", rmdir(tree)),
            ("umount it", sys::umount(tree.path(), 0)),
            ("enter", enter(tree.path())),
            ("rmdir with a task in it", rmdir(tree)),
            ("open from in there", open("trace")),
            ("leave", enter(Path::new("/"))),
            ("rmdir again", rmdir(tree)),
        ]
    };
    let (found, wanted) = (steps(&own), steps(&reference));
    let mut report = Report::default();
    for ((what, found), (_, wanted)) in found.iter().zip(&wanted) {
        report.expect(found == wanted, || {
            format!("{what}: {found:?}, tracefs {wanted:?}")
        });
    }
    report.finish()
}

/// The mount is taken away while files are open: they work on, a second mount shows the same
/// instances, and the module stays until the last is closed.
fn detached_mount(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs is no module");
    }
    let result = detached_steps(context);
    module::restore(context)?;
    result
}

fn detached_steps(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-lives")?;
    let folder = File::open(&context.root).map_err(|e| format!("the folder: {e}"))?;
    let mut text = own.open("trace").map_err(|e| format!("trace: {e}"))?;
    let mut marker = own
        .open_write("trace_marker")
        .map_err(|e| format!("trace_marker: {e}"))?;
    sys::umount(&context.root, sys::MNT_DETACH).map_err(|e| format!("detach: {e}"))?;
    let below =
        |name: &str| -> PathBuf { format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()).into() };
    let wrote = marker.write(b"detached").map_err(Errno::from);
    ensure_eq!(wrote, Ok(8), "a marker");
    let mut shown = String::new();
    let read = text.read_to_string(&mut shown);
    ensure!(
        read.is_ok() && shown.contains("detached"),
        "{read:?}: {shown:?}"
    );
    std::fs::create_dir(below("instances/rtg-later")).map_err(|e| format!("mkdir: {e}"))?;
    ensure_eq!(module::unload(module::NAME), Err(EAGAIN), "unload");
    module::mount(context)?;
    let names = own.top().list("instances")?;
    for name in ["rtg-lives", "rtg-later"] {
        ensure!(names.iter().any(|at| at == name), "{name}: {names:?}");
    }
    drop((text, marker));
    own.remove()?;
    std::fs::remove_dir(context.root.join("instances/rtg-later"))
        .map_err(|e| format!("rmdir: {e}"))?;
    module::umount(context)?;
    ensure_eq!(
        module::unload(module::NAME),
        Err(EAGAIN),
        "unload with the folder open"
    );
    drop(folder);
    module::unload_when_free(module::NAME)
}

/// A mount that only another namespace has keeps the module, until that namespace ends.
fn other_namespace(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs is no module");
    }
    let result = namespace_steps(context);
    module::restore(context)?;
    result
}

fn namespace_steps(context: &Context) -> Check {
    let mut command = Command::new("sleep");
    command.arg("1000");
    // SAFETY: The process has one thread: the child may allocate. It makes one system call.
    unsafe {
        command.pre_exec(|| {
            let made = callers::new_mount_namespace();
            made.map_err(|e| std::io::Error::from_raw_os_error(e.0))
        });
    }
    let child = reader(command)?;
    let mounted = || {
        let mounts = std::fs::read_to_string(format!("/proc/{}/mounts", child.id()));
        mounts.unwrap_or_default().contains(module::FS_TYPE)
    };
    let check = || -> Check {
        module::umount(context)?;
        ensure!(mounted(), "the child has no mount");
        ensure_eq!(module::unload(module::NAME), Err(EAGAIN), "unload");
        Ok(())
    };
    let checked = check();
    kill(child)?;
    checked?;
    module::unload_when_free(module::NAME)
}
