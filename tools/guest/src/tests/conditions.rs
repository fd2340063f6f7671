// SPDX-License-Identifier: GPL-2.0

//! Filters in the definitions of events, `if FILTER`, of every kind. tracefs has them for event probes: the errors are
//! the same, and so is what is recorded.

use super::dynamic::{need_line, Tops};
use super::filter::log_of;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::program::{Program, SUM};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::using;
use crate::Context;

pub const TESTS: &[Test] = &[
    test("condition.lines", 60, lines),
    test("condition.wrong", 60, wrong),
    test("condition.records", 60, records),
    test("condition.example", 60, example),
];

const GETPPID: usize = 110;
const FILE: &str = "dynamic_events";

/// One line of each kind, as the list shows it; `if` comes after them.
fn kinds(function: &str, program: &Program) -> Vec<String> {
    let path = program.path.display();
    [
        format!("p:many/p {function} pid=%di newcomm=$comm"),
        format!("p:many/inside {function}+9 pid=%di newcomm=$comm"),
        format!("r5:many/r {function} pid=$retval:s32 newcomm=$comm"),
        format!("f:many/f {function} pid=$arg1:x64 newcomm=$comm"),
        format!("f:many/end {function}%return pid=$retval:s32 newcomm=$comm"),
        "t:many/t task_rename pid=$arg1:x64 newcomm=$comm".to_string(),
        format!("p:many/u {path}:0x{SUM:016x} pid=%di newcomm=$comm"),
        format!("r:many/ur {path}:0x{SUM:016x} pid=$retval newcomm=$comm"),
        "e:many/e task.task_rename pid=$pid:s32 newcomm=$newcomm:string".to_string(),
    ]
    .into()
}

/// They are listed, can be written back and deleted by what the list says.
fn lines(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    let own = &tops.own;
    let program = Program::new("rtg-condition-lines")?;
    let mut report = Report::default();
    for line in kinds(sys::getppid_function(), &program) {
        for filter in [
            "",
            " if pid == 5",
            " if (pid > 3 && newcomm ~ \"x*\") || common_pid != 7",
        ] {
            let line = format!("{line}{filter}");
            if let Err(error) = own.write(FILE, line.as_bytes()) {
                report.expect(false, || {
                    format!("{line}: {error:?}, {}", log_of(own).unwrap_or_default())
                });
                continue;
            }
            report.expect(own.get(FILE)? == format!("{line}\n"), || {
                format!("{line}: {:?}", own.get(FILE))
            });
            let word = line.split([':', ' ']).nth(1).unwrap_or_default();
            // As in tracefs, a line that deletes has the function alone.
            let line = line.replace("%return", "");
            let other = line.replace("pid > 3", "pid > 4");
            let rest = other.split_once(' ').map_or("", |(_, rest)| rest);
            if other != line {
                let answer = own.write(FILE, format!("-:{word} {rest}").as_bytes());
                report.expect(answer == Err(ENOENT), || {
                    format!("-:{word} {rest}: {answer:?}")
                });
            }
            let rest = line.split_once(' ').map_or("", |(_, rest)| rest);
            let answer = own.write(FILE, format!("-:{word} {rest}").as_bytes());
            report.expect(answer.is_ok() && own.get(FILE)?.is_empty(), || {
                format!("-:{word} {rest}: {answer:?}")
            });
            own.write_truncating(FILE, b"")
                .map_err(|e| format!("> {e:?}"))?;
        }
    }
    report.finish()
}

/// The errors are those of an event probe of tracefs, whose field has the same name, and nothing is left.
fn wrong(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "e:there sched/sched_switch")?;
    let program = Program::new("rtg-condition-wrong")?;
    let mut report = Report::default();
    let said = |tree: &Tree, line: &str| -> Check<_> {
        tree.empty("error_log")?;
        let answer = tree.write(FILE, line.as_bytes());
        Ok((answer, log_of(tree)?))
    };
    for filter in [
        "nosuch == 1",
        "pid == 1 &&",
        "(pid == 1",
        "pid == 1)",
        "pid",
        "pid ~ \"x\"",
        "pid == x",
        "common_pid == 1 && nosuch",
    ] {
        let theirs = format!("e:many/e task/task_rename if {filter}");
        let (answer, log) = said(&tops.reference, &theirs)?;
        report.expect(answer == Err(EINVAL), || format!("tracefs takes {theirs}"));
        for line in kinds(sys::getppid_function(), &program) {
            let ours = said(&tops.own, &format!("{line} if {filter}"))?;
            report.expect(ours == (answer, log.clone()), || {
                format!("{line} if {filter}: {ours:?}, tracefs {answer:?} {log}")
            });
            report.expect(tops.own.get(FILE)?.is_empty(), || format!("{line} is left"));
        }
    }
    for line in kinds(sys::getppid_function(), &program) {
        let line = format!("{line} if");
        let (answer, log) = said(&tops.own, &line)?;
        let caret = log.lines().last().unwrap_or_default().find('^');
        let begin = log.find("No filter rule after 'if'");
        report.expect(
            answer == Err(EINVAL) && begin.is_some() && caret.is_some(),
            || format!("{line}: {answer:?} {log}"),
        );
    }
    report.finish()
}

/// Returns how many lines of the event a tree has.
fn count(tree: &Tree, event: &str) -> Check<usize> {
    let text = tree.get("trace")?;
    let what = format!(" {event}: ");
    Ok(text.lines().filter(|line| line.contains(&what)).count())
}

/// Only what the filter lets through is recorded, in each instance, and its own filter comes after that.
fn records(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    let own = &tops.own;
    let program = Program::new("rtg-condition-records")?;
    let path = program.path.display();
    let function = sys::getppid_function();
    let task = sys::thread_id();
    let lines = [
        // Of ten calls with 0 to 9.
        (format!("p:many/number {function} n=+0x70(%di):u64 if n > 6\n"), "number", 3),
        (format!("p:many/none {function} n=+0x70(%di):u64 if n == 77\n"), "none", 0),
        (format!("p:many/text {function} n=+0x70(%di):u64 t=+u0(+0x68(%di)):ustring if t == \"one\" && n < 4\n"), "text", 4),
        (format!("p:many/other {function} t=+u0(+0x68(%di)):ustring if t != \"one\"\n"), "other", 0),
        (format!("p:many/task {function} if common_pid == {task}\n"), "task", 10),
        (format!("p:many/others {function} if common_pid != {task}\n"), "others", 0),
        (format!("r:many/ret {function} v=$retval:s32 if v > 0\n"), "ret", 10),
        (format!("r:many/retnone {function} v=$retval:s32 if v < 0\n"), "retnone", 0),
        (format!("f:many/fun {function} n=+0x70($arg1):u64 if n & 1\n"), "fun", 5),
        (format!("f:many/end {function}%return v=$retval:s32 if v == 0\n"), "end", 0),
        (format!("p:many/sum {path}:{SUM} n=%di if n >= 8\n"), "sum", 2),
        (format!("p:many/sumtext {path}:{SUM} n=%di t=+0(%si):string if t == \"one\" && n == 2\n"), "sumtext", 1),
        (format!("r:many/sumend {path}:{SUM} v=$retval if v == 0\n"), "sumend", 0),
    ];
    let all: String = lines.iter().map(|line| line.0.as_str()).collect();
    own.set(FILE, &all)
        .map_err(|e| format!("{e}: {}", log_of(own).unwrap_or_default()))?;
    let instance = Instance::new(&context.root, "condition")?;
    let second = Instance::new(&context.root, "condition-two")?;
    second.set("events/many/number/filter", "n != 8")?;
    second.set("events/many/number/enable", "1")?;
    for tree in [&instance, &second] {
        tree.set("set_event_pid", &task.to_string())?;
    }
    instance.set("events/many/enable", "1")?;
    let text = c"one";
    for n in 0..10 {
        sys::call(GETPPID, [n, text.as_ptr() as usize, 0, 0, 0, 0]);
        program.call(SUM, [n, text.as_ptr() as usize, 0]);
    }
    instance.set("events/many/enable", "0")?;
    second.set("events/many/enable", "0")?;
    let mut report = Report::default();
    for (line, name, wanted) in &lines {
        let found = count(&instance, name)?;
        report.expect(found == *wanted, || format!("{found} of {line}"));
    }
    let found = count(&second, "number")?;
    report.expect(found == 2, || {
        format!("{found} with a filter of the instance")
    });
    let text = instance.get("trace")?;
    report.expect(
        text.contains(" text: ") && text.contains("n=3 t=\"one\""),
        || text.clone(),
    );
    // A hit that is not recorded is one.
    let profile = own.get("kprobe_profile")?;
    let none = profile.lines().find(|line| line.contains(" none "));
    let hits = none.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    report.expect(hits.is_some_and(|hits| hits >= 10), || profile.clone());
    report.finish()
}

fn example(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    tops.own.clear()?;
    let text = using::run("dynamic.condition", &tops.own)?;
    let lines: Vec<_> = text
        .lines()
        .filter(|line| line.contains(" fails: "))
        .collect();
    let is_wanted = |line: &&str| line.contains(" error=-");
    ensure!(lines.iter().all(is_wanted), "{text}");
    ensure!(
        lines
            .iter()
            .any(|line| line.contains(" error=-21 who=\"cat\"")),
        "{text}"
    );
    tops.own.clear()
}
