// SPDX-License-Identifier: GPL-2.0

//! Waiting until all writers that may have seen something are done.

use kernel::sync::rcu;

/// Returns when every stretch of code that ran with preemption or interrupts disabled, or in an
/// interrupt or NMI, when this was called has ended: every writer of a ring. Process context with no
/// lock that writers take; sleeps.
pub(crate) fn writers_left() {
    rcu::synchronize_rcu();
}
