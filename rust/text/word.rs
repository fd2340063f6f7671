// SPDX-License-Identifier: GPL-2.0
//! Splits what users write into words.
//!
//! Control files treat the bytes of one `write()` as a C string: it ends at the first NUL. White
//! space is what the kernel's character table calls so, which includes 0xa0.

/// Returns whether the kernel treats `byte` as white space.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ' | 0xa0)
}

/// Returns whether the kernel treats `byte` as a letter or a digit; those of Latin-1 are included.
pub(crate) fn is_alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, 0xc0..=0xff) && !matches!(byte, 0xd7 | 0xf7)
}

/// Returns the part of `input` before the first NUL.
pub(crate) fn c_string(input: &[u8]) -> &[u8] {
    input.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Returns the length of a task's name, a C string whose terminator may be missing. It does not
/// look at each byte, because every line of a trace has a name.
pub(crate) fn comm_len(comm: &[u8; 16]) -> usize {
    const ONES: u128 = u128::MAX / 0xff;
    let word = u128::from_le_bytes(*comm);
    // The highest bit of each byte that is 0. A byte of 1 above the first of them may have it as
    // well.
    let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);

    (zeros.trailing_zeros() / 8) as usize
}

/// Returns `input` as a C string without leading and trailing white space.
pub(crate) fn strip(input: &[u8]) -> &[u8] {
    let mut rest = strip_end(input);

    while let [first, tail @ ..] = rest {
        if !is_space(*first) {
            break;
        }
        rest = tail;
    }
    rest
}

/// Returns `input` as a C string without trailing white space.
pub(crate) fn strip_end(input: &[u8]) -> &[u8] {
    let mut rest = c_string(input);

    while let [head @ .., last] = rest {
        if !is_space(*last) {
            break;
        }
        rest = head;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_the_kernels_table() {
        let spaces: Vec<u8> = (0..=255).filter(|&byte| is_space(byte)).collect();
        assert_eq!(spaces, [9, 10, 11, 12, 13, 32, 0xa0]);
    }

    #[test]
    fn letters_and_digits_are_the_kernels_table() {
        let others: Vec<u8> = (0x80..=255).filter(|&byte| !is_alnum(byte)).collect();
        let expected: Vec<u8> = (0x80..0xc0).chain([0xd7, 0xf7]).collect();
        assert_eq!(others, expected);
        assert!(is_alnum(b'z') && is_alnum(b'0') && !is_alnum(b'_'));
    }

    #[test]
    fn a_name_ends_at_its_first_nul() {
        for byte in 1..=255u8 {
            for end in 0..=16 {
                for behind in [0, 1, 0x80, byte] {
                    let mut comm = [behind; 16];
                    comm[..end].fill(byte);
                    if let Some(nul) = comm.get_mut(end) {
                        *nul = 0;
                    }
                    assert_eq!(comm_len(&comm), end, "{comm:?}");
                    assert_eq!(c_string(&comm).len(), end);
                }
            }
        }
    }

    #[test]
    fn strip_cuts_at_nul_and_around() {
        let rows: [(&[u8], &[u8]); 7] = [
            (b"", b""),
            (b" \t\n", b""),
            (b"local\n", b"local"),
            (b"  a b \n", b"a b"),
            (b"mono\0junk", b"mono"),
            (b"mono \0x", b"mono"),
            (b"\0mono", b""),
        ];
        for (input, expected) in rows {
            assert_eq!(strip(input), expected, "{input:?}");
        }
    }
}
