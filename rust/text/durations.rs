// SPDX-License-Identifier: GPL-2.0
//! How long calls of a function took, counted by powers of two, and the lines that show it.

use super::writer::ByteWrite;
use core::fmt;

/// Ranges of durations: one for 0, then one for each power of two; the last one has no end.
const RANGES: usize = 64;
/// The longest bar of a line.
const BAR: u64 = 20;
/// The column of a function.
const NAME_COLUMN: usize = 30;

/// The first line.
pub(crate) const DURATION_COLUMNS: &str =
    "# function                             from ns           to ns           calls\n";

/// The calls of a function by how long they took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallDurations {
    /// The time of all calls, in nanoseconds.
    total: u64,
    counts: [u64; RANGES],
}

impl CallDurations {
    /// Those of no calls.
    pub(crate) const NONE: Self = Self {
        total: 0,
        counts: [0; RANGES],
    };

    /// Counts a call that took so many nanoseconds.
    pub(crate) fn add(&mut self, duration: u64) {
        let bits = u64::BITS.wrapping_sub(duration.leading_zeros()) as usize;
        let last = RANGES.saturating_sub(1);
        if let Some(count) = self.counts.get_mut(bits.min(last)) {
            *count = count.saturating_add(1);
        }
        self.total = self.total.saturating_add(duration);
    }

    /// Returns the time of all calls, in nanoseconds.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Writes a line for each range in which there are calls, with the name that `write_name` writes and says the
    /// length of.
    pub(crate) fn write(
        &self,
        write_name: &mut dyn FnMut(&mut dyn ByteWrite) -> Result<usize, fmt::Error>,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        for (bits, count) in (0u32..).zip(self.counts) {
            if count == 0 {
                continue;
            }
            let len = write_name(out)?;
            for _ in len..NAME_COLUMN {
                out.write_char(' ')?;
            }
            let from = 1u64.checked_shl(bits.wrapping_sub(1)).unwrap_or(0);
            let to = 1u64.wrapping_shl(bits).wrapping_sub(1);
            write!(out, "  {from:>14}  {to:>14}  {count:>14}  ")?;
            // At least one, so that no call is overlooked.
            let marks = count.saturating_mul(BAR).checked_div(most);
            for _ in 0..marks.unwrap_or(0).max(1) {
                out.write_char('#')?;
            }
            out.write_char('\n')?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(durations: &[u64]) -> String {
        let mut counted = CallDurations::NONE;
        durations.iter().for_each(|ns| counted.add(*ns));
        let mut text = String::new();
        let mut name = |out: &mut dyn ByteWrite| out.write_str("f").map(|()| 1);
        counted.write(&mut name, &mut text).expect("a text");
        text
    }

    #[test]
    fn each_range_has_a_line() {
        let line = |from: u64, to: u64, count: u64, bar: usize| {
            let name = format!("f{}", " ".repeat(29));
            format!(
                "{name}  {from:>14}  {to:>14}  {count:>14}  {}\n",
                "#".repeat(bar)
            )
        };
        assert_eq!(shown(&[]), "");
        assert_eq!(shown(&[0]), line(0, 0, 1, 20));
        assert_eq!(
            shown(&[1, 2, 3, 1023, 1024]),
            line(1, 1, 1, 10)
                + &line(2, 3, 2, 20)
                + &line(512, 1023, 1, 10)
                + &line(1024, 2047, 1, 10)
        );
        let last = line(1 << 62, (1 << 63) - 1, 2, 20);
        assert_eq!(shown(&[1 << 62, u64::MAX]), last);
        let many: Vec<_> = (0..1000).map(|_| 5).chain([6_000]).collect();
        assert_eq!(shown(&many), line(4, 7, 1000, 20) + &line(4096, 8191, 1, 1));
    }

    #[test]
    fn columns_are_those_of_lines() {
        let line = shown(&[5]);
        let end = line.rfind(" 1  #").expect("a line") + 2;
        assert_eq!(end, DURATION_COLUMNS.trim_end().len());
    }
}
