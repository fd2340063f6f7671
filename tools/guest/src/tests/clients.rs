// SPDX-License-Identifier: GPL-2.0

//! Debian's trace-cmd, unmodified, records from rtracefs: whatever way it takes, nothing is lost,
//! doubled or out of order, and `trace-cmd report` says what `trace` says.

use super::{test, Test};
use crate::check::{Check, Report};
use crate::client::{lines, words, Client, Line};
use crate::soak;
use crate::sys;
use crate::tree::Tree;
use crate::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    test("clients.record", 60, |c| record(c, &["-e", SWITCH], "")),
    test("clients.record_no_splice", 60, |c| {
        record(c, &["--nosplice", "-e", SWITCH], "")
    }),
    test("clients.record_instance", 60, |c| {
        record(
            c,
            &["-B", "rtg-client", "-e", SWITCH],
            "instances/rtg-client/",
        )
    }),
    test("clients.record_size", 60, record_size),
    test("clients.record_mono", 60, record_mono),
    test("clients.record_tsc", 60, |c| {
        record(c, &["-C", "x86-tsc", "-e", SWITCH], "")
    }),
    test("clients.record_filter", 60, record_filter),
    test("clients.record_cpu", 60, record_cpu),
    test("clients.record_together", 90, record_together),
    test("clients.stream", 60, stream),
    test("clients.network", 90, network),
    test("clients.report", 90, report),
    test("clients.report_clocks", 120, report_clocks),
];

const SWITCH: &str = "sched:sched_switch";

/// Markers that each of two writers makes.
const MARKS: usize = 500;

/// A folder for the files of one test.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Check<Self> {
        let path = PathBuf::from(format!("/tmp/rtg-clients-{name}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Folder(path))
    }

    pub(super) fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A shell script for trace-cmd to run: on each of two CPUs a writer of numbered markers into the
/// buffer below `folder`, by the path that ftrace's users know.
fn marks(folder: &str) -> String {
    let last = sys::online_cpus() - 1;
    let writer = |name: &str, cpu: usize| {
        format!(
            "taskset {:x} sh -c 'i=0; while [ $i -lt {MARKS} ]; do echo {name} $i; i=$((i + 1)); done \
             >/sys/kernel/tracing/{folder}trace_marker' & ",
            1 << cpu
        )
    };
    format!("{}{}wait", writer("first", 0), writer("second", last))
}

/// The events of a file.
pub(super) fn read(client: Client, file: &str, more: &[&str]) -> Check<Vec<Line>> {
    let words = [&["report", "-N", "-i", file], more].concat();
    let text = client.text(&words)?;
    lines(&text)
}

/// The number of a marker and its writer.
fn mark(line: &Line) -> Option<(&str, usize)> {
    let mut words = line.text.split_whitespace().rev();
    let number = words.next()?.parse().ok()?;
    let writer = words.next()?;
    (line.event == "print" || line.event == "tracing_mark_write").then_some((writer, number))
}

/// Every marker is there once and in its place, on the CPU of its writer, and time goes on.
fn all_marks(found: &[Line]) -> Check {
    let last = sys::online_cpus() - 1;
    for (writer, cpu) in [("first", 0), ("second", last)] {
        let mut next = 0;
        for line in found {
            match mark(line) {
                Some((name, number)) if name == writer => {
                    ensure_eq!(number, next, "marker of the {writer} writer: {line:?}");
                    ensure_eq!(line.cpu, cpu, "CPU of {line:?}");
                    next += 1;
                }
                _ => (),
            }
        }
        ensure_eq!(next, MARKS, "markers of the {writer} writer");
    }
    for cpu in 0..=last {
        let stamps: Vec<_> = found
            .iter()
            .filter(|line| line.cpu == cpu)
            .map(Line::stamp)
            .collect();
        ensure!(
            stamps.iter().all(Option::is_some),
            "a stamp that is no number"
        );
        ensure!(stamps.is_sorted(), "time goes back on CPU {cpu}");
    }
    Ok(())
}

/// Only these events were recorded, and each of them was.
fn only(found: &[Line], wanted: &[&str]) -> Check {
    let names: BTreeSet<_> = found.iter().map(|line| line.event.as_str()).collect();
    let wanted: BTreeSet<_> = wanted.iter().copied().collect();
    ensure_eq!(names, wanted, "events");
    Ok(())
}

/// Records the markers of two writers and the switches of the scheduler.
fn record_marks(client: Client, args: &[&str], folder: &str) -> Check<(Vec<Line>, String)> {
    let place = Folder::new("record")?;
    let file = place.file("trace.dat");
    let script = marks(folder);
    let words = [&["record", "-o", &file], args, &["sh", "-c", &script]].concat();
    let said = client.text(&words)?;
    let found = read(client, &file, &[])?;
    client.text(&["reset"])?;
    all_marks(&found)?;
    Ok((found, said))
}

fn record(context: &Context, args: &[&str], folder: &str) -> Check {
    let client = Client::of(context)?;
    let top = Tree::at(&context.root);
    let (found, _) = record_marks(client, args, folder)?;
    only(&found, &["print", "sched_switch"])?;
    // trace-cmd takes back what it switched on, and the kernel's tracer saw nothing.
    ensure_eq!(top.get("set_event")?, "", "set_event afterwards");
    ensure!(
        !top.exists("instances/rtg-client"),
        "the instance that trace-cmd made is still there"
    );
    let reference = Tree::at(&context.reference).get("trace")?;
    ensure!(
        !reference.contains("first 0"),
        "the marker went to the kernel's own tracer"
    );
    Ok(())
}

/// `-b` is obeyed while CMD runs.
fn record_size(context: &Context) -> Check {
    let client = Client::of(context)?;
    let place = Folder::new("size")?;
    let file = place.file("trace.dat");
    let look = "cat /sys/kernel/tracing/buffer_size_kb";
    let said = client.text(&[
        "record", "-o", &file, "-b", "3000", "-e", SWITCH, "sh", "-c", look,
    ])?;
    let size: Option<usize> = said.lines().find_map(|line| line.parse().ok());
    ensure!(
        size.is_some_and(|size| (3000..3010).contains(&size)),
        "buffer_size_kb with -b 3000: {said:?}"
    );
    only(&read(client, &file, &[])?, &["sched_switch"])?;
    client.text(&["set", "-b", "1410"])?;
    client.text(&["reset"]).map(drop)
}

/// Stamps of the clock `mono` are those of CLOCK_MONOTONIC, also in the file.
fn record_mono(context: &Context) -> Check {
    let client = Client::of(context)?;
    // Stamps are rounded to microseconds.
    let began = sys::monotonic_ns() - 1000;
    let (found, _) = record_marks(client, &["-C", "mono", "-e", SWITCH], "")?;
    let ended = sys::monotonic_ns() + 1000;
    let inside = |line: &Line| {
        line.stamp()
            .is_some_and(|stamp| (began..=ended).contains(&stamp))
    };
    match found.iter().find(|line| !inside(line)) {
        Some(line) => fail!("{line:?} is not between {began} and {ended}"),
        None => Ok(()),
    }
}

/// `-f` reaches the file of the event, and only what it lets through is in the file.
fn record_filter(context: &Context) -> Check {
    let client = Client::of(context)?;
    let place = Folder::new("filter")?;
    let file = place.file("trace.dat");
    let filter = "prev_comm == \"marker\" || next_comm == \"marker\"";
    let script = "cp /bin/busybox marker; for i in 1 2 3; do ./marker sleep 0.01; done; \
                  cat /sys/kernel/tracing/events/sched/sched_switch/filter";
    let script = format!("cd {}; ln -s /bin/busybox sleep; {script}", place.file(""));
    let said = client.text(&[
        "record", "-o", &file, "-e", SWITCH, "-f", filter, "sh", "-c", &script,
    ])?;
    ensure!(said.contains("prev_comm"), "the filter: {said:?}");
    let found = read(client, &file, &[])?;
    only(&found, &["sched_switch"])?;
    match found
        .iter()
        .find(|line| !line.text.contains("_comm=marker"))
    {
        Some(line) => fail!("{line:?} should not be there"),
        None => client.text(&["reset"]).map(drop),
    }
}

/// `-M` leaves out all CPUs but those of the mask.
fn record_cpu(context: &Context) -> Check {
    let client = Client::of(context)?;
    ensure!(sys::online_cpus() > 1, "one CPU is too few");
    let place = Folder::new("cpu")?;
    let file = place.file("trace.dat");
    let work = "for cpu in 1 2; do taskset $cpu sleep 0.01; done; \
                cat /sys/kernel/tracing/tracing_cpumask";
    let said = client.text(&[
        "record", "-o", &file, "-M", "2", "-e", SWITCH, "sh", "-c", work,
    ])?;
    let found = read(client, &file, &[])?;
    client.text(&["reset"])?;
    ensure!(
        said.lines().any(|line| line == "2"),
        "tracing_cpumask while -M 2 is recorded: {said:?}"
    );
    only(&found, &["sched_switch"])?;
    ensure!(
        found.iter().all(|line| line.cpu == 1),
        "events of another CPU: {found:?}"
    );
    // trace-cmd puts the mask back.
    ensure_eq!(
        Tree::at(&context.root).get("tracing_cpumask")?,
        Tree::at(&context.reference).get("tracing_cpumask")?,
        "tracing_cpumask afterwards"
    );
    Ok(())
}

/// Two users at once, each with an instance, do not disturb each other.
fn record_together(context: &Context) -> Check {
    let client = Client::of(context)?;
    let place = Folder::new("together")?;
    let names = ["rtg-one", "rtg-two"];
    let mut children = Vec::new();
    for name in names {
        let script = marks(&format!("instances/{name}/"));
        let file = place.file(name);
        children.push(client.start(&[
            "trace-cmd",
            "record",
            "-o",
            &file,
            "-B",
            name,
            "-e",
            SWITCH,
            "sh",
            "-c",
            &script,
        ])?);
    }
    for mut child in children {
        let status = child.wait().map_err(|e| format!("wait: {e}"))?;
        ensure!(status.success(), "trace-cmd record: {status}");
    }
    for name in names {
        all_marks(&read(client, &place.file(name), &[])?).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}

/// `trace-cmd stream` prints while it records. It gives up what it has not read when CMD ends, on
/// tracefs as here, so readers wake at each event, and CMD waits until the last markers are printed.
fn stream(context: &Context) -> Check {
    let client = Client::of(context)?;
    let top = Tree::at(&context.root);
    let percent = top.get("buffer_percent")?;
    let place = Folder::new("stream")?;
    let (script, printed) = (place.file("script"), place.file("printed"));
    // What the waiting makes the scheduler do pushes the last markers out of trace-cmd's own buffer.
    let is_printed = |writer| format!("grep -q '{writer} {}$' {printed}", MARKS - 1);
    let (first, second) = (is_printed("first"), is_printed("second"));
    let text = format!(
        "{}; i=0; until {first} && {second} || [ $i -ge 600 ]; do sleep 0.1; i=$((i + 1)); done",
        marks("")
    );
    std::fs::write(&script, text).map_err(|e| format!("{script}: {e}"))?;
    top.set("buffer_percent", "0")?;
    let stream = format!("exec trace-cmd stream -e {SWITCH} sh {script} >{printed}");
    let said = client.run(&["sh", "-c", &stream]);
    top.set("buffer_percent", percent.trim())?;
    said?.good().map_err(|e| format!("{stream}: {e}"))?;
    let text = std::fs::read(&printed).map_err(|e| format!("{printed}: {e}"))?;
    let found = lines(&String::from_utf8_lossy(&text))?;
    client.text(&["reset"])?;
    all_marks(&found)
}

/// A setting of the kernel that is another one until dropped.
struct Setting(&'static str, String);

impl Setting {
    fn new(file: &'static str, value: &str) -> Check<Self> {
        let before = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
        std::fs::write(file, value).map_err(|e| format!("{file}: {e}"))?;
        Ok(Setting(file, before))
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = std::fs::write(self.0, self.1.trim());
    }
}

/// Records over a socket to another machine, here the same one: the way to trace several at once.
fn network(context: &Context) -> Check {
    const PORT: u16 = 12321;
    let client = Client::of(context)?;
    let place = Folder::new("network")?;
    let port = PORT.to_string();
    // Datagrams for which there is no room are lost: here is room for all.
    let _room = Setting::new("/proc/sys/net/core/rmem_default", "16777216")?;
    // The listener gives up what it has not read a second after its client has gone.
    sys::set_nice(-10);
    let listener = client.start(&["trace-cmd", "listen", "-p", &port, "-d", &place.file("")]);
    sys::set_nice(0);
    let mut listener = listener?;
    let listens = || {
        let row = format!(":{PORT:04X} ");
        ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|table| {
            let text = std::fs::read_to_string(table).unwrap_or_default();
            text.lines()
                .any(|line| line.contains(&row) && line.contains(" 0A "))
        })
    };
    let check = || -> Check {
        ensure!(
            sys::wait_until(Duration::from_secs(20), listens),
            "nobody listens on port {PORT}"
        );
        let host = format!("127.0.0.1:{PORT}");
        // Datagrams or a stream; both in the long run.
        let mut kinds = [&[][..], &["-t"]];
        kinds.rotate_left(soak::seed() as usize % 2);
        for kind in &kinds[..soak::rounds(1, 2)] {
            let script = marks("");
            let words = [
                &["record", "-N", &host][..],
                *kind,
                &["-e", SWITCH, "sh", "-c", &script],
            ];
            client.text(&words.concat())?;
            // The listener writes the file when its client has gone.
            let mut result = Err("no file".to_string());
            sys::wait_until(Duration::from_secs(20), || {
                result = received(&place).and_then(|file| {
                    all_marks(&read(client, &file, &[])?)?;
                    std::fs::remove_file(&file).map_err(|e| format!("{file}: {e}"))
                });
                result.is_ok()
            });
            result.map_err(|e| format!("{kind:?}: {e}"))?;
        }
        Ok(())
    };
    let result = check();
    let _ = listener.kill();
    let _ = listener.wait();
    client.text(&["reset"])?;
    result
}

/// Returns the file that the listener wrote.
fn received(place: &Folder) -> Check<String> {
    let names = Tree::at(&place.0).list("")?;
    match names.iter().find(|name| name.ends_with(".dat")) {
        Some(name) => Ok(place.file(name)),
        None => Err(format!("no file of the listener in {names:?}")),
    }
}

/// What the trace file and libtraceevent print otherwise for the same bytes, on any kernel:
/// addresses are hashed in one; the kernel's own functions print some flags as names.
fn comparable(line: &Line) -> Line {
    let mut line = line.clone();
    // libtraceevent knows neither softirqs that are off nor lazy rescheduling, whose bit says to
    // it that the state of interrupts is unknown.
    let known = |(column, letter)| match (column, letter) {
        (0, 'D') => 'd',
        (0, 'X' | 'b') | (1, 'l' | 'L' | 'p') => '.',
        (1, 'B' | 'b' | 'n') => 'N',
        _ => letter,
    };
    line.flags = line.flags.chars().enumerate().map(known).collect();
    let cut = match line.event.as_str() {
        "hrtimer_start" | "hrtimer_setup" => " mode=",
        "timer_start" => " flags=",
        _ => "\n",
    };
    let text = line.text.split(cut).next().unwrap_or_default();
    let mut result = String::new();
    let mut behind_offset = false;
    // The kernel says whose functions those of a module are, and `%#x` of 0 is 0x0 there.
    let text = text
        .replace("(nil)", "0000000000000000")
        .replace(" [rtrace]", "");
    for word in words(&text) {
        let hex = |digits: &str| digits.chars().all(|c| c.is_ascii_hexdigit());
        let address = match word.strip_prefix("0x") {
            Some(digits) => digits.len() == 16 && hex(digits),
            None => word.len() == 16 && hex(word),
        };
        if address {
            result.push_str("ADDRESS");
        } else if word == "0x0" {
            result.push('0');
        } else if behind_offset && word.starts_with("0x") {
            // The length of the function after `function+0x10/`.
            result.truncate(result.len() - 1);
        } else {
            result.push_str(word);
        }
        behind_offset = word == "/" && result.contains("+0x");
    }
    line.text = result;
    line
}

/// Runs events of many kinds into the top buffer; returns what `trace` and the report of the
/// extracted file say, CPU by CPU.
fn both(client: Client, top: &Tree, args: &[&str]) -> Check<[BTreeMap<usize, Vec<Line>>; 2]> {
    let place = Folder::new("report")?;
    let file = place.file("trace.dat");
    client.text(&[&["start"], args].concat())?;
    crate::workload::mixed(2);
    top.set("tracing_on", "0")?;
    top.set("events/enable", "0")?;
    let by_cpu = |lines: Vec<Line>| {
        let mut found = BTreeMap::<_, Vec<_>>::new();
        for line in &lines {
            found.entry(line.cpu).or_default().push(comparable(line));
        }
        found
    };
    let trace = by_cpu(lines(&top.get("trace")?)?);
    client.text(&["extract", "-o", &file])?;
    let report = by_cpu(read(client, &file, &[])?);
    Ok([trace, report])
}

fn compare(what: &str, [trace, report]: &[BTreeMap<usize, Vec<Line>>; 2]) -> Check<usize> {
    let mut problems = Report::default();
    ensure_eq!(
        report.keys().collect::<Vec<_>>(),
        trace.keys().collect::<Vec<_>>(),
        "{what}: CPUs"
    );
    for (found, wanted) in report.values().flatten().zip(trace.values().flatten()) {
        problems.expect(found == wanted, || {
            format!("{what}: report {found:?}, trace {wanted:?}")
        });
    }
    let count = |lines: &BTreeMap<usize, Vec<Line>>| lines.values().map(Vec::len).sum::<usize>();
    ensure_eq!(count(report), count(trace), "{what}: events");
    problems.finish()?;
    Ok(count(report))
}

/// `trace-cmd report` says what `trace` says: tasks, CPUs, flags, times, events and their texts.
fn report(context: &Context) -> Check {
    let client = Client::of(context)?;
    let top = Tree::at(&context.root);
    let systems = [
        "sched",
        "irq",
        "timer",
        "raw_syscalls",
        "task",
        "signal",
        "workqueue",
        "kmem",
        "skb",
        "net",
        "irq_vectors",
        "power",
    ];
    let mut args = vec!["-b", "20000"];
    args.extend(systems.iter().flat_map(|system| ["-e", *system]));
    let texts = both(client, &top, &args)?;
    client.text(&["reset"])?;
    client.text(&["set", "-b", "1410"])?;
    let kinds: BTreeSet<_> = texts[1]
        .values()
        .flatten()
        .map(|line| &line.event)
        .collect();
    let count = compare("report", &texts)?;
    println!("{count} events of {} kinds", kinds.len());
    ensure!(
        count > 1000 && kinds.len() > 25,
        "{count} events: {kinds:?}"
    );
    Ok(())
}

/// The same times, whatever the clock: two of them, different ones each time, or all in the long
/// run.
fn report_clocks(context: &Context) -> Check {
    let client = Client::of(context)?;
    let top = Tree::at(&context.root);
    let mut problems = Report::default();
    let offered = top.get("trace_clock")?;
    let mut clocks: Vec<_> = offered
        .split_whitespace()
        .map(|clock| clock.trim_matches(['[', ']']))
        // libtraceevent takes jiffies for nanoseconds, and prints these nanoseconds whole.
        .filter(|clock| !["uptime", "boot"].contains(clock))
        .collect();
    ensure!(clocks.len() >= 8, "only {} clocks: {offered}", clocks.len());
    let first = soak::seed() as usize % clocks.len();
    clocks.rotate_left(first);
    clocks.truncate(soak::rounds(2, usize::MAX));
    for clock in clocks {
        let check = || -> Check {
            let texts = both(client, &top, &["-C", clock, "-e", "sched", "-e", "irq"])?;
            let count = compare(clock, &texts)?;
            ensure!(count > 50, "{clock}: {count} events");
            println!("{clock}: {count} events");
            Ok(())
        };
        problems.collect(check());
    }
    client.text(&["reset"])?;
    problems.finish()
}
