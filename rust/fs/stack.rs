// SPDX-License-Identifier: GPL-2.0

//! The files of the stack tracer: `stack_max_size`, `stack_trace` and `stack_tracer_enabled`; `stack_trace_filter`
//! is written as those of the functions that tracers record.

use super::{
    file::{
        FileIdentity, FileKind,
        Handler::{
            Knob,
            List, //
            Moving,
            Own,
        },
    },
    functions::FilterFile,
    text_file::{
        no_memory,
        refused,
        PositionMove, //
    },
    tree::{
        entry,
        EntryKind::File,
        EntryPlace::TopOnly,
        TreeEntry,
        WRITE, //
    },
};
use crate::{
    hooks,
    kapi::symbol::Symbol,
    output::Text,
    text::{
        depths,
        number, //
    }, //
};
use core::fmt::Write;
use kernel::prelude::*;

/// The files.
static ENTRIES: &[TreeEntry] = &[
    entry(
        c"stack_max_size",
        TopOnly,
        File(Moving(show_max, store_max, PositionMove::Not)),
    ),
    entry(c"stack_trace", TopOnly, File(List(show_stack))),
    entry(
        c"stack_trace_filter",
        TopOnly,
        File(Own(WRITE, FileKind::LinesRead, FilterFile::open_stack)),
    ),
    entry(
        c"stack_tracer_enabled",
        TopOnly,
        File(Knob(show_enabled, store_enabled)),
    ),
];

/// Returns the files; none in a kernel that traces no functions.
pub(super) fn entries() -> impl Iterator<Item = &'static TreeEntry> {
    ENTRIES.iter().filter(|_| hooks::IS_THERE)
}

/// `stack_max_size`, in bytes.
fn show_max(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", hooks::stack_max() as i64).map_err(no_memory)
}

/// `stack_max_size`.
fn store_max(_at: &FileIdentity<'_>, command: &[u8]) -> Result {
    hooks::set_stack_max(number::parse(command).map_err(refused)?)
}

/// `stack_trace`.
fn show_stack(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    let disabled = !at.inst.traces_stacks() && hooks::stack_max() == 0;
    let rows = hooks::stack_rows()?;
    depths::write_stack(
        &rows,
        disabled,
        |address, out| out.write_str(Symbol::at(address).text()),
        text,
    )
    .map_err(no_memory)
}

/// `stack_tracer_enabled`.
fn show_enabled(at: &FileIdentity<'_>, text: &mut Text) -> Result {
    writeln!(text, "{}", u8::from(at.inst.traces_stacks())).map_err(no_memory)
}

/// `stack_tracer_enabled`.
fn store_enabled(at: &FileIdentity<'_>, command: &[u8]) -> Result {
    match number::parse_switch(command).map_err(refused)? {
        true => at.inst.trace_stacks(),
        false => {
            at.inst.stop_stacks();
            Ok(())
        }
    }
}
