// SPDX-License-Identifier: GPL-2.0

//! Arguments that are a number of the record that is followed, as it is, which need no program.

use super::{
    run::put_word,
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
    /// Bytes of the argument.
    size: usize,
}

impl CopiedArgument {
    /// Returns that of `argument`, if it is one, and of a number that is no common field but that of the task.
    pub(crate) fn of(argument: &Argument) -> Option<Self> {
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
            size,
        })
    }

    /// Puts it at `at` of a record. `word` begins with the number. Returns where it ends.
    #[inline(always)]
    pub(crate) fn put(&self, word: u64, record: &mut [u8], at: usize) -> usize {
        put_word(record, at, self.size, self.bits.of(word).to_le_bytes());
        at.saturating_add(self.size)
    }
}
