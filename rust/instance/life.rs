// SPDX-License-Identifier: GPL-2.0

//! Who may use an instance, and how it ends: one word, and the order of a removal.
//!
//! Nothing here knows what an instance is. tools/ringtest (`races`) runs this source with every
//! interleaving of those who open, close and remove.

use crate::ring::port::SharedWord;

/// Set for good when the instance ends. The bits below count its users.
const ENDED: u64 = 1 << 63;

/// Why a step was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It has users.
    InUse,
    /// It has ended.
    Gone,
}

/// The users of an instance, while there may be any.
pub(crate) struct Life<W>(W);

impl<W: SharedWord> Life<W> {
    /// Of an instance that nobody uses.
    pub(crate) fn new() -> Self {
        Self(W::new(0))
    }

    /// One user more: the instance does not end before [`Self::leave`].
    ///
    /// # Errors
    ///
    /// `Gone`.
    pub(crate) fn enter(&self) -> Result<(), Refusal> {
        loop {
            let old = self.0.load();
            if old & ENDED != 0 {
                return Err(Refusal::Gone);
            }
            if self.0.cas(old, old.wrapping_add(1)) {
                return Ok(());
            }
        }
    }

    /// One user less. To be called once for each [`Self::enter`] that succeeded.
    pub(crate) fn leave(&self) {
        loop {
            let old = self.0.load();
            // Fully ordered: what the user did comes before what follows the end.
            if self.0.cas(old, old.wrapping_sub(1)) {
                return;
            }
        }
    }

    /// No user from now on.
    fn end(&self) -> Result<(), Refusal> {
        loop {
            match self.0.load() {
                0 if self.0.cas(0, ENDED) => return Ok(()),
                0 => {}
                old if old & ENDED != 0 => return Err(Refusal::Gone),
                _ => return Err(Refusal::InUse),
            }
        }
    }

    /// Ends the instance, then switches its probes `off`, then takes it off the list.
    ///
    /// Nobody enables an event without being a user, so the probes stay off. Whoever takes an event
    /// away from all instances finds them on the list: while a probe is on, its instance is there.
    ///
    /// # Errors
    ///
    /// `InUse` and `Gone`; nothing has changed then.
    pub(crate) fn remove(&self, off: impl FnOnce(), unlist: impl FnOnce()) -> Result<(), Refusal> {
        self.end()?;
        off();
        unlist();
        Ok(())
    }
}
