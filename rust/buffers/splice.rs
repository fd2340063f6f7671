// SPDX-License-Identifier: GPL-2.0

//! Moves sub-buffers from a ring into a pipe without copying them; those of a mapped ring are
//! copied.
//!
//! The memory that replaces a sub-buffer is allocated under the reader's lock, before anything is
//! taken from the ring: without memory nothing is lost. What was taken belongs to the pipe alone.

use super::{
    Buf,
    Buffers, //
};
use crate::{
    kapi::{
        pages::Pages,
        pipe::PipeEnd, //
    },
    ring::reader::BusyWriters, //
};
use kernel::prelude::*;

impl Buffers {
    /// Moves sub-buffers of `cpu` that writers have left into `pipe`, up to `len` bytes. `pos` is
    /// the file position. Returns the number of bytes; 0 if there is no such sub-buffer.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is something unread and the position is not a multiple of the size of a
    /// sub-buffer, or if `len` is less than that size; `ENOMEM`; `ENODEV` without such a CPU. None
    /// of them once something has moved.
    pub(crate) fn splice(
        &self,
        cpu: u32,
        pos: &mut i64,
        pipe: &mut PipeEnd<'_>,
        len: usize,
    ) -> Result<usize> {
        pipe.fill(pos, len, |pos, left| self.take_image(cpu, pos, left))
    }

    /// Takes a sub-buffer that writers have left, if there is one, for a reader at `pos` with room for `len` bytes.
    fn take_image(&self, cpu: u32, pos: i64, len: usize) -> Result<Option<Pages>> {
        self.take_from(Buf::Live, cpu, |stays, mut reader| {
            if !reader.has_unread() {
                return Ok(None);
            }
            let size = reader.subbuf_size();
            if len < size || (pos as u64).checked_rem(size as u64) != Some(0) {
                return Err(EINVAL);
            }
            if !matches!(reader.whole(), Ok(Some(_))) {
                return Ok(None);
            }
            let mut pages = Pages::new(cpu, Pages::order_of(size))?;
            match reader.take_whole(&mut pages, stays) {
                Ok(true) => Ok(Some(pages)),
                Ok(false) | Err(BusyWriters) => Ok(None),
            }
        })
    }
}
