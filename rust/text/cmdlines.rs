// SPDX-License-Identifier: GPL-2.0
//! The texts of `saved_cmdlines`, `saved_cmdlines_size` and `saved_tgids`.

use core::fmt;

use super::{
    errno::Errno,
    number,
    word,
    writer::ByteWrite, //
};

/// Writes the line of a task. Its name ends at the first NUL.
pub(crate) fn write_line(pid: i32, comm: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    write!(out, "{pid} ")?;
    out.write_bytes(word::c_string(comm))?;
    out.write_char('\n')
}

/// Number of tasks that are remembered unless a user asks for more; fewer would lose names and save
/// little memory.
pub(crate) const FEWEST: usize = 8192;
/// Largest number that a user may ask for.
const MOST: u64 = 32768;

/// Returns the number of tasks that a write to `saved_cmdlines_size` asks for, as a power of two.
///
/// # Errors
///
/// `Inval` if it is not a number from 1 to 32768, `Range` if it exceeds 64 bits.
pub(crate) fn parse_size(input: &[u8]) -> Result<usize, Errno> {
    match number::parse(input)? {
        wanted @ 1..=MOST => Ok((wanted as usize).next_power_of_two().max(FEWEST)),
        _ => Err(Errno::Inval),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::writer::Bytes;

    #[test]
    fn lines() {
        let mut out = Bytes::default();

        write_line(1, b"systemd\0\0\0\0\0\0\0\0\0", &mut out).unwrap();
        write_line(4321, b"kworker/0:1 x\xff\xfe\0", &mut out).unwrap();
        write_line(9, b"\0", &mut out).unwrap();
        assert_eq!(out.0, b"1 systemd\n4321 kworker/0:1 x\xff\xfe\n9 \n");
    }

    #[test]
    fn sizes() {
        let rows: [(&[u8], Result<usize, Errno>); 10] = [
            (b"0", Err(Errno::Inval)),
            (b"1", Ok(8192)),
            (b"8192\n", Ok(8192)),
            (b"8193", Ok(16384)),
            (b"16385", Ok(32768)),
            (b"32768", Ok(32768)),
            (b"32769", Err(Errno::Inval)),
            (b"18446744073709551615", Err(Errno::Inval)),
            (b"18446744073709551616", Err(Errno::Range)),
            (b"many", Err(Errno::Inval)),
        ];
        for (input, wanted) in rows {
            assert_eq!(parse_size(input), wanted, "{input:?}");
        }
    }
}
