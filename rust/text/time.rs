// SPDX-License-Identifier: GPL-2.0
//! How a stamp of a clock in nanoseconds is printed.
//!
//! Called by the lines of events and by `stats`.

use core::fmt;

/// Prints nanoseconds as seconds, at least five wide, and six digits of microseconds, cut and not
/// rounded.
pub(crate) struct Seconds(pub(crate) u64);

impl fmt::Display for Seconds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NS_PER_US: u64 = 1_000;
        const US_PER_S: u64 = 1_000_000;

        let us = self.0 / NS_PER_US;

        write!(out, "{:5}.{:06}", us / US_PER_S, us % US_PER_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        let rows = [
            (0, "    0.000000"),
            (999, "    0.000000"),
            (1_999, "    0.000001"),
            (999_999_999, "    0.999999"),
            (1_000_000_000, "    1.000000"),
            (12_345_678_901_234, "12345.678901"),
            (123_456_000_000_000, "123456.000000"),
            (u64::MAX, "18446744073.709551"),
        ];
        for (ns, expected) in rows {
            assert_eq!(Seconds(ns).to_string(), expected);
        }
    }
}
