// SPDX-License-Identifier: GPL-2.0

//! Whether what a program wrote is a record of an event: its dynamic fields lie inside it, and strings end with a
//! NUL.
//!
//! Nothing panics, whatever the bytes are.

use super::field::{
    DynamicPlace,
    UserField, //
};
use crate::event::{
    field::COMMON_SIZE,
    field_type::{
        number,
        part, //
    }, //
};

/// What a dynamic field of a record must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DynamicRule {
    offset: u32,
    place: DynamicPlace,
    has_chars: bool,
}

impl DynamicRule {
    /// Returns that of `field`; `None` if it is not dynamic.
    pub(crate) fn of(field: &UserField, text: &str) -> Option<Self> {
        let place = field.dynamic(text)?;
        Some(Self {
            offset: field.offset,
            place,
            has_chars: field.has_chars(text),
        })
    }

    /// Returns whether `record`, which has the common fields, obeys. The byte before the end of a string is a NUL,
    /// also that of an empty one, as in the kernel.
    fn holds(&self, record: &[u8]) -> bool {
        let Some(word) = part(record, self.offset, 4) else {
            return false;
        };
        let word = number(word) as u32;
        let base = match self.place {
            DynamicPlace::FromStart => 0,
            DynamicPlace::FromWord => self.offset.saturating_add(4),
        };
        let end = base
            .saturating_add(word & 0xffff)
            .saturating_add(word >> 16) as usize;
        let last = end.checked_sub(1).and_then(|last| record.get(last));
        match self.has_chars {
            true => last == Some(&0),
            false => end <= record.len(),
        }
    }
}

/// Returns whether `record`, which has the common fields, obeys all of `rules`.
pub(crate) fn is_valid(rules: &[DynamicRule], record: &[u8]) -> bool {
    rules.iter().all(|rule| rule.holds(record))
}

/// Returns the fewest bytes that a program writes after the index.
pub(crate) fn least(fields: &[UserField]) -> usize {
    super::field::end_of(fields.last()).saturating_sub(COMMON_SIZE) as usize
}
