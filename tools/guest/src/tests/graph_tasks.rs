// SPDX-License-Identifier: GPL-2.0

//! Whose calls the tracer `function_graph` records, beside those of the kernel: `set_ftrace_pid` and
//! `set_ftrace_notrace_pid`. What calls return and where they were made, which the stock kernel's tracer does not
//! record.

use super::graph::{
    forget, functions, getpgid, getppid, record, seen, select, sides, FILTER, GETPGID, GETPPID,
};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::using;
use crate::Context;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("graph.pids", 120, pids),
    test("graph.values", 60, values),
    test("graph.callers", 60, callers),
    test("graph.sleep", 60, sleep),
    test("graph.folds", 60, folds),
    test("graph.slow", 60, slow),
    test("graph.json", 60, json),
];

const ONLY: &str = "set_ftrace_pid";
/// What a read calls first, and that.
const INSIDE_READ: [&str; 2] = ["vfs_read", "rw_verify_area"];
const NEVER: &str = "set_ftrace_notrace_pid";

/// Files with lists of tasks, and what is written to each.
type Lists<'a> = &'a [(&'a str, &'a str)];

/// Sets the lists, or drops them.
fn set(tree: &Tree, lists: Lists<'_>) -> Check {
    for file in [ONLY, NEVER] {
        // What is written is added to what is there.
        tree.empty(file)?;
        if let Some((_, pid)) = lists.iter().find(|list| list.0 == file) {
            tree.set(file, pid)?;
        }
    }
    Ok(())
}

/// The same lines for the same lists, also those of children; the lists count in either order with the tracer,
/// and each instance has its own.
fn pids(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    sys::pin_to(0);
    let functions = functions(&own.top())?;
    let me = sys::thread_id().to_string();
    let mut report = Report::default();
    // Whether it records anything, the lists, and the options.
    let rows: &[(bool, Lists<'_>, &[&str])] = &[
        (true, &[(ONLY, &me)], &[]),
        (true, &[(ONLY, &me)], &["function-fork"]),
        (true, &[(ONLY, &me)], &["funcgraph-args", "funcgraph-proc"]),
        (false, &[(ONLY, "99999999")], &[]),
        // The thread of the work.
        (true, &[(NEVER, &me)], &[]),
        (false, &[(NEVER, &me)], &["function-fork"]),
        (true, &[(NEVER, "99999999")], &[]),
        (false, &[(ONLY, &me), (NEVER, &me)], &[]),
        (true, &[(ONLY, &me), (NEVER, "99999999")], &[]),
    ];
    for (any, lists, options) in rows {
        // This kernel's own tracer may lack one.
        let there = |option: &&&str| reference.exists(&format!("options/{option}"));
        let options: Vec<_> = options.iter().filter(there).copied().collect();
        for tree in [&own, &reference] {
            set(tree, lists)?;
        }
        record([&own, &reference], &options, &functions)?;
        let (found, wanted) = (seen(&own.get("trace")?), seen(&reference.get("trace")?));
        forget([&own, &reference], &options)?;
        report.expect(found.contains(GETPPID) == *any, || {
            format!("{lists:?} {options:?}: {found}")
        });
        report.expect(found == wanted, || {
            format!("{lists:?} {options:?}:\n{found}\ntracefs:\n{wanted}")
        });
    }
    set(&own, &[])?;
    set(&reference, &[])?;
    // While calls are recorded, and beside an instance that has other lists.
    let two = Instance::new(&context.root, "rtg-two")?;
    for tree in [&own, &two] {
        select(tree, FILTER, GETPPID)?;
        tree.set("current_tracer", "function_graph")?;
    }
    set(&two, &[(NEVER, &me)])?;
    let steps: &[(Lists<'_>, usize)] = &[
        (&[], 5),
        (&[(ONLY, "99999999")], 0),
        (&[(ONLY, &me)], 5),
        (&[(NEVER, &me)], 0),
        (&[], 5),
    ];
    for (lists, wanted) in steps {
        set(&own, lists)?;
        own.clear()?;
        (0..5).for_each(|_| getppid());
        let leaf = format!("  {GETPPID}();\n");
        let text = own.get("trace")?;
        report.expect(text.matches(&leaf).count() == *wanted, || {
            format!("{lists:?}, not {wanted}:\n{text}")
        });
        let other = two.get("trace")?;
        report.expect(!other.contains(GETPPID), || {
            format!("{lists:?}: the other instance:\n{other}")
        });
    }
    // The other tracer obeys the lists that were set meanwhile.
    set(&own, &[(NEVER, &me)])?;
    own.set("current_tracer", "function")?;
    getppid();
    let text = own.get("trace")?;
    report.expect(!text.contains(GETPPID), || text.clone());
    two.remove()?;
    report.finish()
}

/// What calls return: numbers and errors, of leaves and of others, with other options and without.
fn values(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    sys::pin_to(0);
    let functions = functions(&own.top())?;
    let mut report = Report::default();
    let parent = std::os::unix::process::parent_id();
    // The options, the functions, and what is in the text.
    let number = format!("{GETPPID}(); /* ret={parent:#x} */\n");
    let error = format!("{GETPGID}(); /* ret=-3 */\n");
    let nested = match functions.contains("do_getpgid") {
        true => format!("}} /* {GETPGID} ret=-3 */\n"),
        false => error.clone(),
    };
    let hex = "ret=0xfffffffffffffffd */\n".to_string();
    let outer = format!("{GETPPID} {GETPGID}");
    let rows: &[(&[&str], &str, &[&String])] = &[
        (&["funcgraph-retval"], &outer, &[&number, &error]),
        (&["funcgraph-retval"], &functions, &[&number, &nested]),
        (
            &["funcgraph-retval", "funcgraph-tail"],
            &functions,
            &[&nested],
        ),
        (&["funcgraph-retval", "funcgraph-proc"], &outer, &[&error]),
        (
            &["funcgraph-retval", "funcgraph-retval-hex"],
            &functions,
            &[&number, &hex],
        ),
    ];
    let calls = || {
        getppid();
        getpgid(0x7fff_fffe);
    };
    let run = |options: &[&str], functions: &str, switch: &str| -> Check<String> {
        select(&own, FILTER, functions)?;
        own.set("current_tracer", "function_graph")?;
        for option in options {
            own.set(&format!("options/{option}"), "1")?;
        }
        calls();
        own.set("tracing_on", "0")?;
        if !switch.is_empty() {
            own.set(&format!("options/{switch}"), "0")?;
        }
        let text = own.get("trace")?;
        for option in options {
            own.set(&format!("options/{option}"), "0")?;
        }
        own.set("current_tracer", "nop")?;
        own.set("tracing_on", "1")?;
        Ok(text)
    };
    for (options, functions, wanted) in rows {
        let text = run(options, functions, "")?;
        for line in *wanted {
            report.expect(text.contains(*line), || {
                format!("{options:?}: no {line}{text}")
            });
        }
    }
    // With arguments as well, whose names this kernel may not know.
    let text = run(&["funcgraph-retval", "funcgraph-args"], &outer, "")?;
    report.expect(text.contains("); /* ret=-3 */\n"), || text.clone());
    // The values are recorded, and not shown without the option.
    let text = run(&["funcgraph-retval"], &outer, "funcgraph-retval")?;
    report.expect(text.contains(GETPGID) && !text.contains("ret="), || {
        text.clone()
    });
    // Only calls that fail, as deep as they are.
    let failed = |functions: &str| -> Check<Vec<String>> {
        let text = run(&["funcgraph-errors"], functions, "")?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let lines = lines.filter_map(|line| line.split_once("|  "));
        Ok(lines.map(|(_, call)| call.to_string()).collect())
    };
    let outermost = format!("}} /* {GETPGID} ret=-3 */");
    let found = failed(&outer)?;
    report.expect(found == [outermost.as_str()], || format!("{found:?}"));
    let found = failed(&functions)?;
    let wanted: Vec<_> = ["  } /* do_getpgid ret=-3 */", outermost.as_str()]
        .into_iter()
        .filter(|line| line.starts_with('}') || functions.contains("do_getpgid"))
        .collect();
    report.expect(found == wanted, || format!("{found:?}"));
    // Calls that take long.
    own.set("tracing_thresh", "20000")?;
    own.set("options/funcgraph-retval", "1")?;
    select(&own, FILTER, &format!("hrtimer_nanosleep {GETPPID}"))?;
    own.set("current_tracer", "function_graph")?;
    getppid();
    std::thread::sleep(std::time::Duration::from_millis(50));
    let text = own.get("trace")?;
    own.set("current_tracer", "nop")?;
    own.set("options/funcgraph-retval", "0")?;
    report.expect(
        text.contains("} /* hrtimer_nanosleep ret=0x0 */\n") && !text.contains(GETPPID),
        || text.clone(),
    );
    report.finish()
}

/// Where calls were made: as `function` says it, of leaves and of others, with arguments and values.
fn callers(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    sys::pin_to(0);
    let functions = functions(&own.top())?;
    let mut report = Report::default();
    let file = "events/ftrace/fgraph_retaddr_entry/format";
    // A kernel that has the option has the format, too.
    if let Ok(format) = reference.get(file) {
        ensure_eq!(own.get(file)?, format, "{file}");
    }
    let calls = || {
        getppid();
        getpgid(0);
    };
    let traced = |tracer: &str, options: &[&str]| -> Check<String> {
        select(&own, FILTER, &functions)?;
        own.set("current_tracer", tracer)?;
        for option in options {
            own.set(&format!("options/{option}"), "1")?;
        }
        calls();
        let text = own.get("trace")?;
        for option in options {
            own.set(&format!("options/{option}"), "0")?;
        }
        own.set("current_tracer", "nop")?;
        Ok(text)
    };
    let flat = traced("function", &["sym-offset"])?;
    let place = |function: &str| -> Check<String> {
        let start = format!(" {function}+");
        let line = flat.lines().find(|line| line.contains(&start));
        let place = line.and_then(|line| line.split_once(" <-"));
        match place {
            Some((_, place)) => Ok(format!("<-{place}")),
            None => fail!("no call of {function}: {flat}"),
        }
    };
    let (ppid, pgid) = (place(GETPPID)?, place(GETPGID)?);
    let leaf = |comment: &str| format!(" {GETPPID}(); /* {comment} */\n");
    let is_nested = functions.contains("do_getpgid");
    let outer = match is_nested {
        true => format!(" {GETPGID}() {{ /* {pgid} */\n"),
        false => format!(" {GETPGID}(); /* {pgid} */\n"),
    };
    let parent = std::os::unix::process::parent_id();
    let rows: &[(&[&str], Vec<String>)] = &[
        (&["funcgraph-retaddr"], vec![leaf(&ppid), outer]),
        (
            &["funcgraph-retaddr", "funcgraph-retval"],
            vec![leaf(&format!("{ppid} ret={parent:#x}"))],
        ),
        (
            &["funcgraph-retaddr", "funcgraph-args", "funcgraph-proc"],
            vec![format!("/* {ppid} */\n"), format!("/* {pgid} */\n")],
        ),
    ];
    for (options, wanted) in rows {
        let text = traced("function_graph", options)?;
        for line in wanted {
            report.expect(text.contains(line), || {
                format!("{options:?}: no {line}{text}")
            });
        }
    }
    // With a threshold there are exits alone.
    own.set("tracing_thresh", "1")?;
    let text = traced("function_graph", &["funcgraph-retaddr"])?;
    own.set("tracing_thresh", "0")?;
    report.expect(!text.contains("<-"), || text.clone());
    report.finish()
}

const SLEEP: &str = "hrtimer_nanosleep";

/// The durations of calls of [`SLEEP`] in a trace, in microseconds.
fn sleeps(tree: &Tree) -> Check<Vec<f64>> {
    let text = tree.get("trace")?;
    let ends = [format!(" {SLEEP}();"), format!("}} /* {SLEEP} */")];
    let of_sleep = |line: &&str| ends.iter().any(|end| line.ends_with(end.as_str()));
    let mut found = Vec::new();
    for line in text.lines().filter(of_sleep) {
        let words = line.split(" us ").next().unwrap_or_default();
        let time = words.rsplit(' ').next().map(str::parse);
        match time {
            Some(Ok(time)) => found.push(time),
            _ => fail!("no time: {line}"),
        }
    }
    Ok(found)
}

/// Time asleep counts or does not: in this instance, as in ftrace, whatever another one counts.
fn sleep(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let two = Instance::new(&context.root, "rtg-two")?;
    let me = sys::thread_id().to_string();
    let trees: &[&Tree] = match reference.exists("options/sleep-time") {
        true => &[&own, &two, &reference],
        false => &[&own, &two],
    };
    for tree in trees {
        ensure_eq!(tree.get("options/sleep-time")?, "1\n", "at first");
        ensure!(
            !tree.get("trace_options")?.contains("sleep-time"),
            "not while it is nop"
        );
        select(tree, FILTER, SLEEP)?;
        tree.set(ONLY, &me)?;
        tree.set("options/funcgraph-tail", "1")?;
        tree.set("current_tracer", "function_graph")?;
    }
    let nap = || std::thread::sleep(std::time::Duration::from_secs(1));
    let mut report = Report::default();
    // What the other one counts, and whether the tracer is chosen with the option or before it.
    for (round, switch) in ["0", "0", "1", "0"].into_iter().enumerate() {
        for tree in trees {
            if round == 1 {
                tree.set("current_tracer", "nop")?;
            }
            if tree.shown("") != two.shown("") {
                tree.set("options/sleep-time", switch)?;
            }
            if round == 1 {
                tree.set("current_tracer", "function_graph")?;
            }
            tree.clear()?;
        }
        nap();
        for tree in trees {
            let counts = switch == "1" || tree.shown("") == two.shown("");
            let found = sleeps(tree)?;
            // Awake it is for a moment only, however slow the machine.
            let is_right = |us: &f64| (*us >= 1_000_000.0) == counts && (counts || *us < 900_000.0);
            report.expect(found.len() == 1 && found.iter().all(is_right), || {
                format!("{switch}, round {round}: {found:?} {}", tree.shown("trace"))
            });
        }
    }
    // One that slept for long was not long.
    own.set("tracing_thresh", "900000")?;
    own.clear()?;
    nap();
    report.expect(sleeps(&own)?.is_empty(), || "a threshold".into());
    own.set("options/sleep-time", "1")?;
    nap();
    report.expect(sleeps(&own)?.len() == 1, || "no threshold".into());
    for tree in trees {
        tree.set("current_tracer", "nop")?;
        tree.set("options/sleep-time", "1")?;
    }
    two.remove()?;
    report.finish()
}

/// Functions, or ways to them, with nanoseconds.
type Ways = Vec<(String, u64)>;

/// The lines of `trace_folded` that the lines of `trace` amount to, of one task on one CPU, in nanoseconds; and
/// whether they have all digits.
fn folded_of(trace: &str, comm: &str) -> Check<(Ways, bool)> {
    let mut own: Ways = Vec::new();
    let mut open: Ways = Vec::new();
    let mut is_exact = true;
    let calls = trace.lines().filter(|line| !line.starts_with('#'));
    for line in calls {
        let Some((head, call)) = line.split_once("|  ") else {
            fail!("no call: {line}");
        };
        let time = head.split_once(" us").and_then(|(head, _)| {
            let number = head.rsplit(' ').next()?;
            let (whole, rest) = number.split_once('.').unwrap_or((number, ""));
            is_exact &= rest.len() == 3;
            format!("{whole}{rest:0<3}").parse::<u64>().ok()
        });
        if let Some(name) = call.trim().strip_suffix("() {") {
            open.push((name.to_string(), 0));
            continue;
        }
        let Some(time) = time else {
            fail!("no time: {line}");
        };
        let (name, below) = match call.trim().strip_suffix("();") {
            Some(leaf) => (leaf.to_string(), 0),
            None => match open.pop() {
                Some(call) => call,
                None => fail!("an end alone: {line}"),
            },
        };
        let above = open.iter().map(|(name, _)| name.as_str());
        let way: Vec<_> = [comm]
            .into_iter()
            .chain(above)
            .chain([name.as_str()])
            .collect();
        let way = way.join(";");
        let time_of_own = time - below;
        match own.iter_mut().find(|(known, _)| *known == way) {
            Some((_, sum)) => *sum += time_of_own,
            None => own.push((way, time_of_own)),
        }
        if let Some((_, below)) = open.last_mut() {
            *below += time;
        }
    }
    own.retain(|(_, time)| *time != 0);
    own.sort();
    Ok((own, is_exact))
}

/// Reads `trace_folded`.
fn folded(tree: &Tree) -> Check<Ways> {
    let text = tree.get("trace_folded")?;
    let mut lines = Vec::new();
    for line in text.lines() {
        match line.rsplit_once(' ').map(|(way, time)| (way, time.parse())) {
            Some((way, Ok(time))) => lines.push((way.to_string(), time)),
            _ => fail!("{line:?}"),
        }
    }
    lines.sort();
    Ok(lines)
}

/// Calls by what led to them: `trace_folded` has the times of the lines in `trace`, and consumes nothing.
fn folds(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    if !own.exists("trace_folded") {
        skip!("a file of rtracefs");
    }
    sys::pin_to(0);
    let functions = functions(&own.top())?;
    let comm = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
    let comm = comm.trim_end().replace([';', ' '], "_");
    let mut report = Report::default();
    own.set(ONLY, &sys::thread_id().to_string())?;
    ensure_eq!(folded(&own)?, Vec::new(), "before");
    select(&own, FILTER, &functions)?;
    own.set("current_tracer", "function_graph")?;
    for round in 0..100 {
        getppid();
        getpgid(round % 2);
    }
    own.set("tracing_on", "0")?;
    let (wanted, is_exact) = folded_of(&own.get("trace")?, &comm)?;
    for _ in 0..2 {
        let found = folded(&own)?;
        let is_time = |(a, b): (&(String, u64), &(String, u64))| {
            a.0 == b.0 && (a.1 == b.1 || !is_exact && a.1.abs_diff(b.1) < 1_000_000)
        };
        let is_same = found.len() == wanted.len() && found.iter().zip(&wanted).all(is_time);
        report.expect(is_same, || format!("{found:?}, trace: {wanted:?}"));
    }
    println!("{}", own.get("trace_folded")?.trim_end());
    report.expect(
        wanted.len() >= 2 && wanted.iter().any(|(way, _)| way.ends_with(GETPGID)),
        || format!("{wanted:?}"),
    );
    // It ends although calls come as fast as they can. Less is added up than the whole buffer has room for: a kernel
    // with checks takes long.
    set(&own, &[])?;
    let size = own.get("buffer_size_kb")?;
    own.set("buffer_size_kb", "64")?;
    own.set("tracing_on", "1")?;
    let over = AtomicBool::new(false);
    let beside = std::thread::scope(|scope| {
        scope.spawn(|| {
            sys::pin_to(1);
            while !over.load(Relaxed) {
                getppid();
            }
        });
        let texts = (0..3).map(|_| folded(&own)).collect::<Check<Vec<_>>>();
        over.store(true, Relaxed);
        texts
    })?;
    report.expect(beside.iter().any(|ways| !ways.is_empty()), || {
        format!("{beside:?}")
    });
    own.set("tracing_on", "0")?;
    let size = size.split(' ').next().unwrap_or(&size).trim();
    own.set("buffer_size_kb", size)?;
    // Calls in one that has not returned are taken off when it does.
    blocked(&own, &mut report)?;
    select(&own, FILTER, &functions)?;
    set(&own, &[(ONLY, &sys::thread_id().to_string())])?;
    // Ends alone are below the task.
    own.clear()?;
    own.set("tracing_thresh", "1")?;
    own.set("tracing_on", "1")?;
    (0..100).for_each(|_| getpgid(0));
    own.set("tracing_on", "0")?;
    own.set("tracing_thresh", "0")?;
    let found = folded(&own)?;
    let is_flat = |(way, _): &(String, u64)| way.matches(';').count() == 1;
    report.expect(found.iter().all(is_flat), || format!("{found:?}"));
    own.clear()?;
    report.expect(own.get("trace_folded")?.is_empty(), || "emptied".into());
    own.set("current_tracer", "nop")?;
    own.set("tracing_on", "1")?;
    report.finish()
}

/// A task that is in a call: the time of what was called there is not taken off an earlier call.
fn blocked(own: &Instance, report: &mut Report) -> Check {
    let all = own.top().get("available_filter_functions")?;
    if !INSIDE_READ
        .iter()
        .all(|name| all.lines().any(|line| line == *name))
    {
        println!("reads are made of other functions here");
        return Ok(());
    }
    own.clear()?;
    select(own, FILTER, &INSIDE_READ.join(" "))?;
    let (mut out, mut into) = sys::pipe().map_err(|e| format!("pipe: {e}"))?;
    into.write_all(b"1").map_err(|e| e.to_string())?;
    let (tell, heard) = mpsc::channel();
    let (go, gone) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut byte = [0];
        let _ = tell.send(sys::thread_id());
        let _ = gone.recv();
        // The second one waits.
        (0..2).all(|_| out.read(&mut byte).is_ok())
    });
    let task = heard.recv().map_err(|e| e.to_string())?;
    set(own, &[(ONLY, &task.to_string())])?;
    own.set("tracing_on", "1")?;
    go.send(()).map_err(|e| e.to_string())?;
    let inside = format!("{}();", INSIDE_READ[1]);
    let in_both = || {
        own.get("trace")
            .is_ok_and(|text| text.matches(&inside).count() == 2)
    };
    sys::wait_until(Duration::from_secs(2), in_both);
    own.set("tracing_on", "0")?;
    let comm = std::fs::read_to_string(format!("/proc/self/task/{task}/comm")).unwrap_or_default();
    let (trace, found) = (own.get("trace")?, folded(own)?);
    into.write_all(b"2").map_err(|e| e.to_string())?;
    report.expect(reader.join().is_ok_and(|read| read), || {
        "it cannot read".into()
    });
    let comm = comm.trim_end().replace([';', ' '], "_");
    let (wanted, is_exact) = folded_of(&trace, &comm)?;
    // The compiler may have made the one a part of the other.
    if wanted.len() != 2 {
        println!("reads call nothing that is seen here: {trace}");
    }
    report.expect(found == wanted || !is_exact, || {
        format!("{found:?}, trace: {wanted:?}")
    });
    Ok(())
}

/// Calls as JSON: names of functions, and times from which durations follow.
fn json(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    if !own.exists("trace_pipe_json") {
        skip!("a file of rtracefs");
    }
    own.set(ONLY, &sys::thread_id().to_string())?;
    select(&own, FILTER, GETPPID)?;
    own.set("current_tracer", "function_graph")?;
    (0..3).for_each(|_| getppid());
    own.set("tracing_on", "0")?;
    let text = own.get("trace_pipe_json")?;
    let mut report = Report::default();
    for (event, fields) in [
        ("funcgraph_entry", &["\"depth\":"][..]),
        (
            "funcgraph_exit",
            &["\"overrun\":", "\"calltime\":", "\"rettime\":"],
        ),
    ] {
        let head = format!("\"event\":\"{event}\",\"fields\":{{\"func\":\"{GETPPID}");
        let lines: Vec<_> = text.lines().filter(|line| line.contains(&head)).collect();
        let has_all = |line: &&str| fields.iter().all(|field| line.contains(field));
        report.expect(lines.len() == 3 && lines.iter().all(has_all), || {
            format!("{event}: {text}")
        });
    }
    println!("{}", text.trim_end());
    own.set("current_tracer", "nop")?;
    own.set("tracing_on", "1")?;
    report.finish()
}

/// What led to a call is recorded at its end: of those that are slow, and of all. The search for it makes no calls.
fn slow(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    let text = using::run("graph.slow", &own)?;
    print!("{text}");
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let end = lines
        .iter()
        .position(|line| line.ends_with("} /* hrtimer_nanosleep */"));
    let end = end.ok_or(format!("no slow call: {text}"))?;
    let stack: Vec<_> = lines[end + 1..]
        .iter()
        .skip_while(|line| !line.contains("<stack trace>"))
        .skip(1)
        .take_while(|line| line.starts_with(" =>"))
        .collect();
    // The second calls the first, or is one with it.
    let callers = [" => common_nsleep", " => __x64_sys_clock_nanosleep"];
    ensure!(
        stack.first().is_some_and(|line| callers.contains(*line)),
        "{text}"
    );
    ensure!(
        stack.iter().any(|line| line.contains("do_syscall_64")),
        "{text}"
    );

    own.set("current_tracer", "nop")?;
    own.set("tracing_thresh", "0")?;
    if sys::checks_memory() {
        // There the callers of each allocation are looked for, too.
        return own.remove();
    }
    let callees = "stack_trace_save arch_stack_walk unwind_next_frame __unwind_start";
    let there = own.top().get("available_filter_functions")?;
    let callees: Vec<_> = callees
        .split(' ')
        .filter(|name| there.lines().any(|line| line == *name))
        .collect();
    ensure!(callees.len() > 1, "none of them can be traced");
    let getppid_name = sys::getppid_function();
    select(
        &own,
        FILTER,
        &format!("{getppid_name} {}", callees.join(" ")),
    )?;
    own.set("set_ftrace_pid", &sys::thread_id().to_string())?;
    sys::pin_to(0);
    for retval in ["0", "1"] {
        own.set("options/funcgraph-retval", retval)?;
        own.set("current_tracer", "function_graph")?;
        (0..3).for_each(|_| getppid());
        own.set("tracing_on", "0")?;
        let text = own.get("trace")?;
        own.set("current_tracer", "nop")?;
        own.set("tracing_on", "1")?;
        let calls: Vec<_> = text
            .lines()
            .filter(|line| line.contains("();") || line.contains("() {"))
            .skip_while(|line| !line.contains(getppid_name))
            .take(3)
            .collect();
        ensure!(
            calls.len() == 3 && calls.iter().all(|line| line.contains(getppid_name)),
            "{text}"
        );
        let stacks = text.matches("<stack trace>\n => ").count();
        ensure!(stacks >= 3, "{text}");
    }
    own.remove()
}
