// SPDX-License-Identifier: GPL-2.0

//! What a file operation needs to know about the task that calls it.

/// The file table of the calling program, as a number to be compared with the owner that `flush`
/// gets. All threads of a program have the same one.
pub(crate) fn file_table() -> usize {
    let task = kernel::current!().as_ptr();
    // SAFETY: The current task is valid, and only it changes its own `files`.
    unsafe { (*task).files as usize }
}
