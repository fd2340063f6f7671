// SPDX-License-Identifier: GPL-2.0
//! Parses and prints `tracing_cpumask`: a set of CPUs as hexadecimal digits.
//!
//! The last digit stands for the CPUs 0 to 3. Commas and white space separate the digits into
//! groups of 32 CPUs; leading zeros of a group may be omitted.

use core::fmt;

use super::word;

/// Why a text is not a set of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuMaskError {
    /// It has a character that is not a hexadecimal digit.
    Digit,
    /// It names CPUs that are not possible, or has digits for such CPUs.
    TooMany,
}

fn is_between(byte: u8) -> bool {
    byte == b',' || word::is_space(byte)
}

/// Parses a set of the CPUs below `cpus` into `words`, which have one bit for each. A newline ends
/// the text.
///
/// # Errors
///
/// What is wrong; the contents of `words` are unspecified then.
pub(crate) fn parse(input: &[u8], cpus: usize, words: &mut [u64]) -> Result<(), CpuMaskError> {
    let text = word::c_string(input);
    let text = text.split(|b| *b == b'\n').next().unwrap_or_default();
    words.fill(0);
    let mut rest = text;
    let mut group = 0usize;
    loop {
        while let [before @ .., last] = rest {
            if !is_between(*last) {
                break;
            }
            rest = before;
        }
        if rest.is_empty() {
            break;
        }
        if group >= cpus.div_ceil(32) {
            return Err(CpuMaskError::TooMany);
        }
        let value;
        (value, rest) = last_group(rest)?;
        let word = words.get_mut(group >> 1).ok_or(CpuMaskError::TooMany)?;
        *word |= u64::from(value).wrapping_shl(if group & 1 == 0 { 0 } else { 32 });
        group = group.wrapping_add(1);
    }
    // Bits of the last word that stand for no CPU.
    let unused = words.len().wrapping_mul(64).wrapping_sub(cpus);
    match words.last() {
        Some(last) if (1..64).contains(&unused) && last.leading_zeros() < unused as u32 => {
            Err(CpuMaskError::TooMany)
        }
        _ => Ok(()),
    }
}

/// Returns the value of the group of digits at the end of a text, and the text before it.
///
/// # Errors
///
/// `Digit` for another character, `TooMany` for more than eight digits.
fn last_group(text: &[u8]) -> Result<(u32, &[u8]), CpuMaskError> {
    let (mut rest, mut value) = (text, 0u32);
    for place in 0..8u32 {
        let Some((last, before)) = rest.split_last() else {
            return Ok((value, rest));
        };
        if place != 0 && is_between(*last) {
            return Ok((value, rest));
        }
        let digit = char::from(*last).to_digit(16).ok_or(CpuMaskError::Digit)?;
        value |= digit.wrapping_shl(place.wrapping_mul(4));
        rest = before;
    }
    match rest.split_last() {
        Some((last, _)) if last.is_ascii_hexdigit() => Err(CpuMaskError::TooMany),
        // After eight digits the kernel accepts any separator.
        Some((_, before)) => Ok((value, before)),
        None => Ok((value, rest)),
    }
}

/// Writes the set of the CPUs below `cpus` as the file shows it.
pub(crate) fn write_text(words: &[u64], cpus: usize, out: &mut dyn fmt::Write) -> fmt::Result {
    let groups = cpus.div_ceil(32);
    for group in (0..groups).rev() {
        let word = words.get(group >> 1).copied().unwrap_or(0);
        let value = word.wrapping_shr(if group & 1 == 0 { 0 } else { 32 }) as u32;
        // The first group has only as many digits as its CPUs need.
        let bits = cpus.wrapping_sub(group.wrapping_mul(32)).min(32);
        let width = bits.div_ceil(4);
        let mask = u32::MAX.wrapping_shr(32u32.wrapping_sub(bits as u32));
        write!(out, "{:0width$x}", value & mask)?;
        out.write_char(if group == 0 { '\n' } else { ',' })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &[u8], cpus: usize) -> Result<Vec<u64>, CpuMaskError> {
        let mut words = vec![7; cpus.div_ceil(64)];
        parse(text, cpus, &mut words).map(|()| words)
    }

    #[test]
    fn sets() {
        let rows: &[(&[u8], usize, Result<&[u64], CpuMaskError>)] = &[
            (b"3", 2, Ok(&[3])),
            (b"3\n", 2, Ok(&[3])),
            (b"03", 2, Ok(&[3])),
            (b"00000001", 2, Ok(&[1])),
            (b"4", 2, Err(CpuMaskError::TooMany)),
            (b"0,1", 2, Err(CpuMaskError::TooMany)),
            (b"000000001", 2, Err(CpuMaskError::TooMany)),
            (b"", 2, Ok(&[0])),
            (b"\n7", 2, Ok(&[0])),
            (b" , 2 ,\t", 2, Ok(&[2])),
            (b"x", 2, Err(CpuMaskError::Digit)),
            (b"0x3", 2, Err(CpuMaskError::Digit)),
            (b"1 x", 2, Err(CpuMaskError::Digit)),
            (b"1 2", 2, Err(CpuMaskError::TooMany)),
            (b"-1", 2, Err(CpuMaskError::Digit)),
            (b"x00000001", 2, Ok(&[1])),
            (b"1\0x", 2, Ok(&[1])),
            (b"Ff", 8, Ok(&[0xff])),
            (b"ffffffff,ffffffff", 64, Ok(&[u64::MAX])),
            (b"1,,00000002", 64, Ok(&[0x1_0000_0002])),
            (b"3f,00000000,00000001", 70, Ok(&[1, 0x3f])),
            (b"7f,00000000,00000001", 70, Err(CpuMaskError::TooMany)),
            (b"1,0,0,0", 96, Err(CpuMaskError::TooMany)),
        ];
        for (text, cpus, want) in rows {
            let found = parsed(text, *cpus);
            let found = found.as_deref().map_err(|wrong| *wrong);
            assert_eq!(
                found,
                *want,
                "{:?} of {cpus}",
                text.escape_ascii().to_string()
            );
        }
    }

    #[test]
    fn texts() {
        let rows: &[(&[u64], usize, &str)] = &[
            (&[3], 2, "3\n"),
            (&[u64::MAX], 2, "3\n"),
            (&[1], 8, "01\n"),
            (&[1], 32, "00000001\n"),
            (&[u64::MAX], 33, "1,ffffffff\n"),
            (&[1, 0x3f], 70, "3f,00000000,00000001\n"),
        ];
        for (words, cpus, want) in rows {
            let mut text = String::new();
            write_text(words, *cpus, &mut text).unwrap();
            assert_eq!(text, *want);
        }
    }
}
