// SPDX-License-Identifier: GPL-2.0

//! The fields, the print format and the text of records of a definition.

use super::{
    run::until_nul,
    step::Argument,
    types::ArgumentType, //
};
use crate::{
    event::field::Declared,
    text::writer::ByteWrite, //
};
use core::fmt::{
    self,
    Write, //
};

/// An argument and its name.
pub(crate) type NamedArgument<'a> = (&'a str, &'a Argument);

/// The fields before the arguments: where the probe was hit.
const HIT: &[Declared<'static>] = &[address("__probe_ip")];
/// The same of a return: the function, and where it returned to.
const RETURN: &[Declared<'static>] = &[address("__probe_func"), address("__probe_ret_ip")];

/// What a record has before its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordHead {
    /// Where the probe was hit.
    Hit,
    /// The function that returned, and where to.
    Return,
    /// Nothing: the record follows one of another event.
    Event,
}

impl RecordHead {
    /// Returns its fields.
    pub(crate) fn fields(self) -> &'static [Declared<'static>] {
        match self {
            Self::Hit => HIT,
            Self::Return => RETURN,
            Self::Event => &[],
        }
    }
}

const fn address(name: &'static str) -> Declared<'static> {
    Declared {
        ty: "unsigned long",
        name,
        size: 8,
        align: 1,
        len: 0,
        signed: false,
    }
}

/// Returns the field of an argument. Fields of arguments are not aligned.
pub(crate) fn field((name, argument): NamedArgument<'_>) -> Declared<'_> {
    Declared {
        ty: match argument.count {
            0 => argument.ty.field_type(),
            count => argument.ty.array_type(count),
        },
        name,
        size: argument.size() as u32,
        align: 1,
        len: 0,
        signed: argument.ty.is_signed(),
    }
}

/// Writes the print format. Fails when `w` does.
pub(crate) fn write_format<'a>(
    w: &mut dyn Write,
    head: RecordHead,
    arguments: impl Iterator<Item = NamedArgument<'a>> + Clone,
) -> fmt::Result {
    w.write_str(match head {
        RecordHead::Hit => "\"(%lx)",
        RecordHead::Return => "\"(%lx <- %lx)",
        RecordHead::Event => "\"",
    })?;
    for (name, argument) in arguments.clone() {
        write!(w, " {name}=")?;
        write_conversions(w, argument)?;
    }
    w.write_str(match head {
        RecordHead::Hit => "\", REC->__probe_ip",
        RecordHead::Return => "\", REC->__probe_func, REC->__probe_ret_ip",
        RecordHead::Event => "\"",
    })?;
    for (name, argument) in arguments {
        for element in 0..argument.elements() {
            let (before, after) = match argument.ty.is_text() {
                true => ("__get_str(", ")"),
                false => ("REC->", ""),
            };
            match argument.count {
                0 => write!(w, ", {before}{name}{after}")?,
                _ => write!(w, ", {before}{name}[{element}]{after}")?,
            }
        }
    }
    Ok(())
}

/// Writes the arguments of a record, which begin at `at`. `symbol` writes the name of an address. Fails
/// when `out` does.
pub(crate) fn write_values<'a>(
    out: &mut dyn ByteWrite,
    arguments: impl Iterator<Item = NamedArgument<'a>>,
    record: &[u8],
    mut at: usize,
    symbol: &mut dyn FnMut(u64, &mut dyn ByteWrite) -> fmt::Result,
) -> fmt::Result {
    for (name, argument) in arguments {
        write!(out, " {name}=")?;
        let size = argument.ty.size();
        for element in 0..argument.elements() {
            match (argument.count, element) {
                (0, _) => {}
                (_, 0) => out.write_str("{")?,
                _ => out.write_str(",")?,
            }
            let mut bytes = [0u8; 8];
            let value = record.get(at..at.saturating_add(size)).unwrap_or_default();
            if let Some(place) = bytes.get_mut(..value.len()) {
                place.copy_from_slice(value);
            }
            at = at.saturating_add(size);
            write_value(out, argument.ty, u64::from_le_bytes(bytes), record, symbol)?;
        }
        if argument.count != 0 {
            out.write_str("}")?;
        }
    }
    Ok(())
}

/// Writes the conversions of an argument: those of an array in braces. Fails when `w` does.
fn write_conversions(w: &mut dyn Write, argument: &Argument) -> fmt::Result {
    let conversion = argument.ty.conversion();
    if argument.count == 0 {
        return w.write_str(conversion);
    }
    for element in 0..argument.elements() {
        w.write_str(if element == 0 { "{" } else { "," })?;
        w.write_str(conversion)?;
    }
    w.write_str("}")
}

/// Writes one value, of which `value` has the low bytes.
fn write_value(
    out: &mut dyn ByteWrite,
    ty: ArgumentType,
    value: u64,
    record: &[u8],
    symbol: &mut dyn FnMut(u64, &mut dyn ByteWrite) -> fmt::Result,
) -> fmt::Result {
    match ty {
        ArgumentType::Unsigned(_) => write!(out, "{value}"),
        ArgumentType::Hex(_) => write!(out, "{value:#x}"),
        ArgumentType::Signed(size) => {
            let shift = 64u32.saturating_sub(u32::from(size).saturating_mul(8));
            let signed = (value.wrapping_shl(shift) as i64).wrapping_shr(shift);
            write!(out, "{signed}")
        }
        ArgumentType::Char => {
            out.write_str("'")?;
            out.write_bytes(&[value as u8])?;
            out.write_str("'")
        }
        ArgumentType::Symbol => symbol(value, out),
        ArgumentType::Text | ArgumentType::UserText | ArgumentType::SymbolText => {
            let (start, len) = ((value & 0xffff) as usize, ((value >> 16) & 0xffff) as usize);
            if len == 0 {
                return out.write_str("(fault)");
            }
            let text = record
                .get(start..start.saturating_add(len))
                .unwrap_or_default();
            out.write_str("\"")?;
            out.write_bytes(until_nul(text))?;
            out.write_str("\"")
        }
    }
}
