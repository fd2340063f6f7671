// SPDX-License-Identifier: GPL-2.0

//! Texts of the kernel's own tracefs, read by a mount that no user sees.
//!
//! The list of the functions that can be traced is there and nowhere else, in the order that programs
//! count on. Process context.

use super::c;
use core::ptr::NonNull;
use kernel::{
    bindings,
    error::from_err_ptr,
    prelude::*, //
};

/// The bytes that are read at a time.
const PIECE: usize = 64 << 10;
/// A longer text is not believed; the list of functions has 3 MB.
const MOST: usize = 64 << 20;

/// A mount of tracefs.
///
/// # Invariants
///
/// It is from `kern_mount()` and ends with this.
struct Mount(NonNull<bindings::vfsmount>);

impl Mount {
    /// Mounts tracefs for the kernel alone.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the kernel has no tracefs, `ENOMEM`.
    fn new() -> Result<Self> {
        // SAFETY: The name is a string. tracefs is no module, so there is no reference to be given back.
        let tracefs = unsafe { c::get_fs_type(c"tracefs".as_char_ptr()) };
        let tracefs = NonNull::new(tracefs).ok_or(ENODEV)?;
        // SAFETY: It is a type of file systems that is registered as long as the kernel runs.
        let mount = from_err_ptr(unsafe { c::kern_mount(tracefs.as_ptr()) })?;
        // INVARIANT: From `kern_mount()` just now.
        Ok(Self(NonNull::new(mount).ok_or(ENODEV)?))
    }

    /// Opens the file `name` in the root, as the kernel: the caller was let into a file of ours.
    ///
    /// # Errors
    ///
    /// `ENOENT` when there is none, `EPERM` when the kernel is locked down, `EINVAL` for a file that has
    /// no text, `ENOMEM`.
    fn open(&self, name: &CStr) -> Result<TracefsFile<'_>> {
        // SAFETY: The mount is valid (invariant), and has a root.
        let root = unsafe { (*self.0.as_ptr()).mnt_root };
        // SAFETY: The root is a folder that the mount keeps; the name is a string.
        let dentry = from_err_ptr(unsafe { c::rt_lookup(root, name.as_char_ptr()) })?;
        // SAFETY: The dentry was found in this mount and has an inode.
        let file = from_err_ptr(unsafe { c::rt_dentry_open(self.0.as_ptr(), dentry) });
        // SAFETY: The lookup gave this reference; an open file has its own.
        unsafe { bindings::dput(dentry) };
        let file = TracefsFile(NonNull::new(file?).ok_or(ENOENT)?, self);
        // SAFETY: The file is open, and its operations are those of its inode.
        match unsafe { c::rt_is_seq_file(file.0.as_ptr()) } {
            true => Ok(file),
            false => Err(EINVAL),
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // SAFETY: From `kern_mount()` (invariant), and no file of it is open any more.
        unsafe { c::kern_unmount(self.0.as_ptr()) };
    }
}

/// An open file of a mount.
///
/// # Invariants
///
/// It is from `dentry_open()` and closed by this alone.
struct TracefsFile<'m>(NonNull<bindings::file>, #[allow(dead_code)] &'m Mount);

impl Drop for TracefsFile<'_> {
    fn drop(&mut self) {
        // SAFETY: Opened by `Mount::open`, and closed here alone. A file that is closed in this way is
        // closed when this returns.
        unsafe { bindings::filp_close(self.0.as_ptr(), core::ptr::null_mut()) };
    }
}

/// Returns the text of the file `name` in the root of the kernel's tracefs.
///
/// # Errors
///
/// Those of [`Mount::new`] and [`Mount::open`], `EFBIG`, and those of the file itself.
pub(crate) fn read(name: &CStr) -> Result<KVVec<u8>> {
    let mount = Mount::new()?;
    let file = mount.open(name)?;
    let mut piece = KVVec::from_elem(0u8, PIECE, GFP_KERNEL)?;
    let mut text = KVVec::new();
    let mut position = 0;
    loop {
        // SAFETY: The file is one of seq_file and this task's alone; there is room for that many bytes.
        let read = unsafe {
            c::rt_seq_read(
                file.0.as_ptr(),
                piece.as_mut_ptr().cast(),
                piece.len(),
                &mut position,
            )
        };
        let read = match usize::try_from(read) {
            Ok(0) => return Ok(text),
            Ok(read) => read,
            Err(_) => return Err(Error::from_errno(read as i32)),
        };
        if text.len() > MOST {
            return Err(EFBIG);
        }
        // Twice as much at a time, or what is there would be copied again and again.
        if text.capacity().saturating_sub(text.len()) < read {
            text.reserve(text.len().max(PIECE), GFP_KERNEL)?;
        }
        text.extend_from_slice(piece.get(..read).unwrap_or_default(), GFP_KERNEL)?;
    }
}
