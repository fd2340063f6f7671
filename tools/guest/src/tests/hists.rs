// SPDX-License-Identifier: GPL-2.0

//! Histograms: the same commands written to both tracers, and the same calls counted by both, line by line;
//! every error with its caret.

use super::filter::log_of;
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("hist.texts", 120, texts),
    test("hist.errors", 120, errors),
    test("hist.life", 60, life),
    test("hist.large", 60, large),
];

/// A call that fails at once, with numbers that the caller chooses.
pub(super) const ENTER: &str = "syscalls/sys_enter_lseek";
const LSEEK: usize = 8;
/// An event with two strings in fields, and a short number.
const RENAME: &str = "task/task_rename";
const PRCTL: usize = 157;
const PR_SET_NAME: usize = 15;

/// Offsets and origins.
const FEED: &[(i64, i64)] = &[
    (1, -1),
    (2, -2),
    (2, 7),
    (300, 100),
    (300, -5),
    (1, 1000),
    (70_000, 3),
    (0, 0),
    (-1, i64::MAX),
    (4097, 5),
    (4096, 5),
    (2, 7),
];

/// All of one length: what is after the end of a name tells two keys apart in ftrace.
const NAMES: &[&[u8; 16]] = &[
    b"alpha-alpha-alp\0",
    b"beta-beta-beta-\0",
    b"gamma-gamma-gam\0",
    b"alpha-alpha-alp\0",
    b"x-x-x-x-x-x-x-x\0",
];

fn trigger(event: &str) -> String {
    format!("events/{event}/trigger")
}

fn hist(event: &str) -> String {
    format!("events/{event}/hist")
}

fn feed() {
    lseek(FEED);
}

/// Calls lseek() with these offsets and origins, which fails.
pub(super) fn lseek(calls: &[(i64, i64)]) {
    for (offset, whence) in calls {
        let args = [u32::MAX as usize, *offset as usize, *whence as usize];
        sys::call(LSEEK, [args[0], args[1], args[2], 0, 0, 0]);
    }
}

fn rename() {
    for name in NAMES {
        let name = name.as_ptr() as usize;
        sys::call(PRCTL, [PR_SET_NAME, name, 0, 0, 0, 0]);
    }
}

/// The kernel's name of a field twice, where it means it once.
pub(super) fn mended(text: String) -> String {
    text.replace("common_cpucommon_cpu", "common_cpu")
        .replace("common_cpucpu", "common_cpu")
        .replace("common_cpuCPU", "common_cpu")
}

const CALLS: &[&str] = &[
    "keys=offset",
    "key=whence",
    "keys=whence:sort=whence",
    "keys=whence:sort=whence.descending",
    "keys=whence:sort=hitcount.descending,whence",
    "keys=offset:sort=hitcount,offset.descending",
    "keys=offset.hex",
    "keys=offset.hex:vals=whence.hex",
    "keys=offset.log2",
    "keys=whence.log2:sort=whence",
    "keys=offset.buckets=10",
    "keys=whence.bucket=0x64",
    "keys=offset.sym",
    "keys=offset.sym-offset:sort=offset",
    "keys=offset.syscall",
    "keys=__syscall_nr.syscall",
    "keys=offset.usecs",
    "keys=offset,whence",
    "keys=offset,whence.hex,fd:sort=offset,whence",
    "keys=offset:vals=whence",
    "keys=offset:vals=hitcount,whence,fd",
    "keys=offset:values=whence,fd:sort=whence.descending,offset",
    "keys=offset:vals=whence.percent,whence.graph:sort=offset",
    "keys=offset:vals=hitcount.percent,hitcount.graph:NOHC",
    "keys=offset:vals=whence:nohitcount",
    "keys=offset:vals=5",
    "keys=offset:vals=0.percent",
    "keys=7",
    "keys=hitcount",
    "keys=hitcount:sort=hitcount",
    "keys=offset+1",
    "keys=offset-whence",
    "keys=offset*2+whence:sort=offset*2+whence",
    "keys=offset/4",
    "keys=offset+1+2+3:vals=fd-offset",
    "keys=-(offset+1)",
    "keys=offset+2*3:sort=offset+6",
    "keys=offset.hex+1",
    "keys=common_pid",
    "keys=common_pid.hex",
    "keys=common_pid.execname",
    "keys=common_pid.execname:vals=common_pid.execname:sort=common_pid",
    "keys=common_preempt_count,fd.hex",
    "keys=common_comm",
    "keys=comm",
    "keys=COMM,offset",
    "keys=common_cpu,offset",
    "keys=cpu,offset:vals=whence",
    "keys=CPU",
    "keys=a.b.offset",
    "keys=offset:size=128",
    "keys=offset:size=0x100:size=1000",
    "keys=offset:vals=whence:vals=fd",
    "keys=offset:clock=nosuch",
    "keys=offset:pause",
    "keys=offset if offset > 1 && offset < 1000",
    "keys=offset  if   whence == 5",
    "keys=offset.buckets=64:sort=offset.descending",
];

const RENAMES: &[&str] = &[
    "keys=newcomm",
    "keys=newcomm:sort=newcomm.descending",
    "keys=oldcomm,newcomm:sort=oldcomm,newcomm",
    "keys=oom_score_adj",
    "keys=oom_score_adj.hex:vals=oom_score_adj",
    "keys=newcomm.hex",
    "keys=pid.execname",
    "keys=pid,newcomm:vals=pid",
    "keys=common_pid.execname",
];

/// Has one command count in both trees. Returns whether tracefs takes it.
fn count(
    report: &mut Report,
    trees: (&Tree, &Tree),
    (event, calls): (&str, fn()),
    command: &str,
) -> Check<bool> {
    let (own, reference) = trees;
    let pid = sys::thread_id();
    let command = match command.split_once(" if ") {
        None => format!("{command} if common_pid == {pid}"),
        Some((items, filter)) => {
            format!("{items} if {} && common_pid == {pid}", filter.trim())
        }
    };
    let text = format!("hist:{command}");
    let file = trigger(event);
    let answers = (
        own.write(&file, text.as_bytes()),
        reference.write(&file, text.as_bytes()),
    );
    report.expect(answers.0 == answers.1, || {
        format!("{command}: {:?}, tracefs {:?}", answers.0, answers.1)
    });
    if answers.1.is_err() || answers.0.is_err() {
        return Ok(false);
    }
    calls();
    for name in [&file, &hist(event), &format!("events/{event}/enable")] {
        let texts = (own.get(name)?, mended(reference.get(name)?));
        report.expect(texts.0 == texts.1, || {
            format!("{command}: {name}:\n{}tracefs:\n{}", texts.0, texts.1)
        });
    }
    // What is shown is read again.
    let shown = own.get(&file)?;
    let line = shown.split(" [").next().unwrap_or_default();
    own.set(&file, &format!("!{line}"))?;
    reference.set(&file, &format!("!{text}"))?;
    let texts = (own.get(&hist(event))?, own.get(&file)?);
    report.expect(texts.0.is_empty() && texts.1.starts_with("# Av"), || {
        format!("{command}: {texts:?} is left after !{line}")
    });
    Ok(true)
}

fn texts(context: &Context) -> Check {
    // Triggers of the kernel's system calls walk their list in a way that lockdep warns of.
    if sys::proves_locking() {
        return Ok(());
    }
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for (event, calls, commands) in [
        (ENTER, feed as fn(), CALLS),
        (RENAME, rename as fn(), RENAMES),
    ] {
        // Attached all the time: that is what takes long.
        for tree in [&own, &reference] {
            tree.set(&format!("events/{event}/enable"), "1")?;
        }
        for command in commands {
            count(&mut report, (&own, &reference), (event, calls), command)?;
        }
        // Together, and with recording off.
        for tree in [&own, &reference] {
            tree.set("tracing_on", "0")?;
            for command in commands.iter().take(4) {
                tree.set(
                    &trigger(event),
                    &format!("hist:{command} if common_pid == {}", sys::thread_id()),
                )?;
            }
        }
        calls();
        let texts = (own.get(&hist(event))?, reference.get(&hist(event))?);
        report.expect(texts.0 == texts.1, || {
            format!("together:\n{}tracefs:\n{}", texts.0, texts.1)
        });
        let listed = (
            own.get("show_event_triggers")?,
            reference.get("show_event_triggers")?,
        );
        report.expect(listed.0 == listed.1, || format!("{listed:?}"));
        for tree in [&own, &reference] {
            tree.empty(&trigger(event))?;
            tree.set("tracing_on", "1")?;
        }
        let left = own.get(&hist(event))?;
        report.expect(left.is_empty(), || left);
    }
    own.remove()?;
    reference.remove()?;
    report.finish()
}

/// In ftrace each is refused, most of them with a line in `error_log` that has a caret.
const WRONG: &[&str] = &[
    "hist",
    "hist:",
    "hist: ",
    "hist:keys",
    "hist:keys=",
    "hist:vals=offset",
    "hist:keys=offset:vals=",
    "hist:keys=offset:sort=",
    "hist:keys=offset:x=",
    "hist:keys=offset:",
    "hist:keys=offset:foo",
    "hist:keys=offset:foo.bar",
    "hist:keys = offset",
    "hist:keys=nosuch",
    "hist:keys=offset,",
    "hist:keys=offset,nosuch",
    "hist:keys=offset.",
    "hist:keys=offset.foo",
    "hist:keys=offset.buckets",
    "hist:keys=offset.buckets=",
    "hist:keys=offset.buckets=0",
    "hist:keys=offset.buckets=x",
    "hist:keys=offset.bucketsx=5",
    "hist:keys=offset.percent",
    "hist:keys=offset.graph",
    "hist:keys=offset.execname",
    "hist:keys=offset.stacktrace",
    "hist:keys=offset:vals=whence.log2",
    "hist:keys=offset:vals=whence.buckets=3",
    "hist:keys=offset:vals=whence.sym",
    "hist:keys=offset:vals=whence.sym-offset",
    "hist:keys=offset:vals=whence.syscall",
    "hist:keys=offset:vals=common_stacktrace",
    "hist:keys=offset:vals=nosuch",
    "hist:keys=offset:vals=whence,",
    "hist:keys=offset:vals=whence,fd,offset",
    "hist:keys=offset:vals=hitcount,whence,fd,offset",
    "hist:keys=offset,whence,fd,common_pid",
    "hist:keys=common_comm,common_stacktrace,offset",
    "hist:keys=offset:sort=junk",
    "hist:keys=offset:sort=offset.junk",
    "hist:keys=offset:sort=offset,",
    "hist:keys=offset:sort=.ascending",
    "hist:keys=offset:sort=offset,hitcount,offset",
    "hist:keys=offset:sort=whence",
    "hist:keys=offset:nohitcount",
    "hist:keys=offset:NOHC:vals=hitcount",
    "hist:keys=offset:clear",
    "hist:keys=offset:cont",
    "hist:keys=offset:continue",
    "hist:keys=offset:size=0x",
    "hist:keys=offset:size=64",
    "hist:keys=offset:size=1000000",
    "hist:keys=offset:size=18446744073709551616",
    "hist:keys=common_timestamp:clock=nosuch",
    "hist:keys=fd+whence+1+2+3",
    "hist:keys=-(whence)+1",
    "hist:keys=-whence",
    "hist:keys=whence+",
    "hist:keys=+whence",
    "hist:keys=-(whence",
    "hist:keys=whence/0",
    "hist:keys=12abc",
    "hist:keys=18446744073709551616",
    "hist:keys=common_comm+1",
    "hist:keys=1+common_comm",
    "hist:keys=common_timestamp.usecs-whence",
    "hist:keys=$nosuch",
    "hist:keys=offset:vals=$nosuch",
    "hist:keys=offset if",
    "hist:keys=offset if ",
    "hist:if whence == 1",
    "hist:keys=offset if nosuch == 1",
    "hist:keys=offset if whence == 1 if whence == 2",
    "hist:keys=offset iff whence == 1",
    "!hist",
    "!hist:keys=nosuch",
    "!hist:keys=offset:vals=",
];

fn errors(context: &Context) -> Check {
    if sys::proves_locking() {
        return Ok(());
    }
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let file = trigger(ENTER);
    for text in WRONG {
        for tree in [&own, &reference] {
            tree.empty("error_log")?;
        }
        let answers = (
            own.write(&file, text.as_bytes()),
            reference.write(&file, text.as_bytes()),
        );
        report.expect(answers.0 == answers.1, || {
            format!("{text}: {:?}, tracefs {:?}", answers.0, answers.1)
        });
        report.expect(answers.1.is_err(), || format!("{text}: tracefs takes it"));
        let logs = (log_of(&own)?, log_of(&reference)?);
        report.expect(logs.0 == logs.1, || {
            format!("{text}:\n{}tracefs:\n{}", logs.0, logs.1)
        });
        for name in [&file, &hist(ENTER)] {
            let texts = (own.get(name)?, reference.get(name)?);
            let same = texts.0 == texts.1;
            report.expect(same, || format!("{text}: {name}: {texts:?}"));
        }
    }
    own.remove()?;
    reference.remove()?;
    report.finish()
}

/// What is written to one histogram: a command, or calls.
const STORY: &[&str] = &[
    "hist:keys=offset",
    "",
    "hist:keys=offset",
    "hist:keys=offset:size=128",
    "hist:keys=offset:vals=hitcount",
    "hist:keys=offset:vals=whence",
    "traceoff:5 if offset == -77",
    "hist:keys=offset:pause",
    "",
    "hist:keys=offset:pause",
    "hist:keys=offset:cont",
    "hist:keys=offset:cont",
    "",
    "hist:keys=offset:clear",
    "",
    "hist:keys=offset:clear:pause:cont",
    "hist:keys=offset:vals=whence:continue",
    "!hist:keys=offset:vals=fd",
    "!hist:keys=offset:vals=whence:size=4096",
    "",
    "!traceoff",
    "hist:keys=offset if whence == 5",
    "hist:keys=offset if whence == 5",
    "!hist:keys=offset",
    "",
    "!hist:keys=offset if whence == 5",
    "hist:keys=offset:pause",
    "",
    "!hist:keys=offset:pause",
];

fn life(context: &Context) -> Check {
    if sys::proves_locking() {
        return Ok(());
    }
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let file = trigger(ENTER);
    for tree in [&own, &reference] {
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
    }
    for (step, text) in STORY.iter().enumerate() {
        match *text {
            "" => feed(),
            text => {
                let answers = (
                    own.write(&file, text.as_bytes()),
                    reference.write(&file, text.as_bytes()),
                );
                report.expect(answers.0 == answers.1, || {
                    format!("{step} {text}: {:?}, tracefs {:?}", answers.0, answers.1)
                });
            }
        }
        for name in [&file, &hist(ENTER), &format!("events/{ENTER}/enable")] {
            let texts = (own.get(name)?, reference.get(name)?);
            let same = texts.0 == texts.1;
            report.expect(same, || {
                format!("{step} {text}: {name}:\n{}tracefs:\n{}", texts.0, texts.1)
            });
        }
        let logs = (log_of(&own)?, log_of(&reference)?);
        report.expect(logs.0 == logs.1, || {
            format!("{step} {text}:\n{}tracefs:\n{}", logs.0, logs.1)
        });
    }
    // It goes with its instance.
    own.set(&file, "hist:keys=offset,common_comm:vals=whence")?;
    feed();
    own.remove()?;
    reference.remove()?;
    report.finish()
}

/// A histogram with as many entries as there may be is read as a whole; one for which there is no memory
/// changes nothing.
fn large(context: &Context) -> Check {
    // KASAN keeps pages for what it says of large pieces of memory, which look like a leak.
    let entries = match sys::checks_memory() {
        true => 1_000,
        false => 100_000,
    };
    let own = Instance::new(&context.root, "rtg-own")?;
    let file = trigger(ENTER);
    let command = format!(
        "hist:keys=offset:vals=whence:size=131072 if common_pid == {}",
        sys::thread_id()
    );
    own.set(&file, &command)?;
    for offset in 0..entries {
        sys::call(LSEEK, [u32::MAX as usize, offset, 1, 0, 0, 0]);
    }
    let text = own.get(&hist(ENTER))?;
    let lines = text.lines().filter(|line| line.starts_with("{ ")).count();
    ensure_eq!(lines, entries, "entries");
    let totals = format!("    Hits: {entries}\n    Entries: {entries}\n    Dropped: 0\n");
    ensure!(text.ends_with(&totals), "{:?}", &text[text.len() - 80..]);
    own.empty(&file)?;
    own.remove()
}

/// Returns a number of the last lines of a histogram.
pub(super) fn total(text: &str, word: &str) -> u64 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(word));
    let number = line.and_then(|number| number.trim().parse().ok());
    number.unwrap_or(u64::MAX / 4)
}

/// Returns the entries of a histogram: the text of the keys (of the last line, where a stack is one), the hits, and
/// the text of the values after them.
pub(super) fn entries(text: &str) -> impl Iterator<Item = (&str, u64, &str)> {
    text.lines().filter_map(|line| {
        let (keys, rest) = line.split_once("} hitcount:")?;
        let rest = rest.trim_start();
        let (hits, values) = rest.split_once(' ').unwrap_or((rest, ""));
        Some((
            keys.trim_start_matches("{ ").trim_end(),
            hits.parse().ok()?,
            values,
        ))
    })
}
