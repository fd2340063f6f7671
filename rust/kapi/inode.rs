// SPDX-License-Identifier: GPL-2.0

//! Inodes, dentries and superblocks of a file system in memory, as types that carry what is known
//! of them.
//!
//! The file system owns a node of type `N` for each inode that has one (`i_private`); it is dropped
//! with the inode. Called by `kapi::dir` and `kapi::mkdir`, which make and remove folders,
//! `kapi::listing`, `kapi::superblock`, `kapi::fs_context` and `kapi::walk`.

use super::{
    c,
    foreign::{
        FinalRef,
        Owned,
        Release, //
    },
    mount::SharedOptions, //
};
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::{
    bindings,
    prelude::*,
    types::ForeignOwnable, //
};

/// Reads one field of an [`Inode`], [`Dentry`] or [`Superblock`].
macro_rules! load {
    ($object:expr, $field:ident) => {{
        let Self(raw, ..) = $object;
        // SAFETY: The object is valid for `'a` (invariant). A field that another CPU stores to
        // meanwhile is a number, of which either value will do, or guarded by a lock of the caller.
        unsafe { (*raw).$field }
    }};
}

mod dentry;

pub(crate) use dentry::Dentry;
pub(super) use dentry::{
    AnyDentry,
    LookupDentry,
    NegativeDentry, //
};

/// Stores to one field of an [`Inode`].
macro_rules! store {
    ($inode:expr, $field:ident, $value:expr) => {{
        let Self(raw, ..) = $inode;
        let value = $value;
        // SAFETY: The inode is valid for `'a` (invariant). It is new, or a reader of the field at
        // the same time may get the old or the new value.
        unsafe { (*raw).$field = value };
    }};
}

/// An inode.
///
/// # Invariants
///
/// It is valid for `'a`, and its `i_private` is null or a boxed `N`, dropped with it only.
pub(crate) struct Inode<'a, N>(*mut bindings::inode, PhantomData<&'a N>);

impl<N> Clone for Inode<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for Inode<'_, N> {}

impl<'a, N: Send + Sync + 'static> Inode<'a, N> {
    /// Wraps `inode`.
    ///
    /// # Safety
    ///
    /// - `inode` is valid for `'a`.
    /// - It belongs to a superblock whose nodes are of type `N`.
    pub(crate) unsafe fn from_raw(inode: *mut bindings::inode) -> Self {
        // INVARIANT: The caller promises that it is valid and what its superblock has.
        Self(inode, PhantomData)
    }

    /// Returns its address.
    pub(crate) fn as_raw(self) -> *mut bindings::inode {
        self.0
    }

    /// Returns the node that it owns, when it has one.
    pub(crate) fn node(self) -> Option<&'a N> {
        let private = load!(self, i_private);
        // SAFETY: It is null or a boxed `N` (invariant), which lives as long as the inode.
        unsafe { private.cast::<N>().as_ref() }
    }

    /// Returns its number.
    pub(super) fn number(self) -> u64 {
        load!(self, i_ino)
    }

    /// Sets the number of one that is new.
    pub(super) fn set_number(self, number: u64) {
        store!(self, i_ino, number);
    }

    /// Returns its mode, with the type of the file.
    pub(super) fn mode(self) -> u16 {
        load!(self, i_mode)
    }

    /// Sets its mode.
    pub(super) fn set_mode(self, mode: u16) {
        store!(self, i_mode, mode);
    }

    /// Sets the owner that is named. A reader at the same time gets the old or the new one, as with
    /// chown(2).
    pub(super) fn chown(self, uid: Option<bindings::kuid_t>, gid: Option<bindings::kgid_t>) {
        if let Some(uid) = uid {
            store!(self, i_uid, uid);
        }
        if let Some(gid) = gid {
            store!(self, i_gid, gid);
        }
    }

    /// Gives it the owner of `other`.
    pub(super) fn own_like(self, other: Inode<'_, N>) {
        self.chown(Some(other.uid()), Some(other.gid()));
    }

    fn uid(self) -> bindings::kuid_t {
        load!(self, i_uid)
    }

    fn gid(self) -> bindings::kgid_t {
        load!(self, i_gid)
    }

    /// Adds a link. Other code may add one at the same time.
    pub(super) fn add_link(self) {
        c::rt_inode_add_link(self.any());
    }

    /// Removes a link. Its lock is held.
    pub(super) fn drop_link(self) {
        c::drop_nlink(self.any());
    }
}

/// An inode for a function of C.
///
/// # Invariants
///
/// It is valid for `'a`.
#[repr(transparent)]
pub(crate) struct AnyInode<'a>(*mut bindings::inode, PhantomData<&'a ()>);

impl<'a, N> Inode<'a, N> {
    /// Returns it for a function of C.
    pub(crate) fn any(self) -> AnyInode<'a> {
        // INVARIANT: It is valid for as long (invariant).
        AnyInode(self.0, PhantomData)
    }
}

/// An inode that no other code can reach yet; dropped, it goes with its node.
///
/// # Invariants
///
/// The value owns the only reference.
pub(super) struct NewInode<'a, N: Send + Sync + 'static>(
    Owned<bindings::inode>,
    PhantomData<Inode<'a, N>>,
);

impl<'a, N: Send + Sync + 'static> NewInode<'a, N> {
    /// Makes one with `node`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(
        sb: Superblock<'a, N>,
        number: u64,
        mode: u16,
        node: Option<KBox<N>>,
    ) -> Result<Self> {
        // INVARIANT: No other code knows a new inode.
        let this = Self(c::new_inode(sb.any()).ok_or(ENOMEM)?, PhantomData);
        let inode = this.get();
        c::simple_inode_init_ts(inode.any());
        inode.set_number(number);
        inode.set_mode(mode);
        // INVARIANT: Null or a boxed `N`, as `Inode` asks.
        inode.set_private(node.map_or(ptr::null_mut(), |node| node.into_foreign()));
        Ok(this)
    }

    /// Returns the inode, for as long as it is not given away.
    pub(super) fn get(&self) -> Inode<'_, N> {
        // INVARIANT: The reference keeps it. Its superblock has nodes of type `N`, and its `i_private` is null or one.
        Inode(self.0.as_ptr(), PhantomData)
    }

    /// Sets the operations of the open file or folder.
    pub(super) fn set_file_operations(&self, operations: *const bindings::file_operations) {
        self.get().set_file_operations(operations);
    }

    /// Sets the operations of the inode.
    pub(super) fn set_operations(&self, operations: *const bindings::inode_operations) {
        self.get().set_operations(operations);
    }

    /// Hands the reference on.
    pub(super) fn end(self) -> FinalRef<bindings::inode> {
        self.0.end()
    }
}

impl<N: Send + Sync + 'static> Inode<'_, N> {
    fn set_private(self, private: *mut c_void) {
        store!(self, i_private, private);
    }

    fn set_file_operations(self, operations: *const bindings::file_operations) {
        let operations = bindings::inode__bindgen_ty_3 { i_fop: operations };
        store!(self, __bindgen_anon_3, operations);
    }

    fn set_operations(self, operations: *const bindings::inode_operations) {
        store!(self, i_op, operations);
    }
}

impl Release for bindings::inode {
    fn release(ending: FinalRef<Self>) {
        c::iput(ending);
    }
}

/// The lock of a folder's inode, held until it is dropped.
#[must_use = "the inode unlocks at once when the guard is unused"]
pub(super) struct InodeLock<'a, N: Send + Sync + 'static>(Inode<'a, N>);

impl<'a, N: Send + Sync + 'static> InodeLock<'a, N> {
    /// What the VFS uses as the subclass of a parent.
    const PARENT: u32 = 1;

    /// Lockdep subclasses by depth: 0 is the folder that `mkdir` makes, whose parent the VFS has locked.
    const SUBCLASS: [u32; 4] = [0, 2, 3, 4];

    /// Locks `inode`, that of a folder that is `depth` below an instance's own.
    pub(super) fn new(inode: Inode<'a, N>, depth: usize) -> Self {
        let subclass = Self::SUBCLASS.get(depth).or(Self::SUBCLASS.last());
        Self::nested(inode, subclass.copied().unwrap_or(0))
    }

    /// Locks `inode`, that of a folder from which something is removed.
    pub(super) fn of_parent(inode: Inode<'a, N>) -> Self {
        Self::nested(inode, Self::PARENT)
    }

    fn nested(inode: Inode<'a, N>, subclass: u32) -> Self {
        c::rt_inode_lock_nested(inode.any(), subclass);
        Self(inode)
    }
}

impl<N: Send + Sync + 'static> Drop for InodeLock<'_, N> {
    fn drop(&mut self) {
        // SAFETY: `new` locked the inode, which is still valid (invariant of `Inode`).
        unsafe { c::rt_inode_unlock(self.0.as_raw()) };
    }
}

/// A superblock.
///
/// # Invariants
///
/// - It is valid for `'a`, and its nodes are of type `N`.
/// - Its `s_fs_info` is null or boxed options, which it owns and which live for `'a`.
pub(super) struct Superblock<'a, N>(*mut bindings::super_block, PhantomData<&'a N>);

/// A superblock for a function of C.
///
/// # Invariants
///
/// It is valid for `'a`.
#[repr(transparent)]
pub(crate) struct AnySuperblock<'a>(*mut bindings::super_block, PhantomData<&'a ()>);

impl<'a, N: Send + Sync + 'static> Superblock<'a, N> {
    /// Returns it for a function of C.
    fn any(self) -> AnySuperblock<'a> {
        // INVARIANT: It is valid for as long (invariant).
        AnySuperblock(self.0, PhantomData)
    }

    /// Wraps `sb`.
    ///
    /// # Safety
    ///
    /// `sb` is a superblock that `kapi::superblock` fills, with nodes of type `N`, and is not killed
    /// during `'a`.
    pub(super) unsafe fn from_raw(sb: *mut bindings::super_block) -> Self {
        // INVARIANT: The caller promises a superblock of that kind, which keeps its options until
        // it is killed.
        Self(sb, PhantomData)
    }

    /// Returns what its mounts and remounts have set.
    pub(super) fn options(self) -> Option<&'a SharedOptions> {
        let info = load!(self, s_fs_info);
        // SAFETY: It is null or boxed options, which live for `'a` (invariant).
        unsafe { info.cast::<SharedOptions>().as_ref() }
    }
}
