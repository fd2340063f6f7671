// SPDX-License-Identifier: GPL-2.0

//! The types of arguments.

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
];

impl ArgumentType {
    /// The type of an argument that names none.
    pub(crate) const DEFAULT: Self = Hex(8);

    /// Returns the type of that name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let mut rows = NAMES.iter();
        rows.find(|(row, _)| *row == name).map(|(_, ty)| *ty)
    }

    /// Returns whether it is a string, whose bytes follow the fixed part of a record.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Text | UserText)
    }

    /// Returns its bytes in the fixed part of a record.
    pub(crate) fn size(self) -> usize {
        match self {
            Unsigned(size) | Signed(size) | Hex(size) => size.into(),
            Char => 1,
            Symbol => 8,
            Text | UserText => 4,
        }
    }

    /// Returns whether its field says that it is signed.
    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Signed(_) | Text | UserText)
    }

    /// Returns the type of its field.
    pub(crate) fn field_type(self) -> &'static str {
        match self {
            Signed(1) => "s8",
            Signed(2) => "s16",
            Signed(4) => "s32",
            Signed(_) => "s64",
            Unsigned(1) | Hex(1) | Char => "u8",
            Unsigned(2) | Hex(2) => "u16",
            Unsigned(4) | Hex(4) => "u32",
            Unsigned(_) | Hex(_) | Symbol => "u64",
            Text | UserText => "__data_loc char[]",
        }
    }

    /// Returns how the print format shows it, with quotes escaped.
    pub(crate) fn conversion(self) -> &'static str {
        match self {
            Unsigned(8) => "%Lu",
            Unsigned(_) => "%u",
            Signed(8) => "%Ld",
            Signed(_) => "%d",
            Hex(8) => "0x%Lx",
            Hex(_) => "0x%x",
            Char => "'%c'",
            Symbol => "%pS",
            Text | UserText => "\\\"%s\\\"",
        }
    }
}
