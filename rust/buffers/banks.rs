// SPDX-License-Identifier: GPL-2.0

//! Which of two rings a writer uses: one word, and how a writer keeps to what it found there.
//!
//! Each CPU has two rings, one in each bank. The word says which bank is live; the other one is the
//! snapshot. To exchange them is to change the word: a writer looks at it once, when it reserves, and
//! stays with the ring that it found until it has committed or discarded. So nothing is refused or
//! moved while banks are exchanged, and a grace period later the bank that was live has no writer.
//! C carries what the writer found from one call of a probe to the next, in the token.
//!
//! Nothing here knows what a ring is. tools/ringtest (`exchange`) runs this source with rings, and
//! exchanges them at every instant of nested writers.

use crate::ring::port::SharedWord;
use core::mem::offset_of;

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

    /// Where that of `bank` is, of the two that are there.
    pub(crate) const fn place(there: *const Self, bank: Bank) -> *const T {
        let offset = match bank {
            Bank::A => offset_of!(Self, a),
            Bank::B => offset_of!(Self, b),
        };
        there.wrapping_byte_add(offset).cast()
    }

    /// That of `bank`, to be changed.
    pub(crate) const fn of_mut(&mut self, bank: Bank) -> &mut T {
        match bank {
            Bank::A => &mut self.a,
            Bank::B => &mut self.b,
        }
    }
}

/// Where a ring is. In the word that is in the kernel its per-CPU address, in a token its address on the
/// CPU that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Place(u64);

/// Bits of a token that are not of a place.
pub(crate) const TOKEN_BITS: u64 = 7;

impl Place {
    /// The place of this name, which has no [`TOKEN_BITS`].
    #[inline(always)]
    pub(crate) const fn new(word: u64) -> Self {
        Self(word)
    }

    /// Its name.
    #[inline(always)]
    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    /// What C carries from a reservation to its end: the place and three bits.
    #[inline(always)]
    pub(crate) const fn token(self, bits: u64) -> u64 {
        self.0 | bits
    }

    /// What [`Self::token`] was given.
    #[inline(always)]
    pub(crate) const fn of_token(token: u64) -> (Self, u64) {
        (Self(token & !TOKEN_BITS), token & TOKEN_BITS)
    }
}

/// The word: the place of the live bank.
pub(crate) struct Live<W> {
    word: W,
    places: Pair<Place>,
}

impl<W: SharedWord> Live<W> {
    /// Bank A is live. The two places are not equal.
    pub(crate) fn new(places: Pair<Place>) -> Self {
        Self {
            word: W::new(places.a.0),
            places,
        }
    }

    /// The place of the live bank.
    #[inline(always)]
    pub(crate) fn place(&self) -> Place {
        // Acquire: pairs with `exchange`. What was done to the rings of the bank while it was not
        // live comes before our use of them.
        Place(self.word.load_acquire())
    }

    /// The live bank.
    pub(crate) fn bank(&self) -> Bank {
        match self.place() == self.places.a {
            true => Bank::A,
            false => Bank::B,
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
        let next = *self.places.of(self.bank().other());
        self.word.store_release(next.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_banks() {
        let pair = Pair::new(7u32, 9);
        for bank in Bank::BOTH {
            assert!(core::ptr::eq(Pair::place(&pair, bank), pair.of(bank)));
            assert_ne!(bank, bank.other());
            assert_eq!(bank, bank.other().other());
        }
    }
}
