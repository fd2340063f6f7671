// SPDX-License-Identifier: GPL-2.0

//! Prints events for `trace_pipe_json`: one JSON object per line.
//!
//! The members are those that every event has, and the event's fields as the text of its `format`
//! describes them. An open file reads that text once per event. An address is shown as the text of
//! an event shows it, by its symbol or hashed, never as it is.

use super::{
    kinds::RecordKind,
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
        writer::ByteWrite, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};
use kernel::prelude::*;

/// Printer of JSON objects.
pub(crate) struct Json {
    layouts: EventLayouts,
    symbols: Symbols,
    _reader: RecordReader,
}

/// The layouts of the events printed so far.
struct EventLayouts(KVVec<EventLayout>);

/// What the objects of one event have in common.
struct EventLayout {
    id: u16,
    /// The members that name the event, up to the brace that opens its fields; then the name of each
    /// field.
    text: Text,
    head_end: usize,
    fields: KVVec<NamedMember>,
}

/// A field, and where its name ends in the text of the layout. The name begins where the one before
/// it ends.
struct NamedMember {
    name_end: usize,
    member: Member,
}

impl Json {
    /// Returns a printer that has printed nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            layouts: EventLayouts(KVVec::new()),
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
        let mut comm = [0; names::COMM];
        write!(
            out,
            "{{\"cpu\":{},\"ts\":{},\"comm\":",
            seen.cpu, seen.stamp
        )?;
        json::write_string(names::comm_of(common.pid, &mut comm), out)?;
        write!(out, ",\"pid\":{}", common.pid)?;
        if style.options.has(Opt::RecordTgid) {
            write!(out, ",\"tgid\":{}", names::tgid_of(common.pid))?;
        }
        out.write_str(",\"flags\":")?;
        json::write_string(&common.columns(), out)?;
        self.write_own(common.event_type, &seen.record, out)?;
        out.write_str("}\n")
    }

    /// Writes the members that differ from event to event.
    fn write_own(&mut self, id: u16, record: &[u8], out: &mut Text) -> fmt::Result {
        let Some(layout) = self.layouts.of(id)? else {
            return write!(out, ",\"type\":{id}");
        };
        out.write_bytes(layout.head())?;
        let written = match RecordKind::by_id(id) {
            Some(kind) => kind.write_json(record, out)?,
            None => false,
        };
        if !written {
            let symbols = &mut self.symbols;
            let mut address = |address, out: &mut dyn Write| symbols.write_json(address, out);
            fields::write_members(layout.members(), record, &mut address, out)?;
        }
        out.write_str("}")
    }
}

impl EventLayouts {
    /// Returns the layout of the event `id`; `None` if there is no such event.
    ///
    /// # Errors
    ///
    /// Without memory for it.
    fn of(&mut self, id: u16) -> Result<Option<&EventLayout>, fmt::Error> {
        let at = match self.0.iter().position(|layout| layout.id == id) {
            Some(at) => at,
            None => {
                let Some(layout) = EventLayout::new(id)? else {
                    return Ok(None);
                };
                self.0.push(layout, GFP_KERNEL).map_err(|_| fmt::Error)?;
                self.0.len().wrapping_sub(1)
            }
        };
        Ok(self.0.get(at))
    }
}

impl EventLayout {
    /// Reads the format of the event `id`; `None` if there is no such event.
    ///
    /// # Errors
    ///
    /// Without memory for it.
    fn new(id: u16) -> Result<Option<Self>, fmt::Error> {
        let (mut format, mut text) = (Text::new(), Text::new());
        match RecordKind::by_id(id) {
            Some(kind) => {
                let entry = kind.entry();
                write_head("ftrace", entry.name, &mut text)?;
                entry.write_format(&mut format)?;
            }
            None => {
                let Some(event) = events::by_id(id) else {
                    return Ok(None);
                };
                write_head(event.system(), event.name(), &mut text)?;
                event.write_format(&mut format)?;
            }
        }
        let head_end = text.bytes().len();
        let mut fields = KVVec::new();
        let format = core::str::from_utf8(format.bytes()).unwrap_or_default();
        for (at, (name, member)) in fields::members(format).enumerate() {
            fields::write_name(at, name, &mut text)?;
            let name_end = text.bytes().len();
            let named = NamedMember { name_end, member };
            fields.push(named, GFP_KERNEL).map_err(|_| fmt::Error)?;
        }
        Ok(Some(Self {
            id,
            text,
            head_end,
            fields,
        }))
    }

    /// Returns the members that name the event.
    fn head(&self) -> &[u8] {
        self.text.bytes().get(..self.head_end).unwrap_or_default()
    }

    /// Returns the fields, each with its name.
    fn members(&self) -> impl Iterator<Item = (&[u8], &Member)> {
        let mut begin = self.head_end;
        self.fields.iter().map(move |named| {
            let name = self.text.bytes().get(begin..named.name_end);
            begin = named.name_end;
            (name.unwrap_or_default(), &named.member)
        })
    }
}

/// Writes the members that name an event, and opens the object of its fields.
fn write_head(system: &str, name: &str, out: &mut Text) -> fmt::Result {
    out.write_str(",\"system\":")?;
    json::write_string(system.as_bytes(), out)?;
    out.write_str(",\"event\":")?;
    json::write_string(name.as_bytes(), out)?;
    out.write_str(",\"fields\":{")
}
