// SPDX-License-Identifier: GPL-2.0

//! Counts the users of an instance and ends it: one word, and the order of a removal.
//!
//! Nothing here knows what an instance is. tools/ringtest (`races`) runs this source with every
//! interleaving of tasks that open, close and remove an instance.

use crate::ring::port::SharedWord;

/// Set for good when the instance ends. The lower bits count its users.
const ENDED: u64 = 1 << 63;

/// Why a user could not enter or the instance could not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The instance has users.
    InUse,
    /// The instance has ended.
    Gone,
}

/// Number of users of an instance, or that it has ended.
pub(crate) struct Life<W>(W);

impl<W: SharedWord> Life<W> {
    /// Returns the state of a new instance: no users.
    pub(crate) fn new() -> Self {
        Self(W::new(0))
    }

    /// Adds a user: the instance does not end before [`Self::leave`].
    ///
    /// # Errors
    ///
    /// `Gone` if the instance has ended.
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

    /// Removes a user. Called once for each [`Self::enter`] that succeeded.
    pub(crate) fn leave(&self) {
        loop {
            let old = self.0.load();
            // Fully ordered: what the user did happens before what follows the end.
            if self.0.cas(old, old.wrapping_sub(1)) {
                return;
            }
        }
    }

    /// Returns whether the instance has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.load() & ENDED != 0
    }

    /// Ends the instance: no user can enter from now on.
    ///
    /// # Errors
    ///
    /// `InUse` while it has users, `Gone` if it has ended.
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

    /// Ends the instance, then calls `off` to detach its probes, then `unlist` to take it off the
    /// list.
    ///
    /// Only a user enables events, so the probes stay off. The unloading of a module disables the
    /// module's events in all instances on the list: while a probe of an instance is on, the
    /// instance is listed.
    ///
    /// # Errors
    ///
    /// `InUse` while it has users, `Gone` if it has ended. Nothing has changed then.
    pub(crate) fn remove(&self, off: impl FnOnce(), unlist: impl FnOnce()) -> Result<(), Refusal> {
        self.end()?;
        off();
        unlist();
        Ok(())
    }
}
