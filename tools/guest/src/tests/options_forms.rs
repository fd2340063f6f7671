// SPDX-License-Identifier: GPL-2.0

//! What the options make of records: the same events are recorded by both tracers at
//! the same time, and read in every form. But for stamps and ids all is equal.

use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::stream::NEED_RESCHED;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload;
use crate::Context;
use std::collections::HashMap;
use std::io::Read;

pub const TESTS: &[Test] = &[
    test("options.forms", 90, forms),
    test("options.stamps", 60, printed_stamps),
    test("options.latency", 90, latency),
];

/// Events with fields of every kind that seldom anything but the test makes.
pub(super) const EVENTS: &[&str] = &[
    "sched/sched_process_fork",
    "sched/sched_process_exec",
    "sched/sched_process_exit",
    "signal/signal_generate",
    "task/task_newtask",
    "task/task_rename",
];

/// Both tracers with the same records in them, and off.
pub(super) struct Recorded {
    pub(super) own: Instance,
    pub(super) reference: Instance,
    /// Ids of events in each tree, with names.
    ids: [HashMap<String, String>; 2],
}

/// Records what `work` does, and markers around it.
pub(super) fn record(
    context: &Context,
    events: &[&str],
    options: &[&str],
    work: fn(),
) -> Check<Recorded> {
    record_by(context, "mono", events, options, work)
}

/// How often to try when the kernel made a thread while one of the tracers alone was recording.
const TRIES: usize = 5;

/// What [`record`] does, with the same lines in both, of those that `lines` takes of a text, if need be after some more
/// tries.
pub(super) fn record_alike(
    context: &Context,
    events: &[&str],
    options: &[&str],
    work: fn(),
    lines: fn(&str) -> Vec<String>,
) -> Check<Recorded> {
    for _ in 1..TRIES {
        let recorded = record(context, events, options, work)?;
        let [own, reference] = recorded.trees().map(|(tree, ids)| -> Check<Vec<String>> {
            let lines = lines(&tree.get("trace")?);
            Ok(lines.iter().map(|line| stable(line, ids)).collect())
        });
        if own? == reference? {
            return Ok(recorded);
        }
    }
    record(context, events, options, work)
}

/// What [`record`] does, by some clock. A marker is refused on both or on none.
pub(super) fn record_by(
    context: &Context,
    clock: &str,
    events: &[&str],
    options: &[&str],
    work: fn(),
) -> Check<Recorded> {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut ids = [HashMap::new(), HashMap::new()];
    for (tree, ids) in [&own, &reference].into_iter().zip(&mut ids) {
        tree.set("tracing_on", "0")?;
        tree.set("trace_clock", clock)?;
        for option in options {
            tree.set("trace_options", option)?;
        }
        for event in events {
            tree.set(&format!("events/{event}/enable"), "1")?;
            let id = tree.get(&format!("events/{event}/id"))?;
            ids.insert(id.trim().to_string(), event.to_string());
        }
    }
    reference.set("tracing_on", "1")?;
    own.set("tracing_on", "1")?;
    let mark = |text: &[u8]| -> Check {
        let [found, wanted] = [&own, &reference].map(|tree| tree.write("trace_marker", text));
        ensure_eq!(found, wanted, "a marker with {options:?}");
        Ok(())
    };
    mark(b"first")?;
    work();
    mark(b"last")?;
    own.set("tracing_on", "0")?;
    reference.set("tracing_on", "0")?;
    for tree in [&own, &reference] {
        for event in events {
            tree.set(&format!("events/{event}/enable"), "0")?;
        }
    }
    Ok(Recorded {
        own,
        reference,
        ids,
    })
}

pub(super) fn some_processes() {
    workload::processes(3);
}

impl Recorded {
    pub(super) fn trees(&self) -> [(&Tree, &HashMap<String, String>); 2] {
        [(&self.own, &self.ids[0]), (&self.reference, &self.ids[1])]
    }

    pub(super) fn set(&self, option: &str) -> Check {
        self.own.set("trace_options", option)?;
        self.reference.set("trace_options", option)
    }
}

/// The lines of `trace` below its header.
pub(super) fn lines_of(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| line.starts_with('#'));
    lines.map(String::from).collect()
}

/// A line without the stamp and without the column for a wanted reschedule, which may change
/// between the two probes; the number of a type by the name of the event.
pub(super) fn stable(line: &str, ids: &HashMap<String, String>) -> String {
    let line = super::golden::without_stamp(line);
    let line = match line.split_once("] ") {
        Some((head, rest)) if line.contains(" STAMP: ") && rest.len() > 2 => {
            format!("{head}] {}{}", &rest[..1], &rest[2..])
        }
        _ => line,
    };
    match line.rsplit_once("type: ") {
        Some((head, id)) => {
            let name = ids.get(id).map_or(id, String::as_str);
            let words: Vec<_> = head.split(' ').collect();
            // pid, cpu, stamp before it.
            let shown = match words.len() {
                0..3 => head.to_string(),
                _ => format!("{} {}", words[0], words[1]),
            };
            format!("{shown} type: {name}")
        }
        // A marker in the form of `raw`: its address is that of each tracer's own function.
        None => match line.split_once("# ffff") {
            Some((head, text)) => {
                let words: Vec<_> = head.split(' ').take(2).collect();
                format!(
                    "{} # {}",
                    words.join(" "),
                    text.rsplit(' ').next().unwrap_or("")
                )
            }
            None => line,
        },
    }
}

/// Every form of a line.
fn forms(context: &Context) -> Check {
    let recorded = record_alike(context, EVENTS, &[], some_processes, lines_of)?;
    let mut report = Report::default();
    for (shown, options) in [
        ("plain", &[][..]),
        ("no columns", &["noirq-info"]),
        ("no context", &["nocontext-info"]),
        ("verbose", &["verbose"]),
        ("fields", &["fields"]),
        ("fields without context", &["fields", "nocontext-info"]),
        ("raw", &["raw"]),
        ("raw without context", &["raw", "nocontext-info"]),
        ("hex", &["hex"]),
        ("hex without context", &["hex", "nocontext-info"]),
        ("hex and raw", &["hex", "raw"]),
        ("sym-addr", &["sym-addr"]),
    ] {
        for option in options {
            recorded.set(option)?;
        }
        let mut seen = Vec::new();
        for (tree, ids) in recorded.trees() {
            let text = tree.get("trace")?;
            let header = text
                .lines()
                .take_while(|line| line.starts_with("# ") || *line == "#");
            let header: Vec<_> = header
                .filter(|line| !line.contains(" ffff"))
                .map(String::from)
                .collect();
            let lines: Vec<_> = lines_of(&text)
                .iter()
                .map(|line| stable(line, ids))
                .map(|line| match (shown, line.split_once(" <ffff")) {
                    ("sym-addr", Some((head, tail))) => {
                        format!("{head}{}", tail.split_once('>').map_or("", |(_, t)| t))
                    }
                    _ => line,
                })
                .collect();
            seen.push((header, lines));
        }
        report.expect(seen[0].1.len() > 12, || {
            format!("{shown}: only {:?}", seen[0].1)
        });
        report.expect(seen[0].0 == seen[1].0, || {
            format!("{shown}: {:?}, tracefs {:?}", seen[0].0, seen[1].0)
        });
        let mut both = seen[0].1.iter().zip(&seen[1].1);
        if let Some((found, wanted)) = both.find(|(a, b)| a != b) {
            report.add(format!("{shown}: {found:?}, tracefs {wanted:?}"));
        }
        report.expect(seen[0].1.len() == seen[1].1.len(), || {
            format!(
                "{shown}: {} lines, tracefs {}",
                seen[0].1.len(),
                seen[1].1.len()
            )
        });
        for option in options {
            match option.strip_prefix("no") {
                Some(name) => recorded.set(name)?,
                None => recorded.set(&format!("no{option}"))?,
            }
        }
    }
    report.collect(binary(&recorded));
    report.finish()
}

/// The form `bin`: pid, CPU and stamp as bytes, then the type.
pub(super) fn binary(recorded: &Recorded) -> Check {
    recorded.set("bin")?;
    let mut seen = Vec::new();
    for (tree, ids) in recorded.trees() {
        let mut bytes = &tree.read_bytes("trace").map_err(|e| e.to_string())?[..];
        // After the last line of the header.
        while let [b'#', ..] = bytes {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            bytes = &bytes[end.map_or(bytes.len(), |end| end + 1)..];
        }
        let mut records = Vec::new();
        while bytes.len() > 16 {
            let (head, rest) = bytes.split_at(16);
            let end = rest
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(rest.len() - 1);
            let text = String::from_utf8_lossy(&rest[..end]).into_owned();
            let stamp = u64::from_ne_bytes(head[8..].try_into().unwrap_or_default());
            ensure!(stamp > 0 && stamp <= sys::monotonic_ns(), "stamp {stamp}");
            records.push((head[..8].to_vec(), stable(&text, ids)));
            bytes = &rest[end + 1..];
        }
        ensure!(
            bytes.is_empty(),
            "{}: {bytes:?} is left",
            tree.shown("trace")
        );
        seen.push(records);
    }
    recorded.set("nobin")?;
    ensure!(seen[0].len() > 12, "only {} records", seen[0].len());
    ensure_eq!(seen[0], seen[1], "bin");
    Ok(())
}

/// Stamps in nanoseconds, from the form `raw`.
fn stamps(tree: &Tree) -> Check<Vec<u64>> {
    tree.set("trace_options", "raw")?;
    let text = tree.get("trace")?;
    tree.set("trace_options", "noraw")?;
    let stamp = |line: &String| line.split(' ').nth(2).and_then(|word| word.parse().ok());
    Ok(lines_of(&text).iter().filter_map(stamp).collect())
}

/// As both tracers round.
fn micros(ns: u64) -> u64 {
    (ns + 500) / 1000
}

/// The mark of a delay in microseconds.
fn mark(delay: u64) -> char {
    match delay {
        1_000_001.. => '$',
        100_001.. => '@',
        10_001.. => '*',
        1_001.. => '#',
        101.. => '!',
        11.. => '+',
        _ => ' ',
    }
}

/// The stamp of a line is that of its record, rounded to microseconds.
fn printed_stamps(context: &Context) -> Check {
    let recorded = record(context, EVENTS, &[], some_processes)?;
    for (tree, _) in recorded.trees() {
        let stamps = stamps(tree)?;
        let lines = lines_of(&tree.get("trace")?);
        ensure_eq!(
            lines.len(),
            stamps.len(),
            "lines of {}",
            tree.shown("trace")
        );
        for (line, stamp) in lines.iter().zip(stamps) {
            let us = micros(stamp);
            let wanted = format!(" {:5}.{:06}: ", us / 1_000_000, us % 1_000_000);
            ensure!(line.contains(&wanted), "{line:?}: stamp {stamp}");
        }
    }
    Ok(())
}

/// `latency-format`: header and lines equal tracefs' but for times, and the times are those of the
/// stamps.
fn latency(context: &Context) -> Check {
    let work = || {
        some_processes();
        // Delays of several marks.
        for ms in [2, 20, 120] {
            std::thread::sleep(std::time::Duration::from_millis(ms));
            workload::processes(1);
        }
    };
    let mut recorded = record(context, EVENTS, &[], work)?;
    // A busy machine makes delays longer: then once more.
    for _ in 0..10 {
        let stamps = recorded.trees().map(|(tree, _)| stamps(tree));
        let has = |stamps: &Check<Vec<u64>>, wanted: char| {
            stamps.as_deref().is_ok_and(|stamps| {
                let marks = stamps.windows(2).map(|two| mark(micros(two[1] - two[0])));
                marks.into_iter().any(|mark| mark == wanted)
            })
        };
        if ['@', '*'].iter().all(|m| stamps.iter().all(|s| has(s, *m))) {
            break;
        }
        drop(recorded);
        recorded = record(context, EVENTS, &[], work)?;
    }
    let mut report = Report::default();
    recorded.set("latency-format")?;
    for verbose in [false, true] {
        recorded.set(if verbose { "verbose" } else { "noverbose" })?;
        let mut seen = Vec::new();
        for (tree, _) in recorded.trees() {
            let stamps = stamps(tree)?;
            let text = tree.get("trace")?;
            let header: Vec<_> = text.lines().take_while(|l| l.starts_with('#')).collect();
            let lines = lines_of(&text);
            ensure_eq!(
                lines.len(),
                stamps.len(),
                "lines of {}",
                tree.shown("trace")
            );
            let mut marks = String::new();
            let mut rest = Vec::new();
            for (at, line) in lines.iter().enumerate() {
                let next = stamps.get(at + 1).unwrap_or(&stamps[at]);
                let delay = micros(next - stamps[at]);
                let (head, tail) = match verbose {
                    false => line.split_at(25),
                    true => line.split_at(line.find('[').unwrap_or(0)),
                };
                let (time, what) = tail.split_once(": ").unwrap_or((tail, ""));
                match verbose {
                    false => {
                        let found = time.chars().last().unwrap_or('?');
                        report.expect(found == mark(delay), || {
                            format!("{line:?}: {delay} us have {:?}", mark(delay))
                        });
                        marks.push(found);
                    }
                    true => {
                        let wanted = format!("(+{}.{:03}ms)", delay / 1000, delay % 1000);
                        report.expect(time.ends_with(&wanted), || {
                            format!("{line:?}: should have {wanted}")
                        });
                        let wanted = format!("[{:08x}]", micros(stamps[at]));
                        report.expect(time.starts_with(&wanted), || {
                            format!("{line:?}: should have {wanted}")
                        });
                    }
                }
                // Flags may change between the two probes.
                let head = match verbose {
                    false => format!("{}{}", &head[..21], &head[22..]),
                    true => head[..28].to_string(),
                };
                rest.push(format!("{head}|{what}"));
            }
            report.expect(
                verbose || marks.contains('@') && marks.contains('*'),
                || format!("marks {marks:?}"),
            );
            seen.push((header.join("\n"), rest));
        }
        report.expect(seen[0].0 == seen[1].0, || {
            format!("header {:?}, tracefs {:?}", seen[0].0, seen[1].0)
        });
        let mut both = seen[0].1.iter().zip(&seen[1].1);
        if let Some((found, wanted)) = both.find(|(a, b)| a != b) {
            report.add(format!("{found:?}, tracefs {wanted:?}"));
        }
    }
    report.collect(latency_per_cpu(&recorded));
    report.collect(latency_pipe(&recorded));
    report.finish()
}

/// The header of a CPU without events has no names of columns, and the counts are those of all.
fn latency_per_cpu(recorded: &Recorded) -> Check {
    for cpu in 0..sys::online_cpus() {
        let file = format!("per_cpu/cpu{cpu}/trace");
        let header = |tree: &Tree| -> Check<String> {
            let text = tree.get(&file)?;
            let lines: Vec<_> = text.lines().take_while(|l| l.starts_with('#')).collect();
            Ok(lines.join("\n"))
        };
        ensure_eq!(
            header(&recorded.own)?,
            header(&recorded.reference)?,
            "{file}"
        );
    }
    Ok(())
}

/// `trace_pipe` does not look at the next event: no delay. Its numbers begin with 1.
fn latency_pipe(recorded: &Recorded) -> Check {
    let mut seen = Vec::new();
    for (tree, _) in recorded.trees() {
        tree.set("trace_options", "verbose")?;
        let mut pipe = tree
            .open_nonblock("trace_pipe")
            .map_err(|e| e.to_string())?;
        let mut bytes = vec![0; 2000];
        let n = pipe.read(&mut bytes).map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&bytes[..n]).into_owned();
        let lines: Vec<_> = text
            .lines()
            .take(8)
            .map(|line| {
                let (head, tail) = line.split_once('[').unwrap_or((line, ""));
                let delay = tail.split_once('(').map_or("", |(_, delay)| delay);
                // Name, pid, CPU, flags; some of them may change between the two probes.
                let mut words: Vec<_> = head.split_whitespace().map(String::from).collect();
                if let Some(Ok(flags)) = words.get(3).map(|flags| flags.parse::<u8>()) {
                    words[3] = (flags & !NEED_RESCHED).to_string();
                }
                format!("{} {delay}", words.join(" "))
            })
            .collect();
        seen.push(lines);
    }
    ensure!(
        seen[0][0].contains(" 00000001 +0.000ms): "),
        "{:?}",
        seen[0][0]
    );
    ensure_eq!(seen[0], seen[1], "trace_pipe");
    Ok(())
}
