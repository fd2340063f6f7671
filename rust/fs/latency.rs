// SPDX-License-Identifier: GPL-2.0

//! The files of latency tracers: `tracing_max_latency`, and the folders `hwlat_detector`, `latency_sampler` and
//! `osnoise`.

use super::{
    file::{
        FileIdentity,
        FileKind,
        FileNode,
        Handler::{
            Knob,
            Moving,
            Own,
            Word, //
        },
        TraceFile, //
    },
    graph::{
        us_of,
        NS_PER_US, //
    },
    load::TickFile,
    superblock::TYPE,
    text_file::{
        no_memory,
        refused,
        PositionMove::Not,
        TextFile, //
    },
    tree::{
        entry,
        EntryKind::{
            CpuFolder,
            File,
            Folder, //
        },
        EntryPlace::{
            Everywhere,
            TopOnly, //
        },
        TreeEntry,
        READ,
        WRITE, //
    },
};
use crate::{
    instance::Instance,
    kapi::walk::FoundDentry,
    latency::{
        hwlat::HwlatMode,
        sampled,
        timerlat::parse_period, //
    },
    output::Text,
    text::number,
    tracers::{
        hwlat,
        osnoise,
        sampled as samplers,
        setting::Setting,
        timerlat,
        workload, //
    }, //
};
use core::fmt::Write;
use kernel::prelude::*;

const MAX_LATENCY: &CStr = c"tracing_max_latency";

/// Tells programs that watch `tracing_max_latency` of `inst` that it has changed.
pub(crate) fn tell_maximum(inst: &Instance) {
    TYPE.for_mounted(|root| {
        let tell = |folder: &FoundDentry<'_, FileNode>| {
            let name = MAX_LATENCY.to_str().unwrap_or_default();
            folder.in_child(name, |file| file.tell_of_change());
        };
        match inst.name().to_str() {
            Ok("") | Err(_) => tell(root),
            Ok(name) => root.in_child("instances", |all| all.in_child(name, tell)),
        }
    });
}

/// The files.
static ENTRIES: &[TreeEntry] = &[
    entry(
        c"hwlat_detector",
        TopOnly,
        Folder(
            "hwlat_detector/",
            &[
                (c"mode", Word(show_mode, store_mode)),
                (c"width", Moving(show_width, store_width, Not)),
                (c"window", Moving(show_window, store_window, Not)),
            ],
        ),
    ),
    entry(
        c"latency_sampler",
        TopOnly,
        Folder(
            "latency_sampler/",
            &[(
                c"period_us",
                Knob(show_sampler_period, store_sampler_period),
            )],
        ),
    ),
    entry(
        c"osnoise",
        TopOnly,
        CpuFolder(
            "osnoise/",
            &[
                (c"cpus", Moving(show_cpus, store_cpus, Not)),
                (c"options", Own(WRITE, FileKind::Lines, open_options)),
                (c"period_us", Moving(show_period, store_period, Not)),
                (
                    c"print_stack",
                    Moving(show_print_stack, store_print_stack, Not),
                ),
                (c"runtime_us", Moving(show_runtime, store_runtime, Not)),
                (
                    c"stop_tracing_total_us",
                    Moving(show_stop_total, store_stop_total, Not),
                ),
                (c"stop_tracing_us", Moving(show_stop, store_stop, Not)),
                (c"timerlat_align_us", Moving(show_align, store_align, Not)),
                (
                    c"timerlat_period_us",
                    Moving(show_tick_period, store_tick_period, Not),
                ),
            ],
            "osnoise/per_cpu/cpuN/",
            &[(c"timerlat_fd", Own(READ, FileKind::Text, TickFile::open))],
        ),
    ),
    entry(
        MAX_LATENCY,
        Everywhere,
        File(Moving(show_max_latency, store_max_latency, Not)),
    ),
];

/// Returns the files.
pub(super) fn entries() -> impl Iterator<Item = &'static TreeEntry> {
    ENTRIES.iter()
}

/// `tracing_max_latency`, in microseconds.
fn show_max_latency(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", us_of(at.inst.max_latency())).map_err(no_memory)
}

/// `tracing_max_latency`.
fn store_max_latency(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let us = number::parse(command).map_err(refused)?;
    at.inst.set_max_latency(us.wrapping_mul(NS_PER_US));
    Ok(())
}

/// `hwlat_detector/mode`.
fn show_mode(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    hwlat::mode().write_list(text).map_err(no_memory)
}

/// `hwlat_detector/mode`.
fn store_mode(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    hwlat::set_mode(HwlatMode::parse(command).map_err(refused)?)
}

/// `hwlat_detector/width`, in microseconds.
fn show_width(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", hwlat::times().width()).map_err(no_memory)
}

/// `hwlat_detector/width`.
fn store_width(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    hwlat::change_times(|times| times.with_width(command)).map_err(refused)
}

/// `hwlat_detector/window`, in microseconds.
fn show_window(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", hwlat::times().window()).map_err(no_memory)
}

/// `hwlat_detector/window`.
fn store_window(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    hwlat::change_times(|times| times.with_window(command)).map_err(refused)
}

/// `latency_sampler/period_us`, in microseconds.
fn show_sampler_period(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    show_number(samplers::period(), text)
}

/// `latency_sampler/period_us`.
fn store_sampler_period(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let period = sampled::parse_period(command).map_err(refused)?;
    samplers::period().set(period);
    Ok(())
}

/// `osnoise/cpus`.
fn show_cpus(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    workload::write_cpus(text)
}

/// `osnoise/cpus`.
fn store_cpus(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    // Nothing is no list of no CPUs.
    if command.is_empty() {
        return Ok(());
    }
    workload::set_cpus(command)
}

/// `osnoise/options`.
fn show_options(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    workload::options().write_list(text).map_err(no_memory)
}

/// Opens `osnoise/options`.
fn open_options(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
    TextFile::knob(show_options, store_options, Not)
}

/// `osnoise/options`.
fn store_options(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    workload::change_options(|options| options.changed(command))
}

/// `osnoise/period_us`.
fn show_period(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", osnoise::times().period()).map_err(no_memory)
}

/// `osnoise/period_us`.
fn store_period(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    osnoise::change_times(|times| times.with_period(command)).map_err(refused)
}

/// `osnoise/runtime_us`.
fn show_runtime(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", osnoise::times().runtime()).map_err(no_memory)
}

/// `osnoise/runtime_us`.
fn store_runtime(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    osnoise::change_times(|times| times.with_runtime(command)).map_err(refused)
}

/// `osnoise/stop_tracing_us`.
fn show_stop(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", workload::stop(false)).map_err(no_memory)
}

/// `osnoise/stop_tracing_us`.
fn store_stop(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    workload::set_stop(false, number::parse(command).map_err(refused)?);
    Ok(())
}

/// `osnoise/stop_tracing_total_us`.
fn show_stop_total(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", workload::stop(true)).map_err(no_memory)
}

/// `osnoise/stop_tracing_total_us`.
fn store_stop_total(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    workload::set_stop(true, number::parse(command).map_err(refused)?);
    Ok(())
}

fn show_number(number: &Setting, text: &mut Text) -> Result {
    writeln!(text, "{}", number.get()).map_err(no_memory)
}

fn store_number(number: &Setting, command: &[u8]) -> Result {
    number.set(number::parse(command).map_err(refused)?);
    Ok(())
}

/// `osnoise/print_stack`, in microseconds.
fn show_print_stack(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    show_number(timerlat::print_stack(), text)
}

/// `osnoise/print_stack`.
fn store_print_stack(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    store_number(timerlat::print_stack(), command)
}

/// `osnoise/timerlat_align_us`.
fn show_align(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    show_number(timerlat::align(), text)
}

/// `osnoise/timerlat_align_us`.
fn store_align(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    store_number(timerlat::align(), command)
}

/// `osnoise/timerlat_period_us`.
fn show_tick_period(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    show_number(timerlat::period(), text)
}

/// `osnoise/timerlat_period_us`.
fn store_tick_period(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    let period = parse_period(command).map_err(refused)?;
    timerlat::period().set(period);
    Ok(())
}
