// SPDX-License-Identifier: GPL-2.0

//! Texts of the kernel's own tracefs.
//!
//! The list of the functions that can be traced is there and nowhere else, in the order that programs
//! count on. What a program has written last to a file that it leaves open may ask for it when the task ends. Process
//! context.

use super::{
    c,
    open_file::{
        self,
        KernelTree, //
    }, //
};
use kernel::prelude::*;

/// The bytes that are read at a time.
const PIECE: usize = 64 << 10;
/// A longer text is not believed; the list of functions has 3 MB.
const MOST: usize = 64 << 20;

/// Returns the text of the file `name` in the root of the kernel's tracefs.
///
/// # Errors
///
/// `ENODEV` when the kernel has no tracefs, `ENOENT` when it has no such file, `EPERM` when it is locked down, `ENOMEM`,
/// `EINVAL` for a file that has no text, `EFBIG`, and those of the file itself.
pub(crate) fn read(name: &CStr) -> Result<KVVec<u8>> {
    let file = open_file::open(KernelTree::Tracefs, name)?;
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
