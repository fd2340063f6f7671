// SPDX-License-Identifier: GPL-2.0

//! Prints events for `trace` and `trace_pipe`: one or more lines for each.
//!
//! The files themselves decide which event is printed next, and know how many were lost.

use super::{
    arguments::BtfArguments,
    graph::Graph,
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
        format,
        values::{
            self,
            ValueField, //
        }, //
    },
    events::{
        self,
        Event,
        Printer,
        RecordReader, //
    },
    kapi::whole_record::WholeRecord,
    tasks::names,
    text::{
        builtin,
        form::{
            self,
            Form,
            Origin, //
        },
        function::CallTime,
        latency::{
            self,
            Moment, //
        },
        line::Prefix,
        options::{
            Opt,
            OptionSet, //
        },
        stack,
        writer::ByteWrite, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};
use kernel::prelude::*;

/// Printer of lines.
pub(crate) struct LinePrinter {
    pub(super) printer: Printer,
    pub(super) graph: Graph,
    pub(super) arguments: BtfArguments,
    /// For the option `fields`.
    layouts: EventLayouts<ValueField>,
    /// When the event was recorded that is printed: a line may name a time before it.
    pub(super) moment: CallTime,
    _reader: RecordReader,
}

impl LinePrinter {
    /// Returns a printer.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            printer: Printer::new()?,
            graph: Graph::new(),
            arguments: BtfArguments::new(),
            layouts: EventLayouts::new(),
            moment: CallTime::default(),
            _reader: RecordReader::new(),
        })
    }

    /// Writes the name of a place in the kernel, as these options say.
    pub(crate) fn write_address(
        &mut self,
        address: u64,
        options: OptionSet,
        out: &mut Text,
    ) -> fmt::Result {
        stack::write_address(address, options, self.printer.symbols(), out)
    }

    /// Writes an event as a line or lines.
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

        self.moment = CallTime {
            stamp: seen.stamp,
            is_ns: style.clock.in_ns(),
        };
        if let Some(lines) = style.calls {
            if self.write_in_graph(lines, style, &common, seen, out)? {
                return Ok(());
            }
        }
        let (options, form) = (style.options, style.form);
        let bare = options.has(Opt::TracePrintk) && options.has(Opt::PrintkMsgOnly);
        if bare && common.event_type == format::PRINT.id {
            return out.write_bytes(builtin::marker_text(&seen.record));
        }
        if options.has(Opt::ContextInfo) {
            write_context(style, form, &common, seen, out)?;
        }
        match form {
            Form::Text => self.write_text(style, common.event_type, seen.record, out),
            _ => {
                write_plain(form, common.event_type, &seen.record, out)?;
                form.write_end(out)
            }
        }
    }

    /// Writes what follows the context: the text of the event; `id` is the type of the record.
    pub(super) fn write_text(
        &mut self,
        style: Style,
        id: u16,
        record: WholeRecord<'_>,
        out: &mut Text,
    ) -> fmt::Result {
        let options = style.options;
        if id < events::FIRST_ID {
            return self.write_internal(options, id, &record, out);
        }
        let Some(event) = events::by_id(id) else {
            return form::write_unknown(Form::Text, id, out);
        };
        if options.has(Opt::Fields) || event.is_printed_by_fields() {
            return self.write_fields(event, &record, out);
        }
        if event.is_named_in_text() {
            out.write_bytes(event.name_before_text())?;
        }
        if let Some(text) = self.printer.text(event, record, style.manner) {
            out.write_bytes(text)?;
        }
        out.write_bytes(b"\n")
    }

    /// Writes the fields of a record by name.
    fn write_fields(&mut self, event: &Event, record: &[u8], out: &mut Text) -> fmt::Result {
        let Some(layout) = self.layouts.of(event.id(), || read_fields(event))? else {
            return writeln!(out, "{}:", event.name());
        };
        out.write_bytes(layout.head())?;
        values::write(record, layout.fields(), self.printer.symbols(), out)
    }

    /// Writes the text of a record that no tracepoint makes.
    fn write_internal(
        &mut self,
        options: OptionSet,
        id: u16,
        record: &[u8],
        out: &mut Text,
    ) -> fmt::Result {
        match RecordKind::by_id(id) {
            Some(_) if options.has(Opt::Fields) => writeln!(out, "UNKNOWN TYPE {id}"),
            Some(kind) => kind.write_text(record, options, self, out),
            None => form::write_unknown(Form::Text, id, out),
        }
    }
}

/// Writes the context of an event: the task that recorded it, the CPU and the time.
fn write_context(
    style: Style,
    form: Form,
    common: &Common,
    seen: &SeenEvent<'_>,
    out: &mut Text,
) -> fmt::Result {
    let (pid, cpu, stamp) = (common.pid, seen.cpu, seen.stamp);
    if form != Form::Text {
        return Origin { pid, cpu, stamp }.write(form, out);
    }
    let mut comm = [0; 16];
    let comm = names::comm_of(pid, &mut comm);
    let Some(delay) = seen.delay else {
        return Prefix {
            comm,
            pid,
            tgid: style
                .options
                .has(Opt::RecordTgid)
                .then(|| names::tgid_of(pid)),
            cpu,
            columns: style.options.has(Opt::IrqInfo).then(|| common.columns()),
            stamp,
            clock: style.clock,
        }
        .write_text(out);
    };
    latency::LatencyPrefix {
        comm,
        pid,
        cpu,
        columns: common.columns(),
        flags: common.flags(),
        depth: common.preempt_depth(),
        number: delay.number,
        moment: Moment {
            stamp,
            next: delay.next,
            begin: style.begin,
            clock: style.clock,
        },
    }
    .write_text(style.options.has(Opt::Verbose), out)
}

/// Writes a record as numbers. Few kinds have more of them than their type.
fn write_plain(form: Form, id: u16, record: &[u8], out: &mut Text) -> fmt::Result {
    match RecordKind::by_id(id) {
        None if events::by_id(id).is_none() => form::write_unknown(form, id, out),
        Some(kind) => kind.write_plain(form, record, out),
        _ => form::write_type(id, out),
    }
}

/// Reads the fields of an event, for the option `fields`.
///
/// # Errors
///
/// Without memory for them.
fn read_fields(event: &Event) -> Result<Option<EventLayout<ValueField>>, fmt::Error> {
    // Those of a module that is gone are not known.
    let read = event.with_fields(|fields| {
        let mut head = Text::new();
        write!(head, "{}:", event.name())?;
        let mut layout = EventLayout::new(event.id(), head);
        for field in fields {
            layout.add(ValueField::of(&field), |text| {
                values::write_name(field.declared.name, text)
            })?;
        }
        Ok(layout)
    });
    read.transpose()
}
