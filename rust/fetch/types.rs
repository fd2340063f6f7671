// SPDX-License-Identifier: GPL-2.0

//! The types of arguments.

use super::number;

/// How a value is stored and shown. The numbers are sizes in bytes: 1, 2, 4 or 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentType {
    Unsigned(u8),
    Signed(u8),
    Hex(u8),
    Char,
    /// An address that is shown as the name of a function.
    Symbol,
    /// A string in the kernel's memory.
    Text,
    /// A string in the memory of the current process.
    UserText,
    /// The name of an address, written when it is recorded.
    SymbolText,
    /// A number that is shown as the name of an error if it is one.
    Error(u8),
    /// An address, or the number of an error instead.
    ErrorPointer,
    /// A number that is shown as its name in BTF.
    Enumeration(EnumType),
}

/// The type of a value of an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EnumType {
    pub(super) size: u8,
    pub(super) signed: bool,
    /// Its place among the enumerations of the definition.
    pub(crate) number: u8,
}

use ArgumentType::*;

/// The types by their names.
const NAMES: &[(&str, ArgumentType)] = &[
    ("u8", Unsigned(1)),
    ("u16", Unsigned(2)),
    ("u32", Unsigned(4)),
    ("u64", Unsigned(8)),
    ("s8", Signed(1)),
    ("s16", Signed(2)),
    ("s32", Signed(4)),
    ("s64", Signed(8)),
    ("x8", Hex(1)),
    ("x16", Hex(2)),
    ("x32", Hex(4)),
    ("x64", Hex(8)),
    ("char", Char),
    ("symbol", Symbol),
    ("string", Text),
    ("ustring", UserText),
    ("symstr", SymbolText),
    // Not in ftrace. Sizes are those of the value, if BTF knows it.
    ("errno", Error(4)),
    (
        "enum",
        Enumeration(EnumType {
            size: 4,
            signed: true,
            number: 0,
        }),
    ),
];

/// Most elements of an array.
pub(crate) const MOST_ELEMENTS: u64 = 64;

macro_rules! text_arrays {
    ($($count:literal)*) => {
        /// The types of the fields of arrays of strings, by the number of elements.
        const TEXT_ARRAYS: &[&str] = &[$(concat!("__data_loc char[][", $count, "]")),*];
    };
}

text_arrays! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
}

/// Bits of a number: it is shifted to the left and then to the right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BitField {
    left: u8,
    right: u8,
}

impl BitField {
    /// Parses `bWIDTH@OFFSET/...`, of a number of `size` bytes; `None` if it is no such field.
    pub(super) fn parse(text: &str, size: usize) -> Option<Self> {
        let (width, rest) = leading_number(text.strip_prefix('b')?);
        let (offset, rest) = leading_number(rest.strip_prefix('@')?);
        let bits = (size as u64).saturating_mul(8);
        let offset = offset.filter(|_| rest.starts_with('/'))?;
        let width = width.filter(|width| *width != 0)?;
        let left = bits.checked_sub(width.checked_add(offset)?)?;
        Some(Self {
            left: left as u8,
            right: bits.checked_sub(width)? as u8,
        })
    }

    /// Returns `width` bits from `bit` on of a number of `size` bytes.
    pub(super) fn within(bit: u32, width: u32, size: usize) -> Self {
        let bits = (size as u32).saturating_mul(8);
        Self {
            left: bits.saturating_sub(bit.saturating_add(width)) as u8,
            right: bits.saturating_sub(width) as u8,
        }
    }

    /// Returns the bits of a number of `size` bytes.
    pub(super) fn of(self, value: u64, size: usize) -> u64 {
        let unused = 64u32.saturating_sub((size as u32).saturating_mul(8));
        let upper = value.wrapping_shl(unused.wrapping_add(self.left.into()));
        upper.wrapping_shr(unused.wrapping_add(self.right.into()))
    }
}

/// Parses the number that `text` begins with, as the kernel's `simple_strtoul()`, and returns the rest. Without
/// digits there is none.
fn leading_number(text: &str) -> (Option<u64>, &str) {
    let (digits, base) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_hexdigit()) => (rest, 16),
        _ if text.starts_with('0') => (text, 8),
        _ => (text, 10),
    };
    let end = digits
        .find(|c: char| !c.is_digit(base))
        .unwrap_or(digits.len());
    let (digits, rest) = digits.split_at_checked(end).unwrap_or((digits, ""));
    (u64::from_str_radix(digits, base).ok(), rest)
}

impl ArgumentType {
    /// The type of an argument that names none.
    pub(crate) const DEFAULT: Self = Hex(8);
    /// That of a time.
    pub(super) const TIME: Self = Unsigned(8);

    /// Returns the type of that name; of a bit field that of the number that it is in.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        if name.starts_with('b') {
            return match number::unsigned(name.split_once('/')?.1) {
                Ok(8) => Some(Unsigned(1)),
                Ok(16) => Some(Unsigned(2)),
                Ok(32) => Some(Unsigned(4)),
                Ok(64) => Some(Unsigned(8)),
                _ => None,
            };
        }
        let mut rows = NAMES.iter();
        rows.find(|(row, _)| *row == name).map(|(_, ty)| *ty)
    }

    /// Returns whether it is a string, whose bytes follow the fixed part of a record.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Text | UserText | SymbolText)
    }

    /// Returns whether it is made of the name of an address in the kernel.
    pub(super) fn is_symbol(self) -> bool {
        matches!(self, Symbol | SymbolText)
    }

    /// Returns its bytes in the fixed part of a record.
    pub(crate) fn size(self) -> usize {
        match self {
            Unsigned(size) | Signed(size) | Hex(size) | Error(size) => size.into(),
            Enumeration(ty) => ty.size.into(),
            Char => 1,
            Symbol | ErrorPointer => 8,
            Text | UserText | SymbolText => 4,
        }
    }

    /// Returns whether its field says that it is signed.
    pub(crate) fn is_signed(self) -> bool {
        match self {
            Signed(_) | Error(_) | Text | UserText | SymbolText => true,
            Enumeration(ty) => ty.signed,
            Unsigned(_) | Hex(_) | Char | Symbol | ErrorPointer => false,
        }
    }

    /// Returns the type of its field.
    pub(crate) fn field_type(self) -> &'static str {
        match self {
            Enumeration(EnumType { size, signed, .. }) => match signed {
                true => Signed(size).field_type(),
                false => Unsigned(size).field_type(),
            },
            Signed(1) => "s8",
            Signed(2) | Error(2) => "s16",
            Signed(4) | Error(4) => "s32",
            Signed(_) | Error(_) => "s64",
            Unsigned(1) | Hex(1) | Char => "u8",
            Unsigned(2) | Hex(2) => "u16",
            Unsigned(4) | Hex(4) => "u32",
            Unsigned(_) | Hex(_) | Symbol | ErrorPointer => "u64",
            Text | UserText | SymbolText => "__data_loc char[]",
        }
    }

    /// Returns the type of the field of an array of `count` elements.
    pub(crate) fn array_type(self, count: u8) -> &'static str {
        match self.field_type() {
            "s8" => "s8[]",
            "s16" => "s16[]",
            "s32" => "s32[]",
            "s64" => "s64[]",
            "u8" => "u8[]",
            "u16" => "u16[]",
            "u32" => "u32[]",
            "u64" => "u64[]",
            text => TEXT_ARRAYS.get(usize::from(count)).copied().unwrap_or(text),
        }
    }

    /// Returns how the print format shows it, with quotes escaped.
    pub(crate) fn conversion(self) -> &'static str {
        match self {
            Unsigned(8) => "%Lu",
            Unsigned(_) => "%u",
            Signed(8) | Error(8) => "%Ld",
            Signed(_) | Error(_) => "%d",
            Enumeration(EnumType { size, signed, .. }) => match signed {
                true => Signed(size).conversion(),
                false => Unsigned(size).conversion(),
            },
            Hex(8) | ErrorPointer => "0x%Lx",
            Hex(_) => "0x%x",
            Char => "'%c'",
            Symbol => "%pS",
            Text | UserText | SymbolText => "\\\"%s\\\"",
        }
    }
}
