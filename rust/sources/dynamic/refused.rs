// SPDX-License-Identifier: GPL-2.0

//! Lines that are refused, and what `error_log` says of them.

use crate::{
    fetch::command::LineWord,
    probes::Filter, //
};
use kernel::prelude::*;

/// An entry for `error_log`.
pub(crate) struct LineError {
    pub(crate) author: &'static str,
    pub(crate) error: &'static str,
    /// Offset of the caret in the command.
    pub(crate) at: usize,
    /// Offset of the command in the line.
    pub(crate) from: usize,
}

/// Why a line is refused.
pub(crate) struct RefusedLine {
    pub(crate) error: Error,
    /// At most two, in their order.
    pub(crate) entries: [Option<LineError>; 2],
}

impl From<Error> for RefusedLine {
    fn from(error: Error) -> Self {
        let entries = [None, None];
        Self { error, entries }
    }
}

impl RefusedLine {
    /// Returns one with an entry.
    pub(super) fn new(error: Error, author: &'static str, text: &'static str, at: usize) -> Self {
        let entry = LineError {
            author,
            error: text,
            at,
            from: 0,
        };
        Self {
            error,
            entries: [None, Some(entry)],
        }
    }

    /// Returns one of a line with the filter `condition`, in which this is wrong at that place.
    pub(in crate::sources) fn of_filter(
        (text, at): (&'static str, usize),
        condition: LineWord<'_>,
    ) -> Self {
        Self::new(EINVAL, Filter::AUTHOR, text, at).of_part(condition.at)
    }

    /// Returns the same with the entry of `first` before its own.
    pub(super) fn after(mut self, first: Self) -> Self {
        let [_, entry] = first.entries;
        let [place, _] = &mut self.entries;
        *place = entry;
        self
    }

    /// Returns the same with other places of carets, but for those in a part of the line.
    pub(super) fn with_places(mut self, place: impl Fn(usize) -> usize) -> Self {
        let entries = self.entries.iter_mut().flatten();
        let whole = entries.filter(|entry| entry.from == 0);
        whole.for_each(|entry| entry.at = place(entry.at));
        self
    }

    /// Returns the same for a command that is the part of the line from `from` on.
    pub(super) fn of_part(mut self, from: usize) -> Self {
        let entries = self.entries.iter_mut().flatten();
        entries.for_each(|entry| entry.from = from);
        self
    }
}
