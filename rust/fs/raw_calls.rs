// SPDX-License-Identifier: GPL-2.0

//! The operations that the VFS calls for `trace_pipe_raw` and for no other file: `splice`, which
//! `snapshot_raw` has as well, `ioctl` and `mmap`.
//!
//! None of them takes the lock of the open file: what `read` has left there is `read`'s.

use super::file::{
    operations,
    VfsFile, //
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

/// The flag of `splice` that forbids to sleep.
const SPLICE_F_NONBLOCK: c_uint = 2;

operations! {
    /// Moves sub-buffers of a file that was opened for reading into `pipe`, which is locked or the
    /// task's own.
    pub(super) fn splice_read(
        file,
        pos: *mut i64,
        pipe: *mut bindings::pipe_inode_info,
        len: usize,
        flags: c_uint
    ) -> isize {
        from_result(|| {
            // SAFETY: The VFS has locked the pipe for the call, or it is the task's own.
            let mut pipe = unsafe { PipeEnd::new(pipe) };
            // SAFETY: The VFS passes the position of the call, which no other code uses meanwhile.
            let pos = unsafe { &mut *pos };
            let moved = file.open_file().splice(pos, &mut pipe, len, || {
                flags & SPLICE_F_NONBLOCK != 0 || file.nonblocking()
            })?;
            Ok(moved as isize)
        })
    }

    /// Obeys a command of a program that waits for the ring, or has it mapped.
    pub(super) fn ioctl(file, command: c_uint, _argument: c_ulong) -> c_long {
        from_result(|| {
            match command {
                0 => file.open_file().nudge(),
                c::RT_GET_READER => file.open_file().next_reader(file.nonblocking())?,
                _ => return Err(ENOTTY),
            }
            Ok(0)
        })
    }

    /// Shows the ring of a file that was opened for reading in `area`, which is being set up.
    pub(super) fn mmap(file, area: *mut bindings::vm_area_struct) -> c_int {
        from_result(|| {
            // SAFETY: The VFS passes an area that is being set up, with the lock of the program's
            // memory held for writing; it shows nothing yet.
            let mut area = unsafe { Area::new(area) };
            file.open_file().map(&mut area)?;
            area.operate_by(AREA);
            Ok(0)
        })
    }
}

/// The operations of an area that shows a ring.
const AREA: &bindings::vm_operations_struct = &bindings::vm_operations_struct {
    open: Some(area_counted::<true>),
    close: Some(area_counted::<false>),
    may_split: Some(area_may_split),
    ..pin_init::zeroed()
};

/// Counts an area that shows a ring: `MORE`, one more, which is a copy; otherwise, one less.
///
/// # Safety
///
/// Called for an area that [`mmap`] has set up or that was copied from such a one, and that has a
/// reference to the file: with `MORE` when it was copied, without it once, when it shows nothing
/// any more.
unsafe extern "C" fn area_counted<const MORE: bool>(area: *mut bindings::vm_area_struct) {
    // SAFETY: The caller holds the area, whose file does not change.
    let file = unsafe { (*area).vm_file };
    // SAFETY: `mmap` was called for a file of ours, and the area's reference keeps it open.
    let open = unsafe { VfsFile::new(file) }.open_file();
    if MORE {
        open.map_again();
    } else {
        open.unmap();
    }
}

/// Refuses with EINVAL to split an area: a part of a ring is of no use to its reader.
///
/// # Safety
///
/// None: it looks at nothing.
unsafe extern "C" fn area_may_split(
    _area: *mut bindings::vm_area_struct,
    _address: c_ulong,
) -> c_int {
    EINVAL.to_errno()
}
