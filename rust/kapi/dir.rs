// SPDX-License-Identifier: GPL-2.0

//! How folders and files of a file system in memory are made and removed.
//!
//! `Dir` is a folder that is being filled; it hands out the folders made in it only to a closure,
//! so that no caller can keep one. A file or folder owns a boxed node of the type that the file
//! system chose; the node is dropped with the inode, and an open file pins its inode: the user of
//! an open file may use the node. Called by `kapi::superblock`, `kapi::mkdir`,
//! `kapi::listing` and by the tree builder of `fs`.
//!
//! Locks: a folder's inode lock is held while it is filled. The lock of a folder is taken after
//! that of its parent; lockdep gets the depth as the subclass.

use super::inode::{
    Dentry,
    Inode,
    NegativeDentry,
    NewInode, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// `S_IFDIR` and `S_IFREG` of the inode's mode.
pub(super) const FOLDER: u16 = 0o040000;
const FILE: u16 = 0o100000;

/// The operations of a folder's inode, and of the folder when it is open.
pub(super) type FolderTables = (
    *const bindings::inode_operations,
    *const bindings::file_operations,
);

/// Those of a folder whose content is what was put into it.
pub(super) const SIMPLE: FolderTables = (
    &raw const bindings::simple_dir_inode_operations,
    &raw const bindings::simple_dir_operations,
);

/// A folder.
///
/// # Invariants
///
/// `dentry` is positive and `inode` its inode.
pub(super) struct Folder<'a, N> {
    dentry: Dentry<'a, N>,
    inode: Inode<'a, N>,
}

impl<'a, N: Send + Sync + 'static> Folder<'a, N> {
    /// Returns the folder `dentry`. Fails with `ENOENT` for a negative one.
    pub(super) fn new(dentry: Dentry<'a, N>) -> Result<Self> {
        // INVARIANT: A dentry with an inode is positive.
        Ok(Self {
            dentry,
            inode: dentry.inode().ok_or(ENOENT)?,
        })
    }

    /// Returns its dentry.
    pub(super) fn dentry(&self) -> Dentry<'a, N> {
        self.dentry
    }

    /// Returns its inode.
    pub(super) fn inode(&self) -> Inode<'a, N> {
        self.inode
    }

    /// Makes the inode of a file. Fails with `ENOMEM`.
    pub(super) fn new_file(
        &self,
        mode: u16,
        operations: &'static bindings::file_operations,
        node: KBox<N>,
    ) -> Result<NewInode<'a, N>> {
        let inode = self.new_inode(FILE | mode, Some(node))?;
        inode.set_file_operations(operations);
        Ok(inode)
    }

    /// Makes the inode of a folder. Fails with `ENOMEM`.
    pub(super) fn new_folder(
        &self,
        mode: u16,
        operations: FolderTables,
        node: Option<KBox<N>>,
    ) -> Result<NewInode<'a, N>> {
        let inode = self.new_inode(FOLDER | mode, node)?;
        inode.operate_as_folder(operations);
        Ok(inode)
    }

    /// Makes an inode with this folder's owner.
    fn new_inode(&self, mode: u16, node: Option<KBox<N>>) -> Result<NewInode<'a, N>> {
        let inode = self.dentry.new_inode(mode, node)?;
        inode.get().own_like(self.inode);
        Ok(inode)
    }
}

impl<N: Send + Sync + 'static> NewInode<'_, N> {
    /// Makes it the inode of a folder: with these operations, and with a link to itself.
    pub(super) fn operate_as_folder(&self, (inode_operations, file_operations): FolderTables) {
        self.set_operations(inode_operations);
        self.set_file_operations(file_operations);
        self.get().add_link();
    }
}

/// A folder that is being filled.
///
/// # Invariants
///
/// The inode of `folder` is locked or cannot be reached yet.
pub(crate) struct Dir<'a, N> {
    folder: Folder<'a, N>,
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
        let folder = Folder::new(dentry)?;
        // INVARIANT: The caller promises that it is locked or cannot be reached.
        Ok(Self { folder, depth })
    }

    /// Makes a root folder with `inode`. Fails with `ENOMEM`.
    pub(super) fn new_root(inode: NewInode<'a, N>) -> Result<Self> {
        let folder = Folder::new(Dentry::new_root(inode)?)?;
        // INVARIANT: No superblock shows the root yet.
        Ok(Self {
            folder,
            depth: None,
        })
    }

    /// Returns it as a folder that may be locked or not.
    pub(super) fn as_folder(&self) -> &Folder<'a, N> {
        &self.folder
    }

    /// Makes the file `name`. Fails with `ENOMEM`.
    pub(crate) fn file(
        &self,
        name: &CStr,
        mode: u16,
        operations: &'static bindings::file_operations,
        node: KBox<N>,
    ) -> Result {
        let inode = self.folder.new_file(mode, operations, node)?;
        self.new_child(name)?.enter(inode);
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
        let inode = self.folder.new_folder(mode, operations, node)?;
        let child = self.new_child(name)?;
        self.enter_folder(
            child,
            inode,
            self.depth.map(|depth| depth.wrapping_add(1)),
            fill,
        )
    }

    /// Makes `child` the folder with `inode`, and lets `fill` put files and folders into it. `depth`
    /// is its depth for lockdep, if it can be reached. Fails with the error of `fill`.
    pub(super) fn enter_folder(
        &self,
        child: NegativeDentry<'_, N>,
        inode: NewInode<'_, N>,
        depth: Option<usize>,
        fill: impl FnOnce(&Dir<'_, N>) -> Result,
    ) -> Result {
        let (dentry, lock) = child.enter_locked(inode, depth);
        self.folder.inode.add_link();
        let folder = Folder::new(dentry)?;
        // INVARIANT: The inode is locked until `lock` goes, or cannot be reached, as this folder
        // cannot.
        let result = fill(&Dir { folder, depth });
        drop(lock);
        result
    }

    /// Makes a dentry called `name` in this folder, which cannot be found yet. Fails with `ENOMEM`.
    fn new_child(&self, name: &CStr) -> Result<NegativeDentry<'_, N>> {
        // SAFETY: The folder is locked or cannot be reached yet (invariant).
        unsafe { self.folder.dentry.new_child(name) }
    }

    /// Removes all that is in the folder.
    pub(super) fn empty(&self) {
        while let Some(child) = self.folder.dentry.first_child() {
            // SAFETY: The folder, which is the parent of `child`, is locked (invariant), and the
            // reference to the child is held.
            unsafe { bindings::locked_recursive_removal(child.get().as_raw(), None) };
        }
    }
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
