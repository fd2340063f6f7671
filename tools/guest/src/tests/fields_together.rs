// SPDX-License-Identifier: GPL-2.0

//! Fields of a struct that are arguments together, `file->{f_mode,f_pos}` and `file->*`. ftrace does not have them,
//! but what they stand for: it has the same event then, and the same records.

use super::dynamic::{formats, need_line, need_types, Tops};
use super::filter::log_of;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::sys;
use crate::tree::Instance;
use crate::using;
use crate::Context;
use std::fs::File;
use std::io::Read;

pub const TESTS: &[Test] = &[
    test("dynamic.fields", 60, fields),
    test("dynamic.fields_refused", 60, refused),
    test("dynamic.fields_example", 60, example),
];

const FILE: &str = "dynamic_events";

/// A line, and the arguments that it is listed with, if they are known.
const LINES: &[(&str, &str)] = &[
    (
        "p:spread/list vfs_read file->{f_mode,f_pos:s64,f_flags} count $current->{pid,tgid}:s32",
        " file_f_mode=file->f_mode file_f_pos=file->f_pos:s64 file_f_flags=file->f_flags count=count \
         current_pid=$current->pid:s32 current_tgid=$current->tgid:s32\n",
    ),
    (
        "p:spread/cast vfs_read (file)%di->{f_mode,f_flags} x=file->f_inode->{i_ino,i_mode}",
        " f_mode=(file)%di->f_mode f_flags=(file)%di->f_flags x_i_ino=file->f_inode->i_ino \
         x_i_mode=file->f_inode->i_mode\n",
    ),
    ("p:spread/all vfs_read file->f_inode->*", ""),
];

fn fields(context: &Context) -> Check {
    need_types()?;
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "p:there vfs_read file->f_mode")?;
    let mut report = Report::default();
    for (line, want) in LINES {
        tops.own.set(FILE, line)?;
        let listed = tops.own.get(FILE)?;
        let listed = listed.lines().last().unwrap_or_default();
        report.expect(format!("{listed}\n").ends_with(want), || {
            format!("{line}: {listed}")
        });
        tops.reference.set(FILE, listed)?;
        println!("{listed}");
        if want.is_empty() {
            let count = listed.split(' ').count();
            report.expect((20..=130).contains(&count), || listed.to_string());
        }
    }
    let both = [&tops.own, &tops.reference].map(|tree| formats(tree, "spread"));
    report.expect(both[0] == both[1], || {
        format!("formats {:#?}, in tracefs {:#?}", both[0], both[1])
    });
    // The same call, in the buffers of both.
    let roots = [&context.root, &context.reference];
    let mut instances = Vec::new();
    for root in roots {
        let into = Instance::new(root, "rtg-fields")?;
        into.set("set_event_pid", &sys::thread_id().to_string())?;
        instances.push(into);
    }
    for into in &instances {
        into.set("events/spread/enable", "1")?;
    }
    let mut bytes = [0; 7];
    let mut file = File::open("/proc/version").map_err(|e| e.to_string())?;
    file.read_exact(&mut bytes).map_err(|e| e.to_string())?;
    // What follows are reads, too.
    for into in &instances {
        into.set("events/spread/enable", "0")?;
    }
    let mut texts = Vec::new();
    for into in &instances {
        let text = into.get("trace")?;
        let lines = text
            .lines()
            .filter(|line| line.contains("): (vfs_read") || line.contains(": (vfs_read"));
        let values =
            lines.filter_map(|line| line.split_once(") ").map(|(_, rest)| rest.to_string()));
        let mut values: Vec<String> = values.filter(|line| !line.is_empty()).collect();
        values.sort();
        texts.push(values);
    }
    report.expect(texts[0] == texts[1] && texts[0].len() >= 3, || {
        format!("{:#?}, in tracefs {:#?}", texts[0], texts[1])
    });
    report.expect(
        texts[0]
            .iter()
            .any(|line| line.contains(" count=0x7 ") || line.contains(" count=7 ")),
        || format!("{:#?}", texts[0]),
    );
    for into in instances {
        into.remove()?;
    }
    // A sibling has the same arguments; the caret is at the first other one.
    let other =
        "p:spread/list vfs_write file->{f_mode,f_pos:x64,f_flags} count $current->{pid,tgid}:s32";
    let taken = tops.own.write(FILE, other.as_bytes());
    report.expect(taken == Err(EEXIST), || format!("{other}: {taken:?}"));
    let log = log_of(&tops.own)?;
    let caret = other.find("f_pos").unwrap_or(0);
    let want = format!("{other}\n           {}^\n", " ".repeat(caret));
    report.expect(log.ends_with(&want), || log.clone());
    tops.own.empty("error_log")?;
    report.finish()
}

fn refused(context: &Context) -> Check {
    need_types()?;
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let mut report = Report::default();
    for (line, text, at, code) in [
        (
            "p:s/x vfs_read file->{f_mode,f_none} count",
            "This field is not found.",
            29,
            ENOENT,
        ),
        (
            "p:s/x vfs_read file->{f_mode,f_pos:u9}",
            "Unknown type is specified",
            35,
            EINVAL,
        ),
        (
            "p:s/x vfs_read file->{f_mode",
            "List of fields is not closed",
            28,
            EINVAL,
        ),
        (
            "p:s/x vfs_read file->{f_mode}[2]",
            "List of fields has wrong suffix",
            29,
            EINVAL,
        ),
        (
            "p:s/x vfs_read count->*",
            "This is not a pointer to union/structure.",
            22,
            EINVAL,
        ),
    ] {
        let taken = own.write(FILE, line.as_bytes());
        report.expect(taken == Err(code), || format!("{line}: {taken:?}"));
        let log = log_of(own)?;
        let caret = format!("{}^\n", " ".repeat(at));
        let want = format!("[] trace_kprobe: error: {text}\n  Command: {line}\n           {caret}");
        report.expect(log == want, || format!("{log}, not {want}"));
        own.empty("error_log")?;
    }
    report.finish()
}

/// The example of Documentation/using.md.
fn example(context: &Context) -> Check {
    need_types()?;
    let tops = Tops::cleared(context);
    let text = using::run("dynamic.fields", &tops.own)?;
    let is_whole = |line: &str| {
        [
            " file_f_mode=",
            " file_f_pos=",
            " file_f_flags=0x",
            " count=",
        ]
        .iter()
        .all(|part| line.contains(part))
    };
    let hits = text.lines().filter(|line| line.contains(" reads: ("));
    ensure!(
        hits.clone().count() != 0 && hits.clone().all(is_whole),
        "{text}"
    );
    tops.own.set(FILE, "-:files/")
}
