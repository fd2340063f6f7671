// SPDX-License-Identifier: GPL-2.0

//! The options of the tracer `function` and its lists of tasks, beside the kernel's tracer: the same answers,
//! and the same lines for the same calls. The two record one after the other: where both trace a function,
//! the kernel calls them by a list, which is in the stacks.

use super::functions::{getpgid_of, getppid, select, sides, FILTER, GETPGID, GETPPID};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::faults::Faults;
use crate::kernel_modules::{Loaded, Modules};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::using;
use crate::Context;
use std::io::Write;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("functions.options", 120, options),
    test("functions.stacks", 120, stacks),
    test("functions.repeats", 120, repeats),
    test("functions.arguments", 120, arguments),
    test("functions.module_arguments", 120, module_arguments),
    test("functions.pids", 120, pids),
    test("functions.forks", 60, forks),
    test("functions.once", 60, once),
    test("functions.once_in_use", 60, once_in_use),
];

pub const FAULTS: &[Test] = &[test("faults.functions", 240, leaves)];

const STACK: &str = "func_stack_trace";
const NO_REPEATS: &str = "func-no-repeats";
const ONCE: &str = "func-once";
const ARGS: &str = "func-args";
const OPTIONS: [&str; 3] = [STACK, NO_REPEATS, ARGS];
const ONLY: &str = "set_ftrace_pid";
const NEVER: &str = "set_ftrace_notrace_pid";

fn flag(on: bool) -> &'static str {
    match on {
        true => "1",
        false => "0",
    }
}

/// Each set of options, at the start of the tracer and while it runs: the same answers and the same state.
fn options(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let mut report = Report::default();
    // The configuration of the kernel may leave one out.
    let has = |option: &&str| reference.exists(&format!("options/{option}"));
    let options: Vec<_> = OPTIONS.into_iter().filter(has).collect();
    let look = |tree: &Tree| -> Check<String> {
        let mut text = format!("{:?}\n", tree.get("current_tracer")?);
        for option in &options {
            text += &format!("{option} {:?}\n", tree.get(&format!("options/{option}"))?);
        }
        let listed = tree.get("trace_options")?;
        // They are those of the tracer `nop`.
        text += &format!("{}\n", listed.contains("test_nop_accept"));
        let ours = |line: &&str| options.iter().any(|option| line.ends_with(option));
        Ok(text + &listed.lines().filter(ours).collect::<Vec<_>>().join(" "))
    };
    let mut compare = |label: &str, act: &dyn Fn(&Tree) -> String| -> Check {
        let found = (act(&own), look(&own)?);
        let wanted = (act(&reference), look(&reference)?);
        report.expect(found == wanted, || {
            format!("{label}: {found:?}, tracefs {wanted:?}")
        });
        Ok(())
    };
    for tree in [&own, &reference] {
        select(tree, FILTER, *GETPPID)?;
    }
    compare("at first", &|_| String::new())?;
    for option in &options {
        compare(option, &|tree| {
            format!("{:?}", tree.write("trace_options", option.as_bytes()))
        })?;
    }
    for set in 0..8 {
        let has = |at: usize| set >> at & 1 != 0;
        for (at, option) in options.iter().enumerate() {
            compare(&format!("{option} {}", has(at)), &|tree| {
                let file = format!("options/{option}");
                format!("{:?}", tree.write(&file, flag(has(at)).as_bytes()))
            })?;
        }
        compare(&format!("start with {set}"), &|tree| {
            format!("{:?}", tree.write("current_tracer", b"function"))
        })?;
        compare("an option of nop", &|tree| {
            format!("{:?}", tree.write("trace_options", b"notest_nop_accept"))
        })?;
        for option in &options {
            for word in [option.to_string(), format!("no{option}")] {
                compare(&format!("{word} after {set}"), &|tree| {
                    format!("{:?}", tree.write("trace_options", word.as_bytes()))
                })?;
            }
        }
        compare("end", &|tree| {
            format!("{:?}", tree.write("current_tracer", b"nop"))
        })?;
    }
    for option in &options {
        own.set(&format!("options/{option}"), "1")?;
    }
    let new = Instance::new(&context.root, "rtg-new")?;
    for option in &options {
        let value = new.get(&format!("options/{option}"))?;
        report.expect(value == "0\n", || format!("{option} is inherited"));
    }
    new.remove()?;
    report.finish()
}

/// The texts of this task's records, without what is before them, and the callers that follow.
fn texts(tree: &Tree) -> Check<Vec<String>> {
    let (task, text) = (format!("-{} ", sys::thread_id()), tree.get("trace")?);
    let mut found = Vec::new();
    let mut ours = false;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with(" => ") {
            found.extend(ours.then(|| line.to_string()));
            continue;
        }
        ours = line.contains(&task);
        let text = line.split_once(": ").map_or("", |(_, text)| text);
        // The time of the last repeat differs.
        let text = text.split(", last_ts:").next().unwrap_or("");
        found.extend(ours.then(|| text.to_string()));
    }
    Ok(found)
}

/// What `tree` records of `work` with `option` and these functions.
fn recorded(tree: &Tree, option: &str, words: &str, work: &dyn Fn()) -> Check<Vec<String>> {
    // One write is one word.
    tree.empty(FILTER)?;
    for word in words.split(' ') {
        tree.set(FILTER, word)?;
    }
    tree.set(&format!("options/{option}"), "1")?;
    tree.set("current_tracer", "function")?;
    work();
    tree.set("tracing_on", "0")?;
    let texts = texts(tree);
    tree.set("current_tracer", "nop")?;
    tree.set("tracing_on", "1")?;
    tree.set(&format!("options/{option}"), "0")?;
    texts
}

/// Functions with those that led to them.
fn stacks(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    sys::pin_to(0);
    let work = || (0..3).for_each(|_| getppid());
    let found = recorded(&own, STACK, *GETPPID, &work)?;
    let wanted = recorded(&reference, STACK, *GETPPID, &work)?;
    ensure_eq!(found, wanted, "stacks");
    let functions = found.iter().filter(|line| line.starts_with(*GETPPID));
    ensure_eq!(functions.count(), 3, "{found:?}");
    let begin = ["<stack trace>", " => [FTRACE TRAMPOLINE]"];
    ensure_eq!(&found[1..3], &begin[..], "the beginning of a stack");
    // What the walk of the stack calls is not recorded, and does not begin another walk.
    let callees = "stack_trace_save arch_stack_walk unwind_next_frame __unwind_start";
    let text = own.top().get("available_filter_functions")?;
    let callees: Vec<_> = callees
        .split(' ')
        .filter(|name| text.lines().any(|line| line == *name))
        .collect();
    ensure!(callees.len() > 1, "none of them can be traced");
    let words = format!("{} {}", *GETPPID, callees.join(" "));
    let found = recorded(&own, STACK, &words, &work)?;
    // Others walk stacks, too, while files are opened: KFENCE does for the allocations that it guards.
    let functions = found.iter().filter(|line| line.contains(" <-"));
    let is_other = |line: &&String| !line.starts_with(*GETPPID);
    let calls: Vec<_> = functions.skip_while(is_other).take(3).collect();
    ensure!(
        calls.len() == 3 && !calls.iter().any(is_other),
        "functions from the first call on: {calls:?}"
    );
    Ok(())
}

/// The sum of the repeats in `texts` of `function`, and its own records.
fn calls(texts: &[String], function: &str) -> (u64, u64) {
    let of = texts.iter().filter(|text| text.starts_with(function));
    of.fold((0, 0), |(repeats, records), text| {
        match text.split_once("(repeats: ") {
            Some((_, number)) => (repeats + number.parse::<u64>().unwrap_or(0), records),
            None => (repeats, records + 1),
        }
    })
}

/// Repeats are a number: that of the kernel, and every call is in it.
fn repeats(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    sys::pin_to(0);
    let both = format!("{} {GETPGID}", *GETPPID);
    // The kernel's tracer remembers the last call of its last run.
    let work = || {
        getpgid_of(0);
        (0..20).for_each(|_| getppid());
        getpgid_of(0);
        (0..2).for_each(|_| getppid());
        getpgid_of(0);
        getpgid_of(0);
        getppid();
    };
    let found = recorded(&own, NO_REPEATS, &both, &work)?;
    let wanted = recorded(&reference, NO_REPEATS, &both, &work)?;
    ensure_eq!(found, wanted, "repeats");
    ensure!(
        found.iter().any(|text| text.ends_with("(repeats: 19")),
        "{found:?}"
    );
    // With stacks as well: only what is recorded has one.
    for tree in [&own, &reference] {
        tree.set(&format!("options/{STACK}"), "1")?;
    }
    let found = recorded(&own, NO_REPEATS, &both, &work)?;
    let wanted = recorded(&reference, NO_REPEATS, &both, &work)?;
    ensure_eq!(found, wanted, "repeats with stacks");
    own.set(&format!("options/{STACK}"), "0")?;
    // More than one record counts, and what no other call has ended yet is there for a reader.
    let many = recorded(&own, NO_REPEATS, *GETPPID, &|| {
        (0..70_000).for_each(|_| getppid());
    })?;
    ensure_eq!(calls(&many, *GETPPID), (69_998, 2), "{many:?}");
    // Each reader sees the calls until then.
    select(&own, FILTER, *GETPPID)?;
    own.set(&format!("options/{NO_REPEATS}"), "1")?;
    own.set("current_tracer", "function")?;
    for reads in 1..4 {
        (0..10).for_each(|_| getppid());
        let (repeats, records) = calls(&texts(&own)?, *GETPPID);
        ensure_eq!(repeats + records, 10 * reads, "calls at reader {reads}");
    }
    // A CPU that goes idle records them: no reader is there, and no other call.
    own.clear()?;
    (0..10).for_each(|_| getppid());
    let recorded = || own.number("per_cpu/cpu0/stats", "entries");
    let mut waited = 0;
    while recorded()? == 0 && waited < 1000 {
        std::thread::sleep(Duration::from_millis(10));
        waited += 1;
    }
    ensure_eq!(recorded()?, 1, "records of an idle CPU");
    ensure_eq!(
        calls(&texts(&own)?, *GETPPID),
        (10, 0),
        "calls of an idle CPU"
    );
    own.clear()?;
    (0..30).for_each(|_| getppid());
    // So does one that changes the option, and the time is one of a call.
    (0..10).for_each(|_| getppid());
    own.set(&format!("options/{NO_REPEATS}"), "0")?;
    getppid();
    let (repeats, records) = calls(&texts(&own)?, *GETPPID);
    ensure_eq!(repeats + records, 41, "calls when the option went");
    let text = own.get("trace")?;
    let mut last = 0.0;
    for line in text.lines().filter(|line| line.contains(" <-")) {
        let number = |text: &str| -> Check<f64> {
            let text = text.trim().trim_end_matches(&[')', ':'][..]);
            text.parse().map_err(|e| format!("{line}: {e}"))
        };
        let words = line.split(": ").next().unwrap_or("");
        let stamp = number(words.rsplit(' ').next().unwrap_or(""))?;
        if let Some((_, time)) = line.split_once("last_ts:") {
            let time = number(time)?;
            ensure!(last <= time && time <= stamp, "{line} after {last}");
        }
        last = stamp;
    }
    Ok(())
}

/// Functions with their arguments: names, and values by their type.
fn arguments(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    if !reference.exists(&format!("options/{ARGS}")) {
        skip!("this kernel's own tracer records no arguments");
    }
    sys::pin_to(0);
    let text = own.top().get("available_filter_functions")?;
    let candidates = [
        *GETPPID,
        GETPGID,
        "find_task_by_vpid",
        "__task_pid_nr_ns",
        "ksys_lseek",
    ];
    let there: Vec<_> = candidates
        .into_iter()
        .filter(|name| text.lines().any(|line| line == *name))
        .collect();
    let me = sys::thread_id() as usize;
    let work = || {
        getppid();
        getpgid_of(me);
        getpgid_of(0x7fff_fffe);
    };
    let found = recorded(&own, ARGS, &there.join(" "), &work)?;
    let wanted = recorded(&reference, ARGS, &there.join(" "), &work)?;
    println!("{found:#?}");
    ensure_eq!(found, wanted, "arguments of {there:?}");
    ensure!(
        found
            .iter()
            .any(|text| text.contains(", type=1 [PIDTYPE_TGID], ")),
        "{found:?}"
    );
    ensure!(
        found
            .iter()
            .any(|text| text.starts_with(&format!("{GETPGID}(regs=0x"))),
        "{found:?}"
    );
    // A negative number is one, whatever is in the upper half of the register.
    let found = recorded(&own, ARGS, "find_task_by_vpid", &|| getpgid_of(0xffff_ffff))?;
    ensure!(
        found.iter().all(|text| text.contains("(vnr=-1)")),
        "{found:?}"
    );
    Ok(())
}

/// A call without the values of its arguments.
fn without_values(text: &str) -> String {
    let mut found = String::new();
    for (at, piece) in text.split('=').enumerate() {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
        found.push_str(if at == 0 { piece } else { rest });
        found.push('=');
    }
    found
}

/// Functions of a module, by its own BTF.
fn module_arguments(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    if !reference.exists(&format!("options/{ARGS}")) {
        skip!("this kernel's own tracer records no arguments");
    }
    let modules = Modules::new()?;
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock")?;
    if !std::path::Path::new("/sys/kernel/btf/vsock").exists() {
        skip!("the module has no BTF");
    }
    let text = own.top().get("available_filter_functions")?;
    let there: Vec<_> = ["vsock_create", "vsock_release", "__vsock_create"]
        .into_iter()
        .filter(|name| text.lines().any(|line| line == format!("{name} [vsock]")))
        .collect();
    // socket(AF_VSOCK, SOCK_STREAM, 0), and its end.
    let work = || {
        if let Ok(socket @ 0..) = usize::try_from(sys::call(41, [40, 1, 0, 0, 0, 0])) {
            sys::call(3, [socket, 0, 0, 0, 0, 0]);
        }
    };
    let shown = |tree: &Tree| -> Check<Vec<String>> {
        let found = recorded(tree, ARGS, &there.join(" "), &work)?;
        Ok(found.iter().map(|text| without_values(text)).collect())
    };
    let (found, wanted) = (shown(&own)?, shown(&reference)?);
    println!("{found:#?}");
    ensure_eq!(found, wanted, "arguments of {there:?}");
    ensure!(
        found.iter().any(|text| text.contains("sock=")),
        "{there:?}: {found:?}"
    );
    loaded.remove()
}

/// What is written to the lists: the same answers and texts. What they do: only these, none of those.
fn pids(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    sys::pin_to(0);
    let mut report = Report::default();
    let words: &[&[u8]] = &[
        b"1\n",
        b"22 333\n",
        b"4",
        b"99999999\n",
        b"0",
        b"x",
        b"5 x",
        b"-1",
        b"4294967295",
        b"4294967296",
        b"",
        b" ",
        b"\n",
        b"7 8\t9\n10",
    ];
    for file in [ONLY, NEVER] {
        for truncate in [true, false] {
            for word in words {
                let act = |tree: &Tree| {
                    let answer = match truncate {
                        true => tree.write_truncating(file, word),
                        false => tree.write(file, word),
                    };
                    (answer, tree.get(file))
                };
                let (found, wanted) = (act(&own), act(&reference));
                report.expect(found == wanted, || {
                    let word = word.escape_ascii();
                    format!("{file} <- {word}, {truncate}: {found:?}, tracefs {wanted:?}")
                });
            }
        }
        for tree in [&own, &reference] {
            tree.empty(file)?;
            ensure_eq!(tree.get(file)?, "no pid\n", "{}", tree.shown(file));
        }
    }
    let me = sys::thread_id().to_string();
    for tree in [&own, &reference] {
        select(tree, FILTER, *GETPPID)?;
        tree.set("current_tracer", "function")?;
        let rows: &[(&[(&str, &str)], usize)] = &[
            (&[], 5),
            (&[(ONLY, &me)], 5),
            (&[(ONLY, "99999999")], 0),
            (&[(NEVER, &me)], 0),
            (&[(NEVER, "99999999")], 5),
            (&[(ONLY, &me), (NEVER, &me)], 0),
            (&[(ONLY, &me), (NEVER, "99999999")], 5),
            (&[(ONLY, "1"), (NEVER, "2")], 0),
        ];
        for (lists, wanted) in rows {
            for (file, pid) in *lists {
                tree.set(file, pid)?;
            }
            tree.clear()?;
            (0..5).for_each(|_| getppid());
            let found = texts(tree)?.len();
            report.expect(found == *wanted, || {
                format!("{} {lists:?}: {found}, not {wanted}", tree.shown(""))
            });
            for file in [ONLY, NEVER] {
                tree.empty(file)?;
            }
        }
        // Another task is not recorded.
        tree.set(ONLY, &me)?;
        tree.clear()?;
        let others = std::thread::spawn(|| (0..5).for_each(|_| getppid()));
        others.join().map_err(|_| "the thread ended badly")?;
        getppid();
        let all = tree.get("trace")?;
        let lines = all.lines().filter(|line| line.contains(*GETPPID)).count();
        report.expect(lines == 1, || format!("{}: {all}", tree.shown("")));
        tree.empty(ONLY)?;
        tree.set("current_tracer", "nop")?;
    }
    // With options, and in two instances that differ.
    let two = Instance::new(&context.root, "rtg-two")?;
    for tree in [&own, &two] {
        select(tree, FILTER, *GETPPID)?;
        tree.set("current_tracer", "function")?;
    }
    two.set(ONLY, "99999999")?;
    for option in OPTIONS {
        own.set(&format!("options/{option}"), "1")?;
        two.set(&format!("options/{option}"), "1")?;
        for (pid, wanted) in [("1", false), (me.as_str(), true)] {
            own.set(ONLY, pid)?;
            own.clear()?;
            (0..3).for_each(|_| getppid());
            let found = !texts(&own)?.is_empty();
            report.expect(found == wanted, || format!("{option} {pid}: {found}"));
            own.empty(ONLY)?;
        }
        report.expect(texts(&two)?.is_empty(), || {
            format!("{option}: {:?}", texts(&two))
        });
        own.set(&format!("options/{option}"), "0")?;
        two.set(&format!("options/{option}"), "0")?;
    }
    two.remove()?;
    report.finish()
}

/// Children are in the lists while they live, if their parent is, and only with the option.
fn forks(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    for tree in [&own, &reference] {
        select(tree, FILTER, *GETPPID)?;
        tree.set("current_tracer", "function")?;
        let me = sys::thread_id();
        for (fork, file, wanted) in [
            (false, ONLY, 0),
            (true, ONLY, 3),
            (true, NEVER, 0),
            (false, NEVER, 3),
        ] {
            tree.set("options/function-fork", flag(fork))?;
            tree.set(file, &me.to_string())?;
            tree.clear()?;
            let child = std::thread::spawn(|| {
                (0..3).for_each(|_| getppid());
                sys::thread_id()
            });
            let child = child.join().map_err(|_| "the thread ended badly")?;
            let text = tree.get("trace")?;
            let task = format!("-{child} ");
            let is_it = |line: &&str| line.contains(&task) && line.contains(*GETPPID);
            let found = text.lines().filter(is_it).count();
            ensure_eq!(found, wanted, "{} {file} {fork}", tree.shown("trace"));
            // The child is gone, or soon will be.
            let is_alone = || tree.get(file).is_ok_and(|text| text == format!("{me}\n"));
            ensure!(
                sys::wait_until(sys::patience(std::time::Duration::from_secs(5)), is_alone),
                "{}: {:?}",
                tree.shown(file),
                tree.get(file)
            );
            tree.empty(file)?;
        }
        tree.set("options/function-fork", "0")?;
    }
    // A new instance does not follow.
    own.set("options/function-fork", "1")?;
    let new = Instance::new(&context.root, "rtg-new")?;
    ensure_eq!(new.get("options/function-fork")?, "0\n", "a new instance");
    let refused = new.write(ONLY, b"x");
    ensure_eq!(refused, Err(EINVAL), "letters");
    new.remove()
}

/// Each function once: at its first call while recording is on, on whatever CPU, and anew with the tracer.
fn once(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    let both = format!("{} {GETPGID}", *GETPPID);
    let count = |tree: &Tree| -> Check<[usize; 2]> {
        let text = tree.get("trace")?;
        Ok([*GETPPID, GETPGID].map(|name| text.matches(&format!(": {name} <-")).count()))
    };
    let work = || {
        for cpu in 0..sys::online_cpus() {
            sys::pin_to(cpu);
            (0..50).for_each(|_| getppid());
            (0..50).for_each(|_| getpgid_of(0));
        }
    };
    for words in both.split(' ') {
        own.set(FILTER, words)?;
    }
    ensure_eq!(own.get(&format!("options/{ONCE}"))?, "0\n", "at first");
    own.set(&format!("options/{ONCE}"), "1")?;
    own.set("tracing_on", "0")?;
    own.set("current_tracer", "function")?;
    work();
    ensure_eq!(count(&own)?, [0, 0], "recording is off");
    own.set("tracing_on", "1")?;
    work();
    ensure_eq!(count(&own)?, [1, 1], "{}", own.shown("trace"));
    own.clear()?;
    work();
    ensure_eq!(count(&own)?, [0, 0], "emptied");
    own.set(&format!("options/{ONCE}"), "0")?;
    getppid();
    own.set(&format!("options/{ONCE}"), "1")?;
    work();
    ensure_eq!(count(&own)?, [2, 1], "switched on again");
    // Other instances have their own, and the other options go with it.
    let other = Instance::new(&context.root, "rtg-once")?;
    for words in both.split(' ') {
        other.set(FILTER, words)?;
    }
    for option in [ONCE, STACK] {
        other.set(&format!("options/{option}"), "1")?;
    }
    other.set("current_tracer", "function")?;
    work();
    ensure_eq!(count(&other)?, [1, 1], "of another instance");
    let stacks = other.get("trace")?.matches("<stack trace>").count();
    ensure_eq!(stacks, 2, "{}", other.shown("trace"));
    ensure_eq!(count(&own)?, [2, 1], "beside another instance");
    other.set("current_tracer", "nop")?;
    other.set(&format!("options/{STACK}"), "0")?;
    if own.exists(&format!("options/{ARGS}")) {
        other.set(&format!("options/{ARGS}"), "1")?;
        other.set("current_tracer", "function")?;
        work();
        let text = other.get("trace")?;
        for name in [*GETPPID, GETPGID] {
            ensure_eq!(text.matches(&format!(": {name}(")).count(), 1, "{text}");
        }
    }
    other.remove()?;
    // Many tasks at the same time: one of them records it.
    own.set("current_tracer", "nop")?;
    own.set("current_tracer", "function")?;
    std::thread::scope(|scope| {
        for cpu in 0..sys::online_cpus() {
            scope.spawn(move || {
                sys::pin_to(cpu);
                (0..1000).for_each(|_| getppid());
            });
        }
    });
    ensure_eq!(count(&own)?[0], 1, "{}", own.shown("trace"));
    Ok(())
}

/// The example of Documentation/using.md.
fn once_in_use(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    let found = using::run("functions.once", &own)?;
    print!("{found}");
    let read = |name| std::fs::read_to_string(name).map_err(|e| format!("{name}: {e}"));
    let (cat, ls) = (read("/tmp/cat")?, read("/tmp/ls")?);
    // By which functions a program reads depends on the program.
    for text in [&cat, &ls] {
        let names: Vec<_> = text.lines().collect();
        let is_name = |line: &&str| line.starts_with("vfs_");
        ensure!(!names.is_empty() && names.iter().all(is_name), "{text}");
        ensure!(names.windows(2).all(|two| two[0] < two[1]), "{text}");
    }
    let alone = ls
        .lines()
        .filter(|line| cat.lines().all(|other| other != *line));
    ensure!(found.lines().eq(alone), "{found}: of {ls}");
    own.remove()
}

/// Without memory for something shorter the hook stays on what an instance had that goes; another one records its own
/// functions alone, also when it records them in another way then.
fn leaves(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    let faults = Faults::new()?;
    sys::pin_to(0);
    let two = Instance::new(&context.root, "rtg-two")?;
    select(&own, FILTER, *GETPPID)?;
    select(&two, FILTER, GETPGID)?;
    for tree in [&two, &own] {
        tree.set("current_tracer", "function")?;
    }
    let option = format!("options/{NO_REPEATS}");
    let path = own.file("current_tracer");
    let tally = faults.exhaust(
        "nop > current_tracer",
        || {
            let mut file = super::faults::open(&path, true, 0)?;
            Ok(file.write_all(b"nop")?)
        },
        |_| {
            two.clear()?;
            for switch in ["1", "0"] {
                two.set(&option, switch)?;
                getppid();
                getpgid_of(1);
            }
            let text = two.get("trace")?;
            ensure!(!text.contains(*GETPPID), "the other's: {text}");
            let calls = text.matches(&format!(": {GETPGID} <-")).count();
            ensure_eq!(calls, 2, "{text}");
            own.set("current_tracer", "function")
        },
    )?;
    ensure!(tally.faults > 0, "{tally:?}");
    Ok(())
}
