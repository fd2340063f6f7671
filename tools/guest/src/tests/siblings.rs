// SPDX-License-Identifier: GPL-2.0

//! Events with several probes: the same lines written to both tracers get the same answers and errors, each probe is
//! recorded, and the event stays until its last one is removed.

use super::dynamic::{need_line, recorded, Tops};
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::program::{Program, SUM, WORD};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("siblings.kprobes", 60, kprobes),
    test("siblings.functions", 60, functions),
    test("siblings.programs", 60, programs),
    test("siblings.records", 60, records),
];

const FILE: &str = "dynamic_events";
const GETPID: usize = 39;
const GETPPID: usize = 110;

/// Lines that are taken, and lines that are refused then, and lines that remove.
struct Story<'a> {
    taken: &'a [&'a str],
    refused: &'a [&'a str],
    removing: &'a [&'a str],
}

impl Story<'_> {
    /// Tells it to both, with `program` for `FILE`.
    fn tell(&self, tops: &Tops, file: &str, group: &str, program: &str) -> Check {
        let mut report = Report::default();
        let lines = [self.taken, self.refused, self.removing].map(|lines| {
            let lines = lines.iter().map(|line| line.replace("FILE", program));
            lines.collect::<Vec<_>>()
        });
        let [taken, refused, removing] = lines
            .each_ref()
            .map(|lines| lines.iter().map(String::as_str).collect::<Vec<_>>());
        tops.take(&mut report, file, &taken, &[group])?;
        tops.refuse(&mut report, file, &refused)?;
        tops.take(&mut report, file, &removing, &[group])?;
        tops.end(&mut report, file, group)?;
        report.finish()
    }
}

fn kprobes(context: &Context) -> Check {
    let story = Story {
        taken: &[
            "p:two vfs_read a=%di",
            "p:two vfs_write a=%si",
            "p:two vfs_read a=%si",
            "p:two vfs_read+0 a=%dx",
            "r:back vfs_read v=$retval:s64 c=$comm",
            "p:other vfs_open",
            "r:back vfs_write v=%ax:s64 c=$comm",
            "p:bare vfs_open",
            "p:bare vfs_read",
            "p:bits vfs_read a=%di:b4@0/8",
            "p:bits vfs_write a=%di:b2@4/8",
        ],
        refused: &[
            "p:two vfs_read a=%di",
            "p:two vfs_read+0 a=%si",
            "p:two vfs_open a=%di b=%si",
            "p:two vfs_open b=%di",
            "p:two vfs_open a=%di:u8",
            "p:two vfs_open a=+0(%di):x64[2]",
            "p:two vfs_open",
            "p:two nosuchfunction a=%di",
            "p:two vfs_read+1 a=%di",
            "p:two vfs_open a=@nosuchsymbol",
            "r:two vfs_open a=%ax",
            "r:back vfs_read v=$retval:s64 c=$comm",
            "r:back vfs_open v=$retval:s64 c=$comm d=%di",
            "p:back vfs_open v=%ax:s64 c=$comm",
            "r:back vfs_open v=%ax c=$comm",
            "p:bare vfs_read",
            "-:two vfs_open",
            "-:two vfs_write a=%di",
        ],
        removing: &[
            "-:two vfs_read a=%di",
            "-:two vfs_write",
            "p:two vfs_open a=%di",
            "-:back vfs_read v=$retval:s64 c=$comm",
            "-:two",
            "-:bare vfs_open",
            "-:back",
        ],
    };
    story.tell(&Tops::cleared(context), "kprobe_events", "kprobes", "")
}

fn functions(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:two vfs_read a=$arg1")?;
    need_line(&tops.reference, "t:trace sched_switch a=$arg1")?;
    let story = Story {
        taken: &[
            "f:two vfs_read a=$arg1",
            "f:two vfs_write a=$arg2",
            "f:two vfs_read a=$arg3",
            "f:back vfs_read%return v=$retval",
            "f:back vfs_write v=$retval",
            "t:fprobes/trace sched_switch a=$arg1",
            "t:fprobes/trace sched_wakeup a=$arg1",
            "t:fprobes/trace nosuch_tracepoint a=$arg1",
        ],
        refused: &[
            "f:two vfs_read a=$arg1",
            "f:two vfs_open b=$arg1",
            "f:two vfs_open a=$arg1:u8",
            "f:two vfs_open a=$arg1 b=$arg2",
            "f:two nosuchfunction a=$arg1",
            "f:two vfs_read%return a=$retval",
            "f:trace vfs_read a=$arg1",
            "f:back vfs_read v=$retval",
            "f:back vfs_write%return v=$retval",
            "t:fprobes/two sched_switch a=$arg1",
            "t:fprobes/trace sched_switch a=$arg1",
            "p:fprobes/two vfs_read a=%di",
            "-:two vfs_open",
        ],
        removing: &[
            "-:two vfs_read a=$arg1",
            "-:two vfs_read",
            "-:back",
            "-:trace sched_wakeup",
            "f:two vfs_open a=$arg1",
            "-:trace sched_switch",
        ],
    };
    story.tell(&tops, FILE, "fprobes", "")
}

fn programs(context: &Context) -> Check {
    if !sys::has_uprobes() {
        skip!("tracefs has no events in programs");
    }
    let program = Program::new("rtg-siblings")?;
    let story = Story {
        taken: &[
            "p:two FILE:0 a=%di",
            "p:two FILE:1 a=%si",
            "p:two FILE:0 a=%si",
            "p:two /proc/self/exe:0 a=%si",
            "r:back FILE:0 v=$retval",
            "p:back FILE:1%return v=$retval",
        ],
        refused: &[
            "p:two FILE:0 a=%di",
            "p:two FILE:2 b=%di",
            "p:two FILE:2 a=%di:u8",
            "p:two FILE:2",
            "r:two FILE:2 a=%di",
            "r:back FILE:0 v=$retval",
            "p:two FILE:1(0x20) a=%dx",
            "-:two FILE:3",
        ],
        removing: &[
            "-:two FILE:0x0000000000000000 a=%di",
            "-:two FILE:0x0000000000000001",
            "-:back",
            "p:two FILE:4 a=%di",
        ],
    };
    let path = program.path.display().to_string();
    let tops = Tops::cleared(context);
    story.tell(&tops, "uprobe_events", "uprobes", &path)
}

/// Each probe is recorded, where the event is enabled already, too; one can be removed meanwhile, and not the last.
fn records(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let function = sys::getppid_function();
    let other = function.replace("getppid", "getpid");
    let file = "kprobe_events";
    let mut report = Report::default();
    let lines = format!(
        "p:called/two {function} n=\\1 c=$comm\np:called/two {other} n=\\2 c=$comm\n\
         r:called/back {function} v=\\3\nr:called/back {other} v=\\4\n"
    );
    tops.set(file, &lines)?;
    let (own, reference) = pair(context)?;
    let both: [(&Tree, &Instance); 2] = [(&tops.own, &own), (&tops.reference, &reference)];
    for (_, tree) in both {
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        tree.set("events/called/enable", "1")?;
        tree.clear()?;
    }
    let mut compare = |what: &str, count: usize| -> Check {
        for call in [GETPID, GETPPID] {
            sys::call(call, [0; 6]);
        }
        // Without the task, whose name tracefs may not know yet.
        let events = |tree: &Instance| -> Check<Vec<String>> {
            let lines = recorded(tree)?.into_iter();
            Ok(lines
                .filter_map(|line| Some(line.split_once(' ')?.1.to_string()))
                .collect())
        };
        let [own, wanted] = [events(&own)?, events(&reference)?];
        report.expect(own == wanted && own.len() == count, || {
            format!("{what}: records {own:#?}, tracefs {wanted:#?}")
        });
        for (_, tree) in both {
            tree.clear()?;
        }
        Ok(())
    };
    compare("two probes each", 4)?;
    // Where it is enabled, a new one is recorded at once.
    let third = format!("p:called/two {function} n=\\5 c=$comm");
    tops.set(file, &third)?;
    compare("a third one", 5)?;
    tops.set(file, &format!("-:called/two {function} n=\\1"))?;
    compare("without the first one", 4)?;
    tops.set(file, &format!("-:called/two {other}"))?;
    compare("without the second one", 3)?;
    for (top, tree) in both {
        ensure_eq!(top.write(file, b"-:called/two"), Err(EBUSY), "the last one");
        tree.set("events/called/enable", "0")?;
    }
    compare("off", 0)?;
    let profiles = [&tops.own, &tops.reference].map(|top| top.get("kprobe_profile"));
    report.expect(profiles[0] == profiles[1], || format!("{profiles:?}"));
    for (top, tree) in both {
        top.set(file, "-:called/two")?;
        ensure!(!tree.exists("events/called/two"), "the folder is left");
    }
    // All that the event has, while it is enabled: none goes.
    own.set("events/called/enable", "1")?;
    let list = tops.own.get(file)?;
    ensure_eq!(tops.own.write(file, b"-:called/"), Err(EBUSY), "all");
    ensure_eq!(tops.own.get(file)?, list, "none goes");
    own.set("events/called/enable", "0")?;
    drop((own, reference));
    programs_are_hit(context, &tops, &mut report)?;
    report.finish()
}

/// Two places of a program, of which one is added while the event is enabled.
fn programs_are_hit(context: &Context, tops: &Tops, report: &mut Report) -> Check {
    if !sys::has_uprobes() {
        return Ok(());
    }
    let program = Program::new("rtg-siblings-hit")?;
    let place = program.path.display();
    let line =
        |number: usize, offset: usize| format!("p:called/user {place}:{offset} n=\\{number}");
    tops.own.set("uprobe_events", &line(1, SUM))?;
    let own = Instance::new(&context.root, "siblings-user")?;
    own.set("events/called/user/enable", "1")?;
    tops.own.set("uprobe_events", &line(2, WORD))?;
    let text = c"text".as_ptr() as usize;
    let at = (&raw const text) as usize;
    program.call(SUM, [1, 2, 0]);
    program.call(WORD, [text, at, 0]);
    let lines = recorded(&own)?;
    let counts =
        ["n=0x1", "n=0x2"].map(|end| lines.iter().filter(|line| line.ends_with(end)).count());
    report.expect(counts == [1, 1], || format!("{lines:#?}"));
    own.set("events/called/user/enable", "0")?;
    own.remove()
}
