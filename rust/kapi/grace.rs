// SPDX-License-Identifier: GPL-2.0

//! Waiting until all writers that may have seen something are done.

use super::c;
use kernel::sync::atomic::{
    Acquire,
    Atomic,
    Full,
    Relaxed, //
};

/// Returns when every stretch of code that ran with preemption or interrupts disabled, or in an
/// interrupt or NMI, when this was called has ended: every writer of a ring. Process context with no
/// lock that writers take; sleeps.
pub(crate) fn writers_left() {
    c::synchronize_rcu();
}

/// The waits of one kind: one serves all that left before it began.
pub(crate) struct SharedWait {
    /// How many have left: nothing calls them from then on, but calls may still run.
    left: Atomic<u64>,
    /// Of how many of these, in their order, no call runs any more.
    ended: Atomic<u64>,
}

impl SharedWait {
    /// Returns one that nothing has waited for.
    pub(crate) const fn new() -> Self {
        Self {
            left: Atomic::new(0),
            ended: Atomic::new(0),
        }
    }

    /// Counts one that has left, and returns its number.
    pub(crate) fn leave(&self) -> u64 {
        // Full: who counts this one waits for it.
        self.left.fetch_add(1, Full).wrapping_add(1)
    }

    /// Returns when no call of the one of this number runs any more. `wait` returns when those have ended that run
    /// when it is called; it is not called if that was waited for already. Sleeps.
    pub(crate) fn pass(&self, number: u64, wait: impl FnOnce()) {
        // Acquire: pairs with the exchange below, after which none of these is called.
        if self.ended.load(Acquire) >= number {
            return;
        }
        let all = self.left.load(Acquire);
        wait();
        let mut ended = self.ended.load(Relaxed);
        while ended < all {
            match self.ended.cmpxchg(ended, all, Full) {
                Ok(_) => return,
                Err(other) => ended = other,
            }
        }
    }
}
