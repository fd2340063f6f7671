// SPDX-License-Identifier: GPL-2.0
//! Prints the records that no tracepoint makes.
//!
//! Called by `trace` and `trace_pipe` for the entries of the system `ftrace`. The records are
//! complete, beginning with the eight bytes of the common fields.

use core::fmt;

use super::{
    word,
    writer::ByteWrite, //
};

/// Returns the address from which a marker was written.
pub(crate) fn marker_address(record: &[u8]) -> Option<u64> {
    Some(u64::from_ne_bytes(*record.get(8..)?.first_chunk()?))
}

/// Returns the text of a marker, which ends with a newline of its own.
pub(crate) fn marker_text(record: &[u8]) -> &[u8] {
    word::c_string(record.get(16..).unwrap_or_default())
}

/// Writes a marker under the option `raw`.
pub(crate) fn write_raw_marker(record: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    write!(out, "# {:x} ", marker_address(record).unwrap_or(0))?;
    out.write_bytes(marker_text(record))
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
        let rows: [(&[u8], &[u8]); 4] = [
            (b"hello\n\0", b"hello\n"),
            (b"two\nlines\n\0\0", b"two\nlines\n"),
            (b"", b""),
            (b"never ends", b"never ends"),
        ];
        for (text, expected) in rows {
            assert_eq!(marker_text(&marker(text)), expected);
        }
        let mut line = String::new();

        write_raw_marker(&marker(b"x\n\0"), &mut line).unwrap();
        assert_eq!(line, "# ffffffff81234567 x\n");
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
