// SPDX-License-Identifier: GPL-2.0

//! Words that name functions of modules that are not loaded. They wait until the module comes.

use super::list::Functions;
use crate::{
    functions::words::{
        of_module,
        FilterWord, //
    },
    kapi::sort,
    text::writer::ByteWrite, //
};
use core::fmt;
use kernel::prelude::*;

/// The most words that wait. ftrace sets no limit.
const MOST: usize = 4096;

/// The words of one selection, the newest first.
pub(super) struct SelectionWords(KVec<KVec<u8>>);

/// Returns the pattern of functions and the name of the module.
fn parts(word: &[u8]) -> (&[u8], &[u8]) {
    of_module(word).unwrap_or_default()
}

impl SelectionWords {
    /// Returns no words.
    pub(super) const fn none() -> Self {
        Self(KVec::new())
    }

    /// Returns whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a word.
    ///
    /// # Errors
    ///
    /// `ENOSPC` for too many, `ENOMEM`.
    pub(super) fn add(&mut self, word: &[u8]) -> Result {
        if self.0.len() >= MOST {
            return Err(ENOSPC);
        }
        let mut owned = KVec::new();
        owned.extend_from_slice(word, GFP_KERNEL)?;
        self.0.push(owned, GFP_KERNEL)?;
        self.0.rotate_right(1);
        Ok(())
    }

    /// Takes the words out with this pattern, or any for `*`, and this module. Returns whether there were any.
    pub(super) fn take_out(&mut self, pattern: &[u8], module: &[u8]) -> bool {
        let before = self.0.len();
        self.0.retain(|word| {
            let (known, of) = parts(word);
            of != module || pattern != b"*" && known != pattern
        });
        self.0.len() != before
    }

    /// Returns whether a word waits for the module `name`.
    pub(super) fn is_for(&self, name: &[u8]) -> bool {
        self.0.iter().any(|word| parts(word).1 == name)
    }

    /// Adds to `selected`, in ascending order, what waits for the module `name`: of the functions of it in `list`, or a
    /// line of that.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn add_selected(
        &self,
        name: &[u8],
        list: &Functions,
        selected: &mut KVVec<u64>,
    ) -> Result {
        for word in self.0.iter().filter(|word| parts(word).1 == name) {
            let Ok(word) = FilterWord::parse(word) else {
                continue;
            };
            for (at, function) in list.list().iter().enumerate() {
                // As in ftrace, a line is one of any module.
                let is_meant = function.module == Some(name) || word.selection.is_line();
                if is_meant && word.selection.takes(at, &function) {
                    selected.push(function.address, GFP_KERNEL)?;
                }
            }
        }
        sort::ascending(selected);
        let mut last = None;
        selected.retain(|address| last.replace(*address) != Some(*address));
        Ok(())
    }

    /// Takes out what waits for the module `name`.
    pub(super) fn forget(&mut self, name: &[u8]) {
        self.0.retain(|word| parts(word).1 != name);
    }

    /// Writes the words, one per line.
    pub(super) fn show(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        self.0.iter().try_for_each(|word| {
            out.write_bytes(word)?;
            out.write_char('\n')
        })
    }
}
