// SPDX-License-Identifier: GPL-2.0

//! The errors of a filter's text, and how the `filter` file shows them to the user.

use core::fmt::{
    self,
    Write, //
};

/// An error of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
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
pub(crate) enum PredicateErrno {
    Perm,
    NoEnt,
    Srch,
    Inval,
}

/// An error and its place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error {
    pub(crate) kind: ErrorKind,
    pub(crate) errno: PredicateErrno,
    /// In bytes from the start of the text; 0 for [`ErrorKind::Nameless`].
    pub(crate) at: usize,
}

impl ErrorKind {
    /// Returns the text that follows `parse_error:` and stands in `error_log`.
    pub(crate) fn text(self) -> &'static str {
        match self {
            ErrorKind::InvalidOperator => "Invalid operator",
            ErrorKind::TooManyOpen => "Too many '('",
            ErrorKind::TooManyClose => "Too few '('",
            ErrorKind::MissingQuote => "Missing matching quote",
            ErrorKind::MissingBraceOpen => "Missing '{'",
            ErrorKind::MissingBraceClose => "Missing '}'",
            ErrorKind::OperandTooLong => "Operand too long",
            ErrorKind::ExpectString => "Expecting string field",
            ErrorKind::ExpectDigit => "Expecting numeric field",
            ErrorKind::IllegalFieldOp => "Illegal operation for field type",
            ErrorKind::FieldNotFound => "Field not found",
            ErrorKind::IllegalIntval => "Illegal integer value",
            ErrorKind::BadSubsysFilter => {
                "Couldn't find or set field in one of a subsystem's events"
            }
            ErrorKind::TooManyPreds => "Too many terms in predicate expression",
            ErrorKind::InvalidFilter => "Meaningless filter expression",
            ErrorKind::InvalidCpulist => "Invalid cpulist",
            ErrorKind::InvalidValue => "Invalid value (did you forget quotes)?",
            ErrorKind::NoFunction => "Function not found",
            ErrorKind::NoFilter => "No filter found",
            ErrorKind::Nameless => "Error",
        }
    }
}

impl Error {
    pub(super) fn new(kind: ErrorKind, at: usize) -> Self {
        Self {
            kind,
            errno: PredicateErrno::Inval,
            at,
        }
    }

    pub(super) fn nameless(errno: PredicateErrno) -> Self {
        Self {
            kind: ErrorKind::Nameless,
            errno,
            at: 0,
        }
    }

    pub(super) fn with(self, errno: PredicateErrno) -> Self {
        Self { errno, ..self }
    }

    /// Returns the error of a whole system: one of its events does not take the filter.
    pub(crate) fn of_system() -> Self {
        Self::new(ErrorKind::BadSubsysFilter, 0)
    }

    /// Writes what the `filter` file shows after the refused text, `text_len` bytes long: a caret
    /// below the place, and the words. No newline at the end.
    pub(crate) fn write(&self, w: &mut dyn Write, text_len: usize) -> fmt::Result {
        if self.kind == ErrorKind::Nameless {
            return w.write_str("\nError: (0)");
        }
        // The width is one more than the place, except at the first byte.
        let at = self.at.min(text_len);
        let width = if at == 0 { 0 } else { at.saturating_add(1) };
        write!(w, "\n{:>width$}\nparse_error: {}", "^", self.kind.text())
    }
}
