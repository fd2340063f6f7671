// SPDX-License-Identifier: GPL-2.0

//! What the VFS calls for `trace_pipe_raw` and for no other file: `splice` and `ioctl`.
//!
//! None of it takes the lock of the open file: what `read` has left there is `read`'s.

use super::file::{
    nonblocking,
    open_file, //
};
use crate::kapi::pipe::PipeEnd;
use kernel::{
    bindings,
    error::from_result,
    ffi::{
        c_long,
        c_uint,
        c_ulong, //
    },
    prelude::*, //
};

/// Of the flags of `splice`: do not sleep.
const SPLICE_F_NONBLOCK: c_uint = 2;

/// # Safety
///
/// Called by the VFS for a file of ours that was opened for reading, with `pipe` locked or nobody
/// else's.
pub(super) unsafe extern "C" fn splice_read(
    file: *mut bindings::file,
    pos: *mut i64,
    pipe: *mut bindings::pipe_inode_info,
    len: usize,
    flags: c_uint,
) -> isize {
    from_result(|| {
        // SAFETY: By the contract.
        let (open, mut pipe) = unsafe { (open_file(file), PipeEnd::new(pipe)) };
        // SAFETY: The VFS passes the position of the call, which is nobody else's meanwhile.
        let pos = unsafe { &mut *pos };
        let moved = open.splice(pos, &mut pipe, len, || {
            // SAFETY: The file stays open during the call.
            flags & SPLICE_F_NONBLOCK != 0 || unsafe { nonblocking(file) }
        })?;
        Ok(moved as isize)
    })
}

/// # Safety
///
/// Called by the VFS for an open file of ours.
pub(super) unsafe extern "C" fn ioctl(
    file: *mut bindings::file,
    command: c_uint,
    _argument: c_ulong,
) -> c_long {
    from_result(|| {
        // SAFETY: By the contract.
        let open = unsafe { open_file(file) };
        match command {
            0 => open.nudge(),
            _ => return Err(ENOTTY),
        }
        Ok(0)
    })
}
