// SPDX-License-Identifier: GPL-2.0

//! Inodes and dentries of a file system in memory, as types that carry what is known of them.
//!
//! The file system owns a node of type `N` for each inode that has one (`i_private`); it is dropped
//! with the inode. Called by `kapi::dir`, which makes and removes folders, `kapi::listing`,
//! `kapi::fs` and `kapi::mount`.

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

/// Reads one field of an [`Inode`] or [`Dentry`].
macro_rules! load {
    ($object:expr, $field:ident) => {{
        let Self(raw, ..) = $object;
        // SAFETY: The object is valid for `'a` (invariant). A field that another CPU stores to
        // meanwhile is a number, of which either value will do, or guarded by a lock of the caller.
        unsafe { (*raw).$field }
    }};
}

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
        // INVARIANT: The caller says so.
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

    /// Adds a link. Its lock is held, or it is new.
    pub(super) fn add_link(self) {
        // SAFETY: The inode is valid (invariant).
        unsafe { bindings::inc_nlink(self.0) };
    }

    /// Removes a link. Its lock is held.
    pub(super) fn drop_link(self) {
        // SAFETY: The inode is valid (invariant).
        unsafe { bindings::drop_nlink(self.0) };
    }
}

/// An inode that no other code can reach yet; dropped, it goes with its node.
///
/// # Invariants
///
/// The value owns the only reference.
pub(super) struct NewInode<N: Send + Sync + 'static>(Inode<'static, N>);

impl<N: Send + Sync + 'static> NewInode<N> {
    /// Makes one with `node`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// # Safety
    ///
    /// - `sb` is valid and stays so as long as the inode.
    /// - Its nodes are of type `N`.
    pub(super) unsafe fn new(
        sb: *mut bindings::super_block,
        number: u64,
        mode: u16,
        node: Option<KBox<N>>,
    ) -> Result<Self> {
        // SAFETY: The caller says that the superblock is valid.
        let raw = unsafe { bindings::new_inode(sb) };
        if raw.is_null() {
            return Err(ENOMEM);
        }
        let inode = Inode(raw, PhantomData);
        // INVARIANT: new_inode() returned the reference.
        let this = Self(inode);
        // SAFETY: The inode is new, and no other code reads its times.
        unsafe { bindings::simple_inode_init_ts(raw) };
        inode.set_number(number);
        inode.set_mode(mode);
        // INVARIANT: Null or a boxed `N`, as `Inode` asks.
        this.set_private(node.map_or(ptr::null_mut(), |node| node.into_foreign()));
        Ok(this)
    }

    fn set_private(&self, private: *mut c_void) {
        let Self(inode) = self;
        inode.set_private(private);
    }

    /// Returns the inode, for as long as it is not given away.
    pub(super) fn get(&self) -> Inode<'_, N> {
        self.0
    }

    /// Sets the operations of the open file or folder.
    pub(super) fn set_file_operations(&self, operations: *const bindings::file_operations) {
        self.0.set_file_operations(operations);
    }

    /// Sets the operations of the inode.
    pub(super) fn set_operations(&self, operations: *const bindings::inode_operations) {
        self.0.set_operations(operations);
    }

    /// Hands the reference on.
    pub(super) fn into_raw(self) -> *mut bindings::inode {
        core::mem::ManuallyDrop::new(self).0.as_raw()
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

impl<N: Send + Sync + 'static> Drop for NewInode<N> {
    fn drop(&mut self) {
        // SAFETY: The only reference is this value's (invariant), which goes.
        unsafe { bindings::iput(self.0.as_raw()) };
    }
}

/// A dentry, positive or not.
///
/// # Invariants
///
/// - It is valid for `'a`, in a superblock that is never without its root meanwhile, whose nodes
///   are of
///   type `N`, and whose files are never renamed.
/// - When it is positive, it stays so for `'a`.
pub(crate) struct Dentry<'a, N>(*mut bindings::dentry, PhantomData<&'a N>);

impl<N> Clone for Dentry<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for Dentry<'_, N> {}

impl<'a, N: Send + Sync + 'static> Dentry<'a, N> {
    /// Wraps `dentry`.
    ///
    /// # Safety
    ///
    /// - `dentry` is valid for `'a`, and when it is positive, it stays so: by a reference, by the
    ///   lock of
    ///   its parent, or as a root while the superblock cannot go away.
    /// - It belongs to a superblock of a file system in memory, whose nodes are of type `N`.
    pub(crate) unsafe fn from_raw(dentry: *mut bindings::dentry) -> Self {
        // INVARIANT: The caller says so; file systems of this kind never rename.
        Self(dentry, PhantomData)
    }

    /// Returns its address.
    pub(super) fn as_raw(self) -> *mut bindings::dentry {
        self.0
    }

    /// Returns its inode; none when it is negative.
    pub(crate) fn inode(self) -> Option<Inode<'a, N>> {
        let inode = load!(self, d_inode);
        // INVARIANT: A positive dentry keeps its inode for `'a` (invariant).
        (!inode.is_null()).then_some(Inode(inode, PhantomData))
    }

    /// Returns the folder that it is in; a root is in itself.
    pub(super) fn parent(self) -> Self {
        // INVARIANT: A dentry keeps its parent, which is positive.
        Self(load!(self, d_parent), PhantomData)
    }

    /// Returns the `s_fs_info` of its superblock.
    pub(super) fn info(self) -> *mut c_void {
        // SAFETY: A valid dentry keeps its superblock, where the field changes only when the
        // superblock begins and ends.
        unsafe { (*self.superblock()).s_fs_info }
    }

    /// Returns its superblock.
    fn superblock(self) -> *mut bindings::super_block {
        load!(self, d_sb)
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'a CStr {
        let names = load!(self, __bindgen_anon_1);
        // SAFETY: Both members of the union are the same one.
        let name = unsafe { names.d_name };
        // SAFETY: The name ends with a NUL, and does not change for `'a` (invariant).
        unsafe { CStr::from_char_ptr(name.name) }
    }

    /// Makes an inode with this dentry's superblock.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new_inode(self, mode: u16, node: Option<KBox<N>>) -> Result<NewInode<N>> {
        // SAFETY: It takes no argument.
        let number = unsafe { bindings::get_next_ino() };
        // SAFETY: The superblock of a valid dentry is valid, and its nodes are of type `N`.
        unsafe { NewInode::new(self.superblock(), number.into(), mode, node) }
    }

    /// Calls `look` for each file and folder in this one.
    pub(super) fn for_each_child(self, mut look: impl FnMut(Dentry<'_, N>)) {
        let mut child = ptr::null_mut();
        loop {
            // SAFETY: The dentry is valid; `child` is null or a reference from the last round,
            // which the function takes over.
            child = unsafe { c::find_next_child(self.0, child) };
            if child.is_null() {
                return;
            }
            // INVARIANT: The child is positive, and the reference keeps it until the next round.
            look(Dentry(child, PhantomData));
        }
    }
}
