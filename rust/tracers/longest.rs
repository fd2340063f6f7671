// SPDX-License-Identifier: GPL-2.0

//! The trace of the longest latency: kept in the bank that is not live, by exchanging the banks when the latency has
//! ended. When they cannot be exchanged yet, since writers may still be in the other bank after the last exchange, the
//! worker of the instance or the next latency that ends does it, and the times of the latency tell its records from
//! later ones.

use super::KeptMaximum;
use crate::{
    latency::maximum::Maximum,
    probes::Sink, //
};

/// The longest latency of an instance. Under a lock with interrupts disabled.
pub(super) struct LongestTrace {
    /// The longest latency, while its records are in the live bank.
    waiting: Option<Maximum>,
    /// The latency whose records are in the other bank.
    kept: Option<KeptMaximum>,
}

impl LongestTrace {
    /// Returns that of no latency.
    pub(super) const fn new() -> Self {
        Self {
            waiting: None,
            kept: None,
        }
    }

    /// Has this latency wait for an exchange of the banks.
    pub(super) fn offer(&mut self, maximum: Maximum) {
        self.waiting = Some(maximum);
    }

    /// Returns whether a latency waits.
    pub(super) fn waits(&self) -> bool {
        self.waiting.is_some()
    }

    /// Forgets the latency that waits.
    pub(super) fn forget_waiting(&mut self) {
        self.waiting = None;
    }

    /// Returns the latency whose records are in the other bank.
    pub(super) fn kept(&self) -> Option<KeptMaximum> {
        self.kept
    }

    /// Exchanges the banks for a latency that waits for that, if they may be. Returns whether they were.
    pub(super) fn keep(&mut self, sink: &Sink) -> bool {
        let Some(maximum) = self.waiting else {
            return false;
        };
        let Some(bank) = sink.buffers().try_exchange() else {
            return false;
        };
        self.kept = Some(KeptMaximum { bank, maximum });
        self.waiting = None;
        true
    }
}
