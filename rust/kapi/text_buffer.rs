// SPDX-License-Identifier: GPL-2.0

//! A short text in memory that is kept. A long one, which is made anew again and again, is an
//! `output::Text`.

use crate::text::writer::ByteWrite;
use core::fmt;
use kernel::prelude::*;

/// A text that grows as it is written, until memory runs out.
pub(crate) struct TextBuffer(KVec<u8>);

impl TextBuffer {
    /// Returns an empty one.
    pub(crate) const fn new() -> Self {
        Self(KVec::new())
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the text; an empty one if it is not UTF-8.
    pub(crate) fn text(&self) -> &str {
        core::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Empties it and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl fmt::Write for TextBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes())
    }
}

impl ByteWrite for TextBuffer {
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        let result = self.0.extend_from_slice(bytes, GFP_KERNEL);
        result.map_err(|_| fmt::Error)
    }
}
