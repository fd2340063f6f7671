// SPDX-License-Identifier: GPL-2.0

//! The editing of a selection: a file that is open for writing edits a copy, which counts from when the file
//! is closed. Process context.

use super::{
    filter::FunctionFilter,
    list::{
        self,
        Functions, //
    },
    selections::{
        FilterKind,
        SelectedFunctions, //
    }, //
};
use crate::{
    functions::{
        marks,
        words::FilterWord, //
    },
    kapi::{
        c,
        sort, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Lets other tasks run.
fn breathe() {
    c::rt_cond_resched();
}

/// A selection that is being edited.
pub(crate) struct Edit {
    pub(super) kind: FilterKind,
    lines: Option<Lines>,
}

/// Marks in a list of functions.
struct Lines {
    functions: Arc<Functions>,
    marks: KVVec<u64>,
}

impl Lines {
    /// Returns marks of no function.
    fn none() -> Result<Self> {
        let functions = list::current()?;
        let words = marks::words(functions.list().len());
        Ok(Self {
            marks: KVVec::from_elem(0, words, GFP_KERNEL)?,
            functions,
        })
    }

    /// Returns marks of the functions at `addresses`, which are in ascending order.
    fn of(addresses: &[u64]) -> Result<Self> {
        let mut lines = Self::none()?;
        for (at, function) in lines.functions.list().iter().enumerate() {
            if addresses.binary_search(&function.address).is_ok() {
                marks::put(&mut lines.marks, at, true);
            }
        }
        Ok(lines)
    }

    /// Returns the addresses that are marked, in ascending order.
    fn addresses(&self) -> Result<KVVec<u64>> {
        let mut addresses = KVVec::new();
        let list = self.functions.list();
        for function in marks::iter(&self.marks).filter_map(|at| list.get(at)) {
            addresses.push(function.address, GFP_KERNEL)?;
        }
        sort::ascending(&mut addresses);
        Ok(addresses)
    }
}

impl Edit {
    /// Begins with nothing selected.
    pub(crate) fn empty(kind: FilterKind) -> Self {
        Self { kind, lines: None }
    }

    /// Begins with what `filter` has.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of [`list::current`].
    pub(crate) fn of(filter: &FunctionFilter, kind: FilterKind) -> Result<Self> {
        let lines = match filter.selections.lock().of(kind) {
            Some(selection) => Some(Lines::of(selection)?),
            None => None,
        };
        Ok(Self { kind, lines })
    }

    /// Obeys a word. Returns whether it selects any function.
    ///
    /// # Errors
    ///
    /// `EINVAL` for one that is wrong, `ENOMEM`, and those of [`list::current`].
    pub(crate) fn obey(&mut self, word: &[u8]) -> Result<bool> {
        let word = FilterWord::parse(word).map_err(|_| EINVAL)?;
        if self.kind.is_of_calls() && !word.selection.is_plain() {
            return Err(EINVAL);
        }
        let lines = match self.lines.take() {
            Some(lines) => lines,
            None => Lines::none()?,
        };
        let Lines { functions, marks } = self.lines.insert(lines);
        let before = marks::count(marks);
        let any = marks::obey(marks, functions.list(), &word, breathe);
        // Of calls, a word that takes nothing out is wrong.
        let wrong = word.removes && self.kind.is_of_calls() && marks::count(marks) == before;
        Ok(any && !wrong)
    }

    /// Returns which selection is edited.
    pub(crate) fn kind(&self) -> FilterKind {
        self.kind
    }

    /// Returns the addresses that are selected.
    pub(super) fn into_selection(self) -> Result<SelectedFunctions> {
        let Some(lines) = self.lines else {
            return Ok(None);
        };
        if marks::is_empty(&lines.marks) {
            return Ok(None);
        }
        let addresses = lines.addresses()?;
        if list::is_current(&lines.functions) {
            return Ok(Some(addresses));
        }
        Ok(Some(Lines::of(&addresses)?.addresses()?))
    }
}
