// SPDX-License-Identifier: GPL-2.0

//! On which kernel are we?

use super::c;
use core::fmt;
use kernel::prelude::*;

/// The kernel's release.
pub(crate) fn release() -> &'static str {
    // SAFETY: A string of the kernel that does not change while it runs.
    unsafe { text(c::rt_release()) }
}

/// When the kernel takes the CPU from a task, as `uname -v` says it.
pub(crate) struct Preemption;

impl fmt::Display for Preemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: Constants.
        let (kind, mode) =
            unsafe { (text(c::rt_preemption_kind()), text(c::rt_preemption_mode())) };
        match mode {
            "" => f.write_str(kind),
            mode => write!(f, "{kind}({mode})"),
        }
    }
}

/// A string of C; empty when there is none.
///
/// # Safety
///
/// `string` is null, or valid and terminated for ever.
unsafe fn text(string: *const c_char) -> &'static str {
    if string.is_null() {
        return "";
    }
    // SAFETY: By the contract.
    unsafe { CStr::from_char_ptr(string) }
        .to_str()
        .unwrap_or_default()
}
