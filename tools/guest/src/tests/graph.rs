// SPDX-License-Identifier: GPL-2.0

//! The tracer `function_graph` beside that of the kernel: the same lines for the same calls, and each
//! entry has its exit.

use super::{functions, pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::kernel_modules::{Loaded, Modules};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::collections::HashSet;
use std::io::Read;

pub const TESTS: &[Test] = &[
    test("graph.formats", 30, formats),
    test("graph.lines", 240, lines),
    test("graph.pipes", 120, pipes),
    test("graph.places", 120, places),
    test("graph.words", 60, words),
    test("graph.instances", 120, instances),
    test("graph.ends", 60, ends),
    test("graph.modules", 120, modules),
    test("graph.module_inits", 120, module_inits),
    test("graph.everything", 600, everything),
];

pub(super) const FILTER: &str = "set_ftrace_filter";
const NOTRACE: &str = "set_ftrace_notrace";
pub(super) const GETPPID: &str = "__do_sys_getppid";
pub(super) const GETPGID: &str = "__x64_sys_getpgid";
/// What `getpgid` calls, as far as this kernel has it.
const INSIDE: &[&str] = &["do_getpgid", "security_task_getpgid"];

pub(super) fn getppid() {
    sys::call(110, [0; 6]);
}

pub(super) fn getpgid(pid: usize) {
    sys::call(121, [pid, 0, 0, 0, 0, 0]);
}

/// Selects all of these words.
pub(super) fn select(tree: &Tree, file: &str, words: &str) -> Check {
    for (at, word) in words.split_whitespace().enumerate() {
        let text = format!("{word}\n");
        let written = match at {
            0 => tree.write_truncating(file, text.as_bytes()),
            _ => tree.write(file, text.as_bytes()),
        };
        ensure_eq!(written, Ok(text.len()), "{} <- {word}", tree.shown(file));
    }
    Ok(())
}

/// An instance of each tree, in a kernel that can follow calls.
pub(super) fn sides(context: &Context) -> Check<(Instance, Instance)> {
    let (own, reference) = pair(context)?;
    for tree in [&own, &reference] {
        if !tree.get("available_tracers")?.contains("function_graph") {
            skip!("this kernel follows no calls");
        }
    }
    Ok((own, reference))
}

/// The functions of the tests that there are.
pub(super) fn functions(tree: &Tree) -> Check<String> {
    let text = tree.get("available_filter_functions")?;
    let there = |name: &&&str| text.lines().any(|line| line == **name);
    let names: Vec<_> = [GETPGID, GETPPID]
        .iter()
        .chain(INSIDE)
        .filter(there)
        .copied()
        .collect();
    if names.len() < 3 || names[..2] != [GETPGID, GETPPID] {
        skip!("the functions of the tests have other names: {names:?}");
    }
    Ok(names.join(" "))
}

/// The records are those of the kernel, and the tracer is in its place.
fn formats(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    for name in ["funcgraph_entry", "funcgraph_exit"] {
        let file = format!("events/ftrace/{name}/format");
        ensure_eq!(own.get(&file)?, reference.get(&file)?, "{file}");
    }
    let (found, wanted) = (
        own.get("available_tracers")?,
        reference.get("available_tracers")?,
    );
    // Those of latencies rtrace has on all kernels, and others only with PREEMPT_RT.
    let theirs: Vec<_> = wanted
        .split_whitespace()
        .filter(|name| found.contains(name))
        .collect();
    let is_theirs = |name: &&str| wanted.contains(*name) || !sys::LATENCY_TRACERS.contains(name);
    let ours: Vec<_> = found.split_whitespace().filter(is_theirs).collect();
    ensure_eq!(ours, theirs, "available_tracers");
    for tree in [&own, &reference] {
        for (word, answer) in [
            ("funcgraph-tail", Err(EINVAL)),
            ("nofuncgraph-cpu", Err(EINVAL)),
        ] {
            let found = tree.write("trace_options", word.as_bytes()).map(|_| ());
            ensure_eq!(found, answer, "{} <- {word}", tree.shown("trace_options"));
        }
        ensure_eq!(tree.get("options/funcgraph-tail")?, "0\n", "at first");
        tree.set("options/funcgraph-tail", "1")?;
        ensure_eq!(tree.get("options/funcgraph-tail")?, "1\n", "switched");
        ensure!(
            !tree.get("trace_options")?.contains("funcgraph"),
            "not while it is nop"
        );
        tree.set("options/funcgraph-tail", "0")?;
    }
    Ok(())
}

/// A line without what differs from one tracer to another: times and the state of the CPU.
fn without_times(line: &str) -> String {
    let Some((head, rest)) = line.split_once(" us ") else {
        return without_flags(line);
    };
    // The mark, the time, and blanks up to the column's end.
    let cut = head.rfind([')', '|']).map_or(0, |at| at + 1);
    let (columns, time) = head.split_at(cut);
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    let width = time.chars().count() + " us ".len() + blanks;
    format!("{}{{{width}}}{}", without_flags(columns), &rest[blanks..])
}

/// The time of `funcgraph-abstime` and the flags of `latency-format` become words.
fn without_flags(text: &str) -> String {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_time = |word: &str| {
        word.split_once('.')
            .is_some_and(|(a, b)| digits(a) && digits(b))
    };
    let plain = |word: &str| match word {
        _ if is_time(word) => "{time}".to_string(),
        _ if word.len() == 5 && functions::are_flags(word) => "{flags}".to_string(),
        _ => word.to_string(),
    };
    let is_timed = text
        .split(' ')
        .find(|word| !word.is_empty())
        .is_some_and(is_time);
    let text = if is_timed { text.trim_start() } else { text };
    text.split(' ').map(plain).collect::<Vec<_>>().join(" ")
}

pub(super) fn seen(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("# latency: 0"));
    lines.map(without_times).collect::<Vec<_>>().join("\n")
}

/// What is recorded for each row below: calls with others in them, of two tasks, and a marker.
fn work() {
    for _ in 0..3 {
        getppid();
        getpgid(0);
        getpgid(1);
    }
    let other = std::thread::spawn(|| {
        getpgid(1);
        getppid();
    });
    let _ = other.join();
    getpgid(1);
}

/// Records the same for both, under these options.
pub(super) fn record(sides: [&Instance; 2], options: &[&str], functions: &str) -> Check {
    for tree in sides {
        select(tree, FILTER, functions)?;
        tree.set("current_tracer", "function_graph")?;
        for option in options {
            tree.set("trace_options", option)?;
        }
    }
    for tree in sides {
        tree.set("trace_marker", "before\n")?;
    }
    work();
    for tree in sides {
        tree.set("tracing_on", "0")?;
    }
    Ok(())
}

pub(super) fn forget(sides: [&Instance; 2], options: &[&str]) -> Check {
    for tree in sides {
        for option in options {
            let back = match option.strip_prefix("no") {
                Some(option) => option.to_string(),
                None => format!("no{option}"),
            };
            tree.set("trace_options", &back)?;
        }
        tree.set("current_tracer", "nop")?;
        tree.set("tracing_on", "1")?;
        tree.empty(FILTER)?;
    }
    Ok(())
}

const OPTIONS: &[&[&str]] = &[
    &[],
    &["nofuncgraph-cpu"],
    &["nofuncgraph-overhead"],
    &["funcgraph-proc"],
    &["nofuncgraph-duration"],
    &["funcgraph-abstime"],
    &["funcgraph-tail"],
    &["funcgraph-overrun"],
    &["funcgraph-args"],
    &["funcgraph-args", "funcgraph-tail", "funcgraph-proc"],
    &["funcgraph-args", "nofuncgraph-duration", "sym-offset"],
    &["nofuncgraph-irqs"],
    &[
        "funcgraph-proc",
        "funcgraph-abstime",
        "funcgraph-tail",
        "latency-format",
    ],
    &["latency-format"],
    &["nocontext-info"],
    &["raw"],
    &["hex"],
    &["bin"],
    &["fields"],
    &["verbose"],
    &["sym-addr", "sym-offset"],
    &["noirq-info"],
    &["stacktrace"],
];

/// The same calls, recorded by both: the same lines under each option.
fn lines(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    sys::pin_to(0);
    let functions = functions(&own.top())?;
    let mut report = Report::default();
    let event = "events/syscalls/sys_enter_getpgid/enable";
    for (options, with_event) in OPTIONS
        .iter()
        .map(|row| (*row, false))
        .chain([(&[][..], true)])
    {
        for tree in [&own, &reference] {
            tree.set(event, if with_event { "1" } else { "0" })?;
        }
        record([&own, &reference], options, &functions)?;
        let text = own.get("trace")?;
        // ftrace counts its own disabling of preemption.
        let mut calls = text
            .lines()
            .filter(|line| !line.ends_with("*/") || line.contains('}'));
        report.expect(!calls.any(|line| line.contains("...1. |")), || {
            format!("{options:?}: {text}")
        });
        let (found, wanted) = (seen(&text), seen(&reference.get("trace")?));
        forget([&own, &reference], options)?;
        report.expect(found.starts_with("# tracer: function_graph\n"), || {
            format!("{options:?}: {found:.100}")
        });
        report.expect(found.matches("getpgid").count() >= 8, || {
            format!("{options:?}: too few lines:\n{found}")
        });
        report.expect(found == wanted, || {
            format!("{options:?}:\n{found}\ntracefs:\n{wanted}")
        });
    }
    report.finish()
}

/// Reads a pipe until it is empty, `room` bytes at a time.
pub(super) fn drain(tree: &Tree, room: usize) -> Check<String> {
    let mut pipe = tree
        .open_nonblock("trace_pipe")
        .map_err(|e| format!("{e:?}"))?;
    let (mut text, mut piece) = (Vec::new(), vec![0; room]);
    while let Ok(len @ 1..) = pipe.read(&mut piece) {
        text.extend_from_slice(&piece[..len]);
    }
    String::from_utf8(text).map_err(|e| e.to_string())
}

/// `trace_pipe` has the lines of `trace`, whatever a read has room for and however it ends; so have readers
/// that consume nothing.
fn pipes(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    sys::pin_to(0);
    let functions = functions(&own.top())?;
    let mut report = Report::default();
    for room in [65536, 4096, 100, 1] {
        record([&own, &reference], &[], &functions)?;
        let trace = own.get("trace")?;
        let lines: String = trace
            .split_inclusive('\n')
            .filter(|l| !l.starts_with('#'))
            .collect();
        own.set("options/pipe-share", "1")?;
        let shared = drain(&own, room)?;
        own.set("options/pipe-share", "0")?;
        report.expect(shared == lines, || {
            format!("{room}, shared:\n{shared}\ntrace:\n{lines}")
        });
        let piped = drain(&own, room)?;
        report.expect(piped == lines, || {
            format!("{room}:\n{piped}\ntrace:\n{lines}")
        });
        let (found, wanted) = (seen(&piped), seen(&drain(&reference, 4096)?));
        report.expect(found == wanted, || {
            format!("{room}:\n{found}\ntracefs:\n{wanted}")
        });
        forget([&own, &reference], &[])?;
    }
    // Many calls: records that belong together are in different sub-buffers.
    select(&own, FILTER, &functions)?;
    own.set("current_tracer", "function_graph")?;
    (0..2000).for_each(|_| getppid());
    own.set("tracing_on", "0")?;
    let trace = own.get("trace")?;
    let whole = format!("  {GETPPID}();\n");
    report.expect(trace.matches(&whole).count() == 2000, || {
        format!("{} leaves in trace", trace.matches(&whole).count())
    });
    let piped = drain(&own, 3000)?;
    report.expect(piped.matches(&whole).count() == 2000, || {
        format!("{} leaves in trace_pipe", piped.matches(&whole).count())
    });
    own.set("current_tracer", "nop")?;
    report.finish()
}

/// Which calls are followed: the same lines where ftrace's settings, which all instances share, are as those
/// of the instance.
fn places(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let global = reference.top();
    sys::pin_to(0);
    let functions = functions(&own.top())?;
    let inner = functions.split(' ').nth(2).unwrap_or_default().to_string();
    let mut report = Report::default();
    let rows: &[(&str, &str, &str)] = &[
        ("set_graph_function", GETPGID, ""),
        ("set_graph_function", &inner, ""),
        ("set_graph_notrace", GETPGID, ""),
        ("set_graph_notrace", &inner, ""),
        ("max_graph_depth", "1", "0"),
        ("max_graph_depth", "2", "0"),
        ("tracing_thresh", "10000000", "0"),
    ];
    for (file, setting, back) in rows {
        for tree in [&own as &Tree, &global] {
            tree.set(file, setting)?;
        }
        record([&own, &reference], &[], &functions)?;
        let (found, wanted) = (seen(&own.get("trace")?), seen(&reference.get("trace")?));
        forget([&own, &reference], &[])?;
        for tree in [&own as &Tree, &global] {
            match *back {
                "" => tree.empty(file)?,
                back => tree.set(file, back)?,
            }
        }
        report.expect(found == wanted, || {
            format!("{file} {setting}:\n{found}\ntracefs:\n{wanted}")
        });
    }
    // Each instance has its own.
    let two = Instance::new(&context.root, "rtg-two")?;
    own.set("set_graph_function", GETPGID)?;
    two.set("max_graph_depth", "1")?;
    for tree in [&own, &two] {
        select(tree, FILTER, &functions)?;
        tree.set("options/funcgraph-tail", "1")?;
        tree.set("current_tracer", "function_graph")?;
    }
    (0..10).for_each(|_| getppid());
    (0..10).for_each(|_| getpgid(1));
    // Recording is off when a root is entered: nothing of it is remembered.
    own.set("tracing_on", "0")?;
    getpgid(1);
    own.set("tracing_on", "1")?;
    (0..10).for_each(|_| getppid());
    report.expect(counted(&own, GETPPID)? == (0, 0), || {
        "calls outside of the root".into()
    });
    report.expect(counted(&own, GETPGID)? == (10, 10), || {
        "calls of the root".into()
    });
    report.expect(counted(&own, &inner)?.0 >= 10, || {
        "calls in the root".into()
    });
    report.expect(counted(&two, GETPPID)? == (20, 20), || {
        "the other instance".into()
    });
    report.expect(counted(&two, &inner)? == (0, 0), || {
        "calls that are too deep".into()
    });
    // The threshold: exits alone, of calls that take as long.
    own.clear()?;
    own.empty("set_graph_function")?;
    own.set("tracing_thresh", "20000")?;
    select(&own, FILTER, &format!("hrtimer_nanosleep {GETPPID}"))?;
    getppid();
    std::thread::sleep(std::time::Duration::from_millis(50));
    let text = own.get("trace")?;
    report.expect(text.contains("} /* hrtimer_nanosleep */\n"), || {
        format!("no long call: {text}")
    });
    report.expect(!text.contains(" {\n") && !text.contains(GETPPID), || {
        format!("short: {text}")
    });
    for tree in [&own, &two] {
        tree.set("current_tracer", "nop")?;
    }
    two.remove()?;
    report.finish()
}

/// What these files take, and what they show then.
fn words(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let (global, mut report) = (reference.top(), Report::default());
    let both = [&own as &Tree, &global];
    for file in ["set_graph_function", "set_graph_notrace"] {
        for (text, truncate) in [
            ("vfs_read\n", true),
            ("!vfs_write\n", false),
            ("nosuch\n", false),
            ("vfs_read:mod\n", false),
            ("7\n", true),
            ("vfs_wri?e\n", true),
            ("!vfs_write\n", false),
            ("\n", true),
            ("vfs_op*n\n", false),
            ("  vfs_read", false),
        ] {
            let answers = both.map(|tree| match truncate {
                true => tree.write_truncating(file, text.as_bytes()),
                false => tree.write(file, text.as_bytes()),
            });
            report.expect(answers[0] == answers[1], || {
                format!("{file} <- {text:?} {truncate}: {answers:?}")
            });
            // ftrace shows them in the order of a hash.
            let mut shown = Vec::new();
            for tree in both {
                let mut lines: Vec<_> = tree.get(file)?.lines().map(str::to_string).collect();
                lines.sort();
                shown.push(lines);
            }
            report.expect(shown[0] == shown[1], || {
                format!("{file} <- {text:?}: {shown:?}")
            });
        }
        both.iter().try_for_each(|tree| tree.empty(file))?;
    }
    for file in ["max_graph_depth", "tracing_thresh"] {
        for text in [
            "5",
            "0x10",
            "-1",
            "4294967297",
            "18446744073709551616",
            // As nanoseconds these are more than there is room for.
            "36893488147419104",
            "239807672958224171",
            "",
            "x",
            "7\n",
            "0",
        ] {
            let answers = both.map(|tree| tree.write(file, text.as_bytes()));
            report.expect(answers[0] == answers[1], || {
                format!("{file} <- {text}: {answers:?}")
            });
            let shown = [own.get(file)?, global.get(file)?];
            report.expect(shown[0] == shown[1], || {
                format!("{file} <- {text}: {shown:?}")
            });
        }
    }
    report.finish()
}

/// Entries and exits of a function in an instance.
pub(super) fn counted(tree: &Tree, function: &str) -> Check<(usize, usize)> {
    let text = tree.get("trace")?;
    let of = |end: &str| text.matches(&format!(" {function}{end}")).count();
    let leaves = of("();\n");
    Ok((leaves + of("() {\n"), leaves + of(" */\n")))
}

/// Several instances at a time: each records the calls that it selects, each entry and exit once.
fn instances(context: &Context) -> Check {
    let (one, _) = sides(context)?;
    // What this kernel calls it, which is another name where the compiler has made one a part of the other.
    let getppid_name = sys::getppid_function();
    let both = format!("{getppid_name} {GETPGID}");
    sys::pin_to(0);
    let two = Instance::new(&context.root, "rtg-two")?;
    let three = Instance::new(&context.root, "rtg-three")?;
    select(&one, FILTER, getppid_name)?;
    select(&two, FILTER, &both)?;
    select(&two, NOTRACE, getppid_name)?;
    select(&three, FILTER, "*_sys_getp*")?;
    select(&three, NOTRACE, GETPGID)?;
    let work = |calls: usize| {
        (0..calls).for_each(|_| getppid());
        (0..2 * calls).for_each(|_| getpgid(1));
    };
    let check = |label: &str, wanted: [(usize, usize); 3]| -> Check {
        for (tree, wanted) in [&one, &two, &three].into_iter().zip(wanted) {
            let wanted = ((wanted.0, wanted.0), (wanted.1, wanted.1));
            let found = (counted(tree, getppid_name)?, counted(tree, GETPGID)?);
            ensure_eq!(found, wanted, "{label}: {}", tree.shown("trace"));
            tree.clear()?;
        }
        Ok(())
    };
    for tree in [&one, &two, &three] {
        tree.set("options/funcgraph-tail", "1")?;
        tree.set("current_tracer", "function_graph")?;
    }
    work(10);
    check("all three", [(10, 0), (0, 20), (10, 0)])?;
    two.set("current_tracer", "nop")?;
    work(10);
    check("without the second", [(10, 0), (0, 0), (10, 0)])?;
    three.set("current_tracer", "function")?;
    work(10);
    ensure!(
        three.get("trace")?.contains(&format!(" {getppid_name} <-")),
        "both tracers"
    );
    three.set("current_tracer", "nop")?;
    work(10);
    check("the first alone", [(20, 0), (0, 0), (0, 0)])?;
    select(&one, FILTER, GETPGID)?;
    work(10);
    check("another filter", [(0, 20), (0, 0), (0, 0)])?;
    two.set("current_tracer", "function_graph")?;
    one.set("tracing_on", "0")?;
    work(10);
    check("the first is off", [(0, 0), (0, 20), (0, 0)])?;
    one.set("tracing_on", "1")?;
    select(&one, NOTRACE, GETPGID)?;
    work(10);
    check("nothing is left for the first", [(0, 0), (0, 20), (0, 0)])?;
    for clock in ["mono", "x86-tsc", "counter", "local"] {
        two.set("trace_clock", clock)?;
        work(10);
        check(clock, [(0, 0), (0, 20), (0, 0)])?;
    }
    // More changes than there are sets of functions.
    for round in 0..70 {
        select(
            &one,
            NOTRACE,
            if round % 2 == 0 {
                getppid_name
            } else {
                GETPGID
            },
        )?;
        select(&one, FILTER, &both)?;
        work(1);
        let wanted = if round % 2 == 0 { (0, 2) } else { (1, 0) };
        check("round", [wanted, (0, 2), (0, 0)])?;
    }
    three.remove()?;
    two.remove()
}

/// Functions that are hooked by a tracer of calls, as the kernel tells of them.
fn hooks(reference: &Instance) -> Check<Vec<String>> {
    let text = reference.top().get("enabled_functions")?;
    let ours = text.lines().filter(|line| line.contains("fprobe"));
    Ok(ours.map(str::to_string).collect())
}

/// A tracer that goes leaves nothing hooked, however it goes, and while a task sleeps in a call.
fn ends(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    select(&own, FILTER, "hrtimer_nanosleep")?;
    own.set("current_tracer", "function_graph")?;
    ensure_eq!(hooks(&reference)?.len(), 1, "hooks");
    let sleeper = std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_millis(1500)));
    let entered = || {
        own.get("trace")
            .is_ok_and(|text| text.contains("hrtimer_nanosleep() {"))
    };
    ensure!(
        sys::wait_until(std::time::Duration::from_secs(20), entered),
        "no entry"
    );
    own.set("current_tracer", "nop")?;
    ensure_eq!(hooks(&reference)?, Vec::<String>::new(), "hooks after nop");
    select(&own, FILTER, GETPPID)?;
    own.set("current_tracer", "function_graph")?;
    let _ = sleeper.join();
    getppid();
    let text = own.get("trace")?;
    ensure!(
        !text.contains("nanosleep"),
        "an exit of a set that ended: {text}"
    );
    ensure!(text.contains(&format!(" {GETPPID}();")), "no call: {text}");
    own.remove()?;
    ensure_eq!(
        hooks(&reference)?,
        Vec::<String>::new(),
        "hooks after rmdir"
    );
    Ok(())
}

/// Functions of a module go with it.
fn modules(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let modules = Modules::new()?;
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock")?;
    select(&own, FILTER, "*:mod:vsock")?;
    let functions = own.get(FILTER)?.lines().count();
    ensure!(functions > 10, "{functions} functions of vsock");
    own.set("current_tracer", "function_graph")?;
    ensure_eq!(hooks(&reference)?.len(), functions, "hooks");
    loaded.remove()?;
    ensure_eq!(
        hooks(&reference)?,
        Vec::<String>::new(),
        "hooks after the module went"
    );
    loaded.add("vsock")?;
    ensure_eq!(
        hooks(&reference)?,
        Vec::<String>::new(),
        "hooks when it came back"
    );
    select(&own, FILTER, &format!("*:mod:vsock\n{GETPPID}"))?;
    ensure_eq!(
        hooks(&reference)?.len(),
        functions + 1,
        "hooks, selected again"
    );
    loaded.remove()?;
    ensure_eq!(hooks(&reference)?.len(), 1, "hooks of the kernel's own");
    getppid();
    ensure!(
        own.get("trace")?.contains(&format!(" {GETPPID}();")),
        "no call"
    );
    own.set("current_tracer", "nop")?;
    ensure_eq!(hooks(&reference)?, Vec::<String>::new(), "hooks at last");
    Ok(())
}

/// The functions of a module's init are in no list once it is over, whatever was made of the list meanwhile.
fn module_inits(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let modules = Modules::new()?;
    let mut loaded = Loaded::new(&modules);
    // All functions but most of them: what comes with a module is hooked, and few others.
    select(&own, NOTRACE, &format!("* !{GETPPID}"))?;
    own.set("current_tracer", "function_graph")?;
    loaded.add("vsock")?;
    let list = |tree: &Tree| tree.get("available_filter_functions");
    let (found, wanted) = (list(&own.top())?, list(&reference.top())?);
    let there: HashSet<_> = wanted.lines().collect();
    let over: Vec<_> = found.lines().filter(|line| !there.contains(line)).collect();
    ensure_eq!(over, Vec::<&str>::new(), "functions that are gone");
    ensure!(found == wanted, "the lists differ");
    own.set("current_tracer", "nop")?;
    own.set("current_tracer", "function_graph")?;
    getppid();
    ensure!(
        own.get("trace")?.contains(&format!(" {GETPPID}();")),
        "no call"
    );
    loaded.remove()?;
    own.set("current_tracer", "nop")?;
    ensure_eq!(hooks(&reference)?, Vec::<String>::new(), "hooks at last");
    Ok(())
}

/// Every function of the kernel at once, in a guest with one CPU: an emulator with more may run code that
/// was changed meanwhile.
fn everything(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    if sys::online_cpus() != 1 {
        skip!("more than one CPU");
    }
    own.set("buffer_size_kb", "65536")?;
    own.set("current_tracer", "function_graph")?;
    (0..50).for_each(|_| getppid());
    own.set("tracing_on", "0")?;
    own.set("current_tracer", "function_graph")?;
    let text = own.get("trace")?;
    let found = text.matches(&format!(" {GETPPID}()")).count();
    own.set("current_tracer", "nop")?;
    let lines = text.lines().count();
    println!("{lines} lines, {found} of ours");
    ensure!(
        found >= 50 && lines > 1000,
        "{found} calls in {lines} lines"
    );
    // With a root, nothing is recorded outside of it.
    own.set("set_graph_function", GETPGID)?;
    own.set("tracing_on", "1")?;
    own.set("current_tracer", "function_graph")?;
    (0..20).for_each(|_| getpgid(1));
    own.set("tracing_on", "0")?;
    let text = own.get("trace")?;
    own.set("current_tracer", "nop")?;
    let roots = text.matches(&format!("|  {GETPGID}()")).count();
    ensure!(roots >= 20, "{roots} roots");
    let outside = |line: &&str| {
        line.contains("|  ")
            && !line.contains("|    ")
            && !line.contains(GETPGID)
            && line.ends_with(';')
    };
    let strays: Vec<_> = text.lines().filter(outside).take(5).collect();
    ensure!(strays.is_empty(), "outside of the root: {strays:?}");
    Ok(())
}
