// SPDX-License-Identifier: GPL-2.0

//! The one number that can make a filter discard a record.
//!
//! A filter discards most of the records that it sees, and mostly because of its first predicate.
//! When that compares a number of the event itself, the writer that has filled the record can test
//! it before anything else is done. For most filters nothing else is done at all: they compare one
//! number.

use super::{
    predicate::Test,
    program::{
        Node,
        ACCEPT,
        REJECT, //
    },
    range::Range, //
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
