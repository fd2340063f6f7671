// SPDX-License-Identifier: GPL-2.0

//! `rtguest bench [PART]...`: what rtrace costs beside ftrace, in instructions.
//!
//! Run by scripts/bench in a machine that counts instructions: there a tick of the time stamp counter
//! is one instruction. Nothing here judges a number.

mod dynamic;
mod function;
mod inside;
mod kernel;
mod latency;
mod outside;
mod peers;
mod scaling;
mod table;
mod trigger;

use crate::check::Check;
use crate::sys;
use crate::Context;
use std::fs;
use table::Table;

/// The parts, in the order in which they run.
type Part = fn(&Context, &mut Table) -> Check;
const PARTS: &[(&str, Part)] = &[
    ("ring", inside::ring),
    ("event", inside::event),
    ("function", function::measure),
    ("trigger", trigger::measure),
    ("dynamic", dynamic::measure),
    ("latency", latency::measure),
    ("scaling", scaling::measure),
    ("outside", outside::measure),
];

fn write_out(name: &str, bytes: &[u8]) -> Check {
    let path = format!("/out/{name}");
    fs::create_dir_all("/out").map_err(|e| e.to_string())?;
    fs::write(&path, bytes).map_err(|e| format!("{path}: {e}"))
}

/// Those that run only when they are named.
const OTHER_PARTS: &[(&str, Part)] = &[("peers", peers::peers)];

/// Measures the parts that are named, or all; prints tables and writes them to `/out/bench.json`.
pub fn run(context: &Context, names: &[String]) -> Check {
    for name in names {
        let mut parts = PARTS.iter().chain(OTHER_PARTS);
        let known = parts.any(|(part, _)| part == name);
        ensure!(known, "no part {name} of the bench");
    }
    sys::pin_to(0);
    let mut table = Table::default();
    let named = |part: &str| names.iter().any(|name| name == part);
    let usual = PARTS
        .iter()
        .filter(|(part, _)| names.is_empty() || named(part));
    for (_, part) in usual.chain(OTHER_PARTS.iter().filter(|(part, _)| named(part))) {
        part(context, &mut table)?;
    }
    write_out("bench.json", table.json().as_bytes())
}

/// Runs what scripts/breakdown looks at: the loops of rtbench, or what is named. Leaves beside it in `/out` what that needs to know: the
/// order of the runs, and where functions are.
pub fn breakdown(context: &Context, names: &[String]) -> Check {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    sys::pin_to(0);
    let windows = match names[..] {
        [] => inside::windows(context)?,
        ["text"] => outside::windows(context)?,
        ["trigger"] => trigger::windows(context)?,
        ["dynamic"] => dynamic::windows(context)?,
        ["latency"] => latency::windows(context)?,
        _ => fail!("no breakdown of {names:?}"),
    };
    let symbols = fs::read("/proc/kallsyms").map_err(|e| format!("/proc/kallsyms: {e}"))?;
    write_out("windows", windows.as_bytes())?;
    write_out("kallsyms", &symbols)
}
