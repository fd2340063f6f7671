// SPDX-License-Identifier: GPL-2.0

//! Values of events that users define which are shown by a name: errors and enumerations. ftrace does not have them,
//! so each is compared with its number, which a second event records.

use super::clients::{read, Folder};
use super::dynamic::{need_types, Tops};
use super::filter::log_of;
use super::json::drain;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::client::Client;
use crate::errno::*;
use crate::process;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::using;
use crate::Context;
use std::fs::File;
use std::os::fd::AsRawFd;

pub const TESTS: &[Test] = &[
    test("dynamic.names", 60, names),
    test("dynamic.names_refused", 60, refused),
    test("dynamic.names_without_sys", 60, without_sys),
    test("dynamic.names_example", 60, example),
    test("clients.names", 60, client),
];

const FILE: &str = "dynamic_events";

/// Functions of which one returns the opened file.
const OPENERS: &[&str] = &["do_filp_open", "do_file_open", "path_openat"];

/// `getppid()` and `gettid()`.
const NUMBER_CALLS: [usize; 2] = [110, 186];

/// Defines what the tests look at, with names and with numbers. Returns whether there is one of opened files.
fn define(own: &Tree) -> Check<bool> {
    own.set(FILE, "r:named/opened do_sys_openat2 v=$retval:errno\n")?;
    own.set(FILE, "r:named/opened_n do_sys_openat2 v=$retval:s32\n")?;
    own.set(FILE, "p:named/number __task_pid_nr_ns $arg2:enum\n")?;
    own.set(FILE, "p:named/number_n __task_pid_nr_ns type\n")?;
    let is_there = OPENERS.iter().any(|function| {
        let line = format!("r:named/file {function} v=$retval:errno\n");
        own.write(FILE, line.as_bytes()).is_ok()
    });
    own.empty("error_log")?;
    Ok(is_there)
}

/// Hits each: a file that is not there, one that is, and two kinds of numbers of this task.
fn work() {
    let _ = File::open("/no/such/file");
    let _ = File::open("/");
    for number in NUMBER_CALLS {
        sys::call(number, [0; 6]);
    }
}

fn names(context: &Context) -> Check {
    need_types()?;
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let has_files = define(own)?;
    let mut report = Report::default();
    for (event, lines) in [
        (
            "opened",
            &["\tfield:s32 v;", "v=%d%s", "{ 4294967294, \" ENOENT\" }"],
        ),
        (
            "number",
            &["\tfield:u32 type;", "type=%s", "{ 1, \"PIDTYPE_TGID\" }"],
        ),
    ] {
        let format = own.get(&format!("events/named/{event}/format"))?;
        for line in lines {
            report.expect(format.contains(line), || format!("{line} in {format}"));
        }
    }
    let into = Instance::new(&context.root, "rtg-names")?;
    into.set("set_event_pid", &sys::thread_id().to_string())?;
    into.set("events/named/opened/trigger", "hist:keys=v")?;
    into.set("events/named/enable", "1")?;
    work();
    into.set("events/named/enable", "0")?;
    let text = into.get("trace")?;
    let values = |event: &str| -> Vec<String> {
        let mark = format!(" {event}: (");
        let lines = text.lines().filter(|line| line.contains(&mark));
        let values = lines.filter_map(|line| Some(line.split_once(") ")?.1.to_string()));
        values.collect()
    };
    println!("{text}");
    let opened = values("opened");
    report.expect(opened.contains(&"v=ENOENT".to_string()), || text.clone());
    let with_number: Vec<_> = values("opened_n");
    let shown: Vec<_> = with_number
        .iter()
        .map(|n| n.replace("v=-2", "v=ENOENT"))
        .collect();
    report.expect(opened == shown, || format!("{opened:?} of {with_number:?}"));
    let number = values("number");
    let named: Vec<_> = values("number_n")
        .iter()
        .filter_map(|n| match n.as_str() {
            "type=0" => Some("PIDTYPE_PID"),
            "type=1" => Some("PIDTYPE_TGID"),
            "type=2" => Some("PIDTYPE_PGID"),
            "type=3" => Some("PIDTYPE_SID"),
            _ => None,
        })
        .map(|name| format!("type={name}"))
        .collect();
    report.expect(number == named && number.len() >= 2, || {
        format!("{number:?}, {named:?}: {text}")
    });
    if has_files {
        let files = values("file");
        report.expect(files.iter().any(|value| value == "v=ENOENT"), || {
            text.clone()
        });
        report.expect(
            files.iter().any(|value| value.starts_with("v=0xff")),
            || text.clone(),
        );
    }
    // Histograms, filters and JSON have the number, which histograms show without sign, as in ftrace.
    let hist = into.get("events/named/opened/hist")?;
    report.expect(hist.contains("{ v: 18446744073709551614 }"), || {
        hist.clone()
    });
    into.set("events/named/opened/filter", "v == -2")?;
    into.empty("trace")?;
    into.set("events/named/opened/enable", "1")?;
    work();
    into.set("events/named/opened/enable", "0")?;
    let text = into.get("trace")?;
    let hits = text.lines().filter(|line| line.contains(" opened: ("));
    report.expect(
        text.contains("v=ENOENT") && hits.clone().all(|line| line.ends_with("v=ENOENT")),
        || text.clone(),
    );
    let json = drain(&into, "trace_pipe_json")?;
    report.expect(json.contains("\"v\":-2"), || json.clone());
    into.remove()?;
    report.finish()
}

fn refused(context: &Context) -> Check {
    need_types()?;
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let mut report = Report::default();
    for (line, text, at) in [
        (
            "p:named/x vfs_read a=count:enum",
            "This is not an enumeration of BTF.",
            27,
        ),
        (
            "p:named/x vfs_read a=%di:enum",
            "This is not an enumeration of BTF.",
            25,
        ),
        (
            "p:named/x vfs_read file->f_path:errno",
            "This is not an error number.",
            32,
        ),
        (
            "p:named/x vfs_read a=%di:errno32",
            "Unknown type is specified",
            25,
        ),
    ] {
        let taken = own.write(FILE, line.as_bytes());
        report.expect(taken == Err(EINVAL), || format!("{line}: {taken:?}"));
        let log = log_of(own)?;
        let caret = format!("{}^\n", " ".repeat(at));
        let want = format!("[] trace_kprobe: error: {text}\n  Command: {line}\n           {caret}");
        report.expect(log == want, || format!("{log}, not {want}"));
        own.empty("error_log")?;
    }
    // Two probes of one event have the same names.
    own.set(FILE, "p:named/x __task_pid_nr_ns v=type:enum")?;
    let other = "p:named/x task_active_pid_ns v=tsk:errno";
    report.expect(own.write(FILE, other.as_bytes()) == Err(EEXIST), || {
        log_of(own).unwrap_or_default()
    });
    own.set(FILE, "-:named/x")?;
    own.empty("error_log")?;
    report.finish()
}

/// Names are those that the kernel has, whatever is in the root folder of the program that writes the line.
fn without_sys(context: &Context) -> Check {
    const SYS_WRITE: usize = 1;
    const SYS_CHROOT: usize = 161;
    need_types()?;
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let line = "p:named/far __task_pid_nr_ns type\n";
    let file = own.open_write(FILE).map_err(|e| format!("{FILE}: {e:?}"))?;
    let place = [
        file.as_raw_fd() as usize,
        line.as_ptr() as usize,
        line.len(),
    ];
    let child = process::run_in_child(|| {
        // There is no /sys below it.
        if sys::call(SYS_CHROOT, [c"/dev".as_ptr() as usize, 0, 0, 0, 0, 0]) == 0 {
            sys::call(SYS_WRITE, [place[0], place[1], place[2], 0, 0, 0]);
        }
    });
    child.map_err(|error| format!("no child: {error:?}"))?;
    let shown = own.get(FILE)?;
    ensure!(shown.contains("named/far"), "{shown}{}", log_of(own)?);
    own.set(FILE, "-:named/far")
}

/// The example of Documentation/using.md.
fn example(context: &Context) -> Check {
    need_types()?;
    let tops = Tops::cleared(context);
    let text = using::run("dynamic.names", &tops.own)?;
    let has = |part: &str| text.lines().any(|line| line.ends_with(part));
    ensure!(has(" error=ENOENT") && has(" kind=PIDTYPE_TGID"), "{text}");
    tops.own.set(FILE, "-:files/")
}

/// trace-cmd shows the names, too.
fn client(context: &Context) -> Check {
    need_types()?;
    let client = Client::of(context)?;
    let tops = Tops::cleared(context);
    let has_files = define(&tops.own)?;
    let place = Folder::new("names")?;
    let file = place.file("trace.dat");
    let words = ["record", "-o", &file, "-e", "named"];
    let work = "cat /no/such/file 2> /dev/null; cat / 2> /dev/null; ps > /dev/null; true";
    let said = client.trace_cmd(&words, &["sh", "-c", work])?;
    said.good()?;
    let found = read(client, &file, &[])?;
    let mut report = Report::default();
    let mut has = |event: &str, part: &str| {
        let own = || found.iter().filter(|line| line.event == event);
        report.expect(own().any(|line| line.text.ends_with(part)), || {
            format!("no {part} of {event}: {:#?}", own().collect::<Vec<_>>())
        });
    };
    has("opened", " v=-2 ENOENT");
    has("opened", " v=3");
    has("number", " type=PIDTYPE_TGID");
    if has_files {
        has("file", " v=0xfffffffffffffffe ENOENT");
    }
    report.finish()
}
