// SPDX-License-Identifier: GPL-2.0

//! The errors of a `hist` command, and how `error_log` shows them.

/// An error that `error_log` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HistErrorKind {
    NameMismatch,
    EmptyAssignment,
    FieldNotFound,
    BadModifier,
    BadSortField,
    BadSortModifier,
    EmptySortField,
    TooManySortFields,
    ValueNeeded,
    NothingToClear,
    Exists,
    ClockNotSet,
    TooManySubexpressions,
    MinusInSubexpression,
    DivisionByZero,
    NumberExpected,
    StringOperand,
    UnitsDiffer,
    VariableNotFound,
    TooManyVariables,
    MalformedAssignment,
    VariableExists,
    VariableNotUnique,
    ReferenceInKey,
    NoAction,
    NoClosingParen,
    MissingSubsystem,
    NoSuchEvent,
    ActionMismatch,
    InvalidParameter,
    NoSuchSynthetic,
    ParameterNotFound,
    ParameterType,
    ParameterCount,
    NoEventFile,
    NoFieldVariable,
    NoMatchingHistogram,
    NoHistogramMade,
    NotAVariable,
    TrackedNotFound,
    TooManySaves,
    NoSavedField,
    NoVariableMade,
    TooManyParameters,
}

/// The error number that the write returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HistErrno {
    Inval,
    NoEnt,
    Dom,
    Range,
    NoMem,
    Exist,
}

/// Takes an error, and the word of the command that it is about; an empty one if it is about all of it.
pub(crate) type Log<'a> = dyn FnMut(HistErrorKind, &[u8]) + 'a;

/// Takes errors, and what is an error only if the command has another one: that its event has none of the fields that
/// another one has.
pub(crate) trait LateErrors<'t> {
    /// Tells an error. What was noted is told before the first one.
    fn tell(&mut self, kind: HistErrorKind, word: &[u8]);

    /// Notes what is one only then.
    ///
    /// # Errors
    ///
    /// `NoMem`.
    fn note(&mut self, kind: HistErrorKind, word: &'t [u8]) -> Result<(), HistErrno>;
}

/// Tells `log` an error, and returns what a write gets for most of them.
pub(super) fn refuse(log: &mut Log<'_>, kind: HistErrorKind, word: &[u8]) -> HistErrno {
    log(kind, word);
    HistErrno::Inval
}

impl HistErrorKind {
    /// Returns the text that stands in `error_log`.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::NameMismatch => {
                "Named hist trigger doesn't match existing named trigger (includes variables)"
            }
            Self::EmptyAssignment => "Empty assignment",
            Self::FieldNotFound => "Couldn't find field",
            Self::BadModifier => "Invalid field modifier",
            Self::BadSortField => "Sort field must be a key or a val",
            Self::BadSortModifier => "Invalid sort modifier",
            Self::EmptySortField => "Empty sort field",
            Self::TooManySortFields => "Too many sort fields (Max = 2)",
            Self::ValueNeeded => "Non-hitcount value is required for 'nohitcount'",
            Self::NothingToClear => "Can't clear or continue a nonexistent hist trigger",
            Self::Exists => "Hist trigger already exists",
            Self::ClockNotSet => "Couldn't set trace_clock",
            Self::TooManySubexpressions => "Too many subexpressions (3 max)",
            Self::MinusInSubexpression => "Unary minus not supported in sub-expressions",
            Self::DivisionByZero => "Division by zero",
            Self::NumberExpected => "Expecting numeric literal",
            Self::StringOperand => "String type can not be an operand in expression",
            Self::UnitsDiffer => "Timestamp units in expression don't match",
            Self::VariableNotFound => "Couldn't find variable",
            Self::TooManyVariables => "Too many variables defined",
            Self::MalformedAssignment => "Malformed assignment",
            Self::VariableExists => "Variable already defined",
            Self::VariableNotUnique => {
                "Variable name not unique, need to use fully qualified name (subsys.event.var) for variable"
            }
            Self::ReferenceInKey => "Using variable references in keys not supported",
            Self::NoAction => "No action found",
            Self::NoClosingParen => "No closing paren found",
            Self::MissingSubsystem => "Missing subsystem",
            Self::NoSuchEvent => "Invalid subsystem or event name",
            Self::ActionMismatch => "Handler doesn't support action",
            Self::InvalidParameter => "Invalid action param",
            Self::NoSuchSynthetic => "Couldn't find synthetic event",
            Self::ParameterNotFound => "Couldn't find param",
            Self::ParameterType => "Param type doesn't match synthetic event field type",
            Self::ParameterCount => "Param count doesn't match synthetic event field count",
            Self::NoFieldVariable => "Couldn't parse field variable",
            Self::NoMatchingHistogram => "Matching event histogram not found",
            Self::NoHistogramMade => "Couldn't create histogram for field",
            Self::NoEventFile => "Event file not found",
            Self::NotAVariable => "For onmax(x) or onchange(x), x must be a variable",
            Self::TrackedNotFound => "Couldn't find onmax or onchange variable",
            Self::TooManySaves => "Can't have more than one save() action per hist",
            Self::NoSavedField => "Couldn't create field variable",
            Self::NoVariableMade => "Couldn't create or find variable",
            Self::TooManyParameters => "Too many action params",
        }
    }
}
