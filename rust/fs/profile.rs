// SPDX-License-Identifier: GPL-2.0

//! The files of the function profiler: `function_profile_enabled`, `function_profile_time`, and `trace_stat`
//! with a file for each CPU.

use super::{
    file::{
        Arg,
        FileIdentity,
        FileKind,
        Handler::{
            Knob,
            Own, //
        },
        TraceFile, //
    },
    text_file::{
        no_memory,
        refused,
        TextFile, //
    },
    tree::{
        entry,
        EntryKind::{
            CpuFiles,
            File, //
        },
        EntryPlace::TopOnly,
        TreeEntry,
        WRITE, //
    },
};
use crate::{
    hooks,
    kapi::sort::{
        self,
        SortedItem, //
    },
    output::Text,
    text::{
        number,
        profile::{
            self,
            ProfileTotals, //
        }, //
    }, //
};
use core::fmt::Write;
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// The files.
static ENTRIES: &[TreeEntry] = &[
    entry(
        c"function_profile_enabled",
        TopOnly,
        File(Knob(show_enabled, store_enabled)),
    ),
    entry(
        c"function_profile_time",
        TopOnly,
        File(Knob(show_time, store_time)),
    ),
    entry(
        c"trace_stat",
        TopOnly,
        CpuFiles(
            ("trace_stat/", c"functionN"),
            "function",
            Own(WRITE, FileKind::Lines, open),
        ),
    ),
];

/// Returns the files; none in a kernel that traces no functions.
pub(super) fn entries() -> impl Iterator<Item = &'static TreeEntry> {
    ENTRIES.iter().filter(|_| hooks::IS_THERE)
}

/// `function_profile_enabled`.
fn show_enabled(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", u8::from(at.inst.profiles_functions())).map_err(no_memory)
}

/// `function_profile_enabled`.
fn store_enabled(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    if !number::parse_switch(command).map_err(refused)? {
        at.inst.stop_profile();
        return Ok(());
    }
    at.inst.profile_functions(MEASURES.load(Relaxed))
}

/// Whether times are measured by a profiler that is enabled next. A kernel that can not follow calls to their
/// ends has none to offer.
static MEASURES: Atomic<bool> = Atomic::new(hooks::GRAPH_IS_THERE);

/// `function_profile_time`.
fn show_time(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", u8::from(MEASURES.load(Relaxed))).map_err(no_memory)
}

/// `function_profile_time`.
fn store_time(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let measures = number::parse_flag(command).map_err(refused)?;
    if measures && !hooks::GRAPH_IS_THERE {
        return Err(ENODEV);
    }
    MEASURES.store(measures, Relaxed);
    Ok(())
}

/// A line of a file of `trace_stat`.
#[derive(Clone, Copy)]
struct ProfileLine {
    /// What sorts first: the larger, the earlier.
    weight: u64,
    /// The place of the function in the kernel's list.
    place: usize,
    totals: ProfileTotals,
}

impl SortedItem for ProfileLine {
    fn key(&self) -> (u64, u64) {
        (!self.weight, self.place as u64)
    }
}

/// Opens a file of `trace_stat`. As in ftrace its mode allows writing, which is refused.
fn open(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    TextFile::show(show_stat)
}

fn show_stat(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let Arg::Cpu(cpu) = at.arg else {
        return Err(EINVAL);
    };
    let report = hooks::profile_report(cpu)?;
    let timed = report.is_timed;
    let threshold = at.inst.graph().threshold();
    let mut lines = KVVec::new();
    let known = hooks::current()?;
    for (place, function) in (0..).zip(known.list().iter()) {
        let counted = &report.functions;
        let Ok(found) = counted.binary_search_by_key(&function.address, |of| of.address) else {
            continue;
        };
        let Some(totals) = counted.get(found).map(|of| of.totals) else {
            continue;
        };
        if timed && totals.average() < threshold {
            continue;
        }
        let weight = match timed {
            true => totals.time,
            false => totals.hits,
        };
        let line = ProfileLine {
            weight,
            place,
            totals,
        };
        lines.push(line, GFP_KERNEL)?;
    }
    sort::ascending(&mut lines);
    profile::write_header(timed, text).map_err(no_memory)?;
    for line in &lines {
        if let Some(function) = known.list().get(line.place) {
            profile::write_line(function.name, &line.totals, timed, text).map_err(no_memory)?;
        }
    }
    Ok(())
}
