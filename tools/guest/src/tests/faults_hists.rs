// SPDX-License-Identifier: GPL-2.0

//! Histograms with each allocation failing: with ENOMEM there is none, nothing is attached, and what was counted stays.

use super::faults::open;
use super::hists::total;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::faults::Faults;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::cell::Cell;
use std::io::{Read, Write};

pub const TESTS: &[Test] = &[
    test("faults.histograms", 240, histograms),
    test("faults.histograms_read", 240, reads),
];

const ENTER: &str = "events/syscalls/sys_enter_getppid";
const EXIT: &str = "events/syscalls/sys_exit_getppid";
const GETPPID: usize = 110;

/// What makes events and variables that the commands need.
const SYNTHETIC: &str = "faults_syn u64 d; int nr";
const SOURCE: &str = "hist:keys=common_pid:t=common_timestamp:size=128";

/// Commands for [`EXIT`].
const COMMANDS: &[&str] = &[
    "hist:keys=common_pid,common_comm:vals=ret:sort=common_pid:size=128",
    "hist:keys=ret:vals=ret.quantiles,ret.min,ret.avg:sort=ret.min.top=3:size=128",
    "hist:keys=common_stacktrace:size=128 if common_pid != 1",
    "hist:keys=common_pid:a=ret,b=common_comm,c=common_stacktrace:size=128",
    "hist:name=faults:keys=common_pid.execname:size=128",
    "hist:keys=common_pid:d=common_timestamp-$t:onmatch(syscalls.sys_enter_getppid).faults_syn($d,__syscall_nr):size=128",
    "hist:keys=common_pid:d=common_timestamp-$t:vals=$t.max:onmax($d).save(ret,common_comm):onchange($d).snapshot():size=128",
];

fn feed() {
    (0..3).for_each(|_| {
        sys::call(GETPPID, [0; 6]);
    });
}

struct Hists {
    faults: Faults,
    top: Tree,
    own: Instance,
}

impl Hists {
    fn new(context: &Context) -> Check<Self> {
        let faults = Faults::new()?;
        let own = Instance::new(&context.root, "rtg-faults")?;
        own.set("buffer_size_kb", "200")?;
        let top = Tree::at(&context.root);
        Ok(Self { faults, top, own })
    }

    fn trigger(&self, event: &str) -> String {
        format!("{event}/trigger")
    }

    /// What a command that is refused leaves as it is.
    fn state(&self) -> Check<Vec<String>> {
        let mut state = Vec::new();
        for event in [ENTER, EXIT] {
            for file in ["trigger", "hist", "enable"] {
                state.push(self.own.get(&format!("{event}/{file}"))?);
            }
        }
        Ok(state)
    }

    fn write(&self, event: &str, command: &str) -> crate::errno::Op<()> {
        let path = self.own.file(&self.trigger(event));
        let mut file = open(&path, true, 0)?;
        Ok(file.write(command.as_bytes()).map(drop)?)
    }
}

fn histograms(context: &Context) -> Check {
    let hists = Hists::new(context)?;
    let mut report = Report::default();
    hists.top.set("synthetic_events", SYNTHETIC)?;
    hists.own.set(&hists.trigger(ENTER), SOURCE)?;
    // A third of them, other ones in each run, or all.
    let all = soak::rounds(0, 1) == 1;
    let third = soak::seed() as usize % 3;
    let commands = (0..).zip(COMMANDS);
    for (_, command) in commands.filter(|(at, _)| all || at % 3 == third) {
        let before = hists.state()?;
        let tally = hists.faults.exhaust(
            command,
            || hists.write(EXIT, command),
            |result| match result {
                Ok(()) => hists.own.set(&hists.trigger(EXIT), &format!("!{command}")),
                Err(_) => {
                    ensure_eq!(hists.state()?, before, "refused, but");
                    Ok(())
                }
            },
        );
        match tally {
            Ok(tally) => report.expect(tally.refused > 5, || format!("{command}: {tally:?}")),
            Err(why) => report.collect(Err(why)),
        }
    }
    hists
        .own
        .set(&hists.trigger(ENTER), &format!("!{SOURCE}"))?;
    hists
        .top
        .set("synthetic_events", &format!("!{SYNTHETIC}"))?;
    hists.own.remove()?;
    report.finish()
}

/// What is read, taken and cleared: all of it or nothing.
fn reads(context: &Context) -> Check {
    let hists = Hists::new(context)?;
    let mut report = Report::default();
    let command = format!(
        "hist:keys=ret:vals=ret.quantiles,ret.max:size=128 if common_pid == {}",
        sys::thread_id()
    );
    hists.own.set(&hists.trigger(EXIT), &command)?;
    feed();
    let hits = || -> Check<u64> { Ok(total(&hists.own.get(&format!("{EXIT}/hist"))?, "Hits:")) };
    ensure_eq!(hits()?, 3, "hits");
    // The room for the text is there before.
    let mut text = String::with_capacity(1 << 16);
    let took = Cell::new(None);
    for file in ["hist", "hist_json", "hist_take"] {
        let path = hists.own.file(&format!("{EXIT}/{file}"));
        let whole = hists.own.get(&format!("{EXIT}/hist_json"))?;
        let tally = hists.faults.exhaust(
            file,
            || {
                text.clear();
                let mut open = open(&path, false, 0)?;
                let mut read = open.read_to_string(&mut text);
                if read.is_err() && file == "hist_take" {
                    // What was taken is kept for the next read.
                    text.clear();
                    read = open.read_to_string(&mut text);
                }
                took.set(read.is_ok().then_some(total(&text, "Hits:")));
                Ok(read.map(drop)?)
            },
            |result| {
                if result.is_ok() && file == "hist_take" {
                    ensure_eq!((took.get(), hits()?), (Some(3), 0), "taken, but");
                    feed();
                }
                ensure_eq!(hits()?, 3, "hits");
                ensure_eq!(hists.own.get(&format!("{EXIT}/hist_json"))?, whole, "read");
                Ok(())
            },
        );
        report.collect(tally.map(drop));
    }
    let clear = command.replacen(" if ", ":clear if ", 1);
    let tally = hists.faults.exhaust(
        "clear",
        || hists.write(EXIT, &clear),
        |result| {
            ensure_eq!(hits()?, if result.is_ok() { 0 } else { 3 }, "hits");
            if result.is_ok() {
                feed();
            }
            Ok(())
        },
    );
    report.collect(tally.map(drop));
    hists
        .own
        .set(&hists.trigger(EXIT), &format!("!{command}"))?;
    hists.own.remove()?;
    report.finish()
}
