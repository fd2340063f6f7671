// SPDX-License-Identifier: GPL-2.0

//! Event probes: the same lines written to both tracers get the same answers, errors and formats, and the same
//! events make the same records.

use super::dynamic::{need_line, recorded, Tops};
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::kernel_modules::{Loaded, Modules};
use crate::module;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;

pub const TESTS: &[Test] = &[
    test("eprobe.right_texts", 60, right_texts),
    test("eprobe.wrong_texts", 60, wrong_texts),
    test("eprobe.records", 60, records),
    test("eprobe.life", 60, life),
    test("eprobe.nested", 60, nested),
    test("eprobe.of_defined", 60, of_defined),
    test("modev.followed", 120, modules),
];

const GETPPID: usize = 110;
const OPENAT: usize = 257;
const PRCTL: usize = 157;
const SET_NAME: usize = 15;

/// Skips a test on a kernel whose own tracer has no event probes.
fn need_both(reference: &Tree) -> Check {
    // Its README speaks of them also when it has none.
    need_line(reference, "e:follow/there sched/sched_switch")
}

/// In this order; some remove what is there.
const RIGHT: &[&str] = &[
    "s:syn u64 a; char b[16]; char c[]",
    "p:k vfs_read",
    "e sched/sched_switch",
    "e:one sched.sched_switch\n",
    "e:grp-x/one sched/sched_switch a=$prev_pid",
    "e:grp-x/ sched/sched_waking",
    "e.my:my.two   sched/sched_wakeup  pid=$pid:s32\tcomm=$comm:string",
    "exyz:letters sched/sched_wakeup $pid",
    "e:bare sched/sched_switch prev_pid next_comm:string prev_state:u8",
    "e:unnamed sched/sched_switch $prev_pid $next_pid:u32 prev_prio",
    "e:types sched/sched_switch a=$prev_pid:u8 b=$prev_pid:u16 c=$prev_pid:u32 d=$prev_pid:u64 \
     e=$prev_pid:s8 f=$prev_pid:s16 g=$prev_pid:s32 h=$prev_pid:s64 i=$prev_pid:x8 j=$prev_pid:x16 \
     k=$prev_pid:x32 l=$prev_pid:x64 m=$prev_pid:char n=$prev_pid:symbol o=$prev_comm:string p=$prev_pid:ustring",
    "e:arrays raw_syscalls/sys_enter a=+0($args):x64[6] b=+0($args):u8[3] c=+8($args):ustring[2] d=+0(args):s32[0x10]",
    "e:bits sched/sched_switch a=$prev_pid:b4@4/8 b=+0($prev_comm):b8@8/16[2] c=$prev_state:symstr",
    "e:cast raw_syscalls/sys_enter a=(task_struct)$id->pid b=(pt_regs)id->di c=(file)(+0($args))->f_flags",
    "e:comm sched/sched_switch $comm $COMM a=$comm:string b=$comm:u8",
    "e:memory sched/sched_switch a=+0($prev_comm) b=+0x4($prev_comm):u32 c=-8(prev_comm):string \
     d=+u0($prev_pid):u8 e=@jiffies:u64 f=+8(@init_task)",
    "e:imm sched/sched_switch a=\\1 b=\\-1:s8 c=\\0xffffffffffffffff d=\\\"text\":string e=\\\"text\" f=\\077:u32",
    "e:filtered sched/sched_switch pid=$prev_pid if prev_pid != 0 && next_prio > 5",
    "e:all sched/sched_switch if prev_pid > 0",
    "e:call syscalls/sys_enter_openat name=+0($filename):ustring flags",
    "e:ret syscalls/sys_exit_openat ret=$ret:s64",
    "e:raw raw_syscalls/sys_enter id=$id:s64 first=+0($args):u64 args",
    "e:of_syn synthetic/syn a=$a b=$b:string c=$c:string",
    "-:one sched/sched_switch",
    "-:types sched.sched_switch a=$prev_pid:u8 b=$prev_pid:u16",
    "-:eprobes/imm",
    "-:grp-x/",
    "-:my/two",
    "-:of_syn synthetic/syn",
    "-:letters\n-:bare",
    "-:syn",
];

fn right_texts(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    let mut report = Report::default();
    let file = "dynamic_events";
    tops.take(&mut report, file, RIGHT, &["eprobes", "grp-x", "my"])?;
    let profiles = tops.trees().map(|tree| tree.get("kprobe_profile"));
    report.expect(profiles[0] == profiles[1], || format!("{profiles:?}"));
    tops.truncate(&mut report, "kprobe_events")?;
    tops.end(&mut report, file, "eprobes")?;
    report.finish()
}

const WRONG: &[&str] = &[
    "e",
    "e:x",
    "e: sched/sched_switch",
    "e:/x sched/sched_switch",
    "e:1/x sched/sched_switch",
    "e:a/1x sched/sched_switch",
    "e:a-b sched/sched_switch",
    "e:x0123456789012345678901234567890123456789012345678901234567890123456789 sched/sched_switch",
    "e:x0123456789012345678901234567890123456789012345678901234567890123456789/x sched/sched_switch",
    "e:x sched_switch",
    "e:x sched/",
    "e:x /sched_switch",
    "e:x sched/sched-switch",
    "e:x 1sched/sched_switch",
    "e:x sched:sched_switch",
    "e:x sched/nosuch",
    "e:x nosuch/sched_switch",
    "e:x sche/sched_switch",
    "e:x kprobes/k",
    "e:x eprobes/there",
    "e:x ftrace/print",
    "e:there sched/sched_switch",
    "e:there sched/sched_waking a=$pid",
    "e:eprobes/there sched/sched_switch",
    "e:sched/sched_switch sched/sched_switch",
    "e:x sched/sched_switch $foo",
    "e:x sched/sched_switch a=$foo",
    "e:x sched/sched_switch foo",
    "e:x sched/sched_switch a=foo:u8",
    "e:x sched/sched_switch prev_pid->x",
    "e:x sched/sched_switch $common_pid",
    "e:x sched/sched_switch common_pid",
    "e:x sched/sched_switch common_tgid=$prev_pid",
    "e:x sched/sched_switch __probe_ip=$prev_pid",
    "e:x sched/sched_switch prev_pid prev_pid",
    "e:x sched/sched_switch arg2=$prev_pid $prev_pid",
    "e:x sched/sched_switch =$prev_pid",
    "e:x sched/sched_switch 1=$prev_pid",
    "e:x sched/sched_switch a=",
    "e:x sched/sched_switch a0123456789012345678901234567890123456789=$prev_pid",
    "e:x sched/sched_switch %ax",
    "e:x sched/sched_switch a=+0(%ax)",
    "e:x sched/sched_switch $retval",
    "e:x sched/sched_switch $stack",
    "e:x sched/sched_switch $stack1",
    "e:x sched/sched_switch $arg1",
    "e:x sched/sched_switch $arg*",
    "e:x sched/sched_switch $current",
    "e:x sched/sched_switch $",
    "e:x sched/sched_switch this_cpu_read(prev_pid)",
    "e:x sched/sched_switch a=this_cpu_ptr($prev_pid)",
    "e:x sched/sched_switch $prev_pid:u5",
    "e:x sched/sched_switch $prev_pid:",
    "e:x sched/sched_switch $prev_pid:u8[2]",
    "e:x sched/sched_switch $prev_pid:u8[",
    "e:x sched/sched_switch $prev_pid:b9@0/8",
    "e:x sched/sched_switch $comm:symstr",
    "e:x sched/sched_switch +u0($prev_pid):symstr",
    "e:x sched/sched_switch +0",
    "e:x sched/sched_switch +x($prev_pid)",
    "e:x sched/sched_switch +99999999999999999999($prev_pid)",
    "e:x sched/sched_switch +0($prev_pid",
    "e:x sched/sched_switch +0($comm)",
    "e:x sched/sched_switch +0($foo)",
    "e:x sched/sched_switch +0(foo)",
    "e:x sched/sched_switch \\x",
    "e:x sched/sched_switch \\\"x",
    "e:x sched/sched_switch @+8",
    "e:x sched/sched_switch @1x",
    "e:x sched/sched_switch @nosuchsymbol",
    "e:x sched/sched_switch !x",
    "e:x sched/sched_switch if",
    "e:x sched/sched_switch $prev_pid if",
    "e:x sched/sched_switch if prev_pid",
    "e:x sched/sched_switch if foo == 1",
    "e:x sched/sched_switch a=$foo if foo == 1",
    "e:x sched/sched_switch $prev_pid if prev_pid == 1 &&",
    "e:x sched/sched_switch $prev_pid if (prev_pid == 1",
    "e:x sched/nosuch if foo",
    "-:nosuch",
    "-:there sched/sched_waking",
    "-:there nosuch",
    "-:there sche/sched_switch",
    "-:there sched/sched_switch a=$prev_pid b",
    "-:there sched/sched_switch a=$next_pid",
];

fn wrong_texts(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    let mut report = Report::default();
    let file = "dynamic_events";
    let there = ["p:k vfs_read", "e:there sched/sched_switch a=$prev_pid"];
    tops.take(&mut report, file, &there, &[])?;
    tops.refuse(&mut report, file, WRONG)?;
    let many = format!("e:x sched/sched_switch{}", " $prev_pid".repeat(129));
    let unknown = format!("e:x sched/nosuch{} if x", " $prev_pid".repeat(129));
    let long = format!("e:x sched/sched_switch a=+0({})", "x".repeat(300));
    tops.refuse(&mut report, file, &[&many, &unknown, &long])?;
    for line in ["e:x sched/sched_switch", "-:there"] {
        let answers = tops
            .trees()
            .map(|tree| tree.write("kprobe_events", line.as_bytes()));
        report.expect(answers[0] == answers[1], || format!("{line}: {answers:?}"));
    }
    tops.compare(&mut report, file, "")?;
    report.finish()
}

/// The same probes at both, and calls that lead to them.
fn records(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    let lines = "\
        e:follow/plain syscalls/sys_enter_getppid\n\
        e:follow/nr syscalls/sys_exit_getppid nr=$__syscall_nr:s32 ret=$ret:s64 again=ret comm=$comm:string \
            text=\\\"text\":string five=\\-5:s8\n\
        e:follow/open syscalls/sys_enter_openat dfd=$dfd:s32 name=+0($filename):ustring \
            same=$filename:ustring kernel=$filename:string flags=$flags:x32 mode\n\
        e:follow/opened syscalls/sys_exit_openat ret=$ret:s64 if ret < 0\n\
        e:follow/raw raw_syscalls/sys_enter id=$id:s64 path=+0(+8($args)):ustring flags=+16($args):u64 all=+0($args):x64[3] \
            bits=+16($args):b4@4/8 \
            if id == 257 || id == 110\n\
        e:follow/rename task/task_rename old=$oldcomm:string new=$newcomm:string pid=$pid:u32 \
            adj=$oom_score_adj:s16 first=+0($newcomm):char second=+1(newcomm):char\n\
        e:follow/fault syscalls/sys_enter_getppid a=+0(\\8):string b=+u0(\\8):ustring c=+0(+8($__syscall_nr)):string\n";
    let mut report = Report::default();
    tops.set("dynamic_events", lines)?;
    let (own, reference) = pair(context)?;
    let instances = [&own, &reference];
    for tree in instances {
        tree.set("events/follow/enable", "1")?;
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        tree.clear()?;
    }
    for file in [
        "events/syscalls/sys_enter_getppid/enable",
        "events/syscalls/sys_exit_getppid/trigger",
        "events/raw_syscalls/enable",
        "events/task/enable",
        "set_event",
    ] {
        let texts = instances.map(|tree| tree.get(file));
        let texts = [texts[0].clone()?, texts[1].clone()?];
        let shown = texts.clone().map(|text| {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.map(str::to_string).collect::<Vec<_>>()
        });
        report.expect(shown[0] == shown[1], || format!("{file}: {shown:?}"));
    }
    for _ in 0..3 {
        sys::call(GETPPID, [0; 6]);
    }
    let long = format!("/{}\0", "x".repeat(300));
    for path in ["/nosuchfile\0", &long, "\0"] {
        let args = [usize::MAX, path.as_ptr() as usize, 0, 0, 0, 0];
        sys::call(OPENAT, args);
    }
    sys::call(OPENAT, [usize::MAX, 8, 0, 0, 0, 0]);
    for name in ["eprobe-test\0", "\0", "a name that is too long\0"] {
        sys::call(PRCTL, [SET_NAME, name.as_ptr() as usize, 0, 0, 0, 0]);
    }
    for tree in instances {
        tree.set("events/follow/enable", "0")?;
    }
    let keep = |mut lines: Vec<String>| -> Vec<String> {
        // The test itself opens files of both trees.
        lines.retain(|line| !line.contains("tracing/instances/"));
        // What is after the end of a name is whatever was in the record.
        for line in lines.iter_mut().filter(|line| line.contains("new=\"\"")) {
            line.truncate(line.find(" second=").unwrap_or(line.len()));
        }
        // Those that follow one call are in the order in which they were enabled, which differs.
        lines.sort();
        lines
    };
    let lines = [keep(recorded(&own)?), keep(recorded(&reference)?)];
    report.expect(lines[1].len() >= 25, || {
        format!("tracefs recorded {:#?}", lines[1])
    });
    report.expect(lines[0] == lines[1], || {
        format!("records {:#?}, tracefs {:#?}", lines[0], lines[1])
    });
    report.finish()
}

/// What follows an event is like any other event: in each instance, with filter and triggers, whether the event
/// itself is recorded or not; what is in use stays.
fn life(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let before = Instance::new(&context.root, "eprobe-before")?;
    own.set(
        "dynamic_events",
        "s:eprobe_syn s32 nr\n\
         e:follow/life syscalls/sys_enter_getppid nr=$__syscall_nr:s32\n\
         e:follow/twin syscalls/sys_enter_getppid nr=$__syscall_nr:u8\n\
         e:follow/syn synthetic/eprobe_syn nr=$nr:s32",
    )?;
    let after = Instance::new(&context.root, "eprobe-after")?;
    let id = own.get("events/follow/life/id")?;
    for tree in [&*before, &*after] {
        ensure_eq!(tree.get("events/follow/life/id")?, id, "id");
        ensure_eq!(tree.get("events/follow/life/enable")?, "0\n", "enable");
        tree.set("events/follow/life/enable", "1")?;
    }
    let call = || sys::call(GETPPID, [0; 6]);
    let count = |tree: &Tree, what: &str| -> Check<usize> {
        let text = tree.get("trace")?;
        Ok(text.lines().filter(|line| line.contains(what)).count())
    };
    // Two of one event, and the event itself.
    before.set("events/follow/twin/enable", "1")?;
    before.set("events/syscalls/sys_enter_getppid/enable", "1")?;
    before.set(
        "events/syscalls/sys_enter_getppid/filter",
        "__syscall_nr == 0",
    )?;
    call();
    for (tree, what, wanted) in [
        (&*before, " life: (syscalls.sys_enter_getppid) nr=110", 1),
        (&*before, " twin: (syscalls.sys_enter_getppid) nr=110", 1),
        (&*before, " sys_getppid(", 0),
        (&*after, " life: (syscalls.sys_enter_getppid) nr=110", 1),
        (&*after, " twin: ", 0),
    ] {
        ensure!(
            (count(tree, what)? >= 1) == (wanted == 1),
            "{what}: {}",
            tree.get("trace")?
        );
    }
    before.set("events/syscalls/sys_enter_getppid/filter", "0")?;
    call();
    ensure!(count(&before, " sys_getppid(")? >= 1, "not recorded");
    before.set("events/syscalls/sys_enter_getppid/enable", "0")?;
    ensure_eq!(
        before.get("events/syscalls/sys_enter_getppid/enable")?,
        "0*\n",
        "followed"
    );

    // In use.
    for line in ["-:follow/life", "-:life syscalls/sys_enter_getppid"] {
        ensure_eq!(
            own.write("dynamic_events", line.as_bytes()),
            Err(EBUSY),
            "{line}"
        );
    }
    ensure_eq!(own.write_truncating("dynamic_events", b""), Err(EBUSY), ">");
    before.set("events/follow/life/enable", "0")?;
    before.set("events/follow/twin/enable", "0")?;
    after.clear()?;
    call();
    ensure!(
        count(&after, " life: ")? >= 1,
        "ended in the other instance"
    );

    // Filter, trigger, histogram.
    after.set("events/follow/life/filter", "nr == 1")?;
    after.clear()?;
    call();
    ensure_eq!(count(&after, " life: ")?, 0, "filtered");
    after.set("events/follow/life/filter", "0")?;
    after.set("events/follow/life/trigger", "hist:keys=nr")?;
    call();
    let hist = after.get("events/follow/life/hist")?;
    ensure!(hist.contains("{ nr:        110 } hitcount:"), "{hist}");
    after.set("events/follow/life/trigger", "!hist:keys=nr")?;
    after.set("events/follow/life/enable", "0")?;
    call();
    after.clear()?;
    call();
    ensure_eq!(count(&after, " life: ")?, 0, "disabled");

    // One that is followed by none, or was.
    for step in ["", "1", "0"] {
        own.set(
            "dynamic_events",
            "s:eprobe_step s32 nr\ne:follow/step synthetic/eprobe_step nr",
        )?;
        ensure_eq!(
            own.write("dynamic_events", b"-:eprobe_step"),
            Err(EBUSY),
            "{step}"
        );
        if !step.is_empty() {
            after.set("events/follow/step/enable", "1")?;
            ensure_eq!(
                own.write("dynamic_events", b"-:eprobe_step"),
                Err(EBUSY),
                "{step}"
            );
            after.set("events/follow/step/enable", "0")?;
        }
        own.set("dynamic_events", "-:follow/step")?;
        let removed = own.write("dynamic_events", b"-:eprobe_step");
        ensure!(removed.is_ok(), "step {step}: {removed:?}");
    }

    // A synthetic event that is followed stays, and what follows it is recorded when it is.
    ensure_eq!(
        own.write("synthetic_events", b"!eprobe_syn"),
        Err(EBUSY),
        "followed"
    );
    ensure_eq!(
        own.write("dynamic_events", b"-:eprobe_syn"),
        Err(EBUSY),
        "followed"
    );
    ensure_eq!(
        own.write_truncating("dynamic_events", b""),
        Err(EBUSY),
        "followed"
    );
    after.set("events/follow/syn/enable", "1")?;
    let trigger =
        "hist:keys=common_pid:nr=__syscall_nr:onmatch(syscalls.sys_enter_getppid).eprobe_syn($nr)";
    let file = "events/syscalls/sys_enter_getppid/trigger";
    before.set(file, trigger)?;
    call();
    before.set(file, &format!("!{trigger}"))?;
    ensure!(
        count(&after, " syn: (synthetic.eprobe_syn) nr=110")? >= 1,
        "not recorded: {}",
        after.get("trace")?
    );
    // An instance goes with what follows on.
    after.remove()?;
    own.set("dynamic_events", "-:follow/syn")?;
    own.set("dynamic_events", "-:eprobe_syn")?;

    // What is removed is gone, but its records are not.
    let text = before.get("trace")?;
    own.set("dynamic_events", "-:follow/")?;
    ensure!(!before.exists("events/follow"), "the folder is left");
    ensure_eq!(before.get("trace")?, text, "records of removed events");
    ensure_eq!(own.get("dynamic_events")?, "", "left");
    before.remove()
}

/// A fault in an argument is an event that is followed by what faults again: that ends.
fn nested(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    own.set(
        "dynamic_events",
        "e:follow/first syscalls/sys_enter_getppid a=+u0(\\8):string\n\
         e:follow/again exceptions/page_fault_kernel a=+u0(\\8):u64 b=+u0(\\16):string",
    )?;
    let instance = Instance::new(&context.root, "eprobe-nested")?;
    instance.set("set_event_pid", &sys::thread_id().to_string())?;
    instance.set("events/follow/enable", "1")?;
    for _ in 0..100 {
        sys::call(GETPPID, [0; 6]);
    }
    instance.set("events/follow/enable", "0")?;
    let text = instance.get("trace")?;
    let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    let (first, again) = (
        count(" first: (syscalls.sys_enter_getppid) a=(fault)"),
        count(" again: (exceptions.page_fault_kernel) a=0 b=(fault)"),
    );
    ensure!(first == 100, "{first} of 100: {text:.2000}");
    ensure!(again >= first, "{again} faults: {text:.2000}");
    instance.remove()
}

/// Those of events that other definitions make: of functions and of tracepoints, as in tracefs.
fn of_defined(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    need_line(&tops.reference, "f:there vfs_read")?;
    let function = sys::getppid_function();
    let mut report = Report::default();
    let file = "dynamic_events";
    let lines = [
        &*format!("f:fun {function} a=$arg1:x64 c=$comm"),
        &*format!("f:end {function}%return v=$retval:s32"),
        "t:task task_rename c=$comm",
        &*format!("p:k {function}"),
        "e:follow/fun fprobes/fun ip=$__probe_ip a=$a:x64 c=$c:string",
        "e:follow/end fprobes.end v=$v:s32 if v > 0",
        "e:follow/none fprobes.end v=$v:s32 if v == 0",
        "e:follow/task tracepoints/task c=$c:string",
        "e:follow/again tracepoints/task c",
        "-:follow/again",
    ];
    tops.take(&mut report, file, &lines, &["follow"])?;
    let refused = [
        "e:follow/x kprobes/k",
        "e:follow/x follow/fun",
        "e:follow/x fprobes/nosuch",
        "e:follow/x fprobes/fun $nosuch",
        "e:follow/x fprobes/fun a=$a if nosuch == 1",
        "-:fun",
        "-:fprobes/end",
        "-:task",
    ];
    tops.refuse(&mut report, file, &refused)?;
    let (own, reference) = pair(context)?;
    let instances = [&own, &reference];
    for tree in instances {
        tree.set("events/follow/enable", "1")?;
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        tree.clear()?;
    }
    for _ in 0..3 {
        sys::call(GETPPID, [0; 6]);
        sys::call(
            PRCTL,
            [SET_NAME, c"eprobe-two".as_ptr() as usize, 0, 0, 0, 0],
        );
    }
    tops.refuse(&mut report, file, &["-:follow/fun", "-:fun"])?;
    for tree in instances {
        tree.set("events/follow/enable", "0")?;
    }
    // ftrace's depth of a tracepoint and of the beginning of a function is its own.
    let shown = |tree: &Instance| -> Check<Vec<String>> {
        let lines = recorded(tree)?.into_iter();
        let deeper = |line: String| match line.contains(" fun: ") {
            true => line.replacen("..3.", "..2.", 1),
            false => line.replacen("..1.", "..2.", 1),
        };
        let mut lines: Vec<_> = lines.map(deeper).collect();
        lines.sort();
        Ok(lines)
    };
    let lines = [shown(&own)?, shown(&reference)?];
    report.expect(lines[1].len() >= 9, || {
        format!("tracefs recorded {:#?}", lines[1])
    });
    report.expect(lines[0] == lines[1], || {
        format!("records {:#?}, tracefs {:#?}", lines[0], lines[1])
    });
    // What follows goes with what is followed: tracefs removes none.
    ensure_eq!(tops.own.write_truncating(file, b""), Ok(0), "> {file}");
    ensure_eq!(tops.own.get(file)?, "", "left");
    report.finish()
}

/// The module of an event that is followed stays; when rtrace goes, nothing is left.
fn modules(context: &Context) -> Check {
    const EVENT: &str = "kyber/kyber_latency";
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let modules = Modules::new()?;
    let mut loaded = Loaded::new(&modules);
    loaded.add("kyber-iosched")?;
    let line = format!("e:follow/latency {EVENT} samples");
    for tree in tops.trees() {
        tree.set("dynamic_events", &line)?;
        ensure_eq!(module::unload("kyber_iosched"), Err(EAGAIN), "followed");
        tree.set("events/follow/latency/enable", "1")?;
        tree.set("events/follow/latency/enable", "0")?;
        ensure_eq!(module::unload("kyber_iosched"), Err(EAGAIN), "followed");
        tree.set("dynamic_events", "-:follow/")?;
    }
    own.set(
        "dynamic_events",
        &format!("{line}\ne:follow/switch sched/sched_switch c=$prev_comm:string\ne:follow/call syscalls/sys_exit_openat"),
    )?;
    own.set("events/follow/enable", "1")?;
    module::reload(context)?;
    ensure_eq!(own.get("dynamic_events")?, "", "left");
    loaded.remove()
}
