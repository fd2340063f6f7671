// SPDX-License-Identifier: GPL-2.0

//! How folders that users already see are found again, to be removed from inside the kernel.
//!
//! Called by `fs::groups` when a module takes its events away. A `Found` holds no lock; `settle` waits
//! for the tasks that hold the folder's.

use super::{
    c,
    inode::{
        Dentry,
        InodeLock, //
    }, //
};
use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr, //
};
use kernel::bindings;

/// A file or folder that was found.
///
/// # Invariants
///
/// `dentry` is a counted reference to a dentry of a superblock whose nodes are of type `N`. It was
/// positive when it was found, and so keeps its inode as long as the reference lives.
pub(crate) struct Found<N> {
    dentry: *mut bindings::dentry,
    _node: PhantomData<N>,
}

impl<N: Send + Sync + 'static> Found<N> {
    /// Calls `look` with the root folder of `sb`.
    ///
    /// # Safety
    ///
    /// `sb` is a mounted superblock whose nodes are of type `N`, and its `s_umount` is held.
    pub(crate) unsafe fn root(sb: *mut bindings::super_block, look: impl FnOnce(&Self)) {
        // INVARIANT: The superblock's own reference is borrowed: it stays while `s_umount` is held,
        // and is not given up here.
        let root = ManuallyDrop::new(Self {
            // SAFETY: The caller promises a mounted superblock, which has a root.
            dentry: unsafe { (*sb).s_root },
            _node: PhantomData,
        });
        look(&root);
    }

    /// Calls `look` for every file and folder in this one, until it answers that it has enough, and
    /// returns the last one then.
    fn search(&self, mut enough: impl FnMut(&Self) -> bool) -> Option<Self> {
        let mut last = ptr::null_mut();
        loop {
            // SAFETY: The dentry is valid; `last` is null or the reference to one of its children
            // that we got before, which is given away.
            let dentry = unsafe { c::find_next_child(self.dentry, last) };
            if dentry.is_null() {
                return None;
            }
            // INVARIANT: A counted reference to a positive dentry.
            let child = Self {
                dentry,
                _node: PhantomData,
            };
            if enough(&child) {
                return Some(child);
            }
            last = ManuallyDrop::new(child).dentry;
        }
    }

    /// Calls `look` for every file and folder in this one.
    pub(crate) fn for_each(&self, mut look: impl FnMut(&Self)) {
        self.search(|child| {
            look(child);
            false
        });
    }

    /// Returns what is called `name` in this folder.
    pub(crate) fn child(&self, name: &str) -> Option<Self> {
        self.search(|child| child.dentry().name().to_bytes() == name.as_bytes())
    }

    /// Returns the dentry, for as long as the reference is held.
    fn dentry(&self) -> Dentry<'_, N> {
        // SAFETY: The reference keeps the dentry and its inode, and nodes of its superblock are of
        // type `N` (invariant).
        unsafe { Dentry::from_raw(self.dentry) }
    }

    /// Waits until the tasks that look something up in the folder, `depth` below an instance's own, are
    /// done.
    pub(crate) fn settle(&self, depth: usize) {
        if let Some(inode) = self.dentry().inode() {
            drop(InodeLock::new(inode, depth));
        }
    }
}

impl<N> Found<N> {
    /// Removes it with all that is in it. A program that has a file of it open keeps that file.
    pub(crate) fn remove(self) {
        // SAFETY: The reference keeps the dentry, and no lock is held. When it was removed before, nothing is
        // done.
        unsafe { bindings::simple_recursive_removal(self.dentry, None) };
    }
}

impl<N> Drop for Found<N> {
    fn drop(&mut self) {
        // SAFETY: The reference is ours (invariant).
        unsafe { bindings::dput(self.dentry) };
    }
}
