// SPDX-License-Identifier: GPL-2.0

//! Counts calls by their function and by how long they took, for `trace_durations`.

use super::Text;
use crate::{
    event::context::Common,
    events::Symbols,
    kapi::sort::{
        self,
        SortedItem, //
    },
    text::{
        durations::{
            CallDurations,
            DURATION_COLUMNS, //
        },
        graph::{
            CallExit,
            EXIT_ID, //
        },
        stack::{
            self,
            NameExtent, //
        },
        writer::ByteWrite, //
    }, //
};
use core::fmt::Write;
use kernel::{
    prelude::*,
    rbtree::RBTree, //
};

/// The calls of a function.
struct FunctionDurations {
    function: u64,
    durations: CallDurations,
}

/// A function in the order of the lines: those that took most come first.
#[derive(Clone, Copy)]
struct DurationRank {
    total: u64,
    /// The place of the function.
    place: usize,
}

impl SortedItem for DurationRank {
    fn key(&self) -> (u64, u64) {
        (!self.total, self.place as u64)
    }
}

/// Calls by function and duration.
pub(crate) struct CallSpread {
    functions: KVVec<FunctionDurations>,
    /// The place of each function.
    index: RBTree<u64, usize>,
}

impl CallSpread {
    /// Returns one without calls.
    pub(crate) fn new() -> Self {
        Self {
            functions: KVVec::new(),
            index: RBTree::new(),
        }
    }

    /// Counts the call that `record` is the exit of; others are passed over.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn add(&mut self, record: &[u8]) -> Result {
        let is_exit = Common::of(record).is_some_and(|common| common.event_type == EXIT_ID);
        let Some(exit) = CallExit::of(record).filter(|_| is_exit) else {
            return Ok(());
        };
        let place = match self.index.get(&exit.function()) {
            Some(place) => *place,
            None => {
                let place = self.functions.len();
                let first = FunctionDurations {
                    function: exit.function(),
                    durations: CallDurations::NONE,
                };
                self.functions.push(first, GFP_KERNEL)?;
                self.index
                    .try_create_and_insert(exit.function(), place, GFP_KERNEL)?;
                place
            }
        };
        if let Some(of) = self.functions.get_mut(place) {
            of.durations.add(exit.duration());
        }
        Ok(())
    }

    /// Writes the lines of all functions.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn write(&self, out: &mut Text) -> Result {
        let mut ranks = KVVec::with_capacity(self.functions.len(), GFP_KERNEL)?;
        for (place, of) in (0..).zip(&self.functions) {
            let total = of.durations.total();
            ranks.push(DurationRank { total, place }, GFP_KERNEL)?;
        }
        sort::ascending(&mut ranks);
        let mut names = Symbols::new();
        // Nothing but memory can fail.
        out.write_str(DURATION_COLUMNS).map_err(|_| ENOMEM)?;
        for rank in &ranks {
            let Some(of) = self.functions.get(rank.place) else {
                continue;
            };
            let mut name = Text::new();
            let written =
                stack::write_function(of.function, NameExtent::Function, &mut names, &mut name);
            written.map_err(|_| ENOMEM)?;
            let mut write_name = |out: &mut dyn ByteWrite| {
                out.write_bytes(name.bytes())?;
                Ok(name.bytes().len())
            };
            of.durations
                .write(&mut write_name, out)
                .map_err(|_| ENOMEM)?;
        }
        Ok(())
    }
}
