// SPDX-License-Identifier: GPL-2.0
//! How names of tasks are printed.
//!
//! Called by `saved_cmdlines` and by the lines of events, which share the names for tasks that have
//! none.

use core::fmt;

use super::writer::ByteWrite;

/// The name in a line of a task whose name was not remembered.
pub(crate) const UNKNOWN: &[u8] = b"<...>";

/// The name in a line of the idle task, pid 0.
pub(crate) const IDLE: &[u8] = b"<idle>";

/// The name up to its terminator: what the kernel keeps has 16 bytes and ends with NUL.
pub(crate) fn trimmed(comm: &[u8]) -> &[u8] {
    super::word::c_string(comm)
}

/// Writes one line of `saved_cmdlines`.
pub(crate) fn write_line(pid: i32, comm: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    write!(out, "{pid} ")?;
    out.write_bytes(trimmed(comm))?;
    out.write_char('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes what is not UTF-8 too.
    #[derive(Default)]
    struct Bytes(Vec<u8>);

    impl fmt::Write for Bytes {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.write_bytes(text.as_bytes())
        }
    }

    impl ByteWrite for Bytes {
        fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
            self.0.extend_from_slice(bytes);
            Ok(())
        }
    }

    #[test]
    fn lines() {
        let mut out = Bytes::default();

        write_line(1, b"systemd\0\0\0\0\0\0\0\0\0", &mut out).unwrap();
        write_line(4321, b"kworker/0:1 x\xff\xfe\0", &mut out).unwrap();
        write_line(9, b"\0", &mut out).unwrap();
        assert_eq!(out.0, b"1 systemd\n4321 kworker/0:1 x\xff\xfe\n9 \n");
    }
}
