// SPDX-License-Identifier: GPL-2.0

//! A histogram as JSON: one object per line, for its trigger, for each entry, and for the totals.
//!
//! Numbers of signed fields are signed here. What has a modifier is an object or a string that says what the
//! number means; where ftrace's text has a bar or a percentage, the number itself is here.

use super::{
    action::Deed,
    expr::{
        Atom,
        ExprSource,
        Modifier, //
    },
    plan::Plan,
    print::{
        HistLine,
        HistNames, //
    },
    sort::{
        Rows,
        SortItem,
        SortRow, //
    },
    tally::{
        range,
        Tally,
        QUANTILES, //
    }, //
};
use crate::text::{
    json,
    word,
    writer::ByteWrite, //
};
use core::fmt;

/// Most bytes of a string of an entry.
const MOST_TEXT: usize = 256;

/// Writes a name and a colon, after a comma if it is not the first one.
fn write_name(name: &[u8], is_first: bool, out: &mut dyn ByteWrite) -> fmt::Result {
    out.write_str(if is_first { "" } else { "," })?;
    json::write_string(name, out)?;
    out.write_char(':')
}

/// Writes the string that words have.
fn write_text(words: &[u64], out: &mut dyn ByteWrite) -> fmt::Result {
    let mut bytes = [0; MOST_TEXT];
    word::put_words(&mut bytes, words.iter().copied());
    json::write_string(word::c_string(&bytes), out)
}

/// Writes the first and the last number of a range.
fn write_range(first: u64, last: u64, out: &mut dyn ByteWrite) -> fmt::Result {
    write!(out, "{{\"from\":{first},\"to\":{last}}}")
}

/// Writes a number.
fn write_number(value: u64, has_sign: bool, out: &mut dyn ByteWrite) -> fmt::Result {
    match has_sign {
        true => write!(out, "{}", value as i64),
        false => write!(out, "{value}"),
    }
}

/// Writes what a row has of a value.
fn write_json_value(
    (tally, has_sign): (Option<Tally>, bool),
    row: &[u64],
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    let tally = tally.unwrap_or(Tally::NONE);
    if !tally.is_no_sum() {
        return write_number(row.first().copied().unwrap_or(0), has_sign, out);
    }
    if !tally.is_quantiles() {
        return tally.write_number(row, 0, out);
    }
    let mut sign = '{';
    for ((_, name), bucket) in QUANTILES.iter().zip(row) {
        write!(out, "{sign}\"{name}\":")?;
        sign = ',';
        let (first, last) = range(*bucket);
        write_range(first, last, out)?;
    }
    out.write_char('}')
}

impl Plan {
    /// Returns whether the numbers of a node have a sign: their field has one, or it is asked for.
    fn has_sign(&self, node: u8) -> bool {
        let modifier = self.nodes.atom(node).map(|atom| atom.modifier);
        self.nodes.is_signed(node) || modifier == Some(Modifier::Signed)
    }

    /// Writes what a key or a value is called, and a colon, after a comma if it is not the first one.
    fn write_json_label(
        &self,
        node: u8,
        text: &[u8],
        is_first: bool,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        out.write_str(if is_first { "\"" } else { ",\"" })?;
        self.write_label(node, text, &mut EscapedString(out))?;
        out.write_str("\":")
    }

    /// Writes a number, as the source of an atom and its modifier have it.
    fn write_json_number(
        &self,
        (atom, value): (&Atom, u64),
        note: &[u64],
        names: &dyn HistNames,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let symbol = |offset, out: &mut dyn ByteWrite| {
            names.symbol(value, offset, &mut |name| {
                json::write_string(name.as_bytes(), out)
            })
        };
        match atom.modifier {
            Modifier::Sym => symbol(false, out),
            Modifier::SymOffset => symbol(true, out),
            Modifier::Execname => {
                out.write_str("{\"comm\":")?;
                write_text(note, out)?;
                write!(out, ",\"pid\":{value}}}")
            }
            Modifier::Syscall => names.syscall(value, &mut |name| match name {
                Some(name) => json::write_string(name.as_bytes(), out),
                None => write!(out, "{value}"),
            }),
            // Each has the numbers that are not more than its power of 2, and more than the one before.
            Modifier::Log2 => {
                let power = |value: u64| 1u64.checked_shl(value as u32).unwrap_or(u64::MAX);
                let first = value.checked_sub(1).map(power);
                let first = first.map_or(0, |before| before.saturating_add(1));
                write_range(first, power(value), out)
            }
            Modifier::Buckets(divisor) => {
                write_range(value, value.wrapping_add(divisor).wrapping_sub(1), out)
            }
            Modifier::Signed => write_number(value, true, out),
            _ => match atom.source {
                ExprSource::Number(number) if number.signed => {
                    // As wide as the field is.
                    let down = u32::from(number.down);
                    let number = (value.wrapping_shl(down) as i64).wrapping_shr(down);
                    write!(out, "{number}")
                }
                _ => write!(out, "{value}"),
            },
        }
    }

    fn write_json_key(
        &self,
        text: &[u8],
        row: SortRow<'_>,
        names: &dyn HistNames,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let mut is_first = true;
        for key in self.keys() {
            let words = key.part(row.key);
            let value = words.first().copied().unwrap_or(0);
            let Some(atom) = self.nodes.atom(key.node) else {
                self.write_json_label(key.node, text, is_first, out)?;
                write_number(value, self.has_sign(key.node), out)?;
                is_first = false;
                continue;
            };
            if atom.source.is_stack() {
                let name = match atom.source {
                    ExprSource::Stack => b"common_stacktrace".as_slice(),
                    _ => atom.name.text(text),
                };
                write_name(name, is_first, out)?;
                out.write_str("[")?;
                let mut separator = "";
                for address in words.iter().take_while(|word| **word != 0) {
                    out.write_str(separator)?;
                    separator = ",";
                    names.symbol(*address, true, &mut |name| {
                        json::write_string(name.as_bytes(), out)
                    })?;
                }
                out.write_str("]")?;
            } else {
                self.write_json_label(key.node, text, is_first, out)?;
                match atom.source.is_text() {
                    true => write_text(words, out)?,
                    false => self.write_json_number((&atom, value), row.note, names, out)?,
                }
            }
            is_first = false;
        }
        Ok(())
    }

    /// Writes what an entry keeps: each number that is followed, and the fields of `save`.
    fn write_json_kept(
        &self,
        text: &[u8],
        row: SortRow<'_>,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let tracks = || self.kept.parts(row.kept);
        for (track, words) in tracks().filter(|(track, _)| track.deed != Deed::Snapshot) {
            write_name(track.kind.label().as_bytes(), false, out)?;
            let has_sign = self.variable_shape(track.variable).signed;
            write_number(words.get(1).copied().unwrap_or(0), has_sign, out)?;
        }
        let Some((_, words)) = tracks().find(|(track, _)| track.deed == Deed::Save) else {
            return Ok(());
        };
        // The first word says whether something is kept, the second one is the number.
        let words = words.get(2..).unwrap_or_default();
        out.write_str(",\"saved\":{")?;
        let mut is_first = true;
        for field in self.kept.saves() {
            let own = field.part(words);
            write_name(field.name.text(text), is_first, out)?;
            is_first = false;
            let source = self.nodes.atom(field.node).map(|atom| atom.source);
            match source.is_some_and(|source| source.is_text()) {
                true => write_text(own, out)?,
                false => {
                    let number = own.first().copied().unwrap_or(0);
                    write_number(number, self.has_sign(field.node), out)?;
                }
            }
        }
        out.write_str("}")
    }

    /// Writes an object for each entry, in this order.
    pub(crate) fn write_json(
        &self,
        text: &[u8],
        (rows, order): (Rows<'_>, &[SortItem]),
        names: &dyn HistNames,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        for row in order {
            let row = rows.row(row.row());
            out.write_str("{\"keys\":{")?;
            self.write_json_key(text, row, names, out)?;
            let hits = row.sums.first().copied().unwrap_or(0);
            write!(out, "}},\"hitcount\":{hits},\"values\":{{")?;
            let mut index = 0usize;
            for node in self.values() {
                self.write_json_label(*node, text, index == 0, out)?;
                let tally = self.tallies.shown(index).map(|(tally, _)| tally);
                let value = (tally, self.has_sign(*node));
                write_json_value(value, self.row_value(row, index), out)?;
                index = index.saturating_add(1);
            }
            out.write_str("}")?;
            self.write_json_kept(text, row, out)?;
            out.write_str("}\n")?;
        }
        Ok(())
    }
}

impl HistLine<'_> {
    /// Writes the object that comes before those of the entries: the line of the trigger.
    pub(crate) fn write_json_head(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        out.write_str("{\"trigger\":\"")?;
        self.write_command(&mut EscapedString(out))?;
        writeln!(out, "\",\"active\":{}}}", !self.paused)
    }
}

/// Writes the object that comes after those of the entries.
pub(crate) fn write_json_totals(
    (hits, drops): (u64, u64),
    entries: usize,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    writeln!(
        out,
        "{{\"hits\":{hits},\"entries\":{entries},\"dropped\":{drops}}}"
    )
}

/// Writes the inside of a string.
struct EscapedString<'a>(&'a mut dyn ByteWrite);

impl fmt::Write for EscapedString<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes())
    }
}

impl ByteWrite for EscapedString<'_> {
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        json::write_inside(bytes, self.0)
    }
}
