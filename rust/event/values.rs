// SPDX-License-Identifier: GPL-2.0

//! The text of a record's fields, independent of the event's own print format.
//!
//! Called for the option `fields`. How a value is written depends on the type in the field's
//! declaration alone, as in ftrace. A field or an array that is not inside the record is written
//! as `<OVERFLOW>`.

use super::{
    field::Field,
    field_type::{
        part,
        FieldType,
        Value, //
    }, //
};
use crate::text::{
    piece::Piece,
    word,
    writer::ByteWrite, //
};
use core::fmt;

/// What only the kernel knows about a value.
pub(crate) trait KernelValues {
    /// Writes the name of the symbol at `address`, or the address when there is none.
    fn write_symbol(&mut self, address: u64, w: &mut dyn ByteWrite) -> fmt::Result;

    /// Returns the address of the first code of the kernel.
    fn code_begin(&self) -> u64;

    /// Writes a colon and the string at `address`, or nothing if that cannot be read.
    fn write_string(&mut self, address: u64, w: &mut dyn ByteWrite) -> fmt::Result;
}

/// A field whose value is written: all that its declaration says, but for the name.
#[derive(Clone, Copy)]
pub(crate) struct ValueField {
    ty: FieldType,
    offset: u32,
    size: u32,
    /// A number is a place in the kernel, counted from its first code.
    is_place: bool,
}

/// The fields that are places in the kernel, counted from its first code, if they have four bytes.
const PLACES: [&str; 2] = ["caller_offs", "parent_offs"];

/// Writes what comes before the value of the field with this name.
pub(crate) fn write_name(name: &str, w: &mut dyn ByteWrite) -> fmt::Result {
    w.write_str(" ")?;
    w.write_str(name)?;
    w.write_str("=")
}

/// Writes the value of each field after its name, which [`write_name`] made, and the end of the line.
pub(crate) fn write<'f, W: ByteWrite>(
    record: &[u8],
    fields: impl Iterator<Item = (&'f [u8], &'f ValueField)>,
    kernel: &mut dyn KernelValues,
    w: &mut W,
) -> fmt::Result {
    let mut any = false;
    for (name, field) in fields {
        any = true;
        w.write_bytes(name)?;
        field.write(record, kernel, w)?;
    }
    w.write_str(if any { "\n" } else { "No fields found\n" })
}

impl ValueField {
    /// Returns what is written of a field.
    pub(crate) fn of(field: &Field<'_>) -> Self {
        let (offset, size) = (field.offset, field.declared.size);
        let ty = FieldType::of(field.declared.ty, size);
        let is_place = size == 4 && PLACES.contains(&field.declared.name);
        Self {
            ty,
            offset,
            size,
            is_place,
        }
    }

    /// Writes the value that `record` has.
    fn write<W: ByteWrite>(
        &self,
        record: &[u8],
        kernel: &mut dyn KernelValues,
        w: &mut W,
    ) -> fmt::Result {
        let Self {
            ty,
            offset,
            size,
            is_place,
        } = *self;
        // ftrace has no text for a set of CPUs, whether or not it is inside the record, and none for a stack.
        let has_text = !matches!(ty, FieldType::Cpumask | FieldType::Stack);
        if !has_text && part(record, offset, size).is_some() {
            return w.write_str("<INVALID-TYPE>");
        }
        match ty.read(record, offset, size) {
            // As in ftrace: of an array without a size as many characters as it says.
            Some(Value::Chars(_)) if size == 0 => Ok(()),
            None | Some(Value::Cpumask(_)) => w.write_str("<OVERFLOW>"),
            Some(Value::Chars(chars)) => write_string(chars, w),
            Some(Value::DynamicChars(chars)) => write_chars(chars, w),
            Some(Value::Bytes(bytes)) => write_separated(bytes, ',', w),
            Some(Value::StringAt(address, _)) => {
                write!(w, "({address:#018x}")?;
                kernel.write_string(address, w)?;
                w.write_char(')')
            }
            Some(Value::Number(value, size)) => {
                if is_place {
                    let begin = kernel.code_begin();
                    kernel.write_symbol(begin.wrapping_add(value), w)?;
                    w.write_char(' ')?;
                }
                write_number(value, size, kernel, w)
            }
            Some(Value::Opaque(_)) => w.write_str("<INVALID-SIZE>"),
        }
    }
}

fn write_number(
    value: u64,
    size: u32,
    kernel: &mut dyn KernelValues,
    w: &mut dyn ByteWrite,
) -> fmt::Result {
    let mut text = Piece::new();
    let signed = match size {
        1 => {
            let byte = value as u8;
            // Letters of Latin-1 count as printable here, and only here.
            if printable(byte) || byte >= 0xa0 {
                text.bytes_of(&[b'\'', byte, b'\''])?;
            }
            text.bytes_of(b"(")?;
            i64::from(byte)
        }
        size => {
            match size {
                2 | 4 => text.hex(value)?,
                _ => kernel.write_symbol(value, w)?,
            }
            text.bytes_of(b" (")?;
            match size {
                4 => i64::from(value as i32),
                _ => value as i64,
            }
        }
    };
    text.left(signed, 0)?;
    text.bytes_of(b")")?;
    text.write_to(w)
}

fn printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// Writes characters up to a NUL.
fn write_string(bytes: &[u8], w: &mut dyn ByteWrite) -> fmt::Result {
    w.write_bytes(word::c_string(bytes))
}

/// Writes characters; where some cannot be shown, also their numbers.
fn write_chars(chars: &[u8], w: &mut dyn ByteWrite) -> fmt::Result {
    let shown = |byte: u8| byte == 0 || printable(byte);
    if chars.iter().all(|byte| shown(*byte)) {
        return write_string(chars, w);
    }
    for byte in chars {
        w.write_char(if printable(*byte) {
            char::from(*byte)
        } else {
            '.'
        })?;
    }
    w.write_str(" (")?;
    write_separated(chars, ':', w)?;
    w.write_char(')')
}

fn write_separated(bytes: &[u8], separator: char, w: &mut dyn ByteWrite) -> fmt::Result {
    for (at, byte) in bytes.iter().enumerate() {
        if at != 0 {
            w.write_char(separator)?;
        }
        write!(w, "{byte:02x}")?;
    }
    Ok(())
}

/// Writes the values of these fields.
#[cfg(test)]
pub(crate) fn write_fields<'a, W: ByteWrite>(
    record: &[u8],
    fields: impl Iterator<Item = Field<'a>>,
    kernel: &mut dyn KernelValues,
    w: &mut W,
) -> fmt::Result {
    let named: Vec<(String, ValueField)> = fields
        .map(|field| {
            let mut name = String::new();
            write_name(field.declared.name, &mut name).unwrap();
            (name, ValueField::of(&field))
        })
        .collect();
    let fields = named.iter().map(|(name, field)| (name.as_bytes(), field));
    write(record, fields, kernel, w)
}

#[cfg(test)]
mod tests {
    use super::{
        super::field::{
            place,
            DeclaredField,
            COMMON_SIZE, //
        },
        *, //
    };
    use crate::text::writer::Bytes;

    struct Map;

    impl KernelValues for Map {
        fn write_symbol(&mut self, address: u64, w: &mut dyn ByteWrite) -> fmt::Result {
            match address {
                BEGIN => w.write_str("begin"),
                0xffff_ffff_8100_0010 => w.write_str("start+0x10/0x20"),
                _ => write!(w, "{address:#x}"),
            }
        }

        fn code_begin(&self) -> u64 {
            BEGIN
        }

        fn write_string(&mut self, address: u64, w: &mut dyn ByteWrite) -> fmt::Result {
            match address {
                HELLO => w.write_str(":hello"),
                _ => Ok(()),
            }
        }
    }

    fn of(ty: &'static str, size: u32) -> DeclaredField<'static> {
        DeclaredField {
            ty,
            name: "f",
            size,
            align: 1,
            len: 0,
            signed: false,
        }
    }

    /// The address of the first code.
    const BEGIN: u64 = 0xffff_ffff_8100_0000;
    /// The address of the one string.
    const HELLO: u64 = 0xffff_ffff_8200_0000;

    /// Returns the text as Latin-1, so that each byte is one character.
    fn text(fields: &[DeclaredField<'static>], bytes: &[u8]) -> String {
        let mut text = Bytes::default();
        let record = [&[0; 8], bytes].concat();
        let fields = place(fields.iter().copied(), COMMON_SIZE);

        write_fields(&record, fields, &mut Map, &mut text).unwrap();
        text.0.into_iter().map(char::from).collect()
    }

    fn one(ty: &'static str, bytes: &[u8]) -> String {
        let text = text(&[of(ty, bytes.len() as u32)], bytes);

        String::from(
            text.strip_prefix(" f=")
                .unwrap()
                .strip_suffix('\n')
                .unwrap(),
        )
    }

    #[test]
    fn numbers() {
        let address = 0xffff_ffff_8100_0010_u64.to_le_bytes();
        let rows: [(&[u8], &str); 11] = [
            (b"x", "'x'(120)"),
            (&[7], "(7)"),
            (&[0xe9], "'\u{e9}'(233)"),
            (&[0x9f], "(159)"),
            (&[0x34, 0x12], "0x1234 (4660)"),
            (&[0xff, 0xff], "0xffff (65535)"),
            (&[0x21, 0, 0, 0], "0x21 (33)"),
            (&[0xff; 4], "0xffffffff (-1)"),
            (&address, "start+0x10/0x20 (-2130706416)"),
            (&[1, 0, 0, 0, 0, 0, 0, 0], "0x1 (1)"),
            (&[0; 48], "<INVALID-SIZE>"),
        ];
        for (bytes, expected) in rows {
            assert_eq!(one("some_t", bytes), expected);
        }
    }

    #[test]
    fn places_are_counted_from_the_first_code() {
        let named = |name, size| DeclaredField {
            name,
            ..of("s32", size)
        };
        let fields = [
            named("caller_offs", 4),
            named("parent_offs", 4),
            named("parent_offs", 2),
            named("offs", 4),
        ];
        let bytes = [0x10, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0, 0, 0];
        assert_eq!(
            text(&fields, &bytes),
            " caller_offs=start+0x10/0x20 0x10 (16) \
             parent_offs=0x80ffffff 0xffffffff (-1) parent_offs=0x1 (1) offs=0x1 (1)\n"
        );
    }

    #[test]
    fn strings() {
        assert_eq!(one("char[16]", b"name\0\0\0garbage\0\0"), "name");
        assert_eq!(one("char[4]", b"full"), "full");
        assert_eq!(one("char[3]", b"\xc3\xbc\0"), "\u{c3}\u{bc}");
        assert_eq!(
            one("const char *", &[0x10, 0, 0, 0, 0, 0, 0, 0xff]),
            "(0xff00000000000010)"
        );
        assert_eq!(
            one("char *", &HELLO.to_le_bytes()),
            "(0xffffffff82000000:hello)"
        );
        let dynamic = of("__data_loc char[]", 4);
        let relative = of("__rel_loc char[]", 4);
        let rows: [(&[u8], &str); 4] = [
            (b"\x0c\0\x06\0hello\0", "hello"),
            (b"\x0c\0\x05\0a\nb\0c", "a.b.c (61:0a:62:00:63)"),
            (b"\x0c\0\0\0", ""),
            (b"\x0c\0\x06\0hello", "<OVERFLOW>"),
        ];
        for (bytes, expected) in rows {
            assert_eq!(text(&[dynamic], bytes), format!(" f={expected}\n"));
            let from_behind = [&[0, 0], &bytes[2..]].concat();
            assert_eq!(text(&[relative], &from_behind), format!(" f={expected}\n"));
        }
    }

    #[test]
    fn arrays() {
        let rows = [
            (
                "__data_loc unsigned long[]",
                &b"\x0c\0\x03\0\x01\x02\xff"[..],
                "01,02,ff",
            ),
            ("__rel_loc u8[]", b"\0\0\x02\0\x01\x02", "01,02"),
            ("__rel_loc u8[]", b"\x01\0\x02\0\x01\x02", "<OVERFLOW>"),
            (
                "__data_loc cpumask_t[]",
                b"\x0c\0\x01\0\x01",
                "<INVALID-TYPE>",
            ),
        ];
        for (ty, bytes, expected) in rows {
            assert_eq!(text(&[of(ty, 4)], bytes), format!(" f={expected}\n"));
        }
    }

    #[test]
    fn several_fields_and_none() {
        let stack = of("__data_loc long[]", 8);
        assert_eq!(text(&[stack], &[0; 16]), " f=<INVALID-TYPE>\n");

        let fields = [of("u8", 1), of("int", 4)];

        assert_eq!(text(&fields, &[65, 1, 0, 0, 0]), " f='A'(65) f=0x1 (1)\n");
        assert_eq!(text(&fields, &[65, 1, 0, 0]), " f='A'(65) f=<OVERFLOW>\n");
        assert_eq!(text(&[], &[]), "No fields found\n");
    }
}
