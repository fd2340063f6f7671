// SPDX-License-Identifier: GPL-2.0

//! Counts modules whose events have come, so that a word of `set_event` does not wait for one of them.
//!
//! Nothing here knows what a module is. tools/ringtest (`arriving`) runs this source with every interleaving of a user
//! that writes a word, the module that the word names and another one.

use crate::ring::port::SharedWord;

/// Number of the modules that have come.
pub(crate) struct Arrivals<W>(W);

impl<W: SharedWord> Arrivals<W> {
    /// Returns the count that `word` has, which holds 0.
    pub(crate) const fn of(word: W) -> Self {
        Self(word)
    }

    /// Counts a module whose events are there. Called before what waits for them is looked for.
    pub(crate) fn count(&self) {
        loop {
            let old = self.0.load();
            // Fully ordered: a user that sees the number sees the events.
            if self.0.cas(old, old.wrapping_add(1)) {
                return;
            }
        }
    }

    /// Calls `obey` and, when that finds no event, `wait`, which adds what waits for a module. The module may have come
    /// between the two and found nothing that waits: if one has come, `end_wait` takes back what was added, unless it
    /// returns that this does not wait any more, and all begins anew. `wait` and `end_wait` lock what modules look for.
    ///
    /// # Errors
    ///
    /// Those of `obey` and `wait`: nothing waits.
    pub(crate) fn obey_or_wait<E>(
        &self,
        obey: impl Fn() -> Result<bool, E>,
        wait: impl Fn() -> Result<(), E>,
        end_wait: impl Fn() -> bool,
    ) -> Result<(), E> {
        loop {
            // Acquire: pairs with the step in `count`. The events of what was counted by then are seen by `obey`.
            let before = self.0.load_acquire();
            if obey()? {
                return Ok(());
            }
            wait()?;
            // Of one that looked before `wait` had the lock, the number is seen here.
            if self.0.load() == before || !end_wait() {
                return Ok(());
            }
        }
    }
}
