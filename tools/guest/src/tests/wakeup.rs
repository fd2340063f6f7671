// SPDX-License-Identifier: GPL-2.0

//! The tracers `wakeup`, `wakeup_rt` and `wakeup_dl`: which latencies they find, and the trace of the longest. Where
//! the kernel has the tracers itself (PREEMPT_RT), it gives the expected texts and errors.
//!
//! A latency of a known length is made by two tasks of real time on one CPU: one waits for the other to let it run,
//! and how long that is at least and at most, a clock says. So nothing depends on the speed of the machine.

use super::osnoise::PATIENCE;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("wakeup.files", 60, files),
    test("wakeup.format", 30, format),
    test("wakeup.delay", 120, delay),
    test("wakeup.classes", 120, classes),
    test("wakeup.threshold", 120, threshold),
    test("wakeup.stops", 120, stops),
    test("wakeup.forms", 120, forms),
    test("wakeup.functions", 240, functions),
    test("wakeup.notifies", 120, notifies),
    test("wakeup.maxima", 240, maxima),
    test("wakeup.ends", 240, ends),
];

const TRACERS: [&str; 3] = ["wakeup", "wakeup_rt", "wakeup_dl"];
pub(super) const MOST: &str = "tracing_max_latency";
pub(super) const FUNCTIONS: &str = "options/function-trace";
/// How long a task is kept waiting.
pub(super) const HELD: Duration = Duration::from_millis(30);

/// Returns the roots that have the tracers: that of rtracefs, and on some kernels that of tracefs.
pub(super) fn roots(context: &Context) -> Vec<Tree> {
    let mut roots = vec![Tree::at(&context.root)];
    let reference = Tree::at(&context.reference);
    let tracers = reference.get("available_tracers").unwrap_or_default();
    if context.is_rtracefs() && tracers.contains("wakeup_rt") {
        roots.push(reference);
    }
    roots
}

/// A new instance whose tracer records no functions, which is on at first: there are many.
fn without_functions(root: &Path, name: &str) -> Check<Instance> {
    let own = Instance::new(root, name)?;
    if own.exists(FUNCTIONS) {
        ensure_eq!(own.get(FUNCTIONS)?, "1\n", "{FUNCTIONS} at first");
        own.set(FUNCTIONS, "0")?;
    }
    Ok(own)
}

/// How a task is scheduled.
#[derive(Clone, Copy)]
pub(super) enum Policy {
    Nice(i32),
    Fifo(u32),
}

impl Policy {
    fn adopt(self) {
        match self {
            Policy::Nice(nice) => sys::set_nice(nice),
            Policy::Fifo(priority) => sys::set_fifo(priority),
        }
    }
}

/// What is known of a latency.
struct Known {
    /// The task that had it.
    task: u32,
    /// Nanoseconds that it waited, at least and at most.
    least: u64,
    most: u64,
}

impl Known {
    /// Checks what a tracer says, in microseconds. The clocks may differ by a hundredth.
    fn check(&self, us: u64, what: &str) -> Check {
        let (least, most) = (self.least / 1000, self.most / 1000 + 1);
        ensure!(
            us >= least - least / 100 && us <= most + most / 100,
            "{what}: {us} us, not from {least} to {most}"
        );
        Ok(())
    }
}

/// The most urgent task but those of the kernel that stop CPUs.
const HOLDER: Policy = Policy::Fifo(90);

/// Has a task of CPU 1 wait for that CPU as long as `held`, at least.
fn wait_for_cpu(policy: Policy, held: Duration) -> Check<Known> {
    let (mut reader, mut writer) = sys::pipe().map_err(|e| format!("pipe: {e:?}"))?;
    let (holding, release) = (AtomicBool::new(false), AtomicBool::new(false));
    let (task, ran) = (AtomicU64::new(0), AtomicU64::new(0));
    sys::pin_to(0);
    std::thread::scope(|scope| {
        let waiter = std::thread::Builder::new().name("rtg-waiter".into());
        let waiter = waiter.spawn_scoped(scope, || {
            sys::pin_to(1);
            policy.adopt();
            task.store(sys::thread_id().into(), SeqCst);
            let _ = reader.read(&mut [0]);
            ran.store(sys::monotonic_ns(), SeqCst);
        });
        waiter.map_err(|e| format!("no thread: {e}"))?;
        let there = sys::wait_until(PATIENCE, || task.load(SeqCst) != 0);
        let id = task.load(SeqCst) as u32;
        let asleep = there && sys::wait_asleep(id);
        let holder = std::thread::Builder::new().name("rtg-holder".into());
        let holder = holder.spawn_scoped(scope, || {
            sys::pin_to(1);
            HOLDER.adopt();
            holding.store(true, SeqCst);
            while !release.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        if let Err(why) = holder {
            let _ = writer.write(&[1]);
            fail!("no thread: {why}");
        }
        let held_by = sys::wait_until(PATIENCE, || holding.load(SeqCst));
        let before = sys::monotonic_ns();
        let written = writer.write(&[1]);
        let woken = sys::monotonic_ns();
        std::thread::sleep(held);
        let least = sys::monotonic_ns() - woken;
        release.store(true, SeqCst);
        ensure!(
            asleep && held_by && written.is_ok(),
            "the tasks did not begin"
        );
        let there = sys::wait_until(PATIENCE, || ran.load(SeqCst) != 0);
        ensure!(there, "the task did not run");
        Ok(Known {
            task: id,
            least,
            most: ran.load(SeqCst) - before,
        })
    })
}

/// A latency that the tracer has kept, and its trace. Tracing is off.
pub(super) struct Followed {
    known: Known,
    pub(super) text: String,
}

/// Has tasks wait until the tracer of `tree`, which traces, has kept the latency of one. A machine with other work
/// stops a CPU of its guest, and then another task may have waited longer.
pub(super) fn followed(tree: &Tree, policy: Policy, held: Duration) -> Check<Followed> {
    let mut last = None;
    for _ in 0..20 {
        tree.set(MOST, "0")?;
        let known = wait_for_cpu(policy, held)?;
        tree.set("tracing_on", "0")?;
        let text = tree.get("trace")?;
        if text.contains(&format!("rtg-waiter-{} (uid:0 ", known.task)) {
            return Ok(Followed { known, text });
        }
        tree.set("tracing_on", "1")?;
        last = Some(text);
    }
    fail!("no task was followed: {last:?}")
}

const FEATURES: &str = "/sys/kernel/debug/sched/features";
const QUEUES: &str = "TTWU_QUEUE";

/// A CPU wakes tasks of others up by itself, while this is there. Else it may have the other CPU do it in an interrupt
/// (CPUs without a common cache), where the tracers compare with the task that has that CPU and is more urgent.
pub(super) struct DirectWakeups(bool);

impl DirectWakeups {
    /// Skips the test on one CPU, which cannot be held while another one wakes a task up.
    pub(super) fn new() -> Check<Self> {
        if sys::online_cpus() < 2 {
            skip!("one CPU cannot be held while another one wakes a task up");
        }
        // It may be mounted.
        let _ = sys::mount_fs("debugfs", Path::new("/sys/kernel/debug"), 0, "");
        let features = std::fs::read_to_string(FEATURES).unwrap_or_default();
        let queues = features.split_whitespace().any(|word| word == QUEUES);
        if queues {
            let off = format!("NO_{QUEUES}");
            std::fs::write(FEATURES, off).map_err(|e| format!("{FEATURES}: {e}"))?;
        }
        Ok(Self(queues))
    }
}

impl Drop for DirectWakeups {
    fn drop(&mut self) {
        if self.0 {
            let _ = std::fs::write(FEATURES, QUEUES);
        }
    }
}

pub(super) fn number(tree: &Tree, file: &str) -> Check<u64> {
    let text = tree.get(file)?;
    text.trim()
        .parse()
        .map_err(|e| format!("{file}: {text:?}: {e}"))
}

fn files(context: &Context) -> Check {
    let mut report = Report::default();
    for root in roots(context) {
        let path = root.path();
        let (own, other) = (
            without_functions(path, "rtg-wakeup")?,
            without_functions(path, "rtg-wakeup2")?,
        );
        let shown = |what: &str| format!("{}: {what}", path.display());
        own.set("options/overwrite", "0")?;
        for tracer in TRACERS {
            own.set(MOST, "17")?;
            own.set("current_tracer", tracer)?;
            ensure_eq!(own.get("current_tracer")?, format!("{tracer}\n"), "tracer");
            for (option, then) in [("latency-format", "1\n"), ("overwrite", "1\n")] {
                let is = own.get(&format!("options/{option}"))?;
                report.expect(is == then, || shown(&format!("{option} is {is:?}")));
            }
            let refused = own.write("options/overwrite", b"0");
            report.expect(refused == Err(EINVAL), || {
                shown(&format!("overwrite off: {refused:?}"))
            });
            let refused = own.write("trace_options", b"nooverwrite");
            report.expect(refused == Err(EINVAL), || {
                shown(&format!("nooverwrite: {refused:?}"))
            });
            for second in TRACERS {
                let refused = other.write("current_tracer", second.as_bytes());
                report.expect(refused == Err(EBUSY), || {
                    shown(&format!("{second} beside {tracer}: {refused:?}"))
                });
                ensure_eq!(other.get("current_tracer")?, "nop\n", "then");
            }
            for text in ["0", "1", "2"] {
                let refused = own.write("snapshot", text.as_bytes());
                report.expect(refused == Err(EBUSY), || {
                    shown(&format!("snapshot <- {text}: {refused:?}"))
                });
            }
            let refused = own.read_bytes("snapshot").map(|_| ());
            report.expect(refused == Err(EBUSY), || {
                shown(&format!("snapshot: {refused:?}"))
            });
            let refused = own.open("per_cpu/cpu0/snapshot_raw").map(|_| ());
            report.expect(refused == Err(EBUSY), || {
                shown(&format!("snapshot_raw: {refused:?}"))
            });
            own.set("current_tracer", "nop")?;
            for (option, then) in [("latency-format", "0\n"), ("overwrite", "0\n")] {
                let is = own.get(&format!("options/{option}"))?;
                report.expect(is == then, || {
                    shown(&format!("{option} is {is:?} afterwards"))
                });
            }
        }
        // No task with a deadline is there.
        own.set("current_tracer", "wakeup_dl")?;
        let empty = own.get("trace")?;
        report.expect(empty == "# tracer: wakeup_dl\n#\n", || {
            shown(&format!("without a record {empty:?}"))
        });
        let most = own.get(MOST)?;
        report.expect(most == "0\n", || shown(&format!("{MOST} is {most:?}")));
        // From one to the other, and the option as the user leaves it.
        own.set("options/latency-format", "0")?;
        own.set("current_tracer", "wakeup")?;
        ensure_eq!(own.get("options/latency-format")?, "1\n", "the next tracer");
        own.set("current_tracer", "nop")?;
        let text = own.get("snapshot")?;
        report.expect(text.contains("Snapshot is freed"), || shown(&text));
    }
    report.finish()
}

/// The formats of the records are those of the kernel, which has them whatever its configuration.
fn format(context: &Context) -> Check {
    let (own, reference) = (Tree::at(&context.root), Tree::at(&context.reference));
    for name in ["wakeup", "context_switch"] {
        super::same(&own, &reference, &format!("events/ftrace/{name}/format"))?;
    }
    Ok(())
}

/// A text without what differs each time: numbers are `N`, and of stacks only the first line is left.
pub(super) fn shape(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with(" => "));
    lines
        .map(|line| {
            let mut shape = String::new();
            for c in line.chars() {
                match c {
                    '0'..='9' if shape.ends_with('N') => {}
                    '0'..='9' => shape.push('N'),
                    c => shape.push(c),
                }
            }
            shape
        })
        .collect()
}

/// Returns the lines of a trace that are records, but the first lines of stacks and functions.
fn records(text: &str) -> Vec<&str> {
    let lines = text.lines();
    let is_record = |line: &&str| line.contains("   + [") || line.contains(" ==> [");
    lines.filter(is_record).collect()
}

/// A known latency is found, and its trace is that of the task, from its wake-up to its run.
fn delay(context: &Context) -> Check {
    let _direct = DirectWakeups::new()?;
    let mut shapes = Vec::new();
    for root in roots(context) {
        let own = without_functions(root.path(), "rtg-wakeup")?;
        own.set("current_tracer", "wakeup_rt")?;
        let Followed { known, text } = followed(&own, Policy::Fifo(80), HELD)?;
        known
            .check(number(&own, MOST)?, MOST)
            .map_err(|e| format!("{e}: {text}"))?;
        let task = format!(
            "#    | task: rtg-waiter-{} (uid:0 nice:0 policy:1 rt_prio:80)\n",
            known.task
        );
        ensure!(text.contains(&task), "not {task}: {text}");
        let line = text.lines().find(|line| line.starts_with("# latency: "));
        let line = line.unwrap_or_default();
        let us = line.split_whitespace().nth(2).unwrap_or_default();
        known.check(us.parse().unwrap_or(0), line)?;
        ensure!(line.contains(", CPU#1 | (M:"), "{line}");
        let (first, last) = match records(&text)[..] {
            [first, .., last] => (first, last),
            _ => fail!("too few records: {text}"),
        };
        let tail = format!(":  + [001] {:7}: 19:R rtg-waiter", known.task);
        ensure!(
            first.contains("120:R") && first.ends_with(&tail[1..]),
            "first {first:?}: {text}"
        );
        let tail = format!("==> [001] {:7}: 19:R rtg-waiter", known.task);
        ensure!(last.ends_with(&tail), "last {last:?}: {text}");
        ensure!(
            text.contains(" => try_to_wake_up\n") && text.contains(" => __schedule\n"),
            "no stacks: {text}"
        );
        ensure_eq!(own.get("tracing_on")?, "0\n", "tracing_on");
        // What one CPU has of it.
        let of_cpu = own.get("per_cpu/cpu1/trace")?;
        ensure!(of_cpu.contains(last), "of CPU 1: {of_cpu}");
        ensure!(!of_cpu.contains(first), "of CPU 1: {of_cpu}");
        shapes.push((text.clone(), shape(&text)));
        own.write_truncating("trace", b"")
            .map_err(|e| format!("truncated: {e:?}"))?;
        let text = own.get("trace")?;
        ensure_eq!(text, "# tracer: wakeup_rt\n#\n", "emptied");
        own.set("current_tracer", "nop")?;
    }
    if let [(text, own), (other, theirs)] = &shapes[..] {
        let head = |shape: &[String]| -> Vec<String> {
            let lines = shape.iter().filter(|line| line.starts_with('#'));
            lines.cloned().collect()
        };
        ensure_eq!(head(own), head(theirs), "header");
        // Whether the scheduler wants the CPU is another matter each time.
        let flags = |text: &str| -> Vec<String> {
            let columns = records(text).into_iter().filter_map(|line| {
                let columns = line.split_whitespace().nth(1)?;
                Some([columns.get(..2)?, columns.get(3..)?].concat())
            });
            columns.collect()
        };
        ensure_eq!(
            flags(text),
            flags(other),
            "flags of\n{text}\nand of\n{other}\n"
        );
        ensure_eq!(
            own.len(),
            theirs.len(),
            "lines of\n{text}\nand of\n{other}\n"
        );
    }
    Ok(())
}

/// Each tracer follows the tasks that it is for.
fn classes(context: &Context) -> Check {
    let _direct = DirectWakeups::new()?;
    for root in roots(context) {
        let own = without_functions(root.path(), "rtg-wakeup")?;
        let rows = [
            // Where soft interrupts are tasks of real time, one of them is more urgent before it runs.
            ("wakeup", Policy::Nice(-10), !sys::softirqs_are_of_tasks()),
            ("wakeup", Policy::Fifo(80), true),
            ("wakeup_rt", Policy::Nice(-10), false),
            ("wakeup_dl", Policy::Fifo(80), false),
        ];
        for (tracer, policy, follows) in rows {
            own.set("current_tracer", tracer)?;
            if follows {
                let Followed { known, .. } = followed(&own, policy, HELD)?;
                known.check(number(&own, MOST)?, tracer)?;
                own.set("tracing_on", "1")?;
            } else {
                wait_for_cpu(policy, HELD)?;
                let text = own.get("trace")?;
                let is_more_urgent = tracer == "wakeup";
                let follows = text.contains("rtg-waiter-");
                ensure!(is_more_urgent || !follows, "{tracer} follows: {text}");
            }
        }
        own.set("current_tracer", "nop")?;
    }
    Ok(())
}

/// With a threshold each latency counts that reaches it, also one that is shorter than another one before.
fn threshold(context: &Context) -> Check {
    let _direct = DirectWakeups::new()?;
    for root in roots(context) {
        let own = without_functions(root.path(), "rtg-wakeup")?;
        // tracefs has the file at the top alone.
        let tree = match own.exists("tracing_thresh") {
            true => Tree::at(own.path()),
            false => Tree::at(root.path()),
        };
        own.set("current_tracer", "wakeup_rt")?;
        let policy = Policy::Fifo(80);
        followed(&own, policy, 4 * HELD)?;
        let longest = number(&own, MOST)?;
        own.set("tracing_on", "1")?;
        wait_for_cpu(policy, HELD)?;
        let then = number(&own, MOST)?;
        ensure!(then >= longest, "{then} us after {longest} us");
        let least = format!("{}", HELD.as_micros() / 2);
        tree.set("tracing_thresh", &least)?;
        let kept = (0..20).find_map(|_| {
            let known = wait_for_cpu(policy, HELD).ok()?;
            let text = own.get("trace").ok()?;
            text.contains(&format!("rtg-waiter-{} (uid:0 ", known.task))
                .then_some(known)
        });
        tree.set("tracing_thresh", "0")?;
        ensure!(kept.is_some(), "one that was not the longest was not kept");
        own.set("current_tracer", "nop")?;
    }
    Ok(())
}

/// Nothing is followed while tracing is off. What was kept stays.
fn stops(context: &Context) -> Check {
    let _direct = DirectWakeups::new()?;
    for root in roots(context) {
        let own = without_functions(root.path(), "rtg-wakeup")?;
        own.set("tracing_on", "0")?;
        own.set("current_tracer", "wakeup_rt")?;
        wait_for_cpu(Policy::Fifo(80), HELD)?;
        // The kernel asks whether the top instance traces.
        if root.path() == context.root {
            ensure_eq!(own.get(MOST)?, "0\n", "while it was off");
        }
        own.set("tracing_on", "1")?;
        let Followed { known, text } = followed(&own, Policy::Fifo(80), 2 * HELD)?;
        let most = number(&own, MOST)?;
        known.check(most, MOST)?;
        wait_for_cpu(Policy::Fifo(80), 4 * HELD)?;
        ensure_eq!(own.get("trace")?, text, "the trace");
        ensure_eq!(number(&own, MOST)?, most, "{MOST}");
        own.set("tracing_on", "1")?;
        let again = own.get("trace")?;
        if number(&own, MOST)? == most {
            ensure_eq!(again, text, "the trace, traced again");
        }
        let Followed { known, .. } = followed(&own, Policy::Fifo(80), HELD)?;
        known.check(number(&own, MOST)?, MOST)?;
        own.set("current_tracer", "nop")?;
        ensure_eq!(own.get("options/latency-format")?, "0\n", "afterwards");
    }
    Ok(())
}

/// The records under the options `raw`, `hex` and `bin`, and in the usual form.
fn forms(context: &Context) -> Check {
    let _direct = DirectWakeups::new()?;
    let mut all = Vec::new();
    for root in roots(context) {
        let own = without_functions(root.path(), "rtg-wakeup")?;
        own.set("current_tracer", "wakeup_rt")?;
        let Followed { known, .. } = followed(&own, Policy::Fifo(80), HELD)?;
        own.set("options/raw", "1")?;
        let raw = own.get("trace")?;
        let woken = format!(" 120 + 1 {} 19 R", known.task);
        ensure!(
            raw.lines().any(|line| line.ends_with(&woken)),
            "raw, {woken:?}: {raw}"
        );
        let runs = format!(" 1 {} 19 R", known.task);
        ensure!(
            raw.lines()
                .any(|line| line.ends_with(&runs) && !line.contains('+')),
            "raw, {runs:?}: {raw}"
        );
        own.set("options/hex", "1")?;
        let hex = own.get("trace")?;
        let woken = format!(" 78 2b 00000001 {:08x} 13 00000052 ", known.task);
        ensure!(
            hex.lines().any(|line| line.ends_with(&woken)),
            "hex, {woken:?}: {hex}"
        );
        own.set("options/hex", "0")?;
        own.set("options/bin", "1")?;
        let bin = own.read_bytes("trace").map_err(|e| format!("bin: {e:?}"))?;
        let pid = known.task.to_ne_bytes();
        let bytes = [&[120, 0, 1, 0, 0, 0][..], &pid, &[19, 0]].concat();
        ensure!(
            bin.windows(bytes.len()).any(|part| part == bytes),
            "bin: {bin:?}"
        );
        for option in ["bin", "raw"] {
            own.set(&format!("options/{option}"), "0")?;
        }
        own.set("options/verbose", "1")?;
        let verbose = shape(&own.get("trace")?);
        own.set("options/verbose", "0")?;
        own.set("options/latency-format", "0")?;
        let usual = shape(&own.get("trace")?);
        let heads = [verbose, usual].map(|shape| {
            let lines = shape.into_iter().filter(|line| line.starts_with('#'));
            lines.collect::<Vec<_>>()
        });
        all.push(heads);
        own.set("current_tracer", "nop")?;
    }
    if let [own, theirs] = &all[..] {
        ensure_eq!(own, theirs, "verbose, and without latency-format");
    }
    Ok(())
}

/// The functions that are called on the CPU that the task waits for are part of the trace, those that are selected.
fn functions(context: &Context) -> Check {
    let _direct = DirectWakeups::new()?;
    for root in roots(context) {
        let own = Instance::new(root.path(), "rtg-wakeup")?;
        if !own.exists(FUNCTIONS) {
            skip!("this kernel cannot trace functions");
        }
        // What the timer calls on each CPU.
        own.set("set_ftrace_filter", "tick_*")?;
        own.set("set_ftrace_filter", "update_process_times")?;
        for on in [false, true] {
            own.set(FUNCTIONS, if on { "1" } else { "0" })?;
            own.set("current_tracer", "wakeup_rt")?;
            let Followed { text, .. } = followed(&own, Policy::Fifo(80), 2 * HELD)?;
            let called = text
                .lines()
                .filter(|line| line.contains(": update_process_times"));
            let count = called.clone().count();
            ensure!((count > 0) == on, "function-trace {on}: {text}");
            let elsewhere = called.filter(|line| {
                line.split_whitespace()
                    .nth(1)
                    .is_some_and(|of| of.starts_with('0'))
            });
            ensure_eq!(elsewhere.count(), 0, "on the other CPU: {text}");
            own.set("tracing_on", "1")?;
            own.set("current_tracer", "nop")?;
        }
        // Switched while it records.
        own.set("current_tracer", "wakeup_rt")?;
        own.set(FUNCTIONS, "0")?;
        let Followed { text, .. } = followed(&own, Policy::Fifo(80), 2 * HELD)?;
        ensure!(!text.contains(": update_process_times"), "off: {text}");
        own.set(FUNCTIONS, "1")?;
        own.set("tracing_on", "1")?;
        let Followed { text, .. } = followed(&own, Policy::Fifo(80), 2 * HELD)?;
        ensure!(text.contains(": update_process_times"), "on: {text}");
        own.set("current_tracer", "nop")?;
    }
    Ok(())
}

/// A program that watches the file is told of a longest latency, and of no shorter one.
fn notifies(context: &Context) -> Check {
    let _direct = DirectWakeups::new()?;
    for root in roots(context) {
        let own = without_functions(root.path(), "rtg-wakeup")?;
        own.set("current_tracer", "wakeup_rt")?;
        let mut watch = match sys::watch(&own.file(MOST)) {
            Err(ENOSYS) => skip!("this kernel has no inotify"),
            watch => watch.map_err(|e| format!("inotify: {e:?}"))?,
        };
        let most = 4 * HELD;
        own.set(MOST, "1")?;
        wait_for_cpu(Policy::Fifo(80), most)?;
        let told = sys::poll_in(&watch, sys::patience(PATIENCE));
        ensure!(told.is_ok_and(|events| events != 0), "{told:?}");
        own.set(MOST, "1000000000")?;
        // Whatever was told until then, this as well.
        while sys::poll_in(&watch, 10 * HELD).is_ok_and(|events| events != 0) {
            let _ = watch.read(&mut [0; 4096]);
        }
        wait_for_cpu(Policy::Fifo(80), HELD)?;
        let told = sys::poll_in(&watch, HELD);
        ensure!(told == Ok(0), "told of a shorter one: {told:?}");
        own.set("current_tracer", "nop")?;
    }
    Ok(())
}

/// Each latency that is longer than all before has its own trace, however fast they follow each other.
fn maxima(context: &Context) -> Check {
    let _direct = DirectWakeups::new()?;
    let own = without_functions(&context.root, "rtg-wakeup")?;
    own.set("current_tracer", "wakeup_rt")?;
    // Many short ones, among which there are longest ones again and again.
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            while !stop.load(SeqCst) {
                let _ = wait_for_cpu(Policy::Fifo(80), Duration::from_millis(1));
            }
        });
        let mut texts = 0;
        let mut last = 0;
        let checked: Check = (|| {
            sys::wait_until(PATIENCE, || {
                own.get("trace")
                    .is_ok_and(|text| text.contains("# latency: "))
            });
            for _ in 0..soak::rounds(30, 300) {
                // Looking has what was seen until then kept, unless a task is followed just then.
                let text = own.get("trace")?;
                let line = text.lines().find(|line| line.starts_with("# latency: "));
                let Some(line) = line else {
                    continue;
                };
                texts += 1;
                let us = line.split_whitespace().nth(2).unwrap_or_default();
                let us: u64 = us.parse().map_err(|e| format!("{line}: {e}"))?;
                ensure!(us >= last, "{us} us after {last} us");
                last = us;
                let ends = match records(&text)[..] {
                    [first, .., last] => (first, last),
                    _ => fail!("too few records: {text}"),
                };
                ensure!(
                    ends.0.contains("  + [") && ends.1.contains("==> ["),
                    "{text}"
                );
                let head = text.lines().find(|line| line.contains("| task: "));
                let (_, name) = head
                    .unwrap_or_default()
                    .split_once("task: ")
                    .unwrap_or_default();
                let (name, _) = name.split_once(" (uid:").unwrap_or_default();
                let pid = name.rsplit_once('-').map_or("", |(_, pid)| pid);
                let of = format!("] {pid:>7}:");
                ensure!(
                    ends.0.contains(&of) && ends.1.contains(&of),
                    "not of {name:?}: {text}"
                );
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(())
        })();
        stop.store(true, SeqCst);
        let _ = load.join();
        checked?;
        ensure!(texts > 0, "no latency was found");
        Ok(())
    })?;
    own.set("current_tracer", "nop")
}

/// The tracer goes, its instance goes, CPUs go and tasks end while tasks are followed.
fn ends(context: &Context) -> Check {
    let _direct = DirectWakeups::new()?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            while !stop.load(SeqCst) {
                let _ = wait_for_cpu(Policy::Fifo(80), Duration::from_millis(1));
            }
        });
        // Threads that end as soon as they have run.
        let deaths = scope.spawn(|| {
            while !stop.load(SeqCst) {
                let short = std::thread::spawn(|| sys::set_fifo(70));
                let _ = short.join();
            }
        });
        let done: Check = (|| {
            for _ in 0..soak::rounds(3, 20) {
                for tracer in TRACERS {
                    let own = without_functions(&context.root, "rtg-wakeup")?;
                    own.set("current_tracer", tracer)?;
                    std::thread::sleep(Duration::from_millis(20));
                    own.set("tracing_on", "0")?;
                    own.set("tracing_on", "1")?;
                    own.set("buffer_size_kb", "200")?;
                    own.write_truncating("trace", b"")
                        .map_err(|e| format!("truncated: {e:?}"))?;
                    own.get("trace")?;
                    own.set("trace_clock", "mono")?;
                    std::thread::sleep(Duration::from_millis(20));
                    own.get("trace")?;
                    own.remove()?;
                }
            }
            Ok(())
        })();
        stop.store(true, SeqCst);
        let _ = (load.join(), deaths.join());
        done
    })?;
    let own = without_functions(&context.root, "rtg-wakeup")?;
    own.set("current_tracer", "wakeup_rt")?;
    let online = "/sys/devices/system/cpu/cpu1/online";
    if std::path::Path::new(online).exists() {
        let switch =
            |value: &str| std::fs::write(online, value).map_err(|e| format!("{online}: {e}"));
        for _ in 0..soak::rounds(2, 10) {
            switch("0")?;
            own.get("trace")?;
            switch("1")?;
        }
    }
    let Followed { known, .. } = followed(&own, Policy::Fifo(80), HELD)?;
    known.check(number(&own, MOST)?, "after that")?;
    own.set("current_tracer", "nop")
}
