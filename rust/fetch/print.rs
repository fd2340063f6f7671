// SPDX-License-Identifier: GPL-2.0

//! The fields, the print format and the text of records of a definition.

use super::{
    enumeration::EnumNames,
    errno,
    step::Argument,
    types::{
        ArgumentType,
        EnumType, //
    }, //
};
use crate::{
    event::field::DeclaredField,
    text::{
        word::c_string,
        writer::ByteWrite, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};

/// An argument and its name.
pub(crate) type NamedArgument<'a> = (&'a str, &'a Argument);

/// The fields before the arguments: where the probe was hit.
const HIT: &[DeclaredField<'static>] = &[address("__probe_ip")];
/// The same of a return: the function, and where it returned to.
const RETURN: &[DeclaredField<'static>] = &[address("__probe_func"), address("__probe_ret_ip")];

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
    pub(crate) fn fields(self) -> &'static [DeclaredField<'static>] {
        match self {
            Self::Hit => HIT,
            Self::Return => RETURN,
            Self::Event => &[],
        }
    }
}

const fn address(name: &'static str) -> DeclaredField<'static> {
    DeclaredField {
        ty: "unsigned long",
        name,
        size: 8,
        align: 1,
        len: 0,
        signed: false,
    }
}

/// Returns the field of an argument. Fields of arguments are not aligned.
pub(crate) fn field((name, argument): NamedArgument<'_>) -> DeclaredField<'_> {
    DeclaredField {
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

/// Returns the names of the enumeration of a number.
pub(crate) type NameLookup<'a> = &'a dyn Fn(u8) -> EnumNames<'a>;

/// Writes the print format. Fails when `w` does.
///
/// Names of numbers are there as `__print_symbolic()`, which readers of raw records know; not those of arrays. What has
/// none is in base 16 there, so an error follows its number.
pub(crate) fn write_format<'a>(
    w: &mut dyn Write,
    head: RecordHead,
    arguments: impl Iterator<Item = NamedArgument<'a>> + Clone,
    names: NameLookup<'_>,
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
                0 if matches!(argument.ty, ArgumentType::Enumeration(_)) => w.write_str(", ")?,
                0 => write!(w, ", {before}{name}{after}")?,
                _ => write!(w, ", {before}{name}[{element}]{after}")?,
            }
        }
        if argument.count == 0 {
            write_symbols(w, name, argument.ty, names)?;
        }
    }
    Ok(())
}

/// Writes the names of the values of a field, if its type has some. Fails when `w` does.
fn write_symbols(
    w: &mut dyn Write,
    name: &str,
    ty: ArgumentType,
    names: NameLookup<'_>,
) -> fmt::Result {
    let size = ty.size();
    match ty {
        ArgumentType::Enumeration(ty) => {
            write!(w, "__print_symbolic(REC->{name}")?;
            for (value, text) in names(ty.number).all() {
                write_symbol(w, value & errno::mask(size), ("", text))?;
            }
            w.write_str(")")
        }
        ArgumentType::Error(_) | ArgumentType::ErrorPointer => {
            let first = errno::first_value(size);
            write!(
                w,
                ", (REC->{name} >= {first}) ? __print_symbolic(REC->{name}"
            )?;
            for (number, text) in errno::all() {
                write_symbol(w, errno::value(number, size), (" ", text))?;
            }
            w.write_str(") : \"\"")
        }
        _ => Ok(()),
    }
}

/// Writes the name of a value, which has no sign: numbers with one are not compared by all readers.
fn write_symbol(w: &mut dyn Write, value: u64, (before, text): (&str, &str)) -> fmt::Result {
    write!(w, ", {{ {value}, \"{before}{text}\" }}")
}

/// Writes the arguments of a record, which begin at `at`. `symbol` writes the name of an address, `names` has
/// those of enumerations. Fails when `out` does.
pub(crate) fn write_values<'a>(
    out: &mut dyn ByteWrite,
    arguments: impl Iterator<Item = NamedArgument<'a>>,
    record: &[u8],
    mut at: usize,
    symbol: &mut dyn FnMut(u64, &mut dyn ByteWrite) -> fmt::Result,
    names: NameLookup<'_>,
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
            let value = u64::from_le_bytes(bytes);
            match argument.ty {
                ArgumentType::Enumeration(ty) => write_enumerator(out, ty, value, names)?,
                ty => write_value(out, ty, value, record, symbol)?,
            }
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
        return match argument.ty {
            ArgumentType::Enumeration(_) => w.write_str("%s"),
            ArgumentType::Error(_) | ArgumentType::ErrorPointer => write!(w, "{conversion}%s"),
            _ => w.write_str(conversion),
        };
    }
    for element in 0..argument.elements() {
        w.write_str(if element == 0 { "{" } else { "," })?;
        w.write_str(conversion)?;
    }
    w.write_str("}")
}

/// Returns the number of `size` bytes that `value` has the low bytes of.
fn signed(value: u64, size: u8) -> i64 {
    let shift = 64u32.saturating_sub(u32::from(size).saturating_mul(8));
    (value.wrapping_shl(shift) as i64).wrapping_shr(shift)
}

/// Writes a value of an enumeration, of which `value` has the low bytes.
fn write_enumerator(
    out: &mut dyn ByteWrite,
    ty: EnumType,
    value: u64,
    names: NameLookup<'_>,
) -> fmt::Result {
    let value = match ty.signed {
        true => signed(value, ty.size) as u64,
        false => value,
    };
    match names(ty.number).name(value) {
        Some(name) => out.write_str(name),
        None if ty.signed => write!(out, "{}", value as i64),
        None => write!(out, "{value}"),
    }
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
        ArgumentType::Signed(size) => write!(out, "{}", signed(value, size)),
        ArgumentType::Error(size) => {
            let value = signed(value, size);
            match errno::name(value as u64) {
                Some(name) => out.write_str(name),
                None => write!(out, "{value}"),
            }
        }
        ArgumentType::ErrorPointer => match errno::name(value) {
            Some(name) => out.write_str(name),
            None => write!(out, "{value:#x}"),
        },
        // With its names it is written before.
        ArgumentType::Enumeration(_) => write!(out, "{value}"),
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
            out.write_bytes(c_string(text))?;
            out.write_str("\"")
        }
    }
}
