// SPDX-License-Identifier: GPL-2.0
//! Writes strings and bytes as JSON.
//!
//! Names of tasks and strings in records are arbitrary bytes, but JSON is valid UTF-8. Called for
//! `trace_pipe_json` and by `event::json`.

use super::{
    piece::Piece,
    word::{
        few_bytes,
        ONES, //
    },
    writer::ByteWrite, //
};
use core::fmt;

/// Longest plain string that is put together before it is written.
const SHORT: usize = 64;

/// Writes `bytes` as a string with its quotes. Bytes that are not UTF-8 become U+FFFD.
pub(crate) fn write_string(bytes: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    // Nearly all are, and each event has some.
    if bytes.len() <= SHORT && is_plain(bytes) {
        let mut text = Piece::new();
        text.bytes_of(b"\"")?;
        text.bytes_of(bytes)?;
        text.bytes_of(b"\"")?;
        return text.write_to(out);
    }
    out.write_str("\"")?;
    write_inside(bytes, out)?;
    out.write_str("\"")
}

/// Writes `bytes` as a part of a string, which begins and ends where characters do.
pub(crate) fn write_inside(bytes: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    if is_plain(bytes) {
        return out.write_bytes(bytes);
    }
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find(needs_escape) {
            let (plain, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
            out.write_str(plain)?;
            let mut chars = from.chars();
            if let Some(special) = chars.next() {
                write_escaped(special, out)?;
            }
            rest = chars.as_str();
        }
        out.write_str(rest)?;
        if !chunk.invalid().is_empty() {
            out.write_char(char::REPLACEMENT_CHARACTER)?;
        }
    }
    Ok(())
}

/// Returns whether all of `bytes` are ASCII that is not to be escaped. It looks at eight bytes at a time.
fn is_plain(bytes: &[u8]) -> bool {
    let (mut rest, mut odd) = (bytes, 0);
    while let Some((word, behind)) = rest.split_first_chunk() {
        odd |= odd_bytes(u64::from_le_bytes(*word));
        rest = behind;
    }
    // Letters in the place of bytes that are not there.
    let letters =
        (ONES.wrapping_mul(b'a'.into())).wrapping_shl((rest.len() as u32).wrapping_mul(8));
    odd |= odd_bytes(few_bytes(rest) | letters);
    odd & (ONES << 7) == 0
}

/// Returns a number with the highest bit of each byte of a word that is not ASCII or has to be escaped. Those above the first
/// of them may have it as well; those below are right.
#[inline(always)]
fn odd_bytes(word: u64) -> u64 {
    let each = |byte: u8| ONES.wrapping_mul(byte.into());
    let is = |byte: u8| (word ^ each(byte)).wrapping_sub(ONES);
    let is_control = word.wrapping_sub(each(b' '));
    let is_delete = word.wrapping_add(ONES);
    word | is_control | is_delete | is(b'"') | is(b'\\')
}

/// Returns whether a character must be escaped: those that JSON demands, and DEL, which terminals
/// obey.
fn needs_escape(char: char) -> bool {
    matches!(char, '"' | '\\' | '\0'..='\x1f' | '\x7f')
}

fn write_escaped(char: char, out: &mut dyn ByteWrite) -> fmt::Result {
    match char {
        '"' => out.write_str("\\\""),
        '\\' => out.write_str("\\\\"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        other => write!(out, "\\u{:04x}", u32::from(other)),
    }
}

/// Writes `bytes` as a string of two hexadecimal digits each.
pub(crate) fn write_hex(bytes: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    out.write_char('"')?;
    for byte in bytes {
        write!(out, "{byte:02x}")?;
    }
    out.write_char('"')
}

/// Writes the object that precedes the next event of `cpu` if its reader missed `events` events.
pub(crate) fn write_lost(cpu: u32, events: u64, out: &mut dyn ByteWrite) -> fmt::Result {
    match events {
        0 => Ok(()),
        events => writeln!(out, "{{\"cpu\":{cpu},\"lost\":{events}}}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings() {
        let rows: [(&[u8], &str); 9] = [
            (b"", r#""""#),
            (b"bash", r#""bash""#),
            (b"a\"b\\c", r#""a\"b\\c""#),
            (b"\n\r\t\0\x1f\x7f", r#""\n\r\t\u0000\u001f\u007f""#),
            (
                "h\u{e9}llo \u{1f600}".as_bytes(),
                "\"h\u{e9}llo \u{1f600}\"",
            ),
            (b"\xff", "\"\u{fffd}\""),
            (b"a\xe2\x82", "\"a\u{fffd}\""),
            (b"\xc3(\xa0\xa1x", "\"\u{fffd}(\u{fffd}\u{fffd}x\""),
            (b"\"\xff\"", "\"\\\"\u{fffd}\\\"\""),
        ];
        for (bytes, wanted) in rows {
            let mut text = String::new();

            write_string(bytes, &mut text).unwrap();
            assert_eq!(text, wanted, "{bytes:?}");
        }
    }

    /// Each byte at each place of strings of each length around a word.
    #[test]
    fn one_odd_byte_among_plain_ones() {
        for (len, byte) in (1..=17).flat_map(|len| (0..=255).map(move |byte| (len, byte))) {
            for at in 0..len {
                let mut bytes = vec![b'~'; len];
                bytes[at] = byte;
                let plain = byte.is_ascii() && !needs_escape(char::from(byte));
                assert_eq!(is_plain(&bytes), plain, "{bytes:?}");
            }
        }
        assert!(is_plain(b""));
    }

    #[test]
    fn bytes_and_losses() {
        let mut text = String::new();

        write_hex(&[0, 0x9a, 0xff], &mut text).unwrap();
        write_hex(&[], &mut text).unwrap();
        write_lost(1, 0, &mut text).unwrap();
        write_lost(2, 17, &mut text).unwrap();
        assert_eq!(text, "\"009aff\"\"\"{\"cpu\":2,\"lost\":17}\n");
    }
}
