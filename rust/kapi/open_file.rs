// SPDX-License-Identifier: GPL-2.0

//! Files that this module has open for itself; each is closed after it was dropped, before its task goes back to user
//! space.

use super::{
    c,
    foreign::{
        FinalRef,
        Owned,
        Release, //
    },
    task, //
};
use core::ptr;
use kernel::{
    bindings,
    prelude::*, //
};

/// An open file.
pub(super) type OwnFile = Owned<bindings::file>;

impl Release for bindings::file {
    fn release(ending: FinalRef<Self>) {
        c::filp_close(ending, ptr::null_mut());
    }
}

/// Opens the file at `path` to be read. Process context.
///
/// # Errors
///
/// `ENOENT` for a task that has no root folder any more, and what the kernel says of the path.
pub(super) fn open(path: &CStr) -> Result<OwnFile> {
    if !task::has_root() {
        return Err(ENOENT);
    }
    c::filp_open(path.into(), bindings::O_RDONLY as c_int, 0).owned()
}
