// SPDX-License-Identifier: GPL-2.0

//! Debian's trace-cmd, unmodified, with events that users have defined: its report of a recording says what it says
//! of the same events of tracefs, and it removes what it knows how to remove.

use super::clients::{read, Folder};
use super::dynamic::{need_line, Tops};
use super::functions::getppid;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::client::{without_numbers, Client, Reference};
use crate::program::{Program, SUM, WORD};
use crate::soak;
use crate::sys;
use crate::Context;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

pub const TESTS: &[Test] = &[test("clients.dynamic", 120, dynamic)];

/// Those of the kernel's own functions; what follows a synthetic event is looked at elsewhere.
const GROUPS: &[&str] = &["kprobes", "uprobes", "fprobes", "tracepoints", "eprobes"];

/// Records all of them with trace-cmd while this task hits each, and returns what the report has of this task.
fn recorded(client: Client, file: &str, program: &Program) -> Check<BTreeSet<String>> {
    let task = sys::thread_id();
    let mut words = vec!["record", "-o", file];
    for group in GROUPS {
        words.extend(["-e", group]);
    }
    let is_over = AtomicBool::new(false);
    let said = thread::scope(|scope| {
        let client = scope.spawn(|| {
            let said = client.trace_cmd(&words, &["sleep", "0.5"]);
            is_over.store(true, SeqCst);
            said
        });
        let text = "a text\0";
        let strings = [text.as_ptr() as usize, text.as_ptr() as usize];
        while !is_over.load(SeqCst) {
            getppid();
            program.call(SUM, [1, 2, 0]);
            program.call(
                WORD,
                [strings.as_ptr() as usize, strings.as_ptr() as usize, 0],
            );
            thread::sleep(Duration::from_millis(1));
        }
        client.join().unwrap_or_else(|_| Err("it panicked".into()))
    })?;
    said.good().map_err(|e| format!("{words:?}: {e}"))?;
    let found = read(client, file, &[])?;
    let own = |line: &&crate::client::Line| line.task.ends_with(&format!("-{task}"));
    let shown = found.iter().filter(own);
    Ok(shown
        .map(|line| format!("{} {}", line.event, without_numbers(&line.text)))
        .collect())
}

fn dynamic(context: &Context) -> Check {
    let client = Client::of(context)?;
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    need_line(&tops.reference, "e:there sched/sched_switch")?;
    let program = Program::new("rtg-client-dynamic")?;
    let path = program.path.display();
    let function = sys::getppid_function();
    let lines = format!(
        "p:k_plain {function}\n\
         p:k_args {function} nr=%orig_ax:u32 comm=$comm text=\\\"text\" five=\\-5:s8 bits=%di:b4@4/8 array=+0(%di):u8[2]\n\
         r:k_ret {function} v=$retval:s32\n\
         p:u_sum {path}:{SUM} a=%di b=%si:s32\n\
         r:u_word {path}:{WORD} v=$retval:x64\n\
         p:u_text {path}:{WORD} t=+0(+0(%di)):string\n\
         f:f_begin {function} a=$arg1:x64 c=$comm\n\
         f:f_end {function}%return v=$retval:s32\n\
         t:t_enter sys_enter id=$arg2:s64\n\
         e:e_call syscalls/sys_enter_getppid nr=$__syscall_nr:s32 name=$comm:string\n"
    );
    tops.set("dynamic_events", &lines)?;
    let place = Folder::new("dynamic")?;
    let mut report = Report::default();
    let file = place.file("trace.dat");
    let own = recorded(client, &file, &program)?;
    for line in lines.lines() {
        let name = line.split([':', ' ']).nth(1);
        let is_there = own.iter().any(|line| line.split(' ').next() == name);
        report.expect(is_there, || format!("{name:?} is not in {own:#?}"));
    }
    // A recording takes ten seconds.
    if soak::rounds(0, 1) != 0 {
        let reference = recorded(Reference, &file, &program)?;
        report.expect(own == reference, || {
            format!("report {own:#?}, of tracefs {reference:#?}")
        });
    }

    // It lists them, and removes those kinds that it knows.
    let listed = |client: Client| -> Check<Vec<String>> {
        let stat = client.text(&["stat"])?;
        client.text(&["reset"])?;
        let lines = stat
            .lines()
            .filter(|line| line.contains("k_") || line.contains("u_"));
        Ok(lines.map(str::to_string).collect())
    };
    let listed = [listed(client)?, listed(Reference)?];
    report.expect(listed[0] == listed[1] && listed[1].len() >= 6, || {
        format!("stat {:#?}, of tracefs {:#?}", listed[0], listed[1])
    });
    let left = [&tops.own, &tops.reference].map(|tree| tree.get("dynamic_events"));
    report.expect(left[0] == left[1], || format!("after reset: {left:?}"));
    for file in ["kprobe_events", "uprobe_events"] {
        report.expect(tops.own.get(file).as_deref() == Ok(""), || {
            format!("{file} after reset")
        });
    }
    report.finish()
}
