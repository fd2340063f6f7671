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

/// Writes the print format. Fails when `w` does.
pub(crate) fn write_format(fields: &[UserField], text: &str, w: &mut dyn Write) -> fmt::Result {
    w.write_char('"')?;
    let mut before = "";
    for field in fields {
        let conversion = field.conversion(text);
        write!(w, "{before}{}={conversion}", field.name(text))?;
        before = " ";
    }
    w.write_char('"')?;
    for field in fields {
        let name = field.name(text);
        match field.dynamic(text).filter(|_| field.has_chars(text)) {
            Some(DynamicPlace::FromStart) => write!(w, ", __get_str({name})")?,
            Some(DynamicPlace::FromWord) => write!(w, ", __get_rel_str({name})")?,
            None => write!(w, ", REC->{name}")?,
        }
    }
    Ok(())
}
