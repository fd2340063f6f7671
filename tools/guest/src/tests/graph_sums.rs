// SPDX-License-Identifier: GPL-2.0

//! What is made of the calls in a buffer: how long they took, and the examples of Documentation/using.md.

use super::graph::{functions, getpgid, getppid, select, sides, FILTER};
use super::{test, Test};
use crate::check::Check;
use crate::sys;
use crate::using;
use crate::Context;
use std::collections::BTreeMap;

pub const TESTS: &[Test] = &[
    test("graph.durations", 60, durations),
    test("graph.in_use", 120, in_use),
];

const ONLY: &str = "set_ftrace_pid";

/// Calls by how long they took: `trace_durations` has each call that `trace` has the end of, in its range.
fn durations(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    if !own.exists("trace_durations") {
        skip!("a file of rtracefs");
    }
    sys::pin_to(0);
    let functions = functions(&own.top())?;
    own.set(ONLY, &sys::thread_id().to_string())?;
    ensure_eq!(own.get("trace_durations")?.lines().count(), 1, "before");
    select(&own, FILTER, &functions)?;
    own.set("current_tracer", "function_graph")?;
    for round in 0..100 {
        getppid();
        getpgid(round % 2);
    }
    own.set("tracing_on", "0")?;
    let (trace, text) = (own.get("trace")?, own.get("trace_durations")?);
    print!("{text}");
    let mut calls = BTreeMap::new();
    let mut open = Vec::new();
    let mut is_exact = true;
    for line in trace.lines().filter(|line| !line.starts_with('#')) {
        let Some((head, call)) = line.split_once("|  ") else {
            fail!("no call: {line}");
        };
        let call = call.trim();
        if let Some(name) = call.strip_suffix("() {") {
            open.push(name.to_string());
            continue;
        }
        let name = match call.strip_suffix("();") {
            Some(name) => name.to_string(),
            None => open.pop().ok_or_else(|| format!("an end alone: {line}"))?,
        };
        let time = head.split_once(" us").map(|(head, _)| head);
        let time = time.and_then(|head| head.rsplit(' ').next());
        let time = time.ok_or_else(|| format!("no time: {line}"))?;
        let (whole, rest) = time.split_once('.').unwrap_or((time, ""));
        is_exact &= rest.len() == 3;
        let ns: u64 = format!("{whole}{rest:0<3}")
            .parse()
            .map_err(|_| format!("{line:?}"))?;
        *calls.entry((name, ns.ilog2())).or_insert(0u64) += 1;
    }
    let mut shown = BTreeMap::new();
    for line in text.lines().skip(1) {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, from, to, count, bar] = words[..] else {
            fail!("{line:?}");
        };
        let number = |word: &str| word.parse::<u64>().map_err(|_| format!("{line:?}"));
        let (from, to, count) = (number(from)?, number(to)?, number(count)?);
        ensure!(from.is_power_of_two() && to == 2 * from - 1, "{line:?}");
        ensure!(
            !bar.is_empty() && bar.bytes().all(|b| b == b'#'),
            "{line:?}"
        );
        let is_new = shown
            .insert((name.to_string(), from.ilog2()), count)
            .is_none();
        ensure!(is_new, "twice: {line:?}");
    }
    let by_function = |of: &BTreeMap<(String, u32), u64>| {
        let mut sums = BTreeMap::new();
        for ((name, _), count) in of {
            *sums.entry(name.clone()).or_insert(0) += count;
        }
        sums
    };
    ensure_eq!(by_function(&shown), by_function(&calls), "calls");
    ensure!(!is_exact || shown == calls, "{text}, trace: {trace}");
    ensure_eq!(own.get("trace_durations")?, text, "nothing is consumed");
    own.set("current_tracer", "nop")?;
    ensure_eq!(own.get("trace_durations")?.lines().count(), 1, "emptied");
    own.remove()
}

/// The examples, one after the other.
fn in_use(context: &Context) -> Check {
    let (own, _) = sides(context)?;
    if !own.exists("trace_durations") {
        skip!("examples of rtracefs");
    }
    select(&own, FILTER, "vfs_read")?;
    own.set("current_tracer", "function_graph")?;
    own.set(ONLY, &sys::thread_id().to_string())?;
    own.set("options/function-fork", "1")?;
    let text = using::run("graph.errors", &own)?;
    print!("{text}");
    let failed = text.lines().filter(|line| !line.starts_with('#'));
    let failed: Vec<_> = failed.filter(|line| line.contains("/*")).collect();
    ensure!(
        failed.len() >= 2 && failed.iter().any(|line| line.contains("-2")),
        "{text}"
    );
    ensure!(
        failed.iter().any(|line| line.contains("path_openat")),
        "{text}"
    );

    let text = using::run("graph.durations", &own)?;
    print!("{text}");
    let rows: Vec<_> = text.lines().skip(1).collect();
    ensure!(
        rows.len() > 1 && rows.iter().any(|row| row.starts_with("vfs_")),
        "{text}"
    );

    using::run("graph.folded", &own)?;
    let text = std::fs::read_to_string("/tmp/calls.folded").map_err(|e| e.to_string())?;
    print!("{text}");
    let is_way = |line: &str| {
        let (way, time) = line.rsplit_once(' ').unwrap_or_default();
        way.split(';').count() >= 2 && time.parse::<u64>().is_ok()
    };
    ensure!(
        text.lines().count() > 2 && text.lines().all(is_way),
        "{text}"
    );

    let text = using::run("graph.json", &own)?;
    print!("{text}");
    let is_exit = |line: &str| {
        line.starts_with('{') && line.contains("\"rettime\":") && line.contains("\"func\":\"vfs_")
    };
    ensure!(
        text.lines().count() > 2 && text.lines().all(is_exit),
        "{text}"
    );
    own.remove()
}
