// SPDX-License-Identifier: GPL-2.0

//! Fields of other events as parameters of actions: the same commands written to both tracers and the same calls, line
//! by line. The histograms that keep such fields come and go with what refers to them.

use super::hist_links::{
    play, refused,
    Step::{self, Calls, Enter, Exit},
};
use super::{test, Test};
use crate::check::Check;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("hist.fields", 120, fields),
    test("hist.wrong_fields", 120, wrong),
    test("hist.fields_end", 60, end),
];

const STORIES: &[&[Step]] = &[
    // Two actions share what one histogram keeps.
    &[
        Enter("hist:keys=common_pid"),
        Exit("hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_lat(whence)"),
        Calls,
        Enter("!hist:keys=common_pid:synthetic_whence=whence"),
        Enter("hist:keys=fd:synthetic_whence=offset"),
        Exit("hist:keys=common_pid:vals=ret:onmatch(syscalls.sys_enter_lseek).trace(lk_lat,syscalls.sys_enter_lseek.whence)"),
        // In this order: after the other one ftrace keeps the histogram for ever, and its kernel warns.
        Exit("!hist:keys=common_pid:vals=ret:onmatch(syscalls.sys_enter_lseek).trace(lk_lat,syscalls.sys_enter_lseek.whence)"),
        Calls,
        Enter("!hist:keys=common_pid"),
        Exit("!hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_lat(whence)"),
        Calls,
    ],
    // With the filter of the histogram that is there, and its keys as they are written.
    &[
        Enter("hist:keys=common_pid.execname:vals=fd if offset == 2"),
        Enter("hist:keys=common_pid"),
        Exit("hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_two(whence,whence,common_cpu,common_comm)"),
        Calls,
    ],
    // What the field does not fit, or another parameter, makes nothing.
    &[
        Enter("hist:keys=common_pid"),
        Exit("hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_two(whence,offset,common_cpu,common_comm)"),
        Exit("hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_lat(whence,ret)"),
        Exit("hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_two(whence,whence,nosuch,common_comm)"),
        Exit("hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_two(whence)"),
        Calls,
    ],
    // A variable of that name that is there already, and actions without an event.
    &[
        Enter("hist:keys=common_pid:synthetic_whence=offset"),
        Enter("hist:keys=common_pid,fd"),
        Exit("hist:keys=common_pid:rr=ret:onmax($rr).lk_lat(syscalls.sys_enter_lseek.whence)"),
        Exit("hist:keys=common_pid:onchange($rr).lk_lat(syscalls.sys_enter_lseek.whence)"),
        Calls,
        Exit("!hist:keys=common_pid:rr=ret:onmax($rr).lk_lat(syscalls.sys_enter_lseek.whence)"),
        Calls,
    ],
    // An expression is of the type of its first operand; the power of 2 of a signed number is of none that is signed.
    &[
        Enter("hist:keys=common_pid"),
        Exit("hist:keys=common_pid*1:onmatch(syscalls.sys_enter_lseek).lk_lat(whence)"),
        Calls,
        Exit("hist:keys=common_cpu:onmatch(syscalls.sys_enter_lseek).lk_lat(whence)"),
        Exit("hist:keys=common_pid.log2:onmatch(syscalls.sys_enter_lseek).lk_lat(whence)"),
        Calls,
    ],
    // The CPU is an unsigned int.
    &[
        Enter("hist:keys=fd"),
        Exit("hist:keys=common_cpu:onmatch(syscalls.sys_enter_lseek).lk_lat(whence)"),
        Calls,
    ],
];

fn fields(context: &Context) -> Check {
    play(context, STORIES)
}

const WRONG: &[&str] = &[
    "hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_one(nosuch,common_pid)",
    "hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_one(syscalls.sys_enter_lseek.nosuch,common_pid)",
    "hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_one(syscalls.nosuch.offset,common_pid)",
    "hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_one(syscalls.sys_enter_read.fd,common_pid)",
    "hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_one(syscalls.sys_exit_lseek.nosuch,common_pid)",
    "hist:keys=ret:onmatch(syscalls.sys_enter_lseek).lk_lat(whence)",
    "hist:keys=common_pid,ret:onmatch(syscalls.sys_enter_lseek).lk_lat(whence)",
    "hist:keys=common_comm:onmatch(syscalls.sys_enter_lseek).lk_lat(whence)",
    "hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lk_sum(fd,whence)",
    "hist:keys=common_pid:rr=ret:onmax($rr).lk_lat(whence)",
    "hist:keys=common_pid:rr=ret:onmax($rr).save(offset)",
];

fn wrong(context: &Context) -> Check {
    refused(context, WRONG)
}

/// What was made for an action goes when its histogram is emptied, and with the instance.
fn end(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-fields")?;
    let (enter, exit) = (
        "events/syscalls/sys_enter_lseek/trigger",
        "events/syscalls/sys_exit_lseek/trigger",
    );
    let top = Tree::at(&context.root);
    top.set("synthetic_events", "lf_one u64 d")?;
    let made = |own: &Instance| -> Check<bool> { Ok(own.get(enter)?.contains("synthetic_whence")) };
    let action = "hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lf_one(whence)";
    own.set(enter, "hist:keys=common_pid")?;
    for _ in 0..3 {
        own.set(exit, action)?;
        ensure!(made(&own)?, "{}", own.get(enter)?);
        // What is referred to stays.
        own.empty(enter)?;
        ensure!(made(&own)?, "{}", own.get(enter)?);
        own.empty(exit)?;
        ensure!(!made(&own)?, "{}", own.get(enter)?);
    }
    // Of two actions the last one takes it along.
    let other = "hist:keys=common_pid:vals=ret:onmatch(syscalls.sys_enter_lseek).lf_one(whence)";
    own.set(exit, action)?;
    own.set(exit, other)?;
    own.set(exit, &format!("!{action}"))?;
    ensure!(made(&own)?, "{}", own.get(enter)?);
    own.set(exit, &format!("!{other}"))?;
    ensure!(!made(&own)?, "{}", own.get(enter)?);
    own.set(exit, action)?;
    own.remove()?;
    // Nothing is left that keeps the event.
    top.set("synthetic_events", "!lf_one")
}
