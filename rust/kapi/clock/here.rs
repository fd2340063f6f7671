// SPDX-License-Identifier: GPL-2.0

//! A clock that is made where it is read, and how a word remembers it.
//!
//! Which clocks there are, and what they are made of, is the parent module's business: there is another
//! one in tools/guest/native.

use super::now_at;

/// A clock that is made here, without a call.
///
/// # Invariants
///
/// It is a place that [`now_at`] can be asked about.
#[derive(Clone, Copy)]
pub(crate) struct Here(u64);

impl Here {
    /// The clock that is made of what is at `place`.
    ///
    /// # Safety
    ///
    /// [`now_at`] can be asked about it; it is not 0.
    #[inline(always)]
    pub(super) unsafe fn at(place: u64) -> Self {
        // INVARIANT: By the contract.
        Self(place)
    }

    /// For a word that remembers one or that there is none.
    pub(crate) fn word(here: Option<Self>) -> u64 {
        here.map_or(0, |here| here.0)
    }

    /// What the word remembers.
    ///
    /// # Safety
    ///
    /// It is from [`Self::word`].
    #[inline(always)]
    pub(crate) unsafe fn of_word(word: u64) -> Option<Self> {
        // INVARIANT: By the contract; nothing is at 0.
        (word != 0).then_some(Self(word))
    }

    /// Its time; nothing when what it is made of was changed, and then [`super::read`] is to be asked. As
    /// for that.
    #[inline(always)]
    pub(crate) fn now(self) -> Option<u64> {
        // SAFETY: By the invariant.
        unsafe { now_at(self.0) }
    }
}
