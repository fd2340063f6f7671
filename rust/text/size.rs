// SPDX-License-Identifier: GPL-2.0
//! How sizes of buffers are read and written.
//!
//! Called by `buffer_size_kb` (of an instance and of one CPU) and `buffer_total_size_kb`.

use core::fmt;

use super::{
    errno::Errno,
    number, //
};

/// The size of the buffers of one CPU or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeKb {
    /// Every buffer has so many KiB.
    Kb(u64),
    /// They differ.
    Mixed,
}

impl SizeKb {
    /// Writes the text of `buffer_size_kb`. `expanded` is the size that the buffers are going to have
    /// once they are used, as long as they are not; the file of one CPU never says it.
    pub(crate) fn write_text(self, expanded: Option<u64>, out: &mut dyn fmt::Write) -> fmt::Result {
        match self {
            SizeKb::Kb(kb) => write_total(kb, expanded, out),
            SizeKb::Mixed => out.write_str("X\n"),
        }
    }
}

/// Writes the text of `buffer_total_size_kb`.
pub(crate) fn write_total(kb: u64, expanded: Option<u64>, out: &mut dyn fmt::Write) -> fmt::Result {
    match expanded {
        Some(expanded) => writeln!(out, "{kb} (expanded: {expanded})"),
        None => writeln!(out, "{kb}"),
    }
}

/// Parses a write to `buffer_size_kb`. The answer is never 0 and may be more than there is memory.
pub(crate) fn parse(input: &[u8]) -> Result<u64, Errno> {
    match number::parse(input)? {
        0 => Err(Errno::Inval),
        kb => Ok(kb),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let rows = [
            (SizeKb::Kb(7), Some(1408), "7 (expanded: 1408)\n"),
            (SizeKb::Kb(1410), None, "1410\n"),
            (SizeKb::Mixed, None, "X\n"),
            (SizeKb::Mixed, Some(1408), "X\n"),
        ];
        for (size, expanded, expected) in rows {
            let mut text = String::new();

            size.write_text(expanded, &mut text).unwrap();
            assert_eq!(text, expected);
        }
        let mut text = String::new();

        write_total(14, Some(2816), &mut text).unwrap();
        write_total(2820, None, &mut text).unwrap();
        assert_eq!(text, "14 (expanded: 2816)\n2820\n");
    }

    #[test]
    fn writes() {
        assert_eq!(parse(b"100\n"), Ok(100));
        assert_eq!(parse(b"0\n"), Err(Errno::Inval));
        assert_eq!(parse(b"-1\n"), Err(Errno::Inval));
        assert_eq!(parse(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse(b"18446744073709551616"), Err(Errno::Range));
    }
}
