// SPDX-License-Identifier: GPL-2.0
//! Where text goes while it is made.
//!
//! Names of tasks and texts of markers are bytes that need not be UTF-8, and users get them
//! unchanged. So the printers that meet such bytes take a [`ByteWrite`], a `fmt::Write` that takes
//! bytes as well. `output::Text` is the implementation in the kernel.

use core::fmt;

/// A text sink that takes bytes as well.
pub(crate) trait ByteWrite: fmt::Write {
    /// Appends `bytes` as they are.
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result;
}

#[cfg(test)]
impl<W: ByteWrite + ?Sized> ByteWrite for &mut W {
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        (**self).write_bytes(bytes)
    }
}

#[cfg(test)]
impl ByteWrite for String {
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        self.push_str(core::str::from_utf8(bytes).map_err(|_| fmt::Error)?);
        Ok(())
    }
}

/// Collects what was written, whether it is UTF-8 or not.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

#[cfg(test)]
impl fmt::Write for Bytes {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes())
    }
}

#[cfg(test)]
impl ByteWrite for Bytes {
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}
