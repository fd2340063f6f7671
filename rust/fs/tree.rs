// SPDX-License-Identifier: GPL-2.0

//! Which files there are, with which mode and for whom: one table, and the code that makes the
//! folders of an instance from it. What is in `events/` is in `fs::events_dir`.
//!
//! `fs::superblock` calls it for the top folder of a mount and for every new instance.

use super::{
    durations,
    dynamic,
    error_log,
    events::{
        self,
        SetEvent, //
    },
    events_dir,
    features,
    file::{
        Arg,
        FileKind,
        FileNode, //
        Handler::{
            self,
            Knob,
            List,
            Moving,
            Own,
            Show,
            Word, //
        },
    },
    folded,
    free::FreeBuffer,
    functions,
    knob,
    latency,
    marker::{
        Marker,
        RawMarker, //
    },
    pids,
    pipe,
    profile,
    raw::RawFile,
    snapshot::SnapshotFile,
    stack,
    syscalls,
    text_file::PositionMove,
    trace,
    user_events, //
};
use crate::{
    instance::Instance,
    kapi::{
        self,
        cpus,
        fs::FOLDER_MODE, //
    },
    text::options::{
        Opt,
        Scope, //
    },
    tracers, //
};
use kernel::{
    prelude::*,
    str::CString,
    sync::Arc, //
};

/// A folder of rtracefs that is being filled.
pub(crate) type TreeDir<'a> = kapi::dir::Dir<'a, FileNode>;

/// Readable and writable by root, readable by the group.
pub(super) const WRITE: u16 = 0o640;
/// Readable by root and the group.
pub(super) const READ: u16 = 0o440;
/// Writable by root and the group.
const APPEND: u16 = 0o220;
/// Writable by root.
const WIPE: u16 = 0o200;

/// The instances that have an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryPlace {
    /// Every instance.
    Everywhere,
    /// The top instance alone.
    TopOnly,
}
use EntryPlace::*;

/// What a name stands for.
pub(super) enum EntryKind {
    /// A file.
    File(Handler),
    /// A folder, its name with a slash, and its files.
    Folder(&'static str, &'static [(&'static CStr, Handler)]),
    /// The same with a folder `per_cpu` in it, where each CPU has a folder with files: how they are listed, and these.
    CpuFolder(
        &'static str,
        &'static [(&'static CStr, Handler)],
        &'static str,
        &'static [(&'static CStr, Handler)],
    ),
    /// A folder for each CPU.
    PerCpu,
    /// A folder with a file for each CPU: how they are listed, what their names begin with, what they are.
    CpuFiles((&'static str, &'static CStr), &'static str, Handler),
    /// The events, by system.
    Events,
    /// A file for each option.
    Options,
    /// The folder in which users make instances.
    Instances,
}
use EntryKind::*;

/// One name in a folder.
pub(super) struct TreeEntry {
    name: &'static CStr,
    place: EntryPlace,
    what: EntryKind,
}

pub(super) const fn entry(name: &'static CStr, place: EntryPlace, what: EntryKind) -> TreeEntry {
    TreeEntry { name, place, what }
}

/// The folder of an instance.
static INSTANCE: &[TreeEntry] = &[
    entry(c"README", TopOnly, File(Show(knob::show_readme))),
    entry(
        c"available_events",
        TopOnly,
        File(List(events::show_available)),
    ),
    entry(
        c"available_tracers",
        Everywhere,
        File(List(knob::show_tracers)),
    ),
    entry(
        c"buffer_percent",
        Everywhere,
        File(Moving(
            knob::show_percent,
            knob::store_percent,
            PositionMove::One,
        )),
    ),
    entry(
        c"buffer_size_kb",
        Everywhere,
        File(Knob(knob::show_size, knob::store_size)),
    ),
    entry(
        c"buffer_subbuf_size_kb",
        Everywhere,
        File(Moving(
            knob::show_subbuf_size,
            knob::store_subbuf_size,
            PositionMove::OneIfNew,
        )),
    ),
    entry(
        c"buffer_total_size_kb",
        Everywhere,
        File(Show(knob::show_total_size)),
    ),
    entry(
        c"current_tracer",
        Everywhere,
        File(Knob(knob::show_tracer, knob::store_tracer)),
    ),
    entry(
        c"error_log",
        Everywhere,
        File(Own(WRITE, FileKind::LinesRead, error_log::open)),
    ),
    entry(
        c"event_counts",
        Everywhere,
        File(List(features::show_counts)),
    ),
    entry(c"events", Everywhere, Events),
    entry(c"features", TopOnly, File(Show(features::show))),
    entry(
        c"free_buffer",
        Everywhere,
        File(Own(WIPE, FileKind::Sink, FreeBuffer::open)),
    ),
    entry(c"instances", TopOnly, Instances),
    entry(c"options", Everywhere, Options),
    entry(c"per_cpu", Everywhere, PerCpu),
    entry(c"saved_cmdlines", TopOnly, File(List(knob::show_cmdlines))),
    entry(
        c"saved_cmdlines_size",
        TopOnly,
        File(Knob(knob::show_cmdlines_size, knob::store_cmdlines_size)),
    ),
    entry(c"saved_tgids", TopOnly, File(List(knob::show_tgids))),
    entry(
        c"set_event",
        Everywhere,
        File(Own(WRITE, FileKind::Lines, SetEvent::open)),
    ),
    entry(
        c"set_event_notrace_pid",
        Everywhere,
        File(Own(WRITE, FileKind::Lines, pids::open_never)),
    ),
    entry(
        c"set_event_pid",
        Everywhere,
        File(Own(WRITE, FileKind::Lines, pids::open_only)),
    ),
    entry(
        c"show_event_filters",
        Everywhere,
        File(List(events::show_all_filters)),
    ),
    entry(
        c"show_event_triggers",
        Everywhere,
        File(List(events::show_all_triggers)),
    ),
    entry(
        c"snapshot",
        Everywhere,
        File(Own(WRITE, FileKind::LinesRead, SnapshotFile::open)),
    ),
    entry(
        c"syscall_user_buf_size",
        Everywhere,
        File(Knob(syscalls::show_user_bytes, syscalls::store_user_bytes)),
    ),
    entry(
        c"timestamp_mode",
        Everywhere,
        File(List(knob::show_timestamp_mode)),
    ),
    entry(
        c"trace",
        Everywhere,
        File(Own(WRITE, FileKind::LinesRead, trace::open)),
    ),
    entry(
        c"trace_clock",
        Everywhere,
        File(Word(knob::show_clock, knob::store_clock)),
    ),
    entry(c"trace_durations", Everywhere, File(List(durations::show))),
    entry(c"trace_folded", Everywhere, File(List(folded::show))),
    entry(
        c"trace_marker",
        Everywhere,
        File(Own(APPEND, FileKind::Sink, Marker::open)),
    ),
    entry(
        c"trace_marker_raw",
        Everywhere,
        File(Own(APPEND, FileKind::Sink, RawMarker::open)),
    ),
    entry(
        c"trace_options",
        Everywhere,
        File(Word(knob::show_options, knob::store_options)),
    ),
    entry(
        c"trace_pipe",
        Everywhere,
        File(Own(READ, FileKind::Stream, pipe::open)),
    ),
    entry(
        c"trace_pipe_json",
        Everywhere,
        File(Own(READ, FileKind::Stream, pipe::open_json)),
    ),
    entry(
        c"tracing_cpumask",
        Everywhere,
        File(Moving(
            knob::show_cpumask,
            knob::store_cpumask,
            PositionMove::Not,
        )),
    ),
    entry(
        c"tracing_on",
        Everywhere,
        File(Moving(
            knob::show_tracing_on,
            knob::store_tracing_on,
            PositionMove::One,
        )),
    ),
];

/// Returns what the folder of an instance has.
fn entries() -> impl Iterator<Item = &'static TreeEntry> {
    let own = Iterator::chain(functions::entries(), dynamic::entries());
    let own = Iterator::chain(own, user_events::entries());
    let own = Iterator::chain(own, latency::entries());
    let own = Iterator::chain(own, profile::entries());
    let own = Iterator::chain(own, stack::entries());
    Iterator::chain(INSTANCE.iter(), own)
}

/// The folder of a CPU in `per_cpu`.
static CPU: &[(&CStr, Handler)] = &[
    (c"buffer_size_kb", Knob(knob::show_size, knob::store_size)),
    (
        c"snapshot",
        Own(WRITE, FileKind::LinesRead, SnapshotFile::open),
    ),
    (
        c"snapshot_raw",
        Own(READ, FileKind::RawSnapshot, RawFile::open_snapshot),
    ),
    (c"stats", Show(knob::show_stats)),
    (c"totals", Show(knob::show_totals)),
    (c"trace", Own(WRITE, FileKind::LinesRead, trace::open)),
    (c"trace_pipe", Own(READ, FileKind::Stream, pipe::open)),
    (
        c"trace_pipe_json",
        Own(READ, FileKind::Stream, pipe::open_json),
    ),
    (c"trace_pipe_raw", Own(READ, FileKind::Raw, RawFile::open)),
];

/// A file of `options/`.
static OPTION: Handler = Knob(knob::show_option, knob::store_option);

/// Calls `f` with the folder, of one CPU, system and event for all, and the name of each file.
pub(crate) fn for_each_file(mut f: impl FnMut(&str, &CStr)) {
    for entry in entries() {
        match entry.what {
            File(_) => f("", entry.name),
            Folder(folder, files) => files.iter().for_each(|(name, _)| f(folder, name)),
            CpuFolder(folder, files, of_cpus, their) => {
                files.iter().for_each(|(name, _)| f(folder, name));
                their.iter().for_each(|(name, _)| f(of_cpus, name));
            }
            CpuFiles((folder, name), ..) => f(folder, name),
            _ => {}
        }
    }
    for (name, _) in CPU {
        f("per_cpu/cpuN/", name);
    }
    events_dir::for_each_file(f);
}

/// Makes the folder of `inst`.
pub(crate) fn fill(dir: &TreeDir<'_>, inst: &Arc<Instance>) -> Result {
    for entry in entries() {
        if entry.place == TopOnly && !inst.is_top() {
            continue;
        }
        match &entry.what {
            File(handler) => file(dir, entry.name, inst, Arg::Whole, handler)?,
            Folder(_, table) => folder(dir, entry.name, |dir| files(dir, inst, Arg::Whole, table))?,
            CpuFolder(_, table, _, their) => folder(dir, entry.name, |dir| {
                files(dir, inst, Arg::Whole, table)?;
                folder(dir, c"per_cpu", |dir| fill_per_cpu(dir, inst, their))
            })?,
            PerCpu => folder(dir, entry.name, |dir| fill_per_cpu(dir, inst, CPU))?,
            CpuFiles(_, prefix, handler) => folder(dir, entry.name, |dir| {
                fill_cpu_files(dir, inst, prefix, handler)
            })?,
            Events => events_dir::make(dir, entry.name, inst)?,
            Options => folder(dir, entry.name, |dir| fill_options(dir, inst))?,
            Instances => super::superblock::instances(dir, entry.name)?,
        }
    }
    Ok(())
}

/// Makes one file.
fn file(
    dir: &TreeDir<'_>,
    name: &CStr,
    inst: &Arc<Instance>,
    arg: Arg,
    handler: &'static Handler,
) -> Result {
    let node = KBox::new(
        FileNode {
            inst: inst.clone(),
            arg,
            handler: Some(handler),
            _id: None,
        },
        GFP_KERNEL,
    )?;
    dir.file(name, handler.mode(), handler.operations(), node)
}

/// Makes the files of `table`, all with the same `arg`.
fn files(
    dir: &TreeDir<'_>,
    inst: &Arc<Instance>,
    arg: Arg,
    table: &'static [(&CStr, Handler)],
) -> Result {
    for (name, handler) in table {
        file(dir, name, inst, arg, handler)?;
    }
    Ok(())
}

/// Makes one folder.
fn folder(dir: &TreeDir<'_>, name: &CStr, fill: impl FnOnce(&TreeDir<'_>) -> Result) -> Result {
    dir.folder(name, FOLDER_MODE, None, None, fill)
}

fn fill_per_cpu(
    dir: &TreeDir<'_>,
    inst: &Arc<Instance>,
    table: &'static [(&CStr, Handler)],
) -> Result {
    for cpu in cpus::possible() {
        let name = CString::try_from_fmt(fmt!("cpu{cpu}"))?;
        folder(dir, &name, |dir| files(dir, inst, Arg::Cpu(cpu), table))?;
    }
    Ok(())
}

fn fill_cpu_files(
    dir: &TreeDir<'_>,
    inst: &Arc<Instance>,
    prefix: &str,
    handler: &'static Handler,
) -> Result {
    for cpu in cpus::possible() {
        let name = CString::try_from_fmt(fmt!("{prefix}{cpu}"))?;
        file(dir, &name, inst, Arg::Cpu(cpu), handler)?;
    }
    Ok(())
}

fn fill_options(dir: &TreeDir<'_>, inst: &Arc<Instance>) -> Result {
    let offered =
        |opt: &&Opt| (inst.is_top() || opt.scope() == Scope::Any) && tracers::is_offered(**opt);
    for opt in Opt::ALL.iter().filter(offered) {
        let name = CString::try_from_fmt(fmt!("{}", opt.name()))?;
        file(dir, &name, inst, Arg::Option(*opt), &OPTION)?;
    }
    Ok(())
}
