// SPDX-License-Identifier: GPL-2.0
//! The names of broken invariants: which of I1 to I14, and what is wrong.
//!
//! [`super::check`] finds them in a ring at rest, a writer when it meets a state that cannot be.

use core::fmt;

/// What is wrong with a ring. The numbers are stored in [`super::cpu::CpuRing`]; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Violation {
    /// A writer is active, or has not left.
    Nest = 1,
    /// The position is not inside a sub-buffer.
    Position,
    /// The first sub-buffer that is not closed is not the position's.
    Closing,
    /// A slot has a number that does not belong there now.
    Number,
    /// A slot is not Open where writers are, Full where the reader goes, Empty where it has been.
    State,
    /// The remembered slot word is not the slot's, or the remembered sub-buffer not that in the
    /// slot.
    Hint,
    /// A commit is tagged with the number of another sub-buffer.
    Tag,
    /// A commit is not where the writers left.
    Commit,
    /// The final part of a sub-buffer is not the one that its last writer left.
    End,
    /// DETACH is where the reader is not, or is not where it is.
    Detach,
    /// A sub-buffer is in two places or in none.
    Place,
    /// Reader and writers know different spares.
    Spare,
    /// Bytes of a sub-buffer are not the records of its events.
    Records,
    /// The header of a sub-buffer, for users that have it mapped, is not its commit and its stamp.
    Head,
    /// The reader is where no event ends.
    Reader,
    /// The numbers of the events do not follow each other.
    Base,
    /// The reader's number is not that of the event that it reads next.
    Serial,
    /// The time that is known is not that of the event that ends at the position.
    Pair,
    /// Times go back, with a clock that does not.
    Time,
    /// Written is not read + overrun + remaining.
    Sum,
}

use Violation::*;

impl Violation {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Self; 20] = [
        Nest, Position, Closing, Number, State, Hint, Tag, Commit, End, Detach, Place, Spare,
        Records, Head, Reader, Base, Serial, Pair, Time, Sum,
    ];

    /// Returns its number.
    pub(crate) const fn code(self) -> u64 {
        self as u64
    }

    /// Returns the violation with that number.
    pub(crate) fn from_code(code: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|v| v.code() == code)
    }

    /// Returns the invariant, named as in [`super`].
    pub(crate) const fn invariant(self) -> &'static str {
        match self {
            Nest | Position => "I2",
            Closing | Number | State | Hint => "I3",
            Tag | Commit => "I4",
            End => "I5",
            Detach => "I6",
            Place | Spare => "I7",
            Records | Head | Reader => "I8",
            Base => "I9",
            Pair | Time => "I10",
            Serial | Sum => "I11",
        }
    }

    /// Returns what is wrong.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Nest => "a writer has not left",
            Position => "the position is in no place",
            Closing => "a sub-buffer that was left is not closed",
            Number => "a slot has a wrong number",
            State => "a slot is in a wrong state",
            Hint => "what is remembered of a slot is wrong",
            Tag => "a commit belongs to another sub-buffer",
            Commit => "a commit is not where the writers left",
            End => "a sub-buffer is not final",
            Detach => "DETACH is not where the reader is",
            Place => "a sub-buffer is in two places or in none",
            Spare => "two sub-buffers are the spare",
            Records => "a sub-buffer holds other bytes than its events",
            Head => "a header is not that of its sub-buffer",
            Reader => "the reader is where no event ends",
            Base => "numbers of events do not follow each other",
            Serial => "the reader is at another number than its event",
            Pair => "the time of the last event is wrong",
            Time => "time goes back",
            Sum => "written is not read + overrun + remaining",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant(), self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_lead_back() {
        for (i, v) in (1..).zip(Violation::ALL) {
            assert_eq!(v.code(), i);
            assert_eq!(Violation::from_code(i), Some(v));
        }
        assert_eq!(Violation::from_code(0), None);
        assert_eq!(Violation::from_code(21), None);
    }
}
