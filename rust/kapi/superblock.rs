// SPDX-License-Identifier: GPL-2.0

//! The superblock of a file system in memory: how it is filled and killed, which options it shows,
//! and how its inodes end.
//!
//! The VFS calls the operations here; the first one is passed to it by `kapi::fs_context`.

use super::{
    c,
    dir::{
        Dir,
        FOLDER,
        SIMPLE, //
    },
    fs::FileSystem,
    inode::{
        Dentry,
        NewInode,
        Superblock, //
    },
    mount::{
        SharedOptions,
        ROOT_MODE, //
    },
};
use core::{
    marker::PhantomData,
    mem,
    ptr, //
};
use kernel::{
    bindings,
    error::from_result,
    ffi::c_int,
    prelude::*,
    seq_file::SeqFile,
    types::ForeignOwnable, //
};

/// The operation table of `F`.
struct SuperTable<F>(PhantomData<F>);

impl<F: FileSystem> SuperTable<F> {
    const OPERATIONS: &'static bindings::super_operations = &bindings::super_operations {
        statfs: Some(bindings::simple_statfs),
        drop_inode: Some(bindings::inode_just_drop),
        evict_inode: Some(evict_inode::<F>),
        show_options: Some(show_options::<F>),
        ..pin_init::zeroed()
    };
}

/// # Safety
///
/// Called by the VFS for a new superblock, which got the `s_fs_info` of a context of `F`.
pub(super) unsafe extern "C" fn fill<F: FileSystem>(
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
        sb.s_op = SuperTable::<F>::OPERATIONS;
        sb.s_time_gran = 1;
        sb.s_iflags |= (bindings::SB_I_NOEXEC | bindings::SB_I_NODEV) as usize;
        // SAFETY: The superblock is being filled here, with nodes of this type, and its options are
        // those of the context.
        let this = unsafe { Superblock::<F::Node>::from_raw(sb) };
        let inode = NewInode::new(this, 1, FOLDER | ROOT_MODE, None)?;
        inode.operate_as_folder(SIMPLE);
        let root = Dir::new_root(inode)?;
        let dentry = root.as_folder().dentry();
        sb.s_root = dentry.as_raw();
        if let Some(options) = dentry.superblock().options() {
            let options = *options.lock();
            options.apply(dentry);
        }
        F::fill(&root)?;
        Ok(0)
    })
}

/// # Safety
///
/// Called by the VFS when no code uses the superblock any more.
pub(super) unsafe extern "C" fn kill(sb: *mut bindings::super_block) {
    // SAFETY: No other code uses the superblock any more, so its `s_fs_info` is ours to take.
    let info = mem::replace(unsafe { &mut (*sb).s_fs_info }, ptr::null_mut());
    // SAFETY: The superblock came from get_tree_single() and is killed once.
    unsafe { bindings::kill_anon_super(sb) };
    // SAFETY: Null or the boxed options that the superblock took from its context; it has ended.
    drop(unsafe { Pin::<KBox<SharedOptions>>::try_from_foreign(info) });
}

/// # Safety
///
/// Called by the VFS with the root of a superblock of `F`, which is in use.
unsafe extern "C" fn show_options<F: FileSystem>(
    m: *mut bindings::seq_file,
    root: *mut bindings::dentry,
) -> c_int {
    // SAFETY: The VFS keeps the root, whose superblock has nodes of this type.
    let root = unsafe { Dentry::<F::Node>::from_raw(root) };
    if let Some(options) = root.superblock().options() {
        let options = *options.lock();
        // SAFETY: The VFS keeps the file `m` during the call.
        options.show(unsafe { SeqFile::from_raw(m) });
    }
    0
}

/// # Safety
///
/// Called by the VFS for the last reference to an inode of a superblock of `F`: no file has it open.
unsafe extern "C" fn evict_inode<F: FileSystem>(inode: *mut bindings::inode) {
    // SAFETY: No file has the inode open, and it is in no list any more: no other code uses it.
    let inode = unsafe { &mut *inode };
    // SAFETY: They are the pages of an inode that no file has open.
    unsafe { bindings::truncate_inode_pages_final(&raw mut inode.i_data) };
    // SAFETY: The inode has no pages any more, and the VFS evicts it once.
    unsafe { bindings::clear_inode(inode) };
    let private = mem::replace(&mut inode.i_private, ptr::null_mut());
    // SAFETY: Null or the boxed node of this type that `NewInode::new` put there, taken out of the
    // inode now; no reference to the inode is left, and none to its node.
    drop(unsafe { KBox::<F::Node>::try_from_foreign(private) });
}
