// SPDX-License-Identifier: GPL-2.0

//! Variables: numbers that an entry keeps for events that come later, and the references to them of other
//! histograms.
//!
//! A reference is looked up by the key of the event that has it. One that is an operand takes the number, so that
//! it is used once; other references leave it.

/// Most variables of a histogram, and most references.
pub(crate) const MOST_VARIABLES: usize = 16;

/// `NAME=EXPRESSION` in a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Assignment<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// What is known of the numbers of a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VariableShape {
    /// In bytes.
    pub(crate) size: u8,
    pub(crate) signed: bool,
    pub(crate) usecs: bool,
}

impl VariableShape {
    /// Returns that of unsigned numbers of `size` bytes.
    pub(super) const fn unsigned(size: u8) -> Self {
        Self {
            size,
            signed: false,
            usecs: false,
        }
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
    pub(crate) shape: VariableShape,
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
            shape: VariableShape::unsigned(0),
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
        *self.all.get_mut(usize::from(at))? = wanted;
        self.used = at.saturating_add(1);
        Some(at)
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
pub(super) fn divide(text: &[u8]) -> (Option<EventPath<'_>>, &[u8]) {
    let mut parts = text.splitn(3, |byte| *byte == b'.');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(system), Some(event), Some(last)) => (Some((system, event)), last),
        _ => (None, text),
    }
}
