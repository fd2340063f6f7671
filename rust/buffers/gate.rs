// SPDX-License-Identifier: GPL-2.0

//! When writers may exchange the banks themselves.
//!
//! Usually the banks are exchanged under the lock of the shape, which a writer cannot take. A tracer that keeps the
//! trace of the longest latency has to exchange them at once, in any context. While its gate is open, the bank that is
//! not live has no writer and no user that holds the lock of the shape; one writer passes the gate, and exchanges the
//! banks. Then the gate stays shut until all writers have left the bank that was live:
//!
//! ```text
//!            unlocks             passes             exchanged
//!   Closed ----------> Open ----------------> Passing ----------> Passed
//!     ^                  |  a writer                                 |
//!     |     locks        |                                           |
//!     +------------------+-------------------------------------------+
//!                                          locks, and waits for writers
//! ```
//!
//! A task that locks the shape closes the gate first, and opens it when it unlocks, so all that is done under that lock
//! finds the banks as if there were no gate. tools/ringtest runs this source with every order of the steps.

use crate::ring::port::SharedWord;

/// The states of a gate.
const CLOSED: u64 = 0;
const OPEN: u64 = 1;
const PASSING: u64 = 2;
const PASSED: u64 = 3;

/// What a task finds that closes the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateClosure {
    /// It is closed, and the bank that is not live has no writer.
    Closed,
    /// A writer is exchanging the banks on another CPU: the task tries again at once.
    Again,
    /// The banks were exchanged; writers may still be in the one that was live. The task waits for them, and has it
    /// closed by [`ExchangeGate::settled`].
    Passed,
}

/// The gate.
pub(crate) struct ExchangeGate<W>(W);

impl<W: SharedWord> ExchangeGate<W> {
    /// Returns one that is closed.
    pub(crate) fn new() -> Self {
        Self(W::new(CLOSED))
    }

    /// Passes the gate if it is open: has `exchange` called, which exchanges the banks. Returns whether it was. Any
    /// context with preemption disabled.
    pub(crate) fn pass(&self, exchange: impl FnOnce()) -> bool {
        if self.0.load() != OPEN || !self.0.cas(OPEN, PASSING) {
            return false;
        }
        exchange();
        // Release: pairs with the load in `close`. Who sees it sees the banks exchanged.
        self.0.store_release(PASSED);
        true
    }

    /// Closes the gate. The caller has the lock of the shape.
    pub(crate) fn close(&self) -> GateClosure {
        match self.0.load_acquire() {
            CLOSED => GateClosure::Closed,
            PASSED => GateClosure::Passed,
            OPEN if self.0.cas(OPEN, CLOSED) => GateClosure::Closed,
            _ => GateClosure::Again,
        }
    }

    /// Learns that the writers have left that were in the bank which was live before the gate was passed. The caller
    /// has the lock of the shape, and found [`GateClosure::Passed`].
    pub(crate) fn settled(&self) {
        self.0.store_release(CLOSED);
    }

    /// Opens the gate. The caller has the lock of the shape, and closed the gate.
    pub(crate) fn open(&self) {
        // Release: pairs with the exchange in `pass`. Who passes sees what was done to the banks.
        self.0.store_release(OPEN);
    }
}
