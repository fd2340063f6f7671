// SPDX-License-Identifier: GPL-2.0

//! Event probes and events of programs with each allocation failing: with ENOMEM nothing is defined, and nothing is
//! enabled.

use super::faults::open;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::faults::Faults;
use crate::program::{Program, SUM, WORD};
use crate::tree::{Instance, Tree};
use crate::Context;
use std::io::Write;

pub const TESTS: &[Test] = &[
    test("faults.event_probes", 240, event_probes),
    test("faults.user_probes", 240, user_probes),
];

const LINES: &[(&str, &str)] = &[
    (
        "events/syscalls/sys_enter_getppid",
        "e:faults/probe syscalls/sys_enter_getppid nr=$__syscall_nr:s32 c=$comm:string if __syscall_nr == 110",
    ),
    (
        "events/sched/sched_switch",
        "e:faults/probe sched/sched_switch a=+0($prev_comm):u8[3] b=$prev_comm:string c=\\\"text\":string",
    ),
];

fn event_probes(context: &Context) -> Check {
    let faults = Faults::new()?;
    let top = Tree::at(&context.root);
    let own = Instance::new(&context.root, "rtg-faults")?;
    own.set("buffer_size_kb", "200")?;
    let mut report = Report::default();
    for (followed, line) in LINES {
        let path = top.file("dynamic_events");
        let result = faults.exhaust(
            line,
            || {
                let mut file = open(&path, true, 0)?;
                Ok(file.write(line.as_bytes()).map(drop)?)
            },
            |result| match result {
                Ok(()) => top.set("dynamic_events", "-:faults/probe"),
                Err(_) => {
                    ensure_eq!(top.get("dynamic_events")?, "", "refused, but");
                    ensure!(!own.exists("events/faults"), "refused, but there");
                    Ok(())
                }
            },
        );
        report.collect(result.and_then(|tally| {
            ensure!(tally.refused > 5, "{line}: {tally:?}");
            Ok(())
        }));

        top.set("dynamic_events", line)?;
        let path = own.file("events/faults/probe/enable");
        let result = faults.exhaust(
            &format!("enable {line}"),
            || {
                let mut file = open(&path, true, 0)?;
                Ok(file.write(b"1").map(drop)?)
            },
            |result| match result {
                Ok(()) => own.set("events/faults/probe/enable", "0"),
                Err(_) => {
                    for file in [
                        "events/faults/probe/enable".to_string(),
                        format!("{followed}/enable"),
                    ] {
                        ensure_eq!(own.get(&file)?, "0\n", "{file}: refused, but");
                    }
                    Ok(())
                }
            },
        );
        report.collect(result.and_then(|tally| {
            ensure!(tally.refused > 3, "enable {line}: {tally:?}");
            Ok(())
        }));
        top.set("dynamic_events", "-:faults/probe")?;
    }
    report.finish()?;
    own.remove()
}

fn user_probes(context: &Context) -> Check {
    let faults = Faults::new()?;
    let top = Tree::at(&context.root);
    let program = Program::new("rtg-faults-program")?;
    let place = program.path.display();
    let lines = [
        format!("p:faults/probe {place}:{SUM} a=%di b=$comm c=\\\"text\""),
        format!("r:faults/probe {place}:{WORD} a=+0(%di):string b=$retval c=@+8:u8[3]"),
    ];
    let own = Instance::new(&context.root, "rtg-faults")?;
    own.set("buffer_size_kb", "200")?;
    let mut report = Report::default();
    for line in &lines {
        let path = top.file("uprobe_events");
        let result = faults.exhaust(
            line,
            || {
                let mut file = open(&path, true, 0)?;
                Ok(file.write(line.as_bytes()).map(drop)?)
            },
            |result| match result {
                Ok(()) => top.set("uprobe_events", "-:faults/probe"),
                Err(_) => {
                    ensure_eq!(top.get("dynamic_events")?, "", "refused, but");
                    ensure!(!own.exists("events/faults"), "refused, but there");
                    Ok(())
                }
            },
        );
        report.collect(result.and_then(|tally| {
            ensure!(tally.refused > 5, "{line}: {tally:?}");
            Ok(())
        }));

        top.set("uprobe_events", line)?;
        let enable = "events/faults/probe/enable";
        let path = own.file(enable);
        let result = faults.exhaust(
            &format!("enable {line}"),
            || {
                let mut file = open(&path, true, 0)?;
                Ok(file.write(b"1").map(drop)?)
            },
            |result| match result {
                Ok(()) => own.set(enable, "0"),
                Err(_) => {
                    ensure_eq!(own.get(enable)?, "0\n", "refused, but");
                    Ok(())
                }
            },
        );
        report.collect(result.and_then(|tally| {
            ensure!(tally.refused > 1, "enable {line}: {tally:?}");
            Ok(())
        }));

        // What is hit does not need the memory, or the kernel does without the hit.
        own.set(enable, "1")?;
        let text = c"text".as_ptr() as usize;
        let result = faults.exhaust(
            &format!("hit {line}"),
            || {
                let at = (&raw const text) as usize;
                let sum = program.call(SUM, [1, 2, 0]);
                Ok((sum, program.call(WORD, [text, at, 0])))
            },
            |result| {
                ensure_eq!(result.ok(), Some((3, text)), "{line}: what was hit");
                Ok(())
            },
        );
        report.collect(result.map(drop));
        own.set(enable, "0")?;
        top.set("uprobe_events", "-:faults/probe")?;
    }
    report.finish()?;
    own.remove()
}
