// SPDX-License-Identifier: GPL-2.0

//! The definition and the print format of an event. Records are printed by their fields, not by the format.

use super::{
    field::{
        DynamicPlace,
        UserField, //
    },
    MARK, //
};
use crate::text::writer::ByteWrite;
use core::fmt::{
    self,
    Write, //
};

/// Writes the line of `dynamic_events`. Fails when `w` does.
pub(crate) fn write_definition(
    name: &str,
    fields: &[UserField],
    text: &str,
    w: &mut dyn ByteWrite,
) -> fmt::Result {
    write!(w, "{MARK}{name}")?;
    let mut before = " ";
    for field in fields {
        write!(w, "{before}{} {}", field.ty(text), field.name(text))?;
        if let Some(size) = field.defined_size(text) {
            write!(w, " {size}")?;
        }
        before = "; ";
    }
    w.write_char('\n')
}

/// How a print format has dynamic fields that are no strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BytesForm {
    /// The word that says where they are, as in the kernel's user events.
    Word,
    /// The bytes.
    Hex,
}

/// Writes the print format. Fails when `w` does.
pub(crate) fn write_format(
    fields: &[UserField],
    text: &str,
    bytes: BytesForm,
    w: &mut dyn Write,
) -> fmt::Result {
    let is_hex = |field: &UserField| {
        bytes == BytesForm::Hex && field.dynamic(text).is_some() && !field.has_chars(text)
    };
    w.write_char('"')?;
    let mut before = "";
    for field in fields {
        let conversion = match is_hex(field) {
            true => "%s",
            false => field.conversion(text),
        };
        write!(w, "{before}{}={conversion}", field.name(text))?;
        before = " ";
    }
    w.write_char('"')?;
    for field in fields {
        let name = field.name(text);
        let place = field.dynamic(text);
        let rel = match place {
            Some(DynamicPlace::FromWord) => "rel_",
            _ => "",
        };
        match place {
            Some(_) if field.has_chars(text) => write!(w, ", __get_{rel}str({name})")?,
            Some(_) if is_hex(field) => write!(
                w,
                ", __print_hex(__get_{rel}dynamic_array({name}), __get_{rel}dynamic_array_len({name}))"
            )?,
            _ => write!(w, ", REC->{name}")?,
        }
    }
    Ok(())
}
