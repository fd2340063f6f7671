// SPDX-License-Identifier: GPL-2.0

//! What a call of `mount` or a remount does: it takes the options that are named, finds or makes
//! the superblock, and has it obey the options.
//!
//! The VFS calls the operations here one after the other, with a context of its own for each call.
//! The context owns options until a new superblock takes them over.

use super::{
    c,
    fs::FileSystem,
    inode::Dentry,
    mount::{
        MountOptions,
        SharedOptions, //
    },
    superblock, //
};
use core::marker::PhantomData;
use kernel::{
    bindings,
    error::{
        from_result,
        to_result, //
    },
    ffi::c_int,
    new_mutex,
    prelude::*,
    types::ForeignOwnable, //
};

/// The operation table of `F`.
struct FsContextTable<F>(PhantomData<F>);

impl<F: FileSystem> FsContextTable<F> {
    const OPERATIONS: &'static c::fs_context_operations = &c::fs_context_operations {
        free: Some(free),
        dup: None,
        parse_param: Some(parse_param),
        parse_monolithic: None,
        get_tree: Some(get_tree::<F>),
        reconfigure: Some(reconfigure::<F>),
    };
}

/// A context, for the operation that the VFS calls on it.
///
/// # Invariants
///
/// Its `s_fs_info` is null, or boxed options that it owns.
struct Context<'a>(&'a mut c::fs_context);

impl Context<'_> {
    /// Returns the options; none when a new superblock took them.
    fn options(&self) -> Option<&SharedOptions> {
        // SAFETY: It is null, or boxed options that the context owns (invariant).
        unsafe { self.0.s_fs_info.cast::<SharedOptions>().as_ref() }
    }
}

/// # Safety
///
/// Called by the VFS with a new context.
pub(super) unsafe extern "C" fn init<F: FileSystem>(fc: *mut bindings::fs_context) -> c_int {
    from_result(|| {
        // SAFETY: The context is new, and no other code uses it.
        let fc = unsafe { &mut *fc.cast::<c::fs_context>() };
        let options = KBox::pin_init(new_mutex!(MountOptions::default()), GFP_KERNEL)?;
        // `free` or `superblock::kill` drops the options.
        fc.s_fs_info = options.into_foreign();
        fc.ops = FsContextTable::<F>::OPERATIONS;
        Ok(0)
    })
}

/// # Safety
///
/// Called by the VFS once with a context that [`init`] has initialised.
unsafe extern "C" fn free(fc: &mut c::fs_context) {
    let info = fc.s_fs_info;
    // SAFETY: Null, or the boxed options of `init`, which end with the context: a new superblock
    // that took them away left null.
    drop(unsafe { Pin::<KBox<SharedOptions>>::try_from_foreign(info) });
}

/// # Safety
///
/// Called by the VFS with a context that [`init`] has initialised, and one parameter.
unsafe extern "C" fn parse_param(fc: &mut c::fs_context, param: *mut c::fs_parameter) -> c_int {
    from_result(|| {
        // INVARIANT: `init` put boxed options there, which only a new superblock takes away.
        let fc = Context(fc);
        let log = &raw mut fc.0.log;
        let options = fc.options().ok_or(EINVAL)?;
        // SAFETY: The log is the context's, and the VFS keeps the parameter during the call.
        unsafe { options.lock().parse(log, param) }?;
        Ok(0)
    })
}

/// # Safety
///
/// Called by the VFS with a context that [`init`] has initialised for `F`.
unsafe extern "C" fn get_tree<F: FileSystem>(fc: &mut c::fs_context) -> c_int {
    from_result(|| {
        F::allowed()?;
        // SAFETY: The VFS passes a context of `F`, for which this function makes the superblock.
        to_result(unsafe { c::get_tree_single(fc, Some(superblock::fill::<F>)) })?;
        // SAFETY: `get_tree_single` set the root, of a superblock of `F`, and left `s_umount` held.
        // A superblock that was there already takes the options that this mount names.
        to_result(unsafe { reconfigure::<F>(fc) })?;
        Ok(0)
    })
}

/// # Safety
///
/// Called with a context that [`init`] has initialised for `F` and whose root is set, while the
/// superblock's `s_umount` is held.
unsafe extern "C" fn reconfigure<F: FileSystem>(fc: &mut c::fs_context) -> c_int {
    // INVARIANT: `init` put boxed options there, which only a new superblock takes away.
    let fc = Context(fc);
    // A new superblock took the options and obeyed them.
    let Some(new) = fc.options().map(|options| *options.lock()) else {
        return 0;
    };
    // SAFETY: The context has a reference to the root, which is that of a superblock of `F`, and
    // `s_umount` keeps the superblock.
    let root = unsafe { Dentry::<F::Node>::from_raw(fc.0.root) };
    if let Some(old) = root.superblock().options() {
        old.lock().update(&new);
    }
    new.apply(root);
    0
}
