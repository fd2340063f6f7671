// SPDX-License-Identifier: GPL-2.0
//! What `saved_cmdlines` says.

use core::fmt;

use super::{
    word,
    writer::ByteWrite, //
};

/// Writes the line of a task. Its name ends at the first NUL.
pub(crate) fn write_line(pid: i32, comm: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    write!(out, "{pid} ")?;
    out.write_bytes(word::c_string(comm))?;
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
