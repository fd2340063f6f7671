// SPDX-License-Identifier: GPL-2.0

//! The option `pipe-share`: several readers of one `trace_pipe`, each with all events and its own losses.

use super::json::{drain, objects};
use super::pipe::Reader;
use super::{exact, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::json::Json;
use crate::sys;
use crate::tree::{Instance, Tree};
use crate::workload;
use crate::Context;
use std::io::Read;
use std::time::Duration;

/// Long enough for a slow machine, short enough to call silence a failure.
const SOON: Duration = Duration::from_secs(8);

pub const TESTS: &[Test] = &[
    test("share.all_get_all", 60, all_get_all),
    exact("share.own_losses", 30, own_losses),
    test("share.waits", 60, waits),
    test("share.polls", 60, polls),
    exact("share.beside_consumers", 30, beside_consumers),
    test("share.emptied", 30, emptied),
    test("share.under_load", 60, under_load),
];

fn instance(context: &Context) -> Check<Instance> {
    if !context.is_rtracefs() {
        skip!("tracefs has one reader");
    }
    sys::interruptible_by_signal();
    let own = Instance::new(&context.root, "rtg-share")?;
    own.set("options/pipe-share", "1")?;
    // Stamps of two CPUs are compared.
    own.set("trace_clock", "mono")?;
    Ok(own)
}

fn mark(tree: &Tree, from: usize, to: usize) -> Check {
    (from..to).try_for_each(|at| tree.set("trace_marker", &format!("number {at}")))
}

/// The numbers of the markers in a text.
fn numbers(text: &str) -> Vec<usize> {
    text.lines()
        .filter_map(|line| line.rsplit("number ").next()?.parse().ok())
        .collect()
}

/// What an open file gives without sleeping.
fn rest(file: &mut std::fs::File) -> Check<String> {
    piece(file, usize::MAX)
}

/// The same, but little more than `most` bytes: writers may be faster than their reader for ever.
fn piece(file: &mut std::fs::File, most: usize) -> Check<String> {
    let (mut all, mut piece) = (String::new(), vec![0; 5000]);
    loop {
        if all.len() >= most {
            return Ok(all);
        }
        match file.read(&mut piece).map_err(Errno::from) {
            Ok(n) if n > 0 => all.push_str(&String::from_utf8_lossy(&piece[..n])),
            Ok(_) | Err(EAGAIN) => return Ok(all),
            Err(e) => fail!("read: {e}"),
        }
    }
}

fn open(tree: &Tree, name: &str) -> Check<std::fs::File> {
    tree.open_nonblock(name)
        .map_err(|e| format!("{}: {e}", tree.shown(name)))
}

/// Three readers at different paces get the same lines as `trace`, which keeps them.
fn all_get_all(context: &Context) -> Check {
    let own = instance(context)?;
    mark(&own, 0, 10)?;
    let mut files = [
        open(&own, "trace_pipe")?,
        open(&own, "trace_pipe")?,
        open(&own, "per_cpu/cpu0/trace_pipe")?,
    ];
    let early = rest(&mut files[0])?;
    ensure_eq!(
        numbers(&early),
        (0..10).collect::<Vec<_>>(),
        "the first ten"
    );
    own.set("events/sched/enable", "1")?;
    workload::mixed(1);
    own.set("events/sched/enable", "0")?;
    mark(&own, 10, 20)?;
    // Without the task: its name may become known in between.
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let known = |line: &str| {
            line.split_once(" [")
                .map_or("", |(_, rest)| rest)
                .to_string()
        };
        lines.map(known).collect()
    };
    let first = early + &rest(&mut files[0])?;
    ensure_eq!(lines(&first), lines(&own.get("trace")?), "the first reader");
    ensure_eq!(
        lines(&rest(&mut files[1])?),
        lines(&first),
        "the second reader"
    );
    ensure_eq!(
        lines(&rest(&mut files[2])?),
        lines(&own.get("per_cpu/cpu0/trace")?),
        "that of one CPU"
    );
    let json = objects(&drain(&own, "trace_pipe_json")?)?;
    ensure_eq!(json.len(), first.lines().count(), "as JSON");
    ensure_eq!(own.number("per_cpu/cpu0/stats", "read events")?, 0, "read");
    Ok(())
}

/// A slow reader is told what it missed; a fast one misses nothing.
fn own_losses(context: &Context) -> Check {
    sys::pin_to(0);
    let own = instance(context)?;
    own.set("buffer_size_kb", "8")?;
    let (mut fast, mut slow) = (open(&own, "trace_pipe")?, open(&own, "trace_pipe_json")?);
    mark(&own, 0, 10)?;
    let (mut lines, begun) = (rest(&mut fast)?, rest(&mut slow)?);
    for at in 0..100 {
        mark(&own, 10 + at * 20, 30 + at * 20)?;
        lines += &rest(&mut fast)?;
    }
    ensure_eq!(
        numbers(&lines),
        (0..2010).collect::<Vec<_>>(),
        "the fast reader"
    );
    ensure!(!lines.contains("LOST"), "the fast reader lost events");
    let later = objects(&rest(&mut slow)?)?;
    let lost: i128 = later
        .iter()
        .filter_map(|object| object.number("lost"))
        .sum();
    let kept = later.iter().filter(|o| o.get("event").is_some()).count();
    ensure!(lost > 0, "the slow reader lost nothing");
    ensure_eq!(
        objects(&begun)?.len() + kept + lost as usize,
        2010,
        "the slow reader"
    );
    let first = later.first().and_then(|object| object.number("lost"));
    ensure_eq!(first, Some(lost), "the loss is told once, in front");
    Ok(())
}

/// Readers sleep, all wake up, and each gets the end of the file.
fn waits(context: &Context) -> Check {
    let own = instance(context)?;
    let readers = [
        Reader::start(&own, "trace_pipe")?,
        Reader::start(&own, "trace_pipe")?,
        Reader::start(&own, "trace_pipe")?,
    ];
    for round in 0..20 {
        for reader in &readers {
            ensure!(sys::wait_asleep(reader.thread), "a reader does not sleep");
        }
        mark(&own, round, round + 1)?;
        for reader in &readers {
            let text = reader.next()?.map_err(|e| format!("round {round}: {e}"))?;
            ensure_eq!(numbers(&text), [round], "round {round}");
        }
    }
    let file = open(&own, "trace_pipe")?;
    ensure_eq!(sys::poll_in(&file, Duration::ZERO), Ok(sys::POLLIN), "poll");
    let mut file = file;
    rest(&mut file)?;
    ensure_eq!(
        sys::poll_in(&file, Duration::ZERO),
        Ok(0),
        "poll of nothing"
    );
    own.set("tracing_on", "0")?;
    for reader in readers {
        ensure_eq!(reader.next()?, Ok(String::new()), "the end");
        reader.stop()?;
    }
    Ok(())
}

/// Reads at most 4096 bytes.
fn page(file: &mut std::fs::File) -> Op<String> {
    let mut bytes = [0; 4096];
    let n = file.read(&mut bytes).map_err(Errno::from)?;
    Ok(String::from_utf8_lossy(&bytes[..n]).into_owned())
}

/// Checks that there is nothing to read, for poll and for a read.
fn nothing(file: &mut std::fs::File, what: &str) -> Check {
    ensure_eq!(sys::poll_in(file, Duration::ZERO), Ok(0), "poll, {what}");
    ensure_eq!(page(file), Err(EAGAIN), "a read, {what}");
    ensure_eq!(
        sys::poll_in(file, Duration::ZERO),
        Ok(0),
        "poll after a read, {what}"
    );
    Ok(())
}

/// poll tells of events only where a read gives some.
fn polls(context: &Context) -> Check {
    sys::pin_to(0);
    let own = instance(context)?;
    for name in ["trace_pipe", "per_cpu/cpu0/trace_pipe"] {
        own.clear()?;
        let mut file = open(&own, name)?;
        nothing(&mut file, "nothing was recorded")?;
        // The text is little longer than what the first read takes, which ends in the last line.
        let mut other = open(&own, name)?;
        let mut len = 0;
        while len <= 4096 {
            mark(&own, 0, 1)?;
            len += rest(&mut other)?.len();
        }
        for wanted in [4096, len - 4096] {
            let ready = sys::poll_in(&file, Duration::ZERO);
            ensure_eq!(ready, Ok(sys::POLLIN), "poll of {name}");
            let text = page(&mut file);
            let found = text.map(|text| text.len());
            ensure_eq!(found, Ok(wanted), "a read of {name}");
        }
        nothing(&mut file, "all was read")?;
        // Reads up to the end of a line leave most of it, which is emptied away.
        mark(&own, 0, 200)?;
        loop {
            let text = page(&mut file).map_err(|e| format!("a page of {name}: {e}"))?;
            if text.ends_with('\n') {
                break;
            }
        }
        let ready = sys::poll_in(&file, Duration::ZERO);
        ensure_eq!(ready, Ok(sys::POLLIN), "poll of {name} before `trace`");
        own.clear()?;
        nothing(&mut file, "the rest was emptied away")?;
        mark(&own, 0, 3)?;
        own.clear()?;
        nothing(&mut file, "all was emptied away")?;
        // A poller that sleeps after that is woken.
        let woken = std::thread::scope(|scope| {
            let poller = scope.spawn(|| sys::poll_in(&file, sys::patience(SOON)));
            std::thread::sleep(Duration::from_millis(50));
            let marked = mark(&own, 7, 8);
            marked.map(|()| poller.join().unwrap_or(Ok(0)))
        })?;
        ensure_eq!(woken, Ok(sys::POLLIN), "poll of {name} that sleeps");
        let text = page(&mut file);
        let came = text.as_ref().is_ok_and(|text| text.contains("number 7"));
        ensure!(came, "after poll {name} gives {text:?}");
    }
    Ok(())
}

/// The option counts when a file is opened: consumers are as ever, and what they take is missed.
fn beside_consumers(context: &Context) -> Check {
    sys::pin_to(0);
    let own = instance(context)?;
    let mut shared = open(&own, "trace_pipe")?;
    own.set("options/pipe-share", "0")?;
    let mut alone = open(&own, "trace_pipe")?;
    ensure_eq!(
        own.open_nonblock("trace_pipe").map(drop),
        Err(EBUSY),
        "a second consumer"
    );
    mark(&own, 0, 5)?;
    ensure_eq!(numbers(&rest(&mut shared)?), [0, 1, 2, 3, 4], "shared");
    ensure_eq!(numbers(&rest(&mut alone)?), [0, 1, 2, 3, 4], "consumed");
    mark(&own, 5, 8)?;
    ensure_eq!(numbers(&rest(&mut alone)?), [5, 6, 7], "consumed first");
    mark(&own, 8, 10)?;
    let text = rest(&mut shared)?;
    ensure_eq!(numbers(&text), [8, 9], "what is left");
    ensure!(
        text.starts_with("CPU:0 [LOST 3 EVENTS]\n"),
        "{text:?} tells of no loss"
    );
    Ok(())
}

/// Buffers that are emptied, or get another clock or size, under readers.
fn emptied(context: &Context) -> Check {
    sys::pin_to(0);
    let own = instance(context)?;
    let mut file = open(&own, "trace_pipe")?;
    let mut report = Report::default();
    for (file_name, value) in [
        ("trace", ""),
        ("trace_clock", "local"),
        ("trace", ""),
        ("trace_clock", "mono"),
    ] {
        mark(&own, 0, 20)?;
        ensure_eq!(numbers(&rest(&mut file)?).len(), 20, "before");
        mark(&own, 100, 105)?;
        match value {
            "" => own.clear()?,
            value => own.set(file_name, value)?,
        }
        // Fewer, as many and more than it has read.
        for count in [3, 20, 40] {
            mark(&own, 0, count)?;
            let found = numbers(&rest(&mut file)?);
            report.expect(found == (0..count).collect::<Vec<_>>(), || {
                format!("{file_name} {value}: {count} became {found:?}")
            });
        }
        own.clear()?;
    }
    mark(&own, 0, 10)?;
    own.set("buffer_size_kb", "500")?;
    mark(&own, 10, 20)?;
    ensure_eq!(
        numbers(&rest(&mut file)?),
        (0..20).collect::<Vec<_>>(),
        "another size"
    );
    report.finish()
}

/// Real events of all CPUs: the stamps of a CPU never go back for a reader, those of all CPUs neither once
/// nothing is written any more, and what it got and missed is all. (While there are writers, one that is
/// interrupted may end its event later than another CPU a newer one, which has been read by then.)
fn under_load(context: &Context) -> Check {
    let own = instance(context)?;
    own.set("buffer_size_kb", "50")?;
    let mut files = [
        open(&own, "trace_pipe_json")?,
        open(&own, "trace_pipe_json")?,
    ];
    // Losses count from the first event of a CPU that a reader has met.
    for cpu in 0..sys::online_cpus() {
        sys::pin_to(cpu);
        own.set("trace_marker", "first")?;
    }
    let mut texts = [rest(&mut files[0])?, rest(&mut files[1])?];
    own.set("events/sched/sched_switch/enable", "1")?;
    let load = workload::Load::start();
    for round in 0..16 {
        texts[0] += &piece(&mut files[0], 50_000)?;
        if round % 8 == 0 {
            texts[1] += &piece(&mut files[1], 50_000)?;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(load);
    own.set("events/sched/enable", "0")?;
    // The last lines may have been made before that.
    let whole = |text: &String| text.rfind('\n').map_or(0, |at| at + 1);
    let quiet = texts.each_ref().map(whole);
    let mut wanted = 0;
    for cpu in 0..sys::online_cpus() {
        for label in ["entries", "overrun"] {
            wanted += own.number(&format!("per_cpu/cpu{cpu}/stats"), label)?;
        }
    }
    for ((file, mut text), quiet) in files.iter_mut().zip(texts).zip(quiet) {
        text += &rest(file)?;
        // What was made while a task wrote, up to the line that was begun then.
        let before = text[quiet..]
            .find('\n')
            .map_or(text.len(), |at| quiet + at + 1);
        let objects_before = objects(&text[..before])?.len();
        let objects = objects(&text)?;
        let number = |object: &Json, name| object.number(name);
        let lost: i128 = objects.iter().filter_map(|o| number(o, "lost")).sum();
        let stamps: Vec<_> = objects.iter().filter_map(|o| number(o, "ts")).collect();
        let rise = |stamps: &[i128]| stamps.windows(2).all(|pair| pair[0] <= pair[1]);
        for cpu in 0..sys::online_cpus() as i128 {
            let of_cpu = objects.iter().filter(|o| number(o, "cpu") == Some(cpu));
            let of_cpu: Vec<_> = of_cpu.filter_map(|o| number(o, "ts")).collect();
            ensure!(rise(&of_cpu), "a stamp of cpu {cpu} goes back");
        }
        let after = objects[objects_before..].iter();
        let after: Vec<_> = after.filter_map(|o| number(o, "ts")).collect();
        ensure!(rise(&after), "a stamp goes back");
        ensure_eq!(lost as u64 + stamps.len() as u64, wanted, "got and missed");
        println!("{} events, {lost} missed", stamps.len());
    }
    Ok(())
}
