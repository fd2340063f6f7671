// SPDX-License-Identifier: GPL-2.0

//! The number that a word of a record begins with.
//!
//! Histograms and probes of events find these bits when they are made, so that their writers read a number of any
//! size and sign by the same few instructions.

/// The bits of a word that are a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberBits {
    /// The bits, at the lower end of the word.
    mask: u64,
    /// The highest of them for a number with a sign, else 0.
    sign: u64,
}

impl NumberBits {
    /// The bits of no number.
    pub(crate) const NONE: Self = Self { mask: 0, sign: 0 };

    /// Returns those of a number in a word that has `unused` bits above it, fewer than 64.
    pub(crate) const fn below(unused: u32, signed: bool) -> Self {
        let mask = u64::MAX.wrapping_shr(unused);
        let sign = match signed {
            true => mask ^ mask.wrapping_shr(1),
            false => 0,
        };
        Self { mask, sign }
    }

    /// Returns the number, extended by its sign if it has one. Any context.
    #[inline(always)]
    pub(crate) fn of(self, word: u64) -> u64 {
        ((word & self.mask) ^ self.sign).wrapping_sub(self.sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_each_size() {
        let word = 0x8899_aabb_ccdd_eeff;
        let rows = [
            (56, false, 0xff),
            (56, true, u64::MAX),
            (48, false, 0xeeff),
            (48, true, -0x1101i64 as u64),
            (32, false, 0xccdd_eeff),
            (32, true, i64::from(0xccdd_eeffu32 as i32) as u64),
            (0, false, word),
            (0, true, word),
            (1, false, 0x0899_aabb_ccdd_eeff),
        ];
        for (unused, signed, number) in rows {
            let bits = NumberBits::below(unused, signed);
            assert_eq!(bits.of(word), number, "{unused} {signed}");
        }
        assert_eq!(NumberBits::below(56, true).of(0x17f), 0x7f);
        assert_eq!(NumberBits::NONE.of(word), 0);
    }
}
