// SPDX-License-Identifier: GPL-2.0

//! A string whose address is a number, a register or a parameter, plus an offset, and which is short: it is read at
//! once and needs no program. What is anything else, or cannot be read so, is left to the program, which tells why.

use super::{
    plain::PlainWord,
    run::{
        self,
        ProbedMachine,
        CHUNK,
        PAGE, //
    },
    step::{
        Argument,
        FetchStep, //
    },
    types::ArgumentType, //
};
use crate::text::word;

/// Bytes that are read first: most strings end there.
const FIRST: usize = CHUNK / 2;

/// An argument that is such a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainText {
    /// What `offset` is added to; nothing if that is the address.
    base: Option<PlainWord>,
    offset: u64,
    user: bool,
    /// Where a record says where the string is.
    at: u16,
}

impl PlainText {
    /// Returns that of `argument`, if it is one, for `at` in a record. `in_registers` is that of
    /// [`PlainWord::of`].
    pub(crate) fn of(argument: &Argument, in_registers: bool, at: usize) -> Option<Self> {
        let wants_user = match argument.ty {
            ArgumentType::Text => false,
            ArgumentType::UserText => true,
            _ => return None,
        };
        let (base, offset, user) = match argument.steps() {
            [base] => (base, 0, false),
            [base, FetchStep::Load { offset, user }] => (base, *offset as u64, *user),
            _ => return None,
        };
        let (base, offset) = match base {
            FetchStep::Immediate(address) => (None, address.wrapping_add(offset)),
            base => (Some(PlainWord::of(*base, in_registers)?), offset),
        };
        (argument.count == 0).then_some(Self {
            base,
            offset,
            user: user || wants_user,
            at: at as u16,
        })
    }

    /// Reads the string. Returns `None` when it has [`CHUNK`] bytes or more, or so many are not in one page, or it cannot
    /// be read.
    #[inline(always)]
    pub(crate) fn read(&self, machine: &impl ProbedMachine) -> Option<ShortText> {
        let base = self.base.map_or(0, |base| base.value(machine));
        let address = base.wrapping_add(self.offset);
        if address % PAGE > PAGE.wrapping_sub(CHUNK as u64) {
            return None;
        }
        let mut bytes = [0; CHUNK];
        let (first, second) = bytes.split_at_mut(FIRST);
        if !run::read(machine, address, first, self.user) {
            return None;
        }
        let len = match first_nul(first) {
            Some(len) => len,
            None => {
                let next = address.wrapping_add(FIRST as u64);
                if !run::read(machine, next, second, self.user) {
                    return None;
                }
                first_nul(second)?.wrapping_add(FIRST)
            }
        };
        // INVARIANT: There is a NUL, and none before it.
        Some(ShortText { bytes, len })
    }

    /// Puts the string in a record after the numbers, which end at `end` and were put before.
    #[inline(always)]
    pub(crate) fn put(&self, text: &ShortText, end: usize, record: &mut [u8]) {
        let len = text.size();
        let location = ((len as u64) << 16) | (end as u64 & 0xffff);
        run::put_word(record, self.at.into(), 4, location.to_le_bytes());
        let place = record.get_mut(end..end.wrapping_add(len));
        // The byte after the string is a NUL, too.
        if let (Some(place), Some(bytes)) = (place, text.bytes.get(..len)) {
            place.copy_from_slice(bytes);
        }
    }
}

/// Returns the place of the first NUL among bytes whose number is a multiple of eight and known to the compiler, which
/// then makes no loop, as it makes of [`word::c_string`].
#[inline(always)]
fn first_nul(bytes: &[u8]) -> Option<usize> {
    let (mut rest, mut before) = (bytes, 0usize);
    while let Some((word, behind)) = rest.split_first_chunk::<8>() {
        let zeros = word::zeros(u64::from_le_bytes(*word));
        if zeros != 0 {
            return Some(before.wrapping_add((zeros.trailing_zeros() / 8) as usize));
        }
        (rest, before) = (behind, before.wrapping_add(8));
    }
    None
}

/// A string that was read with its NUL.
///
/// # Invariants
///
/// `len` is less than the number of the bytes, and that of `len` is the first NUL.
pub(crate) struct ShortText {
    bytes: [u8; CHUNK],
    len: usize,
}

impl ShortText {
    /// Returns its bytes in a record, the NUL included.
    #[inline(always)]
    pub(crate) fn size(&self) -> usize {
        self.len.wrapping_add(1)
    }
}
