// SPDX-License-Identifier: GPL-2.0
//! How many writers are active on a CPU, and whether one of them has to take the slow paths.
//!
//! The word counts the active writers. Beside the count it has one bit, [`SLOW`], which whoever
//! does something sets that the fast paths know nothing of. A writer that finds exactly 1 behind
//! its own entry knows by that one comparison that it interrupts nobody, that nobody has come in
//! between, and that no earlier writer left anything behind.
//!
//! Only the outermost writer clears the bit, and in front of its look at what there is to do: who
//! comes behind that sets it again.

use super::port::LocalWord;

/// The fast paths are not to be gone.
const SLOW: u64 = 1 << 32;
const COUNT: u64 = SLOW - 1;

/// The word; see the module.
pub(super) struct Nest<L>(L);

impl<L: LocalWord> Nest<L> {
    /// That of an empty ring, whose first event takes the slow paths.
    pub(super) fn new() -> Self {
        Self(L::new(SLOW))
    }

    /// As new, while no writer is active.
    pub(super) fn reset(&self) {
        self.0.set(SLOW);
    }

    /// A writer begins.
    #[inline(always)]
    pub(super) fn enter(&self) {
        self.0.increment();
    }

    /// Whether the caller, who is active, is the only one that has been since the fast paths were
    /// free.
    #[inline(always)]
    pub(super) fn is_alone(&self) -> bool {
        self.0.is_one()
    }

    /// How many writers the caller interrupts.
    #[inline(always)]
    pub(super) fn level(&self) -> u64 {
        (self.0.get() & COUNT).wrapping_sub(1)
    }

    /// The fast paths are not to be gone any more. For active writers.
    #[inline]
    pub(super) fn go_slow(&self) {
        // Whoever comes between load and store leaves the count as it was, and sets the bit at
        // most.
        self.0.set(self.0.get() | SLOW);
    }

    /// A writer ends that is not the outermost one.
    #[inline]
    pub(super) fn leave_inner(&self) {
        // In one step: the bit must not be lost that somebody sets who comes in between.
        self.0.decrement_to_zero();
    }

    /// The outermost writer begins to look at what there is to do.
    #[inline]
    pub(super) fn begin_look(&self) {
        self.0.set(1);
    }

    /// The outermost writer ends. Not so when the fast paths are not free, because somebody has
    /// come since its look: then [`Self::begin_look`] follows.
    #[inline(always)]
    pub(super) fn leave(&self) -> bool {
        self.0.decrement_to_zero()
    }

    /// The outermost writer ends; the next one takes the slow paths. Whoever has come since the
    /// look may have left something to do.
    #[inline]
    pub(super) fn leave_slow(&self) {
        self.0.set(SLOW);
    }

    /// Is the word that of a ring without active writers?
    pub(super) fn is_at_rest(&self) -> bool {
        self.0.get() & !SLOW == 0
    }

    /// Are the fast paths free? While no writer is active.
    pub(super) fn allows_fast(&self) -> bool {
        self.0.get() & SLOW == 0
    }

    /// The word.
    #[allow(dead_code, reason = "only tests look at it")]
    pub(super) fn word(&self) -> &L {
        &self.0
    }
}
