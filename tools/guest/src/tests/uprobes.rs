// SPDX-License-Identifier: GPL-2.0

//! Events that users define in programs: the same lines written to both tracers get the same answers, errors and
//! formats, and the same calls make the same records.

use super::dynamic::{recorded, Tops};
use super::{pair, test, Test};
use crate::absent::Absent;
use crate::check::{Check, Report};
use crate::errno::*;
use crate::module;
use crate::process;
use crate::program::{Program, ADDS, CALLS, COUNTER, RECURSES, SUM, TEXT, TEXT_THERE, WORD};
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("uprobe.right_texts", 120, right_texts),
    test("uprobe.wrong_texts", 120, wrong_texts),
    test("uprobe.records", 60, records),
    test("uprobe.memory", 60, memory),
    test("uprobe.counter", 60, counter),
    test("uprobe.life", 60, life),
    test("uprobe.inside", 60, inside),
    test("uprobe.waits", 60, waits),
    test("uprobe.reload", 120, reload),
    test("uprobe.functions", 60, functions),
];

const FILE: &str = "uprobe_events";

/// Skips a test on a kernel without such events.
fn need_both() -> Check {
    if !sys::has_uprobes() {
        skip!("tracefs has no events in programs");
    }
    Ok(())
}

/// In this order; some remove what is there. The file is `FILE`.
const RIGHT: &[&str] = &[
    "p FILE:0",
    "p FILE:0x1\n",
    "r FILE:16",
    "p:one FILE:020",
    "p:grp-x/one FILE:0 a=%di",
    "p:grp-x/ FILE:0x40",
    "r.more:x FILE:0x31 ret=$retval",
    "p10 FILE:0x7fffffff",
    "p:my.two   FILE:0  b=%si:u8\tc=%r10:s16",
    "p:ret FILE:0%return a=$retval:s32 b=$retvalue c=$retval->x",
    "p:counted FILE:0x45(0x1020)",
    "r:counted2 FILE:0x46%return(4128)",
    "p:types FILE:0 a=%di:u8 b=%di:u16 c=%di:u32 d=%di:u64 e=%di:s8 f=%di:s16 g=%di:s32 h=%di:s64 \
     i=%di:x8 j=%di:x16 k=%di:x32 l=%di:x64 m=%di:char o=+0(%di):string p=+0(%di):ustring",
    "p:vars FILE:0 a=$stack b=$stack0 c=$stack5:u16 d=$comm:string e=$stack99999 f=$comm g=$COMM",
    "p:memory FILE:0 a=+8(%di) b=-8(+0x10(%si)):u32 c=+u4(%si):x16 d=@0x1000:u64 e=@+0x80:string f=@+-8:u8 \
     g=+0(@+0x1000):u8 h=@+0:ustring",
    "p:imm FILE:0 a=\\1 b=\\-1:s8 c=\\0xffffffffffffffff d=\\\"text\" e=\\077:u32 f=\\16:string",
    "p:arrays FILE:0 a=+0(%di):u8[3] b=+0(%di):x64[64] c=+0(%si):string[2] d=+0(%si):ustring[0x3] \
     e=+8(%di):s16[1] f=+0(%di):char[4] h=+u0(%si):ustring[2] i=@+8:u16[2]",
    "p:bits FILE:0 a=%di:b4@4/8 b=%di:b1@63/64 c=+0(%di):b3@2/32 d=+0(%di):b8@8/16[2] e=$stack0:b0x10@020/32",
    "p:unnamed FILE:0 %di %si:u8 $stack1 $comm +0(%di) @+8",
    "p:regs FILE:0 %r15 %r14 %r13 %r12 %bp %bx %r11 %r10 %r9 %r8 %ax %cx %dx %si %di %orig_ax %ip %cs \
     %flags %sp %ss",
    "p:deep FILE:0 +0(+0(+0(+0(+0(+0(+0(+0(%di))))))))",
    "p:nonsense FILE:0 +0(%di)x",
    "p:relative ./../FILE:0",
    "p:far FILE:0xffffffffffffffff",
    "# a comment",
    "",
    "p:behind FILE:0 # a comment",
    "p:l1 FILE:0\np:l2 FILE:1\n\np:l3 FILE:0x41",
    "-:l1\n-:uprobes/l2",
    "-:l3 FILE:0x0000000000000041",
    "-:counted FILE:0x0000000000000045(0x1020)",
    "-:grp-x/",
    "-:my/two",
    "-:unnamed FILE:0x0000000000000000 arg1=%di",
];

/// Has the lines name the file of the program.
fn of_program<'a>(lines: &'a [&str], program: &'a Program) -> Vec<String> {
    let path = program.path.display().to_string();
    lines
        .iter()
        .map(|line| line.replace("FILE", &path))
        .collect()
}

fn right_texts(context: &Context) -> Check {
    need_both()?;
    let tops = Tops::cleared(context);
    let program = Program::new("rtg.uprobe-right_x")?;
    let mut report = Report::default();
    let groups = ["uprobes", "grp-x", "my"];
    let folder = std::env::current_dir();
    let _ = std::env::set_current_dir("/tmp");
    let lines = of_program(RIGHT, &program);
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let taken = tops.take(&mut report, FILE, &lines, &groups);
    if let Ok(folder) = folder {
        let _ = std::env::set_current_dir(folder);
    }
    taken?;
    let lines = [
        "p:dyn FILE:0",
        "-:dyn",
        "p FILE:0",
        "p:k vfs_read",
        "!:dyn2",
    ];
    for line in of_program(&lines, &program) {
        tops.compare(&mut report, "dynamic_events", &line)?;
    }
    // What is of another kind stays.
    tops.end(&mut report, FILE, "uprobes")?;
    report.finish()
}

const WRONG: &[&str] = &[
    "p",
    "x FILE:0",
    "p vfs_read",
    "p FILE",
    "p FILE:",
    "p /nosuch/file:0",
    "p /proc/1/nosuch:0",
    "p /tmp:0",
    "p /dev/null:0",
    "p FILE/x:0",
    "p FILE:0x",
    "p FILE:0x1g",
    "p FILE:99999999999999999999",
    "p FILE:0+1",
    "p FILE:0%retur",
    "p FILE:0%",
    "p FILE:0%returnx",
    "p FILE:0(",
    "p FILE:0(0x10",
    "p FILE:0()",
    "p FILE:0(x)",
    "p FILE:0(99999999999999999999)",
    "p FILE:0(1)x",
    "p FILE:0(1)%return",
    "p FILE:0(1(2)",
    "p FILE:1x%return(1)",
    "p: FILE:0",
    "p:/x FILE:0",
    "p:1/x FILE:0",
    "p:a/1x FILE:0",
    "p:a-b FILE:0",
    "p:x0123456789012345678901234567890123456789012345678901234567890123456789 FILE:0",
    "p:x0123456789012345678901234567890123456789012345678901234567890123456789/x FILE:0",
    "p:there FILE:0",
    "p:uprobes/there FILE:0x0",
    "p:there FILE:0 a=%di",
    "r:there FILE:0",
    "p:there FILE:0%return",
    "p:more FILE:0(0x1020)",
    "p:sched/sched_switch FILE:0",
    "p:e FILE:0 $foo",
    "p:e FILE:0 a=$foo",
    "p:e FILE:0 =$foo",
    "p:e FILE:0 1=$foo",
    "p:e FILE:0 a=",
    "p:e FILE:0 a=%ax a=%bx",
    "p:e FILE:0 common_pid=%ax",
    "p:e FILE:0 __probe_ip=%ax",
    "p:e FILE:0 a0123456789012345678901234567890123456789=%ax",
    "p:e FILE:0 %rax",
    "p:e FILE:0 %",
    "p:e FILE:0 %ax:u5",
    "p:e FILE:0 %ax:",
    "p:e FILE:0 %ax:symbol",
    "p:e FILE:0 %ax:symstr",
    "p:e FILE:0 +0(%ax):symstr",
    "p:e FILE:0 +0(%ax):symbol[2]",
    "p:e FILE:0 %ax:%pd",
    "p:e FILE:0 %ax:string",
    "p:e FILE:0 $stack:string",
    "p:e FILE:0 a=%ax:u8[2",
    "p:e FILE:0 a=%ax:u8[2]x",
    "p:e FILE:0 a=%ax:u8[0]",
    "p:e FILE:0 a=%ax:u8[65]",
    "p:e FILE:0 a=%ax:u8[2]",
    "p:e FILE:0 a=+u0(%ax):u8[2]",
    "p:e FILE:0 a=\\1:u8[2]",
    "p:e FILE:0 $comm:string[2]",
    "p:e FILE:0 a=%ax:b1@8/8",
    "p:e FILE:0 a=%ax:b1",
    "p:e FILE:0 +0(%di):x64[64] +8(%di):u64[64] +0(%di):s64[64] +0(%di):x64[64] +0(%di):x64[64] +0(%di):x64[64] \
     a=+8(%di):u8",
    "p:e FILE:0 $comm:u8",
    "p:e FILE:0 a=\\\"x\":u8",
    "p:e FILE:0 $retval",
    "p:e FILE:0 $current",
    "r:e FILE:0 $current->pid",
    "p:e FILE:0 $arg0",
    "p:e FILE:0 $arg1",
    "r:e FILE:0 $arg1",
    "p:e FILE:0 a=$arg99999",
    "p:e FILE:0 $arg*",
    "p:e FILE:0 $stackx",
    "p:e FILE:0 $stack99999999999999999999",
    "p:e FILE:0 file",
    "p:e FILE:0 file->f_mode",
    "p:e FILE:0 a=(file)(%di)->f_mode",
    "p:e FILE:0 a=+0((file)%di->f_mode)",
    "p:e FILE:0 a=(file",
    "p:e FILE:0 this_cpu_read(%di)",
    "p:e FILE:0 a=this_cpu_ptr(@+8)",
    "p:e FILE:0 +0",
    "p:e FILE:0 +x(%ax)",
    "p:e FILE:0 +99999999999999999999(%ax)",
    "p:e FILE:0 +0(%ax",
    "p:e FILE:0 +0($comm)",
    "p:e FILE:0 +0($foo)",
    "p:e FILE:0 +0(+0(+0(+0(+0(+0(+0(+0(+0(%di)))))))))",
    "p:e FILE:0 +0(+0(+0(+0(+0(+0(+0(+0((file)%di->x))))))))",
    "p:e FILE:0 \\x",
    "p:e FILE:0 \\99999999999999999999",
    "p:e FILE:0 \\\"x",
    "p:e FILE:0 @+x",
    "p:e FILE:0 @+99999999999999999999",
    "p:e FILE:0 @1x",
    "p:e FILE:0 @jiffies",
    "p:e FILE:0 a=@-1",
    "p:e FILE:0 !x",
    "e:e sched.sched_switch",
    "f vfs_read",
    "-:nosuch",
    "-:my.two",
    "-:1/2/3",
    "-:",
    "-x",
    "-",
    "!:there",
    "-:there FILE:0",
    "-:there FILE:0x0000000000000000(0x1020)",
    "-:there FILE:0x0000000000000000 a=%di",
];

fn wrong_texts(context: &Context) -> Check {
    need_both()?;
    let tops = Tops::cleared(context);
    let program = Program::new("rtg-uprobe-wrong")?;
    let mut report = Report::default();
    let define = of_program(&["p:there FILE:0"], &program);
    tops.compare(&mut report, FILE, &define[0])?;
    let lines = of_program(WRONG, &program);
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    tops.refuse(&mut report, FILE, &lines)?;
    let others = ["p10 FILE:0", "r0 FILE:0", "q FILE:0", "p FILE"];
    for line in of_program(&others, &program) {
        tops.compare(&mut report, "dynamic_events", &line)?;
    }
    for line in of_program(&["p FILE:0", "p:e FILE:0 $foo"], &program) {
        tops.compare(&mut report, "kprobe_events", &line)?;
    }
    let many = format!("p:e FILE:0{}", " a=%di".repeat(129));
    let none = format!("p vfs_read{}", " a=%di".repeat(129));
    let lines = [many.as_str(), none.as_str()];
    let lines = of_program(&lines, &program);
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    tops.refuse(&mut report, FILE, &lines)?;
    // What only enabling finds out.
    let lines = of_program(
        &[
            "p:e/odd FILE:0x10(0x1021)",
            "p:e/far FILE:0x10000",
            "p:e/proc /proc/version:0",
        ],
        &program,
    );
    tops.set(FILE, &lines.join("\n"))?;
    for name in ["odd", "far", "proc"] {
        let file = format!("events/e/{name}/enable");
        let answers = tops.trees().map(|tree| tree.write(&file, b"1"));
        report.expect(answers[0] == answers[1] && answers[1].is_err(), || {
            format!("{file}: {answers:?}")
        });
        let texts = tops.trees().map(|tree| tree.get(&file));
        report.expect(texts[0] == texts[1], || format!("{file}: {texts:?}"));
    }
    report.finish()
}

/// Takes the flags out of lines of these events, whose names begin with `u_`. Checks those of the own ones: a
/// process is interrupted where it may be, and ftrace subtracts what it has not added.
fn without_flags(lines: Vec<String>) -> (Vec<String>, Vec<String>) {
    let parts = lines.into_iter().filter_map(|line| {
        let (before, event) = line.split_once(" u_")?;
        let (task, flags) = before.rsplit_once(' ')?;
        Some((format!("{task} u_{event}"), flags.to_string()))
    });
    parts.unzip()
}

/// Has both record the events of the group while `f` runs.
fn run(trees: &[&Instance], group: &str, f: impl FnOnce()) -> Check {
    let file = format!("events/{group}/enable");
    for tree in trees {
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        tree.clear()?;
        tree.set(&file, "1")?;
    }
    f();
    for tree in trees {
        tree.set(&file, "0")?;
        tree.set("set_event_pid", "")?;
    }
    Ok(())
}

/// The same probes at both, and calls that hit them.
fn records(context: &Context) -> Check {
    need_both()?;
    let tops = Tops::cleared(context);
    let program = Program::new("rtg-uprobe-records")?;
    let path = program.path.display();
    let lines = format!(
        "p:u_plain {path}:{SUM}\n\
         p:u_adds {path}:{ADDS} a=%di b=%si:s32 c=%ip d=$stack e=$stack0 f=$comm g=\\-5:s8 h=\\65:char\n\
         p:u_types {path}:{WORD} a=+0(%si):x64 b=+u0(%si):u8 c=+0(%si):b4@4/8 d=+0(%si):u16[2] \
         e=+0(%di):string[2] f=+0(+0(%di)):string g=+0(+8(%di)):ustring h=@+{TEXT}:string i=@+{TEXT}:char \
         j=@+{TEXT}:u8[3] k=$comm\n\
         p:u_fault {path}:{WORD} a=+0(\\8):string b=+0(\\0xffffffff80000000):string c=+0(+0(%dx)):string\n\
         p:u_filled {path}:{WORD} a=+0(\\8):u64 b=+0(\\8):string c=+0(\\0xffff888000000000):u8 d=\\7:u8\n\
         r:u_sum {path}:{SUM} v=$retval:s64 w=%ax:x8\n\
         p:u_word {path}:{WORD}%return v=$retval:x64 c=$comm t=@+{TEXT}:string s=+0(+0(%di)):string\n\
         p:u_each {path}:{RECURSES} n=%di\n\
         r:u_end {path}:{RECURSES} n=%di\n"
    );
    let mut report = Report::default();
    tops.set(FILE, &lines)?;
    {
        let (own, reference) = pair(context)?;
        let trees = &[&own, &reference];
        let strings = ["one\0", "another one, that is longer than a word\0"];
        let strings = strings.map(|text| text.as_ptr() as usize);
        let word = 0x1234_5678_9abc_def0u64;
        let word_at = (&raw const word) as usize;
        let mut wrong = 0;
        run(trees, "uprobes", || {
            for n in 0..3 {
                wrong += usize::from(program.call(SUM, [n, 100, 0]) != n + 100);
                let parameters = [strings.as_ptr() as usize, word_at, 0];
                wrong += usize::from(program.call(WORD, parameters) != word as usize);
            }
            program.call(RECURSES, [70, 0, 0]);
        })?;
        ensure!(wrong == 0, "{wrong} calls returned something else");
        let filled = |line: &String| line.contains("u_filled");
        let mut both = [Vec::new(), Vec::new()];
        for (tree, all) in trees.iter().zip(&mut both) {
            let (lines, flags) = without_flags(recorded(tree)?);
            let (fills, mut rest): (Vec<_>, Vec<_>) = lines.into_iter().partition(filled);
            if tree.path() == own.path() {
                for line in &fills {
                    report.expect(line.ends_with(") a=0 b=(fault) c=0 d=7"), || line.clone());
                }
                report.expect(flags.iter().all(|flags| flags == "...."), || {
                    format!("flags {flags:?}")
                });
            }
            rest.push(format!("{} filled", fills.len()));
            *all = rest;
        }
        let [own_lines, wanted] = both;
        report.expect(wanted.len() > 150, || {
            format!("tracefs recorded {wanted:#?}")
        });
        report.expect(wanted.iter().any(|line| line.contains(TEXT_THERE)), || {
            format!("tracefs recorded {wanted:#?}")
        });
        report.expect(own_lines == wanted, || {
            format!("records {own_lines:#?}, tracefs {wanted:#?}")
        });
    }
    let profiles = tops.trees().map(|tree| tree.get("uprobe_profile"));
    // The kernel follows 64 calls of a task; ftrace counts those that it does not, too.
    let shown = |text: &Check<String>| -> Vec<String> {
        let lines = text.as_deref().unwrap_or_default().lines();
        let lines = lines.filter(|line| !line.contains("u_end"));
        lines.map(str::to_string).collect()
    };
    report.expect(
        shown(&profiles[0]) == shown(&profiles[1]) && shown(&profiles[1]).len() == 8,
        || format!("profiles {profiles:#?}"),
    );
    let kernel = tops.trees().map(|tree| tree.get("kprobe_profile"));
    report.expect(kernel[0].as_deref() == Ok(""), || format!("{kernel:?}"));
    report.finish()
}

/// Memory of the process that is not there yet, that is longer than a record, and that is nowhere.
fn memory(context: &Context) -> Check {
    need_both()?;
    let tops = Tops::cleared(context);
    let program = Program::new("rtg-uprobe-memory")?;
    let path = program.path.display();
    tops.set(FILE, &format!("p:u_text {path}:{WORD} a=+0(%di):string"))?;
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let word_at = program.address(TEXT);
    // A page of a file that no instruction has looked at.
    let other = Program::new("rtg-uprobe-other")?;
    let long = format!("{}\0", "x".repeat(3000));
    let places = [other.address(TEXT), long.as_ptr() as usize, 8, usize::MAX];
    run(&[&own, &reference], "uprobes", || {
        for place in places {
            program.call(WORD, [place, word_at, 0]);
        }
    })?;
    let (own_lines, _) = without_flags(recorded(&own)?);
    let (wanted, _) = without_flags(recorded(&reference)?);
    report.expect(own_lines == wanted && wanted.len() == 4, || {
        format!("records {own_lines:#?}, tracefs {wanted:#?}")
    });
    let is_read = |line: &String| line.contains(TEXT_THERE);
    report.expect(wanted.first().is_some_and(is_read), || {
        format!("tracefs {wanted:#?}")
    });
    // What is too long is cut, not left out; ftrace warns of it.
    let lines = format!(
        "p:u_both {path}:{WORD} a=+0(%di):string b=+0(%di):string c=\\1:u8\n\
         p:u_here {path}:{WORD} a=\\\"text\" b=$comm c=%di:u8\n"
    );
    tops.own.set(FILE, &lines)?;
    let longest = format!("{}\0", "y".repeat(9000));
    run(&[&own], "uprobes", || {
        for text in [&long, &longest] {
            program.call(WORD, [text.as_ptr() as usize, word_at, 0]);
        }
    })?;
    let (lines, _) = without_flags(recorded(&own)?);
    report.expect(lines.len() == 6, || format!("{} lines", lines.len()));
    for line in &lines {
        let is_long = |byte: &u8| matches!(byte, b'x' | b'y');
        let count = line.bytes().filter(is_long).count();
        let is_right = match (line.contains("u_here"), line.contains("u_both")) {
            (true, _) => line.contains("a=\"text\" b=\""),
            (_, true) => (4000..4090).contains(&count),
            _ if line.contains("yyy") => (4000..4090).contains(&count),
            // With what is in the rest of the line.
            _ => (3000..3010).contains(&count),
        };
        report.expect(is_right, || format!("{count} bytes: {line:.100}"));
    }
    report.finish()
}

/// The word that counts probes is one more while the event is enabled, in both together.
fn counter(context: &Context) -> Check {
    need_both()?;
    let tops = Tops::cleared(context);
    let program = Program::new("rtg-uprobe-counter")?;
    let path = program.path.display();
    tops.set(FILE, &format!("p:u_counted {path}:{SUM}({COUNTER:#x})"))?;
    let (own, reference) = pair(context)?;
    let file = "events/uprobes/u_counted/enable";
    let mut seen = vec![program.counted()];
    for (tree, on) in [
        (&own, "1"),
        (&reference, "1"),
        (&own, "0"),
        (&reference, "0"),
        (&own, "1"),
    ] {
        tree.set(file, on)?;
        seen.push(program.counted());
    }
    let late = Program::new("rtg-uprobe-late")?;
    own.set(file, "0")?;
    seen.push(program.counted());
    ensure_eq!(seen, [0, 1, 1, 1, 0, 1, 0], "counted");
    ensure_eq!(late.counted(), 0, "another file");
    // One place has one word.
    let other = format!("p:u_other {path}:{SUM}({:#x})", COUNTER + 2);
    let answers = tops.trees().map(|tree| tree.write(FILE, other.as_bytes()));
    ensure_eq!(answers, [Err(EINVAL), Err(EINVAL)], "another word");
    Ok(())
}

/// Definitions that are in use stay; what is removed is gone in every instance, but its records are not; the file
/// can go before; a process that was forked is hit, too.
fn life(context: &Context) -> Check {
    need_both()?;
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let program = Program::new("rtg-uprobe-life")?;
    let path = program.path.display().to_string();
    let before = Instance::new(&context.root, "uprobe-before")?;
    own.set(FILE, &format!("p:u_life {path}:{SUM} a=%di:u8"))?;
    let after = Instance::new(&context.root, "uprobe-after")?;
    let id = own.get("events/uprobes/u_life/id")?;
    for tree in [&*before, &*after] {
        ensure_eq!(tree.get("events/uprobes/u_life/id")?, id, "id");
        ensure_eq!(tree.get("events/uprobes/u_life/enable")?, "0\n", "enable");
    }
    before.set("set_event", "uprobes:u_life")?;
    for file in [FILE, "dynamic_events"] {
        ensure_eq!(own.write_truncating(file, b""), Err(EBUSY), "in use");
    }
    ensure_eq!(own.write(FILE, b"-:u_life"), Err(EBUSY), "in use");
    program.call(SUM, [1, 0, 0]);
    std::fs::remove_file(&path).map_err(|error| format!("{path}: {error}"))?;
    program.call(SUM, [2, 0, 0]);
    let child = process::run_in_child(|| {
        program.call(SUM, [3, 0, 0]);
    });
    let child = child.map_err(|error| format!("no child: {error:?}"))?;
    // A second instance, a filter and a trigger ask about what was recorded.
    after.set("events/uprobes/u_life/filter", "a == 5")?;
    after.set("events/uprobes/u_life/trigger", "traceoff:1 if a == 6")?;
    after.set("events/uprobes/u_life/enable", "1")?;
    for n in 4..8 {
        program.call(SUM, [n, 0, 0]);
    }
    ensure_eq!(after.get("tracing_on")?, "0\n", "tracing_on");
    let shown = |tree: &Tree| -> Check<Vec<String>> {
        let text = tree.get("trace")?;
        let lines = text.lines().filter(|line| line.contains("u_life: "));
        let values = lines.filter_map(|line| line.rsplit_once(" a="));
        Ok(values.map(|(_, value)| value.to_string()).collect())
    };
    ensure_eq!(shown(&before)?, ["1", "2", "3", "4", "5", "6", "7"], "all");
    ensure_eq!(shown(&after)?, ["5"], "filtered");
    let text = before.get("trace")?;
    ensure!(
        text.contains(&format!("-{child} ")),
        "not the child {child}: {text}"
    );
    // An instance goes with the event enabled.
    after.set("events/uprobes/u_life/trigger", "!traceoff")?;
    after.remove()?;
    program.call(SUM, [8, 0, 0]);
    before.set("events/uprobes/u_life/enable", "0")?;
    program.call(SUM, [9, 0, 0]);
    ensure_eq!(shown(&before)?.len(), 8, "after it was switched off");
    // Enabled again.
    before.set("events/uprobes/u_life/enable", "1")?;
    program.call(SUM, [10, 0, 0]);
    before.set("events/uprobes/u_life/enable", "0")?;
    ensure_eq!(shown(&before)?.len(), 9, "enabled again");
    let text = before.get("trace")?;
    own.set(FILE, "-:u_life")?;
    ensure!(!own.exists("events/uprobes"), "the folder is left");
    ensure_eq!(before.get("trace")?, text, "records of a removed event");
    before.remove()
}

static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// Waits inside of the function that is probed, until it is told to leave.
extern "C" fn wait_inside() {
    INSIDE.store(1, Ordering::SeqCst);
    while INSIDE.load(Ordering::SeqCst) != 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A task is inside of a function whose return is probed when the definition goes, and when it comes again.
fn inside(context: &Context) -> Check {
    need_both()?;
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let program = Program::new("rtg-uprobe-inside")?;
    let path = program.path.display();
    let line = format!("r:u_inside {path}:{CALLS} v=$retval c=$comm");
    let tree = Instance::new(&context.root, "uprobe-inside")?;
    let file = "events/uprobes/u_inside/enable";
    for round in ["gone", "off and on", "defined again"] {
        own.set(FILE, &line)?;
        tree.set(file, "1")?;
        INSIDE.store(0, Ordering::SeqCst);
        let result = std::thread::scope(|scope| -> Check {
            let task = scope.spawn(|| program.call(CALLS, [wait_inside as usize, 0, 0]));
            while INSIDE.load(Ordering::SeqCst) == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let changed = (|| {
                tree.set(file, "0")?;
                if round != "off and on" {
                    own.set(FILE, "-:u_inside")?;
                }
                match round {
                    "gone" => Ok(()),
                    "off and on" => tree.set(file, "1"),
                    _ => {
                        own.set(FILE, &line)?;
                        tree.set(file, "1")
                    }
                }
            })();
            INSIDE.store(2, Ordering::SeqCst);
            ensure!(task.join().is_ok(), "{round}: the task ended badly");
            changed
        });
        result?;
        if round != "gone" {
            tree.set(file, "0")?;
            own.set(FILE, "-:u_inside")?;
        }
    }
    tree.remove()
}

/// How many lines of the trace have this event.
fn count(tree: &Tree, name: &str) -> Check<usize> {
    let text = tree.get("trace")?;
    Ok(text.lines().filter(|line| line.contains(name)).count())
}

/// A task waits for a page while its hit is recorded: another one on its CPU does not wait, and the event may be
/// switched off, the definition and the instance removed meanwhile, which waits for the task.
fn waits(context: &Context) -> Check {
    need_both()?;
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let program = Program::new("rtg-uprobe-waits")?;
    let path = program.path.display();
    let word_at = program.address(TEXT);
    let line = format!("p:u_text {path}:{WORD} a=+0(%di):string b=+0(%di):u8");
    own.set(FILE, &format!("p:u_other {path}:{ADDS} a=@+{TEXT}:char"))?;
    let file = "events/uprobes/u_text/enable";
    for round in ["recorded", "switched off", "removed", "instance"] {
        let page = Absent::new()?;
        own.set(FILE, &line)?;
        let tree = Instance::new(&context.root, "uprobe-waits")?;
        tree.set("events/uprobes/enable", "1")?;
        let call = |offset: usize, address: usize| {
            sys::pin_to(0);
            program.call(offset, [address, word_at, 0]);
        };
        let other_goes_on = || -> Check {
            page.wait()?;
            let other = std::thread::scope(|scope| scope.spawn(|| call(SUM, 1)).join());
            ensure!(other.is_ok(), "{round}: the other task");
            let seen = (count(&tree, "u_other: ")?, count(&tree, "u_text: ")?);
            ensure_eq!(seen, (1, 0), "{round}: while a task waits");
            Ok(())
        };
        let change = || -> Check {
            match round {
                "recorded" => Ok(()),
                "instance" => std::fs::remove_dir(tree.path()).map_err(|e| format!("rmdir: {e}")),
                "switched off" => tree.set(file, "0"),
                _ => tree.set(file, "0").and_then(|()| own.set(FILE, "-:u_text")),
            }
        };
        std::thread::scope(|scope| -> Check {
            let task = scope.spawn(|| call(WORD, page.address()));
            let seen = other_goes_on();
            let changer = scope.spawn(change);
            if round != "recorded" {
                std::thread::sleep(Duration::from_millis(100));
            }
            // Whatever came before: else none of these ever ends.
            page.bring("brought here")?;
            let (task, changed) = (task.join(), changer.join());
            ensure!(task.is_ok(), "{round}: the task");
            changed.unwrap_or_else(|_| fail!("{round}: the other one"))?;
            seen
        })?;
        if round == "recorded" {
            let text = tree.get("trace")?;
            let is_right = text.contains(" a=\"brought here\" b=98");
            ensure!(is_right, "{text}");
        }
        if round != "instance" {
            tree.set("events/uprobes/enable", "0")?;
            tree.remove()?;
        }
        if round != "removed" {
            own.set(FILE, "-:u_text")?;
        }
    }
    Ok(())
}

/// The module goes while an event is enabled that a task hits all the time.
fn reload(context: &Context) -> Check {
    need_both()?;
    if !context.is_rtracefs() {
        skip!("tracefs is no module");
    }
    let program = Program::new("rtg-uprobe-reload")?;
    let result = reload_rounds(context, &program);
    module::restore(context)?;
    let top = Tree::at(&context.root);
    top.set("events/enable", "0")?;
    top.empty(FILE)?;
    result
}

fn reload_rounds(context: &Context, program: &Program) -> Check {
    let path = program.path.display();
    let top = Tree::at(&context.root);
    for _ in 0..soak::rounds(1, 5) {
        top.set(
            FILE,
            &format!(
                "p:u_text {path}:{WORD}({COUNTER:#x}) a=+0(%di):string\nr:u_ret {path}:{WORD}({COUNTER:#x})\n"
            ),
        )?;
        top.set("events/uprobes/enable", "1")?;
        // Both are at one place.
        ensure_eq!(program.counted(), 1, "counted");
        let ended = AtomicUsize::new(0);
        std::thread::scope(|scope| -> Check {
            let tasks = [0; 2].map(|_| {
                scope.spawn(|| {
                    let at = program.address(TEXT);
                    while ended.load(Ordering::SeqCst) == 0 {
                        program.call(WORD, [at, at, 0]);
                    }
                })
            });
            std::thread::sleep(Duration::from_millis(100));
            let result =
                module::umount(context).and_then(|()| module::unload_when_free(module::NAME));
            ended.store(1, Ordering::SeqCst);
            for task in tasks {
                ensure!(task.join().is_ok(), "a task ended badly");
            }
            result
        })?;
        ensure_eq!(program.counted(), 0, "counted without the module");
        module::load(&context.module, "")?;
        module::mount(context)?;
        ensure_eq!(top.get(FILE)?, "", "after a load");
    }
    Ok(())
}

/// Functions of a library by their names: the place is where the code of the function is, and it is hit.
fn functions(context: &Context) -> Check {
    const LIBRARY: &str = "/lib/x86_64-linux-gnu/libc.so.6";
    /// The number of the call goes into a register, and then the call.
    const GETPID: &[u8] = &[0xb8, 0x27, 0, 0, 0, 0x0f, 0x05];
    if !context.is_rtracefs() {
        skip!("tracefs takes offsets alone");
    }
    need_both()?;
    let Ok(library) = std::fs::read(LIBRARY) else {
        skip!("no library is here");
    };
    let top = Tree::at(&context.root);
    let mut report = Report::default();
    top.empty(FILE)?;
    let at = |line: &str| -> Check<usize> {
        top.set(FILE, line)?;
        let text = top.get(FILE)?;
        top.set(FILE, "-:rtgf")?;
        let place = text.trim_end().rsplit_once(":0x").map(|(_, place)| place);
        let place = place.and_then(|place| usize::from_str_radix(place, 16).ok());
        place.ok_or(format!("{line}: {text}"))
    };
    let getpid = at(&format!("p:rtgf {LIBRARY}:getpid"))?;
    let code = library.get(getpid..getpid + 16).unwrap_or_default();
    report.expect(
        code.windows(GETPID.len()).any(|part| part == GETPID),
        || format!("getpid at {getpid:#x}: {code:x?}"),
    );
    let inside = at(&format!("p:rtgf {LIBRARY}:getpid+0x3"))?;
    report.expect(inside == getpid + 3, || format!("{inside:#x}"));

    // One that has several versions: the one that programs get which are linked now.
    top.set(FILE, &format!("p:rtgf {LIBRARY}:malloc n=%di"))?;
    top.set(FILE, &format!("r:rtgr {LIBRARY}:malloc at=$retval:x64"))?;
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("events/uprobes/enable", "1")?;
    let output = std::process::Command::new("trace-cmd").arg("-h").output();
    own.set("events/uprobes/enable", "0")?;
    let text = own.get("trace")?;
    let count = |name: &str| text.matches(name).count();
    let (begun, ended) = (count(" rtgf: "), count(" rtgr: "));
    report.expect(output.is_ok() && begun > 0 && begun == ended, || {
        format!("{output:?}: {begun} calls, {ended} returns")
    });
    top.empty(FILE)?;

    for (line, caret) in [
        (format!("p {LIBRARY}:nosuch_function"), LIBRARY.len() + 3),
        (format!("p {LIBRARY}:environ"), LIBRARY.len() + 3),
        (format!("p {LIBRARY}:getpid+x"), LIBRARY.len() + 10),
        ("p /etc:getpid".into(), 2),
        ("p /proc/version:getpid".into(), 16),
    ] {
        top.empty("error_log")?;
        let answer = top.write(FILE, line.as_bytes());
        report.expect(answer == Err(EINVAL), || format!("{line}: {answer:?}"));
        let log = super::filter::log_of(&top)?;
        let shown = log.lines().last().map(|line| line.find('^'));
        report.expect(shown == Some(Some("  Command: ".len() + caret)), || {
            format!("{line}: {caret}\n{log}")
        });
    }
    own.remove()?;
    report.finish()
}
