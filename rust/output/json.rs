// SPDX-License-Identifier: GPL-2.0

//! What an event looks like in `trace_pipe_json`: one object, in one line.
//!
//! The members are those that every event has, then its fields by the text of its `format`, which is
//! asked for once per open file. Addresses are shown as the text of an event shows them: as a symbol or
//! hashed, never as they are.

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

/// Makes objects.
pub(crate) struct Json {
    formats: Formats,
    symbols: Symbols,
}

/// The texts of `format` of the events that were met.
struct Formats(KVVec<Known>);

/// An event that was met.
struct Known {
    id: u16,
    format: Text,
}

impl Json {
    /// A maker of objects.
    pub(crate) const fn new() -> Self {
        Self {
            formats: Formats(KVVec::new()),
            symbols: Symbols::new(),
        }
    }

    /// Writes the object of an event.
    pub(crate) fn write_event(
        &mut self,
        style: Style,
        seen: &Seen<'_>,
        out: &mut Text,
    ) -> fmt::Result {
        // Our writers record nothing shorter.
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

    /// Writes what differs from event to event.
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
    /// The text of the `format` of an event.
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
