// SPDX-License-Identifier: GPL-2.0

//! Arguments that are a number of the record that is followed, as it is, which need no program.

use super::{
    run::NumberPlace,
    step::{
        Argument,
        FetchStep, //
    }, //
};
use crate::event::{
    field::{
        COMMON_SIZE,
        PID_AT, //
    },
    number_bits::NumberBits, //
};

/// An argument that is a number of the record that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopiedArgument {
    /// Where the number is.
    pub(crate) from: usize,
    /// The bits of a word that are it.
    bits: NumberBits,
    to: NumberPlace,
}

impl CopiedArgument {
    /// Returns that of `argument` for `at` in a record, if it is one, and of a number that is no common field but that of
    /// the task.
    pub(crate) fn of(argument: &Argument, at: usize) -> Option<Self> {
        let (step, size) = argument.plain()?;
        let FetchStep::Field(field) = step else {
            return None;
        };
        let (from, bytes, signed) = field.number()?;
        let unused = u64::BITS.saturating_sub(u32::from(bytes).saturating_mul(u8::BITS));
        let is_there = from >= COMMON_SIZE as usize || from == PID_AT as usize;
        is_there.then_some(Self {
            from,
            bits: NumberBits::below(unused, signed),
            to: NumberPlace::new(at, size),
        })
    }

    /// Puts it in a record. `word` begins with the number.
    #[inline(always)]
    pub(crate) fn put(&self, word: u64, record: &mut [u8]) {
        self.to.put(record, self.bits.of(word));
    }
}
