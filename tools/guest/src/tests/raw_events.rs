// SPDX-License-Identifier: GPL-2.0

//! `events/raw`: events of tracepoints that are known only by their prototype, from BTF.

use super::contexts;
use super::{test, Test};
use crate::check::{Check, Report};
use crate::client::{lines, Client};
use crate::errno::*;
use crate::format::{Format, Kind};
use crate::module;
use crate::soak::Share;
use crate::stream::{self, Record};
use crate::stress::Stress;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload::{self, Load};
use crate::Context;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{Read, Seek};
use std::path::Path;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("rawev.rest", 60, rest),
    test("rawev.all", 120, all),
    test("rawev.none", 60, none),
    test("rawev.formats", 120, formats),
    test("rawev.asked_for", 60, asked_for),
    test("rawev.text", 60, text),
    test("rawev.twins", 120, twins),
    test("rawev.everything", 180, everything),
    test("rawev.module", 120, module_events),
    test("rawev.trace_cmd", 120, trace_cmd),
];

/// Raw events of all tracepoints, until dropped.
struct AllRaw<'a>(&'a Context);

impl<'a> AllRaw<'a> {
    fn new(context: &'a Context) -> Check<Self> {
        reload_with(context, "raw_events=2")?;
        Ok(AllRaw(context))
    }
}

impl Drop for AllRaw<'_> {
    fn drop(&mut self) {
        if let Err(problem) = reload_with(self.0, "") {
            println!("the module does not come back: {problem}");
        }
    }
}

fn reload_with(context: &Context, parameters: &str) -> Check {
    if !context.is_rtracefs() {
        skip!("rtrace's own");
    }
    module::reload_with(context, parameters)
}

/// Whether `name` is an event, not a file beside the events.
fn is_folder(tree: &Tree, name: &str) -> bool {
    tree.file(name).is_dir()
}

fn raw_names(tree: &Tree) -> Check<BTreeSet<String>> {
    let names = tree.list("events/raw")?.into_iter();
    Ok(names
        .filter(|name| is_folder(tree, &format!("events/raw/{name}")))
        .collect())
}

/// System and name of all events but the raw ones.
fn others(tree: &Tree) -> Check<Vec<(String, String)>> {
    let text = tree.get("available_events")?;
    let names = text.lines().filter_map(|line| line.split_once(':'));
    Ok(names
        .filter(|(system, _)| *system != "raw")
        .map(|(system, name)| (system.to_string(), name.to_string()))
        .collect())
}

/// The names of ftrace's events that are tracepoints, which have the same name.
fn tracepoints(context: &Context) -> Check<BTreeSet<String>> {
    let events = others(&Tree::at(&context.reference))?;
    Ok(events
        .into_iter()
        // What rtstress or another module brings is not the kernel's.
        .filter(|(system, _)| !["syscalls", "rtstress", "rtsoak"].contains(&system.as_str()))
        .map(|(_, name)| name)
        .collect())
}

/// As a user finds it: each tracepoint is one event, here or there. The events of our tracer `osnoise` are no
/// tracepoints; a kernel that has that tracer has some of the same names.
fn rest(context: &Context) -> Check {
    reload_with(context, "")?;
    let top = Tree::at(&context.root);
    let raw = raw_names(&top)?;
    let others: BTreeSet<_> = others(&top)?
        .into_iter()
        .filter(|(system, _)| system != "osnoise")
        .map(|(_, name)| name)
        .collect();
    let both: Vec<_> = raw.intersection(&others).collect();
    ensure!(both.is_empty(), "twice: {both:?}");
    let missing: Vec<_> = tracepoints(context)?
        .into_iter()
        .filter(|name| !raw.contains(name) && !others.contains(name))
        .collect();
    ensure!(missing.is_empty(), "ftrace has besides: {missing:?}");
    ensure!(raw.contains("sched_entry_tp"), "a tracepoint without event");
    Ok(())
}

fn all(context: &Context) -> Check {
    let _all = AllRaw::new(context)?;
    let top = Tree::at(&context.root);
    let raw = raw_names(&top)?;
    println!("{} raw events", raw.len());
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    if release.is_ok_and(|release| release.trim_end().ends_with("-amd64")) {
        ensure!(raw.len() >= 860, "only {} raw events", raw.len());
    }
    let missing: Vec<_> = tracepoints(context)?
        .into_iter()
        .filter(|name| !raw.contains(name))
        .collect();
    ensure!(missing.is_empty(), "no raw event: {missing:?}");
    let listed = top.get("available_events")?;
    let listed = listed.lines().filter(|line| line.starts_with("raw:"));
    ensure_eq!(listed.count(), raw.len(), "available_events");
    Ok(())
}

fn none(context: &Context) -> Check {
    reload_with(context, "raw_events=0")?;
    let top = Tree::at(&context.root);
    let there = top.exists("events/raw");
    let listed = top.get("available_events")?.contains("raw:");
    reload_with(context, "")?;
    ensure!(!there && !listed, "folder: {there}, listed: {listed}");
    Ok(())
}

/// One conversion per argument, each of a field that is there: what libtraceevent's parser wants.
fn check_print_fmt(text: &str, format: &Format) -> Check {
    let Some((_, print)) = text.trim_end().split_once("\nprint fmt: \"") else {
        fail!("no print fmt")
    };
    let Some((pattern, arguments)) = print.split_once('"') else {
        fail!("print fmt does not end: {print}")
    };
    let arguments: Vec<_> = arguments
        .split(", REC->")
        .skip(1)
        .map(str::to_string)
        .collect();
    let own = format.fields.iter().filter(|f| f.offset >= 8);
    let names: Vec<_> = own.clone().map(|f| f.name.clone()).collect();
    ensure_eq!(arguments, names, "arguments of print fmt");
    let words: Vec<_> = pattern.split(' ').filter(|w| !w.is_empty()).collect();
    ensure_eq!(words.len(), names.len(), "words of print fmt");
    for (word, field) in words.iter().zip(own) {
        let Some((name, conversion)) = word.split_once('=') else {
            fail!("{word}")
        };
        ensure_eq!(name, field.name, "name in print fmt");
        let wanted: &[&str] = match field.size {
            8 => &["%p", "%lld", "%llu", "0x%llx"],
            4 => &["%d", "%u", "0x%x"],
            _ => &["%d", "%u"],
        };
        ensure!(
            wanted.contains(&conversion),
            "{word} of {} bytes",
            field.size
        );
    }
    Ok(())
}

fn check_format(top: &Tree, name: &str) -> Check<u16> {
    let folder = format!("events/raw/{name}");
    let text = top.get(&format!("{folder}/format"))?;
    ensure!(text.starts_with(&format!("name: {name}\nID: ")), "name");
    let format = Format::parse(&text)?;
    let id = top.get(&format!("{folder}/id"))?;
    ensure_eq!(id, format!("{}\n", format.id), "id");
    let mut end = 8;
    for field in format.fields.iter().filter(|f| f.offset >= 8) {
        ensure!([1, 2, 4, 8].contains(&field.size), "{field:?}");
        ensure!(
            field.offset % field.size == 0 && field.offset >= end,
            "{field:?} behind {end}"
        );
        ensure!(field.offset < end + field.size, "{field:?} leaves a hole");
        end = field.offset + field.size;
    }
    let types = text.lines().filter(|l| l.starts_with("\tfield:")).skip(4);
    for line in types {
        let pointer = line.contains('*');
        ensure!(!pointer || line.contains("\tsize:8;\tsigned:0;"), "{line}");
        ensure!(!line.contains(['[', '(']), "{line}");
    }
    check_print_fmt(&text, &format)?;
    Ok(format.id)
}

fn formats(context: &Context) -> Check {
    let _all = AllRaw::new(context)?;
    let top = Tree::at(&context.root);
    let mut report = Report::default();
    let mut ids = BTreeSet::new();
    for name in raw_names(&top)? {
        match check_format(&top, &name) {
            Ok(id) => report.expect(ids.insert(id), || format!("{name}: id {id} twice")),
            Err(problem) => report.add(format!("{name}: {problem}")),
        }
    }
    for event in ["sched_switch", "irq_handler_entry"] {
        println!("{}", top.get(&format!("events/raw/{event}/format"))?);
    }
    // What the headers of these say.
    for (event, field) in [
        ("sched_switch", "\tfield:bool preempt;\toffset:8;\tsize:1;\tsigned:0;\n\tfield:struct task_struct * prev;\toffset:16;\tsize:8;\tsigned:0;\n"),
        ("irq_handler_entry", "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:struct irqaction * action;\toffset:16;"),
        ("sys_enter", "\tfield:struct pt_regs * regs;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:long int id;\toffset:16;\tsize:8;\tsigned:1;\n"),
    ] {
        let text = top.get(&format!("events/raw/{event}/format"))?;
        report.expect(text.contains(field), || format!("{event}: {text}"));
    }
    report.finish()
}

/// Asking for all events gives no raw events, asking by name does; all can be switched off.
fn asked_for(context: &Context) -> Check {
    reload_with(context, "")?;
    let own = Instance::new(&context.root, "rtg-own")?;
    let raw_on = || -> Check<usize> {
        let text = own.get("set_event")?;
        Ok(text.lines().filter(|line| line.starts_with("raw:")).count())
    };
    let total = raw_names(&own)?.len();
    const ONE: &str = "events/raw/sched_entry_tp/enable";

    for (file, all, off) in [
        ("events/enable", "1", "0"),
        ("set_event", "*:*", "!*:*"),
        ("set_event", ":", "!*:*"),
    ] {
        own.set(file, all)?;
        ensure_eq!(raw_on()?, 0, "{file}: {all:?}");
        ensure_eq!(own.get("events/raw/enable")?, "0\n", "{file}: {all:?}");
        ensure_eq!(own.get("events/enable")?, "1\n", "all but raw");
        own.set(file, off)?;
        ensure_eq!(own.get("set_event")?, "", "{file}: {off:?}");
    }
    for (file, text, wanted) in [
        (ONE, "1", 1),
        ("events/raw/enable", "1", total),
        ("set_event", "raw:*", total),
        ("set_event", "raw", total),
        ("set_event", "raw:sched_entry_tp", 1),
        ("set_event", "sched_entry_tp", 1),
    ] {
        own.set(file, text)?;
        ensure_eq!(raw_on()?, wanted, "{file}: {text:?}");
        let state = if wanted == 1 { "X\n" } else { "1\n" };
        ensure_eq!(own.get("events/raw/enable")?, state, "{file}: {text:?}");
        ensure_eq!(own.get("events/enable")?, "X\n", "{file}: {text:?}");
        own.set("events/enable", "0")?;
        ensure_eq!(own.get("set_event")?, "", "off after {file}: {text:?}");
    }
    for (file, text, errno) in [
        (ONE, "2", EINVAL),
        ("events/raw/enable", "x", EINVAL),
        ("set_event", "raw:no_such_tp", EINVAL),
        ("set_event", "raw:sched_switch", EINVAL),
    ] {
        ensure_eq!(
            own.write(file, text.as_bytes()).err(),
            Some(errno),
            "{file}: {text}"
        );
        ensure_eq!(raw_on()?, 0, "{file}: {text}");
    }
    Ok(())
}

/// A number of the record as the field's format prints it.
fn shown(record: &Record, field: &crate::format::Field, signed: bool) -> String {
    let value = record.number(field.offset, field.size);
    let above = 64 - 8 * field.size as u32;
    match signed {
        true => ((value << above) as i64 >> above).to_string(),
        false => value.to_string(),
    }
}

/// What `trace` says is what the record holds; an address is not shown as it is.
fn text(context: &Context) -> Check {
    reload_with(context, "")?;
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("buffer_size_kb", "4000")?;
    const EVENTS: [&str; 4] = [
        "sched_entry_tp",
        "sched_set_state_tp",
        "sched_update_nr_running_tp",
        "sched_exit_tp",
    ];
    let mut formats = HashMap::new();
    for event in EVENTS {
        let text = own.get(&format!("events/raw/{event}/format"))?;
        let format = Format::parse(&text)?;
        formats.insert(format.id, (event, format, text));
        own.set(&format!("events/raw/{event}/enable"), "1")?;
    }
    workload::mixed(3);
    own.set("events/enable", "0")?;

    let mut seen = BTreeMap::new();
    for cpu in 0..sys::online_cpus() {
        let text = own.get(&format!("per_cpu/cpu{cpu}/trace"))?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let records = stream::drain_cpu(&own, cpu)?.records;
        ensure_eq!(lines.clone().count(), records.len(), "lines of cpu {cpu}");
        for (line, record) in lines.zip(&records) {
            let Some((event, format, declared)) = formats.get(&record.id()) else {
                fail!("unknown event in {line}")
            };
            let Some((_, words)) = line.split_once(&format!(": {event}: ")) else {
                fail!("{event} is {line}")
            };
            let fields = format.fields.iter().filter(|f| f.offset >= 8);
            let words: Vec<_> = words.split(' ').collect();
            ensure_eq!(words.len(), fields.clone().count(), "{line}");
            for (word, field) in words.iter().zip(fields) {
                let name = &field.name;
                let place = format!(";\toffset:{};\tsize:{};\t", field.offset, field.size);
                if declared.contains(&format!("{name}=%p")) {
                    let address = record.number(field.offset, 8);
                    ensure!(address >> 63 == 1, "no address: {address:x}");
                    ensure!(!word.contains(&format!("{address:x}")), "{line}");
                } else {
                    let signed = declared.contains(&format!("{name}{place}signed:1;"));
                    let wanted = format!("{name}={}", shown(record, field, signed));
                    ensure_eq!(*word, wanted, "{line}");
                }
            }
            *seen.entry(*event).or_insert(0) += 1;
        }
    }
    println!("{seen:?}");
    ensure_eq!(seen.len(), EVENTS.len(), "events that came");
    Ok(())
}

/// A field that the event of the header has under the name and with the size of an argument, with
/// another meaning.
const OTHER_MEANING: &[(&str, &str)] = &[];

/// The origin of a record: the task, or the CPU when it idles.
fn maker(record: &Record) -> (i32, usize) {
    match record.pid() {
        0 => (0, record.cpu),
        pid => (pid, 0),
    }
}

/// Fields that are compared in each run; a kernel with less work to do than any guest has them.
const COMPARED: &[&str] = &[
    "irq_handler_entry.irq",
    "percpu_alloc_percpu.size",
    "percpu_alloc_percpu.bytes_alloc",
    "percpu_alloc_percpu.is_atomic",
    "sched_stat_runtime.runtime",
    "sys_enter.id",
    "timer_start.timer",
];

/// Every tracepoint as its own event and as the raw one, at the same time: what has the same name and
/// size in both has the same value. The kernel takes its time to switch tracepoints with two probes.
fn twins(context: &Context) -> Check {
    let _all = AllRaw::new(context)?;
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("tracing_on", "0")?;
    own.set("trace_clock", "mono")?;
    own.set("buffer_size_kb", "40000")?;
    let raw = raw_names(&own)?;
    let share = Share::one_of(6);
    let needed = |name: &str| {
        COMPARED
            .iter()
            .any(|row| row.starts_with(&format!("{name}.")))
    };
    // By id: the tracepoint, whether it is the raw one, and its format.
    let mut formats = HashMap::new();
    for (system, name) in others(&own.top())? {
        if !raw.contains(&name) || !(share.has(&name) || needed(&name)) {
            continue;
        }
        for event in [&system, "raw"] {
            own.set(&format!("events/{event}/{name}/enable"), "1")?;
        }
        for (system, is_raw) in [(system.as_str(), false), ("raw", true)] {
            let text = own.get(&format!("events/{system}/{name}/format"))?;
            let format = Format::parse(&text)?;
            formats.insert(format.id, (name.clone(), is_raw, format));
        }
    }
    println!("{} tracepoints", formats.len() / 2);
    own.set("tracing_on", "1")?;
    workload::mixed(3);
    // Arguments on the stack: an instance has memory of each CPU, `percpu_alloc_percpu` ten of them.
    Instance::new(&context.root, "rtg-other")?.remove()?;
    own.set("tracing_on", "0")?;
    own.set("events/enable", "0")?;

    let mut records: Vec<_> = stream::drain(&own)?
        .into_iter()
        .flat_map(|cpu| cpu.records)
        .collect();
    records.sort_by_key(|record| record.ts);
    let mut report = Report::default();
    let mut open: HashMap<_, Vec<Record>> = HashMap::new();
    let mut compared: BTreeMap<String, usize> = BTreeMap::new();
    let mut pairs: HashMap<_, usize> = HashMap::new();
    for record in records {
        let Some((name, is_raw, format)) = formats.get(&record.id()) else {
            continue;
        };
        // An interrupt between the two has its own two in between.
        let waiting = open.entry((maker(&record), name)).or_default();
        let other = |last: &Record| formats.get(&last.id()).is_some_and(|of| of.1 != *is_raw);
        if !waiting.last().is_some_and(other) {
            waiting.push(record);
            continue;
        }
        let Some(first) = waiting.pop() else { continue };
        let Some((_, _, of_first)) = formats.get(&first.id()) else {
            continue;
        };
        let plain = |f: &&crate::format::Field| f.kind == Kind::Plain && f.offset >= 8;
        let mut differences = Vec::new();
        let mut fields = Vec::new();
        for field in format.fields.iter().filter(plain) {
            let same = |f: &&crate::format::Field| f.name == field.name && f.size == field.size;
            let Some(twin) = of_first.fields.iter().filter(plain).find(same) else {
                continue;
            };
            if OTHER_MEANING.contains(&(name.as_str(), field.name.as_str())) {
                continue;
            }
            let values = (
                record.number(field.offset, field.size),
                first.number(twin.offset, twin.size),
            );
            if values.0 != values.1 {
                let (found, wanted) = values;
                differences.push(format!("{name}.{}: {found:x} and {wanted:x}", field.name));
            }
            fields.push(format!("{name}.{}", field.name));
        }
        let pairs = pairs.entry((maker(&record), name)).or_insert(0);
        if *pairs == 0 && !differences.is_empty() {
            // Recording went on between the two probes of the first.
            waiting.push(record);
            *pairs = 1;
            continue;
        }
        *pairs += 1;
        differences
            .into_iter()
            .for_each(|problem| report.add(problem));
        for field in fields {
            *compared.entry(field).or_insert(0) += 1;
        }
    }
    println!("compared: {compared:?}");
    for needed in COMPARED {
        // A guest with a virtual disk and an idle one have no interrupt of a device.
        if needed.starts_with("irq_handler") && !compared.contains_key(*needed) {
            continue;
        }
        report.expect(compared.contains_key(*needed), || {
            format!("{needed} was not compared")
        });
    }
    report.expect(compared.len() >= share.least(40), || {
        format!("only {} fields compared", compared.len())
    });
    report.finish()
}

/// All events, some of them in two instances, switched on and off under load.
fn everything(context: &Context) -> Check {
    let _all = AllRaw::new(context)?;
    let first = Instance::new(&context.root, "rtg-own")?;
    let second = Instance::new(&context.root, "rtg-other")?;
    let _load = Load::start();
    let events = |tree: &Tree| -> Check<u64> {
        (0..sys::online_cpus()).try_fold(0, |sum, cpu| {
            let stats = format!("per_cpu/cpu{cpu}/stats");
            Ok(sum + tree.number(&stats, "entries")? + tree.number(&stats, "overrun")?)
        })
    };
    // The kernel takes its time to switch tracepoints with several probes: a few are enough.
    for event in ["sched_switch", "sched_entry_tp", "kfree", "sys_enter"] {
        second.set(&format!("events/raw/{event}/enable"), "1")?;
    }
    // Nor need it be all at once; `asked_for` has them all.
    let share = Share::one_of(25);
    for event in raw_names(&first)? {
        if share.has(&event) || event == "sched_switch" {
            first.set(&format!("events/raw/{event}/enable"), "1")?;
        }
    }
    first.set("events/enable", "1")?;
    let before = events(&first)?;
    let many = || events(&first).is_ok_and(|now| now > before + 5_000);
    ensure!(
        sys::wait_until(Duration::from_secs(60), many),
        "few events: {} after {before}",
        events(&first)?
    );
    // Printing them reads every kind of record.
    let mut file = first.open("trace").map_err(|e| format!("trace: {e}"))?;
    let mut text = String::new();
    let (mut round, mut read) = (0, Ok(0));
    let raw_line = sys::wait_until(Duration::from_secs(10), || {
        let mut some = vec![0; 1 << 20];
        read = file.rewind().and_then(|()| file.read(&mut some));
        let n = *read.as_ref().unwrap_or(&0);
        text.push_str(&String::from_utf8_lossy(&some[..n]));
        round += 1;
        read.is_err() || round >= 3 && text.contains("sched_switch: preempt=")
    });
    read.map_err(|e| format!("trace: {e}"))?;
    ensure!(raw_line, "no raw line");
    ensure!(!text.contains("[UNKNOWN"), "a record that nobody knows");
    second.remove()?;
    first.set("events/enable", "0")?;
    ensure_eq!(first.get("set_event")?, "", "all off");
    Ok(())
}

/// A module's tracepoint is an event as long as the module is loaded; written to in all contexts.
fn module_events(context: &Context) -> Check {
    reload_with(context, "")?;
    const FOLDER: &str = "events/raw/rtstress_write";
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("buffer_size_kb", "20000")?;
    ensure!(!own.exists(FOLDER), "{FOLDER} before the module");
    let mut ids = BTreeSet::new();
    for _ in 0..2 {
        let writers = Stress::start(context, "ms=0 pause_us=100 instance=");
        let there = || own.exists(FOLDER);
        let done = Duration::from_secs(10);
        let came = sys::wait_until(done, || {
            there()
                || writers.is_finished()
                || Path::new("/sys/module/rtstress/parameters").exists()
        });
        // It comes before the module begins to run.
        let came = came && sys::wait_until(Duration::from_secs(1), there);
        if !came {
            writers.end()?;
            module::unload(contexts::NAME).map_err(|e| format!("unload: {e}"))?;
            if Path::new("/sys/kernel/btf/rtstress").exists() {
                fail!("{FOLDER} did not come");
            }
            skip!("this kernel shows no BTF of modules");
        }
        let on = own.set(&format!("{FOLDER}/enable"), "1");
        // Some of each CPU's writers, however late they are.
        sys::wait_until(Duration::from_secs(10), || {
            let entries = |cpu| own.number(&format!("per_cpu/cpu{cpu}/stats"), "entries");
            let enough = |cpu| entries(cpu).is_ok_and(|entries| entries > 1000);
            writers.is_finished() || (0..sys::online_cpus()).all(enough)
        });
        writers.end()?;
        on?;
        check_format(&own, "rtstress_write")?;
        let format = Format::parse(&own.get(&format!("{FOLDER}/format"))?)?;
        ids.insert(format.id);
        let mut open = own
            .open(&format!("{FOLDER}/format"))
            .map_err(|e| format!("open: {e}"))?;
        module::unload(contexts::NAME).map_err(|e| format!("unload: {e}"))?;

        ensure!(!own.exists(FOLDER), "{FOLDER} behind the module");
        let read = open.read(&mut [0; 10]).map_err(Errno::from);
        ensure_eq!(read.err(), Some(ENODEV), "read of an open file");
        ensure_eq!(own.get("set_event")?, "", "set_event");
        let (mut count, mut levels) = (0, BTreeSet::new());
        for record in stream::drain(&own)?.into_iter().flat_map(|cpu| cpu.records) {
            ensure_eq!(record.id(), format.id, "id");
            let (address, len) = (record.number(8, 8), record.number(16, 4));
            ensure!(address >> 63 == 1, "address {address:x}");
            ensure!((20..4096).contains(&len) && len % 4 == 0, "length {len}");
            levels.insert(record.flags() & 0x58);
            count += 1;
        }
        println!("{count} records, contexts {levels:x?}");
        ensure!(count > 100, "only {count} records");
        ensure!(levels.iter().any(|flags| flags & 0x40 != 0), "none in NMI");
        ensure!(levels.len() >= 4, "contexts {levels:x?}");
    }
    ensure_eq!(ids.len(), 1, "ids of the same event");
    Ok(())
}

/// libtraceevent takes the format of every raw event, and prints its records by it.
fn trace_cmd(context: &Context) -> Check {
    let _all = AllRaw::new(context)?;
    let client = Client::of(context)?;
    const FILE: &str = "/tmp/rtg-rawev.dat";
    let words = ["record", "-e", "raw", "-o", FILE, "sleep", "0.2"];
    client.text(&words)?;
    let said = client.trace_cmd(&["report", "-N", "-i", FILE], &[])?;
    std::fs::remove_file(FILE).map_err(|e| format!("{FILE}: {e}"))?;
    ensure_eq!(said.err, "", "what trace-cmd report complains of");
    let formats = raw_names(&Tree::at(&context.root))?;
    let found = lines(&said.good()?)?;
    let mut events = BTreeSet::new();
    for line in &found {
        ensure!(formats.contains(&line.event), "{line:?}");
        for word in line.text.split_whitespace() {
            let value = word.split_once('=').map_or("", |(_, value)| value);
            let digits = value
                .strip_prefix("0x")
                .unwrap_or(value.trim_start_matches('-'));
            ensure!(
                value == "(nil)"
                    || !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit()),
                "{word:?} in {line:?}"
            );
        }
        events.insert(&line.event);
    }
    println!("{} lines of {} events", found.len(), events.len());
    ensure!(events.len() >= 30, "only {events:?}");
    Ok(())
}
