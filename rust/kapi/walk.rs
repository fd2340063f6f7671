// SPDX-License-Identifier: GPL-2.0

//! How folders that users already see are found again, to be removed from inside the kernel, to be given another
//! folder, or to tell of a change.
//!
//! Called by `fs::groups` when a module takes its events away, by `fs::held` when one makes an instance, and by
//! `fs::latency`. A `FoundDentry` holds no lock; `settle` waits for the tasks that hold the folder's.

use super::{
    c,
    dir::Dir,
    inode::{
        Dentry,
        InodeLock, //
    }, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// A file or folder that was found.
///
/// # Invariants
///
/// It is positive, and no lock is held but `s_umount`.
pub(crate) struct FoundDentry<'a, N>(Dentry<'a, N>);

impl<N: Send + Sync + 'static> FoundDentry<'_, N> {
    /// Calls `look` with the root folder of `sb`.
    ///
    /// # Safety
    ///
    /// `sb` is a mounted superblock that `kapi::superblock` has filled, with nodes of type `N`. Its
    /// `s_umount` is held, and no other lock.
    pub(crate) unsafe fn root(
        sb: *mut bindings::super_block,
        look: impl FnOnce(&FoundDentry<'_, N>),
    ) {
        // SAFETY: The caller promises a mounted superblock, which has a root.
        let root = unsafe { (*sb).s_root };
        // INVARIANT: A root is positive; the caller promises what is held.
        // SAFETY: The superblock's own reference keeps the root while `s_umount` is held.
        look(&FoundDentry(unsafe { Dentry::from_raw(root) }));
    }

    /// Calls `look` for every file and folder in this one.
    pub(crate) fn for_each(&self, mut look: impl FnMut(&FoundDentry<'_, N>)) {
        // INVARIANT: The children of a folder are positive.
        self.0.for_each_child(|child| look(&FoundDentry(child)));
    }

    /// Calls `look` with what is called `name` in this folder, if there is such a thing.
    pub(crate) fn in_child(&self, name: &str, look: impl FnOnce(&FoundDentry<'_, N>)) {
        let is_it = |child: Dentry<'_, N>| child.name().to_bytes() == name.as_bytes();
        if let Some(child) = self.0.find_child(is_it) {
            // INVARIANT: The children of a folder are positive.
            look(&FoundDentry(child.get()));
        }
    }

    /// Makes the folder `name` in this one, which is where users make folders, as `mkdir` does: it owns `node`, and
    /// `fill` puts files and folders into it. Process context.
    ///
    /// # Errors
    ///
    /// `EEXIST` if there is something of that name, `ENOMEM`, and the error of `fill`, when nothing is left of it.
    pub(crate) fn make_folder(
        &self,
        name: &CStr,
        node: KBox<N>,
        fill: impl FnOnce(&N, &Dir<'_, N>) -> Result,
    ) -> Result {
        self.0.create(name, |new| new.make_folder(node, fill))
    }

    /// Waits until the tasks that look something up in the folder, `depth` below an instance's own, are
    /// done.
    pub(crate) fn settle(&self, depth: usize) {
        if let Some(inode) = self.0.inode() {
            drop(InodeLock::new(inode, depth));
        }
    }

    /// Tells programs that watch it that it was changed, which none of them did.
    pub(crate) fn tell_of_change(&self) {
        if let Some(inode) = self.0.inode() {
            c::rt_tell_modified(inode.any());
        }
    }

    /// Removes it with all that is in it, unless another task has. A program that has a file of it open keeps that
    /// file.
    pub(crate) fn remove(&self) {
        let Some(parent) = self.0.parent().inode() else {
            return;
        };
        let _lock = InodeLock::of_parent(parent);
        // A task that removes this one, or a folder that this is in, unhashes it with this lock held. After that the
        // parent may have no link left that could go with this one.
        if !self.0.is_hashed() {
            return;
        }
        // SAFETY: The dentry is valid and hashed, its parent is locked until the end of the function, and no other
        // lock is held that removal takes (invariant).
        unsafe { bindings::locked_recursive_removal(self.0.as_raw(), None) };
    }
}
