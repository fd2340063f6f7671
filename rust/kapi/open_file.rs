// SPDX-License-Identifier: GPL-2.0

//! Files that this module has open for itself, in mounts that no user sees. Each is closed after it was dropped, before
//! its task goes back to user space.

use super::{
    c,
    foreign::{
        FinalRef,
        Object,
        Owned,
        Release, //
        TaskSharedObject,
    }, //
};
use core::ptr;
use kernel::{
    bindings,
    prelude::*, //
};

/// An open file.
pub(super) type OwnFile = Owned<bindings::file>;

/// A mount that no user sees. The files that are opened there keep it.
pub(super) type OwnMount = Owned<bindings::vfsmount>;

impl Release for bindings::file {
    fn release(ending: FinalRef<Self>) {
        c::filp_close(ending, ptr::null_mut());
    }
}

impl Release for bindings::vfsmount {
    fn release(ending: FinalRef<Self>) {
        c::kern_unmount(ending);
    }
}

// SAFETY: A mount belongs to no task, and the kernel counts its references.
unsafe impl TaskSharedObject for bindings::vfsmount {}

/// Returns the mount that was made, if one was: what is opened there says that there is none.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn if_there(made: Result<OwnMount>) -> Result<Option<OwnMount>> {
    match made {
        Err(ENOMEM) => Err(ENOMEM),
        made => Ok(made.ok()),
    }
}

/// Opens the file at `path` below the root of a mount to be read, as the kernel: the caller was let into a file of ours.
/// Process context, also of a task that ends.
///
/// # Errors
///
/// `ENODEV` without a mount, `ENOENT` when there is no such file, `ENOMEM`, and what the file says.
pub(super) fn open(mount: Option<&Object<bindings::vfsmount>>, path: &CStr) -> Result<OwnFile> {
    let mount = mount.ok_or(ENODEV)?;
    let found = c::rt_lookup(mount, path.into()).owned()?;
    c::rt_dentry_open(mount, &found).owned()
}
