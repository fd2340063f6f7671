// SPDX-License-Identifier: GPL-2.0

//! Strings that are compared with a pattern by words of eight bytes.
//!
//! A pattern is taken to pieces when its filter is compiled: its first bytes are a word. A string is
//! compared with it, or looked through for its end and for the first byte of the pattern, a word at
//! a time, and no byte is looked at by itself but in a string that is shorter than a word.

use super::pattern::{
    self,
    PatternKind, //
};
use crate::text::word::{
    c_string,
    zeros,
    ONES, //
};

/// Bytes of a word.
const WORD: usize = 8;

/// Returns how many bytes precede the one that the lowest of `bits` is in.
#[inline(always)]
const fn before(bits: u64) -> usize {
    (bits.trailing_zeros() >> 3) as usize
}

/// Returns the bits before the lowest of `bits`; all, if there is none.
#[inline(always)]
const fn before_first(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}

/// Returns a word whose first `len` bytes are ones, all of them if it has no more.
#[inline(always)]
const fn first_bytes(len: usize) -> u64 {
    match len {
        0..WORD => 1u64.wrapping_shl((len as u32) << 3).wrapping_sub(1),
        _ => u64::MAX,
    }
}

/// Returns the word that begins at `at`; what follows the last byte is 0.
#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(word) => u64::from_le_bytes(*word),
        None => last_word(bytes, at),
    }
}

/// As [`word_at`], where fewer bytes follow than a word has.
#[inline(never)]
fn last_word(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or(&[]);
    match (bytes.last_chunk(), WORD.wrapping_sub(rest.len())) {
        // No shift is as long as the word.
        (_, WORD) => 0,
        (Some(word), missing) => u64::from_le_bytes(*word).wrapping_shr((missing as u32) << 3),
        (None, _) => {
            let mut word = [0; WORD];
            for (to, from) in word.iter_mut().zip(rest) {
                *to = *from;
            }
            u64::from_le_bytes(word)
        }
    }
}

/// A pattern, ready to be compared. Its text stays with its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needle {
    how: PatternKind,
    /// Its first eight bytes; zeroes follow a shorter one.
    first: u64,
}

impl Needle {
    /// Returns that of `pattern`, which has no NUL.
    #[inline]
    pub(crate) fn new(how: PatternKind, pattern: &[u8]) -> Self {
        Self {
            how,
            first: word_at(pattern, 0),
        }
    }

    /// Returns whether the string that ends at the first NUL of `bytes`, or with them, matches.
    /// `pattern` is the one that this was made of. Any context.
    #[inline(always)]
    pub(crate) fn matches(self, pattern: &[u8], bytes: &[u8]) -> bool {
        // In functions of their own, so that none keeps what only another one needs.
        match self.how {
            PatternKind::Middle => self.is_in(pattern, bytes),
            PatternKind::Full => self.is_all(pattern, bytes),
            PatternKind::Front => self.begins(pattern, bytes),
            PatternKind::End => self.ends(pattern, bytes),
            PatternKind::Glob => pattern::glob(pattern, c_string(bytes)),
        }
    }

    /// Returns whether the string is the pattern.
    #[inline(never)]
    fn is_all(self, pattern: &[u8], bytes: &[u8]) -> bool {
        let behind = bytes.get(pattern.len());
        self.is_at(pattern, bytes, 0) && behind.is_none_or(|byte| *byte == 0)
    }

    /// Returns whether the string begins with the pattern.
    #[inline(never)]
    fn begins(self, pattern: &[u8], bytes: &[u8]) -> bool {
        self.is_at(pattern, bytes, 0)
    }

    /// Returns whether the string ends with the pattern.
    #[inline(never)]
    fn ends(self, pattern: &[u8], bytes: &[u8]) -> bool {
        c_string(bytes)
            .len()
            .checked_sub(pattern.len())
            .is_some_and(|from| self.is_at(pattern, bytes, from))
    }

    /// Returns whether the pattern is what begins at `from`. As it has no NUL, the string does not
    /// end before the pattern does.
    #[inline(always)]
    fn is_at(self, pattern: &[u8], bytes: &[u8], from: usize) -> bool {
        let room = bytes.len().saturating_sub(from);
        if pattern.len() > room {
            return false;
        }
        let differs = (word_at(bytes, from) ^ self.first) & first_bytes(pattern.len());
        differs == 0 && (pattern.len() <= WORD || rest_is_at(pattern, bytes, from))
    }

    /// Returns whether the pattern is somewhere in the string.
    #[inline(never)]
    fn is_in(self, pattern: &[u8], bytes: &[u8]) -> bool {
        let first = self.repeated();
        let mut at = 0usize;
        // Without a call up to where the string ends or the pattern may begin.
        for word in bytes.chunks_exact(WORD) {
            let Some(word) = word.first_chunk().map(|word| u64::from_le_bytes(*word)) else {
                break;
            };
            let (end, places) = (zeros(word), zeros(word ^ first));
            if end | places != 0 {
                if places & before_first(end) == 0 && !pattern.is_empty() {
                    return false;
                }
                break;
            }
            at = at.wrapping_add(WORD);
        }
        self.is_from(pattern, bytes, at)
    }

    /// Returns a word of its first byte.
    #[inline(always)]
    fn repeated(self) -> u64 {
        ONES.wrapping_mul(self.first & 0xff)
    }

    /// Returns whether the pattern is somewhere in the string from `at` on.
    #[inline(never)]
    fn is_from(self, pattern: &[u8], bytes: &[u8], mut at: usize) -> bool {
        let Some(last) = bytes.len().checked_sub(pattern.len()) else {
            return false;
        };
        if pattern.is_empty() {
            return true;
        }
        let first = self.repeated();
        while at <= last {
            let word = word_at(bytes, at);
            let end = zeros(word);
            // Places in the string whose byte is the first one of the pattern, and perhaps some
            // after them.
            let mut places = zeros(word ^ first) & before_first(end);
            while places != 0 {
                if self.is_at(pattern, bytes, at.wrapping_add(before(places))) {
                    return true;
                }
                places &= places.wrapping_sub(1);
            }
            if end != 0 {
                return false;
            }
            at = at.wrapping_add(WORD);
        }
        false
    }
}

/// Returns whether a pattern of more than a word, whose first word is what begins at `from`, is
/// there as a whole. As many bytes are there.
#[inline(never)]
fn rest_is_at(pattern: &[u8], bytes: &[u8], from: usize) -> bool {
    let last = pattern.len().saturating_sub(WORD);
    let same = |at: usize| word_at(pattern, at) == word_at(bytes, from.wrapping_add(at));
    let mut at = WORD;
    while at < last {
        if !same(at) {
            return false;
        }
        at = at.wrapping_add(WORD);
    }
    // Some of its bytes may have been compared before.
    same(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// What a pattern means, byte by byte.
    fn meant(how: PatternKind, pattern: &[u8], bytes: &[u8]) -> bool {
        let end = bytes.iter().position(|byte| *byte == 0);
        let string = &bytes[..end.unwrap_or(bytes.len())];
        match how {
            PatternKind::Full => string == pattern,
            PatternKind::Front => string.starts_with(pattern),
            PatternKind::End => string.ends_with(pattern),
            PatternKind::Middle => {
                pattern.is_empty() || string.windows(pattern.len()).any(|part| part == pattern)
            }
            PatternKind::Glob => unreachable!("is no text"),
        }
    }

    const TEXTS: [PatternKind; 4] = [
        PatternKind::Full,
        PatternKind::Front,
        PatternKind::End,
        PatternKind::Middle,
    ];

    struct Dice(Random);

    impl Dice {
        fn below(&mut self, end: usize) -> usize {
            self.0.below(end as u64) as usize
        }

        fn bytes(&mut self, most: usize, of: &[u8]) -> Vec<u8> {
            let len = self.below(most + 1);
            (0..len).map(|_| of[self.below(of.len())]).collect()
        }
    }

    #[test]
    fn words_mean_what_bytes_do() {
        let mut dice = Dice(Random::new(1));
        let mut held = [0; 2];
        // Few bytes, of those that words get wrong: 1 after a zero, and with the highest bit.
        for alphabet in [&b"ab"[..], b"a\x01", b"\x80\x7f\xff", b"`a\xe1"] {
            let with_end = [alphabet, b"\0"].concat();
            for _ in 0..100_000 {
                let mut bytes = dice.bytes(27, alphabet);
                let tail = dice.bytes(9, &with_end);
                bytes.extend_from_slice(&tail);
                // A part of the string more often than any text.
                let pattern = match dice.below(3) {
                    0 => dice.bytes(20, alphabet),
                    _ => {
                        let from = dice.below(bytes.len() + 1);
                        let part = &bytes[from..];
                        let part = &part[..dice.below(part.len() + 1)];
                        part.iter().copied().filter(|byte| *byte != 0).collect()
                    }
                };
                for how in TEXTS {
                    let wanted = meant(how, &pattern, &bytes);
                    let found = Needle::new(how, &pattern).matches(&pattern, &bytes);
                    assert_eq!(found, wanted, "{how:?} {pattern:x?} in {bytes:x?}");
                    held[usize::from(wanted)] += 1;
                }
            }
        }
        assert!(held.iter().all(|count| *count > 100_000), "{held:?}");
    }

    #[test]
    fn a_string_ends_at_its_first_nul_or_with_its_room() {
        for size in 0..40 {
            for end in 0..=size {
                for after in [0, 1, 0x80, b'a'] {
                    let mut bytes = vec![0x81; size];
                    if let Some(rest) = bytes.get_mut(end..) {
                        rest.fill(after);
                        if let Some(nul) = rest.first_mut() {
                            *nul = 0;
                        }
                    }
                    assert_eq!(c_string(&bytes).len(), end, "{bytes:x?}");
                }
            }
        }
    }

    #[test]
    fn a_word_has_zeroes_after_the_last_byte() {
        let bytes: Vec<u8> = (1..=20).collect();
        for size in 0..=bytes.len() {
            for at in 0..30 {
                let mut word = [0; WORD];
                for (i, byte) in word.iter_mut().enumerate() {
                    *byte = bytes[..size].get(at + i).copied().unwrap_or(0);
                }
                assert_eq!(word_at(&bytes[..size], at), u64::from_le_bytes(word));
            }
        }
    }
}
