// SPDX-License-Identifier: GPL-2.0

//! A record as JSON: one member for each field that the event's `format` names.
//!
//! Only the text of the format is used, so that every event that has one is shown, wherever it
//! comes from. `trace_pipe_json` parses the text once for each event that an open file prints, and
//! keeps the [`Member`]s. A field that the record is too short for is `null`.

use core::fmt;

use super::field_type::{
    number,
    Location, //
};
use crate::text::{
    json,
    piece::Piece,
    word,
    writer::ByteWrite, //
};

/// A function that writes an address without revealing where the kernel is.
pub(crate) type Address<'a> = &'a mut dyn FnMut(u64, &mut dyn ByteWrite) -> fmt::Result;

/// Bytes of the word that says where a value is.
const WORD: usize = 4;

/// The number of values of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueCount {
    One,
    Many(usize),
    /// As many values as there are bytes for.
    Open,
}

/// How a number is written.
#[derive(Clone, Copy)]
enum NumberForm {
    Bool,
    Address,
    Signed,
    Unsigned,
}

/// What the bytes of a field are.
#[derive(Clone, Copy)]
enum Content {
    /// A string.
    Text,
    /// One number.
    Number(NumberForm),
    /// Numbers of that many bytes each: 1, 2, 4 or 8.
    Numbers(NumberForm, u8),
    /// Bytes of another meaning.
    Opaque,
}

/// What a field has.
#[derive(Clone, Copy)]
enum MemberForm {
    /// Bytes at one place.
    One(Content),
    /// Strings, each with a word of its own in the field that says where it is.
    Texts,
}

/// What is written of a field: all that its line in a format says, but for the name.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    form: MemberForm,
    /// Where the bytes are; `None` for all bytes from the offset to the end of the record.
    location: Option<Location>,
    offset: u32,
    size: u32,
}

/// Returns the fields of `format` but the common ones: the name of each, and what is written of it.
pub(crate) fn members(format: &str) -> impl Iterator<Item = (&str, Member)> {
    format
        .lines()
        .filter_map(|line| Member::parse(line.strip_prefix("\tfield:")?))
        .filter(|(name, _)| !name.starts_with("common_"))
}

/// Writes the name of a member as it comes before each of its values; `at` is the member's place
/// among those of its format.
pub(crate) fn write_name(at: usize, name: &str, out: &mut dyn ByteWrite) -> fmt::Result {
    if at != 0 {
        out.write_char(',')?;
    }
    json::write_string(name.as_bytes(), out)?;
    out.write_char(':')
}

impl Member {
    /// Parses a line of a format, from after its `field:`.
    fn parse(line: &str) -> Option<(&str, Self)> {
        let mut parts = line.split(';').map(str::trim_ascii);
        let declaration = parts.next()?;
        let mut number =
            |label: &str| -> Option<u32> { parts.next()?.strip_prefix(label)?.parse().ok() };
        let (offset, size, signed) = (number("offset:")?, number("size:")?, number("signed:")?);
        let (location, declaration) = match declaration.strip_prefix("__data_loc ") {
            Some(rest) => (Location::FromStart, rest),
            None => match declaration.strip_prefix("__rel_loc ") {
                Some(rest) => (Location::FromWord, rest),
                None => (Location::Inline, declaration),
            },
        };
        // An array has its length after the name, or, when it is elsewhere in the record, empty
        // brackets after the type, and after these the number of such arrays if there are several.
        let (ty, name, count, are_many) = match declaration.split_once('[') {
            None => {
                let (ty, name) = cut(declaration)?;
                (ty, name, ValueCount::One, false)
            }
            Some((front, rest)) => {
                let (len, rest) = rest.split_once(']')?;
                let (are_many, rest) = match rest.strip_prefix('[') {
                    Some(rest) => (location != Location::Inline, rest.split_once(']')?.1),
                    None => (false, rest),
                };
                let (ty, name) = match rest.trim_ascii() {
                    "" => cut(front)?,
                    name => (front, name),
                };
                let count = len.parse().map_or(ValueCount::Open, ValueCount::Many);
                (ty, name, count, are_many)
            }
        };
        let count = match location {
            Location::Inline => count,
            Location::FromStart | Location::FromWord | Location::Rest => ValueCount::Open,
        };
        let open_end = (count, location, size) == (ValueCount::Open, Location::Inline, 0);
        // The elements of a dynamic array of longs are addresses, if they look like some: a stack.
        let signed =
            signed != 0 && (location == Location::Inline || !ty.trim_ascii().ends_with("long"));
        let form = match Content::of(ty.trim_ascii(), count, size, signed) {
            Content::Text if are_many => MemberForm::Texts,
            content => MemberForm::One(content),
        };
        let member = Self {
            form,
            location: (!open_end).then_some(location),
            offset,
            size,
        };
        Some((name, member))
    }

    /// Returns the field's bytes in `record`, `None` when they are not inside it.
    fn bytes<'r>(&self, record: &'r [u8]) -> Option<&'r [u8]> {
        match self.location {
            None => record.get(self.offset as usize..),
            Some(location) => location.bytes(record, self.offset, self.size),
        }
    }

    /// Writes strings as a list, with `null` for one that is not inside of `record`.
    fn write_texts<W: ByteWrite>(&self, record: &[u8], out: &mut W) -> fmt::Result {
        let end = self.offset.saturating_add(self.size);
        let location = self.location.unwrap_or(Location::Inline);
        out.write_char('[')?;
        for at in (self.offset..end).step_by(WORD) {
            if at != self.offset {
                out.write_char(',')?;
            }
            match location.bytes(record, at, WORD as u32) {
                Some(bytes) => json::write_string(word::c_string(bytes), out)?,
                None => out.write_str("null")?,
            }
        }
        out.write_char(']')
    }

    /// Writes the field's value in `record`.
    fn write<W: ByteWrite>(&self, record: &[u8], address: Address<'_>, out: &mut W) -> fmt::Result {
        let content = match self.form {
            MemberForm::One(content) => content,
            MemberForm::Texts => return self.write_texts(record, out),
        };
        let Some(bytes) = self.bytes(record) else {
            return out.write_str("null");
        };
        match content {
            Content::Text => json::write_string(word::c_string(bytes), out),
            Content::Opaque => json::write_hex(bytes, out),
            Content::Number(form) => form.write(bytes, address, out),
            Content::Numbers(form, width) => {
                out.write_char('[')?;
                for (at, value) in bytes.chunks_exact(usize::from(width).max(1)).enumerate() {
                    if at != 0 {
                        out.write_char(',')?;
                    }
                    form.write(value, address, out)?;
                }
                out.write_char(']')
            }
        }
    }
}

impl Content {
    /// Returns what the `size` bytes of a field are that has `count` values of the type `ty`.
    fn of(ty: &str, count: ValueCount, size: u32, signed: bool) -> Self {
        if count != ValueCount::One && is_text(ty) {
            return Self::Text;
        }
        let width = match count {
            ValueCount::One => Some(size as usize),
            ValueCount::Many(len) => (size as usize).checked_div(len),
            ValueCount::Open => width_of(ty),
        };
        let form = match ty {
            "bool" => NumberForm::Bool,
            ty if ty.ends_with('*') => NumberForm::Address,
            _ if signed => NumberForm::Signed,
            _ => NumberForm::Unsigned,
        };
        match (width, count) {
            (Some(1 | 2 | 4 | 8), ValueCount::One) => Self::Number(form),
            (Some(width @ (1 | 2 | 4 | 8)), _) => Self::Numbers(form, width as u8),
            _ => Self::Opaque,
        }
    }
}

impl NumberForm {
    /// Writes the number in all of `bytes`.
    fn write<W: ByteWrite>(self, bytes: &[u8], address: Address<'_>, out: &mut W) -> fmt::Result {
        let value = number(bytes);
        let mut text = Piece::new();
        match (self, bytes.len()) {
            (Self::Bool, _) => return out.write_str(if value == 0 { "false" } else { "true" }),
            (Self::Address, _) if value == 0 => return out.write_str("null"),
            (Self::Address, _) => return address(value, out),
            (Self::Signed, 1) => text.left((value as i8).into(), 0)?,
            (Self::Signed, 2) => text.left((value as i16).into(), 0)?,
            (Self::Signed, 4) => text.left((value as i32).into(), 0)?,
            (Self::Signed, _) => text.left(value as i64, 0)?,
            (Self::Unsigned, 8) if is_kernels(value) => return address(value, out),
            (Self::Unsigned, _) => text.right(value, 0)?,
        }
        text.write_to(out)
    }
}

/// Returns type and name of a declaration.
fn cut(declaration: &str) -> Option<(&str, &str)> {
    let declaration = declaration.trim_ascii();
    let at = declaration.rfind([' ', '*'])?.checked_add(1)?;
    declaration.split_at_checked(at)
}

/// Returns whether an array of this type is a string.
fn is_text(ty: &str) -> bool {
    ty.strip_prefix("const ").unwrap_or(ty) == "char"
}

/// Returns the bytes of a value of a type that formats name; `None` for an unknown one.
fn width_of(ty: &str) -> Option<usize> {
    let ty = ty.strip_prefix("const ").unwrap_or(ty);
    Some(match ty {
        "bool" | "u8" | "__u8" | "s8" | "__s8" | "uint8_t" | "unsigned char" | "signed char" => 1,
        "u16" | "__u16" | "s16" | "__s16" | "short" | "unsigned short" => 2,
        "u32" | "__u32" | "s32" | "__s32" | "int" | "unsigned int" | "unsigned" | "pid_t" => 4,
        "u64" | "__u64" | "s64" | "__s64" | "long" | "unsigned long" | "size_t" => 8,
        ty if ty.ends_with('*') => 8,
        _ => return None,
    })
}

/// Returns whether `value` is an address of the kernel, also with page tables of five levels. The
/// last page of the address space does not count: small negative numbers in unsigned fields are no
/// addresses.
fn is_kernels(value: u64) -> bool {
    (0xff00_0000_0000_0000..0xffff_ffff_ffff_f000).contains(&value)
}

/// Writes the values that `members` have in `record`, each after its name, which [`write_name`] made.
pub(crate) fn write_members<'m, W: ByteWrite>(
    members: impl Iterator<Item = (&'m [u8], &'m Member)>,
    record: &[u8],
    address: Address<'_>,
    out: &mut W,
) -> fmt::Result {
    for (name, member) in members {
        out.write_bytes(name)?;
        member.write(record, address, out)?;
    }
    Ok(())
}

/// Writes the members of a binary marker, whose bytes have a meaning of the user's own.
pub(crate) fn write_raw_data(record: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    let id = record.get(8..).and_then(<[u8]>::first_chunk);
    write!(
        out,
        "\"id\":{},\"buf\":",
        id.map_or(0, |id| u32::from_ne_bytes(*id))
    )?;
    json::write_hex(record.get(12..).unwrap_or_default(), out)
}

/// Writes the members that the fields of `format` have in `record`.
#[cfg(test)]
pub(crate) fn write_fields(
    format: &str,
    record: &[u8],
    address: Address<'_>,
    out: &mut String,
) -> fmt::Result {
    let named: Vec<(String, Member)> = members(format)
        .enumerate()
        .map(|(at, (name, member))| {
            let mut text = String::new();
            write_name(at, name, &mut text).unwrap();
            (text, member)
        })
        .collect();
    let members = named.iter().map(|(name, member)| (name.as_bytes(), member));
    write_members(members, record, address, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n";

    fn shown(lines: &[&str], record: &[u8]) -> String {
        let format = format!(
            "name: x\nID: 1\nformat:\n{COMMON}\n{}\nprint fmt: \"\"\n",
            lines.join("\n")
        );
        let mut text = String::new();
        let mut address = |value: u64, out: &mut dyn ByteWrite| write!(out, "\"<{value:x}>\"");

        write_fields(&format, record, &mut address, &mut text).unwrap();
        text
    }

    fn one(declaration: &str, size: usize, signed: u8, bytes: &[u8]) -> String {
        let line = format!("\tfield:{declaration};\toffset:8;\tsize:{size};\tsigned:{signed};");
        let text = shown(&[&line], &[&[0; 8], bytes].concat());
        text.split_once(':').unwrap().1.to_string()
    }

    #[test]
    fn numbers() {
        let minus = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        for (size, unsigned) in [(1, "254"), (2, "65534"), (4, "4294967294")] {
            assert_eq!(one("int f", size, 1, &minus), "-2");
            assert_eq!(one("unsigned f", size, 0, &minus), unsigned);
        }
        assert_eq!(one("s64 f", 8, 1, &minus), "-2");
        assert_eq!(one("u64 f", 8, 0, &minus), "18446744073709551614");
        assert_eq!(one("bool f", 1, 0, &[0]), "false");
        assert_eq!(one("bool f", 1, 0, &[1]), "true");
        assert_eq!(one("char f", 1, 1, b"a"), "97");
        assert_eq!(
            one("struct sixteen f", 16, 0, &[7; 16]),
            "\"07070707070707070707070707070707\""
        );
        assert_eq!(one("int f", 4, 1, &[1, 2, 3]), "null");
    }

    #[test]
    fn addresses_are_not_shown() {
        // Addresses with page tables of four levels, and of five.
        for kernel in [0xffff_8880_1234_5678_u64, 0xff11_0001_1234_5678] {
            let wanted = format!("\"<{kernel:x}>\"");
            for declaration in ["void * f", "const char *f", "unsigned long f", "u64 f"] {
                assert_eq!(one(declaration, 8, 0, &kernel.to_ne_bytes()), wanted);
            }
        }
        let below = 0xfeff_ffff_ffff_ffff_u64;
        assert_eq!(one("u64 f", 8, 0, &below.to_ne_bytes()), below.to_string());
        assert_eq!(one("void * f", 8, 0, &[0; 8]), "null");
        assert_eq!(one("void * f", 8, 0, &[1, 0, 0, 0, 0, 0, 0, 0]), "\"<1>\"");
        assert_eq!(one("unsigned long f", 8, 0, &[1, 0, 0, 0, 0, 0, 0, 0]), "1");
        let two = [0xffff_8880_1234_5678_u64, 5]
            .map(u64::to_ne_bytes)
            .concat();
        assert_eq!(
            one("unsigned long f[2]", 16, 0, &two),
            "[\"<ffff888012345678>\",5]"
        );
    }

    #[test]
    fn arrays() {
        assert_eq!(one("char f[8]", 8, 1, b"bash\0xyz"), "\"bash\"");
        assert_eq!(
            one("char f[]", 0, 0, b"to the \"end\"\n"),
            r#""to the \"end\"\n""#
        );
        assert_eq!(one("u8 f[3]", 3, 0, &[1, 2, 3]), "[1,2,3]");
        assert_eq!(one("s16 f[2]", 4, 1, &[0xff, 0xff, 2, 0]), "[-1,2]");
        assert_eq!(one("struct x f[0]", 0, 0, &[1]), "\"\"");
        assert_eq!(one("u8 f[x]", 3, 0, &[1, 2, 3]), "[1,2,3]");
    }

    #[test]
    fn what_is_elsewhere() {
        let at = |from: u32, len: u32| (len << 16 | from).to_ne_bytes();
        let behind = |word: [u8; 4], rest: &[u8]| [&word, rest].concat();
        for declaration in ["__data_loc char[] f", "__data_loc char f[]"] {
            assert_eq!(
                one(declaration, 4, 1, &behind(at(12, 3), b"ab\0cd")),
                "\"ab\""
            );
        }
        for declaration in ["__rel_loc char f[]", "__rel_loc char[] f"] {
            assert_eq!(
                one(declaration, 4, 1, &behind(at(2, 3), b"xxab\0")),
                "\"ab\""
            );
        }
        assert_eq!(
            one("__data_loc u8[] f", 4, 0, &behind(at(12, 2), &[9, 8, 7])),
            "[9,8]"
        );
        assert_eq!(
            one(
                "__data_loc cpumask_t[] f",
                4,
                0,
                &behind(at(12, 2), &[9, 8])
            ),
            "\"0908\""
        );
        for ty in ["__data_loc char[][3]", "__rel_loc char[][3]"] {
            let from = |from: u32, word: u32| from - if ty.starts_with("__rel") { word } else { 0 };
            let words = [at(from(20, 12), 4), at(from(24, 16), 3), at(99, 1)].concat();
            let line = format!("\tfield:{ty} both;\toffset:8;\tsize:12;\tsigned:1;");
            let record = [&[0; 8], &words[..], b"one\0two\0"].concat();
            assert_eq!(shown(&[&line], &record), "\"both\":[\"one\",\"two\",null]");
            assert_eq!(shown(&[&line], &record[..8]), "\"both\":[null,null,null]");
        }
        // A stack of a synthetic event: the number of callers, and each as an address.
        let words = [1u64.to_le_bytes(), 0xffff_ffff_8100_0010u64.to_le_bytes()];
        let stack = [&at(16, 16)[..], &[0; 4][..], &words.concat()[..]].concat();
        for ty in ["long", "unsigned long"] {
            assert_eq!(
                one(&format!("__data_loc {ty}[] f"), 8, 1, &stack),
                "[1,\"<ffffffff81000010>\"]"
            );
        }
        // The words point outside the record.
        for word in [at(12, 4), at(13, 3), at(0xffff, 0xffff), at(0xffff, 0)] {
            assert_eq!(
                one("__data_loc char[] f", 4, 0, &behind(word, b"abc")),
                "null"
            );
            assert_eq!(one("__data_loc char[] f", 4, 0, &word[..3]), "null");
        }
    }

    #[test]
    fn binary_markers() {
        let rows: [(&[u8], &str); 3] = [
            (&[0x34, 0x12, 0, 0, 0, 0xff], "\"id\":4660,\"buf\":\"00ff\""),
            (&[1, 0, 0, 0], "\"id\":1,\"buf\":\"\""),
            (&[1], "\"id\":0,\"buf\":\"\""),
        ];
        for (body, wanted) in rows {
            let mut text = String::new();

            write_raw_data(&[&[0; 8], body].concat(), &mut text).unwrap();
            assert_eq!(text, wanted);
        }
    }

    #[test]
    fn members() {
        let text = shown(
            &[
                "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;",
                "\tfield:no field;\toffset:x;\tsize:4;\tsigned:1;",
                "\tfield:nameless;\toffset:8;\tsize:4;\tsigned:1;",
                "\tfield:char comm[4];\toffset:12;\tsize:4;\tsigned:0;",
            ],
            &[0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, b'a', b'b', 0xff, 0],
        );
        assert_eq!(text, "\"pid\":5,\"comm\":\"ab\u{fffd}\"");
        assert_eq!(shown(&[], &[]), "");
    }
}
