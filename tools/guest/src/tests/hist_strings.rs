// SPDX-License-Identifier: GPL-2.0

//! Variables of histograms that are strings and stacks: the same commands written to both tracers and the same calls,
//! line by line; what they keep while other events replace it.

use super::hist_links::{
    play, refused,
    Step::{self, Calls, Enter, Exit},
};
use super::{exact, test, Test};
use crate::check::Check;
use crate::soak::writers::Writers;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::collections::BTreeSet;

pub const TESTS: &[Test] = &[
    test("hist.strings", 120, strings),
    test("hist.wrong_strings", 120, wrong),
    test("hist.stacks", 60, stacks),
    exact("hist.strings_nest", 120, strings_nest).with_testapi(),
];

const STORIES: &[&[Step]] = &[
    // Of the other event, and of the event itself.
    &[
        Enter("hist:keys=common_pid:cc=common_comm,v=offset,dd=comm"),
        Exit("hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).trace(lk_two,$v,$v,common_cpu,$cc)"),
        Calls,
        Exit("hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_two($v,$v,common_cpu,$cc)"),
        Exit("hist:keys=common_pid:yy=common_comm:onmatch(syscalls.sys_enter_lseek).lk_two($v,$v,common_cpu,$yy)"),
        Calls,
        Exit("!hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).trace(lk_two,$v,$v,common_cpu,$cc)"),
        Enter("!hist:keys=common_pid:cc=common_comm,v=offset,dd=comm"),
        Exit("!hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_two($v,$v,common_cpu,$cc)"),
        Enter("!hist:keys=common_pid:cc=common_comm,v=offset,dd=comm"),
    ],
    // Through a variable that is a reference; and one that is never set.
    &[
        Enter("hist:keys=common_pid:v=offset,cc=COMM"),
        Enter("hist:keys=offset:ww=offset,ee=common_comm if offset == 12345"),
        Exit("hist:keys=common_pid:yy=$cc,x=$v:onmatch(syscalls.sys_enter_lseek).lk_two($x,$v,common_cpu,$yy)"),
        Calls,
        Exit("hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_two($v,$v,common_cpu,$ee)"),
        Exit("hist:keys=common_pid:rr=ret:onmax($rr).lk_two($v,$v,common_cpu,$cc)"),
        Calls,
    ],
];

fn strings(context: &Context) -> Check {
    play(context, STORIES)
}

const WRONG: &[&str] = &[
    "hist:keys=ret:cc=common_comm.log2",
    "hist:keys=ret:cc=common_comm+1",
    "hist:keys=ret:cc=common_comm:onmatch(syscalls.sys_enter_lseek).lk_one($cc,common_pid)",
    "hist:keys=ret:cc=common_comm:onmatch(syscalls.sys_enter_lseek).lk_fix($w,$cc)",
    "hist:keys=ret:cc=common_stacktrace:onmatch(syscalls.sys_enter_lseek).lk_fix($w,$cc)",
    "hist:keys=ret:cc=common_stacktrace:onmatch(syscalls.sys_enter_lseek).lk_one($cc,common_pid)",
];

fn wrong(context: &Context) -> Check {
    refused(context, WRONG)
}

/// The callers at one event, in the record of another one.
fn stacks(context: &Context) -> Check {
    let tree = Tree::at(&context.root);
    tree.set("synthetic_events", "lk_stk s64 ret; long[] stack")?;
    let own = Instance::new(&context.root, "rtg-links")?;
    own.set("set_event_pid", &sys::thread_id().to_string())?;
    own.set(
        "events/syscalls/sys_enter_lseek/trigger",
        "hist:keys=common_pid:ss=common_stacktrace",
    )?;
    own.set(
        "events/syscalls/sys_exit_lseek/trigger",
        "hist:keys=common_pid:rr=ret:onmatch(syscalls.sys_enter_lseek).lk_stk($rr,$ss)",
    )?;
    own.set("events/synthetic/lk_stk/enable", "1")?;
    super::hists::lseek(&[(1, 0), (2, 0)]);
    let text = own.get("trace")?;
    let (mut events, mut callers) = (0, 0);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.contains("lk_stk: ret=") {
            ensure!(line.ends_with("stack=STACK:"), "{text}");
            events += 1;
        } else if line.contains("do_syscall_64+0x") {
            callers += 1;
        }
    }
    ensure_eq!((events, callers), (2, 2), "{text}");
    own.remove()?;
    tree.set("synthetic_events", "!lk_stk")
}

/// All events have the same key, and each replaces the string of the one before, in all contexts.
const SETS: &str = "hist:keys=common_type:cc=common_comm,n=number";
const TAKES: &str = "hist:keys=common_type:onmatch(rtsoak.rtsoak_event).lk_str($cc,$n)";

/// The names of the tasks that there are now.
fn names_of_tasks() -> Check<BTreeSet<String>> {
    let entries = std::fs::read_dir("/proc").map_err(|e| format!("/proc: {e}"))?;
    let names = entries.flatten().filter_map(|entry| {
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        Some(name.trim_end().to_string())
    });
    Ok(names.collect())
}

/// Writers in tasks, interrupts and NMIs: a string is always the whole name of a task.
fn strings_nest(context: &Context) -> Check {
    let tree = Tree::at(&context.root);
    tree.set("synthetic_events", "lk_str char comm[]; u32 n")?;
    let own = Instance::new(&context.root, "rtg-soak-a")?;
    own.set("buffer_size_kb", "4096")?;
    let writers = Writers::load(context, &[])?;
    let trigger = "events/rtsoak/rtsoak_event/trigger";
    own.set(trigger, SETS)?;
    own.set(trigger, TAKES)?;
    own.set("events/synthetic/lk_str/enable", "1")?;
    own.set("events/synthetic/lk_str/trigger", "hist:keys=comm:size=128")?;
    writers.start(7, 5_000, 0, 0)?;
    while writers.busy()? {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    writers.stop()?;
    let text = own.get("events/synthetic/lk_str/hist")?;
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("{ comm: "));
    let names: Vec<&str> = lines
        .map(|line| line.split_once(" }").unwrap_or_default().0.trim_end())
        .collect();
    // The words of a name are 8 bytes: one that is torn begins as one and ends as another.
    let halves = |name: &str| {
        let (first, rest) = name.as_bytes().split_at(name.len().min(8));
        (first.to_vec(), rest.to_vec())
    };
    // A task of each CPU has a name like this: `ktimers/1` is no part of `ktimers/0` and of `swapper/1`.
    let tasks = names_of_tasks()?;
    for name in names.iter().filter(|name| !tasks.contains(**name)) {
        let (first, rest) = halves(name);
        let others = || {
            names
                .iter()
                .filter(|other| *other != name)
                .map(|other| halves(other))
        };
        let torn = others().any(|other| other.0 == first) && others().any(|other| other.1 == rest);
        ensure!(!torn, "{name:?} is of two tasks\n{text}");
    }
    ensure!(names.len() > 1, "{text}");
    own.remove()?;
    tree.set("synthetic_events", "!lk_str")?;
    writers.unload()
}
