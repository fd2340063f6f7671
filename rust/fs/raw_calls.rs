// SPDX-License-Identifier: GPL-2.0

//! What the VFS calls for `trace_pipe_raw` and for no other file: `splice`, `ioctl` and `mmap`.
//!
//! None of it takes the lock of the open file: what `read` has left there is `read`'s.

use super::file::{
    nonblocking,
    open_file, //
};
use crate::kapi::{
    c,
    mapping::Area,
    pipe::PipeEnd, //
};
use kernel::{
    bindings,
    error::from_result,
    ffi::{
        c_int,
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
            // SAFETY: The file stays open during the call.
            c::RT_GET_READER => open.next_reader(unsafe { nonblocking(file) })?,
            _ => return Err(ENOTTY),
        }
        Ok(0)
    })
}

/// What becomes of an area that shows a ring.
const AREA: &bindings::vm_operations_struct = &bindings::vm_operations_struct {
    open: Some(area_open),
    close: Some(area_close),
    may_split: Some(area_may_split),
    ..pin_init::zeroed()
};

/// # Safety
///
/// Called by the VFS for an open file of ours that was opened for reading, with an area that is being
/// set up.
pub(super) unsafe extern "C" fn mmap(
    file: *mut bindings::file,
    area: *mut bindings::vm_area_struct,
) -> c_int {
    from_result(|| {
        // SAFETY: By the contract.
        let (open, mut shown) = unsafe { (open_file(file), Area::new(area)) };
        open.map(&mut shown)?;
        // SAFETY: The area is valid and nobody else uses it yet.
        unsafe { (*area).vm_ops = AREA };
        Ok(0)
    })
}

/// # Safety
///
/// Called for an area that was copied from one that [`mmap`] has set up; it has a reference to the file.
unsafe extern "C" fn area_open(area: *mut bindings::vm_area_struct) {
    // SAFETY: By the contract; the area keeps the file open.
    unsafe { open_file((*area).vm_file) }.map_again();
}

/// # Safety
///
/// Called once for each area that was set up by [`mmap`] or copied, when it shows nothing any more; it has
/// a reference to the file.
unsafe extern "C" fn area_close(area: *mut bindings::vm_area_struct) {
    // SAFETY: By the contract; the area keeps the file open.
    unsafe { open_file((*area).vm_file) }.unmap();
}

/// A part of what was asked for is of no use to anybody.
unsafe extern "C" fn area_may_split(
    _area: *mut bindings::vm_area_struct,
    _address: c_ulong,
) -> c_int {
    EINVAL.to_errno()
}
