// SPDX-License-Identifier: GPL-2.0

//! A file system that lives in memory and has one superblock: its registration, its mount and its
//! superblock, as a safe trait.
//!
//! `fs::superblock` implements the trait. A mounted superblock and every open file hold a reference
//! to the module, so none of the functions here can run after the module went away.

use super::{
    c,
    dir::{
        self,
        Dir, //
    },
    mount::{
        MountOptions,
        ROOT_MODE,
        SPECS, //
    },
    walk::Found,
};
use core::{
    marker::PhantomData,
    mem, //
};
use kernel::{
    bindings,
    error::{
        from_result,
        to_result, //
    },
    ffi::c_int,
    prelude::*,
    seq_file::SeqFile,
    str::as_char_ptr_in_const_context,
    types::{
        ForeignOwnable,
        Opaque, //
    },
};

/// What a file system has to say about itself.
pub(crate) trait FileSystem: Sized + 'static {
    /// What a file or a folder owns.
    type Node: Send + Sync + 'static;

    /// The name of its type, as in `mount -t`.
    const NAME: &'static CStr;
    /// Where it shall be mounted, below `/sys/kernel`.
    const MOUNT_POINT: &'static CStr;
    /// The number that `statfs` tells.
    const MAGIC: usize;

    /// Is tracing allowed now at all?
    fn allowed() -> Result;
    /// Makes the files and folders of a new superblock.
    fn fill(root: &Dir<'_, Self::Node>) -> Result;
    /// A user wants the folder `name` where `mkdir` is possible. `enter` makes the folder, which
    /// owns the node that it is given; when it fails, nothing is left of the folder and the node.
    fn create(name: &CStr, enter: impl FnOnce(KBox<Self::Node>) -> Result) -> Result;
    /// Fills the folder made by `enter`, which owns `node`.
    fn fill_created(node: &Self::Node, dir: &Dir<'_, Self::Node>) -> Result;
    /// A user wants the folder with `node` gone. After success nobody can open a file in it.
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

// SAFETY: The fields are touched by the VFS only, under its own locks.
unsafe impl<F> Sync for FsType<F> {}

impl<F: FileSystem> FsType<F> {
    /// The type, to be put into a `static`.
    pub(crate) const fn new() -> Self {
        Self(
            Opaque::new(bindings::file_system_type {
                owner: kernel::module::this_module::<crate::LocalModule>().as_ptr(),
                name: as_char_ptr_in_const_context(F::NAME),
                init_fs_context: Some(init_fs_context::<F>),
                kill_sb: Some(kill_sb),
                parameters: SPECS.as_ptr().cast(),
                ..pin_init::zeroed()
            }),
            PhantomData,
        )
    }
}

impl<F: FileSystem> FsType<F> {
    /// Calls `look` with the root folder, when it is mounted.
    pub(crate) fn for_mounted(&self, mut look: impl FnMut(&Found<F::Node>)) {
        /// # Safety
        ///
        /// Called by iterate_supers_type() with `s_umount` held and `look` as the argument.
        unsafe extern "C" fn visit<N: Send + Sync + 'static, L: FnMut(&Found<N>)>(
            sb: *mut bindings::super_block,
            look: *mut c_void,
        ) {
            // SAFETY: `s_umount` is held, and `look` is what was passed to iterate_supers_type().
            unsafe { Found::root(sb, &mut *look.cast::<L>()) };
        }
        fn visitor<N: Send + Sync + 'static, L: FnMut(&Found<N>)>(
            _: &L,
        ) -> unsafe extern "C" fn(*mut bindings::super_block, *mut c_void) {
            visit::<N, L>
        }
        let visit = visitor(&look);
        // SAFETY: The type is valid, registered or not; `visit` gets the closure it was made for.
        unsafe {
            bindings::iterate_supers_type(self.0.get(), Some(visit), (&raw mut look).cast());
        }
    }
}

/// A registered file system type and its mount point. Both go when it is dropped.
pub(crate) struct Registration<F: FileSystem>(&'static FsType<F>);

impl<F: FileSystem> Registration<F> {
    /// Lets `mount -t` find the type, and makes its mount point.
    pub(crate) fn new(fs_type: &'static FsType<F>) -> Result<Self> {
        let name = F::MOUNT_POINT.as_char_ptr();
        // SAFETY: `kernel_kobj` exists as long as the kernel runs; the name ends with a NUL.
        to_result(unsafe { bindings::sysfs_create_mount_point(bindings::kernel_kobj, name) })?;
        // SAFETY: The type is a static, and a module that registers it twice gets EBUSY.
        let result = to_result(unsafe { bindings::register_filesystem(fs_type.0.get()) });
        if result.is_err() {
            // SAFETY: Made above.
            unsafe { bindings::sysfs_remove_mount_point(bindings::kernel_kobj, name) };
        }
        result.map(|()| Self(fs_type))
    }
}

impl<F: FileSystem> Drop for Registration<F> {
    fn drop(&mut self) {
        // SAFETY: Registered in `new`. The only error would be that it is not registered.
        unsafe {
            bindings::unregister_filesystem(self.0 .0.get());
            bindings::sysfs_remove_mount_point(bindings::kernel_kobj, F::MOUNT_POINT.as_char_ptr());
        }
    }
}

/// The operation tables of `F`.
struct Tables<F>(PhantomData<F>);

impl<F: FileSystem> Tables<F> {
    const CONTEXT: &'static c::fs_context_operations = &c::fs_context_operations {
        free: Some(free_context),
        dup: None,
        parse_param: Some(parse_param),
        parse_monolithic: None,
        get_tree: Some(get_tree::<F>),
        reconfigure: Some(reconfigure),
    };

    const SUPER: &'static bindings::super_operations = &bindings::super_operations {
        statfs: Some(bindings::simple_statfs),
        drop_inode: Some(bindings::inode_just_drop),
        evict_inode: Some(evict_inode::<F>),
        show_options: Some(show_options),
        ..pin_init::zeroed()
    };

    const MKDIR: &'static bindings::inode_operations = &bindings::inode_operations {
        lookup: Some(bindings::simple_lookup),
        mkdir: Some(mkdir::<F>),
        rmdir: Some(rmdir::<F>),
        ..pin_init::zeroed()
    };
}

/// The inode operations of the folder in which users may make and remove folders.
pub(crate) const fn mkdir_operations<F: FileSystem>() -> &'static bindings::inode_operations {
    Tables::<F>::MKDIR
}

/// The options behind the `s_fs_info` of a context or superblock.
///
/// # Safety
///
/// `info` is the `s_fs_info` of a context or superblock of this type, and nobody else uses the
/// options for `'a`.
unsafe fn options<'a>(info: *mut c_void) -> Option<&'a mut MountOptions> {
    // SAFETY: By the contract it is null or came from `init_fs_context`.
    unsafe { info.cast::<MountOptions>().as_mut() }
}

/// # Safety
///
/// Called by the VFS with a new context.
unsafe extern "C" fn init_fs_context<F: FileSystem>(fc: *mut bindings::fs_context) -> c_int {
    from_result(|| {
        let fc = fc.cast::<c::fs_context>();
        let options = KBox::new(MountOptions::default(), GFP_KERNEL)?;
        // SAFETY: By the contract. `free_context` or `kill_sb` drops the options.
        unsafe {
            (*fc).s_fs_info = options.into_foreign();
            (*fc).ops = Tables::<F>::CONTEXT;
        }
        Ok(0)
    })
}

/// # Safety
///
/// Called by the VFS once with a context of ours.
unsafe extern "C" fn free_context(fc: *mut c::fs_context) {
    // SAFETY: A new superblock took the options away and left null.
    let info = unsafe { (*fc).s_fs_info };
    if !info.is_null() {
        // SAFETY: From `init_fs_context`, and the context ends here.
        drop(unsafe { KBox::<MountOptions>::from_foreign(info) });
    }
}

/// # Safety
///
/// Called by the VFS with a context of ours and one parameter.
unsafe extern "C" fn parse_param(fc: *mut c::fs_context, param: *mut c::fs_parameter) -> c_int {
    from_result(|| {
        // SAFETY: The VFS calls the operations of a context one after the other.
        let options = unsafe { options((*fc).s_fs_info) }.ok_or(EINVAL)?;
        // SAFETY: The VFS passes a context of ours and a parameter that it keeps meanwhile.
        unsafe { options.parse(fc, param) }?;
        Ok(0)
    })
}

/// # Safety
///
/// Called by the VFS with a context of ours.
unsafe extern "C" fn get_tree<F: FileSystem>(fc: *mut c::fs_context) -> c_int {
    from_result(|| {
        F::allowed()?;
        // SAFETY: The VFS passes a context of ours; `fill_super` fits its type.
        to_result(unsafe { c::get_tree_single(fc, Some(fill_super::<F>)) })?;
        // SAFETY: `get_tree_single` set the root. A superblock that was there already takes the
        // options that this mount names.
        to_result(unsafe { reconfigure(fc) })?;
        Ok(0)
    })
}

/// # Safety
///
/// Called with a context of ours whose root is set, while the superblock's `s_umount` is held.
unsafe extern "C" fn reconfigure(fc: *mut c::fs_context) -> c_int {
    // SAFETY: By the contract. A new superblock took the options and applied them already.
    if let Some(new) = unsafe { options((*fc).s_fs_info) } {
        // SAFETY: The root is valid; `s_umount` makes us the only user of its options.
        unsafe {
            let root = (*fc).root;
            if let Some(old) = options((*(*root).d_sb).s_fs_info) {
                old.update(new);
            }
            new.apply(root);
        }
    }
    0
}

/// # Safety
///
/// Called by the VFS for a new superblock, which got the `s_fs_info` of the context.
unsafe extern "C" fn fill_super<F: FileSystem>(
    sb: *mut bindings::super_block,
    _fc: *mut c::fs_context,
) -> c_int {
    from_result(|| {
        let page_bits = bindings::PAGE_SHIFT as u8;
        // SAFETY: The superblock is new and ours.
        let root = unsafe {
            (*sb).s_blocksize = bindings::PAGE_SIZE;
            (*sb).s_blocksize_bits = page_bits;
            (*sb).s_magic = F::MAGIC;
            (*sb).s_maxbytes = i64::MAX;
            (*sb).s_op = Tables::<F>::SUPER;
            (*sb).s_time_gran = 1;
            (*sb).s_iflags |= (bindings::SB_I_NOEXEC | bindings::SB_I_NODEV) as usize;
            let inode = bindings::new_inode(sb);
            if inode.is_null() {
                return Err(ENOMEM);
            }
            (*inode).i_ino = 1;
            bindings::simple_inode_init_ts(inode);
            (*inode).i_mode = 0o040000 | ROOT_MODE;
            (*inode).i_op = &raw const bindings::simple_dir_inode_operations;
            (*inode).__bindgen_anon_3.i_fop = &raw const bindings::simple_dir_operations;
            bindings::inc_nlink(inode);
            // Takes over the inode, also when it fails.
            let root = bindings::d_make_root(inode);
            if root.is_null() {
                return Err(ENOMEM);
            }
            (*sb).s_root = root;
            root
        };
        // SAFETY: The superblock is not visible yet, so nobody else uses its options or its root.
        unsafe {
            if let Some(options) = options((*sb).s_fs_info) {
                options.apply(root);
            }
            F::fill(&Dir::new(root, None))?;
        }
        Ok(0)
    })
}

/// # Safety
///
/// Called by the VFS when nobody uses the superblock any more.
unsafe extern "C" fn kill_sb(sb: *mut bindings::super_block) {
    // SAFETY: Nobody uses the superblock any more, so its `s_fs_info` is ours to take.
    let info = unsafe { mem::replace(&mut (*sb).s_fs_info, core::ptr::null_mut()) };
    // SAFETY: The superblock came from get_tree_single() and is killed once.
    unsafe { bindings::kill_anon_super(sb) };
    if !info.is_null() {
        // SAFETY: The superblock took it from its context.
        drop(unsafe { KBox::<MountOptions>::from_foreign(info) });
    }
}

/// # Safety
///
/// Called by the VFS with the root of a superblock of ours, which is in use.
unsafe extern "C" fn show_options(
    m: *mut bindings::seq_file,
    root: *mut bindings::dentry,
) -> c_int {
    // SAFETY: By the contract. A remount at this moment may show either value.
    let options = unsafe { (*(*root).d_sb).s_fs_info.cast::<MountOptions>().as_ref() };
    if let Some(options) = options.copied() {
        // SAFETY: The VFS keeps the file `m` meanwhile.
        options.show(unsafe { SeqFile::from_raw(m) });
    }
    0
}

/// # Safety
///
/// Called by the VFS for the last reference to an inode: no file has it open.
unsafe extern "C" fn evict_inode<F: FileSystem>(inode: *mut bindings::inode) {
    // SAFETY: No file has the inode open, and the VFS evicts it once.
    unsafe {
        bindings::truncate_inode_pages_final(&raw mut (*inode).i_data);
        bindings::clear_inode(inode);
        dir::drop_node::<F::Node>(inode);
    }
}

/// # Safety
///
/// Called by the VFS with `parent` locked and a negative dentry in it.
unsafe extern "C" fn mkdir<F: FileSystem>(
    _idmap: *mut bindings::mnt_idmap,
    _parent: *mut bindings::inode,
    dentry: *mut bindings::dentry,
    _mode: bindings::umode_t,
) -> *mut bindings::dentry {
    let result = F::allowed().and_then(|()| {
        // SAFETY: The name of a dentry whose parent is locked does not change.
        let name = unsafe { dir::name_of(dentry) };
        F::create(name, |node| {
            // SAFETY: The parent is locked, and it is a folder where `mkdir` is possible.
            let parent = unsafe { Dir::new((*dentry).d_parent, Some(0)) };
            // SAFETY: The VFS holds the lock of `parent`, and `dentry` is negative and in it.
            unsafe { parent.mkdir(dentry, FOLDER_MODE, node, F::fill_created) }
        })
    });
    match result {
        Ok(()) => core::ptr::null_mut(),
        Err(error) => error.to_ptr(),
    }
}

/// # Safety
///
/// Called by the VFS with `parent` and the inode of `dentry` locked.
unsafe extern "C" fn rmdir<F: FileSystem>(
    parent: *mut bindings::inode,
    dentry: *mut bindings::dentry,
) -> c_int {
    from_result(|| {
        // SAFETY: The dentry is positive, its node has the type of this superblock.
        let node = unsafe { dir::node_of::<F::Node>((*dentry).d_inode) }.ok_or(EPERM)?;
        F::remove(node)?;
        // SAFETY: The VFS holds the locks of both, and `dentry` is a folder in `parent`.
        unsafe { dir::remove(parent, dentry) };
        Ok(0)
    })
}
