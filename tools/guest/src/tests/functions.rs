// SPDX-License-Identifier: GPL-2.0

//! The tracer `function` beside that of the kernel: the same lists, the same answers to each word, the
//! same lines for the same calls. What an instance records is exactly what it selects.

use super::{pair, same, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::kernel_modules::{Loaded, Modules};
use crate::module;
use crate::process;
use crate::soak::Share;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::ffi::CString;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;

pub const TESTS: &[Test] = &[
    test("functions.lists", 60, lists),
    test("functions.words", 240, words),
    test("functions.pieces", 60, pieces),
    test("functions.lines", 120, lines),
    test("functions.instances", 60, instances),
    test("functions.ends", 60, ends),
    test("functions.left_open", 60, left_open),
    test("functions.left_open_command", 60, left_open_command),
    test("functions.modules", 120, modules),
    test("functions.waiting", 240, waiting),
    test("functions.opened", 480, opened),
    test("functions.own_code", 30, own_code),
];

pub const FILTER: &str = "set_ftrace_filter";
const NOTRACE: &str = "set_ftrace_notrace";
/// What `getppid` and `getpgid` run, which hardly any other program calls.
pub static GETPPID: LazyLock<&str> = LazyLock::new(sys::getppid_function);
pub const GETPGID: &str = "__x64_sys_getpgid";

pub fn getppid() {
    sys::call(110, [0; 6]);
}

fn getpgid() {
    getpgid_of(0);
}

pub fn getpgid_of(task: usize) {
    sys::call(121, [task, 0, 0, 0, 0, 0]);
}

/// Has an instance select `words` and nothing else.
pub fn select(tree: &Tree, file: &str, words: &str) -> Check {
    let written = tree.write_truncating(file, format!("{words}\n").as_bytes());
    ensure_eq!(written, Ok(words.len() + 1), "{}", tree.shown(file));
    Ok(())
}

/// An instance of each tree, in a kernel that can trace functions.
pub fn sides(context: &Context) -> Check<(Instance, Instance)> {
    if !sys::traces_functions() {
        skip!("this kernel traces no functions");
    }
    pair(context)
}

/// What can be traced, in the kernel's order: the same bytes.
fn lists(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    for file in [
        "available_filter_functions",
        "available_filter_functions_addrs",
    ] {
        let read = |tree: Tree| tree.read_bytes(file).map_err(|e| format!("{file}: {e:?}"));
        let (found, wanted) = (read(own.top())?, read(reference.top())?);
        ensure!(wanted.len() > 100_000, "{file}: {} bytes", wanted.len());
        ensure!(found == wanted, "{file} differs");
    }
    for tree in [&own, &reference] {
        ensure_eq!(
            tree.get(FILTER)?,
            "#### all functions enabled ####\n",
            "at first"
        );
        ensure_eq!(
            tree.get(NOTRACE)?,
            "#### no functions disabled ####\n",
            "at first"
        );
    }
    Ok(())
}

/// One write, with or without truncation: the same answer, and the same text when the file was closed.
fn words(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let mut report = Report::default();
    let long = [&[b'a'; 400][..], b"\n"].concat();
    let longer = [&[b'a'; 1000][..], b"\n"].concat();
    let texts: &[&[u8]] = &[
        b"vfs_read\n",
        b"vfs_write",
        b" vfs_open  vfs_read\n",
        b"",
        b"\n",
        b"  ",
        b"vfs_read\0vfs_write\n",
        b"\0",
        b"vfs_*\n",
        b"*_sys_getppid\n",
        b"*sys_getpp*\n",
        b"v?s_read\n",
        b"[v]fs_rea[a-e]\n",
        b"v*s_*d\n",
        b"\\vfs_read\n",
        b"!vfs_read\n",
        b"!vfs_*\n",
        b"!nosuch\n",
        b"7\n",
        b"0x10\n",
        b"010\n",
        b"!7\n",
        b"0\n",
        b"99999999\n",
        b"18446744073709551617\n",
        b"7x\n",
        b"-1\n",
        b"+1\n",
        b"nosuch\n",
        b"no*such\n",
        b"vfs_read:nosuch\n",
        b"vfs_read:\n",
        b"vfs_*:mod:!*\n",
        b"vfs_read:mod\n",
        b"!vfs_read:mod\n",
        b"vfs_read:mo\n",
        b"7:mod\n",
        b"7:mod:nosuch\n",
        b"!7:mod:nosuch\n",
        b"0:mod:nosuch\n",
        b"7x:mod:nosuch\n",
        b"99999999:mod:nosuch\n",
        b"!99999999:mod:nosuch\n",
        b"#\n",
        b"\xff\n",
        &long,
        &longer,
    ];
    let share = Share::one_of(3);
    for file in [FILTER, NOTRACE] {
        for truncate in [true, false] {
            for text in texts {
                let name = text.escape_ascii().to_string();
                if !share.has(&format!("{file} {truncate} {name:.60}")) {
                    continue;
                }
                let write = |tree: &Tree| match truncate {
                    true => tree.write_truncating(file, text),
                    false => tree.write(file, text),
                };
                let answers = (write(&own), write(&reference));
                report.expect(answers.0 == answers.1, || {
                    let (found, wanted) = answers;
                    format!("{file} <- {name:.60}: {found:?}, tracefs {wanted:?}")
                });
                let result = same(&own, &reference, file);
                report.collect(result.map_err(|e| format!("{truncate} {name:.60}: {e:.300}")));
            }
        }
        for tree in [&own, &reference] {
            tree.empty(file)?;
        }
    }
    report.finish()
}

/// Words in several writes, those with a place at a position: the same answers and the same selection.
fn pieces(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let mut report = Report::default();
    type Piece = (&'static str, Option<u64>);
    let rows: &[&[Piece]] = &[
        &[("vfs_re", None), ("ad\n", None)],
        &[("vfs_re", None), ("ad", None), (" vfs_write", None)],
        &[("vfs_re", None), ("vfs_open\n", Some(0))],
        &[("vfs_re", None), ("vfs_open", Some(0))],
        &[("vfs_re", None), ("ad\n", Some(3))],
        &[("vfs_re", Some(0)), ("ad\n", None)],
        &[("vfs_re", Some(5)), ("ad\n", Some(5))],
        &[("vfs_read", Some(0)), ("", Some(0)), (" ", Some(1))],
        &[("vfs_read", None), (" ", Some(0))],
    ];
    for file in [FILTER, NOTRACE] {
        for row in rows {
            let write = |tree: &Tree| -> Check<Vec<Op<usize>>> {
                tree.empty(file)?;
                let open = tree.open_write(file).map_err(|e| format!("{file}: {e}"))?;
                let write = |(text, at): &Piece| -> Op<usize> {
                    match at {
                        Some(at) => Ok(open.write_at(text.as_bytes(), *at)?),
                        None => Ok((&open).write(text.as_bytes())?),
                    }
                };
                Ok(row.iter().map(write).collect())
            };
            let (found, wanted) = (write(&own)?, write(&reference)?);
            report.expect(found == wanted, || {
                format!("{file} <- {row:?}: {found:?}, tracefs {wanted:?}")
            });
            let result = same(&own, &reference, file);
            report.collect(result.map_err(|e| format!("{row:?}: {e:.300}")));
        }
        for tree in [&own, &reference] {
            tree.empty(file)?;
        }
    }
    report.finish()
}

/// Whether a word begins and ends with a digit and has nothing but digits and dots.
fn is_number(word: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    word.starts_with(is_digit)
        && word.ends_with(is_digit)
        && !word.contains(|c| !is_digit(c) && c != '.')
}

/// The columns of a line without the one of a wanted reschedule, which may come between the two
/// tracers.
fn without_resched(word: &str) -> String {
    match word.len() {
        5 | 6 if are_flags(word) => word.replace(['N', 'n', 'L', 'l', 'p', 'B', 'b'], "."),
        _ => word.to_string(),
    }
}

/// Of the flags of a record, those of a wanted reschedule: lazy, now, and by the count of preemption.
const RESCHED: u8 = 0x02 | 0x04 | 0x20;

/// The words of a line of `verbose`, in which the flags are a number in front of eight digits of the count
/// of preemption, without those of a wanted reschedule.
fn without_resched_number(mut words: Vec<String>) -> Vec<String> {
    let is_count = |word: &String| word.len() == 8 && u32::from_str_radix(word, 16).is_ok();
    let before = words
        .iter()
        .position(is_count)
        .and_then(|at| words.get_mut(at.checked_sub(1)?));
    if let Some(word) = before {
        if let Ok(flags) = word.parse::<u8>() {
            *word = (flags & !RESCHED).to_string();
        }
    }
    words
}

/// Whether a word may be the flags of a line.
pub(super) fn are_flags(word: &str) -> bool {
    let is_flag = |c: char| c.is_ascii_hexdigit() || ".DHhsZzNnLlpB".contains(c);
    word.contains('.') && word.chars().all(is_flag)
}

/// A line without what differs from one tracer to another: the time.
fn without_time(line: &str, as_numbers: bool) -> String {
    match as_numbers {
        // Pid, CPU, time.
        true if !line.starts_with('#') => {
            let mut words: Vec<_> = line.split(' ').collect();
            if words.len() > 2 {
                words.remove(2);
            }
            words.join(" ")
        }
        // Seconds; under `verbose` a number of the clock and milliseconds; under `latency-format`
        // microseconds, and between them and the colon a blank or the mark of a long pause.
        _ => {
            let is_time = |word: &str| {
                let word = word.trim_end_matches(':');
                let number = word.trim_end_matches("ms").trim_start_matches('(');
                word.is_empty()
                    || word.starts_with('[') && word.len() == 10
                    || number.starts_with('+')
                    || is_number(number) && number.contains('.')
                    || word.contains("us") && word.starts_with(|c: char| c.is_ascii_digit())
            };
            let words = line.split_whitespace().filter(|word| !is_time(word));
            without_resched_number(words.map(without_resched).collect()).join(" ")
        }
    }
}

/// The same calls, recorded by both: the same lines under each option.
fn lines(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    sys::pin_to(0);
    let mut report = Report::default();
    let rows: &[&[&str]] = &[
        &[],
        &["noprint-parent"],
        &["sym-offset"],
        &["sym-addr"],
        &["noirq-info"],
        &["nocontext-info"],
        &["latency-format"],
        &["latency-format", "verbose"],
        &["fields"],
        &["raw"],
        &["hex"],
        &["raw", "nocontext-info"],
        &["stacktrace"],
    ];
    for options in rows {
        let mut texts = Vec::new();
        for tree in [&own, &reference] {
            for option in *options {
                tree.set("trace_options", option)?;
            }
            select(tree, FILTER, &GETPPID)?;
            ensure_eq!(tree.get(FILTER)?, format!("{}\n", *GETPPID), "selected");
            tree.set("current_tracer", "function")?;
        }
        (0..5).for_each(|_| getppid());
        for tree in [&own, &reference] {
            tree.set("tracing_on", "0")?;
            let text = tree.get("trace")?;
            let numbers = (options.contains(&"raw") || options.contains(&"hex"))
                && !options.contains(&"nocontext-info");
            let lines = text.lines().filter(|line| !line.starts_with("# entries"));
            let lines: Vec<_> = lines.map(|line| without_time(line, numbers)).collect();
            texts.push(lines.join("\n"));
            tree.set("current_tracer", "nop")?;
            tree.set("tracing_on", "1")?;
            tree.empty(FILTER)?;
            for option in *options {
                let back = match option.strip_prefix("no") {
                    Some(option) => option.to_string(),
                    None => format!("no{option}"),
                };
                tree.set("trace_options", &back)?;
            }
        }
        report.expect(texts[0].starts_with("# tracer: function\n"), || {
            format!("{options:?}: {:.100}", texts[0])
        });
        report.expect(texts[0] == texts[1], || {
            format!("{options:?}:\n{}\ntracefs:\n{}", texts[0], texts[1])
        });
    }
    report.finish()
}

/// Records of this task in an instance that say `function`.
fn recorded(tree: &Tree, function: &str) -> Check<usize> {
    let (task, text) = (format!("-{} ", sys::thread_id()), tree.get("trace")?);
    let is_ours = |line: &&str| line.contains(&task) && line.contains(&format!(" {function} <-"));
    Ok(text.lines().filter(is_ours).count())
}

/// Several instances at a time: each records what it selects, each call once, and nothing else.
fn instances(context: &Context) -> Check {
    let (one, _) = sides(context)?;
    sys::pin_to(0);
    let two = Instance::new(&context.root, "rtg-two")?;
    let three = Instance::new(&context.root, "rtg-three")?;
    select(&one, FILTER, &GETPPID)?;
    select(&two, FILTER, GETPGID)?;
    select(&three, FILTER, "*_sys_getp*")?;
    select(&three, NOTRACE, GETPGID)?;
    let work = |calls: usize| {
        (0..calls).for_each(|_| getppid());
        (0..2 * calls).for_each(|_| getpgid());
    };
    let check = |label: &str, wanted: [(usize, usize); 3]| -> Check {
        for (tree, wanted) in [&one, &two, &three].into_iter().zip(wanted) {
            let found = (recorded(tree, &GETPPID)?, recorded(tree, GETPGID)?);
            ensure_eq!(found, wanted, "{label}: {}", tree.shown("trace"));
            tree.clear()?;
        }
        Ok(())
    };
    for tree in [&one, &two, &three] {
        tree.set("current_tracer", "function")?;
    }
    work(10);
    check("all three", [(10, 0), (0, 20), (10, 0)])?;
    two.set("current_tracer", "nop")?;
    work(10);
    check("without the second", [(10, 0), (0, 0), (10, 0)])?;
    three.set("current_tracer", "nop")?;
    work(10);
    check("the first alone", [(10, 0), (0, 0), (0, 0)])?;
    select(&one, FILTER, GETPGID)?;
    work(10);
    check("another filter", [(0, 20), (0, 0), (0, 0)])?;
    two.set("current_tracer", "function")?;
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
    three.remove()?;
    two.remove()
}

/// Hooks of ours, as the kernel tells of them.
fn hooks(reference: &Instance) -> Check<Vec<String>> {
    let text = reference.top().get("enabled_functions")?;
    let ours = text.lines().filter(|line| line.contains("rtrace_function"));
    Ok(ours.map(str::to_string).collect())
}

/// A tracer that goes leaves nothing hooked, however it goes; what is refused changes nothing.
fn ends(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    ensure_eq!(
        own.write("current_tracer", b"nosuch"),
        Err(EINVAL),
        "unknown"
    );
    select(&own, FILTER, &GETPPID)?;
    own.set("trace_marker", "before")?;
    ensure!(own.get("trace")?.contains("before"), "no marker");
    let pipe = own.open("trace_pipe").map_err(|e| format!("{e:?}"))?;
    ensure_eq!(
        own.write("current_tracer", b"function"),
        Err(EBUSY),
        "trace_pipe is open"
    );
    drop(pipe);
    ensure!(own.get("trace")?.contains("before"), "after a refusal");
    let mut open = own.open("trace").map_err(|e| format!("{e:?}"))?;
    let mut begin = [0; 20];
    open.read_exact(&mut begin).map_err(|e| e.to_string())?;
    ensure_eq!(
        &begin[..],
        b"# tracer: nop\n#\n# en",
        "the beginning of trace"
    );
    own.set("current_tracer", "function")?;
    ensure_eq!(own.get("current_tracer")?, "function\n", "current_tracer");
    ensure!(
        !own.get("trace")?.contains("before"),
        "the buffer is not emptied"
    );
    ensure_eq!(hooks(&reference)?.len(), 1, "hooks of one function");
    getppid();
    ensure_eq!(recorded(&own, &GETPPID)?, 1, "records");
    let mut rest = Vec::new();
    open.read_to_end(&mut rest).map_err(|e| e.to_string())?;
    drop(open);
    own.set("current_tracer", "nop")?;
    ensure_eq!(recorded(&own, &GETPPID)?, 0, "records after it");
    ensure_eq!(hooks(&reference)?, Vec::<String>::new(), "hooks after nop");
    own.set("current_tracer", "function")?;
    own.remove()?;
    ensure_eq!(
        hooks(&reference)?,
        Vec::<String>::new(),
        "hooks after rmdir"
    );
    Ok(())
}

/// Has a program write a word that does not end, and end itself with the file open.
fn leave_open(tree: &Tree, word: &str) -> Check {
    const SYS_WRITE: usize = 1;
    const SYS_OPEN: usize = 2;
    const O_WRONLY: usize = 1;
    let path = CString::new(tree.file(FILTER).as_os_str().as_bytes());
    let path = path.map_err(|e| e.to_string())?;
    let child = process::run_in_child(|| {
        let file = sys::call(SYS_OPEN, [path.as_ptr() as usize, O_WRONLY, 0, 0, 0, 0]);
        let (file, place) = (file as usize, word.as_ptr() as usize);
        sys::call(SYS_WRITE, [file, place, word.len(), 0, 0, 0]);
    });
    child.map_err(|error| format!("no child: {error:?}"))?;
    Ok(())
}

/// The last word of a program that ends in the middle of it counts. The list of functions was not read before, and the
/// task that closes the file has no namespaces any more.
fn left_open(context: &Context) -> Check {
    if context.is_rtracefs() {
        module::reload(context)?;
    }
    let (own, reference) = sides(context)?;
    for tree in [&own, &reference] {
        leave_open(tree, GETPGID)?;
        let shown = tree.get(FILTER)?;
        ensure_eq!(shown, format!("{GETPGID}\n"), "{}", tree.shown(FILTER));
    }
    Ok(())
}

/// Such a word that attaches an event, for which a file of BTF is looked at: the task has no root folder any more.
fn left_open_command(context: &Context) -> Check {
    if !context.is_rtracefs() || !sys::traces_functions() {
        skip!("of commands of rtracefs");
    }
    let modules = Modules::new()?;
    let mut loaded = Loaded::new(&modules);
    let own = Instance::new(&context.root, "rtg-own")?;
    let top = own.top();
    // Before its tracepoint is there, nothing is known of its arguments.
    top.set("dynamic_events", "t:rtg_left virtio_transport_alloc_pkt")?;
    loaded.add("vsock-loopback")?;
    let command = format!("{GETPGID}:enable_event:tracepoints:rtg_left");
    leave_open(&own, &command)?;
    let shown = own.get(FILTER)?;
    ensure!(shown.contains(&command), "{shown}");
    own.remove()?;
    top.set("dynamic_events", "-:rtg_left")?;
    loaded.remove()
}

/// Functions of a module go with it, and what was selected does not become everything.
fn modules(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let modules = Modules::new()?;
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock")?;
    for tree in [&own, &reference] {
        select(tree, FILTER, "*:mod:vsock")?;
    }
    same(&own, &reference, FILTER)?;
    let functions = own.get(FILTER)?.lines().count();
    ensure!(functions > 10, "{functions} functions of vsock");
    own.set("current_tracer", "function")?;
    ensure_eq!(hooks(&reference)?.len(), functions, "hooks");
    loaded.remove()?;
    ensure_eq!(
        hooks(&reference)?,
        Vec::<String>::new(),
        "hooks after the module went"
    );
    ensure_eq!(own.get(FILTER)?, "", "selected after the module went");
    same(&own, &reference, FILTER)?;
    loaded.add("vsock")?;
    ensure_eq!(
        hooks(&reference)?,
        Vec::<String>::new(),
        "hooks when it came back"
    );
    select(&own, FILTER, "*:mod:vsock")?;
    ensure_eq!(hooks(&reference)?.len(), functions, "hooks, selected again");
    own.set("current_tracer", "nop")?;
    loaded.remove()?;
    // All functions but some are what is there: those of a module that comes, too.
    own.empty(FILTER)?;
    select(&own, FILTER, "*_sys_getp*")?;
    select(&own, NOTRACE, GETPGID)?;
    own.set("current_tracer", "function")?;
    loaded.add("vsock")?;
    let before = hooks(&reference)?.len();
    loaded.remove()?;
    ensure_eq!(hooks(&reference)?.len(), before, "hooks that no module has");
    Ok(())
}

/// Words that name a module that is not loaded: remembered, shown, obeyed when it comes, forgotten.
fn waiting(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let modules = Modules::new()?;
    let mut loaded = Loaded::new(&modules);
    let mut report = Report::default();
    let mut write = |file: &str, truncate: bool, text: &str| -> Check {
        let write = |tree: &Tree| match truncate {
            true => tree.write_truncating(file, text.as_bytes()),
            false => tree.write(file, text.as_bytes()),
        };
        let answers = (write(&own), write(&reference));
        report.expect(answers.0 == answers.1, || {
            let (found, wanted) = answers;
            format!("{file} <- {text}: {found:?}, tracefs {wanted:?}")
        });
        let result = same(&own, &reference, file);
        report.collect(result.map_err(|e| format!("{file} <- {text}: {e:.300}")));
        Ok(())
    };
    for file in [FILTER, NOTRACE] {
        for text in [
            "*:mod:vsock\n",
            "vsock_*:mod:vsock\n",
            ":mod:vsock\n",
            "nosuch:mod:other\n",
            "nosuch:mod:!other\n",
            "!vsock_*:mod:vsock\n",
            "!vsock_*:mod:vsock\n",
            "!nosuch:mod:nowhere\n",
            "vfs_read\n",
            "!vfs_read\n",
            "!*:mod:vsock\n",
            "!:mod:other\n",
            "!*:mod:other\n",
            "!nosuch:mod:!other\n",
        ] {
            write(file, false, text)?;
        }
        write(file, true, "*:mod:vsock\n")?;
        write(file, true, "vfs_read\n")?;
        write(file, true, "")?;
    }
    // It comes.
    let ready = "*_bind:mod:vsock vfs_read *:mod:elsewhere vsock_*:mod:vsock";
    for tree in [&own, &reference] {
        for word in ready.split(' ') {
            tree.set(FILTER, word)?;
        }
        tree.set(NOTRACE, "vsock_bind:mod:vsock")?;
    }
    own.set("current_tracer", "function")?;
    ensure_eq!(hooks(&reference)?.len(), 1, "hooks before it comes");
    loaded.add("vsock")?;
    same(&own, &reference, FILTER)?;
    same(&own, &reference, NOTRACE)?;
    let text = own.get(FILTER)?;
    let selected = text.lines().filter(|line| line.ends_with(" [vsock]"));
    let selected = selected.count();
    ensure!(selected > 5, "{selected} functions: {text}");
    ensure!(text.ends_with("*:mod:elsewhere\n"), "{text}");
    let without = own.get(NOTRACE)?.lines().count();
    ensure_eq!(without, 1, "not traced");
    ensure_eq!(hooks(&reference)?.len(), selected, "hooks");
    // A module that is there is not waited for.
    for word in ["nosuch:mod:vsock", "!nosuch:mod:vsock"] {
        for tree in [&own, &reference] {
            let written = tree.write(FILTER, format!("{word}\n").as_bytes());
            ensure_eq!(written, Err(EINVAL), "{word}: {}", tree.shown(FILTER));
        }
    }
    loaded.remove()?;
    same(&own, &reference, FILTER)?;
    ensure_eq!(hooks(&reference)?.len(), 1, "hooks after it went");
    // Only what waits is selected: nothing, not everything.
    own.set("current_tracer", "nop")?;
    for tree in [&own, &reference] {
        tree.empty(FILTER)?;
        tree.empty(NOTRACE)?;
    }
    select_waiting(&own, "*_bind:mod:vsock")?;
    own.set("current_tracer", "function")?;
    ensure_eq!(hooks(&reference)?, Vec::<String>::new(), "hooks of nothing");
    loaded.add("vsock")?;
    ensure!(!hooks(&reference)?.is_empty(), "no hook of vsock");
    loaded.remove()?;
    ensure_eq!(hooks(&reference)?, Vec::<String>::new(), "hooks after all");
    report.finish()
}

/// A module comes or goes while a file is open for writing: the words that follow are about what is there by then.
fn opened(context: &Context) -> Check {
    let (own, reference) = sides(context)?;
    let modules = Modules::new()?;
    let mut report = Report::default();
    let rows: &[(bool, &[&str])] = &[
        (true, &["vsock_bind "]),
        (true, &["*_bind:mod:vsock "]),
        (true, &["nosuch:mod:vsock "]),
        (true, &["!vsock_bind "]),
        (false, &["vfs_open "]),
        (false, &["!vfs_read "]),
        (false, &["!vfs_read ", "vsock_bind "]),
    ];
    for file in [FILTER, NOTRACE] {
        for (comes, words) in rows {
            let mut loaded = Loaded::new(&modules);
            let first: &[u8] = match comes {
                true => b"vfs_read ",
                false => b"vsock_bind vfs_read ",
            };
            if !comes {
                loaded.add("vsock")?;
            }
            let mut files = Vec::new();
            for tree in [&own, &reference] {
                let open = tree.open_write(file);
                let mut open = open.map_err(|e| format!("{}: {e:?}", tree.shown(file)))?;
                let written = open.write_all(first);
                written.map_err(|e| format!("{}: {e:?}", tree.shown(file)))?;
                files.push(open);
            }
            match comes {
                true => loaded.add("vsock")?,
                false => loaded.remove()?,
            }
            for word in *words {
                let mut answers = files.iter_mut().map(|file| {
                    let written = file.write(word.as_bytes());
                    written.map_err(|e| e.raw_os_error())
                });
                let answers = (answers.next(), answers.next());
                report.expect(answers.0 == answers.1, || {
                    let (found, wanted) = answers;
                    format!("{file} <- {word}: {found:?}, tracefs {wanted:?}")
                });
            }
            drop(files);
            let result = same(&own, &reference, file);
            report.collect(result.map_err(|e| format!("{file} <- {words:?}: {e:.300}")));
            loaded.remove()?;
            for tree in [&own, &reference] {
                tree.empty(file)?;
            }
        }
    }
    report.finish()
}

/// Has an instance select what waits, and nothing else.
fn select_waiting(tree: &Tree, word: &str) -> Check {
    select(tree, FILTER, word)?;
    ensure_eq!(
        tree.get(FILTER)?,
        format!("{word}\n"),
        "{}",
        tree.shown(FILTER)
    );
    Ok(())
}

/// No function of rtrace can be traced, so that a writer does not meet itself; nor can what the hook
/// calls.
fn own_code(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    let text = own.top().get("available_filter_functions")?;
    let ours: Vec<_> = text
        .lines()
        .filter(|line| line.ends_with(" [rtrace]"))
        .collect();
    ensure_eq!(ours, Vec::<&str>::new(), "functions of rtrace");
    for called in [
        "irq_work_queue",
        "ktime_get_boot_fast_ns",
        "ktime_get_mono_fast_ns",
        "ktime_get_raw_fast_ns",
        "ktime_get_tai_fast_ns",
        "sched_clock",
        "sched_clock_noinstr",
        "trace_clock",
        "trace_clock_counter",
        "trace_clock_global",
        "trace_clock_jiffies",
        "trace_clock_local",
    ] {
        ensure!(
            !text.lines().any(|line| line == called),
            "{called} can be traced"
        );
    }
    Ok(())
}
