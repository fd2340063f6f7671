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
    inode::{
        Dentry,
        Inode,
        NewInode, //
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
        /// Called by iterate_supers_type() with `s_umount` of `sb` held and an `L` as the argument.
        unsafe extern "C" fn visit<N: Send + Sync + 'static, L: FnMut(&Found<N>)>(
            sb: *mut bindings::super_block,
            look: *mut c_void,
        ) {
            // SAFETY: `look` is the `L` passed to iterate_supers_type(), which calls it alone.
            let look = unsafe { &mut *look.cast::<L>() };
            // SAFETY: The superblock is a mounted one of `F`, and its `s_umount` is held.
            unsafe { Found::root(sb, look) };
        }
        fn visitor<N: Send + Sync + 'static, L: FnMut(&Found<N>)>(
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
        // SAFETY: `kernel_kobj` exists as long as the kernel runs; the name ends with a NUL.
        to_result(unsafe {
            bindings::sysfs_create_mount_point(kernel_kobj(), name.as_char_ptr())
        })?;
        Ok(Self(name))
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        // SAFETY: `new` made the mount point of this name, and it goes once.
        unsafe { bindings::sysfs_remove_mount_point(kernel_kobj(), self.0.as_char_ptr()) };
    }
}

/// Returns `/sys/kernel`.
fn kernel_kobj() -> *mut bindings::kobject {
    // SAFETY: The kernel sets it when it boots, before any module is loaded, and never again.
    unsafe { bindings::kernel_kobj }
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

/// The operation tables of `F`.
struct Tables<F>(PhantomData<F>);

impl<F: FileSystem> Tables<F> {
    const CONTEXT: &'static c::fs_context_operations = &c::fs_context_operations {
        free: Some(free_context),
        dup: None,
        parse_param: Some(parse_param),
        parse_monolithic: None,
        get_tree: Some(get_tree::<F>),
        reconfigure: Some(reconfigure::<F>),
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

/// Returns the inode operations of the folder in which users may make and remove folders.
pub(crate) const fn mkdir_operations<F: FileSystem>() -> &'static bindings::inode_operations {
    Tables::<F>::MKDIR
}

/// Returns the options at `info`; none when it is null.
///
/// # Safety
///
/// - `info` is the `s_fs_info` of a context or superblock of this type: null, or from
///   `init_fs_context`.
/// - No other code uses the options for `'a`.
unsafe fn options<'a>(info: *mut c_void) -> Option<&'a mut MountOptions> {
    // SAFETY: It is null or a boxed `MountOptions`, which no other code uses.
    unsafe { info.cast::<MountOptions>().as_mut() }
}

/// Drops the options at `info`, unless it is null.
///
/// # Safety
///
/// `info` is the `s_fs_info` of a context or superblock of this type, which ends.
unsafe fn drop_options(info: *mut c_void) {
    if !info.is_null() {
        // SAFETY: `init_fs_context` made the box, and its one owner ends.
        drop(unsafe { KBox::<MountOptions>::from_foreign(info) });
    }
}

/// # Safety
///
/// Called by the VFS with a new context.
unsafe extern "C" fn init_fs_context<F: FileSystem>(fc: *mut bindings::fs_context) -> c_int {
    from_result(|| {
        // SAFETY: The context is new, and no other code uses it.
        let fc = unsafe { &mut *fc.cast::<c::fs_context>() };
        let options = KBox::new(MountOptions::default(), GFP_KERNEL)?;
        // `free_context` or `kill_sb` drops the options.
        fc.s_fs_info = options.into_foreign();
        fc.ops = Tables::<F>::CONTEXT;
        Ok(0)
    })
}

/// # Safety
///
/// Called by the VFS once with a context of ours.
unsafe extern "C" fn free_context(fc: *mut c::fs_context) {
    // SAFETY: The VFS keeps the context until this function returns.
    let info = unsafe { (*fc).s_fs_info };
    // SAFETY: The context ends here; a new superblock took the options away and left null.
    unsafe { drop_options(info) };
}

/// # Safety
///
/// Called by the VFS with a context of ours and one parameter.
unsafe extern "C" fn parse_param(fc: *mut c::fs_context, param: *mut c::fs_parameter) -> c_int {
    from_result(|| {
        // SAFETY: The VFS calls the operations of a context one after the other, and keeps it.
        let fc = unsafe { &mut *fc };
        // SAFETY: It is the context's `s_fs_info`, which no other operation uses meanwhile.
        let options = unsafe { options(fc.s_fs_info) }.ok_or(EINVAL)?;
        // SAFETY: The log is the context's, and the VFS keeps the parameter meanwhile.
        unsafe { options.parse(&raw mut fc.log, param) }?;
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
        // SAFETY: `get_tree_single` set the root and left `s_umount` held. A superblock that was
        // there already takes the options that this mount names.
        to_result(unsafe { reconfigure::<F>(fc) })?;
        Ok(0)
    })
}

/// # Safety
///
/// Called with a context of ours whose root is set, while the superblock's `s_umount` is held.
unsafe extern "C" fn reconfigure<F: FileSystem>(fc: *mut c::fs_context) -> c_int {
    // SAFETY: The VFS calls the operations of a context one after the other, and keeps it.
    let fc = unsafe { &mut *fc };
    // SAFETY: It is the context's `s_fs_info`. A new superblock took the options and applied them.
    let Some(new) = (unsafe { options(fc.s_fs_info) }) else {
        return 0;
    };
    // SAFETY: The context has a reference to the root, which is of this type.
    let root = unsafe { Dentry::<F::Node>::from_raw(fc.root) };
    // SAFETY: It is the superblock's `s_fs_info`; `s_umount` makes this function its only user.
    if let Some(old) = unsafe { options(root.info()) } {
        old.update(new);
    }
    new.apply(root);
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
        // SAFETY: The superblock is new, and no other code uses what is set here.
        let sb = unsafe { &mut *sb };
        sb.s_blocksize = bindings::PAGE_SIZE;
        sb.s_blocksize_bits = bindings::PAGE_SHIFT as u8;
        sb.s_magic = F::MAGIC;
        sb.s_maxbytes = i64::MAX;
        sb.s_op = Tables::<F>::SUPER;
        sb.s_time_gran = 1;
        sb.s_iflags |= (bindings::SB_I_NOEXEC | bindings::SB_I_NODEV) as usize;
        // SAFETY: The superblock stays as long as its inodes, and its nodes are of this type.
        let inode = unsafe { NewInode::<F::Node>::new(sb, 1, 0o040000 | ROOT_MODE, None) }?;
        inode.set_operations(&raw const bindings::simple_dir_inode_operations);
        inode.set_file_operations(&raw const bindings::simple_dir_operations);
        inode.get().add_link();
        // SAFETY: It takes over the reference to a new inode, also when it fails.
        let root = unsafe { bindings::d_make_root(inode.into_raw()) };
        if root.is_null() {
            return Err(ENOMEM);
        }
        sb.s_root = root;
        // SAFETY: The superblock has a reference to its root, whose nodes are of this type.
        let root = unsafe { Dentry::<F::Node>::from_raw(root) };
        // SAFETY: The superblock is not visible yet, so no other code uses its options.
        if let Some(options) = unsafe { options(root.info()) } {
            options.apply(root);
        }
        // SAFETY: The superblock is not visible yet, so its root cannot be reached.
        F::fill(&unsafe { Dir::new(root, None) }?)?;
        Ok(0)
    })
}

/// # Safety
///
/// Called by the VFS when no code uses the superblock any more.
unsafe extern "C" fn kill_sb(sb: *mut bindings::super_block) {
    // SAFETY: No other code uses the superblock any more, so its `s_fs_info` is ours to take.
    let info = unsafe { mem::replace(&mut (*sb).s_fs_info, core::ptr::null_mut()) };
    // SAFETY: The superblock came from get_tree_single() and is killed once.
    unsafe { bindings::kill_anon_super(sb) };
    // SAFETY: The superblock took it from its context, and has ended.
    unsafe { drop_options(info) };
}

/// # Safety
///
/// Called by the VFS with the root of a superblock of ours, which is in use.
unsafe extern "C" fn show_options(
    m: *mut bindings::seq_file,
    root: *mut bindings::dentry,
) -> c_int {
    // SAFETY: The root is valid, and the type of its nodes does not matter to `info`.
    let info = unsafe { Dentry::<()>::from_raw(root) }.info();
    // SAFETY: It is null or the options, which live as long as the superblock. A remount at this
    // moment may show either value.
    let options = unsafe { info.cast::<MountOptions>().as_ref() };
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
    // SAFETY: No file has the inode open, and it is in no list any more: no other code uses it.
    let inode = unsafe { &mut *inode };
    // SAFETY: They are the pages of an inode that no file has open.
    unsafe { bindings::truncate_inode_pages_final(&raw mut inode.i_data) };
    // SAFETY: The inode has no pages any more, and the VFS evicts it once.
    unsafe { bindings::clear_inode(inode) };
    // SAFETY: The VFS evicts it once, and its node is of this type.
    unsafe { dir::drop_node::<F::Node>(inode) };
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
        // SAFETY: The VFS keeps the dentry, and its parent is locked.
        let dentry = unsafe { Dentry::<F::Node>::from_raw(dentry) };
        F::create(dentry.name(), |node| {
            // SAFETY: The parent is locked, and it is a folder where `mkdir` is possible.
            let parent = unsafe { Dir::new(dentry.parent(), Some(0)) }?;
            // SAFETY: The VFS passed the dentry, a negative one in `parent`, to this `mkdir`.
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
        // SAFETY: The VFS keeps the dentry, whose parent is locked, and nodes are of this type.
        let dentry = unsafe { Dentry::<F::Node>::from_raw(dentry) };
        // SAFETY: The VFS keeps and locks the parent, whose superblock is the dentry's.
        let parent = unsafe { Inode::<F::Node>::from_raw(parent) };
        let node = dentry.inode().and_then(Inode::node).ok_or(EPERM)?;
        F::remove(node)?;
        // SAFETY: The VFS holds the locks of both, and `dentry` is a folder in `parent`.
        unsafe { dir::remove(parent, dentry) };
        Ok(0)
    })
}
