// SPDX-License-Identifier: GPL-2.0

//! Variables: numbers, strings and stacks that an entry keeps for events that come later, and the references to
//! them of other histograms.
//!
//! A reference is looked up by the key of the event that has it. One that is an operand takes the number, so that
//! it is used once; other references leave it.

/// Most variables of a histogram, and most references.
pub(crate) const MOST_VARIABLES: usize = 16;

/// Most variables of a histogram that are strings or stacks, and most references to such.
pub(crate) const MOST_TEXTS: usize = 4;
/// Words of the longest string or stack: 255 bytes, or 31 callers, and a zero.
pub(crate) const TEXT_WORDS: usize = 32;

/// `NAME=EXPRESSION` in a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Assignment<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// What a variable has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum VariableKind {
    #[default]
    Number,
    String,
    Stack,
}

/// What is known of the values of a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VariableShape {
    pub(crate) kind: VariableKind,
    /// In bytes, of a string as ftrace counts them.
    pub(crate) size: u16,
    pub(crate) signed: bool,
    pub(crate) usecs: bool,
}

impl VariableShape {
    /// Returns that of unsigned numbers of `size` bytes.
    pub(super) const fn unsigned(size: u16) -> Self {
        Self {
            kind: VariableKind::Number,
            size,
            signed: false,
            usecs: false,
        }
    }

    /// Returns that of strings or stacks.
    pub(super) const fn text(kind: VariableKind, size: u16) -> Self {
        Self {
            kind,
            ..Self::unsigned(size)
        }
    }

    /// Returns whether it is a string or a stack.
    #[inline(always)]
    pub(crate) fn is_text(self) -> bool {
        self.kind != VariableKind::Number
    }
}

/// A reference to a variable of another histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The number of that histogram, as the caller of the parser counts them.
    pub(crate) hist: u64,
    /// Which one of its variables it is.
    pub(crate) variable: u8,
    /// Whether it takes the number.
    pub(crate) once: bool,
    /// Of one to a string or a stack: which one of these it is.
    pub(crate) text: u8,
    pub(crate) shape: VariableShape,
    /// The number that the variable is for all events, if it is one.
    pub(crate) constant: Option<u64>,
}

/// What the name of a variable stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedVariable {
    Unknown,
    /// Several events have one of that name.
    Ambiguous,
    Known(Reference),
}

/// The references of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct References {
    all: [Reference; MOST_VARIABLES],
    used: u8,
}

impl References {
    /// Returns none.
    pub(super) const fn new() -> Self {
        const NONE: Reference = Reference {
            hist: 0,
            variable: 0,
            once: false,
            text: 0,
            shape: VariableShape::unsigned(0),
            constant: None,
        };
        Self {
            all: [NONE; MOST_VARIABLES],
            used: 0,
        }
    }

    /// Returns them in the order in which they are resolved.
    pub(crate) fn all(&self) -> &[Reference] {
        self.all.get(..usize::from(self.used)).unwrap_or_default()
    }

    /// Returns the place of a reference, which is added unless there is one to that variable. `None` when there
    /// are too many.
    pub(super) fn add(&mut self, wanted: Reference) -> Option<u8> {
        let same =
            |there: &Reference| (there.hist, there.variable) == (wanted.hist, wanted.variable);
        if let Some(at) = self.all().iter().position(same) {
            return u8::try_from(at).ok();
        }
        let at = self.used;
        let texts = self.texts();
        if wanted.shape.is_text() && usize::from(texts) >= MOST_TEXTS {
            return None;
        }
        *self.all.get_mut(usize::from(at))? = Reference {
            text: texts,
            ..wanted
        };
        self.used = at.saturating_add(1);
        Some(at)
    }

    /// Returns how many are to strings and stacks.
    pub(crate) fn texts(&self) -> u8 {
        let texts = self.all().iter().filter(|one| one.shape.is_text());
        u8::try_from(texts.count()).unwrap_or(u8::MAX)
    }

    /// Has the reference at `at` take the number.
    pub(super) fn take(&mut self, at: u8) {
        if let Some(reference) = self.all.get_mut(usize::from(at)) {
            reference.once = true;
        }
    }
}

/// The system and the name of an event.
pub(crate) type EventPath<'a> = (&'a [u8], &'a [u8]);

/// Divides a name and the event before it, if that is named: `[SYSTEM.EVENT.]NAME`.
pub(crate) fn divide(text: &[u8]) -> (Option<EventPath<'_>>, &[u8]) {
    let mut parts = text.splitn(3, |byte| *byte == b'.');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(system), Some(event), Some(last)) => (Some((system, event)), last),
        _ => (None, text),
    }
}
