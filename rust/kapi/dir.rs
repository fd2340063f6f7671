// SPDX-License-Identifier: GPL-2.0

//! How folders and files of a file system in memory are made and removed.
//!
//! `Dir` is a folder that is being filled; it hands out the folders made in it only to a closure,
//! so that no caller can keep one. A file or folder owns a boxed node of the type that the file
//! system chose; the node is dropped with the inode, and an open file pins its inode: the user of
//! an open file may use the node. Called by `kapi::fs`, `kapi::listing` and by the tree builder of
//! `fs`.
//!
//! Locks: a folder's inode lock is held while it is filled. The lock of a folder is taken after
//! that of its parent; lockdep gets the depth as the subclass.

use super::{
    c,
    inode::{
        Dentry,
        Inode,
        NewInode, //
    },
};
use core::ptr;
use kernel::{
    bindings,
    prelude::*,
    types::ForeignOwnable, //
};

/// `S_IFDIR` and `S_IFREG` of the inode's mode.
const FOLDER: u16 = 0o040000;
const FILE: u16 = 0o100000;

/// Lockdep subclasses by depth: 0 is the folder that `mkdir` makes. Subclass 1 is what the VFS uses
/// for its parent.
const SUBCLASS: [u32; 4] = [0, 2, 3, 4];

/// The operations of a folder's inode, and of the folder when it is open.
pub(super) type FolderTables = (
    *const bindings::inode_operations,
    *const bindings::file_operations,
);

/// Those of a folder whose content is what was put into it.
const SIMPLE: FolderTables = (
    &raw const bindings::simple_dir_inode_operations,
    &raw const bindings::simple_dir_operations,
);

/// A folder that is being filled.
///
/// # Invariants
///
/// `dentry` is positive and `inode` its inode, which is locked or cannot be reached yet.
pub(crate) struct Dir<'a, N> {
    dentry: Dentry<'a, N>,
    inode: Inode<'a, N>,
    /// Its depth for lockdep. None: it cannot be reached, nothing needs a lock.
    depth: Option<usize>,
}

impl<'a, N: Send + Sync + 'static> Dir<'a, N> {
    /// Wraps the folder `dentry`. `depth` is none, or where it is below a folder made by `mkdir`.
    /// Fails with `ENOENT` for a negative dentry.
    ///
    /// # Safety
    ///
    /// `dentry` is a folder whose inode is locked for `'a` or cannot be reached yet.
    pub(super) unsafe fn new(dentry: Dentry<'a, N>, depth: Option<usize>) -> Result<Self> {
        // INVARIANT: The caller says that it is locked or cannot be reached.
        Ok(Self {
            dentry,
            inode: dentry.inode().ok_or(ENOENT)?,
            depth,
        })
    }

    pub(super) fn inode(&self) -> Inode<'a, N> {
        self.inode
    }

    /// Makes the file `name`. Fails with `ENOMEM`.
    pub(crate) fn file(
        &self,
        name: &CStr,
        mode: u16,
        operations: &'static bindings::file_operations,
        node: KBox<N>,
    ) -> Result {
        let inode = self.new_file(mode, operations, node)?;
        let dentry = self.new_dentry(name)?;
        // SAFETY: The dentry was just allocated in this folder, and is entered once.
        unsafe { enter(dentry, inode) };
        Ok(())
    }

    /// Makes the folder `name` and lets `fill` put files and folders into it. Fails with `ENOMEM`,
    /// or with the error of `fill`.
    pub(crate) fn folder(
        &self,
        name: &CStr,
        mode: u16,
        operations: Option<&'static bindings::inode_operations>,
        node: Option<KBox<N>>,
        fill: impl FnOnce(&Dir<'_, N>) -> Result,
    ) -> Result {
        let operations = operations.map_or(SIMPLE, |operations| (operations, SIMPLE.1));
        self.folder_with(name, mode, operations, node, fill)
    }

    /// Does the same with both tables of operations.
    pub(super) fn folder_with(
        &self,
        name: &CStr,
        mode: u16,
        operations: FolderTables,
        node: Option<KBox<N>>,
        fill: impl FnOnce(&Dir<'_, N>) -> Result,
    ) -> Result {
        let inode = self.new_folder(mode, operations, node)?;
        let dentry = self.new_dentry(name)?;
        let depth = self.depth.map(|depth| depth.wrapping_add(1));
        let lock = depth.map(|depth| InodeLock::new(inode.get().as_raw(), depth));
        // SAFETY: The dentry was just allocated in this folder, and is entered once.
        let dentry = unsafe { enter(dentry, inode) };
        self.inode.add_link();
        // SAFETY: The inode is locked until `lock` goes, or cannot be reached, as this folder
        // cannot.
        let result = unsafe { Dir::new(dentry, depth) }.and_then(|dir| fill(&dir));
        drop(lock);
        result
    }

    /// Makes `dentry`, given by `mkdir` with the lock of this folder, a folder and lets `fill` put
    /// files and folders into it. Removes everything again when `fill` fails. Fails with `ENOMEM`,
    /// or with the error of `fill`.
    ///
    /// # Safety
    ///
    /// `dentry` is the negative dentry that the VFS passed to a `mkdir` operation in this folder.
    pub(super) unsafe fn mkdir(
        &self,
        dentry: Dentry<'_, N>,
        mode: u16,
        node: KBox<N>,
        fill: impl FnOnce(&N, &Dir<'_, N>) -> Result,
    ) -> Result {
        let inode = self.new_folder(mode, SIMPLE, Some(node))?;
        let lock = InodeLock::new(inode.get().as_raw(), 0);
        // SAFETY: The dentry is negative, and the reference to the inode goes to it.
        unsafe { bindings::d_make_persistent(dentry.as_raw(), inode.into_raw()) };
        self.inode.add_link();
        // SAFETY: The dentry is positive now, and its inode locked until `lock` goes. The tree
        // keeps the inode, and with it the node, as long as its parent is locked.
        let result = unsafe { Dir::new(dentry, Some(0)) }.and_then(|dir| match dir.inode.node() {
            Some(node) => fill(node, &dir),
            None => Err(EINVAL),
        });
        drop(lock);
        if result.is_err() {
            // SAFETY: The VFS holds the parent's lock; the folder's own is free again.
            unsafe { bindings::locked_recursive_removal(dentry.as_raw(), None) };
        }
        result
    }

    /// Makes the inode of a file. Fails with `ENOMEM`.
    pub(super) fn new_file(
        &self,
        mode: u16,
        operations: &'static bindings::file_operations,
        node: KBox<N>,
    ) -> Result<NewInode<N>> {
        let inode = self.new_inode(FILE | mode, Some(node))?;
        inode.set_file_operations(operations);
        Ok(inode)
    }

    /// Makes the inode of a folder. Fails with `ENOMEM`.
    pub(super) fn new_folder(
        &self,
        mode: u16,
        (inode_operations, file_operations): FolderTables,
        node: Option<KBox<N>>,
    ) -> Result<NewInode<N>> {
        let inode = self.new_inode(FOLDER | mode, node)?;
        inode.set_operations(inode_operations);
        inode.set_file_operations(file_operations);
        inode.get().add_link();
        Ok(inode)
    }

    /// Makes an inode with this folder's owner.
    fn new_inode(&self, mode: u16, node: Option<KBox<N>>) -> Result<NewInode<N>> {
        let inode = self.dentry.new_inode(mode, node)?;
        inode.get().own_like(self.inode);
        Ok(inode)
    }

    /// Makes a dentry called `name` in this folder, which cannot be found yet. Fails with `ENOMEM`.
    fn new_dentry(&self, name: &CStr) -> Result<Dentry<'_, N>> {
        // SAFETY: The dentry is valid and the name ends with a NUL.
        let dentry = unsafe { bindings::d_alloc_name(self.dentry.as_raw(), name.as_char_ptr()) };
        if dentry.is_null() {
            return Err(ENOMEM);
        }
        // SAFETY: It is a reference to a new dentry in this folder, whose lock, or the fact that it
        // cannot be reached, keeps what it has.
        Ok(unsafe { Dentry::from_raw(dentry) })
    }
}

/// Lets lookups find `inode` through `dentry`. The tree keeps one reference to both.
///
/// # Safety
///
/// `dentry` came from `Dir::new_dentry` and was not entered before.
unsafe fn enter<N: Send + Sync + 'static>(
    dentry: Dentry<'_, N>,
    inode: NewInode<N>,
) -> Dentry<'_, N> {
    // SAFETY: The dentry is negative and takes over the reference to the inode.
    unsafe { bindings::d_make_persistent(dentry.as_raw(), inode.into_raw()) };
    // SAFETY: The reference of `d_alloc_name` is given up; that of the tree remains.
    unsafe { bindings::dput(dentry.as_raw()) };
    dentry
}

/// Removes the folder `dentry` with all that is in it.
///
/// # Safety
///
/// The VFS holds the locks of `dentry`, a folder of this kind, and of `parent`, its parent's inode,
/// for a `rmdir` operation.
pub(super) unsafe fn remove<N: Send + Sync + 'static>(parent: Inode<'_, N>, dentry: Dentry<'_, N>) {
    loop {
        // SAFETY: The dentry is valid, and no reference is handed over.
        let child = unsafe { c::find_next_child(dentry.as_raw(), ptr::null_mut()) };
        if child.is_null() {
            break;
        }
        // SAFETY: The parent of `child` is locked, and the reference from find_next_child() is
        // held.
        unsafe { bindings::locked_recursive_removal(child, None) };
        // SAFETY: The reference came from find_next_child().
        unsafe { bindings::dput(child) };
    }
    // The folder's own two links go, one of them is its entry in the parent, and with its `..` the
    // parent loses one.
    if let Some(inode) = dentry.inode() {
        inode.drop_link();
        inode.drop_link();
    }
    parent.drop_link();
    // SAFETY: The dentry is positive, and the VFS holds its lock and that of its parent.
    unsafe { bindings::d_make_discardable(dentry.as_raw()) };
}

/// Sets the owner of `dentry` and of all below it.
pub(super) fn chown_tree<N: Send + Sync + 'static>(
    dentry: Dentry<'_, N>,
    uid: Option<bindings::kuid_t>,
    gid: Option<bindings::kgid_t>,
) {
    if let Some(inode) = dentry.inode() {
        inode.chown(uid, gid);
    }
    // The recursion is as deep as the tree: five folders.
    dentry.for_each_child(|child| chown_tree(child, uid, gid));
}

/// Drops the node of an inode that is evicted.
///
/// # Safety
///
/// - Called when the inode is evicted, so that no reference to its node is left.
/// - Nodes of its superblock are of type `N`.
pub(super) unsafe fn drop_node<N: Send + Sync + 'static>(inode: &mut bindings::inode) {
    let private = core::mem::replace(&mut inode.i_private, ptr::null_mut());
    if !private.is_null() {
        // SAFETY: It came from `into_foreign` in `NewInode::new`, and was taken out of the inode.
        drop(unsafe { KBox::<N>::from_foreign(private) });
    }
}

/// Returns the name of `dentry`.
///
/// # Safety
///
/// `dentry` is valid for `'a`, in a file system that never renames.
pub(crate) unsafe fn name_of<'a>(dentry: *mut bindings::dentry) -> &'a CStr {
    // SAFETY: It is valid for `'a`; its inode, and so the type of its node, is not looked at.
    unsafe { Dentry::<()>::from_raw(dentry) }.name()
}

/// The lock of a folder's inode, held until it is dropped.
#[must_use = "the inode unlocks at once when the guard is unused"]
pub(crate) struct InodeLock(*mut bindings::inode);

impl InodeLock {
    /// Locks `inode`. The caller keeps it alive, by a reference or by the lock of its parent.
    pub(crate) fn new(inode: *mut bindings::inode, depth: usize) -> Self {
        let subclass = SUBCLASS.get(depth).or(SUBCLASS.last());
        // SAFETY: The callers, here and in `walk`, pass a valid inode and keep it alive.
        unsafe { c::rt_inode_lock_nested(inode, subclass.copied().unwrap_or(0)) };
        Self(inode)
    }
}

impl Drop for InodeLock {
    fn drop(&mut self) {
        // SAFETY: `new` locked it, and the caller of `new` keeps it alive until now.
        unsafe { c::rt_inode_unlock(self.0) };
    }
}
