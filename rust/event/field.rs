// SPDX-License-Identifier: GPL-2.0

//! One field of an event: its line in the `format` file, and its place in the record.
//!
//! Called by `format` and by every caller that walks an event's fields. Tools parse these texts, so
//! they equal those of tracefs byte for byte.

use core::fmt::{
    self,
    Write, //
};

/// Bytes of the four fields that begin every record.
pub(crate) const COMMON_SIZE: u32 = 8;
/// Where they have the number of the task.
pub(crate) const PID_AT: u32 = 4;

/// A field as an event declares it, without an offset. Without a name it is room that no field has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclaredField<'a> {
    /// The C type; an array has `[LEN]` at its end.
    pub(crate) ty: &'a str,
    pub(crate) name: &'a str,
    pub(crate) size: u32,
    /// The alignment in bytes, a power of two.
    pub(crate) align: u32,
    /// Number of elements of a fixed array, else zero.
    pub(crate) len: u32,
    pub(crate) signed: bool,
}

/// A field with its place in the record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) declared: DeclaredField<'a>,
    pub(crate) offset: u32,
}

/// The fields that begin every record, in `struct trace_entry`.
pub(crate) const COMMON: [DeclaredField<'static>; 4] = [
    DeclaredField {
        ty: "unsigned short",
        name: "common_type",
        size: 2,
        align: 2,
        len: 0,
        signed: false,
    },
    DeclaredField {
        ty: "unsigned char",
        name: "common_flags",
        size: 1,
        align: 1,
        len: 0,
        signed: false,
    },
    DeclaredField {
        ty: "unsigned char",
        name: "common_preempt_count",
        size: 1,
        align: 1,
        len: 0,
        signed: false,
    },
    DeclaredField {
        ty: "int",
        name: "common_pid",
        size: 4,
        align: 4,
        len: 0,
        signed: true,
    },
];

/// Returns `fields` with their places, as the C compiler lays out a struct whose earlier members
/// end at `start`.
pub(crate) fn place<'a>(
    fields: impl Iterator<Item = DeclaredField<'a>>,
    start: u32,
) -> impl Iterator<Item = Field<'a>> {
    let mut end = start;
    fields.filter_map(move |declared| {
        let mask = declared.align.max(1).wrapping_sub(1);
        let offset = end.wrapping_add(mask) & !mask;
        end = offset.wrapping_add(declared.size);
        (!declared.name.is_empty()).then_some(Field { declared, offset })
    })
}

impl Field<'_> {
    /// Writes the line of this field.
    ///
    /// An array's length moves after the name, as in C; the types of dynamic arrays stay whole.
    pub(crate) fn write(&self, w: &mut dyn Write) -> fmt::Result {
        let field = &self.declared;
        w.write_str("\tfield:")?;
        match field.ty.split_once('[') {
            Some((element, _)) if !field.ty.starts_with("__data_loc") => {
                write_type(w, element)?;
                match field.len {
                    0 => write!(w, " {}[]", field.name)?,
                    len => write!(w, " {}[{}]", field.name, len)?,
                }
            }
            _ => {
                write_type(w, field.ty)?;
                write!(w, " {}", field.name)?;
            }
        }
        writeln!(
            w,
            ";\toffset:{};\tsize:{};\tsigned:{};",
            self.offset,
            field.size,
            u8::from(field.signed)
        )
    }
}

/// Writes a type without its `__attribute__((...))`, which readers of formats do not know.
fn write_type(w: &mut dyn Write, ty: &str) -> fmt::Result {
    const ATTRIBUTE: &str = "__attribute__(";

    let mut rest = ty;
    let mut word_start = true;
    loop {
        let Some((before, inside)) = rest.split_once(ATTRIBUTE) else {
            return w.write_str(rest);
        };
        let starts_word = match before.chars().next_back() {
            Some(last) => last.is_ascii_whitespace(),
            None => word_start,
        };
        w.write_str(before)?;
        match behind_parenthesis(inside) {
            Some(behind) if starts_word => {
                rest = behind.trim_ascii_start();
                word_start = true;
            }
            _ => {
                w.write_str(ATTRIBUTE)?;
                rest = inside;
                word_start = false;
            }
        }
    }
}

/// Returns what follows the parenthesis that closes the one opened just before `text`.
fn behind_parenthesis(text: &str) -> Option<&str> {
    let mut depth = 1u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth = depth.wrapping_add(1),
            b')' => depth = depth.wrapping_sub(1),
            _ => {}
        }
        if depth == 0 {
            return text.get(at.wrapping_add(1)..);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ty: &str, size: u32, align: u32, len: u32, signed: bool) -> String {
        let declared = DeclaredField {
            ty,
            name: "f",
            size,
            align,
            len,
            signed,
        };
        let mut text = String::new();
        for field in place([declared].into_iter(), COMMON_SIZE) {
            field.write(&mut text).unwrap();
        }
        text
    }

    #[test]
    fn lines_equal_those_of_tracefs() {
        let rows: [(&str, u32, u32, u32, bool, &str); 6] = [
            (
                "u32",
                4,
                4,
                0,
                false,
                "\tfield:u32 f;\toffset:8;\tsize:4;\tsigned:0;\n",
            ),
            (
                "char[16]",
                16,
                1,
                16,
                true,
                "\tfield:char f[16];\toffset:8;\tsize:16;\tsigned:1;\n",
            ),
            (
                "char[TASK_COMM_LEN]",
                16,
                1,
                16,
                false,
                "\tfield:char f[16];\toffset:8;\tsize:16;\tsigned:0;\n",
            ),
            (
                "__data_loc char[]",
                4,
                4,
                0,
                true,
                "\tfield:__data_loc char[] f;\toffset:8;\tsize:4;\tsigned:1;\n",
            ),
            (
                "__rel_loc char[]",
                4,
                4,
                0,
                true,
                "\tfield:__rel_loc char f[];\toffset:8;\tsize:4;\tsigned:1;\n",
            ),
            (
                "const char __attribute__((btf_type_tag(\"user\"))) *",
                8,
                8,
                0,
                false,
                "\tfield:const char * f;\toffset:8;\tsize:8;\tsigned:0;\n",
            ),
        ];
        for (ty, size, align, len, signed, want) in rows {
            assert_eq!(line(ty, size, align, len, signed), want, "{ty}");
        }
    }

    #[test]
    fn attributes_go_only_where_they_are_words() {
        let rows = [
            ("__attribute__((a)) int", "int"),
            ("int __attribute__((a(1), b))  *", "int *"),
            ("__attribute__((a)) __attribute__((b)) int", "int"),
            ("x__attribute__((a)) int", "x__attribute__((a)) int"),
            ("int __attribute__((a", "int __attribute__((a"),
        ];
        for (from, want) in rows {
            let mut text = String::new();
            write_type(&mut text, from).unwrap();
            assert_eq!(text, want);
        }
    }

    #[test]
    fn places_follow_the_alignments() {
        let of = |size, align| DeclaredField {
            ty: "t",
            name: "f",
            size,
            align,
            len: 0,
            signed: false,
        };
        let fields = [of(1, 1), of(8, 8), of(2, 2), of(4, 4), of(3, 1), of(0, 0)];
        let places: Vec<u32> = place(fields.into_iter(), COMMON_SIZE)
            .map(|field| field.offset)
            .collect();
        assert_eq!(places, [8, 16, 24, 28, 32, 35]);
    }

    #[test]
    fn room_without_a_name_is_no_field() {
        let of = |name, size| DeclaredField {
            ty: "t",
            name,
            size,
            align: 1,
            len: 0,
            signed: false,
        };
        let fields = [of("a", 1), of("", 7), of("b", 4), of("", 12), of("c", 8)];
        let places: Vec<(&str, u32)> = place(fields.into_iter(), COMMON_SIZE)
            .map(|field| (field.declared.name, field.offset))
            .collect();
        assert_eq!(places, [("a", 8), ("b", 16), ("c", 32)]);
    }
}
