// SPDX-License-Identifier: GPL-2.0

//! Prints events for `trace_pipe_json`: one JSON object per line.
//!
//! The members are those that every event has, and the event's fields as the text of its `format`
//! describes them. An open file reads that text once per event. An address is shown as the text of
//! an event shows it, by its symbol or hashed, never as it is.

use super::{
    kinds::RecordKind,
    layouts::{
        EventLayout,
        EventLayouts, //
    },
    SeenEvent,
    Style,
    Text, //
};
use crate::{
    event::{
        context::Common,
        json::{
            self as fields,
            Member, //
        }, //
    },
    events::{
        self,
        RecordReader,
        Symbols, //
    },
    tasks::names,
    text::{
        json,
        options::Opt,
        piece::Piece,
        writer::ByteWrite, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};

/// Printer of JSON objects.
pub(crate) struct Json {
    layouts: EventLayouts<Member>,
    symbols: Symbols,
    _reader: RecordReader,
}

impl Json {
    /// Returns a printer that has printed nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            layouts: EventLayouts::new(),
            symbols: Symbols::new(),
            _reader: RecordReader::new(),
        }
    }

    /// Writes an event as one object.
    pub(crate) fn write_event(
        &mut self,
        style: Style,
        seen: &SeenEvent<'_>,
        out: &mut Text,
    ) -> fmt::Result {
        // No writer of this module records anything shorter.
        let Some(common) = Common::of(&seen.record) else {
            return Ok(());
        };
        let mut head = Piece::new();
        head.bytes_of(b"{\"cpu\":")?;
        head.right(seen.cpu.into(), 0)?;
        head.bytes_of(b",\"ts\":")?;
        head.right(seen.stamp, 0)?;
        head.bytes_of(b",\"comm\":")?;
        head.write_to(out)?;
        let mut comm = [0; names::COMM];
        json::write_string(names::comm_of(common.pid, &mut comm), out)?;
        let mut rest = Piece::new();
        rest.bytes_of(b",\"pid\":")?;
        rest.left(common.pid.into(), 0)?;
        if style.options.has(Opt::RecordTgid) {
            rest.bytes_of(b",\"tgid\":")?;
            rest.right(names::tgid_of(common.pid).into(), 0)?;
        }
        // Letters, digits and dots.
        rest.bytes_of(b",\"flags\":\"")?;
        rest.bytes_of(&common.columns())?;
        rest.bytes_of(b"\"")?;
        rest.write_to(out)?;
        self.write_own(common.event_type, &seen.record, out)?;
        out.write_str("}\n")
    }

    /// Writes the members that differ from event to event.
    fn write_own(&mut self, id: u16, record: &[u8], out: &mut Text) -> fmt::Result {
        let Some(layout) = self.layouts.of(id, || read_layout(id))? else {
            return write!(out, ",\"type\":{id}");
        };
        out.write_bytes(layout.head())?;
        let written = match RecordKind::by_id(id) {
            Some(kind) => kind.write_json(record, out)?,
            None => false,
        };
        if !written {
            let symbols = &mut self.symbols;
            let mut address = |address, out: &mut dyn ByteWrite| symbols.write_json(address, out);
            fields::write_members(layout.fields(), record, &mut address, out)?;
        }
        out.write_str("}")
    }
}

/// Reads the format of the event `id`; `None` if there is no such event.
///
/// # Errors
///
/// Without memory for it.
fn read_layout(id: u16) -> Result<Option<EventLayout<Member>>, fmt::Error> {
    let (mut format, mut head) = (Text::new(), Text::new());
    match RecordKind::by_id(id) {
        Some(kind) => {
            let entry = kind.entry();
            write_head("ftrace", entry.name, &mut head)?;
            entry.write_format(&mut format)?;
        }
        None => {
            let Some(event) = events::by_id(id) else {
                return Ok(None);
            };
            write_head(event.system(), event.name(), &mut head)?;
            event.write_format(&mut format)?;
        }
    }
    let mut layout = EventLayout::new(id, head);
    let format = core::str::from_utf8(format.bytes()).unwrap_or_default();
    for (at, (name, member)) in fields::members(format).enumerate() {
        layout.add(member, |text| fields::write_name(at, name, text))?;
    }
    Ok(Some(layout))
}

/// Writes the members that name an event, and opens the object of its fields.
fn write_head(system: &str, name: &str, out: &mut Text) -> fmt::Result {
    out.write_str(",\"system\":")?;
    json::write_string(system.as_bytes(), out)?;
    out.write_str(",\"event\":")?;
    json::write_string(name.as_bytes(), out)?;
    out.write_str(",\"fields\":{")
}
