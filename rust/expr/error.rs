// SPDX-License-Identifier: GPL-2.0

//! The errors of a filter's text, and how the `filter` file shows them to the user.

use core::fmt::{
    self,
    Write, //
};

/// An error of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    InvalidOperator,
    TooManyOpen,
    TooManyClose,
    MissingQuote,
    MissingBraceOpen,
    MissingBraceClose,
    OperandTooLong,
    ExpectString,
    ExpectDigit,
    IllegalFieldOp,
    FieldNotFound,
    IllegalIntval,
    BadSubsysFilter,
    TooManyPreds,
    InvalidFilter,
    InvalidCpulist,
    InvalidValue,
    NoFunction,
    NoFilter,
    /// An error that ftrace has no text for.
    Nameless,
}

/// The error number that the write returns. Some of ftrace's are mere accidents, but programs see
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errno {
    Perm,
    NoEnt,
    Srch,
    Inval,
}

/// An error and its place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error {
    pub(crate) kind: Kind,
    pub(crate) errno: Errno,
    /// In bytes from the start of the text; 0 for [`Kind::Nameless`].
    pub(crate) at: usize,
}

impl Kind {
    /// Returns the text that follows `parse_error:` and stands in `error_log`.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Kind::InvalidOperator => "Invalid operator",
            Kind::TooManyOpen => "Too many '('",
            Kind::TooManyClose => "Too few '('",
            Kind::MissingQuote => "Missing matching quote",
            Kind::MissingBraceOpen => "Missing '{'",
            Kind::MissingBraceClose => "Missing '}'",
            Kind::OperandTooLong => "Operand too long",
            Kind::ExpectString => "Expecting string field",
            Kind::ExpectDigit => "Expecting numeric field",
            Kind::IllegalFieldOp => "Illegal operation for field type",
            Kind::FieldNotFound => "Field not found",
            Kind::IllegalIntval => "Illegal integer value",
            Kind::BadSubsysFilter => "Couldn't find or set field in one of a subsystem's events",
            Kind::TooManyPreds => "Too many terms in predicate expression",
            Kind::InvalidFilter => "Meaningless filter expression",
            Kind::InvalidCpulist => "Invalid cpulist",
            Kind::InvalidValue => "Invalid value (did you forget quotes)?",
            Kind::NoFunction => "Function not found",
            Kind::NoFilter => "No filter found",
            Kind::Nameless => "Error",
        }
    }
}

impl Error {
    pub(super) fn new(kind: Kind, at: usize) -> Self {
        Self {
            kind,
            errno: Errno::Inval,
            at,
        }
    }

    pub(super) fn nameless(errno: Errno) -> Self {
        Self {
            kind: Kind::Nameless,
            errno,
            at: 0,
        }
    }

    pub(super) fn with(self, errno: Errno) -> Self {
        Self { errno, ..self }
    }

    /// Returns the error of a whole system: one of its events does not take the filter.
    pub(crate) fn of_system() -> Self {
        Self::new(Kind::BadSubsysFilter, 0)
    }

    /// Writes what the `filter` file shows after the refused text, `text_len` bytes long: a caret
    /// below the place, and the words. No newline at the end.
    pub(crate) fn write(&self, w: &mut dyn Write, text_len: usize) -> fmt::Result {
        if self.kind == Kind::Nameless {
            return w.write_str("\nError: (0)");
        }
        // The width is one more than the place, except at the first byte.
        let at = self.at.min(text_len);
        let width = if at == 0 { 0 } else { at.saturating_add(1) };
        write!(w, "\n{:>width$}\nparse_error: {}", "^", self.kind.text())
    }
}
