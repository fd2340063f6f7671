// SPDX-License-Identifier: GPL-2.0

//! A record that is made of parts: the bytes of all fields, and one part for each dynamic field, which come after them.
//!
//! Nothing panics, whatever the lengths are.

use super::field::{
    DynamicPlace,
    UserField, //
};

/// A field whose bytes come after those of all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DynamicField {
    /// Of the word that says where its bytes are.
    offset: usize,
    /// Where bytes would be of which that word says 0.
    base: usize,
    /// Whether it is a string, which ends with a NUL.
    has_chars: bool,
}

impl DynamicField {
    /// Returns that of `field`; `None` if it is not dynamic.
    pub(crate) fn of(field: &UserField, text: &str) -> Option<Self> {
        let offset = field.offset as usize;
        let base = match field.dynamic(text)? {
            DynamicPlace::FromStart => 0,
            DynamicPlace::FromWord => offset.saturating_add(field.size as usize),
        };
        Some(Self {
            offset,
            base,
            has_chars: field.has_chars(text),
        })
    }

    /// Returns the bytes that `part` takes in a record.
    #[inline(always)]
    pub(crate) fn len(&self, part: &[u8]) -> usize {
        part.len().saturating_add(usize::from(self.has_chars))
    }

    /// Writes `part` at `at` of a record of at most 64 KiB, which has the common fields, and says in the word where it is.
    /// Returns where the next part comes.
    #[inline(always)]
    pub(crate) fn write(&self, record: &mut [u8], at: usize, part: &[u8]) -> usize {
        let len = self.len(part);
        let end = at.saturating_add(len);
        let room = record.get_mut(at..end);
        if let Some((bytes, nul)) = room.and_then(|room| room.split_at_mut_checked(part.len())) {
            bytes.copy_from_slice(part);
            nul.fill(0);
        }
        let word = ((len << 16) | at.saturating_sub(self.base)) as u32;
        if let Some(place) = record.get_mut(self.offset..self.offset.wrapping_add(4)) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        end
    }
}
