// SPDX-License-Identifier: GPL-2.0
//! Parses the pids that users write into `set_event_pid` and `set_event_notrace_pid`.
//!
//! The numbers are written as in C, each followed by white space or a NUL; a NUL that follows no
//! number ends the list. The bytes of a write arrive one by one, so that a list may have any
//! length.

use super::{
    number,
    word, //
};

/// Smallest number that is not a pid.
pub(crate) const END: u32 = 1 << 30;

/// Most bytes that a number may have.
const LONGEST: usize = 127;

/// Why a list is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PidError {
    /// Not a number, or too long for one.
    Number,
    /// A number, but not a pid.
    TooLarge,
}

/// What one byte did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteStep {
    /// Nothing that is known yet.
    More,
    /// Ended this pid.
    Pid(u32),
    /// Ended the list.
    End,
}

/// The state of the parser within a list.
pub(crate) struct PidParser {
    word: [u8; LONGEST],
    len: usize,
}

impl PidParser {
    /// Returns the state at the beginning of a list.
    pub(crate) const fn new() -> Self {
        Self {
            word: [0; LONGEST],
            len: 0,
        }
    }

    /// Takes the next byte.
    ///
    /// # Errors
    ///
    /// Those of the number that the byte belongs to or ends.
    pub(crate) fn push(&mut self, byte: u8) -> Result<ByteStep, PidError> {
        if byte == 0 || word::is_space(byte) {
            return Ok(match (self.finish()?, byte) {
                (Some(pid), _) => ByteStep::Pid(pid),
                (None, 0) => ByteStep::End,
                (None, _) => ByteStep::More,
            });
        }
        *self.word.get_mut(self.len).ok_or(PidError::Number)? = byte;
        self.len = self.len.wrapping_add(1);
        Ok(ByteStep::More)
    }

    /// Ends the list. Returns the pid that the last bytes were, if any.
    ///
    /// # Errors
    ///
    /// As for [`Self::push`].
    pub(crate) fn finish(&mut self) -> Result<Option<u32>, PidError> {
        let len = core::mem::take(&mut self.len);
        if len == 0 {
            return Ok(None);
        }
        let word = self.word.get(..len).unwrap_or_default();
        // The kernel uses only the lower 32 bits of a number.
        match number::c_integer(word, false).ok_or(PidError::Number)? as u32 {
            END.. => Err(PidError::TooLarge),
            pid => Ok(Some(pid)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pids, and how many bytes were read.
    fn parsed(text: &[u8]) -> Result<(Vec<u32>, usize), PidError> {
        let (mut pids, mut found) = (PidParser::new(), vec![]);
        for (at, byte) in text.iter().enumerate() {
            match pids.push(*byte)? {
                ByteStep::More => {}
                ByteStep::Pid(pid) => found.push(pid),
                ByteStep::End => return Ok((found, at + 1)),
            }
        }
        found.extend(pids.finish()?);
        Ok((found, text.len()))
    }

    #[test]
    fn lists() {
        let rows: &[(&[u8], Result<(&[u32], usize), PidError>)] = &[
            (b"", Ok((&[], 0))),
            (b" \n", Ok((&[], 2))),
            (b"1", Ok((&[1], 1))),
            (b" 1 22\t0x10\n010 +5 ", Ok((&[1, 22, 16, 8, 5], 18))),
            (b"1\0002", Ok((&[1, 2], 5))),
            (b"1 \0002", Ok((&[1], 3))),
            (b"\0001", Ok((&[], 1))),
            (b"x", Err(PidError::Number)),
            (b"1 x", Err(PidError::Number)),
            (b"-1", Err(PidError::Number)),
            (b"08", Err(PidError::Number)),
            (b"18446744073709551616", Err(PidError::Number)),
            (b"4294967296", Ok((&[0], 10))),
            (b"1073741823", Ok((&[1073741823], 10))),
            (b"1073741824", Err(PidError::TooLarge)),
            (b"4294967295", Err(PidError::TooLarge)),
        ];
        for (text, want) in rows {
            let found = parsed(text);
            let found = found.as_ref().map(|(pids, len)| (&pids[..], *len));
            assert_eq!(
                found.map_err(|wrong| *wrong),
                *want,
                "{:?}",
                text.escape_ascii().to_string()
            );
        }
    }

    #[test]
    fn longest_number() {
        let mut text = vec![b'0'; 127];
        assert_eq!(parsed(&text), Ok((vec![0], 127)));
        text.push(b' ');
        assert_eq!(parsed(&text), Ok((vec![0], 128)));
        text[127] = b'0';
        assert_eq!(parsed(&text), Err(PidError::Number));
    }
}
