// SPDX-License-Identifier: GPL-2.0

//! Random writes to every control file: mutations of what the files take and of what they
//! show. None may be answered by an error that no file gives, none may make the kernel complain, and
//! afterwards the tracer records as before.
//!
//! `RTRACE_FUZZ_WRITES` says how many writes each file gets; scripts/test-long asks for 100000. Where both
//! tracers are written to it is a fifth of that, and less for slow files.

use super::{pair, test, Test};
use crate::chance::{Chance, SEED};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak::{self, setting};
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    test("fuzz.writes", 300, writes),
    test("fuzz.option_writes", 100, option_writes),
    test("fuzz.event_writes", 200, event_writes),
    test("fuzz.all_event_writes", 200, all_event_writes),
    test("fuzz.same_answers", 200, same_answers),
];

/// What a control file may answer.
const ANSWERS: &[Errno] = &[
    EINVAL,
    ERANGE,
    ENOMEM,
    EBADF,
    EOVERFLOW,
    ENOENT,
    EBUSY,
    ENODEV,
    EPERM,
    E2BIG,
    EFAULT,
    Errno(ESRCH),
    // A trigger that is there.
    EEXIST,
];
const ESRCH: i32 = 3;

/// Pieces that more than one file understands.
const WORDS: &[&str] = &[
    "0",
    "1",
    "2",
    "8",
    "-",
    "+",
    "no",
    " ",
    "\n",
    "\0",
    ",",
    ":",
    "*",
    "!",
    "&&",
    "||",
    "==",
    "~",
    "(",
    ")",
    "\"",
    "0x",
    "99999999999",
    "prev_pid",
    "comm",
    "CPUS{0}",
    "common_pid",
    "sched",
    "irq",
    ":mod:",
    "mono",
    "local",
    "nop",
    "overwrite",
    "\u{fe}",
    ".function",
];

/// Pieces for sizes: most results are refused, so that memory is not what is tested.
const SIZES: &[&str] = &["8", "0", "-", "+", "k", "\n", "x", "99999999999999999999"];

/// Files that take few writes in a hundred unless the environment asks for more: each that succeeds
/// waits for memory or for a grace period, compares a pattern with every function, or changes the code
/// at every tracepoint.
const SLOW: &[(&str, usize)] = &[
    ("buffer_size_kb", 2),
    ("buffer_subbuf_size_kb", 2),
    ("saved_cmdlines_size", 5),
    ("trace_clock", 10),
    ("snapshot", 5),
    ("enable", 5),
    ("filter", 10),
    ("trigger", 10),
    ("set_event", 10),
    ("set_event_pid", 10),
    ("set_event_notrace_pid", 10),
    ("set_ftrace_filter", 3),
    ("set_ftrace_notrace", 3),
    ("set_ftrace_pid", 10),
    ("set_ftrace_notrace_pid", 10),
    ("function_profile_enabled", 2),
    ("stack_tracer_enabled", 2),
    ("stack_trace_filter", 2),
    ("set_graph_function", 2),
    ("set_graph_notrace", 2),
    ("current_tracer", 5),
    ("tracing_cpumask", 10),
    ("free_buffer", 5),
    ("trace", 20),
];

fn is_named(path: &str, name: &str) -> bool {
    path.rsplit('/').next() == Some(name)
}

/// Folders: the top with one of each kind that is about buffers, the options, one of each kind that is about
/// some events, and that of all events.
const TOP: &[&str] = &["", "per_cpu/cpu0"];
const OPTIONS: &[&str] = &["options"];
const EVENTS: &[&str] = &[
    "events/irq",
    "events/irq/softirq_entry",
    "events/sched/sched_switch",
    "events/ftrace/print",
];
const ALL_EVENTS: &[&str] = &["events"];

/// The files of these folders that can be written at all.
fn files(tree: &Tree, folders: &[&str]) -> Check<Vec<String>> {
    let mut found = Vec::new();
    for folder in folders {
        for name in tree.list(folder)? {
            let path = match *folder {
                "" => name,
                _ => format!("{folder}/{name}"),
            };
            let writable = |path: &String| {
                use std::os::unix::fs::PermissionsExt;
                let data = tree.file(path).metadata();
                data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o200 != 0)
            };
            if writable(&path) {
                found.push(path);
            }
        }
    }
    ensure!(!found.is_empty(), "nothing in {folders:?} can be written");
    Ok(found)
}

/// Pieces from what the file shows; of a reference that is given, only what both show: a word that one
/// side alone knows is answered by it alone.
fn shown(tree: &Tree, reference: Option<&Tree>, file: &str) -> Vec<String> {
    let mut words = shown_by(tree, file);
    if let Some(reference) = reference {
        let known: BTreeSet<_> = shown_by(reference, file).into_iter().collect();
        words.retain(|word| known.contains(word));
    }
    words
}

fn shown_by(tree: &Tree, file: &str) -> Vec<String> {
    let streams = ["trace", "trace_pipe", "snapshot", "error_log"];
    if streams.iter().any(|name| is_named(file, name)) {
        return Vec::new();
    }
    let text = tree.read_bytes(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.split_whitespace()
        .take(40)
        .map(str::to_string)
        .collect()
}

/// Returns how many of `writes` a file gets that was not asked for.
fn share(file: &str, writes: usize) -> usize {
    let percent = SLOW.iter().find(|(name, _)| is_named(file, name));
    percent.map_or(writes, |(_, percent)| (writes * percent / 100).max(20))
}

/// Texts for one file.
struct Texts {
    words: Vec<String>,
    chance: Chance,
}

impl Texts {
    fn new(tree: &Tree, reference: Option<&Tree>, file: &str, seed: u64) -> Self {
        let sizes = file.ends_with("_kb") || file.ends_with("_size");
        let words = match sizes {
            true => SIZES.iter().map(|word| word.to_string()).collect(),
            false => {
                let mut words = shown(tree, reference, file);
                words.extend(WORDS.iter().map(|word| word.to_string()));
                words
            }
        };
        Texts {
            words,
            chance: Chance::new(seed),
        }
    }

    fn next(&mut self) -> Vec<u8> {
        let words: Vec<_> = self.words.iter().map(String::as_str).collect();
        match self.chance.below(50) {
            0 => self.chance.bytes(5000),
            1 => self.chance.text(&words).repeat(60),
            _ => self.chance.text(&words),
        }
    }
}

/// The tree records, shows and loses nothing.
fn alive(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-alive")?;
    own.set("trace_marker", "alive")?;
    ensure!(own.get("trace")?.ends_with("alive\n"), "no marker");
    own.set("events/sched/sched_switch/enable", "1")?;
    let recorded = sys::wait_until(Duration::from_secs(10), || {
        own.get("trace")
            .is_ok_and(|text| text.contains(": sched_switch: "))
    });
    ensure!(recorded, "no event is recorded any more");
    own.remove()
}

/// Writes to a file that may be written fast. A kernel that proves its locking is slow.
fn default() -> u64 {
    let writes = match sys::kernel_with_checks() {
        true => soak::rounds(250, 500),
        false => soak::rounds(1500, 5000),
    };
    writes as u64
}

/// Random writes to each file of these folders: all that were asked for, or a file's share of the default.
fn write_files(context: &Context, folders: &[&str]) -> Check {
    if !context.is_rtracefs() {
        skip!("the kernel's own files are not ours to spoil");
    }
    let top = Tree::at(&context.root);
    let asked = setting("RTRACE_FUZZ_WRITES", 0) as usize;
    println!("seed {SEED:#x}");
    let mut report = Report::default();
    let mut total = BTreeMap::<i32, (usize, BTreeSet<String>)>::new();
    for file in files(&top, folders)? {
        let began = Instant::now();
        let mut texts = Texts::new(&top, None, &file, SEED);
        let wanted = match asked {
            0 => share(&file, default() as usize),
            asked => asked,
        };
        let mut taken = 0;
        for _ in 0..wanted {
            let text = texts.next();
            let answer = top.write(&file, &text);
            taken += usize::from(answer.is_ok());
            let (times, by) = total.entry(answer.err().map_or(0, |e| e.0)).or_default();
            *times += 1;
            if !by.contains(&file) {
                by.insert(file.clone());
            }
            report.expect(
                match answer {
                    Ok(taken) => taken <= text.len(),
                    Err(error) => ANSWERS.contains(&error),
                },
                || format!("{file} <- \"{}\": {answer:?}", text.escape_ascii()),
            );
        }
        let seconds = began.elapsed().as_secs_f32();
        if asked != 0 || seconds > 5.0 {
            println!("{file}: {wanted} writes, {taken} taken, {seconds:.1}s");
        }
    }
    for (errno, (times, by)) in total {
        match by.len() {
            0..8 => println!("errno {errno}: {times} answers, of {by:?}"),
            files => println!("errno {errno}: {times} answers, of {files} files"),
        }
    }
    crate::module::reload(context)?;
    alive(context)?;
    report.finish()
}

fn writes(context: &Context) -> Check {
    write_files(context, TOP)
}

fn option_writes(context: &Context) -> Check {
    write_files(context, OPTIONS)
}

fn event_writes(context: &Context) -> Check {
    write_files(context, EVENTS)
}

fn all_event_writes(context: &Context) -> Check {
    write_files(context, ALL_EVENTS)
}

/// Names of options that one of the two instances has alone. What they answer is not to be compared,
/// whatever stands around the name; that the lists differ by nothing else, `options.text` looks at.
fn options_of_one(own: &Tree, reference: &Tree) -> Check<Vec<Vec<u8>>> {
    let names = |tree: &Tree| -> Check<BTreeSet<String>> {
        let text = tree.get("trace_options")?;
        let files = tree.list("options")?;
        Ok(text
            .split_whitespace()
            .map(str::to_string)
            .chain(files)
            .collect())
    };
    let (own, reference) = (names(own)?, names(reference)?);
    let apart = own.symmetric_difference(&reference);
    // Only the top instance of rtracefs has it, but each of tracefs takes it: differences.md.
    let apart = apart.map(String::as_str).chain(["record-cmd"]);
    let bare = apart.map(|name| name.strip_prefix("no").unwrap_or(name));
    Ok(bare.map(|name| name.as_bytes().to_vec()).collect())
}

/// The same random writes to both tracers get the same answers.
fn same_answers(context: &Context) -> Check {
    /// Answers depend on what else there is: memory, names of events, what a mistake left.
    const APART: &[&str] = &[
        "buffer_size_kb",
        "buffer_subbuf_size_kb",
        "set_event",
        "snapshot",
    ];
    let (own, reference) = pair(context)?;
    let count = setting("RTRACE_FUZZ_WRITES", default()) as usize / 5;
    let apart = options_of_one(&own, &reference)?;
    let ours = |name: &str| apart.iter().any(|one| one == name.as_bytes());
    ensure!(ours("pipe-share") && ours("event-counts"), "{apart:?}");
    let mut report = Report::default();
    let mut total = 0;
    let files = files(&own, &[TOP, OPTIONS, EVENTS, ALL_EVENTS].concat())?;
    ensure!(files.len() > 20, "only {files:?} can be written");
    for file in files {
        if !reference.exists(&file) || APART.iter().any(|name| is_named(&file, name)) {
            continue;
        }
        let mut texts = Texts::new(&own, Some(&reference), &file, SEED ^ 1);
        let mut problems = 0;
        for _ in 0..share(&file, count) {
            let text = texts.next();
            let names = |name: &Vec<u8>| text.windows(name.len()).any(|part| part == *name);
            if apart.iter().any(names) {
                continue;
            }
            let (found, wanted) = (own.write(&file, &text), reference.write(&file, &text));
            total += 1;
            problems += usize::from(found != wanted);
            report.expect(found == wanted || problems > 3, || {
                format!(
                    "{file} <- \"{}\": {found:?}, tracefs {wanted:?}",
                    text.escape_ascii()
                )
            });
        }
    }
    println!("{total} writes to both");
    report.finish()
}
