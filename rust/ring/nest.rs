// SPDX-License-Identifier: GPL-2.0
//! How many writers are active on a CPU, and whether one of them has to take the slow paths.
//!
//! The word counts the active writers. Beside the count it has one bit, [`SLOW`], which a writer
//! sets that does something of which the fast paths know nothing. A writer that finds exactly 1
//! after its own entry knows by that one comparison that it interrupts no writer, that none has
//! come since, and that no earlier one left anything to do.
//!
//! Only the outermost writer clears the bit, and does so before it looks at what there is to do; a
//! writer that comes after the look sets it again.

use super::port::LocalWord;

/// Bit of the word: writers must take the slow paths.
const SLOW: u64 = 1 << 32;
const COUNT: u64 = SLOW - 1;

/// The count of active writers with its bit; see the module.
pub(super) struct Nest<L>(L);

impl<L: LocalWord> Nest<L> {
    /// Returns the word of an empty ring, whose first event takes the slow paths.
    pub(super) fn new() -> Self {
        Self(L::new(SLOW))
    }

    /// Makes the word that of an empty ring, while no writer is active.
    pub(super) fn reset(&self) {
        self.0.set(SLOW);
    }

    /// Counts a writer that begins.
    #[inline(always)]
    pub(super) fn enter(&self) {
        self.0.increment();
    }

    /// Returns whether the caller, an active writer, is the only one since the fast paths were
    /// free.
    #[inline(always)]
    pub(super) fn is_alone(&self) -> bool {
        self.0.is_one()
    }

    /// Returns how many writers the caller interrupts.
    #[inline(always)]
    pub(super) fn level(&self) -> u64 {
        (self.0.get() & COUNT).wrapping_sub(1)
    }

    /// Makes writers take the slow paths from now on. For active writers.
    #[inline]
    pub(super) fn go_slow(&self) {
        // A writer that comes between load and store leaves the count as it was, and sets the bit
        // at most.
        self.0.set(self.0.get() | SLOW);
    }

    /// Ends a writer that is not the outermost one.
    #[inline]
    pub(super) fn leave_inner(&self) {
        // In one step, or the bit would be lost that a writer sets between load and store.
        self.0.decrement_to_zero();
    }

    /// Begins the outermost writer's look at what there is to do.
    #[inline]
    pub(super) fn begin_look(&self) {
        self.0.set(1);
    }

    /// Ends the outermost writer. Returns false when the fast paths are not free, because a writer
    /// has come since its look: then [`Self::begin_look`] follows.
    #[inline(always)]
    pub(super) fn leave(&self) -> bool {
        self.0.decrement_to_zero()
    }

    /// Ends the outermost writer; the next one takes the slow paths. A writer that has come since
    /// the look may have left something to do.
    #[inline]
    pub(super) fn leave_slow(&self) {
        self.0.set(SLOW);
    }

    /// Returns whether the word is that of a ring without active writers.
    pub(super) fn is_at_rest(&self) -> bool {
        self.0.get() & !SLOW == 0
    }

    /// Returns whether the fast paths are free. While no writer is active.
    pub(super) fn allows_fast(&self) -> bool {
        self.0.get() & SLOW == 0
    }

    /// Returns the word.
    #[cfg(any(test, CONFIG_KUNIT = "y"))]
    pub(super) fn word(&self) -> &L {
        &self.0
    }
}
