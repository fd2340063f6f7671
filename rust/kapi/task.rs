// SPDX-License-Identifier: GPL-2.0

//! What is known of a task but not from the `kernel` crate: its name, and the files of the current one.

use core::mem::offset_of;
use kernel::{
    bindings::{
        self,
        task_struct, //
    },
    task::Task, //
};

/// Bytes of a name.
pub(crate) const COMM: usize = 16;

const _: () = assert!(COMM == bindings::TASK_COMM_LEN as usize);

/// Returns the name of `task`, as words. While another task changes it, it is a mix of both names, as in
/// ftrace. Any context.
#[inline(always)]
pub(crate) fn name(task: &Task) -> [u64; COMM / 8] {
    let name = task
        .as_ptr()
        .wrapping_byte_add(offset_of!(task_struct, comm))
        .cast::<[u64; COMM / 8]>();
    // SAFETY: The name is inside the task, which exists while it is borrowed, and has as many bytes.
    unsafe { name.read_unaligned() }
}

/// Returns the address of the name of the current task. Any context.
pub(crate) fn comm_address() -> u64 {
    let task = kernel::current!().as_ptr();
    let name = task.wrapping_byte_add(offset_of!(task_struct, comm));
    name.addr() as u64
}

/// Returns the bytes of a name.
pub(crate) fn bytes_of(name: [u64; COMM / 8]) -> [u8; COMM] {
    let mut bytes = [0; COMM];
    for (to, word) in bytes.chunks_exact_mut(8).zip(name) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

/// Returns the file table of the calling program, as a number to be compared with the owner that
/// `flush` gets. All threads of a program have the same one.
pub(crate) fn file_table() -> usize {
    let task = kernel::current!().as_ptr();
    // SAFETY: The current task is valid, and only it changes its own `files`.
    unsafe { (*task).files as usize }
}
