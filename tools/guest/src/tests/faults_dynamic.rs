// SPDX-License-Identifier: GPL-2.0

//! Event probes and events of programs with each allocation failing: with ENOMEM nothing is defined, and nothing is
//! enabled.

use super::dynamic::Tops;
use super::faults::open;
use super::fprobe_returns::BlockedReader;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::faults::Faults;
use crate::program::{Program, SUM, WORD};
use crate::soak;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::cell::{Cell, RefCell};
use std::io::Write;

pub const TESTS: &[Test] = &[
    test("faults.event_probes", 240, event_probes),
    test("faults.user_probes", 240, user_probes),
    test("faults.sibling_probes", 240, sibling_probes),
    test("faults.entry_probes", 240, entry_probes),
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

const ENABLE: &str = "events/faults/probe/enable";
const REMOVE: &str = "-:faults/probe";

/// The top folder and an instance, and a probe of events that is defined there.
struct FaultyProbe<'a> {
    faults: &'a Faults,
    top: Tree,
    own: Instance,
}

impl<'a> FaultyProbe<'a> {
    fn new(context: &Context, faults: &'a Faults) -> Check<Self> {
        let own = Instance::new(&context.root, "rtg-faults")?;
        own.set("buffer_size_kb", "200")?;
        Ok(Self {
            faults,
            top: Tree::at(&context.root),
            own,
        })
    }

    /// Writes `line` to `file` with each allocation failing: it is defined, or nothing is, and `removal` removes it. In
    /// the end it is defined.
    fn define(&self, file: &str, line: &str, removal: &str) -> Check {
        let before = self.top.get("dynamic_events")?;
        let path = self.top.file(file);
        let tally = self.faults.exhaust(
            line,
            || {
                let mut file = open(&path, true, 0)?;
                Ok(file.write(line.as_bytes()).map(drop)?)
            },
            |result| match result {
                Ok(()) => self.top.set(file, removal),
                Err(_) => {
                    ensure_eq!(self.top.get("dynamic_events")?, before, "refused, but");
                    let is_there = self.own.exists("events/faults");
                    ensure_eq!(is_there, !before.is_empty(), "refused, but there");
                    Ok(())
                }
            },
        )?;
        ensure!(tally.refused > 5, "{line}: {tally:?}");
        self.top.set(file, line)
    }

    /// Enables it with each allocation failing: it is enabled, or none of `switches` is, of which more than `few` are
    /// refused.
    fn enable(&self, line: &str, switches: &[&str], few: usize) -> Check {
        let path = self.own.file(ENABLE);
        let tally = self.faults.exhaust(
            &format!("enable {line}"),
            || {
                let mut file = open(&path, true, 0)?;
                Ok(file.write(b"1").map(drop)?)
            },
            |result| match result {
                Ok(()) => self.own.set(ENABLE, "0"),
                Err(_) => {
                    for file in switches {
                        ensure_eq!(self.own.get(file)?, "0\n", "{file}: refused, but");
                    }
                    Ok(())
                }
            },
        )?;
        ensure!(tally.refused > few, "enable {line}: {tally:?}");
        Ok(())
    }
}

fn event_probes(context: &Context) -> Check {
    let faults = Faults::new()?;
    let probe = FaultyProbe::new(context, &faults)?;
    let mut report = Report::default();
    for (followed, line) in LINES {
        report.collect(probe.define("dynamic_events", line, REMOVE));
        let followed = format!("{followed}/enable");
        report.collect(probe.enable(line, &[ENABLE, &followed], 3));
        probe.top.set("dynamic_events", REMOVE)?;
    }
    report.finish()?;
    probe.own.remove()
}

fn user_probes(context: &Context) -> Check {
    let faults = Faults::new()?;
    let program = Program::new("rtg-faults-program")?;
    let place = program.path.display();
    let lines = [
        format!("p:faults/probe {place}:{SUM} a=%di b=$comm c=\\\"text\""),
        format!("r:faults/probe {place}:{WORD} a=+0(%di):string b=$retval c=@+8:u8[3]"),
    ];
    let probe = FaultyProbe::new(context, &faults)?;
    let mut report = Report::default();
    for line in &lines {
        report.collect(probe.define("uprobe_events", line, REMOVE));
        report.collect(probe.enable(line, &[ENABLE], 1));

        // What is hit does not need the memory, or the kernel does without the hit.
        probe.own.set(ENABLE, "1")?;
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
        probe.own.set(ENABLE, "0")?;
        probe.top.set("uprobe_events", REMOVE)?;
    }
    report.finish()?;
    probe.own.remove()
}

/// A second probe of an event, while that is enabled in an instance, and both together.
fn sibling_probes(context: &Context) -> Check {
    // A minute: each definition reads the kernel's types.
    if soak::rounds(0, 1) == 0 {
        skip!("in the long run alone");
    }
    let faults = Faults::new()?;
    let probe = FaultyProbe::new(context, &faults)?;
    let mut report = Report::default();
    // Not kprobes: the kernel says EINVAL when it has no memory for some of what these need.
    let file = "dynamic_events";
    let places = ["sched_process_exit", "sched_process_fork"];
    let lines = places.map(|place| format!("t:faults/probe {place} c=$comm"));
    probe.define(file, &lines[0], REMOVE)?;
    probe.own.set(ENABLE, "1")?;
    let removal = format!("{REMOVE} {}", places[1]);
    report.collect(probe.define(file, &lines[1], &removal));
    probe.own.set(ENABLE, "0")?;
    report.collect(probe.enable("both", &[ENABLE], 0));
    probe.top.set(file, REMOVE)?;
    report.finish()?;
    probe.own.remove()
}

/// A definition at the beginning of a function, for which the kernel calls a probe of its own where there is no memory
/// for the hook, takes the place of one at returns while a call is inside that began under that one.
fn entry_probes(context: &Context) -> Check {
    let faults = Faults::new()?;
    let tops = Tops::cleared(context);
    let (top, file) = (&tops.own, "dynamic_events");
    // The kernel follows returns all the time.
    if top.write(file, b"f:faults/other vfs_write%return").is_err() {
        skip!("this kernel has no probes of functions");
    }
    top.set("events/faults/other/enable", "1")?;
    let begin = || -> Check<BlockedReader> {
        top.set(file, "f:faults/returns vfs_read%return")?;
        top.set("events/faults/returns/enable", "1")?;
        let reader = BlockedReader::new()?;
        top.set("events/faults/returns/enable", "0")?;
        top.set(file, "-:faults/returns")?;
        top.set(file, "f:faults/probe vfs_fallocate")?;
        Ok(reader)
    };
    let reader = RefCell::new(Some(begin()?));
    let without_hook = Cell::new(0);
    let path = top.file(ENABLE);
    let tally = faults.exhaust_by(
        "enable",
        |n| if n < 100 { 1 } else { faults.sparse(n) },
        || {
            let mut file = open(&path, true, 0)?;
            Ok(file.write(b"1").map(drop)?)
        },
        |result| {
            let functions = tops.reference.get("enabled_functions")?;
            let line = functions
                .lines()
                .find(|line| line.starts_with("vfs_fallocate "));
            if line.is_some_and(|line| line.contains("fprobe_ftrace_entry")) {
                without_hook.set(without_hook.get() + 1);
            }
            reader.take().map_or(Ok(()), BlockedReader::end)?;
            if result.is_ok() {
                top.set(ENABLE, "0")?;
            }
            top.set(file, REMOVE)?;
            reader.replace(Some(begin()?));
            Ok(())
        },
    )?;
    reader.take().map_or(Ok(()), BlockedReader::end)?;
    top.set("events/faults/other/enable", "0")?;
    println!("{tally:?}, {} times without the hook", without_hook.get());
    ensure!(without_hook.get() > 0, "the hook has always had its memory");
    Ok(())
}
