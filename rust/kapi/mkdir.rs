// SPDX-License-Identifier: GPL-2.0

//! Folders that users make and remove, where the file system allows it.
//!
//! The VFS calls the operations here, for the folder that has [`operations`]. Process context. It
//! holds the lock of that folder, and during `rmdir` that of the folder in it, too.

use super::{
    dir::{
        Dir,
        Folder,
        SIMPLE, //
    },
    fs::{
        FileSystem,
        FOLDER_MODE, //
    },
    inode::{
        Dentry,
        Inode,
        NegativeDentry, //
    },
};
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::{
    bindings,
    error::from_result,
    ffi::c_int,
    prelude::*, //
};

/// The operation table of `F`.
struct MkdirTable<F>(PhantomData<F>);

impl<F: FileSystem> MkdirTable<F> {
    const OPERATIONS: &'static bindings::inode_operations = &bindings::inode_operations {
        lookup: Some(bindings::simple_lookup),
        mkdir: Some(mkdir::<F>),
        rmdir: Some(rmdir::<F>),
        ..pin_init::zeroed()
    };
}

/// Returns the inode operations of the folder in which users may make and remove folders.
pub(crate) const fn operations<F: FileSystem>() -> &'static bindings::inode_operations {
    MkdirTable::<F>::OPERATIONS
}

impl<N: Send + Sync + 'static> NegativeDentry<'_, N> {
    /// Makes it a folder, which owns `node`, and lets `fill` put files and folders into it. Removes
    /// everything again when `fill` fails. Fails with `ENOMEM`, or with the error of `fill`.
    pub(super) fn make_folder(
        self,
        node: KBox<N>,
        fill: impl FnOnce(&N, &Dir<'_, N>) -> Result,
    ) -> Result {
        // SAFETY: The folder that this is in is locked (invariant), as no folder that can be reached before is made here.
        let parent = unsafe { Dir::new(self.parent(), Some(0)) }?;
        let inode = (parent.as_folder()).new_folder(FOLDER_MODE, SIMPLE, Some(node))?;
        let dentry = self.as_raw();
        let result = parent.enter_folder(self, inode, Some(0), |dir| {
            fill(dir.as_folder().inode().node().ok_or(EINVAL)?, dir)
        });
        if result.is_err() {
            // SAFETY: The dentry was entered, its parent is locked as long as `self` would be, and the new folder's own
            // lock is free again.
            unsafe { bindings::locked_recursive_removal(dentry, None) };
        }
        result
    }
}

/// # Safety
///
/// Called by the VFS with the parent of `dentry` locked, which is a folder of `F`, and a negative
/// dentry in it.
unsafe extern "C" fn mkdir<F: FileSystem>(
    _idmap: *mut bindings::mnt_idmap,
    _parent: *mut bindings::inode,
    dentry: *mut bindings::dentry,
    _mode: bindings::umode_t,
) -> *mut bindings::dentry {
    let result = F::allowed().and_then(|()| {
        // SAFETY: The VFS passed the dentry to this `mkdir`, in a folder with nodes of this type.
        let folder = unsafe { NegativeDentry::<F::Node>::from_raw(dentry) };
        F::create(folder.name(), |node| {
            folder.make_folder(node, F::fill_created)
        })
    });
    match result {
        Ok(()) => ptr::null_mut(),
        Err(error) => error.to_ptr(),
    }
}

/// # Safety
///
/// Called by the VFS with the parent of `dentry`, which is a folder of `F`, and the inode of
/// `dentry` locked.
unsafe extern "C" fn rmdir<F: FileSystem>(
    _parent: *mut bindings::inode,
    dentry: *mut bindings::dentry,
) -> c_int {
    from_result(|| {
        // SAFETY: The VFS keeps the dentry, whose parent is locked, and nodes are of this type.
        let dentry = unsafe { Dentry::<F::Node>::from_raw(dentry) };
        let parent = Folder::new(dentry.parent())?;
        let node = dentry.inode().and_then(Inode::node).ok_or(EPERM)?;
        F::remove(node)?;
        // SAFETY: The VFS holds the lock of the folder for the operation.
        let dir = unsafe { Dir::new(dentry, Some(0)) }?;
        dir.empty();
        // The folder's own two links go, one of them is its entry in the parent, and with its `..`
        // the parent loses one.
        let inode = dir.as_folder().inode();
        inode.drop_link();
        inode.drop_link();
        parent.inode().drop_link();
        // SAFETY: The dentry is positive, and the VFS holds its lock and that of its parent.
        unsafe { bindings::d_make_discardable(dentry.as_raw()) };
        Ok(0)
    })
}
