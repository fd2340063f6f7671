// SPDX-License-Identifier: GPL-2.0

//! Events whose headers rtrace knows and whose tracepoints are in modules of the kernel: they are
//! there while the module is, as tracefs has them.

use super::options_stacks::blocks;
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::format::{self, Format};
use crate::kernel_modules::{Loaded, Modules};
use crate::module;
use crate::soak::rounds;
use crate::stream;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::vsock;
use crate::Context;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{Read, Seek};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("modev.formats", 400, formats),
    test("modev.there_before", 120, there_before),
    test("modev.records", 120, records),
    test("modev.in_use", 120, in_use),
    test("modev.waiting", 120, waiting),
    test("modev.again_and_again", 180, again_and_again),
    test("modev.stacks", 180, stacks),
];

/// The systems whose headers rtrace knows, of the modules that scripts/guest-modules brings.
const SYSTEMS: &[&str] = &[
    "9p",
    "amdxdna",
    "asoc",
    "dlm",
    "firewire",
    "firewire_ohci",
    "fscache",
    "ib_umad",
    "intel_ish",
    "iscsi",
    "jbd2",
    "kvm",
    "kyber",
    "libata",
    "mmc",
    "nbd",
    "netfs",
    "qla",
    "qrtr",
    "rdma_core",
    "rpcgss",
    "sctp",
    "sof",
    "sof_intel",
    "sunrpc",
    "target",
    "v4l2",
    "vb2",
    "vsock",
    "watchdog",
];

fn listed(tree: &Tree) -> Check<Vec<String>> {
    let text = tree.get("available_events")?;
    Ok(text.lines().map(str::to_string).collect())
}

fn system_of(event: &str) -> &str {
    event.split(':').next().unwrap_or_default()
}

fn name_of(event: &str) -> &str {
    event.split(':').nth(1).unwrap_or_default()
}

fn folder(event: &str) -> String {
    format!("events/{}", event.replace(':', "/"))
}

/// What is in `now` and not in `before`, in order.
fn new_ones(now: Vec<String>, before: &[String]) -> Vec<String> {
    let before: HashSet<_> = before.iter().collect();
    now.into_iter()
        .filter(|event| !before.contains(event))
        .collect()
}

/// Each event of a module is one of rtrace's with the format of tracefs, or a raw one.
fn check_module(own: &Tree, reference: &Tree, ours: &[String], theirs: &[String]) -> Check {
    let mut report = Report::default();
    let mut order = theirs.iter();
    let (raw, named): (Vec<_>, Vec<_>) = ours.iter().partition(|event| system_of(event) == "raw");
    for event in &named {
        report.expect(order.any(|other| other == *event), || {
            format!("{event} is out of place")
        });
        let file = format!("{}/format", folder(event));
        let (found, wanted) = (own.get(&file)?, reference.get(&file)?);
        report.expect(
            format::without_id(&found) == format::without_id(&wanted),
            || format!("{event}: {found:?}, tracefs {wanted:?}"),
        );
    }
    for event in theirs.iter().filter(|event| !named.contains(event)) {
        let name = name_of(event);
        report.expect(raw.iter().any(|other| name_of(other) == name), || {
            format!("{event} is not even a raw event")
        });
    }
    report.finish()
}

fn formats(context: &Context) -> Check {
    let modules = Modules::new()?;
    let (own, reference) = (Tree::at(&context.root), Tree::at(&context.reference));
    let (first, first_reference) = (listed(&own)?, listed(&reference)?);
    let (mut before, mut before_reference) = (first.clone(), first_reference);
    let mut report = Report::default();
    let mut seen = BTreeMap::<String, (usize, usize)>::new();
    let instances = reference.list("instances")?;
    let mut loaded = Loaded::new(&modules);
    for name in &modules.order {
        if let Err(problem) = loaded.add(name) {
            println!("{problem}");
        }
        let now = listed(&own)?;
        let ours = new_ones(now.clone(), &before);
        // A module that another test had loaded has its places again: the new ones need not be the last.
        let others = now.iter().filter(|event| !ours.contains(event));
        report.expect(others.eq(&before), || {
            format!("{name}: the order of the others changed")
        });
        let theirs = new_ones(listed(&reference)?, &before_reference);
        report.collect(
            check_module(&own, &reference, &ours, &theirs).map_err(|e| format!("{name}: {e}")),
        );
        for event in &theirs {
            let counts = seen.entry(system_of(event).to_string()).or_default();
            counts.0 += usize::from(ours.contains(event));
            counts.1 += 1;
        }
        before = now;
        before_reference.extend(theirs);
    }
    let mut count = 0;
    for (system, (ours, theirs)) in &seen {
        println!("{system}: {ours} of {theirs}");
        count += ours;
        let wanted = match system.as_str() {
            // Some ask functions of the module, or know stages that only it knows.
            "asoc" => theirs - 2,
            "nilfs2" => theirs - 1,
            // The header that is public; the others are of the processor's part.
            "kvm" => 19,
            system if SYSTEMS.contains(&system) => *theirs,
            _ => *ours,
        };
        report.expect(*ours == wanted, || format!("{system}: {ours} of {theirs}"));
    }
    let there = seen.values().filter(|(ours, _)| *ours > 0).count();
    println!("{count} events of {there} systems");
    report.expect(there >= 22, || format!("events of {there} systems only"));
    // Some modules hold themselves.
    const STAY: usize = 4;
    let stay = loaded.remove_what_goes(STAY);
    // qla2xxx makes an instance for itself in tracefs, and leaves it there.
    for name in reference.list("instances")? {
        if !instances.contains(&name) {
            let removed = std::fs::remove_dir(reference.file(&format!("instances/{name}")));
            report.expect(removed.is_ok(), || format!("instance {name}: {removed:?}"));
        }
    }
    let (left, theirs) = (new_ones(listed(&own)?, &first), listed(&reference)?);
    println!("modules that stay: {stay:?}");
    report.expect(stay.len() <= STAY, || format!("{stay:?} stay"));
    report.expect(left.is_empty() || !stay.is_empty(), || {
        format!("{left:?} stayed")
    });
    for event in left.iter().filter(|event| system_of(event) != "raw") {
        report.expect(theirs.contains(event), || {
            format!("{event} stayed behind its module")
        });
    }
    report.finish()
}

/// rtrace is loaded when the modules are there, and goes while their events are on.
fn there_before(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("rtrace's own");
    }
    let modules = Modules::new()?;
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock-loopback")?;
    loaded.add("libata")?;
    module::reload(context)?;
    let (own, reference) = (Tree::at(&context.root), Tree::at(&context.reference));
    let of = |tree: &Tree, system: &str| -> Check<Vec<String>> {
        let all = listed(tree)?.into_iter();
        Ok(all.filter(|event| system_of(event) == system).collect())
    };
    for system in ["vsock", "libata"] {
        let events = of(&own, system)?;
        ensure!(!events.is_empty(), "no event of {system}");
        ensure_eq!(events, of(&reference, system)?, "{system}");
        own.set(&format!("events/{system}/enable"), "1")?;
    }
    vsock::talk(10)?;
    let text = own.get("trace")?;
    ensure!(text.contains(": virtio_transport_recv_pkt: "), "{text}");
    module::reload(context)?;
    ensure_eq!(own.get("set_event")?, "", "a new module");
    ensure!(own.exists("events/vsock/enable"), "vsock is still loaded");
    loaded.remove()
}

/// The text of each line after the stamp, sorted: the two probes of an event may run on two sides
/// of another's.
fn lines_of(tree: &Tree) -> Check<Vec<String>> {
    let text = tree.get("trace")?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut lines: Vec<_> = lines
        .filter_map(|line| Some(line.split_once(": ")?.1.to_string()))
        .collect();
    lines.sort();
    Ok(lines)
}

/// Event and bytes of each record but for the common fields, sorted.
fn values_of(tree: &Tree, events: &[String]) -> Check<Vec<(String, Vec<u8>)>> {
    let mut formats = BTreeMap::new();
    for event in events {
        let format = Format::parse(&tree.get(&format!("{}/format", folder(event)))?)?;
        formats.insert(format.id, (event, format));
    }
    let mut values = Vec::new();
    for record in stream::drain(tree)?.into_iter().flat_map(|cpu| cpu.records) {
        let Some((event, format)) = formats.get(&record.id()) else {
            fail!("a record of event {}", record.id())
        };
        let fields = format
            .values(&record.payload)
            .filter(|(field, _)| field.offset >= 8);
        values.push((
            event.to_string(),
            fields.flat_map(|(_, bytes)| bytes.to_vec()).collect(),
        ));
    }
    values.sort();
    Ok(values)
}

/// Switches all events of both off when both have as many, nothing comes any more, and `is_over`.
fn end_alike(both: [&Tree; 2], is_over: impl Fn() -> bool) -> Check {
    let mut before = None;
    let quiet = sys::wait_until(Duration::from_secs(10), || {
        std::thread::sleep(Duration::from_millis(300));
        let entries = both.map(|tree| -> Check<u64> {
            let of_cpu = |cpu| tree.number(&format!("per_cpu/cpu{cpu}/stats"), "entries");
            (0..sys::online_cpus()).map(of_cpu).sum()
        });
        let same = entries[0] == entries[1] && before.as_ref() == Some(&entries);
        before = Some(entries);
        same && is_over()
    });
    for tree in both {
        tree.set("events/enable", "0")?;
    }
    ensure!(quiet, "events do not end, or differ: {before:?}");
    Ok(())
}

/// Both tracers see the same, in records and in words.
fn records(context: &Context) -> Check {
    let modules = Modules::new()?;
    let mut loaded = Loaded::new(&modules);
    loaded.add("vsock-loopback")?;
    loaded.add("libata")?;
    let (own, reference) = pair(context)?;
    let both: [&Tree; 2] = [&own, &reference];
    for tree in both {
        tree.set("tracing_on", "0")?;
        tree.set("buffer_size_kb", "4000")?;
        for system in ["vsock", "libata"] {
            tree.set(&format!("events/{system}/enable"), "1")?;
        }
    }
    for tree in both {
        tree.set("tracing_on", "1")?;
    }
    vsock::talk(200)?;
    // The emulated machine has a controller, whose ports are looked at now.
    loaded.add("ahci")?;
    end_alike(both, || {
        let text = own.get("trace");
        text.is_ok_and(|text| text.contains(": ata_eh_done: "))
    })?;
    let events: Vec<_> = listed(&reference.top())?
        .into_iter()
        .filter(|event| ["vsock", "libata"].contains(&system_of(event)))
        .collect();
    let (ours, theirs) = (lines_of(&own)?, lines_of(&reference)?);
    let mut kinds = BTreeMap::<_, usize>::new();
    for line in &ours {
        *kinds
            .entry(line.split(':').next().unwrap_or_default())
            .or_default() += 1;
    }
    println!("{kinds:?}");
    let first = ours.iter().zip(&theirs).find(|(a, b)| a != b);
    ensure!(first.is_none(), "ours and tracefs': {first:?}");
    ensure_eq!(ours.len(), theirs.len(), "lines");
    for event in ["virtio_transport_alloc_pkt", "virtio_transport_recv_pkt"] {
        ensure!(
            kinds.get(event).is_some_and(|count| *count > 200),
            "{event} is rare"
        );
    }
    ensure!(
        kinds.keys().any(|event| event.starts_with("ata_")),
        "no event of libata"
    );
    ensure!(
        values_of(&own, &events)? == values_of(&reference, &events)?,
        "records differ where the lines do not"
    );
    drop((own, reference));
    loaded.remove()
}

/// How often each event has each stack, by names.
fn stacks_of(tree: &Tree) -> Check<BTreeMap<Vec<String>, usize>> {
    let mut counts = BTreeMap::new();
    // Of all CPUs together there may be an event of another one before its stack.
    for cpu in 0..sys::online_cpus() {
        for block in blocks(&tree.get(&format!("per_cpu/cpu{cpu}/trace"))?) {
            let event = block[0].split(": ").nth(1).unwrap_or_default();
            // Without the name of the task.
            let callers = block[1..].iter().filter(|line| line.starts_with(" => "));
            let stack = std::iter::once(event).chain(callers.map(String::as_str));
            *counts.entry(stack.map(String::from).collect()).or_default() += 1;
        }
    }
    Ok(counts)
}

/// The stacks of a module's events, also after it came back, with another one where it was: nothing that was known of
/// its functions is left.
fn stacks(context: &Context) -> Check {
    let modules = Modules::new()?;
    for first in [None, Some("libata"), None] {
        let mut loaded = Loaded::new(&modules);
        if let Some(name) = first {
            loaded.add(name)?;
        }
        loaded.add("vsock-loopback")?;
        let (own, reference) = pair(context)?;
        for tree in [&own, &reference] {
            tree.set("buffer_size_kb", "8000")?;
            tree.set("trace_options", "stacktrace")?;
            tree.set("events/vsock/enable", "1")?;
        }
        vsock::talk(100)?;
        end_alike([&own, &reference], || true)?;
        let (ours, theirs) = (stacks_of(&own)?, stacks_of(&reference)?);
        println!("{} stacks", ours.len());
        let of_module = |line: &String| line.starts_with(" => vsock_");
        ensure!(ours.keys().flatten().any(of_module), "{ours:?}");
        let differs = ours
            .iter()
            .find(|(stack, count)| theirs.get(*stack) != Some(*count));
        ensure!(differs.is_none(), "{differs:?}, tracefs {theirs:?}");
        ensure_eq!(ours.len(), theirs.len(), "stacks");
        drop((own, reference));
        loaded.remove()?;
    }
    Ok(())
}

/// A module goes while its events are on in two instances, with filters and open files.
fn in_use(context: &Context) -> Check {
    const EVENT: &str = "events/vsock/virtio_transport_recv_pkt";
    let modules = Modules::new()?;
    let (own, other) = (
        Instance::new(&context.root, "rtg-own")?,
        Instance::new(&context.root, "rtg-other")?,
    );
    let mut ids = BTreeSet::new();
    for round in 0..2 {
        let mut loaded = Loaded::new(&modules);
        loaded.add("vsock-loopback")?;
        ensure_eq!(own.get(&format!("{EVENT}/enable"))?, "0\n", "round {round}");
        ensure_eq!(
            own.get(&format!("{EVENT}/filter"))?,
            "none\n",
            "round {round}"
        );
        let format = Format::parse(&own.get(&format!("{EVENT}/format"))?)?;
        ids.insert(format.id);
        own.set(&format!("{EVENT}/filter"), "len > 50")?;
        own.set("set_event", "vsock:*")?;
        other.set(&format!("{EVENT}/enable"), "1")?;
        let mut files = Vec::new();
        for file in ["enable", "filter", "format"] {
            let open = own.open(&format!("{EVENT}/{file}"));
            files.push((file, open.map_err(|e| format!("open {file}: {e}"))?));
        }
        vsock::talk(100)?;
        let text = own.get("trace")?;
        let seen = text
            .lines()
            .filter(|line| line.contains("virtio_transport_recv_pkt: "));
        let all = other.get("trace")?;
        let all = all
            .lines()
            .filter(|line| line.contains("virtio_transport_recv_pkt: "));
        let (seen, all) = (seen.count(), all.count());
        println!("{seen} of {all} records");
        ensure!(seen > 20 && seen < all, "{seen} of {all}");

        loaded.remove()?;
        ensure!(
            !own.exists("events/vsock"),
            "events/vsock behind its module"
        );
        for tree in [&own, &other] {
            ensure_eq!(tree.get("set_event")?, "", "set_event");
        }
        for (file, open) in &mut files {
            let read = open.rewind().and_then(|()| open.read(&mut [0; 10]));
            ensure_eq!(
                read.map_err(Errno::from).err(),
                Some(ENODEV),
                "{file} stays open"
            );
        }
        ensure_eq!(
            own.write("set_event", b"vsock:*").err(),
            Some(EINVAL),
            "an event that is not there"
        );
        let left = own.get("trace")?;
        let left = left
            .lines()
            .filter(|line| line.contains(": virtio_transport_recv_pkt: "));
        ensure_eq!(
            left.count(),
            seen,
            "old records keep the name of their event"
        );
    }
    ensure_eq!(ids.len(), 1, "the event has its old number");
    Ok(())
}

/// Modules come and go while all events are switched and all formats read.
fn again_and_again(context: &Context) -> Check {
    let modules = Modules::new()?;
    let own = Instance::new(&context.root, "rtg-own")?;
    let before = listed(&own.top())?;
    let done = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    let mut result = Ok(());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(order) {
                // What is just going away may answer with an error.
                let _ = own.write("events/enable", b"1");
                let _ = own.write("events/vsock/filter", b"len > 1");
                let _ = own.write("events/enable", b"0");
            }
        });
        scope.spawn(|| {
            while !done.load(order) {
                for event in listed(&own.top()).unwrap_or_default() {
                    if ["vsock", "sctp", "raw"].contains(&system_of(&event)) {
                        let _ = own.read_bytes(&format!("{}/format", folder(&event)));
                    }
                }
                let _ = own.get("trace");
            }
        });
        for _ in 0..rounds(2, 10) {
            let mut loaded = Loaded::new(&modules);
            result = loaded.add("vsock-loopback").and_then(|()| vsock::talk(20));
            result = result.clone().and_then(|()| loaded.remove());
            if result.is_err() {
                break;
            }
        }
        done.store(true, order);
    });
    result?;
    own.set("events/enable", "0")?;
    ensure_eq!(listed(&own.top())?, before, "events behind the last module");
    ensure!(
        sys::wait_until(Duration::from_secs(5), || own.get("set_event")
            == Ok(String::new())),
        "something is still on"
    );
    Ok(())
}

/// Words of `set_event` for modules that are not loaded: kept, shown, taken back, and obeyed when the module
/// comes, as tracefs does it.
fn waiting(context: &Context) -> Check {
    const WORDS: &[&str] = &[
        "!:mod:libata",
        ":mod:libata",
        "libata:*:mod:libata",
        "!libata:ata_eh_done:mod:libata",
        "libata:ata_eh_done:mod:libata",
        "*:ata_eh_done:mod:libata",
        "libata:mod:libata",
        "!*:ata_eh_done:mod:libata",
        "!libata:mod:libata",
        "a:b:mod:no-such-module",
        ":mod:no_such_module",
        "!a:*:mod:no-such-module",
        ":mod:",
        "!:mod:",
        "!:mod:libata",
        "libata:ata_eh_done:mod:libata",
        "*:ata_qc_issue:mod:libata",
        "libata:no_such_event:mod:libata",
        "virtio_transport_recv_pkt:mod:vmw-vsock-virtio-transport-common",
        ":mod:sched",
    ];
    let modules = Modules::new()?;
    if module::is_loaded("libata") {
        skip!("libata is part of the kernel");
    }
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let mut compare = |step: &str| -> Check {
        let (ours, theirs) = (own.get("set_event")?, reference.get("set_event")?);
        report.expect(ours == theirs, || {
            format!("{step}:\n{ours}tracefs:\n{theirs}")
        });
        Ok(())
    };
    for word in WORDS {
        let answers = [&own, &reference].map(|tree| tree.write("set_event", word.as_bytes()));
        compare(&format!("{word}: {answers:?}"))?;
        ensure_eq!(answers[0], answers[1], "{word}");
    }
    // One that is removed with words that wait has none obeyed.
    let gone = Instance::new(&context.root, "rtg-gone")?;
    gone.set("set_event", ":mod:libata")?;
    gone.remove()?;
    let mut loaded = Loaded::new(&modules);
    loaded.add("libata")?;
    compare("libata is there")?;
    ensure!(
        own.get("set_event")?
            .starts_with("libata:ata_qc_issue\nlibata:ata_eh_done\n"),
        "{}",
        own.get("set_event")?
    );
    for word in ["nosuch:mod:libata", "!nosuch:mod:libata", "!:mod:libata"] {
        let answers = [&own, &reference].map(|tree| tree.write("set_event", word.as_bytes()));
        ensure_eq!(answers[0], answers[1], "{word}");
        compare(word)?;
    }
    loaded.add("vsock-loopback")?;
    compare("vsock is there")?;
    for tree in [&own, &reference] {
        tree.write_truncating("set_event", b"")
            .map_err(|e| e.to_string())?;
    }
    compare("nothing")?;
    ensure_eq!(own.get("set_event")?, "", "emptied");
    report.finish()?;
    drop((own, reference));
    loaded.remove()
}
