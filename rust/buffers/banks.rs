// SPDX-License-Identifier: GPL-2.0

//! The two rings of a CPU: which one is live, and how a writer stays with the ring that it reserved
//! in.
//!
//! Each CPU has two rings, one in each bank. One word says which bank is live; the other bank is
//! the snapshot. Changing the word exchanges the banks. A writer reads the word once, when it
//! reserves, and stays with the ring that it found until it has committed or discarded. So an
//! exchange refuses and moves nothing, and a grace period later the bank that was live has no
//! writer. C carries what the writer found from one call of a probe to the next, in the token.
//!
//! Nothing here knows what a ring is. tools/ringtest (`exchange`) runs this source with rings, and
//! exchanges the banks at every instant of nested writers.

use crate::ring::port::SharedWord;
use core::mem::offset_of;

/// One of the two banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Bank {
    /// The bank that is live in a new instance.
    #[default]
    A,
    /// The other bank.
    B,
}

impl Bank {
    /// Both banks.
    pub(crate) const BOTH: [Bank; 2] = [Bank::A, Bank::B];

    /// Returns the other bank.
    pub(crate) const fn other(self) -> Self {
        match self {
            Bank::A => Bank::B,
            Bank::B => Bank::A,
        }
    }
}

/// One of the two buffers of an instance, as the files name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buf {
    /// The rings that writers record in.
    Live,
    /// The rings that were live when the snapshot was taken.
    Snapshot,
}

/// One value for each bank.
pub(crate) struct Pair<T> {
    a: T,
    b: T,
}

impl<T> Pair<T> {
    /// Returns the pair of `a` and `b`.
    pub(crate) const fn new(a: T, b: T) -> Self {
        Self { a, b }
    }

    /// Returns the value of `bank`.
    #[inline(always)]
    pub(crate) const fn of(&self, bank: Bank) -> &T {
        match bank {
            Bank::A => &self.a,
            Bank::B => &self.b,
        }
    }

    /// Returns the address of the value of `bank`, in the pair at `there`.
    pub(crate) const fn place(there: *const Self, bank: Bank) -> *const T {
        let offset = match bank {
            Bank::A => offset_of!(Self, a),
            Bank::B => offset_of!(Self, b),
        };
        there.wrapping_byte_add(offset).cast()
    }

    /// Returns the value of `bank`, mutably.
    pub(crate) const fn of_mut(&mut self, bank: Bank) -> &mut T {
        match bank {
            Bank::A => &mut self.a,
            Bank::B => &mut self.b,
        }
    }
}

/// The address of a ring: its per-CPU address in the word that says which bank is live, its address
/// on the writer's CPU in a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct RingPlace(u64);

/// Bits of a token that are not part of the place.
pub(crate) const TOKEN_BITS: u64 = 15;

impl RingPlace {
    /// Returns the place that `word` stands for. `word` has none of the [`TOKEN_BITS`].
    #[inline(always)]
    pub(crate) const fn new(word: u64) -> Self {
        Self(word)
    }

    /// Returns the place as a word.
    #[inline(always)]
    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    /// Returns the token that C carries from a reservation to its end: the place and four bits.
    #[inline(always)]
    pub(crate) const fn token(self, bits: u64) -> u64 {
        self.0 | bits
    }

    /// Returns the place and the bits that [`Self::token`] was given.
    #[inline(always)]
    pub(crate) const fn of_token(token: u64) -> (Self, u64) {
        (Self(token & !TOKEN_BITS), token & TOKEN_BITS)
    }
}

/// The word that says which bank is live: it holds the place of that bank.
pub(crate) struct LiveBank<W> {
    word: W,
    places: Pair<RingPlace>,
}

impl<W: SharedWord> LiveBank<W> {
    /// Makes bank A live. The two places must differ.
    pub(crate) fn new(places: Pair<RingPlace>) -> Self {
        Self {
            word: W::new(places.a.0),
            places,
        }
    }

    /// Returns the place of the live bank.
    #[inline(always)]
    pub(crate) fn place(&self) -> RingPlace {
        // Acquire: pairs with `exchange`. What was done to the rings of the bank while it was not
        // live happens before they are used here.
        RingPlace(self.word.load_acquire())
    }

    /// Returns the live bank.
    pub(crate) fn bank(&self) -> Bank {
        match self.place() == self.places.a {
            true => Bank::A,
            false => Bank::B,
        }
    }

    /// Returns the bank that `buf` is at present.
    pub(crate) fn bank_of(&self, buf: Buf) -> Bank {
        match buf {
            Buf::Live => self.bank(),
            Buf::Snapshot => self.bank().other(),
        }
    }

    /// Makes the other bank live. Callers take turns, by the lock of the shape or as the one that passes
    /// the gate, and call only after the writers that reserved in that bank when it was last live have left it. Writers may still be in the bank that was
    /// live until now.
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
