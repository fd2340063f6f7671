// SPDX-License-Identifier: GPL-2.0

//! The files of latency tracers: `tracing_max_latency`, and the folder `hwlat_detector`.

use super::{
    file::{
        At,
        Handler::{
            Knob,
            Word, //
        }, //
    },
    graph::{
        us_of,
        NS_PER_US, //
    },
    text_file::{
        no_memory,
        refused, //
    },
    tree::{
        entry,
        EntryPlace::{
            Everywhere,
            TopOnly, //
        },
        TreeEntry,
        What::{
            File,
            Folder, //
        },
    },
};
use crate::{
    latency::hwlat::HwlatMode,
    output::Text,
    text::number,
    tracers::hwlat, //
};
use core::fmt::Write;
use kernel::prelude::*;

/// The files.
static ENTRIES: &[TreeEntry] = &[
    entry(
        c"hwlat_detector",
        TopOnly,
        Folder(
            "hwlat_detector/",
            &[
                (c"mode", Word(show_mode, store_mode)),
                (c"width", Knob(show_width, store_width)),
                (c"window", Knob(show_window, store_window)),
            ],
        ),
    ),
    entry(
        c"tracing_max_latency",
        Everywhere,
        File(Knob(show_max_latency, store_max_latency)),
    ),
];

/// Returns the files.
pub(super) fn entries() -> impl Iterator<Item = &'static TreeEntry> {
    ENTRIES.iter()
}

/// `tracing_max_latency`, in microseconds, rounded.
fn show_max_latency(at: &At<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", us_of(at.inst.max_latency())).map_err(no_memory)
}

/// `tracing_max_latency`.
fn store_max_latency(at: &At<'_>, command: &[u8]) -> Result {
    let us = number::parse(command).map_err(refused)?;
    at.inst.set_max_latency(us.wrapping_mul(NS_PER_US));
    Ok(())
}

/// `hwlat_detector/mode`.
fn show_mode(_at: &At<'_>, text: &mut Text) -> Result {
    hwlat::mode().write_list(text).map_err(no_memory)
}

/// `hwlat_detector/mode`.
fn store_mode(_at: &At<'_>, command: &[u8]) -> Result {
    hwlat::set_mode(HwlatMode::parse(command).map_err(refused)?)
}

/// `hwlat_detector/width`, in microseconds.
fn show_width(_at: &At<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", hwlat::times().width()).map_err(no_memory)
}

/// `hwlat_detector/width`.
fn store_width(_at: &At<'_>, command: &[u8]) -> Result {
    hwlat::change_times(|times| times.with_width(command)).map_err(refused)
}

/// `hwlat_detector/window`, in microseconds.
fn show_window(_at: &At<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", hwlat::times().window()).map_err(no_memory)
}

/// `hwlat_detector/window`.
fn store_window(_at: &At<'_>, command: &[u8]) -> Result {
    hwlat::change_times(|times| times.with_window(command)).map_err(refused)
}
