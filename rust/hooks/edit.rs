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
    /// Functions were selected that went with their module: where no others are, that is nothing, and not everything.
    has_lost: bool,
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

    /// Returns the same marks in the list that is there by now, if that is another one.
    fn renewed(&self) -> Result<Option<Self>> {
        match list::is_current(&self.functions) {
            true => Ok(None),
            false => Ok(Some(Self::of(&self.addresses()?)?)),
        }
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
        Self {
            kind,
            lines: None,
            has_lost: false,
        }
    }

    /// Begins with what `filter` has.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and those of [`list::current`].
    pub(crate) fn of(filter: &FunctionFilter, kind: FilterKind) -> Result<Self> {
        let (lines, has_lost) = match filter.selections.lock().of(kind) {
            Some(selection) => {
                let lines = Lines::of(selection)?;
                // The module of the others is going.
                let has_lost = marks::count(&lines.marks) < selection.len() as u64;
                (Some(lines), has_lost)
            }
            None => (None, false),
        };
        Ok(Self {
            kind,
            lines,
            has_lost,
        })
    }

    /// Has the selection be one of the functions that there are by now.
    fn renew(&mut self) -> Result {
        let Some(lines) = &self.lines else {
            return Ok(());
        };
        if let Some(other) = lines.renewed()? {
            self.has_lost |= marks::count(&other.marks) < marks::count(&lines.marks);
            self.lines = Some(other);
        }
        Ok(())
    }

    /// Obeys a word. Returns whether it selects any function, of those that there are by now.
    ///
    /// # Errors
    ///
    /// `EINVAL` for one that is wrong, `ENOMEM`, and those of [`list::current`].
    pub(super) fn obey(&mut self, word: &[u8]) -> Result<bool> {
        let is_divided = word.contains(&b':');
        let word = FilterWord::parse(word).map_err(|_| EINVAL)?;
        if self.kind.is_of_calls() && (is_divided || !word.selection.is_plain()) {
            return Err(EINVAL);
        }
        self.renew()?;
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

    /// Returns the functions of which a word was obeyed, if these are all that there are by now.
    pub(super) fn current(&self) -> Option<&Functions> {
        let lines = self.lines.as_ref()?;
        list::is_current(&lines.functions).then_some(&*lines.functions)
    }

    /// Returns whether any function is selected.
    fn is_any(&self) -> bool {
        let lines = self.lines.as_ref();
        lines.is_some_and(|lines| !marks::is_empty(&lines.marks))
    }

    /// Returns the addresses that are selected.
    pub(super) fn into_selection(mut self) -> Result<SelectedFunctions> {
        if self.is_any() {
            self.renew()?;
        }
        match &self.lines {
            Some(lines) if self.is_any() => Ok(Some(lines.addresses()?)),
            _ => Ok(self.has_lost.then(KVVec::new)),
        }
    }
}
