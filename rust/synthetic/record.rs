// SPDX-License-Identifier: GPL-2.0

//! The record of given values: after the common fields a slot of 8 bytes for each number, one of 256 for each
//! string of fixed length, and one with length and offset for each dynamic array, whose bytes follow the last
//! slot without a gap.
//!
//! Any context. Every byte is written, so that nothing of an older record is left.

use super::field::{
    SyntheticField,
    SyntheticType,
    ROOM, //
};
use crate::{
    event::field::COMMON_SIZE,
    text::word, //
};

/// Most words of a stack that a record has, as in ftrace: one for their number, and the callers.
const MOST_STACK: usize = 31;
/// Most bytes of a string that a record has, with the NUL.
const MOST_TEXT: usize = 4096;

/// Bytes of a record whose only field is a number.
pub(crate) const ONE_NUMBER: usize = COMMON_SIZE as usize + 8;

/// A value of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SyntheticValue<'a> {
    /// Of any size and sign; a smaller field takes the lower bytes.
    Number(u64),
    /// A string up to its first NUL.
    Text(&'a [u8]),
    /// Callers, the innermost first.
    Stack(&'a [u64]),
    /// The same as a record has it: their number, and they.
    RecordedStack(&'a [u8]),
}

impl<'a> SyntheticValue<'a> {
    /// Returns the number; 0 if it is none.
    fn number(self) -> u64 {
        match self {
            Self::Number(number) => number,
            Self::Text(_) | Self::Stack(_) | Self::RecordedStack(_) => 0,
        }
    }

    /// Returns the string without its NUL, of which `most` bytes count with it; an empty one if it is none.
    fn text(self, most: usize) -> &'a [u8] {
        match self {
            Self::Text(text) => {
                let text = text.get(..most.saturating_sub(1)).unwrap_or(text);
                word::c_string(text)
            }
            Self::Number(_) | Self::Stack(_) | Self::RecordedStack(_) => &[],
        }
    }

    /// Returns the callers that a record has; none if it is no stack.
    fn callers(self) -> &'a [u64] {
        match self {
            Self::Stack(callers) => {
                let most = MOST_STACK.saturating_sub(1);
                callers.get(..most).unwrap_or(callers)
            }
            Self::Number(_) | Self::Text(_) | Self::RecordedStack(_) => &[],
        }
    }

    /// Returns the stack that a record has as it is; `None` if it is none of another record.
    fn recorded(self) -> Option<&'a [u8]> {
        match self {
            Self::RecordedStack(stack) => {
                let whole = stack.len() >= 8;
                whole.then(|| stack.get(..MOST_STACK.saturating_mul(8)).unwrap_or(stack))
            }
            _ => None,
        }
    }

    /// Returns the bytes that follow the fixed part of a record for a field of this type.
    fn bytes_behind(self, kind: SyntheticType) -> usize {
        match kind {
            SyntheticType::DynamicChars => self.text(MOST_TEXT).len().saturating_add(1),
            SyntheticType::Stack => match self.recorded() {
                Some(stack) => stack.len(),
                None => self.callers().len().saturating_add(1).saturating_mul(8),
            },
            SyntheticType::Number(_) | SyntheticType::Chars(_) => 0,
        }
    }
}

/// Returns the fields with their values; those that are missing are 0 or empty.
fn zip<'f, 'v>(
    fields: &'f [SyntheticField],
    values: &'v [SyntheticValue<'v>],
) -> impl Iterator<Item = (SyntheticType, SyntheticValue<'v>)> + use<'f, 'v> {
    let missing = core::iter::repeat(SyntheticValue::Number(0));
    let values = Iterator::chain(values.iter().copied(), missing);
    Iterator::zip(fields.iter().map(|field| field.kind), values)
}

/// Returns the bytes of a record without its dynamic arrays.
pub(crate) fn fixed_size(fields: &[SyntheticField]) -> usize {
    let rooms = fields.iter().map(|field| field.kind.room());
    rooms.fold(COMMON_SIZE as usize, usize::saturating_add)
}

/// Returns the bytes of a record of these values; `fixed` is that of [`fixed_size`].
pub(crate) fn size(
    fields: &[SyntheticField],
    fixed: usize,
    values: &[SyntheticValue<'_>],
) -> usize {
    let behind = zip(fields, values).map(|(kind, value)| value.bytes_behind(kind));
    behind.fold(fixed, usize::saturating_add)
}

/// Writes a number at `at` of the record, if there is room.
fn put_number(record: &mut [u8], at: usize, number: u64) {
    let place = record.get_mut(at..).unwrap_or_default();
    if let Some(place) = place.first_chunk_mut() {
        *place = number.to_le_bytes();
    }
}

/// Writes `bytes` at `at` of the record, as far as there is room.
fn put(record: &mut [u8], at: usize, bytes: &[u8]) {
    let place = record.get_mut(at..).unwrap_or_default();
    let len = bytes.len().min(place.len());
    if let (Some(place), Some(bytes)) = (place.get_mut(..len), bytes.get(..len)) {
        place.copy_from_slice(bytes);
    }
}

/// Fills what follows the common fields of a record of [`size`] bytes.
pub(crate) fn fill(
    fields: &[SyntheticField],
    fixed: usize,
    values: &[SyntheticValue<'_>],
    record: &mut [u8],
) {
    let (mut at, mut behind) = (COMMON_SIZE as usize, fixed);
    for (kind, value) in zip(fields, values) {
        match kind {
            SyntheticType::Number(number) => {
                put_number(record, at, value.number() & number.mask());
            }
            SyntheticType::Chars(_) => {
                let text = value.text(ROOM);
                put(record, at, text);
                let rest = at.saturating_add(text.len());
                let end = at.saturating_add(ROOM);
                if let Some(rest) = record.get_mut(rest..end) {
                    rest.fill(0);
                }
            }
            SyntheticType::DynamicChars | SyntheticType::Stack => {
                let len = value.bytes_behind(kind);
                let place = ((len as u64 & 0xffff) << 16) | (behind as u64 & 0xffff);
                put_number(record, at, place);
                if kind == SyntheticType::DynamicChars {
                    let text = value.text(MOST_TEXT);
                    put(record, behind, text);
                    put(record, behind.saturating_add(text.len()), &[0]);
                } else if let Some(stack) = value.recorded() {
                    put(record, behind, stack);
                } else {
                    put_stack(record, behind, value.callers());
                }
                behind = behind.saturating_add(len);
            }
        }
        at = at.saturating_add(kind.room());
    }
}

/// Returns the bits that a record has of each number, if all fields are numbers; else none.
pub(crate) fn masks(fields: &[SyntheticField]) -> impl Iterator<Item = u64> + use<'_> {
    let mask = |field: &SyntheticField| match field.kind {
        SyntheticType::Number(number) => Some(number.mask()),
        _ => None,
    };
    let are_numbers = fields.iter().all(|field| mask(field).is_some());
    let fields = if are_numbers { fields } else { &[] };
    fields.iter().filter_map(mask)
}

/// As [`fill`] for numbers alone, of which a record has the bits of `masks`.
#[inline(always)]
pub(crate) fn fill_numbers(masks: &[u64], numbers: &[u64], record: &mut [u8]) {
    let words = Iterator::zip(masks.iter(), numbers).map(|(mask, number)| mask & number);
    word::put_words(
        record.get_mut(COMMON_SIZE as usize..).unwrap_or_default(),
        words,
    );
}

/// The same of one number, which has no more bits than its field: a record of [`ONE_NUMBER`] bytes.
#[inline(always)]
pub(crate) fn fill_number(number: u64, record: &mut [u8]) {
    put_number(record, COMMON_SIZE as usize, number);
}

/// Writes the number of `callers` and these at `at` of the record, as far as there is room.
fn put_stack(record: &mut [u8], at: usize, callers: &[u64]) {
    let words = Iterator::chain([callers.len() as u64].into_iter(), callers.iter().copied());
    word::put_words(record.get_mut(at..).unwrap_or_default(), words);
}
