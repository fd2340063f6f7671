// SPDX-License-Identifier: GPL-2.0

//! Random bytes where a user may put bytes: control files, markers, names of tasks and of instances,
//! addresses. Whatever they are: an error that is documented, nothing changed by a refused write, and
//! the kernel says nothing.

use super::{pair, test, Test};
use crate::callers::{self, PageEnd};
use crate::chance::{Chance, SEED};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;

pub const TESTS: &[Test] = &[
    test("hostile.control_files", 200, control_files),
    test("hostile.read_only_files", 60, read_only_files),
    test("hostile.markers", 60, markers),
    test("hostile.task_names", 60, task_names),
    test("hostile.instance_names", 60, instance_names),
    test("hostile.page_ends", 60, page_ends),
];

/// A control file, what texts for it are made of, and how many it gets in a hundred.
type Row = (&'static str, &'static [&'static str], usize);

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "+",
    "-",
    "\n",
    " ",
    "0x",
    "x",
    "\0",
    "9999999999999999999999",
];

/// Refused for their size, all but the first.
const SIZES: &[&str] = &[
    "8",
    "0",
    "-",
    "+",
    "k",
    "\n",
    "x",
    "18446744073709551615",
    "1152921504606846976",
    "99999999999999",
];

const ROWS: &[Row] = &[
    ("tracing_on", NUMBERS, 100),
    ("options/overwrite", NUMBERS, 100),
    ("options/irq-info", NUMBERS, 100),
    ("options/markers", NUMBERS, 100),
    (
        "trace_options",
        &[
            "overwrite",
            "no",
            "irq-info",
            "markers",
            " ",
            "\n",
            "annotate",
            "x",
            "\0",
        ],
        100,
    ),
    // A change of these waits for a grace period.
    (
        "current_tracer",
        &["nop", " ", "\n", "function", "\0", "x"],
        10,
    ),
    (
        "trace_clock",
        &[
            "local", "mono", "_raw", "global", "x86-tsc", "[", "]", " ", "\n", "\0",
        ],
        10,
    ),
    ("buffer_size_kb", SIZES, 10),
    ("per_cpu/cpu0/buffer_size_kb", SIZES, 10),
    ("buffer_subbuf_size_kb", SIZES, 10),
    (
        "set_event",
        &[
            "irq",
            ":",
            "*",
            "!",
            "irq_handler_entry",
            "nosuch",
            " ",
            "\n",
            ":mod:",
            "\0",
            "sched?",
        ],
        10,
    ),
    ("events/irq/irq_handler_entry/enable", NUMBERS, 10),
    ("events/irq/enable", NUMBERS, 10),
];

/// What a refused write may answer: not of the form, too large a number, no such memory.
const REFUSALS: &[Errno] = &[EINVAL, ERANGE, ENOMEM];

/// Texts per hundred percent. A kernel that proves its locking is slow.
fn texts() -> usize {
    match sys::proves_locking() {
        true => soak::rounds(500, 1_000),
        false => soak::rounds(1_500, 10_000),
    }
}

/// What an instance says of itself, file by file.
fn state(tree: &Tree) -> Check<Vec<(&'static str, String)>> {
    ROWS.iter()
        .map(|(file, ..)| Ok((*file, tree.get(file)?)))
        .collect()
}

fn control_files(context: &Context) -> Check {
    let own = Instance::new(&context.root, "rtg-hostile")?;
    own.set("buffer_size_kb", "8")?;
    if sys::traces_functions() {
        // One that no program here calls, or the tracer would record all that happens.
        own.set("set_ftrace_filter", sys::getppid_function())?;
    }
    println!("seed {SEED:#x}");
    let mut chance = Chance::new(SEED);
    let mut outcomes: BTreeMap<i32, usize> = BTreeMap::new();
    for (file, words, percent) in ROWS {
        let mut before = state(&own)?;
        let mut own_text = own.get(file)?;
        for round in 0..texts() * percent / 100 {
            let text = chance.text(words);
            let what = || format!("{file} <- {:?}", text.escape_ascii().to_string());
            match own.write(file, &text) {
                Ok(taken) => {
                    ensure!(taken <= text.len(), "{}: took {taken} bytes", what());
                    *outcomes.entry(0).or_default() += 1;
                    before = state(&own)?;
                    own_text = own.get(file)?;
                }
                Err(error) => {
                    ensure!(REFUSALS.contains(&error), "{}: {error}", what());
                    *outcomes.entry(error.0).or_default() += 1;
                    ensure_eq!(own.get(file)?, own_text, "{}, refused", what());
                    // Whatever else it might have changed.
                    if round % 64 == 0 {
                        ensure_eq!(state(&own)?, before, "{}, refused", what());
                    }
                }
            }
        }
        ensure_eq!(state(&own)?, before, "after {file}");
    }
    println!("outcomes by errno: {outcomes:?}");
    let (taken, refused) = (
        outcomes.remove(&0).unwrap_or(0),
        outcomes.values().sum::<usize>(),
    );
    ensure!(
        taken > texts() / 10 && refused > texts() / 10,
        "{taken} texts taken, {refused} refused"
    );
    // It still does what it did.
    own.set("events/enable", "0")?;
    own.clear()?;
    for (file, text) in [
        ("current_tracer", "nop"),
        ("tracing_on", "1"),
        ("options/markers", "1"),
        ("trace_clock", "local"),
    ] {
        own.set(file, text)?;
    }
    own.set("trace_marker", "alive")?;
    ensure!(
        own.get("trace")?.ends_with("alive\n"),
        "no marker in the end"
    );
    own.remove()
}

/// Files that only tell something refuse every byte, as their twins in tracefs do.
fn read_only_files(context: &Context) -> Check {
    const FILES: &[&str] = &[
        "buffer_total_size_kb",
        "events/header_page",
        "events/sched/sched_switch/format",
        "events/sched/sched_switch/id",
        "per_cpu/cpu0/stats",
        "trace_pipe",
        "per_cpu/cpu0/trace_pipe_raw",
    ];
    let (own, reference) = pair(context)?;
    let mut chance = Chance::new(SEED);
    for file in FILES {
        for _ in 0..texts() / 20 {
            let text = chance.text(NUMBERS);
            let (found, wanted) = (own.write(file, &text), reference.write(file, &text));
            ensure_eq!(
                found,
                wanted,
                "{file} <- {:?}",
                text.escape_ascii().to_string()
            );
        }
    }
    Ok(())
}

/// Returns what follows `tracing_mark_write: ` in a trace, marker by marker.
fn marked(tree: &Tree) -> Check<Vec<Vec<u8>>> {
    const NAME: &[u8] = b"tracing_mark_write: ";
    let text = tree
        .read_bytes("trace")
        .map_err(|e| format!("trace: {e}"))?;
    let mut starts: Vec<usize> = text
        .windows(NAME.len())
        .enumerate()
        .filter(|(_, part)| *part == NAME)
        .map(|(at, _)| at)
        .collect();
    starts.push(text.len());
    let texts = starts.windows(2).map(|pair| {
        let text = &text[pair[0] + NAME.len()..pair[1]];
        // What follows the last newline is the prefix of the next line.
        let end = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        text[..end].to_vec()
    });
    Ok(texts.collect())
}

/// Markers of any bytes: the same length is taken and the same text shown as by tracefs.
fn markers(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    sys::pin_to(0);
    let mut chance = Chance::new(SEED);
    let mut total = 0;
    for _ in 0..20 {
        for _ in 0..60 {
            let bytes = match chance.below(3) {
                0 => chance.bytes(40),
                1 => chance.text(&["%s", "%n", "\n", "\0", "\x1b[2J", "\r", "hello", "# "]),
                _ => vec![b'a' + chance.below(26) as u8; chance.below(5000)],
            };
            let (found, wanted) = (
                own.write("trace_marker", &bytes),
                reference.write("trace_marker", &bytes),
            );
            let label = bytes.escape_ascii().to_string();
            ensure_eq!(
                found,
                wanted,
                "a marker of {} bytes: {label:.60}",
                bytes.len()
            );
        }
        let (found, wanted) = (marked(&own)?, marked(&reference)?);
        ensure_eq!(found.len(), wanted.len(), "markers shown");
        for (found, wanted) in found.iter().zip(&wanted) {
            ensure_eq!(
                found.escape_ascii().to_string(),
                wanted.escape_ascii().to_string(),
                "a marker's text"
            );
        }
        total += found.len();
        own.clear()?;
        reference.clear()?;
    }
    println!("{total} markers");
    ensure!(total > 500, "only {total} markers");
    Ok(())
}

/// Tasks may have any name; lines and `saved_cmdlines` show it as tracefs does.
fn task_names(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let top = own.top();
    sys::pin_to(0);
    let mut chance = Chance::new(SEED);
    let mut names = vec![
        b"%s%n%p".to_vec(),
        b" ".to_vec(),
        b"\x1b[31m".to_vec(),
        vec![],
    ];
    for _ in 0..soak::rounds(20, 60) {
        let name = chance.bytes(20);
        names.push(name.into_iter().filter(|byte| *byte != 0).collect());
    }
    for tree in [&own, &reference] {
        // The flags may change between the probe of one tracer and that of the other.
        tree.set("options/irq-info", "0")?;
        tree.set("events/sched/sched_process_exit/enable", "1")?;
    }
    for name in &names {
        let named = name.clone();
        let (tell, told) = mpsc::channel();
        let (go, gone) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            sys::pin_to(0);
            let renamed = callers::name_this_thread(&named);
            // A receiver that is gone has failed; this thread has nothing else to do then.
            let _ = tell.send(renamed.map(|()| sys::thread_id()));
            let _ = gone.recv();
        });
        let pid = told.recv().map_err(|_| "a thread died".to_string())?;
        let pid = pid.map_err(|e| format!("prctl: {e}"))?;
        // Other tasks may end between what is done to one tracer and to the other.
        for tree in [&own, &reference] {
            tree.set(
                "events/sched/sched_process_exit/filter",
                &format!("pid == {pid}"),
            )?;
            tree.clear()?;
        }
        drop(go);
        thread.join().map_err(|_| "a thread died".to_string())?;
        // The trace up to the end of the task, without stamps.
        let line = |tree: &Tree| -> Check<Vec<u8>> {
            let wanted = format!(" pid={pid} ").into_bytes();
            let mut before = None;
            sys::wait_until(std::time::Duration::from_secs(10), || {
                let text = tree.read_bytes("trace").unwrap_or_default();
                let at = text.windows(wanted.len()).position(|part| part == wanted);
                before = at.map(|at| without_stamps(&text[..at]));
                before.is_some()
            });
            before.ok_or_else(|| format!("no line of {pid} in {}", tree.shown("trace")))
        };
        ensure_eq!(
            line(&own)?.escape_ascii().to_string(),
            line(&reference)?.escape_ascii().to_string(),
            "the line of a task named {:?}",
            name.escape_ascii().to_string()
        );
        let saved = |tree: &Tree| -> Check<Option<Vec<u8>>> {
            let text = tree
                .read_bytes("saved_cmdlines")
                .map_err(|e| format!("saved_cmdlines: {e}"))?;
            let start = format!("{pid} ").into_bytes();
            let line = text
                .split(|byte| *byte == b'\n')
                .find(|line| line.starts_with(&start));
            Ok(line.map(<[u8]>::to_vec))
        };
        // A name with a newline is cut at it, here and there.
        ensure_eq!(
            saved(&top)?,
            saved(&reference.top())?,
            "saved_cmdlines of a task named {:?}",
            name.escape_ascii().to_string()
        );
    }
    println!("{} names", names.len());
    Ok(())
}

/// A trace without its header and with digits made equal.
fn without_stamps(text: &[u8]) -> Vec<u8> {
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.starts_with(b"#"))
        .flatten()
        .map(|byte| if byte.is_ascii_digit() { b'9' } else { *byte })
        .collect()
}

/// Names of any bytes: refused or made, listed as made, and gone when removed.
fn instance_names(context: &Context) -> Check {
    let folder = context.root.join("instances");
    let top = Tree::at(&context.root);
    let before = top.list("instances")?;
    let mut chance = Chance::new(SEED);
    let mut made = BTreeSet::new();
    let mut refused = 0;
    for _ in 0..400 {
        let words = &[
            "a", "rtg", "_", ".", "-", "9", " ", "\n", "\u{e9}", "*", ":", "x64",
        ];
        let bytes = match chance.below(3) {
            0 => chance.bytes(80),
            _ => chance.text(words),
        };
        let name: String = String::from_utf8_lossy(&bytes)
            .chars()
            .filter(|letter| !matches!(letter, '/' | '\0'))
            .collect();
        if name.is_empty() || name == "." || name == ".." {
            continue;
        }
        let plain = name.len() <= 64
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        let result = std::fs::create_dir(folder.join(&name)).map_err(Errno::from);
        match result {
            Ok(()) => {
                ensure!(plain || !context.is_rtracefs(), "{name:?} was made");
                made.insert(name);
            }
            Err(EEXIST) => ensure!(made.contains(&name), "{name:?} is not there"),
            Err(error) => {
                ensure!(
                    matches!(error, EINVAL | ENAMETOOLONG) && !plain,
                    "{name:?}: {error}"
                );
                refused += 1;
            }
        }
        // Every instance has its buffers: not too many at once.
        if made.len() >= 8 {
            let name = made.pop_first().unwrap_or_default();
            std::fs::remove_dir(folder.join(&name)).map_err(|e| format!("rmdir {name:?}: {e}"))?;
        }
        let listed: BTreeSet<String> = top.list("instances")?.into_iter().collect();
        let wanted: BTreeSet<String> = made.iter().chain(&before).cloned().collect();
        ensure_eq!(listed, wanted, "instances");
    }
    for name in &made {
        std::fs::remove_dir(folder.join(name)).map_err(|e| format!("rmdir {name:?}: {e}"))?;
    }
    println!("{refused} names refused");
    ensure!(refused > 20, "only {refused} names refused");
    ensure_eq!(top.list("instances")?, before, "instances in the end");
    Ok(())
}

/// Buffers that end where the mapped memory ends: right text up to there, then nothing.
fn page_ends(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let page = PageEnd::new().map_err(|e| format!("mmap: {e}"))?;
    let mut report = Report::default();
    let files = [
        "tracing_on",
        "buffer_size_kb",
        "trace_clock",
        "trace_options",
        "set_event",
        "current_tracer",
        "options/overwrite",
        "events/sched/sched_switch/enable",
        "trace_marker",
    ];
    for file in files {
        for (text, behind) in [("1", 1), ("1", 4000), ("local\n", 2), ("1", 0), ("", 3)] {
            let run = |tree: &Tree| {
                let file = tree.open_write(file)?;
                page.write(&file, text.as_bytes(), behind)
            };
            let state = own.get(file).ok();
            let (found, wanted) = (run(&own), run(&reference));
            // tracefs takes the words of `set_event` one by one; rtracefs wants all bytes first.
            let words = file == "set_event" && found == Err(EFAULT) && wanted == Err(EINVAL);
            report.expect(found == wanted || words, || {
                format!(
                    "{file} <- {text:?} and {behind} unmapped bytes: {found:?}, tracefs {wanted:?}"
                )
            });
            report.expect(found.is_ok() || own.get(file).ok() == state, || {
                format!("{file} <- {text:?} and {behind} unmapped bytes: changed {state:?}")
            });
        }
        own.set("buffer_size_kb", "1410")?;
        reference.set("buffer_size_kb", "1410")?;
    }
    for file in [
        "tracing_on",
        "trace",
        "set_event",
        "events/header_page",
        "trace_clock",
    ] {
        for (room, behind) in [(0, 10), (1, 10), (3, 4000), (4096, 4096)] {
            let run = |tree: &Tree| page.read(&tree.open(file)?, room, behind);
            let (found, wanted) = (run(&own), run(&reference));
            // How much of a long text one read gives is up to each.
            let partial = matches!((found, wanted), (Ok(n), Ok(_)) if n <= room);
            report.expect(found == wanted || partial, || {
                format!(
                    "{file} -> {room} bytes and {behind} unmapped: {found:?}, tracefs {wanted:?}"
                )
            });
        }
    }
    report.finish()
}
