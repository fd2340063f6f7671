// SPDX-License-Identifier: GPL-2.0
//! What the function profiler shows: a line for each function that was called, with what its calls sum up to.

use super::{
    graph,
    writer::ByteWrite, //
};
use core::fmt;

/// The bytes of a name that are shown, and the width of its column.
const NAME_SHOWN: usize = 30;
/// The kernel divides squares of nanoseconds by it, and prints the result as if it were a time.
const NS_PER_US: u128 = 1_000;

/// What is known of the calls of a function on one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProfileTotals {
    pub(crate) hits: u64,
    /// The sum of the times of those that have returned, in nanoseconds.
    pub(crate) time: u64,
    /// The sum of their squares.
    pub(crate) squares: u128,
}

impl ProfileTotals {
    /// Returns the sums of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            hits: self.hits.wrapping_add(other.hits),
            time: self.time.wrapping_add(other.time),
            squares: self.squares.wrapping_add(other.squares),
        }
    }

    /// Returns the time of a call on average, in nanoseconds.
    pub(crate) fn average(&self) -> u64 {
        self.time.checked_div(self.hits).unwrap_or(0)
    }

    /// Returns the variance of the times as the kernel computes it, divided by 1000. A number of more than 64
    /// bits becomes the largest.
    fn variance(&self) -> u64 {
        let hits = u128::from(self.hits);
        let less_one = u128::from(self.hits.saturating_sub(1));
        let time = u128::from(self.time);
        let square = time.wrapping_mul(time);
        let (over, under) = match product(self.hits, self.squares) {
            Some(over) => (over.saturating_sub(square), hits.wrapping_mul(less_one)),
            // The same, where a factor more does not fit: to the last digit but a few.
            None => (
                self.squares.saturating_sub(quotient(square, hits)),
                less_one,
            ),
        };
        let under = under.checked_mul(NS_PER_US).unwrap_or(u128::MAX);
        u64::try_from(quotient(over, under)).unwrap_or(u64::MAX)
    }
}

/// Returns `factor` times `number`, unless that has more than 128 bits.
fn product(factor: u64, number: u128) -> Option<u128> {
    let factor = u128::from(factor);
    let low = factor.wrapping_mul(number & u128::from(u64::MAX));
    let high = factor.wrapping_mul(number >> u64::BITS);
    match high >> u64::BITS {
        0 => low.checked_add(high << u64::BITS),
        _ => None,
    }
}

/// Returns `over` divided by `under`; 0 when that is 0. The kernel has no division of so many bits.
fn quotient(over: u128, under: u128) -> u128 {
    if under == 0 {
        return 0;
    }
    let (mut result, mut rest) = (0u128, 0u128);
    for bit in (0..u128::BITS).rev() {
        // What is shifted out would make it larger than any divisor.
        let is_out = rest >> (u128::BITS - 1) != 0;
        rest = (rest << 1) | (over.wrapping_shr(bit) & 1);
        result <<= 1;
        if is_out || rest >= under {
            rest = rest.wrapping_sub(under);
            result |= 1;
        }
    }
    result
}

/// Writes the names of the columns; those of times as well if it is `timed`.
pub(crate) fn write_header(timed: bool, out: &mut dyn ByteWrite) -> fmt::Result {
    out.write_str(match timed {
        true => {
            "  Function                               Hit    Time            Avg             s^2\n  \
             --------                               ---    ----            ---             ---\n"
        }
        false => {
            "  Function                               Hit\n  \
             --------                               ---\n"
        }
    })
}

/// Writes the line of the function `name`.
pub(crate) fn write_line(
    name: &[u8],
    totals: &ProfileTotals,
    timed: bool,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    let shown = name.get(..NAME_SHOWN).unwrap_or(name);
    out.write_str("  ")?;
    out.write_bytes(shown)?;
    let blanks = NAME_SHOWN.saturating_sub(shown.len());
    write!(out, "{:blanks$}  {:10}", "", totals.hits)?;
    if timed {
        for ns in [totals.time, totals.average(), totals.variance()] {
            out.write_str("    ")?;
            graph::write_time(ns, out)?;
        }
    }
    out.write_char('\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn of(times: &[u64]) -> ProfileTotals {
        ProfileTotals {
            hits: times.len() as u64,
            time: times.iter().sum(),
            squares: times.iter().map(|ns| u128::from(*ns).pow(2)).sum(),
        }
    }

    fn line(name: &str, totals: &ProfileTotals, timed: bool) -> String {
        let mut text = String::new();
        write_line(name.as_bytes(), totals, timed, &mut text).unwrap();
        text
    }

    #[test]
    fn lines_are_those_of_the_kernel() {
        assert_eq!(
            line("vfs_read", &of(&[1500, 2500, 4000]), true),
            "  vfs_read                                 3    8.000 us        2.666 us        1.583 us    \n"
        );
        assert_eq!(
            line("schedule", &of(&[7]), true),
            "  schedule                                 1    0.007 us        0.007 us        0.000 us    \n"
        );
        assert_eq!(
            line("a_name_that_is_longer_than_its_column", &of(&[]), false),
            "  a_name_that_is_longer_than_its           0\n"
        );
        let long = line("f", &of(&[3_000_000_000, 5_000_000_000]), true);
        assert!(
            long.ends_with("8000000 us      4000000 us      2000000000000 us \n"),
            "{long}"
        );
    }

    #[test]
    fn headers_are_as_wide_as_lines() {
        let mut text = String::new();
        write_header(true, &mut text).unwrap();
        write_header(false, &mut text).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0].starts_with(lines[2]) && lines[1].starts_with(lines[3]));
        assert_eq!(lines[0].find("Hit"), lines[1].find("---    ----"));
    }

    /// In the kernel's formula, where its 64 bits are enough.
    #[test]
    fn variances_are_those_of_the_kernel() {
        let mut random = Random::new(1);
        let mut next = |bits| random.bits(bits);
        for _ in 0..2000 {
            let times: Vec<_> = (0..1 + next(4)).map(|_| next(20)).collect();
            let totals = of(&times);
            let (n, squares) = (totals.hits, totals.squares as u64);
            let under = n * (n - 1) * 1000;
            let over = n * squares - totals.time * totals.time;
            assert_eq!(
                totals.variance(),
                over.checked_div(under).unwrap_or(0),
                "{times:?}"
            );
        }
    }

    #[test]
    fn large_sums_are_exact_or_the_largest() {
        // 64 bits of a square are gone after 4.3 seconds.
        assert_eq!(of(&[0, 10_000_000_000]).variance(), 50_000_000_000_000_000);
        let huge = ProfileTotals {
            hits: 1 << 40,
            time: 1 << 63,
            squares: u128::MAX,
        };
        // By the other way: the sum of squares is nearly all.
        assert_eq!(huge.variance(), u64::MAX);
        let even = ProfileTotals {
            hits: 1 << 60,
            time: u64::MAX,
            squares: 1 << 70,
        };
        assert!(even.variance() <= 1);
        assert_eq!(ProfileTotals::default().average(), 0);
    }

    #[test]
    fn quotients_are_exact() {
        let numbers = [
            0,
            1,
            2,
            3,
            1000,
            u128::from(u64::MAX),
            1 << 127,
            u128::MAX - 1,
            u128::MAX,
        ];
        for over in numbers {
            for under in numbers {
                assert_eq!(quotient(over, under), over.checked_div(under).unwrap_or(0));
            }
            for factor in [0, 1, 3, u64::MAX] {
                assert_eq!(product(factor, over), over.checked_mul(factor.into()));
            }
        }
    }
}
