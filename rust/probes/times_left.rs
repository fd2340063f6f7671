// SPDX-License-Identifier: GPL-2.0

//! Counts how often a command of a function will still act: one word, which hooks count down and its owner sets to none.
//!
//! Nothing here knows what a command does. tools/ringtest (`takers`) runs this source with every interleaving of
//! hooks on other CPUs and the task that takes the command away.

use crate::{
    functions::commands::{
        CommandKind,
        ENDLESS, //
    },
    ring::port::SharedWord, //
};

/// How often a command of a function will still act, an `i64`.
pub(crate) struct TimesLeft<W>(W);

impl<W: SharedWord> TimesLeft<W> {
    /// Returns that of one that acts `left` times.
    pub(crate) fn new(left: i64) -> Self {
        Self(W::new(left as u64))
    }

    /// Returns how often it will still act.
    #[inline(always)]
    pub(crate) fn get(&self) -> i64 {
        self.0.load() as i64
    }

    /// Has it never act again.
    pub(crate) fn clear(&self) {
        self.0.store(0);
    }

    /// Takes one of the times that are left to a command of this `kind`. Returns false when none is left.
    pub(crate) fn take(&self, kind: CommandKind) -> bool {
        loop {
            // What is judged is what is taken from: between two loads another hook may have had the last one.
            let left = self.get();
            if !kind.acts_with(left) {
                return false;
            }
            if left == ENDLESS || self.0.cas(left as u64, left.wrapping_sub(1) as u64) {
                return true;
            }
        }
    }
}
