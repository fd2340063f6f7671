// SPDX-License-Identifier: GPL-2.0

//! How folders and files of a file system in memory are made and removed.
//!
//! `Dir` is a folder that is being filled; it hands out the folders made in it only to a closure, so
//! that nobody can keep one. A file or folder owns a boxed node of the type that the file system
//! chose; the node is dropped with the inode, and an open file pins its inode: whoever has a file
//! open may use the node. Called by `kapi::fs` and by the tree builder of `fs`.
//!
//! Locks: a folder's inode lock is held while it is filled. The lock of a folder is taken after that
//! of its parent; lockdep gets the depth as the subclass.

use super::c;
use core::{
    marker::PhantomData,
    ptr, //
};
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
/// `dentry` is positive and stays so for `'a`. Its inode is locked, or nobody can reach it yet.
pub(crate) struct Dir<'a, N> {
    dentry: *mut bindings::dentry,
    /// How deep it is for lockdep. None: nobody can reach it, nothing needs a lock.
    depth: Option<usize>,
    _node: PhantomData<&'a N>,
}

impl<'a, N: Send + Sync + 'static> Dir<'a, N> {
    /// The folder behind `dentry`. `depth` is none, or where it is below a folder made by `mkdir`.
    ///
    /// # Safety
    ///
    /// `dentry` is a positive folder for `'a`, its inode is locked or cannot be reached by anybody,
    /// and every `i_private` in its superblock is null or a boxed `N`.
    pub(crate) unsafe fn new(dentry: *mut bindings::dentry, depth: Option<usize>) -> Self {
        // INVARIANT: By the contract.
        Self {
            dentry,
            depth,
            _node: PhantomData,
        }
    }

    pub(super) fn inode(&self) -> *mut bindings::inode {
        // SAFETY: A positive dentry has an inode.
        unsafe { (*self.dentry).d_inode }
    }

    /// Makes the file `name`.
    pub(crate) fn file(
        &self,
        name: &CStr,
        mode: u16,
        operations: &'static bindings::file_operations,
        node: KBox<N>,
    ) -> Result {
        let inode = self.new_file(mode, operations, node)?;
        let dentry = self.new_dentry(name, inode)?;
        // SAFETY: Both are new and ours.
        unsafe { self.enter(dentry, inode) };
        Ok(())
    }

    /// Makes the folder `name` and lets `fill` put things into it.
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

    /// The same, with both tables of operations.
    pub(super) fn folder_with(
        &self,
        name: &CStr,
        mode: u16,
        operations: FolderTables,
        node: Option<KBox<N>>,
        fill: impl FnOnce(&Dir<'_, N>) -> Result,
    ) -> Result {
        let inode = self.new_folder(mode, operations, node)?;
        let dentry = self.new_dentry(name, inode)?;
        let depth = self.depth.map(|depth| depth.wrapping_add(1));
        let lock = depth.map(|depth| InodeLock::new(inode, depth));
        // SAFETY: Both are new and ours.
        unsafe {
            self.enter(dentry, inode);
            bindings::inc_nlink(self.inode());
        }
        // INVARIANT: The dentry is positive now; its inode is locked until `lock` goes, or cannot be
        // reached, as this folder cannot.
        let result = fill(&Dir {
            dentry,
            depth,
            _node: PhantomData,
        });
        drop(lock);
        result
    }

    /// Makes `dentry`, given by `mkdir` with the lock of this folder, a folder and lets `fill` put
    /// things into it. Removes everything again when `fill` fails.
    ///
    /// # Safety
    ///
    /// `dentry` is the negative dentry that the VFS passed to a `mkdir` operation in this folder.
    pub(crate) unsafe fn mkdir(
        &self,
        dentry: *mut bindings::dentry,
        mode: u16,
        node: KBox<N>,
        fill: impl FnOnce(&N, &Dir<'_, N>) -> Result,
    ) -> Result {
        let inode = self.new_folder(mode, SIMPLE, Some(node))?;
        let lock = InodeLock::new(inode, 0);
        // SAFETY: The dentry is negative, and the reference to the inode goes to it.
        unsafe { bindings::d_make_persistent(dentry, inode) };
        // SAFETY: The parent's inode is valid and locked.
        unsafe { bindings::inc_nlink(self.inode()) };
        // INVARIANT: The dentry is positive now; its inode is locked until `lock` goes.
        let dir = Dir {
            dentry,
            depth: Some(0),
            _node: PhantomData,
        };
        // SAFETY: The tree keeps the inode, and with it the node, as long as its parent is locked.
        let result = match unsafe { node_of::<N>(inode) } {
            Some(node) => fill(node, &dir),
            None => Err(EINVAL),
        };
        drop(lock);
        if result.is_err() {
            // SAFETY: The VFS holds the parent's lock; nobody holds the folder's own.
            unsafe { bindings::locked_recursive_removal(dentry, None) };
        }
        result
    }

    /// The inode of a file, which nobody knows yet.
    pub(super) fn new_file(
        &self,
        mode: u16,
        operations: &'static bindings::file_operations,
        node: KBox<N>,
    ) -> Result<*mut bindings::inode> {
        let inode = self.new_inode(FILE | mode, Some(node))?;
        // SAFETY: The inode is new and ours.
        unsafe { (*inode).__bindgen_anon_3.i_fop = operations };
        Ok(inode)
    }

    /// The inode of a folder, which nobody knows yet.
    pub(super) fn new_folder(
        &self,
        mode: u16,
        (inode_operations, file_operations): FolderTables,
        node: Option<KBox<N>>,
    ) -> Result<*mut bindings::inode> {
        let inode = self.new_inode(FOLDER | mode, node)?;
        // SAFETY: The inode is new and ours.
        unsafe {
            (*inode).i_op = inode_operations;
            (*inode).__bindgen_anon_3.i_fop = file_operations;
            bindings::inc_nlink(inode);
        }
        Ok(inode)
    }

    /// An inode with this folder's owner, which nobody knows yet.
    fn new_inode(&self, mode: u16, node: Option<KBox<N>>) -> Result<*mut bindings::inode> {
        // SAFETY: The superblock of a valid dentry is valid.
        let inode = unsafe { bindings::new_inode((*self.dentry).d_sb) };
        if inode.is_null() {
            return Err(ENOMEM);
        }
        // SAFETY: The inode is new and ours, that of the folder is valid.
        unsafe {
            (*inode).i_ino = bindings::get_next_ino().into();
            bindings::simple_inode_init_ts(inode);
            (*inode).i_mode = mode;
            (*inode).i_uid = (*self.inode()).i_uid;
            (*inode).i_gid = (*self.inode()).i_gid;
            (*inode).i_private = node.map_or(ptr::null_mut(), |node| node.into_foreign());
        }
        Ok(inode)
    }

    /// A dentry called `name` in this folder, which nobody can find yet. Without one, drops `inode`.
    fn new_dentry(
        &self,
        name: &CStr,
        inode: *mut bindings::inode,
    ) -> Result<*mut bindings::dentry> {
        // SAFETY: The dentry is valid and the name ends with a NUL.
        let dentry = unsafe { bindings::d_alloc_name(self.dentry, name.as_char_ptr()) };
        if dentry.is_null() {
            // SAFETY: The only reference to the inode is ours.
            unsafe { bindings::iput(inode) };
            return Err(ENOMEM);
        }
        Ok(dentry)
    }

    /// Lets everybody find `inode` through `dentry`. The tree keeps one reference to both.
    ///
    /// # Safety
    ///
    /// Both come from the functions above and were not entered before.
    unsafe fn enter(&self, dentry: *mut bindings::dentry, inode: *mut bindings::inode) {
        // SAFETY: The dentry is negative and takes over the reference to the inode; our own
        // reference to the dentry is given up, that of the tree remains.
        unsafe {
            bindings::d_make_persistent(dentry, inode);
            bindings::dput(dentry);
        }
    }
}

/// Removes the folder `dentry` with all that is in it.
///
/// # Safety
///
/// `dentry` is a folder of this kind whose lock and whose parent's lock the VFS holds for a `rmdir`
/// operation; `parent` is its parent's inode.
pub(crate) unsafe fn remove(parent: *mut bindings::inode, dentry: *mut bindings::dentry) {
    loop {
        // SAFETY: The dentry is valid by the contract.
        let child = unsafe { c::find_next_child(dentry, ptr::null_mut()) };
        if child.is_null() {
            break;
        }
        // SAFETY: The parent of `child` is locked. The reference came from find_next_child().
        unsafe {
            bindings::locked_recursive_removal(child, None);
            bindings::dput(child);
        }
    }
    // SAFETY: Both inodes are valid and locked. The folder's own two links go, one of them is its
    // entry in the parent, and with its `..` the parent loses one.
    unsafe {
        bindings::drop_nlink((*dentry).d_inode);
        bindings::drop_nlink((*dentry).d_inode);
        bindings::drop_nlink(parent);
        bindings::d_make_discardable(dentry);
    }
}

/// Sets the owner of `dentry` and of all below it.
///
/// # Safety
///
/// `dentry` is a positive dentry of a file system of this kind whose superblock cannot go away.
pub(crate) unsafe fn chown_tree(
    dentry: *mut bindings::dentry,
    uid: Option<bindings::kuid_t>,
    gid: Option<bindings::kgid_t>,
) {
    // SAFETY: A positive dentry has an inode. Who reads the owner at the same time gets the old or
    // the new one, as with chown(2).
    unsafe {
        let inode = (*dentry).d_inode;
        if let Some(uid) = uid {
            (*inode).i_uid = uid;
        }
        if let Some(gid) = gid {
            (*inode).i_gid = gid;
        }
    }
    let mut child = ptr::null_mut();
    loop {
        // SAFETY: `child` is null or a reference from this function, which it takes over.
        child = unsafe { c::find_next_child(dentry, child) };
        if child.is_null() {
            return;
        }
        // SAFETY: The child is positive and we hold a reference. The recursion is as deep as the
        // tree: five folders.
        unsafe { chown_tree(child, uid, gid) };
    }
}

/// The node that `inode` owns, when it has one.
///
/// # Safety
///
/// `inode` belongs to a superblock whose nodes are of type `N`, and lives for `'a`.
pub(crate) unsafe fn node_of<'a, N: Send + Sync + 'static>(
    inode: *mut bindings::inode,
) -> Option<&'a N> {
    // SAFETY: By the contract `i_private` is null or a boxed `N`, dropped with the inode only.
    unsafe { (*inode).i_private.cast::<N>().as_ref() }
}

/// Drops the node of an inode that nobody uses any more.
///
/// # Safety
///
/// Called once, when the inode is evicted; nodes of this superblock are of type `N`.
pub(crate) unsafe fn drop_node<N: Send + Sync + 'static>(inode: *mut bindings::inode) {
    // SAFETY: By the contract.
    let private = unsafe { core::mem::replace(&mut (*inode).i_private, ptr::null_mut()) };
    if !private.is_null() {
        // SAFETY: It came from `into_foreign` in `new_inode`, and nobody else can have it.
        drop(unsafe { KBox::<N>::from_foreign(private) });
    }
}

/// The name of `dentry`.
///
/// # Safety
///
/// `dentry` lives for `'a`, in a file system that never renames.
pub(crate) unsafe fn name_of<'a>(dentry: *mut bindings::dentry) -> &'a CStr {
    // SAFETY: By the contract the name does not change; it ends with a NUL.
    unsafe { CStr::from_char_ptr((*dentry).__bindgen_anon_1.d_name.name) }
}

/// The lock of a folder's inode, held until it is dropped.
#[must_use = "the inode unlocks at once when the guard is unused"]
pub(crate) struct InodeLock(*mut bindings::inode);

impl InodeLock {
    /// Locks `inode`. The caller keeps it alive, by a reference or by the lock of its parent.
    pub(crate) fn new(inode: *mut bindings::inode, depth: usize) -> Self {
        let subclass = SUBCLASS.get(depth).or(SUBCLASS.last());
        // SAFETY: Both callers, here and in `walk`, pass a valid inode.
        unsafe { c::rt_inode_lock_nested(inode, subclass.copied().unwrap_or(0)) };
        Self(inode)
    }
}

impl Drop for InodeLock {
    fn drop(&mut self) {
        // SAFETY: Locked in `new`.
        unsafe { c::rt_inode_unlock(self.0) };
    }
}
