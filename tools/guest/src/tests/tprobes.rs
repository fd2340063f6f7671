// SPDX-License-Identifier: GPL-2.0

//! Events that users define on tracepoints: the same lines written to both tracers get the same answers, errors and
//! formats, and the same calls make the same records.

use super::dynamic::{need_line, need_typed_lines, need_types, recorded, Tops};
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::kernel_modules::{Loaded, Modules};
use crate::module;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::vsock;
use crate::Context;

pub const TESTS: &[Test] = &[
    test("tprobe.right_texts", 120, right_texts),
    test("tprobe.wrong_texts", 120, wrong_texts),
    test("tprobe.records", 60, records),
    test("tprobe.life", 60, life),
    test("tprobe.nested", 60, nested),
    test("modev.traced", 120, modules),
];

const FILE: &str = "dynamic_events";

const GETPPID: usize = 110;
const PRCTL: usize = 157;
const SET_NAME: usize = 15;

/// Skips a test on a kernel whose own tracer has no such events or takes no types.
fn need_both(reference: &Tree) -> Check {
    need_line(reference, "t:traced/there sched_switch")?;
    need_typed_lines(reference)
}

/// In this order; some remove what is there.
const RIGHT: &[&str] = &[
    "t sched_switch",
    "t:one sched_switch\n",
    "t:grp-x/one sched_switch preempt prev next prev_state",
    "t:grp-x/ sched_waking",
    "t:my.two   sched_wakeup  p=p\tq=$arg1",
    "t:all sched_switch $arg*",
    "t:some sched_switch a=\\1 $arg* z=\\2",
    "t:numbers sched_switch $arg1 $arg2:u64 c=$arg3 d=$arg4:u32",
    "t:fields sched_switch pid=prev->pid comm=next->comm:string prev->flags se=prev->se.vruntime \
     mm=next->mm->mmap_base name=next->mm->exe_file->f_path.dentry->d_name.name:string",
    "t:bits sched_switch a=prev->sched_contributes_to_load b=next->in_execve:u8 c=prev->in_iowait",
    "t:chars task_rename task comm b=comm:string c=comm:ustring",
    "t:deref sched_switch a=+0(prev) b=+0x10($arg2):u32 c=+0(+8(next)):x16 d=+u0(prev->pid):u8 e=+0(prev->comm):u8[4]",
    "t:vars sched_switch a=$stack b=$stack0 c=$stack5:u16 d=$comm:string e=$current f=$COMM",
    "t:memory sched_switch a=@jiffies:u64 b=@init_task+8:u8 c=@0xffffffff81000000:u8",
    "t:later_symbol sched_switch a=@nosuchsymbol",
    "t:imm sched_switch a=\\1 b=\\-1:s8 c=\\0xffffffffffffffff d=\\\"text\" e=\\077:u32",
    "t:arrays sched_switch a=+0(prev):u8[3] b=+0(prev):x64[4] c=+0(next):string[2]",
    "t:names sched_switch a=prev:symstr b=$stack0:symstr c=prev:symbol d=prev:char",
    "t:types sched_switch preempt:u8 a=prev_state:s16 b=prev_state:b4@4/8 c=$arg4:x8",
    "t:cast sched_switch a=$current->pid b=this_cpu_read(@cpu_number):u32 c=(task_struct)next->comm:string \
     d=$current->comm:string e=(task_struct)$arg2->pid",
    "t:name sched_switch a=prev->mm->exe_file:%pD b=$arg2:%pd",
    "t:many sched_switch a=$arg13 b=$arg2048",
    "t nosuch_tracepoint",
    "t:later nosuch_tracepoint a=$arg1 b=$comm $arg2",
    "t 9nosuch",
    "t:call sys_enter regs->di id",
    "-:one sched_switch",
    "-:numbers sched_switch preempt=preempt prev=prev:u64",
    "-:grp-x/",
    "-:my/two",
    "!:tracepoints/nosuch_tracepoint",
    "-:later nosuch_tracepoint a=$arg1",
];

fn right_texts(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    let mut report = Report::default();
    tops.take(&mut report, FILE, RIGHT, &["tracepoints", "grp-x", "my"])?;
    tops.truncate(&mut report, "kprobe_events")?;
    tops.end(&mut report, FILE, "tracepoints")?;
    report.finish()
}

const WRONG: &[&str] = &[
    "t",
    "t:x",
    "t10 sched_switch",
    "tx:e sched_switch",
    "t: sched_switch",
    "t:/x sched_switch",
    "t:1/x sched_switch",
    "t:a/1x sched_switch",
    "t:a-b sched_switch",
    "t:x0123456789012345678901234567890123456789012345678901234567890123456789 sched_switch",
    "t:x0123456789012345678901234567890123456789012345678901234567890123456789/x sched_switch",
    "t:e sched-switch",
    "t:e sched/sched_switch",
    "t:e sched_*",
    "t:e sched_switch+4",
    "t:e sched_switch%return",
    "t:e sched_switch%",
    "t:1x sched_sw%itch",
    "t:e sched_switch $retval",
    "t:e sched_switch a=$retval:u8",
    "t:1x sched_switch a=+0($retval)",
    "t:e sched_switch $retvals",
    "t:there sched_switch",
    "t:tracepoints/there sched_switch",
    "t:there sched_switch prev",
    "t:there sched_waking prev",
    "t:types sched_switch prev preempt",
    "t:types sched_switch next preempt",
    "t:types sched_switch prev:u8 preempt",
    "t:types sched_switch $arg*",
    "t:sched/sched_switch sched_switch",
    "t:e sched_switch nosuch",
    "t:e sched_switch a=+0(nosuch)",
    "t:e sched_switch __data",
    "t:e nosuch_tracepoint foo",
    "t:e nosuch_tracepoint $arg*",
    "t:e nosuch_tracepoint $arg* $arg*",
    "t:e sched_switch $arg* $arg*",
    "t:e sched_switch $arg*x prev",
    "t:e sched_switch $argx",
    "t:e sched_switch $arg",
    "t:e sched_switch a=$arg*",
    "t:e sched_switch a=$arg",
    "t:e sched_switch a=$argx",
    "t:e sched_switch $arg1x",
    "t:e sched_switch $arg0",
    "t:e sched_switch a=$arg0",
    "t:e sched_switch $arg9",
    "t:e sched_switch a=$arg2049",
    "t:e sched_switch a=$arg99999999999999999999",
    "t:e sched_switch $arg* prev",
    "t:e sched_switch $arg* foo",
    "t:e sched_switch a=\\1 $arg* b=foo c=\\2",
    "t:e sched_switch $arg1:u9 $arg2",
    "t:e sched_switch prev->nosuch",
    "t:e sched_switch prev->mm->nosuch",
    "t:e sched_switch prev->se.nosuch",
    "t:e sched_switch prev->pid->x",
    "t:e sched_switch prev->pid.x",
    "t:e sched_switch prev.pid",
    "t:e sched_switch preempt->x",
    "t:e sched_switch prev-x",
    "t:e sched_switch prev->mm-x",
    "t:e sched_switch prev->",
    "t:e sched_switch prev->pid:string",
    "t:e sched_switch prev:string",
    "t:e sched_switch a=prev->mm:u8[2",
    "t:e sched_switch a=prev:u8[2]",
    "t:e sched_switch $foo",
    "t:e sched_switch a=$foo",
    "t:e sched_switch =prev",
    "t:e sched_switch 1=prev",
    "t:e sched_switch a=",
    "t:e sched_switch a=prev a=next",
    "t:e sched_switch prev prev",
    "t:e sched_switch common_pid=prev",
    "t:e sched_switch __probe_ip=prev",
    "t:e sched_switch %di",
    "t:e sched_switch a=+0(%di)",
    "t:e sched_switch $stack2049",
    "t:e sched_switch $stackx",
    "t:e sched_switch $stack0x1",
    "t:e sched_switch $currentx",
    "t:e sched_switch prev:u5",
    "t:e sched_switch $stack:string",
    "t:e sched_switch $comm:u8",
    "t:e sched_switch a=$current:symstr",
    "t:e sched_switch +0",
    "t:e sched_switch +x(prev)",
    "t:e sched_switch +0(prev",
    "t:e sched_switch +0($comm)",
    "t:e sched_switch \\x",
    "t:e sched_switch \\\"x",
    "t:e sched_switch @+8",
    "t:e sched_switch @1x",
    "t:e sched_switch !x",
    "t:e sched_switch +0(+0(+0(+0(+0(+0(+0(+0(+0(prev)))))))))",
    "-:nosuch",
    "-:there sched_waking",
    "-:there sched_switch b",
];

fn wrong_texts(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    let mut report = Report::default();
    let there = ["t:there sched_switch", "t:types sched_switch prev preempt"];
    tops.take(&mut report, FILE, &there, &[])?;
    tops.refuse(&mut report, FILE, WRONG)?;
    let many = format!("t:e sched_switch{}", " prev".repeat(129));
    let expanded = format!("t:e sched_switch $arg*{}", " a=prev".repeat(125));
    let long = format!("t:e sched_switch{}", " $arg4".repeat(12));
    tops.refuse(&mut report, FILE, &[&many, &expanded, &long])?;
    for line in ["t:e sched_switch", "-:there"] {
        let answers = tops
            .trees()
            .map(|tree| tree.write("kprobe_events", line.as_bytes()));
        report.expect(answers[0] == answers[1], || format!("{line}: {answers:?}"));
    }
    // What names a symbol that is not there is defined, and cannot be enabled.
    tops.set(FILE, "t:missing sched_switch a=@nosuchsymbol")?;
    let file = "events/tracepoints/missing/enable";
    let answers = tops.trees().map(|tree| tree.write(file, b"1"));
    report.expect(answers[0] == answers[1], || format!("enable: {answers:?}"));
    report.finish()
}

/// The same events of both, and calls that lead to them.
fn records(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    tops.set(
        FILE,
        "t:traced/plain sys_enter id\n\
         t:traced/enter sys_enter id=id:s64 nr=regs->orig_ax again=$arg2:u8 di=+0x70(regs) comm=$comm \
             text=\\\"text\" five=\\-5:s8 s=+0($stack):u8[0x1] path=+u0(regs->di):ustring wide=$arg1:symstr\n\
         t:traced/leave sys_exit ret id=regs->orig_ax bits=regs->orig_ax:b4@4/64\n\
         t:traced/rename task_rename name=comm:string old=task->comm:string pid=task->pid tgid=task->tgid \
             parent=task->real_parent->pid exec=task->in_execve user=task->cred->uid.val id=\\110\n\
         t:traced/fault sys_enter a=+0(\\8):u64 b=+0(\\8):string c=+u0(\\8):u16 id\n",
    )?;
    let mut report = Report::default();
    let (own, reference) = pair(context)?;
    let instances = [&own, &reference];
    for tree in instances {
        tree.set("events/traced/filter", "id == 110")?;
        tree.set("events/traced/enable", "1")?;
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        tree.clear()?;
    }
    let text = c"behind".as_ptr() as usize;
    for _ in 0..3 {
        sys::call(GETPPID, [text, 0, 0, 0, 0, 0]);
    }
    sys::call(GETPPID, [8, 0, 0, 0, 0, 0]);
    for name in ["tprobe-test\0", "\0", "a name that is too long\0"] {
        sys::call(PRCTL, [SET_NAME, name.as_ptr() as usize, 0, 0, 0, 0]);
    }
    for tree in instances {
        tree.set("events/traced/enable", "0")?;
    }
    let keep = |mut lines: Vec<String>| -> Vec<String> {
        for line in &mut lines {
            // The depth of disabled preemption is that of the tracepoint; in tracefs the tracer's own counts.
            *line = line.replacen(" ..1. ", " .... ", 1);
            // The stack is another one.
            if let Some((before, rest)) = line.clone().split_once(" s={") {
                let after = rest.split_once('}').map_or("", |(_, after)| after);
                *line = format!("{before}{after}");
            }
            // A fault is a zero here; in tracefs it is what the ring had there before.
            if let (true, Some((before, _))) =
                (line.contains(" fault: "), line.clone().split_once(") a="))
            {
                *line = before.to_string();
            }
        }
        // Those of one tracepoint are in the order in which they were enabled.
        lines.sort();
        lines
    };
    let lines = [recorded(&own)?, recorded(&reference)?];
    for line in lines[0].iter().filter(|line| line.contains(" fault: ")) {
        report.expect(line.ends_with(") a=0 b=(fault) c=0 id=110"), || {
            line.clone()
        });
    }
    let [own_lines, wanted] = lines.map(keep);
    report.expect(wanted.len() == 4 * 4 + 3, || {
        format!("tracefs recorded {wanted:#?}")
    });
    report.expect(own_lines == wanted, || {
        format!("records {own_lines:#?}, tracefs {wanted:#?}")
    });
    report.finish()
}

/// Such an event is like any other: in each instance, with filter and triggers; what is in use stays; what is
/// removed is gone, but its records are not.
fn life(context: &Context) -> Check {
    need_types()?;
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let before = Instance::new(&context.root, "tprobe-before")?;
    own.set(
        FILE,
        "t:traced/life sys_enter id=id:s32 five=\\5:u8\nt:traced/waits nosuch_tracepoint a=$arg1",
    )?;
    let after = Instance::new(&context.root, "tprobe-after")?;
    let file = |name: &str| format!("events/traced/life/{name}");
    let id = own.get(&file("id"))?;
    for tree in [&*before, &*after] {
        ensure_eq!(tree.get(&file("id"))?, id, "id");
        ensure_eq!(tree.get(&file("enable"))?, "0\n", "enable");
        // The other one waits for its tracepoint.
        tree.set("events/traced/enable", "1")?;
        ensure_eq!(tree.get("events/traced/enable")?, "1\n", "enable");
    }
    for line in ["-:traced/life", "-:traced/waits", "-:life sys_enter"] {
        ensure_eq!(own.write(FILE, line.as_bytes()), Err(EBUSY), "{line}");
    }
    ensure_eq!(own.write_truncating(FILE, b""), Err(EBUSY), ">");
    let call = || sys::call(GETPPID, [0; 6]);
    let count = |tree: &Tree| -> Check<usize> {
        let text = tree.get("trace")?;
        let is_it = |line: &&str| line.contains(" life: ") && line.ends_with(" id=110 five=5");
        Ok(text.lines().filter(is_it).count())
    };
    call();
    ensure_eq!((count(&before)?, count(&after)?), (1, 1), "records");
    before.set(&file("enable"), "0")?;
    call();
    ensure_eq!((count(&before)?, count(&after)?), (1, 2), "records");
    after.set(&file("filter"), "id == 1")?;
    call();
    ensure_eq!(count(&after)?, 2, "filtered");
    after.set(&file("filter"), "0")?;
    after.set(&file("trigger"), "hist:keys=id if id == 110")?;
    call();
    let hist = after.get(&file("hist"))?;
    ensure!(
        hist.contains("{ id:        110 } hitcount:          1"),
        "{hist}"
    );
    after.set(&file("trigger"), "!hist:keys=id if id == 110")?;
    after.set("events/traced/enable", "0")?;
    before.set("events/traced/enable", "0")?;
    let text = before.get("trace")?;
    call();
    ensure_eq!(before.get("trace")?, text, "off");

    let open = own.open(&file("format"));
    own.set(FILE, "-:traced/life\n-:traced/waits nosuch_tracepoint")?;
    drop(open);
    ensure!(!before.exists("events/traced"), "the folder is left");
    ensure_eq!(before.get("trace")?, text, "records of a removed event");
    own.set(FILE, "t:traced/life sys_enter id=id:s64")?;
    ensure!(
        own.get(&file("id"))? != id,
        "the same id for another layout"
    );
    before.remove()?;
    after.remove()
}

/// A fault in an argument of an event on the tracepoint of faults: that ends, before the stack does. A function is hit
/// beside the events of tracepoints that are inside each other.
fn nested(context: &Context) -> Check {
    need_types()?;
    let tops = Tops::cleared(context);
    tops.own.set(
        FILE,
        "t:traced/first sys_enter a=+u0(\\8):string id\n\
         t:traced/again page_fault_kernel a=+u0(\\8):u64 b=+u0(\\16):string",
    )?;
    if sys::has_kprobes() {
        let function = sys::getppid_function();
        tops.own.set(
            FILE,
            &format!("p:traced/outer {function} a=+u0(\\8):string"),
        )?;
    }
    let instance = Instance::new(&context.root, "tprobe-nested")?;
    instance.set("set_event_pid", &sys::thread_id().to_string())?;
    instance.set("events/traced/first/filter", "id == 110")?;
    instance.set("events/traced/enable", "1")?;
    for _ in 0..100 {
        sys::call(GETPPID, [0; 6]);
    }
    instance.set("events/traced/enable", "0")?;
    let text = instance.get("trace")?;
    let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    let (first, again) = (count(") a=(fault) id=110"), count(") a=0 b=(fault)"));
    ensure!(first == 100, "{first} of 100: {text:.2000}");
    ensure!(again >= first, "{again} faults: {text:.2000}");
    instance.remove()
}

/// An event is recorded when the module of its tracepoint comes, and keeps it from nothing; when rtrace goes,
/// nothing is left.
fn modules(context: &Context) -> Check {
    const TRACEPOINT: &str = "virtio_transport_alloc_pkt";
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    let modules = Modules::new()?;
    let mut report = Report::default();
    let line =
        format!("t:traced/late {TRACEPOINT} cid=$arg1 port=$arg2:u32 len=$arg5:u32 op=$arg7:u16");
    tops.set(FILE, &line)?;
    let (own, reference) = pair(context)?;
    let instances = [&own, &reference];
    for tree in instances {
        tree.set("events/traced/enable", "1")?;
    }
    for round in 0..2 {
        let mut loaded = Loaded::new(&modules);
        loaded.add("vsock-loopback")?;
        vsock::talk(20)?;
        loaded.remove()?;
        let lines = instances.map(|tree| tree.get("trace"));
        let texts = lines.map(|text| -> Check<Vec<String>> {
            let mut lines: Vec<String> = text?
                .lines()
                .filter_map(|line| {
                    Some(
                        line.split_once(" late: (")?
                            .1
                            .split_once(") ")?
                            .1
                            .to_string(),
                    )
                })
                .collect();
            lines.sort();
            Ok(lines)
        });
        let [own_lines, wanted] = texts;
        let (own_lines, wanted) = (own_lines?, wanted?);
        report.expect(wanted.len() > 20, || {
            format!("tracefs recorded {wanted:#?}")
        });
        report.expect(own_lines == wanted, || {
            format!("round {round}: {own_lines:#?}, tracefs {wanted:#?}")
        });
        for tree in instances {
            tree.clear()?;
            ensure_eq!(tree.get("events/traced/late/enable")?, "1\n", "enable");
        }
    }
    for tree in instances {
        tree.set("events/traced/enable", "0")?;
    }
    tops.clear();

    // While the module is there, BTF names its arguments.
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock-loopback")?;
    let file = FILE;
    tops.take(
        &mut report,
        file,
        &[&format!("t:named {TRACEPOINT} $arg*")],
        &["tracepoints"],
    )?;
    report.finish()?;
    tops.own.set(FILE, &line)?;
    drop(own);
    tops.own.set("events/traced/enable", "1")?;
    module::reload(context)?;
    ensure_eq!(tops.own.get(FILE)?, "", "left");
    loaded.remove()
}
