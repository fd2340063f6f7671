// SPDX-License-Identifier: GPL-2.0
//! Where text goes while it is made.
//!
//! Names of tasks and texts of markers are bytes that need not be UTF-8, and users get them unchanged.
//! So the printers that meet such bytes take a [`ByteWrite`], which is a `fmt::Write` that takes bytes
//! too. [`SliceWriter`] is the one without allocation.

use core::fmt;

/// A text sink that takes bytes as well.
pub(crate) trait ByteWrite: fmt::Write {
    /// Appends `bytes` as they are.
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result;
}

/// Writes into memory of fixed size, whole pieces or nothing.
///
/// # Invariants
///
/// `used <= space.len()`.
pub(crate) struct SliceWriter<'a> {
    space: &'a mut [u8],
    used: usize,
}

impl<'a> SliceWriter<'a> {
    /// An empty writer over `space`.
    pub(crate) fn new(space: &'a mut [u8]) -> Self {
        // INVARIANT: Zero is not more than any length.
        SliceWriter { space, used: 0 }
    }

    /// How many bytes were written.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// What was written.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.space.get(..self.used).unwrap_or_default()
    }

    /// Forgets what was written behind the first `length` bytes.
    pub(crate) fn truncate(&mut self, length: usize) {
        // INVARIANT: `used` only gets smaller.
        self.used = self.used.min(length);
    }
}

impl ByteWrite for SliceWriter<'_> {
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        let end = self.used.checked_add(bytes.len()).ok_or(fmt::Error)?;

        self.space
            .get_mut(self.used..end)
            .ok_or(fmt::Error)?
            .copy_from_slice(bytes);
        // INVARIANT: The range up to `end` was found inside `space`.
        self.used = end;
        Ok(())
    }
}

impl fmt::Write for SliceWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes())
    }
}

#[cfg(test)]
impl ByteWrite for String {
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        self.push_str(core::str::from_utf8(bytes).map_err(|_| fmt::Error)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmt::Write;

    #[test]
    fn a_piece_fits_or_is_refused() {
        let mut space = [0; 8];
        let mut out = SliceWriter::new(&mut space);

        assert_eq!(write!(out, "abc"), Ok(()));
        assert_eq!(out.write_bytes(b"\xff12345"), Err(fmt::Error));
        assert_eq!(out.bytes(), b"abc");
        assert_eq!(out.write_bytes(b"\xff1234"), Ok(()));
        assert_eq!(out.used(), 8);
        assert_eq!(out.write_bytes(b"x"), Err(fmt::Error));
        assert_eq!(out.write_bytes(b""), Ok(()));
        out.truncate(3);
        assert_eq!(out.bytes(), b"abc");
        out.truncate(5);
        assert_eq!(out.used(), 3);
    }
}
