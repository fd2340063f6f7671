// SPDX-License-Identifier: GPL-2.0

//! The one number, or the one string, that can make a filter discard a record.
//!
//! A filter discards most of the records that it sees, and mostly because of its first predicate.
//! When that compares a number of the event itself, the writer that has filled the record can test
//! it before anything else is done. For most filters nothing else is done at all: they compare one
//! number. A string that is in the record is tested before the rest of the filter is asked, too.

use super::{
    fetch::{
        Fetch,
        StoredField, //
    },
    needle::Needle,
    predicate::Test,
    program::{
        part,
        Node,
        ACCEPT,
        REJECT, //
    },
    range::Range, //
};
use crate::event::field_type::{
    FieldType,
    Location, //
};

/// Bytes of the word that a number is read with: the field is its last bytes.
const WORD: usize = 8;

/// A condition on one number; the filter discards every record that does not meet it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    /// Where in the record the word begins that the number is read with.
    pub(crate) offset: usize,
    /// The values that pass, of this word read as little-endian.
    pub(crate) range: Range,
    /// Whether the filter keeps every record that passes here.
    pub(crate) alone: bool,
}

impl Gate {
    /// Returns the gate of a program, if it has one. `own` is the range of the event's own
    /// bytes that every record has.
    pub(crate) fn new(nodes: &[Node], own: core::ops::Range<usize>) -> Option<Self> {
        let first = nodes.first()?;
        let Test::Number {
            offset,
            size,
            range,
        } = first.test
        else {
            return None;
        };
        let start = offset as usize;
        let end = start.checked_add(size as usize)?;
        if start < own.start || end > own.end {
            return None;
        }
        let (range, passed) = match (first.yes, first.no) {
            (passed, REJECT) => (range, passed),
            (REJECT, passed) => (range.others(), passed),
            _ => return None,
        };
        Some(Self {
            offset: end.checked_sub(WORD)?,
            range,
            alone: passed == ACCEPT,
        })
    }
}

/// A condition on one string of the record; the filter discards every record that does not meet it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextGate {
    field: StoredField,
    needle: Needle,
    /// Where the pattern is in the filter's text.
    start: u16,
    len: u16,
    /// Whether the strings that match are those that pass.
    wanted: bool,
    /// Whether the filter keeps every record that passes here.
    pub(crate) alone: bool,
}

impl TextGate {
    /// Returns that of a program, if its first predicate is about a string in the event's own bytes
    /// and decides.
    pub(crate) fn new(nodes: &[Node]) -> Option<Self> {
        let first = nodes.first()?;
        let Test::Text {
            of: of @ Fetch::Field(field),
            needle,
            start,
            len,
            not,
        } = first.test
        else {
            return None;
        };
        if !of.is_in_record() {
            return None;
        }
        let (wanted, passed) = match (first.yes, first.no) {
            (passed, REJECT) => (!not, passed),
            (REJECT, passed) => (not, passed),
            _ => return None,
        };
        Some(Self {
            field,
            needle,
            start,
            len,
            wanted,
            alone: passed == ACCEPT,
        })
    }

    /// Returns whether a record passes. `text` is that of the filter. Any context.
    #[inline(always)]
    pub(crate) fn passes(&self, text: &[u8], record: &[u8]) -> bool {
        let StoredField { ty, offset, size } = self.field;
        let string = match ty {
            // The most frequent type, so that it is not looked for among others.
            FieldType::Chars => Location::Inline.bytes(record, offset, size),
            ty => ty.location().bytes(record, offset, size),
        };
        // One that is not inside the record is an empty one.
        let string = string.unwrap_or(&[]);
        let pattern = part(text, self.start, self.len);
        self.needle.matches(pattern, string) == self.wanted
    }
}
