// SPDX-License-Identifier: GPL-2.0

//! The definition, the fields, the print format and the text of records of an event.

use super::field::{
    NumberType,
    SyntheticField,
    SyntheticType,
    ROOM, //
};
use crate::{
    event::{
        field::{
            DeclaredField,
            COMMON_SIZE, //
        },
        field_type::{
            number,
            part,
            Location, //
        }, //
    },
    text::{
        word,
        writer::ByteWrite, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};

/// The fields of an event.
#[derive(Clone, Copy)]
pub(crate) struct SyntheticLayout<'a> {
    /// What [`FieldDraft::write`](super::field::FieldDraft::write) made.
    pub(crate) text: &'a str,
    pub(crate) fields: &'a [SyntheticField],
}

/// What only the kernel can print.
pub(crate) trait SyntheticNames {
    /// Writes the name of an address, with the place in the function.
    fn write_symbol(&mut self, address: u64, out: &mut dyn ByteWrite) -> fmt::Result;

    /// Writes the names of the flags of an allocation.
    fn write_gfp(&mut self, flags: u64, out: &mut dyn ByteWrite) -> fmt::Result;
}

impl<'a> SyntheticLayout<'a> {
    /// Returns the declarations of the fields, and of the room after each.
    pub(crate) fn declared(self) -> impl Iterator<Item = DeclaredField<'a>> {
        self.fields
            .iter()
            .flat_map(move |field| field.declared(self.text))
    }

    /// Returns the fields, each with what separates it from the next one.
    fn separated(
        self,
        separator: &'static str,
    ) -> impl Iterator<Item = (&'a SyntheticField, &'static str)> {
        let last = self.fields.len().saturating_sub(1);
        let fields = self.fields.iter().enumerate();
        fields.map(move |(at, field)| (field, if at == last { "" } else { separator }))
    }

    /// Writes the definition of the event `name`, as `synthetic_events` shows it. Fails when `w` does.
    pub(crate) fn write_definition(self, name: &str, w: &mut dyn ByteWrite) -> fmt::Result {
        write!(w, "{name}\t")?;
        for (field, end) in self.separated("; ") {
            let ty = field.defined_ty(self.text);
            write!(w, "{ty} {}{end}", field.name(self.text))?;
        }
        w.write_char('\n')
    }

    /// Writes the print format. Fails when `w` does.
    pub(crate) fn write_format(self, w: &mut dyn Write) -> fmt::Result {
        w.write_char('"')?;
        for (field, end) in self.separated(" ") {
            let conversion = field.kind.conversion();
            write!(w, "{}={conversion}{end}", field.name(self.text))?;
        }
        w.write_char('"')?;
        for field in self.fields {
            let name = field.name(self.text);
            match field.kind {
                SyntheticType::DynamicChars => write!(w, ", __get_str({name})")?,
                SyntheticType::Stack => write!(w, ", __get_stacktrace({name})")?,
                SyntheticType::Number(_) | SyntheticType::Chars(_) => write!(w, ", REC->{name}")?,
            }
        }
        Ok(())
    }

    /// Writes the text of a record, with the conversion before each value if `has_types` is set. Fails when
    /// `out` does.
    pub(crate) fn write_values(
        self,
        record: &[u8],
        has_types: bool,
        names: &mut dyn SyntheticNames,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let mut at = COMMON_SIZE;
        for (field, end) in self.separated(" ") {
            if has_types {
                write!(out, "{} ", field.kind.conversion())?;
            }
            write!(out, "{}=", field.name(self.text))?;
            let behind = Location::FromStart.bytes(record, at, 4);
            match field.kind {
                SyntheticType::Number(ty) => {
                    let slot = part(record, at, ty.size as u32).unwrap_or_default();
                    write_number(ty, number(slot), end, names, out)?;
                }
                SyntheticType::Chars(_) => {
                    let room = part(record, at, ROOM as u32).unwrap_or_default();
                    out.write_bytes(word::c_string(room))?;
                    out.write_str(end)?;
                }
                SyntheticType::DynamicChars => {
                    out.write_bytes(word::c_string(behind.unwrap_or_default()))?;
                    out.write_str(end)?;
                }
                SyntheticType::Stack => write_stack(behind.unwrap_or_default(), names, out)?,
            }
            at = at.saturating_add(field.kind.room() as u32);
        }
        Ok(())
    }
}

/// Writes a number, and `end` after it.
fn write_number(
    ty: &NumberType,
    value: u64,
    end: &str,
    names: &mut dyn SyntheticNames,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    if ty.is_gfp() {
        write!(out, "{value:x}{end} (")?;
        names.write_gfp(value, out)?;
        // As in ftrace the NUL after the names is part of the text.
        return out.write_str("\0)");
    }
    match ty.conversion.ends_with('d') {
        true => {
            let shift = 64usize.saturating_sub(ty.size.saturating_mul(8)) as u32;
            let signed = (value.wrapping_shl(shift) as i64).wrapping_shr(shift);
            write!(out, "{signed}{end}")
        }
        false => write!(out, "{value}{end}"),
    }
}

/// Writes callers, of which the first word is the number, on a line each.
fn write_stack(
    words: &[u8],
    names: &mut dyn SyntheticNames,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    out.write_str("STACK:\n")?;
    for caller in words.chunks_exact(8).skip(1) {
        out.write_str("=> ")?;
        names.write_symbol(number(caller), out)?;
        out.write_str("\n")?;
    }
    Ok(())
}
