// SPDX-License-Identifier: GPL-2.0

//! Fills records, field by field.

use super::word::put_words;
use core::mem;

/// What is left to fill of a record. A field for which there is no room is left out, and those after it are.
pub(crate) struct RecordRest<'a>(&'a mut [u8]);

impl<'a> RecordRest<'a> {
    /// Returns all of `bytes`.
    #[inline(always)]
    pub(crate) fn of(bytes: &'a mut [u8]) -> Self {
        Self(bytes)
    }

    /// Fills a field of as many bytes.
    #[inline(always)]
    fn array<const N: usize>(self, bytes: [u8; N]) -> Self {
        let Some((field, behind)) = self.0.split_first_chunk_mut() else {
            return Self(&mut []);
        };
        *field = bytes;
        Self(behind)
    }

    /// Fills one of eight bytes.
    #[inline(always)]
    pub(crate) fn long(self, number: u64) -> Self {
        self.array(number.to_ne_bytes())
    }

    /// Fills one of four bytes.
    #[inline(always)]
    pub(crate) fn int(self, number: u32) -> Self {
        self.array(number.to_ne_bytes())
    }

    /// Fills one of a byte.
    #[inline(always)]
    pub(crate) fn byte(self, number: u8) -> Self {
        self.array([number])
    }

    /// Fills an array of such numbers, as far as there is room.
    #[inline(always)]
    pub(crate) fn longs(self, numbers: impl IntoIterator<Item = u64>) {
        put_words(self.0, numbers);
    }

    /// Fills one of these bytes.
    #[inline(always)]
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        let Some((field, behind)) = mem::take(&mut self.0).split_at_mut_checked(bytes.len()) else {
            return Self(&mut []);
        };
        field.copy_from_slice(bytes);
        Self(behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_each_other_and_stay_in_the_record() {
        let mut record = [0xff; 20];
        RecordRest::of(&mut record)
            .long(0x0102_0304_0506_0708)
            .int(7)
            .byte(9)
            .bytes(b"abc");
        assert_eq!(record[..8], 0x0102_0304_0506_0708_u64.to_ne_bytes());
        assert_eq!(record[8..12], 7_u32.to_ne_bytes());
        assert_eq!(record[12..], *b"\x09abc\xff\xff\xff\xff");
        // The second one has no room, and the third one would have.
        let mut short = [0xff; 10];
        RecordRest::of(&mut short).long(1).int(2).byte(3);
        assert_eq!(short[..8], 1_u64.to_ne_bytes());
        assert_eq!(short[8..], [0xff; 2]);
        RecordRest::of(&mut short).bytes(&[0; 11]).byte(3);
        assert_eq!(short[8..], [0xff; 2]);
    }
}
