// SPDX-License-Identifier: GPL-2.0
//! A short text of limited length, with numbers of which eight digits are made at once.
//!
//! Lines of events are made of such texts by the thousand, and `core::fmt` makes several calls for
//! each number. The memory is filled with blanks beforehand, so that padding costs nothing.

use core::fmt;

use super::writer::ByteWrite;

/// Length of the longest text.
const ROOM: usize = 96;
/// Bytes of a word, which is stored at once.
const WORD: usize = 8;
/// A word of blanks.
const BLANKS: u64 = 0x2020_2020_2020_2020;
/// With it and with [`BLANKS`] a digit is a character.
const DIGITS: u64 = 0x1010_1010_1010_1010;
/// One more than the highest number with as many digits as a word has bytes.
const LONG: u64 = 100_000_000;

/// A short text.
pub(crate) struct Piece {
    /// Blank from `len` on. A word that begins in the text ends here.
    bytes: [u8; ROOM + WORD],
    len: usize,
}

/// Returns the eight decimal digits of a number below [`LONG`], the highest one in the lowest byte. The halves of
/// a word are divided at once, then its quarters.
#[inline(always)]
pub(super) fn eight_digits(number: u32) -> u64 {
    let (high, low) = (number / 10_000, number % 10_000);
    let fours = u64::from(high) | (u64::from(low) << 32);
    // A multiplication by 5243 / 2^19 divides what is below 10000 by 100.
    let high = (fours.wrapping_mul(5243) >> 19) & 0x7f_0000_007f;
    let twos = high | (fours.wrapping_sub(high.wrapping_mul(100)) << 16);
    // One by 103 / 2^10 divides what is below 100 by ten.
    let high = (twos.wrapping_mul(103) >> 10) & 0x000f_000f_000f_000f;
    high | (twos.wrapping_sub(high.wrapping_mul(10)) << 8)
}

/// Returns how many bits of such a word are before the digits that a number has; zero has one.
#[inline(always)]
pub(super) fn leading_zeros(digits: u64) -> u32 {
    (digits | (1 << 56)).trailing_zeros() & !7
}

/// Returns the characters of such a word without those in its first `above` bits, and blanks after them.
#[inline(always)]
pub(super) fn aligned_left(digits: u64, above: u32) -> u64 {
    BLANKS ^ (digits | DIGITS).wrapping_shr(above)
}

/// Returns the characters of such a word with blanks for those in its first `above` bits.
#[inline(always)]
pub(super) fn aligned_right(digits: u64, above: u32) -> u64 {
    BLANKS ^ (digits | DIGITS).wrapping_shr(above).wrapping_shl(above)
}

impl Piece {
    /// Returns an empty text.
    #[inline]
    pub(crate) fn new() -> Self {
        Piece {
            bytes: [b' '; ROOM + WORD],
            len: 0,
        }
    }

    /// Returns the text.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }

    /// Writes the text to `out`.
    #[inline]
    pub(crate) fn write_to(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        out.write_bytes(self.bytes())
    }

    /// Returns where the text ends when `len` bytes more are there.
    ///
    /// # Errors
    ///
    /// If there is no room for them.
    #[inline(always)]
    fn end(&self, len: usize) -> Result<usize, fmt::Error> {
        let end = self.len.checked_add(len).ok_or(fmt::Error)?;
        if end > ROOM {
            return Err(fmt::Error);
        }
        Ok(end)
    }

    /// Appends `len` blanks, and returns them to be overwritten.
    ///
    /// # Errors
    ///
    /// If there is no room for them; nothing was appended then.
    #[inline(always)]
    fn next(&mut self, len: usize) -> Result<&mut [u8], fmt::Error> {
        let end = self.end(len)?;
        let next = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;

        self.len = end;
        Ok(next)
    }

    /// Appends `count` blanks.
    #[inline(always)]
    pub(crate) fn blanks(&mut self, count: usize) -> fmt::Result {
        self.len = self.end(count)?;
        Ok(())
    }

    /// Appends `bytes`.
    #[inline(always)]
    pub(crate) fn bytes_of(&mut self, bytes: &[u8]) -> fmt::Result {
        self.next(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// Appends `len` bytes, in which `word` begins at `at`; all others are blank, and so are those of the word that are
    /// after them.
    #[inline(always)]
    fn word(&mut self, word: u64, at: usize, len: usize) -> fmt::Result {
        let end = self.end(len)?;
        let from = self.len.wrapping_add(at);
        let room = self.bytes.get_mut(from..).and_then(<[u8]>::first_chunk_mut);
        *room.ok_or(fmt::Error)? = word.to_le_bytes();
        self.len = end;
        Ok(())
    }

    /// Appends a number of at least `digits` digits in at least `width` columns, aligned to the left or to the right.
    #[inline]
    fn number(&mut self, number: u64, digits: usize, left: bool, width: usize) -> fmt::Result {
        if number >= LONG || digits > WORD {
            return self.long_number(number, digits, left, width);
        }
        let text = eight_digits(number as u32);
        let shortest = leading_zeros(text);
        let asked = (WORD.wrapping_sub(digits) as u32).wrapping_mul(8);
        let above = shortest.min(asked);
        let word = aligned_left(text, above);
        let digits = WORD.wrapping_sub(above as usize / 8);
        let blanks = width.saturating_sub(digits);
        self.word(
            word,
            if left { 0 } else { blanks },
            digits.wrapping_add(blanks),
        )
    }

    /// As [`Self::number`], for those that are longer than a word.
    #[cold]
    #[inline(never)]
    fn long_number(&mut self, number: u64, digits: usize, left: bool, width: usize) -> fmt::Result {
        let before = self.len;
        let (high, low) = (number / LONG, number % LONG);
        let digits = digits.saturating_sub(WORD);
        let high_width = if left { 0 } else { width.saturating_sub(WORD) };
        self.number(high, digits.max(1), false, high_width)?;
        self.number(low, WORD, false, 0)?;
        self.blanks(width.saturating_sub(self.len.wrapping_sub(before)))
    }

    /// Appends a number, right-aligned in at least `width` columns.
    #[inline]
    pub(crate) fn right(&mut self, number: u64, width: usize) -> fmt::Result {
        self.number(number, 1, false, width)
    }

    /// Appends a number, left-aligned in at least `width` columns.
    #[inline]
    pub(crate) fn left(&mut self, number: i64, width: usize) -> fmt::Result {
        let mut width = width;
        if number < 0 {
            self.bytes_of(b"-")?;
            width = width.saturating_sub(1);
        }
        self.number(number.unsigned_abs(), 1, true, width)
    }

    /// Appends a number in base 16 after `0x`.
    pub(crate) fn hex(&mut self, number: u64) -> fmt::Result {
        let digits = u64::BITS.wrapping_sub(number.leading_zeros()).div_ceil(4);
        self.bytes_of(b"0x")?;
        let mut rest = number;
        for digit in self.next(digits.max(1) as usize)?.iter_mut().rev() {
            *digit = match (rest & 0xf) as u8 {
                low @ 0..10 => b'0'.wrapping_add(low),
                high => b'a'.wrapping_sub(10).wrapping_add(high),
            };
            rest >>= 4;
        }
        Ok(())
    }

    /// Appends a number with leading zeros, at least `width` digits wide.
    #[inline]
    pub(crate) fn zeros(&mut self, number: u64, width: usize) -> fmt::Result {
        self.number(number, width.max(1), false, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(f: impl FnOnce(&mut Piece) -> fmt::Result) -> String {
        let mut piece = Piece::new();

        f(&mut piece).unwrap();
        String::from_utf8(piece.bytes().to_vec()).unwrap()
    }

    /// Compares with what `core::fmt` writes, in all ways.
    fn check(number: u64, width: usize) {
        let signed = number as i64;

        assert_eq!(made(|p| p.right(number, width)), format!("{number:width$}"));
        assert_eq!(made(|p| p.hex(number)), format!("{number:#x}"));
        assert_eq!(made(|p| p.left(signed, width)), format!("{signed:<width$}"));
        assert_eq!(
            made(|p| p.zeros(number, width)),
            format!("{number:0width$}")
        );
    }

    #[test]
    fn numbers_at_each_length() {
        let mut power = 1u64;

        for width in 0..24 {
            check(0, width);
            check(LONG, width);
            check(u64::MAX, width);
            check(i64::MIN as u64, width);
        }
        loop {
            for number in [power - 1, power, power + 1, power.wrapping_neg()] {
                (0..24).for_each(|width| check(number, width));
            }
            match power.checked_mul(10) {
                Some(next) => power = next,
                None => break,
            }
        }
    }

    proptest! {
        #[test]
        fn numbers_as_core_writes_them(number: u64, bits in 0u32..64, width in 0usize..24) {
            check(number >> bits, width);
        }
    }

    #[test]
    fn one_behind_the_other() {
        let text = made(|piece| {
            piece.bytes_of(b"a")?;
            piece.left(-7, 4)?;
            piece.bytes_of(b"|")?;
            piece.blanks(2)?;
            piece.right(12, 3)?;
            piece.zeros(3, 2)
        });
        assert_eq!(text, "a-7  |   1203");
    }

    #[test]
    fn what_has_no_room_is_refused() {
        let mut piece = Piece::new();
        let full = [b'x'; ROOM - 3];

        piece.bytes_of(&full).unwrap();
        assert!(piece.bytes_of(b"four").is_err());
        assert!(piece.zeros(1, 4).is_err());
        assert!(piece.left(1234, 0).is_err());
        assert!(piece.right(1, usize::MAX).is_err());
        assert_eq!(piece.bytes(), full);
        piece.zeros(1, 3).unwrap();
        assert!(piece.blanks(1).is_err());
        assert_eq!(piece.bytes().len(), ROOM);
    }
}
