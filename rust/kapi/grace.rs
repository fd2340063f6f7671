// SPDX-License-Identifier: GPL-2.0

//! Waiting until nobody is inside any more.

use kernel::bindings;

/// Returns when every stretch of code that ran with preemption or interrupts disabled, or in an
/// interrupt or NMI, when this was called has ended: every writer of a ring. Sleeps.
pub(crate) fn writers_left() {
    // SAFETY: Process context, no lock of ours is taken by writers.
    unsafe { bindings::synchronize_rcu() };
}
