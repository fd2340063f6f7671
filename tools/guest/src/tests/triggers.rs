// SPDX-License-Identifier: GPL-2.0

//! Triggers: the same words written to both tracers get the same answers, show the same texts and do the
//! same to the same events; and what rtrace alone promises about contexts, modules and instances.

use super::filter::log_of;
use super::{exact, pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::module;
use crate::soak::record::{self, CONTEXTS, NMI, RINGS};
use crate::soak::writers::Writers;
use crate::stream;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::collections::BTreeSet;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("trigger.right_texts", 60, right_texts),
    test("trigger.wrong_texts", 60, wrong_texts),
    test("trigger.lengths", 30, lengths),
    test("trigger.effects", 120, effects),
    test("trigger.groups", 60, groups),
    test("trigger.snapshot", 60, snapshot),
    test("trigger.instances", 60, instances),
    exact("trigger.contexts", 180, contexts).with_testapi(),
    test("trigger.module", 60, of_a_module).with_testapi(),
];

/// A call that no other program of the guest makes in a loop, and its end.
const ENTER: &str = "syscalls/sys_enter_getppid";
const EXIT: &str = "syscalls/sys_exit_getppid";
const GETPPID: usize = 110;
const SWITCH: &str = "sched/sched_switch";
const SOAK: &str = "rtsoak/rtsoak_event";

fn file(event: &str) -> String {
    format!("events/{event}/trigger")
}

fn enable(event: &str) -> String {
    format!("events/{event}/enable")
}

/// The text of a `trigger` file, without what one of the two does not have: the kernels with checks are
/// built without snapshots.
fn shown(tree: &Tree, event: &str) -> Check<String> {
    let text = tree.get(&file(event))?;
    Ok(match sys::kernel_with_checks() && text.starts_with('#') {
        true => text.replace(" snapshot", ""),
        false => text,
    })
}

/// Everything that shows of one event. Not all of it where locks are proven: `show_event_triggers` of the
/// kernel walks its list in a way that lockdep warns of.
fn state(tree: &Tree, event: &str) -> Check<String> {
    let all = match sys::proves_locking() {
        true => String::new(),
        false => tree.get("show_event_triggers")?,
    };
    Ok(format!(
        "{}{}{all}{}",
        shown(tree, event)?,
        tree.get(&enable(event))?,
        log_of(tree)?
    ))
}

/// One write to both trees: the same answer, the same texts. Returns whether it was taken.
fn compare(report: &mut Report, trees: (&Tree, &Tree), event: &str, text: &[u8]) -> Check<bool> {
    let (own, reference) = trees;
    let what = format!("{event} <- {:.100}", text.escape_ascii().to_string());
    let answers = (
        own.write(&file(event), text),
        reference.write(&file(event), text),
    );
    report.expect(answers.0 == answers.1, || {
        format!("{what}: {:?}, tracefs {:?}", answers.0, answers.1)
    });
    let states = (state(own, event)?, state(reference, event)?);
    report.expect(states.0 == states.1, || {
        format!("{what}: {:?}, tracefs {:?}", states.0, states.1)
    });
    Ok(answers.1.is_ok())
}

/// In this order: some are there already, some take away what is there.
const RIGHT: &[&str] = &[
    "traceoff",
    "!traceoff",
    "  traceon:5 \n",
    "!traceon",
    "traceoff:",
    "!traceoff:whatever it says",
    "traceoff: ",
    "!traceon",
    "traceoff:3:4",
    "!traceoff:3:4",
    "traceoff:0x10",
    "!traceoff",
    "traceoff:010",
    "!traceoff",
    "traceoff 7",
    "!traceoff",
    "traceoff:0",
    "!traceoff",
    "traceoff:18446744073709551615",
    "!traceoff",
    "traceoff:9223372036854775808",
    "!traceoff",
    "stacktrace if prev_pid == 5",
    "!stacktrace",
    "stacktrace:2   if    prev_pid == 5 || next_comm ~ \"a*\"",
    "traceoff:1 if common_pid == -1 && CPU == 5",
    "enable_event:irq:irq_handler_entry",
    "disable_event:irq:irq_handler_exit:7 if prev_pid == 1",
    "enable_event sched:sched_switch:1",
    "!enable_event:irq:irq_handler_entry:9 nothing",
    "!disable_event:irq:softirq_entry",
    "!disable_event:sched:sched_switch",
    "!enable_event:irq:irq_handler_exit",
    "!stacktrace if",
    "!traceoff\n",
    "!traceoff",
    "!snapshot",
    "!stacktrace",
];

fn right_texts(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    // None of them may act meanwhile. Recording stays on: tracefs has `traceon` act for tasks that are
    // left out as well.
    for tree in [&own, &reference] {
        tree.set("set_event_pid", "4000000")?;
    }
    for text in RIGHT.iter().filter(|text| !text.contains("snapshot")) {
        let taken = compare(&mut report, (&own, &reference), SWITCH, text.as_bytes())?;
        report.expect(taken, || format!("{text:?}: tracefs refuses it"));
    }
    for tree in [&own, &reference] {
        // Not by truncation: it is for histograms.
        tree.set(&file(SWITCH), "traceoff:2")?;
        tree.empty(&file(SWITCH))?;
    }
    compare(&mut report, (&own, &reference), SWITCH, b"!traceoff")?;
    report.finish()
}

const WRONG: &[&str] = &[
    " ",
    "\n",
    ":",
    "!",
    "nosuch",
    "!nosuch",
    "!!traceoff",
    "! traceoff",
    "# traceoff",
    "traceoff\ntraceon",
    "Traceoff",
    "traceof",
    "traceoff:abc",
    "traceoff:3abc",
    "traceoff:-1",
    "traceoff:0x",
    "traceoff:08",
    "traceoff:18446744073709551616",
    "traceoff:99999999999999999999x",
    "traceoff iff prev_pid == 1",
    "traceoff if",
    "traceoff if ",
    "traceoff:3 prev_pid == 1",
    "traceoff if nosuch == 1",
    "traceoff:4 if   nosuch == 1",
    "traceoff if prev_pid",
    "traceoff if prev_pid == 1 if next_pid == 2",
    "stacktrace if (prev_pid == 1",
    "stacktrace if prev_pid > 3 if prev_pid > 2",
    "stacktrace if 0",
    "enable_event",
    "enable_event:",
    "enable_event:sched",
    "enable_event:sched:",
    "enable_event:sched:nosuch",
    "enable_event:nosuch:sched_switch",
    "enable_event:ftrace:print",
    "enable_event:sched:sched_switch:",
    "enable_event:sched:sched_switch:x",
    "enable_event:sched:sched_switch x",
    "enable_event:sched:sched_switch if nosuch == 1",
    "disable_event:sched:sched_waking:18446744073709551616",
    "!enable_event",
    "!enable_event:sched",
    "!enable_event:sched:nosuch",
    "enable_hist",
    "enable_hist:sched:nosuch",
    "disable_hist:sched:sched_switch:x",
    "!disable_hist:sched:nosuch",
];

/// Also beside triggers that are there: EEXIST, and they stay.
fn wrong_texts(context: &Context) -> Check {
    const THERE: &[&str] = &["traceoff:3", "enable_event:sched:sched_waking"];
    const SECOND: &[&str] = &[
        "traceon",
        "traceoff:9",
        "traceoff if prev_pid == 1",
        "enable_event:sched:sched_waking:4",
        "disable_event:sched:sched_waking",
        "traceon if nosuch == 1",
    ];
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for tree in [&own, &reference] {
        tree.set("tracing_on", "0")?;
        tree.set("set_event_pid", "4000000")?;
    }
    for there in [false, true] {
        if there {
            for text in THERE {
                compare(&mut report, (&own, &reference), SWITCH, text.as_bytes())?;
            }
        }
        let second = SECOND.iter().filter(|_| there);
        for text in WRONG.iter().chain(second) {
            let taken = compare(&mut report, (&own, &reference), SWITCH, text.as_bytes())?;
            report.expect(!taken, || format!("{text:?}: tracefs takes it"));
        }
    }
    report.finish()
}

/// Texts of all lengths around a page, and none at all.
fn lengths(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for tree in [&own, &reference] {
        tree.set("set_event_pid", "4000000")?;
    }
    let mut texts = vec![String::new()];
    for len in [4094, 4095, 4096, 5000, 70_000] {
        texts.push(format!("{}traceon", " ".repeat(len - 7)));
        texts.push(format!("!traceon{}", " ".repeat(len - 8)));
        texts.push("x".repeat(len));
        texts.push(format!("traceon{}if a", " ".repeat(len - 11)));
    }
    for text in texts {
        compare(&mut report, (&own, &reference), SWITCH, text.as_bytes())?;
    }
    report.finish()
}

enum Step<'a> {
    /// Writes to both trees, with the pid of this thread for `PID`.
    Set(&'a str, &'a str),
    /// Calls getppid() so many times.
    Call(usize),
}
use Step::*;

/// Each row is one story; a pair of instances begins each.
const STORIES: &[&[Step]] = &[
    // Softly: nothing is recorded, but recording goes off, once.
    &[
        Set("ENTER", "traceoff:1 if common_pid == PID"),
        Call(3),
        Set("tracing_on", "1"),
        Call(3),
        Set("events/ENTER/enable", "1"),
        Call(2),
        Set("ENTER", "!traceoff"),
        Call(2),
        Set("events/ENTER/enable", "0"),
        Call(1),
    ],
    // The event after which recording goes off is recorded.
    &[
        Set("events/ENTER/enable", "1"),
        Set("ENTER", "traceoff"),
        Call(3),
        Set("tracing_on", "1"),
        Call(2),
        Set("ENTER", "!traceoff"),
        Set("tracing_on", "1"),
        Call(4),
    ],
    // The event that switches recording on is recorded when nothing asks about it.
    &[
        Set("tracing_on", "0"),
        Set("events/ENTER/enable", "1"),
        Set("ENTER", "traceon:2"),
        Call(3),
        Set("tracing_on", "0"),
        Call(3),
        Set("tracing_on", "0"),
        Call(3),
    ],
    &[
        Set("tracing_on", "0"),
        Set("events/ENTER/enable", "1"),
        Set("ENTER", "traceon if common_pid == PID"),
        Call(3),
        Set("tracing_on", "0"),
        Call(3),
    ],
    // One event switches another, with counts; the other's own switch counts, too.
    &[
        Set("ENTER", "enable_event:syscalls:sys_exit_getppid:2"),
        Call(3),
        Set("events/EXIT/enable", "0"),
        Call(2),
        Set("events/EXIT/enable", "0"),
        Call(2),
        Set("events/EXIT/enable", "1"),
        Set("ENTER", "!enable_event:syscalls:sys_exit_getppid"),
        Call(1),
        Set("events/EXIT/enable", "0"),
        Call(1),
    ],
    &[
        Set("ENTER", "enable_event:syscalls:sys_exit_getppid"),
        Set("EXIT", "disable_event:syscalls:sys_exit_getppid"),
        Call(4),
        Set("ENTER", "!enable_event:syscalls:sys_exit_getppid"),
        Call(2),
        Set("EXIT", "!disable_event:syscalls:sys_exit_getppid"),
        Call(2),
    ],
    // Itself.
    &[
        Set("ENTER", "enable_event:syscalls:sys_enter_getppid:1"),
        Call(3),
        Set("events/ENTER/enable", "0"),
        Call(3),
        Set("ENTER", "!enable_event:syscalls:sys_enter_getppid"),
        Call(1),
    ],
    // A trigger on an event that the user has on, and with a filter of its own.
    &[
        Set("events/ENTER/enable", "1"),
        Set("events/ENTER/filter", "common_pid == 0"),
        Set("ENTER", "enable_event:syscalls:sys_exit_getppid"),
        Call(3),
        Set("events/ENTER/filter", "0"),
        Call(3),
        Set("ENTER", "!enable_event:syscalls:sys_exit_getppid"),
        Set("events/ENTER/enable", "0"),
        Set("events/EXIT/enable", "0"),
        Call(1),
    ],
    // Stacks, with and without the event.
    &[
        Set("ENTER", "stacktrace:3"),
        Call(2),
        Set("events/ENTER/enable", "1"),
        Call(3),
        Set("ENTER", "!stacktrace"),
        Set("ENTER", "stacktrace:5 if common_pid == 0"),
        Call(3),
        Set("ENTER", "traceoff if common_pid == PID"),
        Call(2),
    ],
    // Off while recording is off: no stack, but a count.
    &[
        Set("tracing_on", "0"),
        Set("ENTER", "stacktrace:3"),
        Call(2),
        Set("tracing_on", "1"),
        Call(2),
    ],
    // Tasks that are left out do nothing.
    &[
        Set("set_event_pid", "4000000"),
        Set("ENTER", "traceoff:3 if common_pid == PID"),
        Call(2),
        Set("set_event_notrace_pid", "PID"),
        Call(1),
    ],
];

/// What is seen of one tree: the texts, and what was recorded of this thread.
fn seen(tree: &Tree, pid: u32) -> Check<String> {
    let mut text = String::new();
    for event in [ENTER, EXIT] {
        text += &shown(tree, event)?;
        text += &tree.get(&enable(event))?;
    }
    text += &tree.get("tracing_on")?;
    let own = format!("-{pid} ");
    // In this order: opening `snapshot` waits for one that a trigger wants.
    for buffer in ["snapshot", "trace"] {
        if buffer == "snapshot" && sys::kernel_with_checks() {
            continue;
        }
        let trace = tree.get(buffer)?;
        let lines = || trace.lines().filter(|line| line.contains(&own));
        let of = |word: &str| lines().filter(|line| line.contains(word)).count();
        text += &format!(
            "{buffer}: {} calls, {} returns, {} stacks\n",
            of("sys_getppid("),
            of("sys_getppid ->"),
            of("<stack trace>"),
        );
    }
    Ok(text)
}

/// Tells a story to both trees. Where locks are proven only to ours: triggers of the kernel's system calls
/// walk their list in a way that lockdep warns of.
fn tell(context: &Context, number: usize, story: &[Step], report: &mut Report) -> Check {
    let (own, reference) = pair(context)?;
    let pid = sys::thread_id();
    for (at, step) in story.iter().enumerate() {
        let what = match step {
            Call(count) => {
                for _ in 0..*count {
                    sys::call(GETPPID, [0; 6]);
                }
                format!("{count} calls")
            }
            Set(name, text) => {
                let text = text.replace("PID", &pid.to_string());
                let name = match *name {
                    "ENTER" => file(ENTER),
                    "EXIT" => file(EXIT),
                    _ => name.replace("ENTER", ENTER).replace("EXIT", EXIT),
                };
                own.set(&name, &text)?;
                if !sys::proves_locking() {
                    reference.set(&name, &text)?;
                }
                format!("{name} <- {text:?}")
            }
        };
        let of_own = seen(&own, pid)?;
        let found = match sys::proves_locking() {
            true => (of_own.clone(), of_own),
            false => (of_own, seen(&reference, pid)?),
        };
        report.expect(found.0 == found.1, || {
            format!(
                "story {number}, step {at}, {what}: {:?}, tracefs {:?}",
                found.0, found.1
            )
        });
    }
    own.remove()?;
    reference.remove()
}

fn effects(context: &Context) -> Check {
    let mut report = Report::default();
    for (number, story) in STORIES.iter().enumerate() {
        tell(context, number, story, &mut report)?;
    }
    report.finish()
}

/// What files of more than one event say about events that are there for triggers alone.
fn groups(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let mut look = |what: &str| -> Check {
        for name in [
            "events/irq/enable",
            "events/irq/softirq_entry/enable",
            "set_event",
        ] {
            let texts = (own.get(name)?, reference.get(name)?);
            report.expect(texts.0 == texts.1, || {
                format!("{what}: {name} {:?}, tracefs {:?}", texts.0, texts.1)
            });
        }
        Ok(())
    };
    let both = |name: &str, text: &str| -> Check {
        own.set(name, text)?;
        reference.set(name, text)
    };
    both(&file("irq/softirq_entry"), "traceoff if vec == 99")?;
    look("a trigger")?;
    both("events/irq/enable", "1")?;
    look("all on")?;
    both("events/irq/enable", "0")?;
    look("all off")?;
    both("set_event", "irq:softirq_entry")?;
    look("one on")?;
    both("set_event", "!irq:softirq_entry")?;
    look("one off")?;
    own.empty("set_event")?;
    reference.empty("set_event")?;
    look("emptied")?;
    both(&file("irq/softirq_entry"), "!traceoff")?;
    look("without a trigger")?;
    report.finish()
}

/// The snapshot holds what was there when the trigger came, with the event itself.
fn snapshot(context: &Context) -> Check {
    const STORY: &[Step] = &[
        Set("events/ENTER/enable", "1"),
        Call(2),
        Set("ENTER", "snapshot:2 if common_pid == PID"),
        Call(1),
        Call(1),
        Call(3),
        Set("ENTER", "!snapshot"),
        Call(1),
        Set("ENTER", "snapshot:1 if common_pid == PID"),
        Set("events/ENTER/enable", "0"),
        Call(1),
        Call(2),
    ];
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("snapshot", "0")?;
    own.set(&file(ENTER), "snapshot:1")?;
    let armed = own.get("snapshot")?;
    ensure!(armed.contains("Snapshot is allocated"), "{armed:?}");
    own.set(&file(ENTER), "!snapshot")?;
    let armed = own.get("snapshot")?;
    ensure!(
        armed.contains("Snapshot is allocated"),
        "after !: {armed:?}"
    );
    own.remove()?;
    if !Tree::at(&context.reference).exists("snapshot") {
        skip!("tracefs of this kernel has no snapshot");
    }
    let mut report = Report::default();
    tell(context, 0, STORY, &mut report)?;
    report.finish()
}

/// Each instance has its own; one that goes takes them along.
fn instances(context: &Context) -> Check {
    let one = Instance::new(&context.root, "rtg-one")?;
    let two = Instance::new(&context.root, "rtg-two")?;
    let empty = shown(&two, ENTER)?;
    ensure!(empty.starts_with("# Available triggers:"), "{empty:?}");
    for round in 0..3 {
        let name = format!("rtg-more{round}");
        let more = Instance::new(&context.root, &name)?;
        more.set(&file(ENTER), "traceoff:1")?;
        more.set(&file(EXIT), "enable_event:syscalls:sys_enter_getppid")?;
        one.set(&file(ENTER), "traceoff:1")?;
        sys::call(GETPPID, [0; 6]);
        for tree in [&one, &more] {
            ensure_eq!(tree.get("tracing_on")?, "0\n", "{}", tree.shown(""));
            let text = shown(tree, ENTER)?;
            ensure_eq!(text, "traceoff:count=0\n", "{}", tree.shown(""));
        }
        ensure_eq!(
            more.get(&enable(ENTER))?,
            "1*\n",
            "switched by the end of the call"
        );
        ensure_eq!(two.get("tracing_on")?, "1\n", "the other instance");
        ensure_eq!(shown(&two, ENTER)?, empty, "the other instance");
        ensure_eq!(two.get(&enable(ENTER))?, "0\n", "the other instance");
        one.set(&file(ENTER), "!traceoff")?;
        one.set("tracing_on", "1")?;
        ensure_eq!(one.get(&enable(ENTER))?, "0\n", "without triggers");
        more.remove()?;
        sys::call(GETPPID, [0; 6]);
        let more = Instance::new(&context.root, &name)?;
        ensure_eq!(shown(&more, ENTER)?, empty, "the name used again");
        more.remove()?;
    }
    // A reader that waits reaches the end of its file.
    let mut waits = two
        .open("trace_pipe")
        .map_err(|e| format!("trace_pipe: {e}"))?;
    two.set("trace_marker", "x")?;
    let first = std::io::Read::read(&mut waits, &mut [0; 256]).map_err(Errno::from);
    ensure!(first.is_ok_and(|n| n > 0), "the marker is not read");
    let ended = std::thread::spawn(move || {
        std::io::Read::read(&mut waits, &mut [0; 256]).map_err(Errno::from)
    });
    std::thread::sleep(Duration::from_millis(50));
    ensure!(!ended.is_finished(), "the reader does not wait");
    two.set(&file(ENTER), "traceoff:1")?;
    sys::call(GETPPID, [0; 6]);
    ensure_eq!(two.get("tracing_on")?, "0\n", "after a call");
    let woken = sys::wait_until(Duration::from_secs(10), || ended.is_finished());
    if !woken {
        // So that the thread ends.
        two.set("tracing_on", "1")?;
        two.set("tracing_on", "0")?;
        fail!("the reader of trace_pipe sleeps on");
    }
    let end = ended.join().map_err(|_| "the reader died")?;
    ensure_eq!(end, Ok(0), "the end of trace_pipe");
    two.remove()?;
    one.remove()
}

/// Triggers in task, softirq, hardirq and NMI context, deep inside each other: no event is lost or comes
/// twice, whether triggers let recording go on or another trigger switches the event; and a count is
/// obeyed to the last one.
fn contexts(context: &Context) -> Check {
    const NEVER: &str = "number == 4000000000";
    let own = Instance::new(&context.root, "rtg-soak-a")?;
    own.set("buffer_size_kb", "20000")?;
    let writers = Writers::load(context, &[])?;
    let rows: [(&[&str], bool); 4] = [
        (&["traceoff if number == 4000000000"], true),
        (&["traceon", "enable_event:rtsoak:rtsoak_event"], true),
        (
            &["snapshot:3 if number == 4000000000", "stacktrace:0"],
            true,
        ),
        (
            &[
                "stacktrace:400",
                "snapshot:20",
                "disable_event:irq:irq_handler_exit",
            ],
            false,
        ),
    ];
    let mut report = Report::default();
    for (triggers, all) in rows {
        for trigger in triggers {
            own.set(&file(SOAK), trigger)?;
        }
        own.clear()?;
        own.set(&enable(SOAK), "1")?;
        writers.start(7, if all { 60_000 } else { 5_000 }, 0, 0)?;
        while writers.busy()? {
            std::thread::sleep(Duration::from_millis(5));
        }
        writers.stop()?;
        own.set(&enable(SOAK), "0")?;
        let written = writers.written()?;
        let (mut kept, mut stacks) = ([0; CONTEXTS.len()], 0);
        let id = own.get(&format!("events/{SOAK}/id"))?;
        for cpu in 0..sys::online_cpus() {
            let stream = stream::drain_cpu(&own, cpu)?;
            let mut found = vec![BTreeSet::new(); CONTEXTS.len()];
            for record in &stream.records {
                if record.id().to_string() != id.trim() {
                    stacks += 1;
                    continue;
                }
                let event = record::of_record(cpu, &record.payload)?;
                report.expect(found[event.context].insert(event.number), || {
                    format!("{triggers:?}: {event:?} came twice")
                });
            }
            for (context, found) in found.iter().enumerate() {
                let tally = written.tally(cpu, RINGS, context);
                let missing = tally.attempts - found.len() as u64;
                let refused = tally.attempts - tally.recorded;
                report.expect(!all || missing <= refused, || {
                    let name = CONTEXTS[context];
                    format!(
                        "{triggers:?}: cpu {cpu}: {missing} of {name} missing, {refused} refused"
                    )
                });
                kept[context] += found.len();
            }
        }
        println!("{triggers:?}: {kept:?} and {stacks} stacks");
        // Snapshots have some, perhaps all of them.
        let from_nmis = match all {
            true => kept[NMI] as u64,
            false => written.by_context()[NMI],
        };
        report.expect_chance(from_nmis > 0, || format!("{triggers:?}: nothing from NMIs"));
        let text = shown(&own, SOAK)?;
        if !all {
            // Some are in the snapshot.
            report.expect(stacks <= 400, || format!("{stacks} stacks"));
            for line in ["stacktrace:count=0\n", "snapshot:count=0\n"] {
                report.expect(text.contains(line), || {
                    format!("{text:?} is without {line:?}")
                });
            }
        }
        report.expect(all || !text.contains(NEVER), || text.clone());
        for trigger in triggers {
            own.set(&file(SOAK), &format!("!{trigger}"))?;
        }
        ensure_eq!(own.get(&enable(SOAK))?, "0\n", "{triggers:?} taken away");
    }
    writers.unload()?;
    own.remove()?;
    report.finish()
}

/// The triggers of a module's event, and those that switch it, go with the module, while they act.
fn of_a_module(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-own")?;
    for round in 0..3 {
        let writers = Writers::load(context, &[])?;
        let empty = shown(&own, SOAK)?;
        ensure!(empty.starts_with("# Available"), "round {round}: {empty:?}");
        own.set(&file(SOAK), "enable_event:sched:sched_switch")?;
        own.set(&file(SOAK), "stacktrace if number == 5")?;
        own.set(
            &file("sched/sched_waking"),
            "disable_event:rtsoak:rtsoak_event",
        )?;
        own.set(&file("sched/sched_waking"), "traceoff if pid == -1")?;
        own.set(&enable(SOAK), "1")?;
        let open = std::fs::OpenOptions::new()
            .write(true)
            .open(own.file(&file(SOAK)))
            .map_err(|e| format!("{e}"))?;
        writers.start(7, 5_000, 0, 0)?;
        std::thread::sleep(Duration::from_millis(30));
        writers.stop()?;
        writers.unload()?;
        ensure!(!own.exists(&file(SOAK)), "the file is still there");
        let written = std::io::Write::write(&mut (&open), b"traceoff").map_err(Errno::from);
        ensure_eq!(written, Err(ENODEV), "a trigger for an event that is gone");
        let left = shown(&own, "sched/sched_waking")?;
        ensure_eq!(
            left,
            "traceoff:unlimited if pid == -1\n",
            "what switched it is gone"
        );
        ensure!(
            !own.get("show_event_triggers")?.contains("rtsoak"),
            "still listed"
        );
        own.set(&file("sched/sched_waking"), "!traceoff")?;
        own.set(&enable("sched/sched_switch"), "0")?;
        for event in ["sched/sched_waking", "sched/sched_switch"] {
            ensure_eq!(own.get(&enable(event))?, "0\n", "{event} in round {round}");
        }
    }
    ensure!(!module::is_loaded("rtsoak"), "the module is still there");
    own.remove()
}
