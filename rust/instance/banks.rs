// SPDX-License-Identifier: GPL-2.0

//! Which of two rings a writer uses: one word, and how a writer keeps to what it found there.
//!
//! Each CPU has two rings, one in each bank. The word says which bank is live; the other one is the
//! snapshot. To exchange them is to change the word: a writer looks at it once, when it reserves, and
//! stays with the ring that it found until it has committed or discarded. So nothing is refused or
//! moved while banks are exchanged, and a grace period later the bank that was live has no writer.
//! C carries the bank from one call of a probe to the next, in the token.
//!
//! Nothing here knows what a ring is. tools/ringtest (`exchange`) runs this source with rings, and
//! exchanges them at every instant of nested writers.

use crate::ring::port::SharedWord;

/// One of the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Bank {
    /// The one that a new instance writes to.
    #[default]
    A,
    /// The other one.
    B,
}

/// The bit of a token that says which bank; no ring uses it.
const TOKEN_BANK: u64 = 1 << 63;

impl Bank {
    /// Both.
    pub(crate) const BOTH: [Bank; 2] = [Bank::A, Bank::B];

    /// The one that this is not.
    pub(crate) const fn other(self) -> Self {
        match self {
            Bank::A => Bank::B,
            Bank::B => Bank::A,
        }
    }

    /// The token of a reservation in this bank, for C.
    #[inline(always)]
    pub(crate) const fn mark(self, token: u64) -> u64 {
        token | ((self as u64) << TOKEN_BANK.trailing_zeros())
    }

    /// What [`Self::mark`] was given.
    #[inline(always)]
    pub(crate) const fn marked(token: u64) -> (Self, u64) {
        match token & TOKEN_BANK {
            0 => (Bank::A, token),
            _ => (Bank::B, token & !TOKEN_BANK),
        }
    }
}

/// Which of the two buffers of an instance a file is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buf {
    /// The one that is written to.
    Live,
    /// The one that was, when the snapshot was taken.
    Snapshot,
}

/// One of something for each bank.
pub(crate) struct Pair<T> {
    a: T,
    b: T,
}

impl<T> Pair<T> {
    /// These two.
    pub(crate) const fn new(a: T, b: T) -> Self {
        Self { a, b }
    }

    /// That of `bank`.
    #[inline(always)]
    pub(crate) const fn of(&self, bank: Bank) -> &T {
        match bank {
            Bank::A => &self.a,
            Bank::B => &self.b,
        }
    }

    /// That of `bank`, to be changed.
    pub(crate) const fn of_mut(&mut self, bank: Bank) -> &mut T {
        match bank {
            Bank::A => &mut self.a,
            Bank::B => &mut self.b,
        }
    }
}

/// The word.
pub(crate) struct Live<W>(W);

impl<W: SharedWord> Live<W> {
    /// Bank A is live.
    pub(crate) fn new() -> Self {
        Self(W::new(0))
    }

    /// The live bank.
    #[inline(always)]
    pub(crate) fn bank(&self) -> Bank {
        // Acquire: pairs with `exchange`. What was done to the rings of the bank while it was not
        // live comes before our use of them.
        match self.0.load_acquire() & 1 {
            0 => Bank::A,
            _ => Bank::B,
        }
    }

    /// The bank that `buf` means now.
    pub(crate) fn bank_of(&self, buf: Buf) -> Bank {
        match buf {
            Buf::Live => self.bank(),
            Buf::Snapshot => self.bank().other(),
        }
    }

    /// Makes the other bank live. One caller at a time, and not before the writers that reserved in
    /// that bank when it was live last have left it. Those that have reserved in the one that was
    /// live are still in it.
    pub(crate) fn exchange(&self) {
        let next = match self.bank() {
            Bank::A => 1,
            Bank::B => 0,
        };
        self.0.store_release(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_keeps_its_bank() {
        for bank in Bank::BOTH {
            for token in [0, 1, 3, (1 << 26) - 1, u64::MAX >> 1] {
                assert_eq!(Bank::marked(bank.mark(token)), (bank, token));
            }
            assert_ne!(bank, bank.other());
            assert_eq!(bank, bank.other().other());
        }
    }
}
