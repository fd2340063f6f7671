// SPDX-License-Identifier: GPL-2.0

//! Arguments that are a number of the record that is followed, as it is, which need no program.

use super::{
    run::put_word,
    step::{
        Argument,
        FetchStep, //
    }, //
};

/// Where a record has the number of the task, and where the common fields end.
const PID: usize = 4;
const COMMON: usize = 8;

/// An argument that is a number of the record that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopiedArgument {
    /// Where the number is.
    pub(crate) from: usize,
    /// The bits of a word that are it.
    mask: u64,
    /// The highest of them for a number with a sign, else 0.
    sign: u64,
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
        let mask = u64::MAX.checked_shr(unused)?;
        let is_there = from >= COMMON || from == PID;
        is_there.then_some(Self {
            from,
            mask,
            sign: match signed {
                true => mask ^ (mask >> 1),
                false => 0,
            },
            size,
        })
    }

    /// Puts it at `at` of a record. `word` begins with the number. Returns where it ends.
    #[inline(always)]
    pub(crate) fn put(&self, word: u64, record: &mut [u8], at: usize) -> usize {
        let number = ((word & self.mask) ^ self.sign).wrapping_sub(self.sign);
        put_word(record, at, self.size, number.to_le_bytes());
        at.saturating_add(self.size)
    }
}
