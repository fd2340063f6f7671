// SPDX-License-Identifier: GPL-2.0

//! Watchpoints: events of accesses to the kernel's memory. The stock kernel has none, so that there is nothing to
//! compare with: lines, texts and errors are those of later kernels.

use super::dynamic::{need_types, Tops};
use super::filter::log_of;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::kernel_modules::{Loaded, Modules};
use crate::module;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::using;
use crate::vsock;
use crate::Context;

pub const TESTS: &[Test] = &[
    test("watch.lines", 60, lines),
    test("watch.wrong_texts", 60, wrong_texts),
    test("watch.records", 60, records),
    test("watch.types", 60, types),
    test("watch.life", 60, life),
    test("watch.registers", 60, registers),
    test("watch.own_reads", 60, own_reads),
    test("watch.cpus", 120, cpus),
    test("watch.example", 60, example),
    test("modev.watched", 120, modules),
];

const FILE: &str = "dynamic_events";
/// The kernel's `panic_timeout`, an `int` that nobody else uses.
const VARIABLE: &str = "/proc/sys/kernel/panic";
/// So many debug registers has a CPU.
const REGISTERS: usize = 4;

/// The value of the variable, which is put back when this goes.
struct Kept(String);

impl Kept {
    fn read() -> Check<Self> {
        get().map(Self)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::write(VARIABLE, &self.0);
    }
}

fn get() -> Check<String> {
    std::fs::read_to_string(VARIABLE).map_err(|e| format!("{VARIABLE}: {e}"))
}

fn put(value: i32) -> Check {
    std::fs::write(VARIABLE, value.to_string()).map_err(|e| format!("{VARIABLE}: {e}"))
}

/// The records of an event, from the parenthesis on.
fn hits(tree: &Tree, event: &str) -> Check<Vec<String>> {
    let text = tree.get("trace")?;
    let what = format!(" {event}: (");
    let lines = text.lines().filter_map(|line| line.split_once(&what));
    Ok(lines.map(|(_, rest)| rest.to_string()).collect())
}

/// The arguments of a record.
fn arguments(hit: &str) -> &str {
    hit.split_once(") ").map_or("", |(_, rest)| rest)
}

/// What is written, and what the list shows.
const LINES: &[(&str, &str)] = &[
    ("w w@panic_timeout", "w:wprobes/panic_timeout w@panic_timeout:4"),
    ("w:one @panic_timeout", "w:wprobes/one rw@panic_timeout:4"),
    ("w:my/ rw@panic_timeout:2", "w:my/panic_timeout rw@panic_timeout:2"),
    ("w:my.two w@panic_timeout+1:1", "w:my/two w@panic_timeout+1:1"),
    ("w:back w@panic_timeout-0x4:0x4", "w:wprobes/back w@panic_timeout-4:4"),
    ("w:zero w@panic_timeout+0", "w:wprobes/zero w@panic_timeout:4"),
    (
        "w:args w@jiffies:8 $addr a=$value:u64 b=+0($addr):x32 c=@panic_timeout:s32 d=\\5 e=$comm:string f=$current",
        "w:wprobes/args w@jiffies:8 arg1=$addr a=$value:u64 b=+0($addr):x32 c=@panic_timeout:s32 d=\\5 e=$comm:string \
         f=$current",
    ),
    (
        "w:later w@jiffies:8 a=@nosuchsymbol",
        "w:wprobes/later w@jiffies:8 a=@nosuchsymbol",
    ),
    (
        "w:only w@jiffies:8 now=$value if now > 5",
        "w:wprobes/only w@jiffies:8 now=$value if now > 5",
    ),
];

/// Lines are taken, listed so that they can be written back, and removed by what the list says.
fn lines(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let mut report = Report::default();
    for (line, shown) in LINES {
        if let Err(error) = own.write(FILE, line.as_bytes()) {
            let log = log_of(own)?;
            report.expect(false, || format!("{line}: {error:?} {log}"));
            continue;
        }
        let list = own.get(FILE)?;
        report.expect(list == format!("{shown}\n"), || format!("{line}: {list}"));
        own.write_truncating(FILE, b"")
            .map_err(|e| format!("> {e:?}"))?;
        own.set(FILE, shown)?;
        let list = own.get(FILE)?;
        report.expect(list == format!("{shown}\n"), || format!("{shown}: {list}"));
        let (name, rest) = shown.split_once(' ').unwrap_or_default();
        let place = rest.split_once(" if ").map_or(rest, |(rest, _)| rest);
        let other = place.replacen(':', ":1", 1);
        let answer = own.write(FILE, format!("-{} {other}", &name[1..]).as_bytes());
        report.expect(answer == Err(ENOENT), || format!("{other}: {answer:?}"));
        let answer = own.write(FILE, format!("-{} {place}", &name[1..]).as_bytes());
        report.expect(answer.is_ok() && own.get(FILE)?.is_empty(), || {
            format!("-{name} {place}: {answer:?}")
        });
    }
    let file = "events/wprobes/later/enable";
    own.set(FILE, "w:later w@jiffies:8 a=@nosuchsymbol")?;
    let answer = own.write(file, b"1");
    report.expect(answer == Err(ENOENT), || format!("later: {answer:?}"));
    own.set(FILE, "-:later")?;
    // Those are files of other kinds.
    for file in ["kprobe_events", "uprobe_events"] {
        if own.exists(file) {
            let answer = own.write(file, b"w:e w@panic_timeout");
            report.expect(answer == Err(EINVAL), || format!("{file}: {answer:?}"));
        }
    }
    let format = own.get("README")?;
    report.expect(
        format.contains("w[:[<group>/][<event>]] [r|w|rw]@<addr>[:<len>]"),
        || "README does not have it".to_string(),
    );
    report.finish()
}

/// A line with `^` where the caret is, the text and the error.
const WRONG: &[(&str, &str, Errno)] = &[
    ("^w", "No argument expression", EINVAL),
    ("^w:x", "No argument expression", EINVAL),
    (
        "w^10 w@panic_timeout",
        "Watchpoint probe does not support maxactive",
        EINVAL,
    ),
    (
        "w^x:e w@panic_timeout",
        "Watchpoint probe does not support maxactive",
        EINVAL,
    ),
    ("w ^symbol", "Access memory address requires @", EINVAL),
    ("w ^a@symbol", "Bad memory access type", EINVAL),
    ("w ^x@panic_timeout", "Bad memory access type", EINVAL),
    ("w ^wr@panic_timeout", "Bad memory access type", EINVAL),
    // The processor has no such watchpoints.
    ("w ^r@panic_timeout", "Bad memory access type", EINVAL),
    ("w w@^symbol", "Invalid access memory address", ENOENT),
    ("w w@^", "Invalid access memory address", ENOENT),
    ("w @^symbol:8", "Invalid access memory address", ENOENT),
    (
        "w w@^nosuch:panic_timeout",
        "Invalid access memory address",
        ENOENT,
    ),
    (
        "w w@panic_timeout^+offset",
        "Invalid probed address or symbol",
        EINVAL,
    ),
    (
        "w w@panic_timeout^+99999999999",
        "Invalid probed address or symbol",
        EINVAL,
    ),
    (
        "w w@panic_timeout:^100",
        "This memory access length is not supported",
        EINVAL,
    ),
    (
        "w w@panic_timeout:^0",
        "This memory access length is not supported",
        EINVAL,
    ),
    (
        "w w@panic_timeout:^3",
        "This memory access length is not supported",
        EINVAL,
    ),
    (
        "w w@panic_timeout:^16",
        "This memory access length is not supported",
        EINVAL,
    ),
    (
        "w w@panic_timeout:^-4",
        "This memory access length is not supported",
        EINVAL,
    ),
    (
        "w w@panic_timeout:^",
        "This memory access length is not supported",
        EINVAL,
    ),
    (
        "w w@panic_timeout:^4x",
        "This memory access length is not supported",
        EINVAL,
    ),
    // Not aligned, of programs, of no address, and what each CPU has of its own.
    (
        "w w@^panic_timeout+1:4",
        "Invalid access memory address",
        EINVAL,
    ),
    (
        "w w@^panic_timeout+2:8",
        "Invalid access memory address",
        EINVAL,
    ),
    ("w w@^0x1000:4", "Invalid access memory address", EINVAL),
    ("w w@^0:4", "Invalid access memory address", EINVAL),
    ("w w@^cpu_number:4", "Invalid access memory address", EINVAL),
    // Code and data of rtrace.
    (
        "w rw@^rtrace_reserve:1",
        "Invalid access memory address",
        EINVAL,
    ),
    (
        "w rw@^rtrace:rtrace_reserve:1",
        "Invalid access memory address",
        EINVAL,
    ),
    (
        "w rw@^rtrace:__this_module:8",
        "Invalid access memory address",
        EINVAL,
    ),
    ("w:^ w@panic_timeout", "Event name is not specified", EINVAL),
    (
        "w:^/x w@panic_timeout",
        "Group name is not specified",
        EINVAL,
    ),
    (
        "w:a/^1x w@panic_timeout",
        "Event name must follow the same rules as C identifiers",
        EINVAL,
    ),
    (
        "w:e w@jiffies ^$arg1",
        "Invalid $-variable specified",
        EINVAL,
    ),
    (
        "w:e w@jiffies ^$arg*",
        "Invalid $-variable specified",
        EINVAL,
    ),
    (
        "w:e w@jiffies ^$retval",
        "Invalid $-variable specified",
        EINVAL,
    ),
    (
        "w:e w@jiffies ^$stack",
        "Invalid $-variable specified",
        EINVAL,
    ),
    (
        "w:e w@jiffies a=^$stack0",
        "Invalid $-variable specified",
        EINVAL,
    ),
    (
        "w:e w@jiffies ^$latency",
        "Invalid $-variable specified",
        EINVAL,
    ),
    (
        "w:e w@jiffies ^$address",
        "Invalid $-variable specified",
        EINVAL,
    ),
    ("w:e w@jiffies ^%ax", "Invalid $-variable specified", EINVAL),
    (
        "w:e w@jiffies a=+0(^%ax)",
        "Invalid $-variable specified",
        EINVAL,
    ),
    (
        "w:e w@jiffies ^name",
        "BTF is not available or not supported",
        EINVAL,
    ),
    (
        "w:e w@jiffies a=$value a=^$value",
        "This argument name is already used",
        EINVAL,
    ),
    (
        "w:e w@jiffies a=$addr:^string",
        "String accepts only memory argument",
        EINVAL,
    ),
    (
        "w:e w@jiffies a=$value:^u5",
        "Unknown type is specified",
        EINVAL,
    ),
    (
        "^w:there w@jiffies:8",
        "Watchpoint probe does not support sibling probes",
        EBUSY,
    ),
    (
        "^w:there w@panic_timeout:4",
        "Watchpoint probe does not support sibling probes",
        EBUSY,
    ),
    (
        "^w:sched/sched_switch w@jiffies",
        "Given group/event name is already used by another event",
        EEXIST,
    ),
    (
        "^w:kprobes/other w@jiffies",
        "Given group/event name is already used by another event",
        EEXIST,
    ),
];

/// Each of the lines gets its error, its text, and the caret where that is.
fn wrong_texts(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let there = "w:there w@panic_timeout:4\np:other vfs_read";
    own.set(FILE, there)?;
    let list = own.get(FILE)?;
    let mut report = Report::default();
    for (marked, text, error) in WRONG {
        // That of an argument is behind its name.
        let (line, at) = match marked.split_once("a=^") {
            Some((before, after)) => (format!("{before}a={after}"), before.len() + 2),
            None => (marked.replacen('^', "", 1), marked.find('^').unwrap_or(0)),
        };
        let at = match *text {
            "This argument name is already used" => at - 2,
            _ => at,
        };
        own.empty("error_log")?;
        let answer = own.write(FILE, line.as_bytes());
        report.expect(answer == Err(*error), || format!("{line}: {answer:?}"));
        let wanted = format!(
            "[] wprobe: error: {text}\n  Command: {line}\n{}^\n",
            " ".repeat("  Command: ".len() + at)
        );
        let log = log_of(own)?;
        report.expect(log == wanted, || format!("{log}, not {wanted}"));
        report.expect(own.get(FILE)? == list, || format!("{line} is left"));
    }
    report.finish()
}

/// Who writes is recorded, with what is there then; who reads, too, if that is asked for.
fn records(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let _kept = Kept::read()?;
    own.set(
        FILE,
        "w:watched/writes w@panic_timeout:4 now=$value:s32 at=$addr who=$comm again=@panic_timeout:s32\n\
         w:watched/all @panic_timeout now=+0($addr):s32\n\
         w:watched/some w@panic_timeout now=$value:s32 if now == 7\n\
         e:watched/follow watched/writes n=$now:s32",
    )?;
    let format = own.get("events/watched/writes/format")?;
    let mut report = Report::default();
    for part in [
        "field:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n",
        "field:s32 now;\toffset:16;\tsize:4;\tsigned:1;\n",
        "field:u64 at;\toffset:20;\tsize:8;\tsigned:0;\n",
        "field:__data_loc char[] who;\toffset:28;\tsize:4;\tsigned:1;\n",
        "print fmt: \"(%lx) now=%d at=0x%Lx who=\\\"%s\\\" again=%d\", REC->__probe_ip, REC->now, REC->at, \
         __get_str(who), REC->again\n",
    ] {
        report.expect(format.contains(part), || format!("{format} has no {part}"));
    }
    let into = Instance::new(&context.root, "rtg-watch")?;
    let other = Instance::new(&context.root, "rtg-watch-other")?;
    for tree in [&into, &other] {
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
    }
    // One after the other: an emulated processor tells of one watchpoint alone where several are at an address.
    let enable = |events: &[&str], value: &str| {
        let mut files = events
            .iter()
            .map(|event| format!("events/watched/{event}/enable"));
        files.try_for_each(|file| into.set(&file, value))
    };
    enable(&["writes", "follow"], "1")?;
    other.set("events/watched/writes/filter", "now > 5")?;
    other.set(
        "events/watched/writes/trigger",
        "hist:keys=__probe_ip.sym,now",
    )?;
    other.set("events/watched/writes/enable", "1")?;
    put(5)?;
    let read = get()?;
    put(7)?;
    enable(&["writes", "follow"], "0")?;
    // Nobody is told any more.
    put(9)?;
    let hist = other.get("events/watched/writes/hist")?;
    // A trigger would have it watched on.
    other.set(
        "events/watched/writes/trigger",
        "!hist:keys=__probe_ip.sym,now",
    )?;
    other.set("events/watched/writes/enable", "0")?;
    put(11)?;
    for event in ["all", "some"] {
        enable(&[event], "1")?;
        put(5)?;
        get()?;
        put(7)?;
        enable(&[event], "0")?;
        put(11)?;
    }
    report.expect(read == "5\n", || format!("read {read:?}"));

    let writes = hits(&into, "writes")?;
    let text = into.get("trace")?;
    let values: Vec<_> = writes.iter().map(|hit| arguments(hit)).collect();
    let comm = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
    let address = values
        .first()
        .and_then(|first| first.split(" at=0x").nth(1)?.split(' ').next());
    let address = address.unwrap_or_default();
    let wanted = |now: i32| {
        format!(
            "now={now} at=0x{address} who=\"{}\" again={now}",
            comm.trim()
        )
    };
    report.expect(values == [wanted(5), wanted(7)], || text.clone());
    report.expect(address.len() == 16 && address.starts_with("ffff"), || {
        format!("at {address}")
    });
    // By whom: in a function of the kernel, the same one for both.
    let places: Vec<_> = writes
        .iter()
        .map(|hit| hit.split_once(')').map_or("", |(place, _)| place))
        .collect();
    let is_named = |place: &&str| place.contains("+0x") && !place.starts_with("0x");
    report.expect(
        places.iter().all(is_named) && places.first() == places.last(),
        || text.clone(),
    );
    let writer = places.first().copied().unwrap_or_default();
    // As an NMI, with interrupts disabled, and preemption as it was.
    let flags = text.lines().filter(|line| line.contains(" writes: ("));
    for line in flags {
        let flags = line.split("] ").nth(1).unwrap_or_default();
        let (irqs, rest) = flags.split_at(1.min(flags.len()));
        report.expect(irqs == "d" && rest.get(1..3) == Some("Z."), || line.into());
    }
    let all = hits(&into, "all")?;
    let seen: Vec<_> = all.iter().map(|hit| arguments(hit)).collect();
    let reads = seen.iter().filter(|value| **value == "now=5").count();
    report.expect(
        reads >= 2 && seen.first() == Some(&"now=5") && seen.last() == Some(&"now=7"),
        || text.clone(),
    );
    let reader = all.iter().find(|hit| !hit.starts_with(writer));
    report.expect(reader.is_some(), || format!("all by {places:?}: {text}"));
    let some = hits(&into, "some")?;
    report.expect(some.len() == 1 && some[0].ends_with(" now=7"), || {
        text.clone()
    });
    let follow: Vec<_> = text
        .lines()
        .filter_map(|line| line.split_once(" n="))
        .map(|(_, n)| n)
        .collect();
    report.expect(follow == ["5", "7"], || text.clone());

    let filtered = hits(&other, "writes")?;
    let values: Vec<_> = filtered.iter().map(|hit| arguments(hit)).collect();
    report.expect(values == [wanted(7), wanted(9)], || format!("{filtered:?}"));
    let function = writer.split('+').next().unwrap_or_default();
    report.expect(
        hist.contains(&format!("] {function}"))
            && hist.matches("hitcount:          1").count() == 3,
        || format!("{function}: {hist}"),
    );
    report.finish()?;
    into.remove()?;
    other.remove()
}

/// Structs can be named where BTF knows them.
fn types(context: &Context) -> Check {
    need_types()?;
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let _kept = Kept::read()?;
    own.set(
        FILE,
        "w:watched/typed w@panic_timeout pid=$current->pid tgid=(task_struct)$current->tgid",
    )?;
    let into = Instance::new(&context.root, "rtg-watch")?;
    into.set("events/watched/enable", "1")?;
    put(5)?;
    into.set("events/watched/enable", "0")?;
    let found = hits(&into, "typed")?;
    let wanted = format!("pid={} tgid={}", sys::thread_id(), std::process::id());
    ensure!(
        found.len() == 1 && arguments(&found[0]) == wanted,
        "{found:?}, not {wanted}"
    );
    into.remove()
}

/// One that is enabled stays, removing one leaves its records, and when rtrace goes, nothing is watched any more.
fn life(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let _kept = Kept::read()?;
    let before = Instance::new(&context.root, "watch-before")?;
    own.set(FILE, "w:watched/life w@panic_timeout now=$value:s32")?;
    let after = Instance::new(&context.root, "watch-after")?;
    for tree in [&*before, &*after] {
        tree.set("events/watched/enable", "1")?;
    }
    put(5)?;
    for line in ["-:watched/life", "-:watched/", "-:life w@panic_timeout:4"] {
        ensure_eq!(own.write(FILE, line.as_bytes()), Err(EBUSY), "{line}");
    }
    ensure_eq!(own.write_truncating(FILE, b""), Err(EBUSY), ">");
    let counts = || -> Check<_> { Ok((hits(&before, "life")?.len(), hits(&after, "life")?.len())) };
    ensure_eq!(counts()?, (1, 1), "records");
    before.set("events/watched/enable", "0")?;
    put(6)?;
    ensure_eq!(counts()?, (1, 2), "records");
    after.remove()?;
    put(7)?;
    let text = before.get("trace")?;
    own.set(FILE, "-:watched/life")?;
    ensure!(!before.exists("events/watched"), "the folder is left");
    ensure_eq!(before.get("trace")?, text, "records of a removed event");
    before.remove()?;

    // It goes while all registers are in use, of an instance as well.
    let lines = (0..REGISTERS).map(|n| format!("w:watched/e{n} rw@panic_timeout\n"));
    let lines: String = lines.collect();
    for _ in 0..2 {
        tops.own.set(FILE, &lines)?;
        tops.own.set("events/watched/enable", "1")?;
        put(8)?;
        module::reload(context)?;
        put(9)?;
        ensure_eq!(tops.own.get(FILE)?, "", "left");
    }
    Ok(())
}

/// Variables with the files that set them. Each is an `int`.
const VARIABLES: [(&str, &str); REGISTERS + 1] = [
    ("kernel/panic", "panic_timeout"),
    ("vm/swappiness", "vm_swappiness"),
    ("vm/dirty_ratio", "vm_dirty_ratio"),
    ("kernel/randomize_va_space", "randomize_va_space"),
    ("vm/overcommit_ratio", "sysctl_overcommit_ratio"),
];

/// A CPU has four of them: who asks for one more is told so, and gets it when another one is given back.
fn registers(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let file = |name: &str| format!("/proc/sys/{name}");
    for (number, (_, symbol)) in VARIABLES.iter().enumerate() {
        let line = format!("w:watched/e{number} w@{symbol} now=$value:s32");
        own.set(FILE, &line)?;
    }
    let read = |(name, _): &(&str, &str)| std::fs::read_to_string(file(name));
    let before: Result<Vec<_>, _> = VARIABLES.iter().map(read).collect();
    let before = before.map_err(|e| e.to_string())?;
    let put_all = |values: &[String]| -> Check {
        for ((name, _), value) in VARIABLES.iter().zip(values) {
            std::fs::write(file(name), value).map_err(|e| format!("{name}: {e}"))?;
        }
        Ok(())
    };
    let all = |value: &str| vec![value.to_string(); VARIABLES.len()];
    let into = Instance::new(&context.root, "rtg-watch")?;
    let enable = |n: usize, value: &str| {
        let file = format!("events/watched/e{n}/enable");
        into.write(&file, value.as_bytes()).map(drop)
    };
    let story = || -> Check {
        for n in 0..REGISTERS {
            ensure_eq!(enable(n, "1"), Ok(()), "register {n}");
        }
        for _ in 0..3 {
            ensure_eq!(enable(REGISTERS, "1"), Err(ENOSPC), "one more");
            let state = into.get(&format!("events/watched/e{REGISTERS}/enable"))?;
            ensure_eq!(state, "0\n", "one more is off");
        }
        put_all(&all("1"))?;
        ensure_eq!(enable(1, "0"), Ok(()), "given back");
        ensure_eq!(enable(REGISTERS, "1"), Ok(()), "one more");
        put_all(&all("2"))?;
        into.set("events/watched/enable", "0")?;
        put_all(&all("1"))
    };
    let told = story();
    put_all(&before)?;
    told?;
    for n in 0..=REGISTERS {
        let found = hits(&into, &format!("e{n}"))?;
        let values: Vec<_> = found.iter().map(|hit| arguments(hit)).collect();
        let wanted: &[&str] = match n {
            1 => &["now=1"],
            REGISTERS => &["now=2"],
            _ => &["now=1", "now=2"],
        };
        ensure_eq!(values, wanted, "e{n}");
    }
    into.remove()
}

/// What a writer reads for each event is watched: its hits are records in the middle of others, and have none
/// themselves.
fn own_reads(context: &Context) -> Check {
    const CALLS: usize = 5;
    const GETPPID: usize = 110;
    let tops = Tops::cleared(context);
    let own = &tops.own;
    if own
        .write(FILE, b"w:watched/clock rw@tk_fast_mono:8")
        .is_err()
    {
        skip!("this kernel has no such variable");
    }
    own.set(FILE, &format!("p:watched/call {}", sys::getppid_function()))?;
    let into = Instance::new(&context.root, "rtg-watch")?;
    into.set("trace_clock", "mono")?;
    into.set("options/event-counts", "1")?;
    into.set("set_event_pid", &sys::thread_id().to_string())?;
    let file = "events/watched/clock/enable";
    let mut before = 0;
    for (value, least) in [("1", CALLS), ("0", 0)] {
        into.clear()?;
        into.set(file, value)?;
        into.set("events/watched/call/enable", "1")?;
        for _ in 0..CALLS {
            sys::call(GETPPID, [0; 6]);
        }
        into.set("events/watched/call/enable", "0")?;
        into.set(file, "0")?;
        let text = into.get("trace")?;
        let count = |event: &str| text.lines().filter(|line| line.contains(event)).count();
        let (calls, hits) = (count(" call: ("), count(" clock: ("));
        let lost = into.get("events/watched/call/lost")?;
        let lost: usize = lost.trim().parse().map_err(|e| format!("{lost}: {e}"))?;
        // A writer that is interrupted each time it reads the clock gives up in the end.
        ensure_eq!(
            calls + lost - before,
            CALLS,
            "{calls} recorded, {hits} hits"
        );
        ensure!(
            hits >= least && (hits == 0) == (least == 0) && (least != 0 || calls == CALLS),
            "{hits} hits, {calls} recorded"
        );
        println!("{hits} hits, {calls} recorded, {lost} lost");
        before = lost;
    }
    into.remove()
}

/// Each CPU watches, one that comes back while the event is enabled, too.
fn cpus(context: &Context) -> Check {
    let count = sys::online_cpus();
    if count < 2 {
        skip!("one CPU cannot go");
    }
    let online = format!("/sys/devices/system/cpu/cpu{}/online", count - 1);
    let switch = |value: &str| {
        std::fs::write(&online, value).map_err(|e| format!("{online} <- {value}: {e}"))
    };
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let _kept = Kept::read()?;
    own.set(FILE, "w:watched/cpus w@panic_timeout now=$value:s32")?;
    let into = Instance::new(&context.root, "rtg-watch")?;
    let put_on = |cpu: usize, value: i32| {
        // A task of its own, so that this one may run anywhere.
        std::thread::scope(|scope| {
            let task = scope.spawn(|| {
                sys::pin_to(cpu);
                put(value)
            });
            task.join().unwrap_or(Err("the task died".into()))
        })
    };
    let story = || -> Check {
        into.set("events/watched/enable", "1")?;
        for cpu in 0..count {
            put_on(cpu, 10 + cpu as i32)?;
        }
        switch("0")?;
        put_on(0, 20)?;
        switch("1")?;
        put_on(count - 1, 30)?;
        // It is off while a CPU is away.
        switch("0")?;
        into.set("events/watched/enable", "0")?;
        put_on(0, 40)?;
        switch("1")?;
        put_on(count - 1, 50)?;
        // It is on before a CPU comes.
        switch("0")?;
        into.set("events/watched/enable", "1")?;
        switch("1")?;
        put_on(count - 1, 60)?;
        into.set("events/watched/enable", "0")
    };
    let told = story();
    let _ = switch("1");
    told?;
    let found = hits(&into, "cpus")?;
    let values: Vec<_> = found.iter().map(|hit| arguments(hit).to_string()).collect();
    let first = (0..count).map(|cpu| 10 + cpu as i32);
    let wanted = first
        .chain([20, 30, 60])
        .map(|value| format!("now={value}"));
    ensure_eq!(values, wanted.collect::<Vec<_>>(), "records");
    into.remove()
}

/// The example of the documentation names the function that writes the variable.
fn example(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let _kept = Kept::read()?;
    tops.own.clear()?;
    let text = using::run("dynamic.watch", &tops.own)?;
    tops.own.set("events/who/enable", "0")?;
    tops.own.clear()?;
    ensure!(
        text.contains(" changes: (") && text.contains("+0x") && text.contains(") now=30"),
        "{text}"
    );
    Ok(())
}

/// A variable of a module is watched while the module is there, at its place of then.
fn modules(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    let own = &tops.own;
    let modules = Modules::new()?;
    if sys::softirqs_are_of_tasks() {
        skip!("a lock that nobody waits for is taken elsewhere in it");
    }
    let line = "w:watched/lock rw@vsock:vsock_table_lock at=$addr";
    let early = own.write(FILE, line.as_bytes());
    ensure_eq!(early, Err(ENOENT), "the module is not there");
    let into = Instance::new(&context.root, "rtg-watch")?;
    let count = |event: &str| Ok::<_, String>(hits(&into, event)?.len());
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock-loopback")?;
    if !module::is_loaded("vsock") {
        skip!("vsock is part of the kernel");
    }
    own.set(FILE, line)?;
    own.set(FILE, "w:watched/bare rw@vsock_table_lock:4")?;
    for event in ["bare", "lock"] {
        into.set("events/watched/enable", "0")?;
        into.set(&format!("events/watched/{event}/enable"), "1")?;
        vsock::talk(2)?;
    }
    let first = count("lock")?;
    ensure!(
        count("bare")? > 0,
        "without the module's name nobody takes it"
    );
    ensure!(first > 0, "nobody takes the lock");
    loaded.remove()?;
    let gone = count("lock")?;
    into.clear()?;
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock-loopback")?;
    vsock::talk(2)?;
    let second = count("lock")?;
    ensure!(
        second > 0,
        "{first} and {gone} before, none since it came back"
    );
    // Enabled and disabled without the module, too.
    into.set("events/watched/lock/enable", "0")?;
    loaded.remove()?;
    into.set("events/watched/bare/enable", "1")?;
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock-loopback")?;
    let before = count("bare")?;
    vsock::talk(2)?;
    ensure!(
        count("bare")? > before,
        "none of one that was enabled before"
    );
    loaded.remove()?;
    into.set("events/watched/enable", "0")?;
    own.set(FILE, "-:watched/")?;
    into.remove()
}
