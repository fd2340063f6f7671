// SPDX-License-Identifier: GPL-2.0

//! Addresses in our own code that end up in records.

use super::c;

/// The address that a marker's record carries. Its symbol is `tracing_mark_write`, the name that
/// programs look for in front of a marker.
pub(crate) fn marker_address() -> usize {
    // SAFETY: No pointers are involved.
    unsafe { c::tracing_mark_write() }
}
