// SPDX-License-Identifier: GPL-2.0

//! Texts do not reveal where the kernel is: no line of any event, in any form that a reader can get
//! without being the owner, whatever `kptr_restrict` says.

use super::json::{drain, objects};
use super::{test, Test};
use crate::check::{Check, Report};
use crate::soak::{rounds, seed};
use crate::tree::{Instance, Tree};
use crate::workload;
use crate::Context;
use std::collections::{BTreeMap, BTreeSet};

pub const TESTS: &[Test] = &[
    test("security.no_addresses", 240, no_addresses),
    test("security.hashed_alike", 60, hashed_alike),
];

const RESTRICT: &str = "/proc/sys/kernel/kptr_restrict";

/// Events whose own text, which is that of the kernel's header, consists of addresses, and raw events
/// of kernels with checks whose arguments are addresses as numbers.
const OF_ADDRESSES: &[&str] = &[
    "alloc_vmap_area",
    "purge_vmap_area_lazy",
    "free_vmap_area_noflush",
    "irq_disable",
    "irq_enable",
    "preempt_disable",
    "preempt_enable",
];

/// Addresses of the kernel, with page tables of four levels or five; what is above them are small
/// negative numbers.
pub fn is_address(number: u64) -> bool {
    (0xff00_0000_0000_0000..0xffff_ffff_ffff_f000).contains(&number)
}

/// The words of a line that are an address, in hexadecimal or decimal digits.
fn addresses(line: &str) -> Vec<&str> {
    line.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| {
            let hex = word.strip_prefix("0x").unwrap_or(word);
            let hex = (hex.len() == 16).then(|| u64::from_str_radix(hex, 16).ok());
            let number = hex.flatten().or_else(|| word.parse().ok());
            number.is_some_and(is_address)
        })
        .collect()
}

/// Lines with an address, one for each event.
fn telling(text: &str) -> BTreeMap<String, String> {
    let mut event = String::new();
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        // `task-pid [cpu] flags stamp: event: text`, followed by lines of stacks.
        if let Some((_, rest)) = line.split_once(": ") {
            let name = rest.split([':', '(', ' ']).next().unwrap_or_default();
            event = name.to_string();
        }
        if !addresses(line).is_empty() && !OF_ADDRESSES.contains(&event.as_str()) {
            found.entry(event.clone()).or_insert(line.to_string());
        }
    }
    found
}

/// An instance with what happened on the machine meanwhile.
fn recorded(context: &Context, name: &str, kb: &str, on: &[(&str, &str)]) -> Check<Instance> {
    let own = Instance::new(&context.root, name)?;
    own.set("buffer_size_kb", kb)?;
    for (file, value) in on {
        own.set(file, value)?;
    }
    workload::mixed(1);
    own.set("tracing_on", "0")?;
    own.set("events/enable", "0")?;
    Ok(own)
}

/// The kinds of events in a text.
fn kinds(text: &str) -> BTreeSet<&str> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": ")?.1.split([':', '(']).next())
        .collect()
}

/// Events of ftrace, of system calls, raw ones, and stacks.
fn no_addresses(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs prints what it prints");
    }
    let mut report = Report::default();
    let before = std::fs::read_to_string(RESTRICT).map_err(|e| format!("{RESTRICT}: {e}"))?;
    let restrict =
        |value: &str| std::fs::write(RESTRICT, value).map_err(|e| format!("{RESTRICT}: {e}"));
    let mut look = |own: &Tree, least: usize| -> Check {
        // With all that the owner may show, the same text has some.
        own.set("trace_options", "nohash-ptr")?;
        own.set("trace_options", "sym-addr")?;
        ensure!(!telling(&own.get("trace")?).is_empty(), "nothing to hide");
        own.set("trace_options", "hash-ptr")?;
        own.set("trace_options", "nosym-addr")?;
        let shown = own.get("trace")?;
        let kinds = kinds(&shown);
        println!("{} kinds of events", kinds.len());
        ensure!(kinds.len() >= least, "only {kinds:?}");
        let json = drain(own, "trace_pipe_json")?;
        for (event, line) in telling(&shown).into_iter().chain(telling(&json)) {
            report.expect(false, || format!("{event}: an address: {line}"));
        }
        Ok(())
    };
    // One of the two in the usual run, now this and now that.
    let values = ["0", "2"];
    let first = seed() as usize % 2;
    for value in values.iter().cycle().skip(first).take(rounds(1, 2)) {
        restrict(value)?;
        let raw = recorded(context, "rtg-raw", "1500", &[("events/raw/enable", "1")])?;
        let all = recorded(context, "rtg-all", "3000", &[("events/enable", "1")])?;
        let stacks: &[_] = &[("options/stacktrace", "1"), ("events/sched/enable", "1")];
        let stacks = recorded(context, "rtg-stacks", "300", stacks)?;
        let result = look(&raw, 15).and_then(|()| look(&all, 60));
        let result = result.and_then(|()| look(&stacks, 4));
        restrict(before.trim())?;
        result?;
    }
    report.finish()
}

/// A pointer has one number in `trace` and in `trace_pipe_json`, and in the second also where the owner
/// lets the first show addresses.
fn hashed_alike(context: &Context) -> Check {
    if !context.is_rtracefs() {
        skip!("tracefs writes no JSON");
    }
    let own = Instance::new(&context.root, "rtg-own")?;
    own.set("buffer_size_kb", "4000")?;
    own.set("events/kmem/kfree/filter", "ptr != 0")?;
    own.set("events/kmem/kfree/enable", "1")?;
    workload::mixed(2);
    own.set("events/kmem/kfree/enable", "0")?;
    let pointers = |text: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| Some(line.split_once("ptr=")?.1.trim().to_string()))
            .collect()
    };
    let hashed = pointers(&own.get("trace")?);
    own.set("options/hash-ptr", "0")?;
    let open = pointers(&own.get("trace")?);
    let json: Vec<String> = objects(&drain(&own, "trace_pipe_json")?)?
        .iter()
        .filter_map(|object| object.get("fields"))
        .filter_map(|fields| fields.text("ptr").map(str::to_string))
        .collect();
    ensure!(hashed.len() > 20, "only {} events", hashed.len());
    ensure_eq!(json, hashed, "pointers in JSON");
    let known = |text: &String| u64::from_str_radix(text, 16).is_ok_and(is_address);
    ensure!(
        open.len() == hashed.len() && open.iter().all(known) && !hashed.iter().any(known),
        "{:?} instead of {:?}",
        hashed.first(),
        open.first()
    );
    Ok(())
}
