// SPDX-License-Identifier: GPL-2.0

//! The stack tracer beside the kernel's: the same rows of the same calls.

use super::functions::{getpgid_of, getppid, GETPPID};
use super::graph::select;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::client::Client;
use crate::errno::*;
use crate::faults::Faults;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

pub const TESTS: &[Test] = &[
    test("stack.words", 60, words),
    test("stack.rows", 120, rows),
    test("stack.storm", 120, storm),
    test("stack.trace_cmd", 60, trace_cmd),
    test("stack.everything", 300, everything),
];

/// Tests in which allocations fail.
pub const FAULTS: &[Test] = &[test("faults.stacks", 120, faults)];

const ENABLED: &str = "stack_tracer_enabled";
const SYSCTL: &str = "/proc/sys/kernel/stack_tracer_enabled";
const MAX: &str = "stack_max_size";
const FILTER: &str = "stack_trace_filter";
const TRACE: &str = "stack_trace";
/// More bytes than the frames of the kernel's tracer take, some of which it may take for the function's: it finds out
/// where they end once, when it has its first stack, and what was left there by others may look like that end.
const KERNEL_FRAMES: u64 = 512;

/// Both top folders; the stack tracers are off at the end of a test.
struct Sides {
    own: Tree,
    kernel: Option<Tree>,
    _instance: Instance,
}

impl Sides {
    fn new(context: &Context) -> Check<Self> {
        if !sys::traces_functions() {
            skip!("this kernel traces no functions");
        }
        let instance = Instance::new(&context.root, "rtg-own")?;
        let own = instance.top();
        if !own.exists(ENABLED) {
            skip!("this tree has no stack tracer of its own");
        }
        let kernel = Tree::at(&context.reference);
        Ok(Self {
            own,
            kernel: kernel.exists(TRACE).then_some(kernel),
            _instance: instance,
        })
    }

    fn switch_kernel(&self, on: bool) {
        if self.kernel.is_some() {
            let _ = std::fs::write(SYSCTL, if on { "1" } else { "0" });
        }
    }

    fn all(&self) -> impl Iterator<Item = &Tree> {
        [Some(&self.own), self.kernel.as_ref()]
            .into_iter()
            .flatten()
    }
}

impl Drop for Sides {
    fn drop(&mut self) {
        let _ = self.own.set(ENABLED, "0");
        self.switch_kernel(false);
        for tree in self.all() {
            let _ = tree.empty(FILTER);
            let _ = tree.set(MAX, "0");
        }
    }
}

/// What the files take and show, beside those of the kernel.
fn words(context: &Context) -> Check {
    let sides = Sides::new(context)?;
    let mut report = Report::default();
    let own = &sides.own;
    for (text, shown) in [
        ("1", "1\n"),
        ("0\n", "0\n"),
        ("7", "1\n"),
        ("x", "1\n"),
        ("0", "0\n"),
    ] {
        let answer = if text == "x" {
            Err(EINVAL)
        } else {
            Ok(text.len())
        };
        select(own, FILTER, *GETPPID)?;
        ensure_eq!(own.write(ENABLED, text.as_bytes()), answer, "{text:?}");
        ensure_eq!(own.get(ENABLED)?, shown, "{text:?}");
    }
    own.empty(FILTER)?;
    let Some(kernel) = &sides.kernel else {
        return report.finish();
    };
    let both = [own, kernel];
    both.iter().try_for_each(|tree| tree.set(MAX, "0"))?;
    for text in [
        "x",
        "",
        "-1",
        "0x10",
        "5",
        "18446744073709551615",
        "18446744073709551616",
        "0",
    ] {
        let answers = both.map(|tree| tree.write(MAX, text.as_bytes()));
        report.expect(answers[0] == answers[1], || {
            format!("{MAX} <- {text}: {answers:?}")
        });
        let shown = [own.get(MAX)?, kernel.get(MAX)?];
        report.expect(shown[0] == shown[1], || {
            format!("{MAX} <- {text}: {shown:?}")
        });
    }
    let get_pid = format!("{}\n", *GETPPID);
    for (text, truncate) in [
        (&get_pid[..], true),
        ("vfs_read\n", false),
        ("nosuch\n", false),
        ("!vfs_read\n", false),
        ("3\n", false),
        ("vfs_read:traceoff\n", false),
        ("vfs_read:nosuch\n", false),
        ("vfs_read:enable_event\n", false),
        ("vfs_read:mod\n", false),
        ("vfs_read:mod:nosuch\n", false),
        ("!vfs_read:mod:nosuch\n", false),
        ("*:mod:*\n", false),
        ("\n", true),
        ("vfs_*\n", false),
        ("\n", true),
    ] {
        let answers = both.map(|tree| match truncate {
            true => tree.write_truncating(FILTER, text.as_bytes()),
            false => tree.write(FILTER, text.as_bytes()),
        });
        report.expect(answers[0] == answers[1], || {
            format!("{FILTER} <- {text:?}: {answers:?}")
        });
        let shown = [own.get(FILTER)?, kernel.get(FILTER)?];
        report.expect(shown[0] == shown[1], || {
            format!("{FILTER} <- {text:?}: {shown:?}")
        });
    }
    ensure_eq!(
        own.write(TRACE, b"0"),
        kernel.write(TRACE, b"0"),
        "{TRACE} is written"
    );
    let shown = [own.get(TRACE)?, kernel.get(TRACE)?];
    // Rows of an earlier test stay in both.
    let comments = shown
        .clone()
        .map(|text| text.lines().skip(2).take(7).collect::<Vec<_>>().join("\n"));
    report.expect(comments[0] == comments[1], || {
        format!("nothing seen: {shown:?}")
    });
    report.finish()
}

/// A stack of one function: the rows of the kernel's for the same calls, and not too deep.
fn rows(context: &Context) -> Check {
    let sides = Sides::new(context)?;
    let mut report = Report::default();
    let own = &sides.own;
    for tree in sides.all() {
        select(tree, FILTER, *GETPPID)?;
        tree.set(MAX, "0")?;
    }
    sys::pin_to(0);
    // So often that each of the 64 distances comes by which the kernel moves the stacks of system calls.
    let calls = || {
        (0..3000).for_each(|_| getppid());
        getpgid_of(1);
    };
    own.set(ENABLED, "1")?;
    calls();
    own.set(ENABLED, "0")?;
    // One after the other: the kernel's tracer looks for return addresses in its own frame, too, where the other one
    // may have left some.
    sides.switch_kernel(true);
    calls();
    sides.switch_kernel(false);
    let text = own.get(TRACE)?;
    let lines: Vec<_> = text.lines().skip(2).collect();
    report.expect(lines.len() >= 3, || format!("too few rows: {text}"));
    let first = lines.first().copied().unwrap_or_default();
    report.expect(first.contains(&format!("{}+0x", *GETPPID)), || text.clone());
    let mut words = first.split_whitespace().skip(1);
    let depth = words.next().unwrap_or_default();
    // Nothing but where it returns to.
    report.expect(words.next() == Some("8"), || text.clone());
    report.expect(own.get(MAX)? == format!("{depth}\n"), || {
        format!("{}: {text}", own.get(MAX).unwrap_or_default())
    });
    if let Some(kernel) = &sides.kernel {
        let wanted = kernel.get(TRACE)?;
        let parts = |text: &str| -> (u64, String) {
            let mut lines: Vec<_> = text.lines().collect();
            let mut words = lines.remove(2).split_whitespace();
            let depth = words.nth(1).and_then(|word| word.parse().ok());
            let name = words.nth(1).unwrap_or_default();
            (depth.unwrap_or(0), format!("{name}\n{}", lines.join("\n")))
        };
        // The kernel's first row has its own frame, which is not the function's.
        let (found, theirs) = (parts(&text), parts(&wanted));
        report.expect(found.1 == theirs.1, || {
            format!("{text}\ntracefs:\n{wanted}")
        });
        report.expect(theirs.0.wrapping_sub(found.0) < KERNEL_FRAMES, || {
            format!("{text}\ntracefs:\n{wanted}")
        });
    }
    // What is set is not exceeded by calls that are as deep as before.
    own.set(MAX, "16000")?;
    own.set(ENABLED, "1")?;
    (0..100).for_each(|_| getppid());
    report.expect(own.get(MAX)? == "16000\n", || "a set maximum".into());
    report.expect(own.get(TRACE)? == text, || {
        "rows that nothing replaces".into()
    });
    own.set(MAX, "0")?;
    getppid();
    report.expect(own.get(MAX)? != "0\n", || "after a reset".into());
    report.finish()
}

/// It comes and goes, is read and reset, while functions are called on all CPUs.
fn storm(context: &Context) -> Check {
    let sides = Sides::new(context)?;
    let own = &sides.own;
    let over = AtomicBool::new(false);
    let over = &over;
    let selected = "vfs_read vfs_write vfs_open vfs_fstat";
    select(own, FILTER, selected)?;
    thread::scope(|scope| -> Check {
        for _ in 0..sys::online_cpus() {
            scope.spawn(move || {
                while !over.load(SeqCst) {
                    let _ = std::fs::read("/proc/self/stat");
                }
            });
        }
        let result = (0..soak::rounds(2, 10)).try_for_each(|_| {
            own.set(ENABLED, "1")?;
            for _ in 0..20 {
                let text = own.get(TRACE)?;
                let count = text.lines().skip(2).count();
                ensure!(text.contains(&format!("({count} entries)")), "{text}");
                let hook = ["rtrace_function", "record_by_manner", "ftrace_trampoline"];
                let found = hook.iter().any(|name| text.contains(name));
                ensure!(!found, "the tracer itself: {text}");
                own.set(MAX, "0")?;
            }
            own.set(ENABLED, "0")
        });
        over.store(true, SeqCst);
        result
    })?;
    let max = own.get(MAX)?;
    let bytes: u64 = max.trim().parse().map_err(|_| max.clone())?;
    ensure!(bytes < 65536, "{bytes}");
    Ok(())
}

/// `trace-cmd stack` finds the files and the switch.
fn trace_cmd(context: &Context) -> Check {
    let sides = Sides::new(context)?;
    let client = Client::of(context)?;
    if !std::path::Path::new(SYSCTL).exists() {
        skip!("this kernel has no stack tracer, whose switch trace-cmd uses");
    }
    let own = &sides.own;
    select(own, FILTER, *GETPPID)?;
    client.text(&["stack", "--reset"])?;
    client.text(&["stack", "--start"])?;
    ensure_eq!(own.get(ENABLED)?, "1\n", "--start");
    ensure_eq!(
        std::fs::read_to_string(SYSCTL).unwrap_or_default(),
        "0\n",
        "that of the kernel"
    );
    getppid();
    let shown = client.text(&["stack"])?;
    ensure!(shown.contains(*GETPPID), "{shown}");
    client.text(&["stack", "--stop"])?;
    ensure_eq!(own.get(ENABLED)?, "0\n", "--stop");
    Ok(())
}

/// Every function of the kernel, in a guest with one CPU: nothing of the tracer itself is on the stack.
fn everything(context: &Context) -> Check {
    if soak::rounds(0, 1) == 0 {
        skip!("in the long run alone");
    }
    let sides = Sides::new(context)?;
    if sys::online_cpus() != 1 {
        skip!("more than one CPU");
    }
    let own = &sides.own;
    own.set(ENABLED, "1")?;
    let mut seen = 0;
    for _ in 0..3 {
        own.set(MAX, "0")?;
        for _ in 0..5 {
            let _ = std::fs::read_to_string("/proc/self/maps");
            let _ = thread::spawn(getppid).join();
        }
        let text = own.get(TRACE)?;
        seen = seen.max(text.lines().count());
        let hook = [
            "rtrace_function",
            "record_by_manner",
            "ftrace_trampoline",
            "  0xffff",
        ];
        let found = hook.iter().any(|name| text.contains(name));
        ensure!(!found, "the tracer itself: {text}");
    }
    own.set(ENABLED, "0")?;
    ensure!(seen > 10, "only {seen} lines");
    Ok(())
}

/// Without memory the stack tracer does not begin, and what it has seen is still there.
fn faults(context: &Context) -> Check {
    let faults = Faults::new()?;
    drop(Sides::new(context)?);
    // What it keeps for good is made when it is first needed.
    crate::module::reload(context)?;
    let sides = Sides::new(context)?;
    let own = &sides.own;
    select(own, FILTER, *GETPPID)?;
    let mut report = Report::default();
    let mut exhaust = |file: &str, text: &'static str, after: &dyn Fn(bool) -> Check| {
        let path = own.file(file);
        let tally = faults.exhaust(
            &format!("{text} > {file}"),
            || {
                let mut file = std::fs::OpenOptions::new().write(true).open(&path)?;
                Ok(file.write_all(text.as_bytes())?)
            },
            |result| after(result.is_ok()),
        );
        report.collect(tally.and_then(|tally| {
            ensure!(tally.refused > 0, "{file}: {tally:?}");
            Ok(())
        }));
    };
    exhaust(MAX, "5", &|is_done| {
        let shown = if is_done { "5\n" } else { "0\n" };
        ensure_eq!(own.get(MAX)?, shown, "{MAX}");
        own.set(MAX, "0")
    });
    exhaust(ENABLED, "1", &|is_done| {
        let shown = if is_done { "1\n" } else { "0\n" };
        ensure_eq!(own.get(ENABLED)?, shown, "{ENABLED}");
        getppid();
        ensure!((own.get(MAX)? != "0\n") == is_done, "{}", own.get(TRACE)?);
        own.set(ENABLED, "0")?;
        own.set(MAX, "0")
    });
    own.set(ENABLED, "1")?;
    getppid();
    own.set(ENABLED, "0")?;
    let (max, rows) = (own.get(MAX)?, own.get(TRACE)?);
    ensure!(rows.contains(*GETPPID), "{rows}");
    exhaust(ENABLED, "1", &|is_done| {
        if is_done {
            own.set(ENABLED, "0")?;
        }
        ensure_eq!(own.get(ENABLED)?, "0\n", "{ENABLED}");
        ensure_eq!(
            (own.get(MAX)?, own.get(TRACE)?),
            (max.clone(), rows.clone()),
            "seen"
        );
        Ok(())
    });
    report.finish()
}
