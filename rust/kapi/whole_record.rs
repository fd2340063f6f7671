// SPDX-License-Identifier: GPL-2.0

//! Bytes that are all of a record.
//!
//! What prints an event follows offsets in its record to strings and arrays of it. They lie inside a record that
//! is whole as its writer has committed it, and anywhere in other bytes.

use core::ops::Deref;
use kernel::prelude::*;

/// The bytes of a record.
///
/// # Invariants
///
/// A writer of this module committed them to a ring, as one record.
#[derive(Clone, Copy)]
pub(crate) struct WholeRecord<'a>(&'a [u8]);

impl<'a> WholeRecord<'a> {
    /// Returns one of these bytes.
    ///
    /// # Safety
    ///
    /// They are the payload of an event that a decoder has found in the committed part of a sub-buffer, or in a copy
    /// of that.
    pub(crate) unsafe fn found(bytes: &'a [u8]) -> Self {
        // INVARIANT: The caller promises that; writers commit whole events.
        Self(bytes)
    }

    /// Returns its bytes.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.0
    }
}

impl Deref for WholeRecord<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0
    }
}

/// Room for the copy of a record.
///
/// # Invariants
///
/// It is empty, or has the bytes of a [`WholeRecord`].
#[derive(Default)]
pub(crate) struct RecordCopy(KVVec<u8>);

impl RecordCopy {
    /// Returns one that is empty.
    pub(crate) const fn new() -> Self {
        Self(KVVec::new())
    }

    /// Keeps `record` instead of the one before.
    ///
    /// # Errors
    ///
    /// `ENOMEM`: it is empty.
    pub(crate) fn keep(&mut self, record: WholeRecord<'_>) -> Result {
        self.0.clear();
        // INVARIANT: All of it, or nothing: the room is made before.
        self.0.extend_from_slice(record.bytes(), GFP_KERNEL)?;
        Ok(())
    }

    /// Returns the record, if there is one.
    pub(crate) fn record(&self) -> Option<WholeRecord<'_>> {
        // INVARIANT: The bytes are those of one, unless there are none.
        (!self.0.is_empty()).then_some(WholeRecord(&self.0))
    }
}
