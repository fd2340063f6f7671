// SPDX-License-Identifier: GPL-2.0

//! What the running kernel says of itself.

use super::c;
use core::fmt;
use kernel::prelude::*;

/// A function of C that says something in words.
///
/// # Invariants
///
/// It returns null, or a terminated string that stays and does not change.
struct Constant(extern "C" fn() -> *const c_char);

// INVARIANT: The kernel's own name is set while it is linked.
const RELEASE: Constant = Constant(c::rt_release);
// INVARIANT: They choose between constants of the shim and of the kernel.
const KIND: Constant = Constant(c::rt_preemption_kind);
const MODE: Constant = Constant(c::rt_preemption_mode);

impl Constant {
    /// Returns the words; none when there is no string.
    fn get(&self) -> &'static str {
        let string = self.0();
        if string.is_null() {
            return "";
        }
        // SAFETY: It is a terminated string that stays and does not change (invariant).
        unsafe { CStr::from_char_ptr(string) }
            .to_str()
            .unwrap_or_default()
    }
}

/// Returns the kernel's release.
pub(crate) fn release() -> &'static str {
    RELEASE.get()
}

/// The kind of a kernel whose soft interrupts and locks can be preempted.
const REALTIME: &str = "PREEMPT_RT";

/// When the kernel takes the CPU from a task, as `uname -v` says it.
pub(crate) struct Preemption;

impl fmt::Display for Preemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (KIND.get(), MODE.get()) {
            (kind, "") => f.write_str(kind),
            (REALTIME, mode) => write!(f, "PREEMPT_{{RT,{mode}}}"),
            (kind, mode) => write!(f, "{kind}{mode}"),
        }
    }
}
