// SPDX-License-Identifier: GPL-2.0

//! Events that users define on functions: the same lines written to both tracers get the same answers, errors and
//! formats, and the same calls make the same records.

use super::dynamic::{need_line, need_typed_lines, recorded, Tops};
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
    test("fprobe.right_texts", 120, right_texts),
    test("fprobe.wrong_texts", 120, wrong_texts),
    test("fprobe.records", 60, records),
    test("fprobe.life", 60, life),
    test("modev.called", 120, modules),
];

const FILE: &str = "dynamic_events";

const GETPPID: usize = 110;
const OPENAT: usize = 257;

/// Skips a test on a kernel whose own tracer cannot do this or takes no types.
fn need_both(reference: &Tree) -> Check {
    need_line(reference, "f:called/there vfs_read")?;
    need_typed_lines(reference)
}

/// In this order; some remove what is there.
const RIGHT: &[&str] = &[
    "f vfs_read",
    "f vfs_read%return",
    "f:one vfs_read\n",
    "f:grp-x/one vfs_read file buf count pos",
    "f:grp-x/ vfs_write",
    "f:my.two   vfs_write  a=$arg1\tb=$arg3:u32",
    "f:ret vfs_read $retval",
    "f:typed vfs_read%return ret=$retval:s32 file count again=$arg3",
    "f:kept vfs_read%return $arg* $retval",
    "f:all vfs_read $arg*",
    "f:fields vfs_read file->f_mode name=file->f_path.dentry->d_name.name:string flags=file->f_flags:x16",
    "f:glob vfs_*",
    "f:globs vfs_[rw]*%return a=$retval:x8",
    "f:numbers vfs_* a=$arg1 b=$arg2:u8",
    "f:same name_show",
    "f:vars vfs_read a=$stack b=$stack0:symbol c=$comm d=$current e=$stack5:u16",
    "f:memory vfs_read a=@jiffies:u64 b=+0(@init_task):u8",
    "f:later_symbol vfs_read a=@nosuchsymbol",
    "f:deref vfs_read a=+0($arg1) b=+u0($arg2):ustring c=+0(file):x64[3] d=$arg1:symstr",
    "f:many vfs_read%return a=$arg13 b=$arg1 c=$arg2 d=$arg14 e=$arg13",
    "f:names vfs_read f=file:%pD $arg1:%pD b=$arg1:%pD",
    "f:cast vfs_read%return a=(file)$arg1->f_flags b=$current->tgid c=this_cpu_read(@cpu_number):u32 d=(file)file->f_pos",
    "f:imm vfs_read a=\\1 b=\\\"text\" c=\\-1:s8",
    "-:one vfs_read",
    "-:ret vfs_read arg1=$retval",
    "-:grp-x/",
    "-:my/two",
    "!:fprobes/vfs_read__exit",
];

fn right_texts(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    let mut report = Report::default();
    tops.take(&mut report, FILE, RIGHT, &["fprobes", "grp-x", "my"])?;
    tops.end(&mut report, FILE, "fprobes")?;
    report.finish()
}

const WRONG: &[&str] = &[
    "f",
    "f:x",
    "f10 vfs_read",
    "fx:e vfs_read",
    "f: vfs_read",
    "f:/x vfs_read",
    "f:1/x vfs_read",
    "f:a/1x vfs_read",
    "f:a-b vfs_read",
    "f:e nosuchfunction",
    "f:e nosuch*",
    "f:e nosuchfunction a=$foo",
    "f:e nosuchmodule:vfs_read",
    "f:e jiffies",
    "f:e vfs_read%retur",
    "f:e vfs_read%",
    "f:1x vfs_re%ad",
    "f:e vfs_read+4",
    "f:there vfs_read",
    "f:fprobes/there vfs_read",
    "f:there vfs_read%return",
    "f:there vfs_read file",
    "t:fprobes/there sched_switch",
    "f:sched/sched_switch vfs_read",
    "f:e vfs_read nosuch",
    "f:e vfs_read%return nosuch",
    "f:e vfs_* $arg*",
    "f:e vfs_read $arg* $arg*",
    "f:e vfs_read $argx",
    "f:e vfs_read $arg0",
    "f:e vfs_read $arg9",
    "f:e vfs_read a=$arg2049",
    "f:e vfs_read $arg1x",
    "f:e vfs_read $retvals",
    "f:e vfs_read%return $retvals",
    "f:e path_put $retval",
    "f:e path_put%return a=$retval:u8",
    "f:e vfs_read%return $retval->x",
    "f:e vfs_* $retval->x",
    "f:e vfs_read file->nosuch",
    "f:e vfs_read file.f_mode",
    "f:e vfs_read $foo",
    "f:e vfs_read %di",
    "f:e vfs_read a=+0(%di)",
    "f:e vfs_read $stack2049",
    "f:e vfs_read $comm:u8",
    "f:e vfs_read $stack:string",
    "f:e vfs_read a=",
    "f:e vfs_read a=$arg1 a=$arg2",
    "f:e vfs_read __probe_func=$arg1",
    "f:e vfs_read +0",
    "f:e vfs_read @+8",
    "f:e vfs_read !x",
    "-:nosuch",
    "-:there vfs_write",
    "-:there vfs_read%return",
];

fn wrong_texts(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    let mut report = Report::default();
    tops.take(&mut report, FILE, &["f:there vfs_read"], &[])?;
    tops.refuse(&mut report, FILE, WRONG)?;
    let many = format!("f:e vfs_read{}", " $stack".repeat(129));
    let kept = (1..=16).map(|number| format!(" a{number}=$arg{number}"));
    let kept = format!("f:e vfs_read%return{}", kept.collect::<String>());
    tops.refuse(&mut report, FILE, &[&many, &kept])?;
    for line in ["f:e vfs_read", "-:there"] {
        let answers = tops
            .trees()
            .map(|tree| tree.write("kprobe_events", line.as_bytes()));
        report.expect(answers[0] == answers[1], || format!("{line}: {answers:?}"));
    }
    tops.set(FILE, "f:missing vfs_read a=@nosuchsymbol")?;
    let file = "events/fprobes/missing/enable";
    let answers = tops.trees().map(|tree| tree.write(file, b"1"));
    report.expect(answers[0] == answers[1], || format!("enable: {answers:?}"));
    report.finish()
}

/// The same events of both, and calls that lead to them.
fn records(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    let function = sys::getppid_function();
    tops.set(
        FILE,
        &format!(
            "f:called/plain {function}\n\
             f:called/args {function} nr=+0x78($arg1):u32 di=+0x70($arg1):x64 c=$comm d=\\-5:s8 f=\\\"text\" s=$stack1:x32\n\
             f:called/back {function}%return v=$retval:s32 c=$comm\n\
             f:called/kept {function}%return nr=+0x78($arg1):u32 a=$arg1 v=$retval\n\
             f:called/open do_sys_openat2 dfd filename:ustring name=+u0($arg2):ustring how->flags\n\
             f:called/opened do_sys_openat2%return $retval dfd name=+u0($arg2):ustring flags=+0($arg3):x64\n\
             f:called/glob do_sys_ope*at? a=$arg1:s32\n\
             f:called/fault {function} a=+0(\\8):u64 b=+0(\\8):string\n"
        ),
    )?;
    let mut report = Report::default();
    let (own, reference) = pair(context)?;
    let instances = [&own, &reference];
    for tree in instances {
        tree.set("events/called/enable", "1")?;
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        tree.clear()?;
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
    for tree in instances {
        tree.set("events/called/enable", "0")?;
    }
    let keep = |mut lines: Vec<String>| -> Vec<String> {
        // The test itself opens files of both trees.
        lines.retain(|line| !line.contains("tracing/instances/"));
        lines.retain(|line| !line.contains(" glob: ") || line.ends_with(" a=-1"));
        for line in &mut lines {
            // The depth of disabled preemption is that of the function, but that others hook it; in tracefs the tracer's
            // own counts, too.
            for depth in [" ..1. ", " ..2. "] {
                *line = line.replacen(depth, " .... ", 1);
            }
            // A fault is a zero here; in tracefs it is what the ring had there before.
            if let (true, Some((before, _))) =
                (line.contains(" fault: "), line.clone().split_once(") a="))
            {
                *line = before.to_string();
            }
        }
        // Those of one function are in another order.
        lines.sort();
        lines
    };
    let [own_lines, wanted] = [recorded(&own)?, recorded(&reference)?].map(keep);
    report.expect(wanted.len() == 5 * 3 + 3 * 4, || {
        format!("tracefs recorded {wanted:#?}")
    });
    report.expect(own_lines == wanted, || {
        format!("records {own_lines:#?}, tracefs {wanted:#?}")
    });
    report.finish()
}

/// Such an event is like any other: in each instance, with filter and triggers; what is in use stays; what is
/// removed is gone, but its records are not; tasks may be inside of a function meanwhile.
fn life(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    let own = &tops.own;
    let function = sys::getppid_function();
    let before = Instance::new(&context.root, "fprobe-before")?;
    let define = || {
        let lines = format!(
            "f:called/life {function} five=\\5:u8\nf:called/back {function}%return v=$retval:s32 a=$arg1"
        );
        own.set(FILE, &lines)
    };
    define()?;
    let after = Instance::new(&context.root, "fprobe-after")?;
    let file = |name: &str| format!("events/called/life/{name}");
    let id = own.get(&file("id"))?;
    for tree in [&*before, &*after] {
        ensure_eq!(tree.get(&file("id"))?, id, "id");
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        tree.set("events/called/enable", "1")?;
    }
    for line in ["-:called/life", "-:called/back", "-:back"] {
        ensure_eq!(own.write(FILE, line.as_bytes()), Err(EBUSY), "{line}");
    }
    ensure_eq!(own.write_truncating(FILE, b""), Err(EBUSY), ">");
    let call = || sys::call(GETPPID, [0; 6]);
    let count = |tree: &Tree| -> Check<(usize, usize)> {
        let text = tree.get("trace")?;
        let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
        Ok((count(" life: ("), count(" back: (")))
    };
    call();
    ensure_eq!(
        (count(&before)?, count(&after)?),
        ((1, 1), (1, 1)),
        "records"
    );
    before.set("events/called/enable", "0")?;
    call();
    ensure_eq!(
        (count(&before)?, count(&after)?),
        ((1, 1), (2, 2)),
        "records"
    );
    after.set("events/called/back/filter", "v == 0x7fffffff")?;
    call();
    ensure_eq!(count(&after)?, (3, 2), "filtered");
    after.set(&file("trigger"), "hist:keys=five")?;
    call();
    let hist = after.get(&file("hist"))?;
    ensure!(
        hist.contains("{ five:          5 } hitcount:          1"),
        "{hist}"
    );
    after.set(&file("trigger"), "!hist:keys=five")?;
    after.set("events/called/enable", "0")?;
    let text = before.get("trace")?;
    own.set(FILE, "-:called/life\n-:called/back")?;
    ensure!(!before.exists("events/called"), "the folder is left");
    ensure_eq!(before.get("trace")?, text, "records of a removed event");

    // Calls of another definition return while this one is enabled.
    let stop = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    let result = std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(order) {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            });
        }
        let rounds = || -> Check {
            for round in 0..6 {
                let sleep = "hrtimer_nanosleep common_nsleep __x64_sys_clock_nanosleep";
                let name = sleep.split(' ').nth(round % 3).unwrap_or_default();
                let line = format!("f:called/sleep{round} {name}%return a=$arg1 b=$retval");
                if own.write(FILE, line.as_bytes()).is_err() {
                    continue;
                }
                let event = format!("events/called/sleep{round}/enable");
                for _ in 0..2 {
                    own.set(&event, "1")?;
                    own.set(&event, "0")?;
                }
                own.set(FILE, &format!("-:called/sleep{round}"))?;
            }
            Ok(())
        };
        let result = rounds();
        stop.store(true, order);
        result
    });
    result?;
    before.remove()?;
    after.remove()
}

/// The module of a function goes while the event is enabled; when rtrace goes, nothing is left.
fn modules(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_both(&tops.reference)?;
    let modules = Modules::new()?;
    let mut report = Report::default();
    let line = "f:called/sent vsock_* a=$arg1";
    for tree in tops.trees() {
        let early = tree.write(FILE, b"f:called/sent vsock_stream_sendmsg");
        ensure_eq!(early, Err(EINVAL), "the module is not there");
    }
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock-loopback")?;
    let named = "f:named vsock_connectible_sendmsg $arg*";
    tops.take(&mut report, FILE, &[line, named], &["called", "fprobes"])?;
    let (own, reference) = pair(context)?;
    let instances = [&own, &reference];
    for tree in instances {
        // The workers of the module go on while the texts are read.
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        tree.set("events/called/enable", "1")?;
    }
    vsock::talk(20)?;
    let texts = instances.map(|tree| tree.get("trace"));
    let counts = texts.map(|text| -> Check<usize> {
        Ok(text?
            .lines()
            .filter(|line| line.contains(" sent: ("))
            .count())
    });
    let [own_count, wanted] = counts;
    let (own_count, wanted) = (own_count?, wanted?);
    report.expect(wanted > 20 && own_count == wanted, || {
        format!("{own_count}, tracefs {wanted}")
    });
    loaded.remove()?;
    for tree in instances {
        ensure_eq!(tree.get("events/called/sent/enable")?, "1\n", "enable");
        tree.set("events/called/enable", "0")?;
        ensure_eq!(
            tree.write("events/called/sent/enable", b"1"),
            Err(ENOENT),
            "enable"
        );
    }
    drop((own, reference));
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock-loopback")?;
    report.finish()?;
    tops.own.set("events/called/enable", "1")?;
    module::reload(context)?;
    ensure_eq!(tops.own.get(FILE)?, "", "left");
    loaded.remove()
}
