// SPDX-License-Identifier: GPL-2.0

//! Pages that move into a pipe.
//!
//! A pipe gets pages and one reference to them, with the kernel's own operations: nothing there
//! points to a ring, an instance or this module, and no code of ours runs when a program drains,
//! copies (`tee`) or drops it. The count of references cannot overflow, for the kernel's `get`
//! refuses before.

use super::{
    c,
    pages::Pages, //
};
use core::marker::PhantomData;
use kernel::{
    bindings,
    iov::IovIterDest,
    prelude::*, //
};

/// The end of a pipe where bytes go in, locked by the caller of `splice`.
pub(crate) struct PipeEnd<'a> {
    pipe: *mut bindings::pipe_inode_info,
    locked: PhantomData<&'a mut ()>,
}

impl PipeEnd<'_> {
    /// Wraps the pipe that the VFS passes to `splice_read`.
    ///
    /// # Safety
    ///
    /// `pipe` is valid and locked, or the task's own, for the lifetime of the result.
    pub(crate) unsafe fn new(pipe: *mut bindings::pipe_inode_info) -> Self {
        Self {
            pipe,
            locked: PhantomData,
        }
    }

    /// Returns whether it takes one more buffer.
    fn has_room(&self) -> bool {
        // SAFETY: The pipe is valid and locked, or the task's own, for this value's lifetime
        // (`new`).
        unsafe { c::rt_pipe_has_room(self.pipe) }
    }

    /// Moves the images of sub-buffers that `take` takes into it, one after the other, up to `len` bytes. `take` gets the
    /// file position, which goes on with each image, and how many bytes are left of `len`; it returns `None` when there
    /// is nothing to take. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Those of `take`, but none once something has moved.
    pub(crate) fn fill(
        &mut self,
        pos: &mut i64,
        len: usize,
        mut take: impl FnMut(i64, usize) -> Result<Option<Pages>>,
    ) -> Result<usize> {
        let mut moved = 0usize;
        while moved < len && self.has_room() {
            let taken = take(*pos, len.saturating_sub(moved)).and_then(|image| match image {
                Some(pages) => self.push(pages),
                None => Ok(0),
            });
            match taken {
                Ok(0) => break,
                Ok(size) => {
                    moved = moved.saturating_add(size);
                    *pos = pos.saturating_add_unsigned(size as u64);
                }
                Err(_) if moved != 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(moved)
    }

    /// Moves `pages` into it. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// `EAGAIN` without room, `EPIPE` without readers; the pages are gone.
    fn push(&mut self, pages: Pages) -> Result<usize> {
        let (base, size) = pages.into_raw();
        let len = u32::try_from(size).map_err(|_| EINVAL)?;
        // SAFETY: The pipe is valid and locked, or the task's own (`new`); the pages were allocated
        // as one, and the reference goes with them.
        let pushed = unsafe { c::rt_pipe_push(self.pipe, base.as_ptr().cast(), len) };
        if pushed < 0 {
            return Err(Error::from_errno(pushed as i32));
        }
        Ok(size)
    }
}

/// Returns whether a read is one of `splice` or `sendfile`, into pages of the kernel's own that go into a pipe. So
/// does io_uring read into pages, those of a buffer that a program registered, but not for a caller that waits.
pub(crate) fn is_spliced(kiocb: &bindings::kiocb, out: &mut IovIterDest<'_>) -> bool {
    // SAFETY: It is valid, and ours alone as long as it is borrowed.
    let kind = unsafe { (*out.as_raw()).iter_type };
    kiocb.ki_complete.is_none() && u32::from(kind) == bindings::iter_type_ITER_BVEC
}
