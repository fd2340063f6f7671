// SPDX-License-Identifier: GPL-2.0

//! A file system that lives in memory and has one superblock, as a safe trait: its registration and
//! its mount point.
//!
//! `fs::superblock` implements the trait. What the VFS calls is in `kapi::fs_context`,
//! `kapi::superblock`, `kapi::mkdir` and `kapi::listing`. A mounted superblock and every open file hold a reference
//! to the module, so none of these functions can run after the module went away.

use super::{
    c,
    compat,
    dir::Dir,
    fs_context,
    mount::SPECS,
    superblock,
    walk::FoundDentry, //
};
use core::marker::PhantomData;
use kernel::{
    bindings,
    error::to_result,
    prelude::*,
    str::as_char_ptr_in_const_context,
    types::Opaque, //
};

/// A file system: its names, its content, and what `mkdir` and `rmdir` do.
pub(crate) trait FileSystem: Sized + 'static {
    /// What a file or a folder owns.
    type Node: Send + Sync + 'static;

    /// The name of its type, as in `mount -t`.
    const NAME: &'static CStr;
    /// The name of its mount point, below `/sys/kernel`.
    const MOUNT_POINT: &'static CStr;
    /// Its type in `statfs`.
    const MAGIC: usize;

    /// Fails with `EPERM` when tracing is not allowed at the moment.
    fn allowed() -> Result;
    /// Makes the files and folders of a new superblock.
    fn fill(root: &Dir<'_, Self::Node>) -> Result;
    /// Obeys a `mkdir` of the folder `name`, where that is possible. `enter` makes the folder,
    /// which owns the node that it is given; when it fails, nothing is left of the folder and the
    /// node.
    fn create(name: &CStr, enter: impl FnOnce(KBox<Self::Node>) -> Result) -> Result;
    /// Fills the folder made by `enter`, which owns `node`.
    fn fill_created(node: &Self::Node, dir: &Dir<'_, Self::Node>) -> Result;
    /// Obeys an `rmdir` of the folder with `node`. After success no file in it can be opened.
    fn remove(node: &Self::Node) -> Result;
}

/// The mode of folders.
pub(crate) const FOLDER_MODE: u16 = 0o750;

/// Fails with `EPERM` when the kernel's lockdown refuses tracing. Process context.
pub(crate) fn locked_down() -> Result {
    to_result(c::rt_locked_down())
}

/// The `struct file_system_type` of `F`. It has to be a `static`: lockdep keys are in it.
#[repr(transparent)]
pub(crate) struct FsType<F>(Opaque<bindings::file_system_type>, PhantomData<fn() -> F>);

// SAFETY: Only the VFS uses the fields, under its own locks; Rust hands out the address alone.
unsafe impl<F> Sync for FsType<F> {}

impl<F: FileSystem> FsType<F> {
    /// Returns the type, to be put into a `static`.
    pub(crate) const fn new() -> Self {
        Self(
            Opaque::new(bindings::file_system_type {
                owner: compat::this_module(),
                name: as_char_ptr_in_const_context(F::NAME),
                init_fs_context: Some(fs_context::init::<F>),
                kill_sb: Some(superblock::kill),
                parameters: SPECS.as_ptr().cast(),
                ..pin_init::zeroed()
            }),
            PhantomData,
        )
    }
}

impl<F: FileSystem> FsType<F> {
    /// Calls `look` with the root folder, when it is mounted.
    pub(crate) fn for_mounted(&self, mut look: impl FnMut(&FoundDentry<'_, F::Node>)) {
        /// # Safety
        ///
        /// Called by iterate_supers_type() with `s_umount` of `sb` held and an `L` as the argument.
        unsafe extern "C" fn visit<N: Send + Sync + 'static, L: FnMut(&FoundDentry<'_, N>)>(
            sb: *mut bindings::super_block,
            look: *mut c_void,
        ) {
            // SAFETY: `look` is the `L` passed to iterate_supers_type(), which calls it alone.
            let look = unsafe { &mut *look.cast::<L>() };
            // SAFETY: The superblock is a mounted one of `F`, and its `s_umount` is held.
            unsafe { FoundDentry::root(sb, look) };
        }
        fn visitor<N: Send + Sync + 'static, L: FnMut(&FoundDentry<'_, N>)>(
            _: &L,
        ) -> unsafe extern "C" fn(*mut bindings::super_block, *mut c_void) {
            visit::<N, L>
        }
        let visit = visitor(&look);
        // SAFETY: The type is a static, registered or not; `visit` gets the closure it was made
        // for.
        unsafe {
            bindings::iterate_supers_type(self.0.get(), Some(visit), (&raw mut look).cast());
        }
    }
}

/// A mount point below `/sys/kernel`. It goes when it is dropped.
struct MountPoint(&'static CStr);

impl MountPoint {
    /// Makes it. Fails with `EEXIST` or `ENOMEM`.
    fn new(name: &'static CStr) -> Result<Self> {
        to_result(c::rt_mount_point_make(name.into()))?;
        Ok(Self(name))
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        c::rt_mount_point_remove(self.0.into());
    }
}

/// A registered file system type and its mount point. Both go when it is dropped, the type first.
pub(crate) struct Registration<F: FileSystem> {
    fs_type: &'static FsType<F>,
    _mount_point: MountPoint,
}

impl<F: FileSystem> Registration<F> {
    /// Lets `mount -t` find the type, and makes its mount point. Fails with `EBUSY` for a name that
    /// is registered, or with the error of the mount point.
    pub(crate) fn new(fs_type: &'static FsType<F>) -> Result<Self> {
        let mount_point = MountPoint::new(F::MOUNT_POINT)?;
        // SAFETY: The type is a static, and a module that registers it twice gets EBUSY.
        to_result(unsafe { bindings::register_filesystem(fs_type.0.get()) })?;
        Ok(Self {
            fs_type,
            _mount_point: mount_point,
        })
    }
}

impl<F: FileSystem> Drop for Registration<F> {
    fn drop(&mut self) {
        // SAFETY: `new` registered the static. The only error would be that it is not registered.
        unsafe { bindings::unregister_filesystem(self.fs_type.0.get()) };
    }
}
