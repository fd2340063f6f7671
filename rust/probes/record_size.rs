// SPDX-License-Identifier: GPL-2.0

//! The size of a record that begins with the common fields.

use super::COMMON;
use crate::ring::packed::PackedSize;

/// A size of [`COMMON`] bytes or more. C makes the same word by `rt_size()` of shim/events.h.
///
/// # Invariants
///
/// It is.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct RecordSize(PackedSize);

impl RecordSize {
    /// Returns that of `len` bytes, or of [`COMMON`] if that is more, after their number.
    #[inline(always)]
    pub(crate) fn with_len(len: usize) -> (usize, Self) {
        let len = len.max(COMMON);
        // INVARIANT: It is not less.
        (len, Self(PackedSize::new(len)))
    }

    /// Returns the same size as one of a record, which a probe had reserved with one.
    ///
    /// # Safety
    ///
    /// It is one of [`COMMON`] bytes or more.
    #[inline(always)]
    pub(super) unsafe fn of_record(size: PackedSize) -> Self {
        // INVARIANT: The caller promises the size.
        Self(size)
    }
}

impl From<RecordSize> for PackedSize {
    #[inline(always)]
    fn from(size: RecordSize) -> Self {
        size.0
    }
}
