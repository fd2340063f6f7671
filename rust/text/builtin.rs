// SPDX-License-Identifier: GPL-2.0
//! How the records that no tracepoint makes are printed.
//!
//! Called by `trace` and `trace_pipe` for the entries of the system `ftrace`. The records are complete,
//! with the eight common bytes in front.

use core::fmt;

use super::{
    word,
    writer::ByteWrite, //
};

/// The address at which a marker was written.
pub(crate) fn marker_address(record: &[u8]) -> Option<u64> {
    Some(u64::from_ne_bytes(*record.get(8..)?.first_chunk()?))
}

/// Writes the text of a marker: where it was written, the name of that address or without one the
/// address, and what, which ends with a newline of its own.
pub(crate) fn write_marker(
    record: &[u8],
    symbol: Option<&str>,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    match symbol {
        Some(symbol) => out.write_str(symbol)?,
        None => write!(out, "{:#010x}", marker_address(record).unwrap_or(0))?,
    }
    out.write_str(": ")?;
    out.write_bytes(word::c_string(record.get(16..).unwrap_or_default()))
}

/// Writes the line of a binary marker: its number and its bytes.
pub(crate) fn write_raw_data(record: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    let number = record.get(8..).and_then(<[u8]>::first_chunk);

    write!(
        out,
        "# {:x} buf:",
        number.map_or(0, |number| u32::from_ne_bytes(*number))
    )?;
    for byte in record.get(12..).unwrap_or_default() {
        write!(out, " {byte:02x}")?;
    }
    out.write_char('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(text: &[u8]) -> Vec<u8> {
        [
            &[5, 0, 0, 1, 9, 0, 0, 0],
            &0xffff_ffff_8123_4567_u64.to_ne_bytes()[..],
            text,
        ]
        .concat()
    }

    #[test]
    fn markers() {
        let rows: [(&[u8], &str); 4] = [
            (b"hello\n\0", "tracing_mark_write: hello\n"),
            (b"two\nlines\n\0\0", "tracing_mark_write: two\nlines\n"),
            (b"", "tracing_mark_write: "),
            (b"never ends", "tracing_mark_write: never ends"),
        ];
        for (text, expected) in rows {
            let mut line = String::new();

            write_marker(&marker(text), Some("tracing_mark_write"), &mut line).unwrap();
            assert_eq!(line, expected);
        }
        let mut line = String::new();

        write_marker(&marker(b"x\n\0"), None, &mut line).unwrap();
        assert_eq!(line, "0xffffffff81234567: x\n");
        assert_eq!(marker_address(&marker(b"")), Some(0xffff_ffff_8123_4567));
        assert_eq!(marker_address(&marker(b"")[..15]), None);
    }

    #[test]
    fn binary_markers() {
        let rows: [(&[u8], &str); 4] = [
            (&[0x34, 0x12, 0, 0, 0, 0xff, 0x0a], "# 1234 buf: 00 ff 0a\n"),
            (&[1, 0, 0, 0], "# 1 buf:\n"),
            (&[1], "# 0 buf:\n"),
            (&[], "# 0 buf:\n"),
        ];
        for (body, expected) in rows {
            let mut line = String::new();
            let record = [&[19, 0, 0, 0, 1, 0, 0, 0], body].concat();

            write_raw_data(&record, &mut line).unwrap();
            assert_eq!(line, expected);
        }
    }
}
