// SPDX-License-Identifier: GPL-2.0

//! The numbers that a comparison holds for, as an interval.
//!
//! A field of 1, 2, 4 or 8 bytes is the upper bytes of a word of 64 bits, so that the arithmetic
//! of words wraps where the field does. Then each of `==`, `!=`, `<`, `<=`, `>` and `>=` names an
//! interval of the circle of all words, for signed fields as for others, and a record is tested
//! without a branch. `&` fits in, too: what it leaves of the bits is not 0.

use super::op::Op;

/// The words whose bits in `and` are a number from `low` to `low + span`, modulo 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    and: u64,
    low: u64,
    span: u64,
}

impl Range {
    /// The range that holds for all words.
    pub(crate) const ALL: Self = Self {
        and: 0,
        low: 0,
        span: u64::MAX,
    };

    /// The range that holds for no word.
    const NONE: Self = Self {
        and: 0,
        low: 1,
        span: 0,
    };

    /// Returns the range that holds for fields of `size` bytes, 1, 2, 4 or 8, that are `op` to
    /// `value`, or for those that have a bit of `value` when `op` is an operator
    /// that is no comparison.
    pub(super) fn new(op: Op, value: u64, size: u32, signed: bool) -> Self {
        let unused = 64u32.wrapping_sub(size.wrapping_mul(8));
        let and = u64::MAX.wrapping_shl(unused);
        let value = value.wrapping_shl(unused);
        let least: u64 = if signed { 1 << 63 } else { 0 };
        let range = |low, high: u64| Self {
            and,
            low,
            span: high.wrapping_sub(low),
        };
        // All bits below the field are 0.
        let (up_to, from) = (
            |high| range(least, high),
            |low| range(low, least.wrapping_sub(1) & and),
        );
        match op {
            Op::Eq => range(value, value),
            Op::Ne => range(value, value).others(),
            Op::Le => up_to(value),
            Op::Gt => up_to(value).others(),
            Op::Ge => from(value),
            Op::Lt => from(value).others(),
            Op::And | Op::Glob => Self {
                and: value,
                low: 0,
                span: 0,
            }
            .others(),
        }
    }

    /// Returns the range that holds for exactly the words that this one does not hold for.
    pub(super) fn others(self) -> Self {
        let Some(behind) = self.span.checked_add(1) else {
            return Self::NONE;
        };
        Self {
            and: self.and,
            low: self.low.wrapping_add(behind),
            span: u64::MAX.wrapping_sub(behind),
        }
    }

    /// Returns whether the range holds for the field in the upper bytes of `word`.
    #[inline(always)]
    pub(crate) fn holds(&self, word: u64) -> bool {
        (word & self.and).wrapping_sub(self.low) <= self.span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPS: [(Op, fn(i128, i128) -> bool); 6] = [
        (Op::Eq, |a, b| a == b),
        (Op::Ne, |a, b| a != b),
        (Op::Lt, |a, b| a < b),
        (Op::Le, |a, b| a <= b),
        (Op::Gt, |a, b| a > b),
        (Op::Ge, |a, b| a >= b),
    ];

    /// Returns the number that the lowest `size` bytes of a word are.
    fn wide(value: u64, size: u32, signed: bool) -> i128 {
        let values = 1i128 << (8 * size);
        let value = i128::from(value) & (values - 1);
        match signed && value >= values / 2 {
            true => value - values,
            false => value,
        }
    }

    fn check(size: u32, signed: bool, found: u64, value: u64) {
        // The bytes of the word that are not the field's do not matter.
        for below in [0, u64::MAX] {
            let unused = 64 - 8 * size;
            let word = (found << unused) | below.checked_shr(8 * size).unwrap_or(0);
            let what = || format!("{found:#x}, {value:#x}, {size} bytes, signed: {signed}");
            for (op, right) in OPS {
                let right = right(wide(found, size, signed), wide(value, size, signed));
                let range = Range::new(op, value, size, signed);
                assert_eq!(range.holds(word), right, "{op:?} {}", what());
                assert_eq!(range.others().holds(word), !right, "not {op:?} {}", what());
            }
            let right = wide(found & value, size, false) != 0;
            let range = Range::new(Op::And, value, size, signed);
            assert_eq!(range.holds(word), right, "& {}", what());
            assert_eq!(range.others().holds(word), !right, "not & {}", what());
        }
    }

    #[test]
    fn every_byte_is_compared_as_a_number() {
        for signed in [false, true] {
            for found in 0..=255 {
                for value in 0..=255 {
                    check(1, signed, found, value);
                    // The bits of a value that are above the field are cut off.
                    check(1, signed, found, value | 0xff00);
                }
            }
        }
    }

    #[test]
    fn wide_numbers_are_compared_where_they_go_around() {
        for size in [2, 4, 8] {
            let half = 1u64 << (8 * size - 1);
            let mut edges = vec![];
            for edge in [
                0,
                1,
                0x80,
                0x100,
                half,
                half.wrapping_mul(2),
                0x5555_5555_5555_5555,
            ] {
                edges.extend([edge.wrapping_sub(1), edge, edge.wrapping_add(1)]);
            }
            for found in &edges {
                for value in &edges {
                    check(size, false, *found, *value);
                    check(size, true, *found, *value);
                }
            }
        }
    }

    #[test]
    fn all_and_none_are_each_others_others() {
        assert_eq!(Range::ALL.others(), Range::NONE);
        for word in [0, 1, 1 << 63, u64::MAX] {
            assert!(Range::ALL.holds(word));
            assert!(!Range::NONE.holds(word));
            assert!(Range::NONE.others().holds(word));
        }
    }
}
