// SPDX-License-Identifier: GPL-2.0

//! Names of events that users define, and the form of the lines that define and delete them, beside tracefs.

use super::dynamic::{need_line, Tops};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("kprobe.names", 60, names),
    test("fprobe.names", 60, names_of_functions),
    test("kprobe.long_names", 60, long_names),
    test("kprobe.lines", 60, lines),
    test("kprobe.long_lines", 60, long_lines),
];

const KPROBES: &str = "kprobe_events";
const ALL: &str = "dynamic_events";

/// Of records that no tracepoint makes.
const TAKEN: &[&str] = &[
    "p:ftrace/print vfs_read",
    "r:ftrace/function vfs_read",
    "p:ftrace/kernel_stack vfs_read",
];

/// Names of folders and files that are there already.
fn names(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let mut report = Report::default();
    tops.refuse(&mut report, ALL, TAKEN)?;
    let right = [
        "p:ftrace/mine vfs_read",
        // At once: a file that was looked up before stays.
        "p:kprobes/enable vfs_read\np:kprobes/filter vfs_write",
    ];
    tops.take(&mut report, ALL, &right, &["kprobes"])?;
    tops.refuse(&mut report, ALL, &["r:ftrace/mine vfs_read"])?;
    for tree in tops.trees() {
        let systems = tree.list("events")?;
        let count = systems.iter().filter(|name| *name == "ftrace").count();
        report.expect(count == 1, || format!("{systems:?}"));
        let events = tree.list("events/ftrace")?;
        let count = events.iter().filter(|name| *name == "mine").count();
        report.expect(count == 1, || format!("{events:?}"));
        let own_files: Vec<_> = events
            .iter()
            .filter(|name| !tree.file(&format!("events/ftrace/{name}")).is_dir())
            .collect();
        report.expect(own_files.is_empty(), || format!("{own_files:?}"));
        for event in ["ftrace/mine", "kprobes/enable", "kprobes/filter"] {
            let enable = format!("events/{event}/enable");
            ensure_eq!(tree.get(&enable)?, "0\n", "{enable}");
        }
        tree.set("set_event", "ftrace:mine")?;
        ensure_eq!(tree.get("events/ftrace/mine/enable")?, "1\n", "set_event");
        tree.set("events/ftrace/mine/enable", "0")?;
        ensure_eq!(tree.get("set_event")?, "", "set_event");
    }
    // The records of the system stay when its last event goes.
    let kept = tops.own.open("events/ftrace/print/format");
    tops.take(&mut report, ALL, &["-:ftrace/mine"], &["kprobes"])?;
    let mut kept = kept.map_err(|e| format!("{e:?}"))?;
    let read = std::io::read_to_string(&mut kept);
    report.expect(read.is_ok(), || format!("events/ftrace/print: {read:?}"));
    for tree in tops.trees() {
        let is_there = |name: &str| tree.exists(&format!("events/ftrace/{name}"));
        report.expect(is_there("print") && !is_there("mine"), || {
            format!("{:?}", tree.list("events/ftrace"))
        });
    }
    tops.end(&mut report, ALL, "kprobes")?;
    report.finish()
}

/// The same names, for events of functions, tracepoints and events, if tracefs takes them.
fn names_of_functions(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    need_line(&tops.reference, "e:there sched/sched_switch")?;
    let mut report = Report::default();
    let wrong = [
        "f:ftrace/hwlat vfs_read",
        "t:ftrace/user_stack task_rename",
        "e:ftrace/raw_data sched/sched_switch",
    ];
    tops.refuse(&mut report, ALL, &wrong)?;
    report.finish()
}

/// A name that is made of a longer place has as many bytes as a name can have.
fn long_names(context: &Context) -> Check {
    const LONG: &str = "nosuch_module_with_a_long_name:nosuch_function_with_a_long_name";
    let tops = Tops::cleared(context);
    let mut report = Report::default();
    let mut lines = Vec::new();
    for place in ["", "+4", "_and_more", "_and_others"] {
        lines.push(format!("p {LONG}{place}"));
    }
    lines.extend([
        format!("r {LONG}"),
        format!("-:p_{:.61}", LONG.replace(':', "_")),
    ]);
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    tops.take(&mut report, ALL, &lines, &["kprobes"])?;
    tops.end(&mut report, ALL, "kprobes")?;
    report.finish()
}

/// A blank at the beginning, and what is told of a line of no kind.
fn lines(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let mut report = Report::default();
    let group = &["kprobes"];
    tops.take(&mut report, KPROBES, &["p:x vfs_read"], group)?;
    let wrong = [" -:x", "\t-:kprobes/x", " !:x", "!:x", "  -", " x"];
    tops.refuse(&mut report, KPROBES, &wrong)?;
    let wrong = [
        " -:x",
        " !:x",
        "\t-:kprobes/x vfs_read",
        " u:name u32 a",
        "z  foo",
        "z\tfoo \t b  # a comment",
        "  nonsense  ",
    ];
    tops.refuse(&mut report, ALL, &wrong)?;
    if tops.reference.exists("uprobe_events") {
        tops.refuse(&mut report, "uprobe_events", &[" -:x", " !:x"])?;
    }
    let right = [
        "  p:y   vfs_write",
        " s:line_syn u32 a",
        "   ",
        " # a comment",
        "-:x",
        "!:y",
        "-:line_syn",
    ];
    tops.take(&mut report, ALL, &right, group)?;
    report.finish()
}

/// A line of so many bytes.
fn line_of(head: &str, len: usize) -> String {
    format!("{head:<len$}")
}

/// The longest lines that are taken, and longer ones.
fn long_lines(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let mut report = Report::default();
    let group = &["kprobes"];
    let long = |name: &str, len| line_of(&format!("p:{name} vfs_read"), len);
    let right = [
        long("a", 4094) + "\n",
        long("b", 4095),
        "p:c vfs_read\n".to_string() + &long("d", 4094) + "\n",
        long("e", 4094) + "\n" + &long("f", 4095),
        long("g", 4094) + "\n" + &long("h", 4094) + "\np:i vfs_read\n",
        line_of("#", 4094) + "\n" + &line_of("", 4095),
    ];
    let right: Vec<_> = right.iter().map(String::as_str).collect();
    for file in [KPROBES, ALL] {
        tops.take(&mut report, file, &right, group)?;
        tops.truncate(&mut report, file)?;
    }
    let wrong = [
        long("a", 4095) + "\n",
        long("b", 4096),
        // What is before it is obeyed.
        "p:c vfs_read\n".to_string() + &long("d", 4095) + "\n",
        long("e", 4094) + "\n" + &long("f", 4096),
        long("g", 9000),
    ];
    let wrong: Vec<_> = wrong.iter().map(String::as_str).collect();
    tops.refuse(&mut report, KPROBES, &wrong)?;
    report.finish()
}
