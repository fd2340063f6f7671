// SPDX-License-Identifier: GPL-2.0

//! What an event looks like in `trace` and `trace_pipe`.
//!
//! Both files hand over the record and get its line or lines; which event comes next and what was lost
//! they know themselves.

use super::text_file::Text;
use crate::{
    event::{
        context::Common,
        format, //
    },
    instance::{
        Instance,
        PageCopy, //
    },
    kapi::{
        cmdlines,
        events::{
            self,
            Printer, //
        },
        symbol, //
    },
    text::{
        builtin,
        clock::ClockId,
        line::{
            self,
            Prefix, //
        },
        options::{
            Opt,
            OptionSet, //
        },
        writer::ByteWrite, //
    },
};
use core::fmt::{
    self,
    Write, //
};
use kernel::prelude::*;

/// How lines look at the moment.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// What they show.
    pub(crate) options: OptionSet,
    /// What made their stamps.
    clock: ClockId,
}

impl Style {
    /// The style that an instance asks for now.
    pub(crate) fn of(inst: &Instance) -> Self {
        Self {
            options: inst.options(),
            clock: inst.clock(),
        }
    }
}

/// Makes lines.
pub(crate) struct Lines {
    printer: Printer,
}

/// The events in a copy of a sub-buffer.
pub(crate) fn data(page: &PageCopy) -> &[u8] {
    page.bytes.get(..page.len).unwrap_or_default()
}

/// An event with its place and time.
pub(crate) struct Seen<'a> {
    /// The CPU that recorded it.
    pub(crate) cpu: u32,
    /// When.
    pub(crate) stamp: u64,
    /// Its bytes.
    pub(crate) record: &'a [u8],
}

impl Lines {
    /// A maker of lines.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            printer: Printer::new()?,
        })
    }

    /// Writes the line of an event.
    ///
    /// # Safety
    ///
    /// The record is a copy of what a writer of ours committed to a ring, as a whole.
    pub(crate) unsafe fn write_event(
        &mut self,
        style: Style,
        seen: &Seen<'_>,
        out: &mut Text,
    ) -> fmt::Result {
        // Our writers record nothing shorter.
        let Some(common) = Common::of(seen.record) else {
            return Ok(());
        };

        if style.options.has(Opt::ContextInfo) {
            let mut comm = [0; 16];

            Prefix {
                comm: cmdlines::comm_of(common.pid, &mut comm),
                pid: common.pid,
                cpu: seen.cpu,
                columns: style.options.has(Opt::IrqInfo).then(|| common.columns()),
                stamp: seen.stamp,
                clock: style.clock,
            }
            .write_text(out)?;
        }

        match common.event_type {
            id if id == format::PRINT.id => write_marker(seen.record, out),
            id if id == format::RAW_DATA.id => builtin::write_raw_data(seen.record, out),
            id => match events::by_id(id) {
                Some(event) => {
                    write!(out, "{}: ", event.name())?;
                    // SAFETY: By the contract, and its type says that the probe of `event` wrote it.
                    if let Some(text) = unsafe { self.printer.text(event, seen.record) } {
                        out.write_bytes(text)?;
                    }
                    out.write_char('\n')
                }
                None => line::write_unknown_type(id, out),
            },
        }
    }
}

/// All markers are written by one function, whose name programs look for.
fn write_marker(record: &[u8], out: &mut Text) -> fmt::Result {
    let ours = Some(symbol::marker_address() as u64);
    let symbol = (builtin::marker_address(record) == ours).then_some("tracing_mark_write");

    builtin::write_marker(record, symbol, out)
}
