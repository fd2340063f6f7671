// SPDX-License-Identifier: GPL-2.0

//! Interrupts of this CPU.

use super::c;

/// Runs `f` with interrupts disabled; an NMI may still come. Any context. Nothing here can be traced.
pub(crate) fn disabled<R>(f: impl FnOnce() -> R) -> R {
    let flags = c::rt_irqs_off();
    let result = f();
    // SAFETY: The flags are those that were read on this CPU just now, which `f` cannot have left with
    // interrupts disabled.
    unsafe { c::rt_irqs_restore(flags) };
    result
}
