// SPDX-License-Identifier: GPL-2.0

//! Prints events for `trace_pipe_json`: one JSON object per line.
//!
//! The members are those that every event has, and the event's fields as the text of its `format`
//! describes them. An open file gets that text once per event. An address is shown as the text of
//! an event shows it, by its symbol or hashed, never as it is.

use super::{
    kinds::Kind,
    Seen,
    Style,
    Symbols,
    Text, //
};
use crate::{
    event::{
        context::Common,
        json as fields, //
    },
    events,
    tasks::names,
    text::{
        json,
        options::Opt, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};
use kernel::prelude::*;

/// Printer of JSON objects.
pub(crate) struct Json {
    formats: Formats,
    symbols: Symbols,
}

/// The `format` texts of the events printed so far.
struct Formats(KVVec<Known>);

/// The `format` text of one event.
struct Known {
    id: u16,
    format: Text,
}

impl Json {
    /// Returns a printer that has printed nothing yet.
    pub(crate) const fn new() -> Self {
        Self {
            formats: Formats(KVVec::new()),
            symbols: Symbols::new(),
        }
    }

    /// Writes an event as one object.
    pub(crate) fn write_event(
        &mut self,
        style: Style,
        seen: &Seen<'_>,
        out: &mut Text,
    ) -> fmt::Result {
        // No writer of this module records anything shorter.
        let Some(common) = Common::of(seen.record) else {
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
        self.write_own(common.event_type, seen.record, out)?;
        out.write_str("}\n")
    }

    /// Writes the members that differ from event to event.
    fn write_own(&mut self, id: u16, record: &[u8], out: &mut Text) -> fmt::Result {
        let kind = Kind::by_id(id);
        let name = match kind {
            Some(kind) => Some(("ftrace", kind.entry().name)),
            None => events::by_id(id).map(|event| (event.system(), event.name())),
        };
        let Some((system, name)) = name else {
            return write!(out, ",\"type\":{id}");
        };
        out.write_str(",\"system\":")?;
        json::write_string(system.as_bytes(), out)?;
        out.write_str(",\"event\":")?;
        json::write_string(name.as_bytes(), out)?;
        out.write_str(",\"fields\":{")?;
        let written = match kind {
            Some(kind) => kind.write_json(record, out)?,
            None => false,
        };
        if !written {
            if let Some(format) = self.formats.of(id)? {
                let symbols = &mut self.symbols;
                let mut address = |address, out: &mut dyn Write| symbols.write_json(address, out);
                fields::write_fields(format, record, &mut address, out)?;
            }
        }
        out.write_str("}")
    }
}

impl Formats {
    /// Returns the `format` text of the event `id`; `None` if there is no such event.
    ///
    /// # Errors
    ///
    /// Without memory for it.
    fn of(&mut self, id: u16) -> Result<Option<&str>, fmt::Error> {
        let known = self.0.iter().position(|known| known.id == id);
        let at = match known {
            Some(at) => at,
            None => {
                let mut format = Text::new();
                match Kind::by_id(id) {
                    Some(kind) => kind.entry().write_format(&mut format)?,
                    None => match events::by_id(id) {
                        Some(event) => event.write_format(&mut format)?,
                        None => return Ok(None),
                    },
                }
                let at = self.0.len();
                self.0
                    .push(Known { id, format }, GFP_KERNEL)
                    .map_err(|_| fmt::Error)?;
                at
            }
        };
        let text = self.0.get(at).map(|known| known.format.bytes());
        Ok(text.and_then(|text| core::str::from_utf8(text).ok()))
    }
}
