// SPDX-License-Identifier: GPL-2.0

//! Which number alone makes a filter throw a record away?
//!
//! Most of what a filter is asked about it does not let through, and mostly because of the first thing that
//! it looks at. When that is a number of the event itself, whoever has filled the record can ask about it
//! before anything else is done, and nothing else at all is done for most filters: they are one number.

use super::{
    predicate::Test,
    program::{
        Node,
        ACCEPT,
        REJECT, //
    },
    range::Range, //
};

/// Bytes of a number as it is read: the last ones are the field.
const WORD: usize = 8;

/// What a number has to be, or the filter does not let the record through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    /// Where the word begins that the number is read with.
    pub(crate) offset: usize,
    /// What this word has to be, little-endian.
    pub(crate) range: Range,
    /// The filter lets everything through that goes through here.
    pub(crate) alone: bool,
}

impl Gate {
    /// That of a program, if it has one, for records whose own bytes are in any case those of `own`.
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
