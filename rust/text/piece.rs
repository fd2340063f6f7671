// SPDX-License-Identifier: GPL-2.0
//! A short text of limited length, with numbers written digit by digit.
//!
//! Lines of events begin with one. They are made by the thousand, and `core::fmt` makes several
//! calls for each number. The memory is filled with blanks beforehand, so that padding costs
//! nothing.

use core::fmt;

use super::writer::ByteWrite;

/// Length of the longest text.
const ROOM: usize = 96;

/// A short text.
pub(crate) struct Piece {
    /// Blank from `len` on.
    bytes: [u8; ROOM],
    len: usize,
}

/// Returns the number of decimal digits of `number`.
fn digits_of(mut number: u64) -> usize {
    let mut digits = 1usize;

    while number >= 10_000 {
        number /= 10_000;
        digits = digits.wrapping_add(4);
    }
    let more = match number {
        0..10 => 0,
        10..100 => 1,
        100..1_000 => 2,
        _ => 3,
    };
    digits.wrapping_add(more)
}

/// Fills `to` with the lowest digits of `number`.
fn put_digits(to: &mut [u8], mut number: u64) {
    for digit in to.iter_mut().rev() {
        *digit = b'0'.wrapping_add((number % 10) as u8);
        number /= 10;
    }
}

impl Piece {
    /// Returns an empty text.
    pub(crate) fn new() -> Self {
        Piece {
            bytes: [b' '; ROOM],
            len: 0,
        }
    }

    /// Returns the text.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }

    /// Writes the text to `out`.
    pub(crate) fn write_to(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        out.write_bytes(self.bytes())
    }

    /// Appends `len` blanks, and returns them to be overwritten.
    ///
    /// # Errors
    ///
    /// If there is no room for them; nothing was appended then.
    #[inline]
    fn next(&mut self, len: usize) -> Result<&mut [u8], fmt::Error> {
        let end = self.len.checked_add(len).ok_or(fmt::Error)?;
        let next = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;

        self.len = end;
        Ok(next)
    }

    /// Appends `count` blanks.
    #[inline]
    pub(crate) fn blanks(&mut self, count: usize) -> fmt::Result {
        self.next(count).map(|_| ())
    }

    /// Appends `bytes`.
    #[inline]
    pub(crate) fn bytes_of(&mut self, bytes: &[u8]) -> fmt::Result {
        for (to, from) in self.next(bytes.len())?.iter_mut().zip(bytes) {
            *to = *from;
        }
        Ok(())
    }

    /// Appends a number, right-aligned in at least `width` columns.
    pub(crate) fn right(&mut self, number: u64, width: usize) -> fmt::Result {
        let digits = digits_of(number);
        self.blanks(width.saturating_sub(digits))?;
        put_digits(self.next(digits)?, number);
        Ok(())
    }

    /// Appends a number, left-aligned in at least `width` columns.
    pub(crate) fn left(&mut self, number: i64, width: usize) -> fmt::Result {
        let before = self.len;
        if number < 0 {
            self.bytes_of(b"-")?;
        }
        let number = number.unsigned_abs();
        put_digits(self.next(digits_of(number))?, number);
        self.blanks(width.saturating_sub(self.len.wrapping_sub(before)))
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
    pub(crate) fn zeros(&mut self, number: u64, width: usize) -> fmt::Result {
        put_digits(self.next(digits_of(number).max(width))?, number);
        Ok(())
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
