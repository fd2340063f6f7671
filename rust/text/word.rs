// SPDX-License-Identifier: GPL-2.0
//! Splits what users write into words.
//!
//! Control files treat the bytes of one `write()` as a C string: it ends at the first NUL. White
//! space is what the kernel's character table calls so, which includes 0xa0.

/// Returns whether the kernel treats `byte` as white space.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ' | 0xa0)
}

/// Returns whether the kernel treats `byte` as white space, in text that has to be UTF-8: there 0xa0 is part of a
/// character.
pub(crate) fn is_ascii_space(byte: u8) -> bool {
    byte.is_ascii() && is_space(byte)
}

/// Returns whether the kernel treats `byte` as a letter or a digit; those of Latin-1 are included.
pub(crate) fn is_alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, 0xc0..=0xff) && !matches!(byte, 0xd7 | 0xf7)
}

/// A word with 1 in each byte.
pub(crate) const ONES: u64 = u64::MAX / 0xff;

/// Returns a number with the highest bit of each byte of a word that is 0. A byte of 1 above the first of them may have
/// it as well; those below are right.
#[inline(always)]
pub(crate) fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

/// Returns the part of `input` before the first NUL. It looks at eight bytes at a time.
pub(crate) fn c_string(input: &[u8]) -> &[u8] {
    let (mut rest, mut len) = (input, 0usize);
    while let Some((word, behind)) = rest.split_first_chunk::<8>() {
        let zeros = zeros(u64::from_le_bytes(*word));
        if zeros != 0 {
            len = len.wrapping_add((zeros.trailing_zeros() / 8) as usize);
            return input.get(..len).unwrap_or(input);
        }
        (rest, len) = (behind, len.wrapping_add(8));
    }
    for byte in rest {
        if *byte == 0 {
            return input.get(..len).unwrap_or(input);
        }
        len = len.wrapping_add(1);
    }
    input
}

/// Stores `words` one after the other from the beginning of `bytes` on, as far as there is room for whole ones.
#[inline(always)]
pub(crate) fn put_words(mut bytes: &mut [u8], words: impl IntoIterator<Item = u64>) {
    for word in words {
        let Some((place, behind)) = bytes.split_first_chunk_mut::<8>() else {
            return;
        };
        *place = word.to_ne_bytes();
        bytes = behind;
    }
}

/// Returns whether a byte of a word may be 0: of no word that is ASCII without a NUL. It takes half of the steps of
/// [`zeros`].
#[inline(always)]
pub(crate) fn may_have_zeros(word: u64) -> bool {
    // The lowest one that is 0 gets its highest bit: those below it take nothing from it.
    word.wrapping_sub(ONES) & (ONES << 7) != 0
}

/// Returns the bytes of a word of a string before its first NUL, and whether there is one.
#[inline(always)]
pub(crate) fn until_nul(word: u64) -> (u64, bool) {
    let zeros = zeros(word);
    // All bits if there is none, else those below the first of them; those of its own byte are zeroes.
    let before = (zeros & zeros.wrapping_neg()).wrapping_sub(1);
    (word & before, zeros != 0)
}

/// The words of the part of a string before its first NUL; the last one has zeroes after it.
pub(crate) struct StringWords<'a> {
    rest: &'a [u8],
}

impl<'a> StringWords<'a> {
    /// Returns those of `input`.
    #[inline(always)]
    pub(crate) fn of(input: &'a [u8]) -> Self {
        Self { rest: input }
    }
}

impl Iterator for StringWords<'_> {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        if let Some((word, behind)) = self.rest.split_first_chunk::<8>() {
            let word = u64::from_le_bytes(*word);
            let zeros = zeros(word);
            if zeros == 0 {
                self.rest = behind;
                return Some(word);
            }
            self.rest = &[];
            // The bits below the first of them; those of its own byte are zeroes.
            let before = (zeros & zeros.wrapping_neg()).wrapping_sub(1);
            return (before >= 0xff).then_some(word & before);
        }
        let (mut word, mut bits, mut rest) = (0u64, 0u32, core::mem::take(&mut self.rest));
        if let Some((part, behind)) = rest.split_first_chunk() {
            (word, bits, rest) = (u32::from_le_bytes(*part).into(), u32::BITS, behind);
        }
        if let Some((part, behind)) = rest.split_first_chunk() {
            word |= u64::from(u16::from_le_bytes(*part)).wrapping_shl(bits);
            (bits, rest) = (bits.wrapping_add(u16::BITS), behind);
        }
        if let Some(byte) = rest.first() {
            word |= u64::from(*byte).wrapping_shl(bits);
        }
        // There are zeroes after the last byte.
        let (word, _) = until_nul(word);
        (word != 0).then_some(word)
    }
}

/// Returns the word that at most seven bytes begin, with zeroes after them.
#[inline(always)]
pub(crate) fn few_bytes(bytes: &[u8]) -> u64 {
    let byte = |at: usize| {
        let byte = bytes.get(at).copied().unwrap_or(0);
        u64::from(byte).wrapping_shl(u8::BITS.wrapping_mul(at as u32))
    };
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
        return byte(0) | byte(1) | byte(2);
    };
    // Some of them are among the first four, too.
    let before = (bytes.len() as u32).wrapping_sub(4);
    let last = u64::from(u32::from_le_bytes(*last)).wrapping_shl(before.wrapping_mul(u8::BITS));
    u64::from(u32::from_le_bytes(*first)) | last
}

/// Returns the two words that at most 16 bytes are, with zeroes after them. `None` if these are more.
#[inline(always)]
pub(crate) fn two_words(bytes: &[u8]) -> Option<[u64; 2]> {
    let Some((first, rest)) = bytes.split_first_chunk::<8>() else {
        return Some([few_bytes(bytes), 0]);
    };
    if rest.len() > 8 {
        return None;
    }
    // The last eight of all; those before the rest are in the first word.
    let last = u64::from_le_bytes(*bytes.last_chunk()?);
    let before = u64::BITS.wrapping_sub((rest.len() as u32).wrapping_mul(u8::BITS));
    let second = last.checked_shr(before).unwrap_or(0);
    Some([u64::from_le_bytes(*first), second])
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

    /// A string of each length, with and without a NUL, and with all kinds of bytes after it.
    #[test]
    fn strings_and_their_words() {
        for len in 0..40usize {
            for after in [
                &[][..],
                &[0],
                &[0, 0, 0],
                &[0, 1, 1],
                &[0, 0x80, 0xff, 1, 0, 7, 7, 7, 7],
            ] {
                for byte in [1u8, 0x7f, 0x80, 0xff] {
                    let mut input = vec![byte; len];
                    input.extend_from_slice(after);
                    let string = &input[..len];
                    assert_eq!(c_string(&input), string, "{input:?}");
                    let words: Vec<u64> = StringWords::of(&input).collect();
                    let wanted = string.chunks(8).map(|part| {
                        let mut word = [0; 8];
                        word[..part.len()].copy_from_slice(part);
                        u64::from_le_bytes(word)
                    });
                    assert_eq!(words, wanted.collect::<Vec<_>>(), "{input:?}");
                }
            }
        }
    }

    #[test]
    fn sixteen_bytes_are_two_words() {
        let bytes: Vec<u8> = (1..20).collect();
        for len in 0..bytes.len() {
            let mut padded = [0; 20];
            padded[..len].copy_from_slice(&bytes[..len]);
            let words = [0, 8].map(|at| u64::from_le_bytes(*padded[at..].first_chunk().unwrap()));
            let wanted = (len <= 16).then_some(words);
            assert_eq!(two_words(&bytes[..len]), wanted, "{len}");
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
