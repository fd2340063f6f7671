// SPDX-License-Identifier: GPL-2.0

//! What is wrong with a filter, and how is the user told?

use core::fmt::{
    self,
    Write, //
};

/// What is wrong.
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
    /// ftrace has no text for it.
    Nameless,
}

/// The error number that the write gets: some of ftrace's are mere accidents, but programs see them.
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
    /// The text that follows `parse_error:` and stands in `error_log`.
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

    /// The same error for a whole system: one of its events has no such field.
    pub(crate) fn of_system() -> Self {
        Self::new(Kind::BadSubsysFilter, 0)
    }

    /// What the `filter` file shows behind the refused text: a caret below the place, and the words.
    /// No newline at the end.
    pub(crate) fn write(&self, w: &mut dyn Write, text_len: usize) -> fmt::Result {
        if self.kind == Kind::Nameless {
            return w.write_str("\nError: (0)");
        }
        // The caret stands one further than the place says, except in front of all.
        let at = self.at.min(text_len);
        let width = if at == 0 { 0 } else { at.saturating_add(1) };
        write!(w, "\n{:>width$}\nparse_error: {}", "^", self.kind.text())
    }
}
