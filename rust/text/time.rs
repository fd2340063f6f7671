// SPDX-License-Identifier: GPL-2.0
//! Prints the stamps of clocks that count nanoseconds.
//!
//! Called by the lines of events and by `stats`.

use core::fmt;

use super::piece::Piece;

/// Microseconds of a second.
pub(super) const US_PER_S: u64 = 1_000_000;

/// Returns nanoseconds as microseconds, rounded to the nearest.
pub(crate) fn microseconds(ns: u64) -> u64 {
    const NS_PER_US: u64 = 1_000;

    ns.saturating_add(NS_PER_US / 2) / NS_PER_US
}

/// Prints nanoseconds as seconds, at least five columns wide, with six digits of microseconds. Half
/// a microsecond is rounded up, as in ftrace and in programs that read the binary stamps.
pub(crate) struct Seconds(pub(crate) u64);

impl fmt::Display for Seconds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = microseconds(self.0);

        write!(out, "{:5}.{:06}", us / US_PER_S, us % US_PER_S)
    }
}

/// Appends [`Seconds`] to a line.
pub(crate) fn put(ns: u64, text: &mut Piece) -> fmt::Result {
    let us = microseconds(ns);
    text.right(us / US_PER_S, 5)?;
    text.bytes_of(b".")?;
    text.zeros(us % US_PER_S, 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table() {
        let rows = [
            (0, "    0.000000"),
            (499, "    0.000000"),
            (500, "    0.000001"),
            (1_499, "    0.000001"),
            (1_500, "    0.000002"),
            (999_999_499, "    0.999999"),
            (999_999_500, "    1.000000"),
            (1_000_000_000, "    1.000000"),
            (12_345_678_901_234, "12345.678901"),
            (12_345_678_901_567, "12345.678902"),
            (123_456_000_000_000, "123456.000000"),
            (u64::MAX, "18446744073.709551"),
        ];
        for (ns, expected) in rows {
            assert_eq!(Seconds(ns).to_string(), expected);
            assert_eq!(put_of(ns), expected);
        }
    }

    fn put_of(ns: u64) -> String {
        let mut text = Piece::new();

        put(ns, &mut text).unwrap();
        String::from_utf8(text.bytes().to_vec()).unwrap()
    }

    proptest! {
        #[test]
        fn both_ways_are_the_same(ns: u64, bits in 0u32..64) {
            let ns = ns >> bits;
            prop_assert_eq!(put_of(ns), Seconds(ns).to_string());
        }
    }
}
