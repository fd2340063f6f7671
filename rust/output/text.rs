// SPDX-License-Identifier: GPL-2.0

//! A text in memory that grows as it is written.

use crate::text::writer::ByteWrite;
use core::fmt;
use kernel::prelude::*;

/// A text that grows as it is written.
pub(crate) struct Text {
    /// The text, and room for more after it.
    bytes: KVVec<u8>,
    len: usize,
}

/// Least room that a text gets.
const LEAST: usize = 256;
/// What more room is filled with, so many bytes at a time.
static ZEROS: [u8; LEAST] = [0; LEAST];

impl Text {
    /// Returns an empty text.
    pub(crate) const fn new() -> Self {
        Self {
            bytes: KVVec::new(),
            len: 0,
        }
    }

    /// Returns the text.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Empties the text and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Removes the first `count` bytes.
    pub(crate) fn drop_front(&mut self, count: usize) {
        let count = count.min(self.len);
        if let Some(text) = self.bytes.get_mut(..self.len) {
            text.rotate_left(count);
            self.len = self.len.saturating_sub(count);
        }
    }

    /// Removes all but the first `len` bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Makes room for at least `end` bytes, and doubles the room so that many small writes stay
    /// cheap.
    #[cold]
    fn grow(&mut self, end: usize) -> fmt::Result {
        let room = self.bytes.len().saturating_mul(2).max(LEAST).max(end);
        let more = room.saturating_sub(self.bytes.len());
        self.bytes
            .reserve(more, GFP_KERNEL)
            .map_err(|_| fmt::Error)?;
        while let Some(missing @ 1..) = room.checked_sub(self.bytes.len()) {
            let zeros = ZEROS.get(..missing).unwrap_or(&ZEROS);
            let more = self.bytes.extend_from_slice(zeros, GFP_KERNEL);
            more.map_err(|_| fmt::Error)?;
        }
        Ok(())
    }
}

impl ByteWrite for Text {
    #[inline]
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        let end = self.len.checked_add(bytes.len()).ok_or(fmt::Error)?;
        let room = match self.bytes.get_mut(self.len..end) {
            Some(room) => room,
            None => {
                self.grow(end)?;
                self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?
            }
        };
        room.copy_from_slice(bytes);
        self.len = end;
        Ok(())
    }
}

impl fmt::Write for Text {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes())
    }
}
