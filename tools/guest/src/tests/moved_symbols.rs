// SPDX-License-Identifier: GPL-2.0

//! Arguments of events that users define name a symbol of a module, which comes later than the definition, goes, and is
//! elsewhere when it comes again: both tracers take the same lines and read the same memory.

use super::dynamic::{need_line, Tops};
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::kernel_modules::{Loaded, Modules};
use crate::sys;
use crate::vsock;
use crate::Context;
use std::collections::BTreeSet;

pub const TESTS: &[Test] = &[test("modev.symbols", 120, symbols)];

const FILE: &str = "dynamic_events";

/// A function of the module, whose code is what the arguments read.
const SYMBOL: &str = "vsock_connectible_sendmsg";
/// Other modules, which take the place where it was.
const OTHERS: &[&str] = &["sunrpc", "9pnet", "sctp"];

/// The letters of the events, and the places of each.
const PLACES: &[(&str, &str)] = &[
    ("f", "vfs_read"),
    ("t", "sys_enter"),
    ("p", "vsock:vsock_connectible_sendmsg"),
];
/// When they are defined: before the module is there, and while it is.
const TIMES: &[&str] = &["early", "late"];

/// Returns the lines of the events that are defined then.
fn lines(when: &str) -> Vec<String> {
    let line = |(letter, place): &(&str, &str)| {
        format!("{letter}:moved/{letter}_{when} {place} a=@{SYMBOL}+32:x64 b=@{SYMBOL}+40:x32 c=@jiffies:u8")
    };
    PLACES.iter().map(line).collect()
}

/// Returns where the symbol is, which the kernel's table of symbols says.
fn address() -> Check<String> {
    let text = std::fs::read_to_string("/proc/kallsyms").map_err(|e| e.to_string())?;
    let mut rows = text.lines().map(|line| line.split_whitespace());
    let row = rows.find_map(|mut row| {
        let address = row.next()?;
        (row.nth(1) == Some(SYMBOL)).then_some(address)
    });
    match row {
        Some(address) if address.contains(|c: char| c != '0') => Ok(address.to_string()),
        _ => skip!("the address of {SYMBOL} is not shown"),
    }
}

/// Loads the module where it was not `before`, and returns where the symbol is now.
fn load_elsewhere<'a>(modules: &'a Modules, before: Option<&str>) -> Check<(Loaded<'a>, String)> {
    for count in 0..=OTHERS.len() {
        let mut loaded = Loaded::new(modules);
        for other in &OTHERS[..count] {
            loaded.add(other)?;
        }
        loaded.add("vsock-loopback")?;
        let address = address()?;
        if before != Some(address.as_str()) {
            return Ok((loaded, address));
        }
        loaded.remove()?;
    }
    skip!("the module comes to the same place each time")
}

/// The values of the first two arguments in the records of an event, each pair once.
fn values(text: &str, event: &str) -> BTreeSet<String> {
    let mark = format!(" {event}: (");
    let records = text.lines().filter(|line| line.contains(&mark));
    let values = records.filter_map(|line| line.split_once(" a=")?.1.split_once(" c="));
    values.map(|(values, _)| values.to_string()).collect()
}

fn symbols(context: &Context) -> Check {
    let tops = Tops::cleared(context);
    need_line(&tops.reference, "f:moved/there vfs_read")?;
    need_line(&tops.reference, "t:moved/there sys_enter")?;
    let modules = Modules::new()?;
    let mut report = Report::default();
    let take = |when: &str, report: &mut Report| {
        let lines = lines(when);
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        tops.take(report, FILE, &lines, &["moved"])
    };
    take("early", &mut report)?;
    report.finish()?;
    let mut report = Report::default();
    let (own, reference) = pair(context)?;
    let instances = [&own, &reference];
    for tree in instances {
        tree.set("set_event_pid", &sys::thread_id().to_string())?;
        for event in ["f_early", "t_early"] {
            let file = format!("events/moved/{event}/enable");
            ensure_eq!(tree.write(&file, b"1"), Err(ENOENT), "{file}");
        }
        // It waits for the module.
        tree.set("events/moved/p_early/enable", "1")?;
    }
    let mut before: Option<String> = None;
    for round in 0..3 {
        let (mut loaded, address) = load_elsewhere(&modules, before.as_deref())?;
        before = Some(address);
        if round == 0 {
            take("late", &mut report)?;
        }
        for tree in instances {
            tree.clear()?;
            // Those that are on already, too.
            tree.set("events/moved/enable", "1")?;
        }
        vsock::talk(20)?;
        for tree in instances {
            for event in ["f_early", "t_early", "f_late", "t_late"] {
                tree.set(&format!("events/moved/{event}/enable"), "0")?;
            }
        }
        loaded.remove()?;
        let (own_text, wanted_text) = (own.get("trace")?, reference.get("trace")?);
        for when in TIMES {
            for (letter, _) in PLACES {
                let event = format!("{letter}_{when}");
                let found = values(&own_text, &event);
                let wanted = values(&wanted_text, &event);
                report.expect(wanted.len() == 1, || {
                    format!("round {round}: {event} of tracefs has {wanted:?}")
                });
                report.expect(found == wanted, || {
                    format!("round {round}: {event} has {found:?}, tracefs {wanted:?}")
                });
            }
        }
    }
    report.finish()
}
