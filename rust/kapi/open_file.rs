// SPDX-License-Identifier: GPL-2.0

//! Files that this module has open for itself; each is closed when it is dropped, before that returns.

use super::{
    c,
    foreign::{
        FinalRef,
        Owned,
        Release, //
    }, //
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
/// What the kernel says of the path.
pub(super) fn open(path: &CStr) -> Result<OwnFile> {
    c::filp_open(path.into(), bindings::O_RDONLY as c_int, 0).owned()
}
