// SPDX-License-Identifier: GPL-2.0

//! Records that no tracepoint makes: one row for each kind, with its printers.

use super::{
    Symbols,
    Text, //
};
use crate::{
    event::{
        format::{
            self,
            Internal, //
        },
        json, //
    },
    events::{
        Manner,
        Printer, //
    },
    text::{
        builtin,
        options::OptionSet,
        stack,
        writer::ByteWrite, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};

/// What a printer of text may use.
pub(super) struct Tools<'a> {
    pub(super) options: OptionSet,
    pub(super) printer: &'a mut Printer,
    pub(super) symbols: &'a mut Symbols,
}

/// A printer that needs nothing but the record.
type Plain = fn(&[u8], &mut Text) -> fmt::Result;

/// A kind of record.
pub(super) struct Kind {
    /// Its id, name and fields.
    pub(super) entry: &'static Internal,
    /// Prints what stands behind the time in `trace`.
    pub(super) text: fn(&[u8], Tools<'_>, &mut Text) -> fmt::Result,
    /// The same under the option `raw`; without it the number of its type.
    pub(super) raw: Option<Plain>,
    /// Prints its fields as JSON; without it they are taken from its format.
    pub(super) json: Option<Plain>,
}

/// Every kind.
static KINDS: [Kind; 4] = [
    Kind {
        entry: &format::PRINT,
        text: write_marker,
        raw: Some(|record, out| builtin::write_raw_marker(record, out)),
        json: None,
    },
    Kind {
        entry: &format::RAW_DATA,
        text: |record, _, out| builtin::write_raw_data(record, out),
        raw: Some(|record, out| builtin::write_raw_data(record, out)),
        json: Some(|record, out| json::write_raw_data(record, out)),
    },
    Kind {
        entry: &format::KERNEL_STACK,
        text: |record, tools, out| stack::write_callers(record, tools.options, tools.symbols, out),
        raw: None,
        json: None,
    },
    Kind {
        entry: &format::USER_STACK,
        text: write_user_stack,
        raw: None,
        json: None,
    },
];

/// Returns the kind of records with this `common_type`.
pub(super) fn by_id(id: u16) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.entry.id == id)
}

fn write_marker(record: &[u8], tools: Tools<'_>, out: &mut Text) -> fmt::Result {
    let address = builtin::marker_address(record).unwrap_or(0);
    stack::write_address(address, tools.options, tools.symbols, out)?;
    out.write_str(": ")?;
    out.write_bytes(builtin::marker_text(record))
}

fn write_user_stack(record: &[u8], tools: Tools<'_>, out: &mut Text) -> fmt::Result {
    let (process, callers) = (stack::process(record), stack::user_callers(record));
    let manner = Manner::of(tools.options);
    out.write_bytes(tools.printer.user_stack(process, &callers, manner))
}
