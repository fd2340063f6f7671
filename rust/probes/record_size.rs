// SPDX-License-Identifier: GPL-2.0

//! The size of a record that begins with the common fields.

use super::COMMON;
use crate::ring::packed::PackedSize;

/// A size of [`COMMON`] bytes or more.
///
/// # Invariants
///
/// It is.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct RecordSize(PackedSize);

impl RecordSize {
    /// Returns the size that `word` is.
    ///
    /// # Safety
    ///
    /// The word is what [`PackedSize::new`] makes of [`COMMON`] bytes or more.
    #[inline(always)]
    pub(super) unsafe fn from_word(word: u64) -> Self {
        const _: () = assert!(
            COMMON == 8,
            "rt_size() in shim/events.h makes sizes of more"
        );
        // INVARIANT: The caller promises the size.
        // SAFETY: The caller promises that the word is one of `PackedSize::new`.
        Self(unsafe { PackedSize::from_word(word) })
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
