// SPDX-License-Identifier: GPL-2.0

//! Dentries: positive ones, and negative ones that are going to be positive.

use super::{
    c,
    Inode,
    InodeLock,
    NewInode,
    Superblock, //
};
use crate::kapi::foreign::{
    FinalRef,
    Owned,
    Release, //
};
use core::marker::PhantomData;
use kernel::{
    bindings,
    error::from_err_ptr,
    prelude::*, //
};

/// A dentry, positive or not.
///
/// # Invariants
///
/// - It is valid for `'a`, in a superblock of [`Superblock`]'s kind that is never without its root
///   meanwhile, whose nodes are of type `N`, and whose files are never renamed.
/// - When it is positive, it stays so for `'a`.
pub(crate) struct Dentry<'a, N>(*mut bindings::dentry, PhantomData<&'a N>);

impl<N> Clone for Dentry<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for Dentry<'_, N> {}

/// A dentry for a function of C.
///
/// # Invariants
///
/// It is valid for `'a`.
#[repr(transparent)]
pub(crate) struct AnyDentry<'a>(*mut bindings::dentry, PhantomData<&'a ()>);

impl<'a, N: Send + Sync + 'static> Dentry<'a, N> {
    /// Wraps `dentry`.
    ///
    /// # Safety
    ///
    /// - `dentry` is valid for `'a`, and when it is positive, it stays so: by a reference, by the
    ///   lock of its parent, or as a root while the superblock cannot go away.
    /// - It belongs to a superblock that `kapi::superblock` fills, with nodes of type `N`.
    pub(in crate::kapi) unsafe fn from_raw(dentry: *mut bindings::dentry) -> Self {
        // INVARIANT: The caller promises that it is valid and what its superblock has; file systems
        // of this kind never rename.
        Self(dentry, PhantomData)
    }

    /// Returns its address.
    pub(in crate::kapi) fn as_raw(self) -> *mut bindings::dentry {
        self.0
    }

    /// Returns it for a function of C.
    fn any(self) -> AnyDentry<'a> {
        // INVARIANT: It is valid for as long (invariant).
        AnyDentry(self.0, PhantomData)
    }

    /// Returns its inode; none when it is negative.
    pub(crate) fn inode(self) -> Option<Inode<'a, N>> {
        let inode = load!(self, d_inode);
        // INVARIANT: A positive dentry keeps its inode for `'a` (invariant).
        (!inode.is_null()).then_some(Inode(inode, PhantomData))
    }

    /// Returns the folder that it is in; a root is in itself.
    pub(in crate::kapi) fn parent(self) -> Self {
        // INVARIANT: A dentry keeps its parent, which is positive.
        Self(load!(self, d_parent), PhantomData)
    }

    /// Returns whether lookups find it. The lock of its parent is held, with which alone this changes.
    pub(in crate::kapi) fn is_hashed(self) -> bool {
        !load!(self, d_hash).pprev.is_null()
    }

    /// Returns its superblock.
    pub(in crate::kapi) fn superblock(self) -> Superblock<'a, N> {
        // INVARIANT: A dentry keeps its superblock, which is of that kind (invariant).
        Superblock(load!(self, d_sb), PhantomData)
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'a CStr {
        let names = load!(self, __bindgen_anon_1);
        // SAFETY: Both members of the union are the same one.
        let name = unsafe { names.d_name };
        // SAFETY: The name ends with a NUL, and does not change for `'a` (invariant).
        unsafe { CStr::from_char_ptr(name.name) }
    }

    /// Makes `inode` that of a new root. Fails with `ENOMEM`.
    pub(in crate::kapi) fn new_root(inode: NewInode<'a, N>) -> Result<Self> {
        // It takes over the reference, also when it fails.
        let root = c::d_make_root(inode.end());
        if root.is_null() {
            return Err(ENOMEM);
        }
        // INVARIANT: It is positive and a reference, which is the superblock's from here on.
        Ok(Self(root, PhantomData))
    }

    /// Makes an inode with this dentry's superblock.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(in crate::kapi) fn new_inode(
        self,
        mode: u16,
        node: Option<KBox<N>>,
    ) -> Result<NewInode<'a, N>> {
        NewInode::new(self.superblock(), c::get_next_ino().into(), mode, node)
    }

    /// Makes a dentry called `name` in this folder, which cannot be found yet. Fails with `ENOMEM`.
    ///
    /// # Safety
    ///
    /// It is a folder, whose inode is locked for `'a` or cannot be reached yet.
    pub(in crate::kapi) unsafe fn new_child(self, name: &CStr) -> Result<NegativeDentry<'a, N>> {
        let child = c::d_alloc_name(self.any(), name.into()).ok_or(ENOMEM)?;
        // INVARIANT: It has a reference, and is in the superblock of this one.
        let dentry = Self(child.as_ptr(), PhantomData);
        // INVARIANT: It is in that superblock.
        let reference = Some(DentryRef(child, PhantomData));
        // INVARIANT: No other code knows a new dentry, and the caller promises what its folder is.
        Ok(NegativeDentry { dentry, reference })
    }

    /// Returns a file or folder in this folder.
    pub(in crate::kapi) fn first_child(self) -> Option<DentryRef<'a, N>> {
        self.next_child(None)
    }

    /// Returns what follows `last`, one that this function has returned; first the first one.
    fn next_child(self, last: Option<DentryRef<'a, N>>) -> Option<DentryRef<'a, N>> {
        let last = last.map(|last| last.0.end());
        // SAFETY: `last` is a child of this dentry, which the callers got from here.
        let child = unsafe { c::find_next_child(self.any(), last) }?;
        // INVARIANT: It is positive, as the reference that came with it keeps it.
        Some(DentryRef(child, PhantomData))
    }

    /// Returns the first file or folder in this one that `is_it` accepts.
    pub(in crate::kapi) fn find_child(
        self,
        mut is_it: impl FnMut(Dentry<'_, N>) -> bool,
    ) -> Option<DentryRef<'a, N>> {
        let mut next = self.first_child();
        while let Some(child) = next {
            if is_it(child.get()) {
                return Some(child);
            }
            next = self.next_child(Some(child));
        }
        None
    }

    /// Calls `look` for each file and folder in this one.
    pub(in crate::kapi) fn for_each_child(self, mut look: impl FnMut(Dentry<'_, N>)) {
        self.find_child(|child| {
            look(child);
            false
        });
    }
}

/// A counted reference to a dentry, given up when it is dropped.
///
/// # Invariants
///
/// The dentry is one of which there can be a [`Dentry<'a, N>`].
pub(in crate::kapi) struct DentryRef<'a, N: Send + Sync + 'static>(
    Owned<bindings::dentry>,
    PhantomData<Dentry<'a, N>>,
);

impl<N: Send + Sync + 'static> DentryRef<'_, N> {
    /// Returns the dentry, for as long as the reference is held.
    pub(in crate::kapi) fn get(&self) -> Dentry<'_, N> {
        // INVARIANT: The reference keeps it as it is, and it is in such a superblock (invariant).
        Dentry(self.0.as_ptr(), PhantomData)
    }
}

impl Release for bindings::dentry {
    fn release(ending: FinalRef<Self>) {
        c::dput(ending);
    }
}

/// A negative dentry that is going to be a file or folder of the folder that it is in.
///
/// # Invariants
///
/// - `dentry` is negative, and no other code makes it positive.
/// - Its folder is locked for `'a`, or cannot be reached yet.
pub(in crate::kapi) struct NegativeDentry<'a, N: Send + Sync + 'static> {
    dentry: Dentry<'a, N>,
    /// The reference to one that is new; the VFS has that to one of its own.
    reference: Option<DentryRef<'a, N>>,
}

impl<'a, N: Send + Sync + 'static> NegativeDentry<'a, N> {
    /// Wraps `dentry`.
    ///
    /// # Safety
    ///
    /// `dentry` is what the VFS passed to a `mkdir` operation, or returned from simple_start_creating(), which lasts for `'a`, in a
    /// folder of a superblock that `kapi::superblock` fills, with nodes of type `N`.
    pub(in crate::kapi) unsafe fn from_raw(dentry: *mut bindings::dentry) -> Self {
        // INVARIANT: The VFS holds a reference to the dentry, which is negative, and the lock of
        // its folder.
        Self {
            dentry: Dentry(dentry, PhantomData),
            reference: None,
        }
    }

    /// Returns its address.
    pub(in crate::kapi) fn as_raw(&self) -> *mut bindings::dentry {
        self.dentry.as_raw()
    }

    /// Returns its name.
    pub(in crate::kapi) fn name(&self) -> &'a CStr {
        self.dentry.name()
    }

    /// Returns the folder that it is in.
    pub(in crate::kapi) fn parent(&self) -> Dentry<'a, N> {
        self.dentry.parent()
    }

    /// Lets lookups find `inode` through it. The tree keeps one reference to both.
    pub(in crate::kapi) fn enter(self, inode: NewInode<'a, N>) -> Dentry<'a, N> {
        self.enter_locked(inode, None).0
    }

    /// Does the same, with the inode locked before if it has a `depth` for lockdep.
    pub(in crate::kapi) fn enter_locked(
        self,
        inode: NewInode<'a, N>,
        depth: Option<usize>,
    ) -> (Dentry<'a, N>, Option<InodeLock<'a, N>>) {
        let Self { dentry, reference } = self;
        // INVARIANT: The tree keeps the inode as long as the folder of the dentry is locked or
        // cannot be reached, which is for `'a`.
        let kept = Inode(inode.get().as_raw(), PhantomData);
        let lock = depth.map(|depth| InodeLock::new(kept, depth));
        // SAFETY: The dentry is valid and negative (invariant), and takes over the reference to the
        // inode.
        unsafe { c::d_make_persistent(dentry.0, inode.end()) };
        // The tree has a reference of its own now.
        drop(reference);
        (dentry, lock)
    }
}

/// A name in a folder that users see, where something is made from inside the kernel. The folder is locked as long as
/// this is there.
///
/// # Invariants
///
/// It is what simple_start_creating() returned for a folder of [`Superblock`]'s kind with nodes of type `N`, and not
/// given back.
struct NewName<'a, N: Send + Sync + 'static>(Dentry<'a, N>);

impl<N: Send + Sync + 'static> Drop for NewName<'_, N> {
    fn drop(&mut self) {
        // SAFETY: From simple_start_creating(), and given back once (invariant).
        unsafe { bindings::simple_done_creating(self.0.as_raw()) };
    }
}

impl<N: Send + Sync + 'static> Dentry<'_, N> {
    /// Has `make` make the folder `name` in this folder, which users see and which is locked meanwhile, as the VFS does
    /// for `mkdir`; programs that watch it are told. Process context.
    ///
    /// # Errors
    ///
    /// `EEXIST` if there is something of that name, `ENOMEM`, and those of `make`.
    pub(in crate::kapi) fn create(
        self,
        name: &CStr,
        make: impl FnOnce(NegativeDentry<'_, N>) -> Result,
    ) -> Result {
        // SAFETY: The folder is valid and positive (invariant), and the name ends with a NUL.
        let new = unsafe { bindings::simple_start_creating(self.0, name.as_char_ptr()) };
        let new = from_err_ptr(new)?;
        // INVARIANT: A dentry of the folder's superblock, given back when this is dropped.
        let new: NewName<'_, N> = NewName(Dentry(new, PhantomData));
        let dentry = new.0.as_raw();
        // SAFETY: The VFS has looked it up for something new, with the folder locked until `new` is dropped.
        make(unsafe { NegativeDentry::from_raw(dentry) })?;
        // SAFETY: The dentry is valid as long as `new`, and positive since `make` has succeeded.
        unsafe { c::rt_tell_made(dentry) };
        Ok(())
    }
}

/// A dentry that the VFS looks up.
///
/// # Invariants
///
/// The dentry is negative and not hashed, in a folder whose lock is held for `'a`, shared perhaps;
/// no other code makes it positive.
pub(in crate::kapi) struct LookupDentry<'a, N: Send + Sync + 'static>(Dentry<'a, N>);

impl<'a, N: Send + Sync + 'static> LookupDentry<'a, N> {
    /// Wraps `dentry`.
    ///
    /// # Safety
    ///
    /// `dentry` is what the VFS passed to a `lookup` operation, which lasts for `'a`, in a folder of
    /// a superblock that `kapi::superblock` fills, with nodes of type `N`.
    pub(in crate::kapi) unsafe fn from_raw(dentry: *mut bindings::dentry) -> Self {
        // INVARIANT: The VFS holds a reference to the dentry, which is new, and the lock of its
        // folder.
        Self(Dentry(dentry, PhantomData))
    }

    /// Returns its name.
    pub(in crate::kapi) fn name(&self) -> &'a CStr {
        self.0.name()
    }

    /// Returns the folder that it is in.
    pub(in crate::kapi) fn parent(&self) -> Dentry<'a, N> {
        self.0.parent()
    }

    /// Makes it the dentry of `inode`. The tree keeps one reference to both.
    pub(in crate::kapi) fn enter(self, inode: NewInode<'a, N>) {
        let Self(dentry) = self;
        // SAFETY: The dentry is negative and not hashed (invariant), and takes over the reference
        // to the inode.
        unsafe { c::d_add(dentry.0, inode.end()) };
        // SAFETY: The dentry is positive now, and the VFS holds a reference to it (invariant).
        unsafe { c::rt_dentry_keep(dentry.0) };
    }
}
