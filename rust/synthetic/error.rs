// SPDX-License-Identifier: GPL-2.0

//! Why a definition is refused: the texts and the places are those of ftrace.

use crate::text::error_log::place;

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyntheticError {
    Name,
    Command,
    DynamicCommand,
    Exists,
    TooManyFields,
    IncompleteType,
    Type,
    Field,
    Array,
}

impl SyntheticError {
    /// Returns its text in `error_log`.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Name => "Illegal name",
            Self::Command => "Command must be of the form: <name> field[;field] ...",
            Self::DynamicCommand => {
                "Command must be of the form: s or -:[synthetic/]<name> field[;field] ..."
            }
            Self::Exists => "Event already exists",
            Self::TooManyFields => "Too many fields",
            Self::IncompleteType => "Incomplete type",
            Self::Type => "Invalid type",
            Self::Field => "Invalid field",
            Self::Array => "Invalid array specification",
        }
    }
}

/// A line that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SyntheticRefusal {
    pub(crate) error: SyntheticError,
    /// Offset in the line of the byte that the caret points to.
    pub(crate) at: usize,
}

impl SyntheticRefusal {
    /// Returns that of all of a line.
    pub(super) fn whole(error: SyntheticError) -> Self {
        Self { error, at: 0 }
    }

    /// Returns that of a word of `command`.
    pub(super) fn word(error: SyntheticError, command: &[u8], word: &[u8]) -> Self {
        Self {
            error,
            at: place(command, word),
        }
    }
}
