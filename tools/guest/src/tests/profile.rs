// SPDX-License-Identifier: GPL-2.0

//! The function profiler. No kernel of the tests has ftrace's, so that what is counted is compared with a
//! known number of calls, and the texts with the source.

use super::functions::{getpgid_of, getppid, FILTER, GETPGID, GETPPID};
use super::graph::select;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::faults::Faults;
use crate::kernel_modules::{Loaded, Modules};
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::Context;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("profile.hits", 120, hits),
    test("profile.words", 60, words),
    test("profile.counted", 60, counted),
    test("profile.filters", 240, filters),
    test("profile.migrates", 60, migrates),
    test("profile.modules", 120, modules),
    test("profile.ends", 120, ends),
    test("profile.storm", 240, storm),
    test("profile.everything", 600, everything),
];

/// Tests in which allocations fail.
pub const FAULTS: &[Test] = &[test("faults.profile", 600, faults)];

const ENABLED: &str = "function_profile_enabled";
const TIME: &str = "function_profile_time";
const NOTRACE: &str = "set_ftrace_notrace";
const HEADER: &str = concat!(
    "  Function                               Hit    Time            Avg             s^2\n",
    "  --------                               ---    ----            ---             ---\n"
);
const HEADER_OF_HITS: &str = concat!(
    "  Function                               Hit\n",
    "  --------                               ---\n"
);

/// The top folder, whose profiler is off and whose filters are empty at the end of a test.
struct Top {
    tree: Tree,
    own: Instance,
}

impl Top {
    fn new(context: &Context) -> Check<Self> {
        if !sys::traces_functions() {
            skip!("this kernel traces no functions");
        }
        let own = Instance::new(&context.root, "rtg-own")?;
        let top = Self {
            tree: own.top(),
            own,
        };
        if !top.tree.exists(ENABLED) {
            skip!("this tree has no function profiler");
        }
        Ok(top)
    }

    /// Begins to count the calls of these functions.
    fn count(&self, functions: &str, timed: bool) -> Check {
        self.tree.set(ENABLED, "0")?;
        self.tree.set(TIME, if timed { "1" } else { "0" })?;
        select(&self.tree, FILTER, functions)?;
        self.tree.set(ENABLED, "1")
    }

    fn text(&self, cpu: usize) -> Check<String> {
        self.tree.get(&format!("trace_stat/function{cpu}"))
    }

    fn rows(&self, cpu: usize) -> Check<Vec<Row>> {
        self.text(cpu)?.lines().skip(2).map(Row::parse).collect()
    }

    /// The row of a function on a CPU, or one without hits.
    fn row(&self, cpu: usize, function: &str) -> Check<Row> {
        let mut rows = self.rows(cpu)?.into_iter();
        Ok(rows.find(|row| row.name == function).unwrap_or_default())
    }

    /// How often two functions were called on all CPUs.
    fn hits(&self) -> Check<(u64, u64)> {
        let mut sums = (0, 0);
        for cpu in 0..sys::online_cpus() {
            sums.0 += self.row(cpu, *GETPPID)?.hits;
            sums.1 += self.row(cpu, GETPGID)?.hits;
        }
        Ok(sums)
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.tree.set(ENABLED, "0");
        let _ = self.tree.set(TIME, "1");
        let _ = self.tree.empty(FILTER);
        let _ = self.tree.empty(NOTRACE);
    }
}

/// A line; times in nanoseconds.
#[derive(Debug, Default)]
struct Row {
    name: String,
    hits: u64,
    times: Vec<u64>,
}

impl Row {
    fn parse(line: &str) -> Check<Self> {
        let wrong = |_| format!("no row: {line:?}");
        let head = line.get(2..32).unwrap_or_default();
        let mut words = line.get(32..).unwrap_or_default().split_whitespace();
        let hits = words.next().unwrap_or_default().parse().map_err(wrong)?;
        let mut times = Vec::new();
        while let Some(word) = words.next() {
            let (whole, rest) = word.split_once('.').unwrap_or((word, ""));
            let whole: u64 = whole.parse().map_err(wrong)?;
            let rest: u64 = format!("{rest:0<3}").parse().map_err(wrong)?;
            times.push(whole * 1000 + rest);
            ensure_eq!(words.next(), Some("us"), "{line:?}");
        }
        let name = head.trim_end().to_string();
        Ok(Self { name, hits, times })
    }
}

/// What of a call's time counts: sleep or not, the calls in it or not.
fn counted(context: &Context) -> Check {
    let top = Top::new(context)?;
    if !ways().contains(&true) {
        skip!("this kernel follows no calls");
    }
    let (outer, inner) = ("__x64_sys_clock_nanosleep", "hrtimer_nanosleep");
    let mut report = Report::default();
    sys::pin_to(0);
    for (sleep, calls) in [("1", "1"), ("1", "0"), ("0", "1"), ("0", "0")] {
        top.tree.set("options/sleep-time", sleep)?;
        top.tree.set("options/graph-time", calls)?;
        let began = top.count(&format!("{outer} {inner}"), true);
        top.tree.set("options/sleep-time", "1")?;
        top.tree.set("options/graph-time", "1")?;
        began?;
        thread::sleep(Duration::from_secs(1));
        top.tree.set(ENABLED, "0")?;
        let (outer, inner) = (top.row(0, outer)?, top.row(0, inner)?);
        let time = |row: &Row| row.times.first().copied().unwrap_or(0);
        let is_long = |row: &Row| time(row) >= 900_000_000;
        let wanted = match (sleep, calls) {
            ("1", "1") => (true, true),
            ("1", _) => (false, true),
            _ => (false, false),
        };
        report.expect(
            inner.hits != 0 && (is_long(&outer), is_long(&inner)) == wanted,
            || format!("sleep {sleep}, calls {calls}: {outer:?} {inner:?}"),
        );
        // What is in it is a part of it, unless that is taken off.
        report.expect(calls == "0" || time(&outer) >= time(&inner), || {
            format!("sleep {sleep}: {outer:?} {inner:?}")
        });
    }
    report.finish()
}

/// The ways to count in this kernel: with times and without.
fn ways() -> &'static [bool] {
    match sys::follows_calls() {
        true => &[true, false],
        false => &[false],
    }
}

/// Each call is counted, on its CPU; what was counted stays until the profiler is enabled again.
fn hits(context: &Context) -> Check {
    let top = Top::new(context)?;
    let both = format!("{} {GETPGID}", *GETPPID);
    for timed in ways().iter().copied() {
        top.count(&both, timed)?;
        let header = if timed { HEADER } else { HEADER_OF_HITS };
        ensure_eq!(top.text(0)?, header, "nothing was called");
        for cpu in 0..sys::online_cpus() {
            sys::pin_to(cpu);
            (0..1000).for_each(|_| getppid());
            (0..10 + cpu).for_each(|_| getpgid_of(1));
        }
        for cpu in 0..sys::online_cpus() {
            let (text, rows) = (top.text(cpu)?, top.rows(cpu)?);
            ensure!(text.starts_with(header), "{text}");
            ensure_eq!(rows.len(), 2, "{text}");
            ensure_eq!(top.row(cpu, *GETPPID)?.hits, 1000, "{text}");
            ensure_eq!(top.row(cpu, GETPGID)?.hits, 10 + cpu as u64, "{text}");
            for row in &rows {
                match (timed, &row.times[..]) {
                    (false, []) => {}
                    (true, [time, average, _]) => {
                        let off = (average * row.hits).abs_diff(*time);
                        ensure!(*time != 0 && off <= 1000 + row.hits, "{row:?}");
                    }
                    _ => fail!("{timed}: {row:?}"),
                }
            }
            let weight = |row: &Row| row.times.first().copied().unwrap_or(row.hits);
            ensure!(weight(&rows[0]) >= weight(&rows[1]), "{text}");
        }
        let last = top.text(0)?;
        print!("{last}");
        top.tree.set(ENABLED, "0")?;
        sys::pin_to(0);
        getppid();
        ensure_eq!(top.text(0)?, last, "after the end");
        top.tree.set(ENABLED, "1")?;
        ensure_eq!(top.text(0)?, header, "begun anew");
        (0..3).for_each(|_| getppid());
        ensure_eq!(top.hits()?, (3, 0), "begun anew");
    }
    Ok(())
}

/// What the files take and show.
fn words(context: &Context) -> Check {
    let top = Top::new(context)?;
    let tree = &top.tree;
    select(tree, FILTER, *GETPPID)?;
    for (text, answer, shown) in [
        ("x", Err(EINVAL), "0\n"),
        ("", Err(EINVAL), "0\n"),
        ("-1", Err(EINVAL), "0\n"),
        ("0x1", Err(EINVAL), "0\n"),
        ("18446744073709551616", Err(ERANGE), "0\n"),
        ("2\n", Ok(2), "1\n"),
        ("1", Ok(1), "1\n"),
        ("1 ", Err(EINVAL), "1\n"),
        ("0", Ok(1), "0\n"),
    ] {
        ensure_eq!(tree.write(ENABLED, text.as_bytes()), answer, "{text:?}");
        ensure_eq!(tree.get(ENABLED)?, shown, "{text:?}");
    }
    // Nothing selected is not everything.
    tree.set(ENABLED, "1")?;
    select(tree, NOTRACE, *GETPPID)?;
    getppid();
    ensure_eq!(top.hits()?, (0, 0), "of no function");
    tree.set(ENABLED, "0")?;
    for text in ["x", "2", "-1"] {
        ensure_eq!(tree.write(TIME, text.as_bytes()), Err(EINVAL), "{text}");
    }
    ensure_eq!(
        tree.write("trace_stat/function0", b"0"),
        Err(EINVAL),
        "trace_stat is not written"
    );
    // A threshold leaves out what is faster on average; times alone have one.
    if sys::follows_calls() {
        select(tree, NOTRACE, GETPGID)?;
        top.count(*GETPPID, true)?;
        (0..5).for_each(|_| getppid());
        tree.set("tracing_thresh", "10000000")?;
        let shown = top.hits();
        tree.set("tracing_thresh", "0")?;
        ensure_eq!(shown?, (0, 0), "a threshold");
        ensure_eq!(top.hits()?, (5, 0), "no threshold");
    }
    ensure!(!top.own.exists(ENABLED), "an instance has none");
    Ok(())
}

/// Other functions are selected while calls are counted, and tracers are on the same ones.
fn filters(context: &Context) -> Check {
    let top = Top::new(context)?;
    let tree = &top.tree;
    let both = format!("{} {GETPGID}", *GETPPID);
    let work = |calls: usize| {
        (0..calls).for_each(|_| getppid());
        (0..calls).for_each(|_| getpgid_of(1));
    };
    for timed in ways().iter().copied().take(soak::rounds(1, 2)) {
        top.count(*GETPPID, timed)?;
        work(10);
        ensure_eq!(top.hits()?, (10, 0), "one");
        select(tree, FILTER, &both)?;
        work(5);
        ensure_eq!(top.hits()?, (15, 5), "another one as well");
        select(tree, FILTER, GETPGID)?;
        work(5);
        ensure_eq!(top.hits()?, (15, 10), "the other one alone");
        select(tree, NOTRACE, GETPGID)?;
        work(5);
        ensure_eq!(top.hits()?, (15, 10), "none");
        tree.empty(NOTRACE)?;
        select(tree, FILTER, &both)?;
        for tracer in ["function", "function_graph"] {
            if !top.own.get("available_tracers")?.contains(tracer) {
                continue;
            }
            top.own.clear()?;
            select(&top.own, FILTER, *GETPPID)?;
            top.own.set("current_tracer", tracer)?;
            work(5);
            let lines = top.own.get("trace")?.matches(*GETPPID).count();
            top.own.set("current_tracer", "nop")?;
            ensure_eq!(lines, 5, "{tracer} beside the profiler");
        }
        let before = top.hits()?;
        // In the long run, more changes than there are sets of functions.
        let rounds = soak::rounds(4, 40) as u64;
        for round in 0..rounds {
            let one = if round % 2 == 0 { *GETPPID } else { GETPGID };
            select(tree, FILTER, one)?;
            work(1);
        }
        let half = rounds / 2;
        ensure_eq!(top.hits()?, (before.0 + half, before.1 + half), "rounds");
    }
    Ok(())
}

/// A function in which tasks sleep, and hardly any other task of the guest.
const SELECT: &str = "core_sys_select";
const SLEEP: Duration = Duration::from_millis(250);

/// Sleeps in that function until one of the files below `files` that are in `set` can be read or has ended, or for
/// `time`.
fn wait_in_select(files: usize, set: *mut u64, time: *const i64) {
    sys::call(23, [files, set as usize, 0, 0, time as usize, 0]);
}

/// Sleeps in that function.
fn sleep() {
    let time = [0i64, SLEEP.as_micros() as i64];
    wait_in_select(0, ptr::null_mut(), time.as_ptr());
}

/// Sleeps in that function until the file can be read or has ended.
fn sleep_until_readable(file: &File) {
    let fd = file.as_raw_fd();
    // Sets of 1024 descriptors.
    let mut set = [0u64; 16];
    if let Some(word) = set.get_mut(fd as usize / 64) {
        *word |= 1 << (fd % 64);
    }
    wait_in_select(fd as usize + 1, set.as_mut_ptr(), ptr::null());
}

/// Begins to count calls of that function, where they can be followed.
fn count_sleepers(top: &Top) -> Check {
    if !sys::follows_calls() {
        skip!("calls are not followed");
    }
    let list = top.tree.get("available_filter_functions")?;
    if !list.lines().any(|line| line == SELECT) {
        skip!("{SELECT} cannot be traced");
    }
    top.count(SELECT, true)
}

/// A call that is entered on one CPU and left on another has its time where it was counted.
fn migrates(context: &Context) -> Check {
    let top = Top::new(context)?;
    if sys::online_cpus() < 2 {
        skip!("one CPU");
    }
    count_sleepers(&top)?;
    let (send, receive) = mpsc::channel();
    let sleeper = thread::spawn(move || {
        sys::pin_to(0);
        let _ = send.send(sys::thread_id());
        sleep();
        sys::current_cpu()
    });
    let task = receive.recv().map_err(|e| e.to_string())?;
    let is_in = || top.row(0, SELECT).is_ok_and(|row| row.hits == 1);
    ensure!(sys::wait_until(Duration::from_secs(20), is_in), "no call");
    sys::pin_task_to(task, 1);
    let cpu = sleeper.join().map_err(|_| "the sleeper panicked")?;
    ensure_eq!(cpu, 1, "where the sleeper woke up");
    let (row, other) = (top.row(0, SELECT)?, top.row(1, SELECT)?);
    ensure_eq!((row.hits, other.hits), (1, 0), "{row:?} {other:?}");
    let least = SLEEP.as_nanos() as u64 / 10 * 9;
    ensure!(row.times[0] >= least, "its time is lost: {row:?}");
    Ok(())
}

/// The profiler ends, and with it the module, while a task sleeps in a function that it counts; with the module it
/// ends by itself, and so does the stack tracer.
fn ends(context: &Context) -> Check {
    let top = Top::new(context)?;
    count_sleepers(&top)?;
    // Each sleeps until its pipe is closed.
    let asleep = |hits: u64| {
        let (reader, writer) = sys::pipe().map_err(|errno| format!("pipe: {errno:?}"))?;
        let sleeper = thread::spawn(move || {
            sys::pin_to(0);
            sleep_until_readable(&reader);
        });
        let is_in = || top.row(0, SELECT).is_ok_and(|row| row.hits == hits);
        ensure!(sys::wait_until(Duration::from_secs(20), is_in), "no call");
        Ok((sleeper, writer))
    };
    let (first, end_of_first) = asleep(1)?;
    top.tree.set(ENABLED, "0")?;
    top.tree.set(ENABLED, "1")?;
    let (second, end_of_second) = asleep(1)?;
    // A call that began before the profiler did is none of its.
    drop(end_of_first);
    first.join().map_err(|_| "a sleeper panicked")?;
    ensure!(top.row(0, SELECT)?.times[0] == 0, "{}", top.text(0)?);
    select(&top.tree, "stack_trace_filter", *GETPPID)?;
    top.tree.set("stack_tracer_enabled", "1")?;
    getppid();
    drop(top);
    let own = Instance::new(&context.root, "rtg-own")?;
    let tree = own.top();
    tree.set(TIME, "1")?;
    select(&tree, FILTER, SELECT)?;
    tree.set(ENABLED, "1")?;
    drop(own);
    crate::module::reload(context)?;
    drop(end_of_second);
    second.join().map_err(|_| "a sleeper panicked")?;
    let hooked = std::fs::read_to_string("/sys/kernel/tracing/enabled_functions");
    let hooked = hooked.unwrap_or_default();
    let left = hooked
        .lines()
        .any(|line| line.contains(SELECT) || line.contains(*GETPPID));
    ensure!(!left, "hooks after the module went: {hooked}");
    let own = Instance::new(&context.root, "rtg-own")?;
    ensure_eq!(own.top().get(ENABLED)?, "0\n", "after the module came back");
    ensure_eq!(
        own.top().get("stack_tracer_enabled")?,
        "0\n",
        "after the module came back"
    );
    Ok(())
}

/// Functions of a module go with what was counted of them, and begin anew when it comes back.
fn modules(context: &Context) -> Check {
    if soak::rounds(0, 1) == 0 {
        skip!("in the long run alone");
    }
    let top = Top::new(context)?;
    let modules = Modules::new()?;
    let mut loaded = Loaded::new(&modules);
    let sockets = |count: usize| {
        for _ in 0..count {
            let file = sys::call(41, [40, 1, 0, 0, 0, 0]);
            if let Ok(file) = usize::try_from(file) {
                sys::call(3, [file, 0, 0, 0, 0, 0]);
            }
        }
    };
    for timed in ways().iter().copied() {
        loaded.add("vsock")?;
        top.count("*:mod:vsock", timed)?;
        sys::pin_to(0);
        sockets(5);
        ensure_eq!(top.row(0, "vsock_create")?.hits, 5, "calls in a module");
        loaded.remove()?;
        ensure_eq!(top.rows(0)?.len(), 0, "{}", top.text(0)?);
        loaded.add("vsock")?;
        sockets(2);
        ensure_eq!(top.rows(0)?.len(), 0, "{}", top.text(0)?);
        select(&top.tree, FILTER, "*:mod:vsock")?;
        sockets(3);
        ensure_eq!(top.row(0, "vsock_create")?.hits, 3, "it came back");
        top.tree.set(ENABLED, "0")?;
        loaded.remove()?;
        ensure_eq!(top.rows(0)?.len(), 0, "{}", top.text(0)?);
    }
    Ok(())
}

/// The profiler comes and goes, its functions change and its files are read while they are called.
fn storm(context: &Context) -> Check {
    let top = Top::new(context)?;
    let (over, calls) = (AtomicBool::new(false), AtomicU64::new(0));
    let (over, calls) = (&over, &calls);
    let mut report = Report::default();
    thread::scope(|scope| -> Check {
        for _ in 0..sys::online_cpus() {
            scope.spawn(move || {
                while !over.load(SeqCst) {
                    getppid();
                    if calls.fetch_add(1, SeqCst) % 100 == 0 {
                        thread::sleep(Duration::from_millis(1));
                    }
                    getpgid_of(1);
                }
            });
        }
        let both = format!("{} {GETPGID}", *GETPPID);
        let result = (0..soak::rounds(1, 20)).try_for_each(|round| {
            let timed = ways()[round % ways().len()];
            let begin = calls.load(SeqCst);
            top.count(*GETPPID, timed)?;
            select(&top.tree, FILTER, &both)?;
            thread::sleep(Duration::from_millis(10));
            let (found, _) = top.hits()?;
            let most = calls.load(SeqCst) - begin + sys::online_cpus() as u64;
            report.expect(found <= most, || format!("{found} hits of {most} calls"));
            top.tree.set(ENABLED, "0")?;
            let last = top.hits()?;
            report.expect(last.0 >= found, || format!("{last:?} after {found}"));
            report.expect(top.hits()? == last, || "hits after the end".into());
            Ok(())
        });
        over.store(true, SeqCst);
        result
    })?;
    top.count(*GETPPID, ways()[0])?;
    (0..100).for_each(|_| getppid());
    report.expect(top.hits()? == (100, 0), || "not 100".into());
    report.finish()
}

/// Every function of the kernel at once, in a guest with one CPU.
fn everything(context: &Context) -> Check {
    if soak::rounds(0, 1) == 0 {
        skip!("in the long run alone");
    }
    let top = Top::new(context)?;
    if sys::online_cpus() != 1 {
        skip!("more than one CPU");
    }
    for timed in ways().iter().copied() {
        top.tree.set(TIME, if timed { "1" } else { "0" })?;
        top.tree.set(ENABLED, "1")?;
        (0..50).for_each(|_| getppid());
        let _ = std::fs::read_to_string("/proc/self/maps");
        let hits = top.row(0, *GETPPID)?.hits;
        top.tree.set(ENABLED, "0")?;
        let rows = top.rows(0)?;
        let weight = |row: &Row| row.times.first().copied().unwrap_or(row.hits);
        println!("{} functions, {hits} hits of ours", rows.len());
        ensure_eq!(hits, 50, "timed: {timed}");
        ensure!(rows.len() > 500, "only {} functions", rows.len());
        let sorted = rows
            .windows(2)
            .all(|two| weight(&two[0]) >= weight(&two[1]));
        ensure!(sorted, "not sorted, timed: {timed}");
    }
    Ok(())
}

/// Without memory nothing is counted, and what was counted before is still there.
fn faults(context: &Context) -> Check {
    let top = Top::new(context)?;
    let faults = Faults::new()?;
    let mut report = Report::default();
    // The kernel warns when it finds no memory for the first hook at the end of a function.
    if sys::follows_calls() {
        select(&top.own, FILTER, GETPGID)?;
        top.own.set("current_tracer", "function_graph")?;
    }
    for timed in ways().iter().copied() {
        top.count(*GETPPID, timed)?;
        sys::pin_to(0);
        (0..7).for_each(|_| getppid());
        top.tree.set(ENABLED, "0")?;
        let path = top.tree.file(ENABLED);
        let tally = faults.exhaust(
            &format!("1 > {ENABLED}, timed: {timed}"),
            || {
                let mut file = std::fs::OpenOptions::new().write(true).open(&path)?;
                Ok(file.write_all(b"1")?)
            },
            |result| {
                if result.is_err() {
                    ensure_eq!(top.tree.get(ENABLED)?, "0\n", "refused");
                    ensure_eq!(top.hits()?, (7, 0), "refused");
                    return Ok(());
                }
                ensure_eq!(top.hits()?, (0, 0), "begun");
                (0..7).for_each(|_| getppid());
                top.tree.set(ENABLED, "0")?;
                ensure_eq!(top.hits()?, (7, 0), "begun");
                Ok(())
            },
        )?;
        report.expect(tally.refused > 0, || format!("{tally:?}"));
    }
    report.finish()
}
