// SPDX-License-Identifier: GPL-2.0

//! Texts of the kernel's own tracefs, read by a mount that no user sees.
//!
//! The list of the functions that can be traced is there and nowhere else, in the order that programs
//! count on. Process context.
//!
//! The mount is there as long as the module. A file that its program leaves open is closed when the task has no
//! namespaces any more, and what it has written last may ask for the list then: no mount can be made there.
//!
//! Lock: [`MOUNT`]; inside it are only the kernel's.

use super::{
    c,
    open_file::{
        self,
        OwnMount, //
    }, //
};
use kernel::prelude::*;

/// The bytes that are read at a time.
const PIECE: usize = 64 << 10;
/// A longer text is not believed; the list of functions has 3 MB.
const MOST: usize = 64 << 20;

crate::kapi::global::global_mutex! {
    static MOUNT: Mutex<Option<OwnMount>> = None;
}

/// Texts of the kernel's tracefs can be read while this exists.
pub(crate) struct TracefsMount(());

impl TracefsMount {
    /// Mounts it, if the kernel has it. One at a time, by a task that does not end.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn begin() -> Result<Self> {
        *MOUNT.lock() = open_file::if_there(c::rt_tracefs_mount().owned())?;
        Ok(Self(()))
    }
}

impl Drop for TracefsMount {
    fn drop(&mut self) {
        let mount = MOUNT.lock().take();
        drop(mount);
    }
}

/// Returns the text of the file `name` in the root of the kernel's tracefs.
///
/// # Errors
///
/// `ENODEV` when the kernel has no tracefs, `ENOENT` when it has no such file, `EPERM` when it is locked down, `ENOMEM`,
/// `EINVAL` for a file that has no text, `EFBIG`, and those of the file itself.
pub(crate) fn read(name: &CStr) -> Result<KVVec<u8>> {
    let mount = MOUNT.lock();
    let file = open_file::open(mount.as_deref(), name)?;
    let mut piece = KVVec::from_elem(0u8, PIECE, GFP_KERNEL)?;
    let mut text = KVVec::new();
    let mut position = 0;
    loop {
        let read = c::rt_seq_read(&file, (&mut *piece).into(), &mut position);
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
