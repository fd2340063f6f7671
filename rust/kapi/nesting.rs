// SPDX-License-Identifier: GPL-2.0

//! How deep writers are inside each other that record what other events lead to: such an event may lead to
//! itself.
//!
//! Each CPU counts for itself. A writer that interrupts another counts on, and has left before that goes on.

use super::{
    c::rt_nesting,
    own_word::own_word,
    percpu::CpuPin, //
};
use core::arch::asm;
use kernel::types::NotThreadSafe;

/// Most writers inside each other on a CPU, as many as ftrace has.
const MOST: u64 = 4;

/// A writer that is counted until [`Self::leave`].
#[must_use = "the writer is counted for ever"]
pub(crate) struct NestedCount(NotThreadSafe);

impl NestedCount {
    /// Counts one more on this CPU; nothing when there are too many. Any context.
    #[inline(always)]
    pub(crate) fn enter(_: &CpuPin) -> Option<Self> {
        // SAFETY: It compares and increments the count of this CPU, where the caller stays, a per-CPU variable of ours
        // of eight bytes. Writers that come in between the two have left.
        unsafe {
            asm!(
                concat!("cmp ", own_word!(), ", {MOST}"),
                "jae {many}",
                concat!("inc ", own_word!()),
                own = sym rt_nesting,
                MOST = const MOST,
                many = label { return None },
                options(nostack)
            );
        }
        Some(Self(NotThreadSafe))
    }

    /// Counts it no longer, on the CPU where it was counted: the caller has stayed there.
    #[inline(always)]
    pub(crate) fn leave(self, _: &CpuPin) {
        // SAFETY: It decrements the count of this CPU, a per-CPU variable of ours of eight bytes. Writers that came in
        // between have left.
        unsafe {
            asm!(concat!("dec ", own_word!()), own = sym rt_nesting, options(nostack));
        }
    }
}

/// A writer that is counted as long as this is.
#[must_use = "the writer is counted no longer"]
pub(crate) struct NestedWriter<'p>(&'p CpuPin);

impl<'p> NestedWriter<'p> {
    /// Counts one more on this CPU; nothing when there are too many. Any context.
    #[inline(always)]
    pub(crate) fn enter(pin: &'p CpuPin) -> Option<Self> {
        // `drop` ends it.
        NestedCount::enter(pin).map(|_| Self(pin))
    }
}

impl Drop for NestedWriter<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        NestedCount(NotThreadSafe).leave(self.0);
    }
}
