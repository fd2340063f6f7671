// SPDX-License-Identifier: GPL-2.0
//! How sizes of buffers are read and written.
//!
//! Called by `buffer_size_kb` (of an instance and of one CPU), `buffer_total_size_kb` and
//! `buffer_subbuf_size_kb`.

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

/// KiB of a page.
const PAGE_KB: u64 = 4;
/// Pages of the largest sub-buffer.
const MOST_PAGES: u64 = 128;

/// Parses a write to `buffer_subbuf_size_kb`: the order of the smallest sub-buffer of so many KiB, a
/// power of two of pages.
pub(crate) fn parse_subbuf_order(input: &[u8]) -> Result<u32, Errno> {
    match number::parse(input)?.div_ceil(PAGE_KB) {
        pages @ 1..=MOST_PAGES => Ok(pages.next_power_of_two().trailing_zeros()),
        _ => Err(Errno::Inval),
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

    #[test]
    fn sub_buffer_sizes() {
        let rows = [
            (1, 0),
            (4, 0),
            (5, 1),
            (8, 1),
            (9, 2),
            (16, 2),
            (17, 3),
            (256, 6),
            (257, 7),
            (512, 7),
        ];
        for (kb, order) in rows {
            assert_eq!(
                parse_subbuf_order(format!("{kb}\n").as_bytes()),
                Ok(order),
                "{kb}"
            );
        }
        for refused in [
            "0",
            "513",
            "1048576",
            "18014398509481984",
            "18446744073709551615",
            "x",
        ] {
            assert_eq!(
                parse_subbuf_order(refused.as_bytes()),
                Err(Errno::Inval),
                "{refused}"
            );
        }
        assert_eq!(
            parse_subbuf_order(b"18446744073709551616"),
            Err(Errno::Range)
        );
    }
}
