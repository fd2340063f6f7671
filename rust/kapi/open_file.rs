// SPDX-License-Identifier: GPL-2.0

//! Files that this module has open for itself. Each is closed after it was dropped, before its task goes back to user
//! space.
//!
//! Those of the kernel's own file systems are opened in mounts that no user sees, whatever the root folder of the caller
//! has, if it has one. The mounts are there as long as the module: a task that ends has no namespaces any more, in which
//! one could be made, and a file that its program leaves open is closed then.
//!
//! Lock: [`MOUNTS`]; inside it are only the kernel's. The files that are opened keep their mount without it.

use super::{
    c,
    foreign::{
        FinalRef,
        Owned,
        OwnedOrError,
        Release, //
        TaskSharedObject,
    }, //
};
use core::{
    mem,
    ptr, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// An open file.
pub(super) type OwnFile = Owned<bindings::file>;

/// A mount that no user sees.
type OwnMount = Owned<bindings::vfsmount>;

/// A file system of the kernel: the number of its row in [`MOUNTED_BY`], and of its mount in [`MOUNTS`].
#[derive(Clone, Copy)]
pub(super) enum KernelTree {
    Sysfs,
    Tracefs,
}

/// What mounts each of them.
const MOUNTED_BY: [extern "C" fn() -> OwnedOrError<bindings::vfsmount>; 2] =
    [c::rt_sysfs_mount, c::rt_tracefs_mount];

crate::kapi::global::global_mutex! {
    static MOUNTS: Mutex<[Option<OwnMount>; MOUNTED_BY.len()]> = [const { None }; MOUNTED_BY.len()];
}

/// Files of the kernel's file systems can be opened while this exists.
pub(crate) struct PrivateMounts(());

impl PrivateMounts {
    /// Mounts those that the kernel has. One at a time, by a task that does not end.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn begin() -> Result<Self> {
        let mut mounts = [const { None }; MOUNTED_BY.len()];
        for (mount, mounted_by) in mounts.iter_mut().zip(MOUNTED_BY) {
            *mount = match mounted_by().owned() {
                Err(ENOMEM) => return Err(ENOMEM),
                // What is opened there says that there is none.
                made => made.ok(),
            };
        }
        *MOUNTS.lock() = mounts;
        Ok(Self(()))
    }
}

impl Drop for PrivateMounts {
    fn drop(&mut self) {
        let mounts = mem::take(&mut *MOUNTS.lock());
        drop(mounts);
    }
}

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

/// Opens the file at `path` below the root of a file system to be read, as the kernel: the caller was let into a file of
/// ours. Process context, also of a task that ends.
///
/// # Errors
///
/// `ENODEV` when the kernel has no such file system, `ENOENT` when there is no such file, `ENOMEM`, and what the file
/// says.
pub(super) fn open(tree: KernelTree, path: &CStr) -> Result<OwnFile> {
    let mounts = MOUNTS.lock();
    let mount = mounts.get(tree as usize).and_then(Option::as_deref);
    let mount = mount.ok_or(ENODEV)?;
    let found = c::rt_lookup(mount, path.into()).owned()?;
    c::rt_dentry_open(mount, &found).owned()
}
