// SPDX-License-Identifier: GPL-2.0

//! What `dynamic_profile` counts of each definition: all that was hit is accounted for, whoever comes and goes.

use super::dynamic::{need_line, Tops};
use super::{test, Test};
use crate::check::{joined, Check, Report};
use crate::program::{Program, SUM, WORD};
use crate::soak;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::using;
use crate::Context;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("dynamic.counts", 60, counts),
    test("dynamic.counts_of_values", 60, values),
    test("dynamic.counts_exactly", 240, exactly),
    test("dynamic.counts_deep", 60, deep),
    test("dynamic.counts_missed", 60, missed),
    test("dynamic.counts_example", 60, example),
];

const FILE: &str = "dynamic_events";
const PROFILE: &str = "dynamic_profile";
const GETPPID: usize = 110;

/// What is counted of a definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub hits: u64,
    pub filtered: u64,
    /// `None` where the kernel does not count it.
    pub missed: Option<u64>,
    pub own: u64,
    pub deep: u64,
    pub faults: u64,
    pub cut: u64,
}

impl Counts {
    /// Returns those of the words after a definition, which are in this order.
    fn of(words: &[&str]) -> Option<Self> {
        let names = ["hits", "filtered", "missed", "own", "deep", "faults", "cut"];
        if words.len() != names.len() {
            return None;
        }
        let mut numbers = [None; 7];
        for ((number, name), word) in numbers.iter_mut().zip(names).zip(words) {
            let text = word.strip_prefix(name)?.strip_prefix('=')?;
            *number = match (name, text) {
                ("missed", "-") => None,
                _ => Some(text.parse().ok()?),
            };
        }
        let [hits, filtered, missed, own, deep, faults, cut] = numbers;
        Some(Self {
            hits: hits?,
            filtered: filtered?,
            missed,
            own: own?,
            deep: deep?,
            faults: faults?,
            cut: cut?,
        })
    }

    /// Returns what is in the buffers or lost, if all is accounted for.
    fn recorded(&self) -> u64 {
        self.hits + self.own + self.deep - self.filtered
    }
}

/// Returns what is counted of the definition whose name is `GROUP/NAME`.
pub fn counts_of(top: &Tree, name: &str) -> Check<Counts> {
    let text = top.get(PROFILE)?;
    let is_it = |line: &&str| {
        let first = line.split(' ').next().unwrap_or_default();
        first.split_once(':').is_some_and(|(_, own)| own == name)
    };
    let line = text.lines().find(is_it);
    let words: Vec<_> = line.unwrap_or_default().split(' ').skip(2).collect();
    Counts::of(&words).ok_or_else(|| format!("{name}: {text}"))
}

/// Returns how often the event was recorded in the instance, and how often it was lost.
fn outcome(tree: &Instance, name: &str) -> Check<u64> {
    let number = |file: &str| -> Check<u64> {
        let text = tree.get(&format!("events/{name}/{file}"))?;
        text.trim().parse().map_err(|_| format!("{name}: {text}"))
    };
    Ok(number("hits")? + number("lost")?)
}

/// One definition of each kind that the kernel has, of the group `group`.
fn kinds(group: &str, program: &Program) -> Vec<String> {
    let function = sys::getppid_function();
    let mut lines = vec![
        format!("p:{group}/entry {function} a=%di"),
        format!("p:{group}/if {function} n=+0x70(%di):u64 if n & 1"),
        format!("p:{group}/inside {function}+9"),
        format!("r:{group}/ret {function} v=$retval"),
        format!("f:{group}/fun {function} a=$arg1"),
        format!("f:{group}/end {function}%return v=$retval"),
        format!("t:{group}/point sys_enter id=$arg2 if id == {GETPPID}"),
        format!("e:{group}/other syscalls/sys_enter_getppid"),
    ];
    if sys::has_uprobes() {
        lines.push(format!("p:{group}/user {}:{SUM}", program.path.display()));
    }
    lines
}

/// The name of the event of a line.
fn name_of(line: &str) -> &str {
    let first = line.split(' ').next().unwrap_or_default();
    first.split_once(':').map_or("", |(_, name)| name)
}

/// A line for each definition, from nothing on, and none for one that is gone.
fn counts(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    let own = &tops.own;
    ensure_eq!(own.get(PROFILE)?, "", "without definitions");
    let program = Program::new("rtg-counts")?;
    let lines = kinds("seen", &program);
    own.set(FILE, &format!("{}\ns:seen_not u64 a\n", lines.join("\n")))?;
    let text = |missed: &dyn Fn(&str) -> bool| -> Check<String> {
        let list = own.get(FILE)?;
        let lines = list.lines().filter(|line| !line.starts_with("s:"));
        let lines = lines.map(|line| {
            let head: Vec<_> = line.split(' ').take(2).collect();
            let missed = if missed(line) { "0" } else { "-" };
            let head = head.join(" ");
            format!("{head} hits=0 filtered=0 missed={missed} own=0 deep=0 faults=0 cut=0\n")
        });
        Ok(lines.collect())
    };
    let is_counted = |line: &str| line.starts_with(['p', 'r', 'f']) && !line.contains("/user ");
    ensure_eq!(own.get(PROFILE)?, text(&is_counted)?, "defined");
    let instance = Instance::new(&context.root, "counts")?;
    instance.set("events/seen/enable", "1")?;
    for n in 0..6 {
        sys::call(GETPPID, [n, 0, 0, 0, 0, 0]);
        program.call(SUM, [1, 1, 0]);
    }
    instance.set("events/seen/enable", "0")?;
    let mut report = Report::default();
    for line in &lines {
        let name = name_of(line);
        let counted = counts_of(own, name)?;
        // Of the calls of the others there may be some.
        report.expect(counted.recorded() >= 3, || format!("{line}: {counted:?}"));
    }
    let odd = counts_of(own, "seen/if")?;
    report.expect(odd.filtered >= 3, || format!("{odd:?}"));
    // It begins again with nothing.
    own.set(FILE, "-:seen/entry")?;
    report.expect(counts_of(own, "seen/entry").is_err(), || "it stays".into());
    own.set(FILE, &lines[0])?;
    let fresh = counts_of(own, "seen/entry")?;
    let nothing = Counts {
        missed: Some(0),
        ..Counts::default()
    };
    report.expect(fresh == nothing, || format!("{fresh:?}"));
    // Two of one event are counted each.
    own.set(FILE, &format!("p:seen/inside {}", sys::getppid_function()))?;
    let text = own.get(PROFILE)?;
    let two = text.lines().filter(|line| line.contains("/inside "));
    report.expect(two.count() == 2, || text.clone());
    tops.clear();
    report.expect(own.get(PROFILE)?.is_empty(), || "something is left".into());
    report.finish()
}

/// Memory that cannot be read, and strings that a record has no room for.
fn values(context: &Context) -> Check {
    const CALLS: u64 = 10;
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    let own = &tops.own;
    let program = Program::new("rtg-counts-values")?;
    let function = sys::getppid_function();
    let text = "+u0(+0x68(%di)):ustring";
    let mut lines = vec![
        format!("p:seen/bad {function} a=+u0(\\8):u64 b=+u0(\\16):ustring c=%di"),
        format!("p:seen/odd {function} n=+0x70(%di):u64 a=+u0(\\8):u64 if n & 1"),
        format!("f:seen/many {function} a=+0(\\8):u8[3]"),
        format!("p:seen/text {function} t={text}"),
        format!("p:seen/two {function} t={text} u={text}"),
        "t:seen/point sys_enter id=$arg2 a=+u0(\\8):u64 if id == 110".to_string(),
        "e:seen/other syscalls/sys_enter_getppid a=+u0(\\8):u64".to_string(),
    ];
    if sys::has_uprobes() {
        let path = program.path.display();
        lines.push(format!(
            "p:seen/user {path}:{WORD} t=+0(%di):string a=+0(\\8):u64"
        ));
    }
    own.set(FILE, &lines.join("\n"))?;
    let instance = Instance::new(&context.root, "counts-values")?;
    instance.set("buffer_size_kb", "4096")?;
    instance.set("options/event-counts", "1")?;
    // 8 common bytes, the address, and where the string is: the longest one has room for its NUL exactly.
    let longest = 4072 - 8 - 8 - 4 - 1;
    let call = |letters: usize| {
        let text = format!("{}\0", "x".repeat(letters));
        for n in 0..CALLS as usize {
            sys::call(GETPPID, [n, text.as_ptr() as usize, 0, 0, 0, 0]);
            if sys::has_uprobes() {
                program.call(WORD, [text.as_ptr() as usize, text.as_ptr() as usize, 0]);
            }
        }
    };
    let mut report = Report::default();
    // Faults for each hit, and the hits; cut strings for each of these lengths.
    let lengths = [100, longest, longest + 1, 9000];
    let rows: &[(&str, u64, [u64; 4])] = &[
        ("bad", 2, [0; 4]),
        ("odd", 1, [0; 4]),
        // Each of an array.
        ("many", 3, [0; 4]),
        ("text", 0, [0, 0, 1, 1]),
        // The place of another string is 4 bytes, and the second one finds no room.
        ("two", 0, [0, 2, 2, 2]),
        ("point", 1, [0; 4]),
        ("other", 1, [0; 4]),
        // Beside the two strings there are a place and a number.
        ("user", 1, [0, 1, 1, 1]),
    ];
    let rows = rows.iter().filter(|(name, ..)| {
        let name = format!("seen/{name} ");
        lines.iter().any(|line| line.contains(&name))
    });
    let rows: Vec<_> = rows.collect();
    let all = || -> Check<Vec<Counts>> {
        let each = rows.iter();
        each.map(|(name, ..)| counts_of(own, &format!("seen/{name}")))
            .collect()
    };
    for (letters, number) in lengths.into_iter().zip(0usize..) {
        let before = all()?;
        instance.set("events/seen/enable", "1")?;
        call(letters);
        instance.set("events/seen/enable", "0")?;
        for (((name, faults, cut), before), after) in rows.iter().zip(before).zip(all()?) {
            let hits = after.hits - before.hits - (after.filtered - before.filtered);
            // What is left out was read.
            let others = after.filtered - before.filtered;
            let (seen, wanted) = (
                (after.faults - before.faults, after.cut - before.cut),
                (faults * (hits + others), cut[number] * hits),
            );
            report.expect(hits + others >= CALLS && seen == wanted, || {
                format!("{name}, {letters} letters: {hits} hits, {seen:?}, not {wanted:?}")
            });
        }
    }
    for (name, ..) in &rows {
        let (counted, outcome) = (
            counts_of(own, &format!("seen/{name}"))?.recorded(),
            outcome(&instance, &format!("seen/{name}"))?,
        );
        report.expect(counted == outcome, || {
            format!("{name}: {counted} counted, {outcome} recorded or lost")
        });
    }
    report.finish()
}

/// Hits on all CPUs in a buffer that is too small, while another instance enables the same and is removed, and other
/// definitions come and go: each was recorded, or lost, or left out.
fn exactly(context: &Context) -> Check {
    const THREADS: usize = 4;
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:there vfs_read")?;
    let own = &tops.own;
    let program = Program::new("rtg-counts-exactly")?;
    let lines = kinds("exact", &program);
    own.set(FILE, &lines.join("\n"))?;
    let instance = Instance::new(&context.root, "counts-exactly")?;
    instance.set("buffer_size_kb", "64")?;
    instance.set("options/overwrite", "0")?;
    instance.set("options/event-counts", "1")?;
    instance.set("events/exact/enable", "1")?;
    let calls = soak::rounds(4000, 40_000);
    let done = AtomicBool::new(false);
    let order = Ordering::Relaxed;
    let function = sys::getppid_function();
    let work = |thread: usize| -> Check {
        sys::pin_to(thread % sys::online_cpus());
        for n in 0..calls {
            sys::call(GETPPID, [n, 0, 0, 0, 0, 0]);
            if sys::has_uprobes() {
                program.call(SUM, [1, 1, 0]);
            }
        }
        Ok(())
    };
    // An event probe counts in each instance for itself.
    let names = || lines.iter().map(|line| name_of(line));
    let shared = || names().filter(|name| !name.ends_with("/other"));
    let others = || -> Check<usize> {
        let mut rounds = 0;
        while !done.load(order) || rounds == 0 {
            let second = Instance::new(&context.root, "counts-second")?;
            for name in shared() {
                second.set(&format!("events/{name}/enable"), "1")?;
            }
            own.set(
                FILE,
                &format!("p:apart/now {function}\nf:apart/too {function}"),
            )?;
            second.set("events/apart/enable", "1")?;
            second.set("events/apart/enable", "0")?;
            own.set(FILE, "-:apart/")?;
            // With all that it has enabled.
            second.remove()?;
            rounds += 1;
        }
        Ok(rounds)
    };
    let mut rounds = 0;
    std::thread::scope(|scope| -> Check {
        let churn = scope.spawn(others);
        let work = &work;
        let all: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        let results: Vec<_> = all.into_iter().map(joined).collect();
        done.store(true, order);
        rounds = joined(churn)?;
        results.into_iter().collect()
    })?;
    instance.set("events/exact/enable", "0")?;
    let mut report = Report::default();
    let made = (calls * THREADS) as u64;
    for line in &lines {
        let name = name_of(line);
        let counted = counts_of(own, name)?;
        let outcome = outcome(&instance, name)?;
        report.expect(counted.recorded() == outcome, || {
            format!("{line}: {counted:?}, {outcome} recorded or lost")
        });
        let seen = counted.hits + counted.missed.unwrap_or(0);
        report.expect(seen >= made, || format!("{line}: {counted:?} of {made}"));
    }
    let lost = instance.get("events/exact/entry/lost")?;
    report.expect(lost.trim() != "0", || "nothing was lost".into());
    // An instance that enabled them for a while has changed no count.
    let (entry, fun) = (counts_of(own, "exact/entry")?, counts_of(own, "exact/fun")?);
    report.expect(entry.hits == fun.hits, || format!("{entry:?}, {fun:?}"));
    println!("# {made} calls, {rounds} rounds of another instance");
    report.finish()
}

/// Faults of the arguments of an event that follows faults: those that are too deep are counted.
fn deep(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "t:there page_fault_kernel a=$arg1")?;
    let own = &tops.own;
    let arguments = "a=+u0(\\8):u64 b=+u0(\\16):ustring";
    let lines = [
        format!("t:deep/point page_fault_kernel {arguments}"),
        format!("e:deep/other exceptions/page_fault_kernel {arguments}"),
    ];
    own.set(FILE, &lines.join("\n"))?;
    let instance = Instance::new(&context.root, "counts-deep")?;
    instance.set("buffer_size_kb", "8192")?;
    instance.set("options/event-counts", "1")?;
    let first = format!("p:deep/first {} a=+u0(\\8):u64", sys::getppid_function());
    let mut report = Report::default();
    for line in &lines {
        let name = name_of(line);
        let file = format!("events/{name}/enable");
        instance.set(&file, "1")?;
        // What cannot be read is looked for by a fault.
        own.set(FILE, &first)?;
        instance.set("events/deep/first/enable", "1")?;
        for _ in 0..50 {
            sys::call(GETPPID, [0; 6]);
        }
        instance.set("events/deep/first/enable", "0")?;
        own.set(FILE, "-:deep/first")?;
        instance.set(&file, "0")?;
        let counted = counts_of(own, name)?;
        let outcome = outcome(&instance, name)?;
        report.expect(counted.recorded() == outcome, || {
            format!("{line}: {counted:?}, {outcome} recorded or lost")
        });
        report.expect(counted.deep >= 50 && counted.faults > counted.hits, || {
            format!("{line}: {counted:?}")
        });
    }
    report.finish()
}

/// Calls whose returns the kernel does not follow are missed, here as in `kprobe_profile`.
fn missed(context: &Context) -> Check {
    const FUNCTION: &str = "hrtimer_nanosleep";
    let tops = Tops::cleared(context);
    need_line(&tops.reference, &format!("p:there {FUNCTION}"))?;
    let own = &tops.own;
    own.set(
        FILE,
        &format!("r1:late/ret {FUNCTION}\np:late/entry {FUNCTION}"),
    )?;
    let instance = Instance::new(&context.root, "counts-missed")?;
    instance.set("events/late/enable", "1")?;
    let sleep = || std::thread::sleep(Duration::from_millis(300));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(sleep);
        }
    });
    instance.set("events/late/enable", "0")?;
    let (ret, entry) = (counts_of(own, "late/ret")?, counts_of(own, "late/entry")?);
    ensure!(ret.missed.is_some_and(|missed| missed > 0), "{ret:?}");
    ensure!(entry.hits >= 4 && ret.hits >= 1, "{entry:?}, {ret:?}");
    let profile = own.get("kprobe_profile")?;
    for (name, counted) in [("ret", ret), ("entry", entry)] {
        let line = profile
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .find(|words| words.first() == Some(&name));
        let missed = counted.missed.unwrap_or(0) + counted.own;
        let wanted = [
            name.to_string(),
            counted.hits.to_string(),
            missed.to_string(),
        ];
        ensure!(
            line.is_some_and(|line| line == wanted),
            "{wanted:?}: {profile}"
        );
    }
    Ok(())
}

fn example(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "p:there vfs_read count")?;
    tops.own.clear()?;
    using::run("dynamic.counts", &tops.own)?;
    let counted = counts_of(&tops.own, "files/large")?;
    ensure!(counted.hits > 0 && counted.filtered > 0, "{counted:?}");
    tops.own.clear()
}
