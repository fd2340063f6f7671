// SPDX-License-Identifier: GPL-2.0

//! One event of many functions whose arguments are names of parameters, wherever each has them. ftrace refuses such
//! lines, so that values are compared with what the test itself knows.

use super::dynamic::{need_line, need_types, Tops};
use super::filter::log_of;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::kmsg;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::using;
use crate::Context;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub const TESTS: &[Test] = &[
    test("fprobe.shared_names", 60, records),
    test("fprobe.shared_names_refused", 60, refused),
    test("fprobe.shared_names_example", 60, example),
];

const FILE: &str = "dynamic_events";
/// `vfs_link(old_dentry, idmap, dir, ...)`, `vfs_symlink(idmap, dir, ...)` and `vfs_unlink(idmap, dir, ...)`.
const LINKS: &str = "vfs_[lsu]*nk";

/// A folder that goes with what is in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Check<Self> {
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).map_err(|e| e.to_string())?;
        Ok(Self(path))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Calls each function once in the folder, and returns their names in that order.
fn work(folder: &Folder) -> Check<Vec<&'static str>> {
    let told = |what: &str, result: std::io::Result<()>| result.map_err(|e| format!("{what}: {e}"));
    let (one, two) = (folder.file("one"), folder.file("two"));
    told("file", std::fs::write(folder.file("old"), b""))?;
    told("link", std::fs::hard_link(folder.file("old"), one))?;
    told(
        "symlink",
        std::os::unix::fs::symlink(Path::new("old"), &two),
    )?;
    told("unlink", std::fs::remove_file(two))?;
    Ok(["vfs_link", "vfs_symlink", "vfs_unlink"].into())
}

/// The function, and the arguments, of each record of an event.
fn hits(tree: &Tree, event: &str) -> Check<Vec<(String, String)>> {
    let text = tree.get("trace")?;
    let what = format!(" {event}: (");
    let lines = text.lines().filter_map(|line| line.split_once(&what));
    Ok(lines
        .filter_map(|(_, rest)| rest.split_once(") "))
        .map(|(place, arguments)| {
            let place = place.rsplit("<- ").next().unwrap_or_default();
            let function = place.split('+').next().unwrap_or_default();
            (function.to_string(), arguments.to_string())
        })
        .collect())
}

/// The value of an argument.
fn value<'a>(arguments: &'a str, name: &str) -> &'a str {
    let mut words = arguments.split(' ');
    let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_default()
}

/// Each function's own parameter is recorded, at its beginning and kept until it returns.
fn records(context: &Context) -> Check {
    need_types()?;
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    let own = &tops.own;
    let folder = Folder::new("rtg-shared")?;
    let inode = std::fs::metadata(&folder.0)
        .map_err(|e| e.to_string())?
        .ino();
    let lines = [
        format!("f:shared/in {LINKS} dir=dir->i_ino idmap=idmap first=$arg1"),
        format!("f:shared/out {LINKS}%return dir=dir->i_ino v=$retval:s32 idmap=idmap first=$arg1"),
        format!("f:shared/text {LINKS} name=dir->i_sb->s_type->name:string dir=dir->i_ino"),
        format!("f:shared/some {LINKS} dir=dir->i_ino if dir == {inode} && __probe_ip.function == vfs_link"),
        format!("f:shared/fields {LINKS} dir->{{i_ino,i_mode:x16}}"),
        // All have it at one place.
        "f:shared/same vfs_[su]*nk dir dentry".to_string(),
        // A sibling of one function, which has it elsewhere.
        "f:shared/same vfs_link dir dentry=new_dentry".to_string(),
    ];
    let mut report = Report::default();
    for line in &lines {
        let answer = own.write(FILE, line.as_bytes());
        report.expect(answer.is_ok(), || {
            format!("{line}: {answer:?} {}", log_of(own).unwrap_or_default())
        });
    }
    report.finish()?;
    let shown = own.get(FILE)?;
    let mut report = Report::default();
    for line in &lines {
        // Names and fields are written out.
        let head = line.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" ");
        let is_shown = shown.lines().any(|own| own.starts_with(&head));
        report.expect(is_shown, || format!("{line} in {shown}"));
    }
    // What is listed can be written back.
    own.write_truncating(FILE, b"")
        .map_err(|e| format!("> {e:?}"))?;
    own.set(FILE, &shown)?;
    report.expect(own.get(FILE)? == shown, || {
        format!("{shown} became another")
    });

    let into = Instance::new(&context.root, "rtg-shared")?;
    into.set("set_event_pid", &sys::thread_id().to_string())?;
    into.set("events/shared/in/trigger", "hist:keys=__probe_ip.sym,dir")?;
    into.set("events/shared/enable", "1")?;
    let functions = work(&folder)?;
    into.set("events/shared/enable", "0")?;
    let text = into.get("trace")?;
    for event in ["in", "out", "text", "fields", "same"] {
        let found = hits(&into, event)?;
        let called: Vec<_> = found
            .iter()
            .map(|(function, _)| function.as_str())
            .collect();
        report.expect(called == functions, || {
            format!("{event}: {called:?}: {text}")
        });
        for (function, arguments) in &found {
            let is_link = function == "vfs_link";
            let number = match event {
                "fields" => value(arguments, "dir_i_ino"),
                "same" => continue,
                _ => value(arguments, "dir"),
            };
            report.expect(number == inode.to_string(), || {
                format!("{event} {function}: {arguments}, {inode}")
            });
            let (idmap, first) = (value(arguments, "idmap"), value(arguments, "first"));
            let is_first = (idmap == first) != is_link && idmap.starts_with("0x");
            report.expect(!matches!(event, "in" | "out") || is_first, || {
                format!("{event} {function}: {arguments}")
            });
            report.expect(event != "out" || value(arguments, "v") == "0", || {
                arguments.clone()
            });
            report.expect(
                event != "text" || value(arguments, "name").len() > 2,
                || arguments.clone(),
            );
        }
    }
    let some = hits(&into, "some")?;
    report.expect(some.len() == 1 && some[0].0 == "vfs_link", || {
        format!("{some:?}")
    });
    // The folder is one, whose address each has.
    let same = hits(&into, "same")?;
    let folders: Vec<_> = same.iter().map(|(_, all)| value(all, "dir")).collect();
    report.expect(
        folders.first().is_some_and(|first| {
            first.starts_with("0xff") && folders.iter().all(|other| other == first)
        }),
        || format!("{same:?}"),
    );
    let hist = into.get("events/shared/in/hist")?;
    for function in &functions {
        let line = hist
            .lines()
            .find(|line| line.contains(&format!("] {function} ")));
        let is_there = line.is_some_and(|line| line.contains(&format!("dir: {inode:>10} }}")));
        report.expect(is_there, || format!("{function}, {inode}: {hist}"));
    }
    into.set("events/shared/in/trigger", "!hist:keys=__probe_ip.sym,dir")?;
    report.finish()?;
    into.remove()
}

/// A line with `^` where the caret is, the text and the error.
const WRONG: &[(&str, &str, Errno)] = &[
    (
        "f:e vfs_[lsu]*nk ^oldname",
        "This variable is not found at this probe point",
        ENOENT,
    ),
    (
        "f:e vfs_[lsu]*nk dir a=+0(^old_dentry)",
        "This variable is not found at this probe point",
        ENOENT,
    ),
    (
        "f:e vfs_[gs]etxattr%return name ^value",
        "This variable has different types in these functions",
        EINVAL,
    ),
    (
        "f:e vfs_[lsu]*nk dir->^nosuch",
        "This field is not found.",
        ENOENT,
    ),
    (
        "f:e vfs_[lsu]*nk ^$arg*",
        "BTF is not available or not supported",
        EOPNOTSUPP,
    ),
    (
        "f:e vfs_[lsu]*nk%return $retval->^x",
        "No BTF entry for this probe point",
        ENOENT,
    ),
    (
        "f:e nosuch_* ^dir",
        "No BTF entry for this probe point",
        ENOENT,
    ),
];

/// What not all of them have, or not as one type, is refused.
fn refused(context: &Context) -> Check {
    need_types()?;
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    let own = &tops.own;
    let mut report = Report::default();
    for (marked, text, error) in WRONG {
        let (line, at) = (marked.replacen('^', "", 1), marked.find('^').unwrap_or(0));
        own.empty("error_log")?;
        let answer = own.write(FILE, line.as_bytes());
        report.expect(answer == Err(*error), || format!("{line}: {answer:?}"));
        let wanted = format!(
            "[] trace_fprobe: error: {text}\n  Command: {line}\n{}^\n",
            " ".repeat("  Command: ".len() + at)
        );
        let log = log_of(own)?;
        report.expect(log == wanted, || format!("{log}, not {wanted}"));
        report.expect(own.get(FILE)?.is_empty(), || format!("{line} is left"));
        if text.starts_with("This variable") {
            // The kernel log has the function.
            let said = kmsg::last_behind(&format!("{line}: "));
            let is_told = said.as_deref().is_some_and(|said| {
                said.starts_with("vfs_") && said.trim_end().ends_with(" does not fit")
            });
            report.expect(is_told, || format!("{line}: {said:?}"));
        }
    }
    report.finish()
}

/// The example of the documentation.
fn example(context: &Context) -> Check {
    need_types()?;
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    let text = using::run("dynamic.many", &tops.own)?;
    tops.own
        .set("events/files/links/trigger", "!hist:keys=__probe_ip.sym,in")?;
    for function in ["vfs_symlink", "vfs_unlink"] {
        ensure!(
            text.contains(&format!("] {function} ")),
            "{function}: {text}"
        );
    }
    Ok(())
}
