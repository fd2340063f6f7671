// SPDX-License-Identifier: GPL-2.0
//! Parses and prints sizes of buffers.
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
    /// All buffers have this many KiB.
    Kb(u64),
    /// The sizes differ.
    Mixed,
}

impl SizeKb {
    /// Writes the text of `buffer_size_kb`. `expanded` is the size that unused buffers will get at
    /// their first use, `None` for buffers in use and in the file of one CPU.
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

/// Parses a write to `buffer_size_kb`. The result may exceed the memory of the machine.
///
/// # Errors
///
/// Those of [`number::parse`], and `Inval` for 0.
pub(crate) fn parse(input: &[u8]) -> Result<u64, Errno> {
    match number::parse(input)? {
        0 => Err(Errno::Inval),
        kb => Ok(kb),
    }
}

/// KiB per page.
const PAGE_KB: u64 = 4;
/// Number of pages of the largest sub-buffer.
const MOST_PAGES: u64 = 128;

/// Parses a write to `buffer_subbuf_size_kb`. Returns the order of the smallest sub-buffer that has
/// this many KiB: its number of pages is a power of two.
///
/// # Errors
///
/// Those of [`number::parse`], and `Inval` for 0 and for more than [`MOST_PAGES`].
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
