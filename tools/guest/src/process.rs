// SPDX-License-Identifier: GPL-2.0

//! Processes whose pid the caller chooses.

use crate::errno::{Errno, Op};
use std::ffi::{c_int, c_long};

const SYS_EXIT_GROUP: c_long = 231;
const SYS_CLONE3: c_long = 435;
const SIGCHLD: u64 = 17;

/// `struct clone_args` of the kernel, up to what the oldest kernel with `set_tid` knows.
#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
}

extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
}

/// Runs a process of that pid, which ends at once.
///
/// # Errors
///
/// `EEXIST` when the pid is taken, `EINVAL` when there is no such pid.
pub fn run_as(pid: u32) -> Op {
    let tid = pid as c_int;
    let args = CloneArgs {
        exit_signal: SIGCHLD,
        set_tid: (&raw const tid) as u64,
        set_tid_size: 1,
        ..CloneArgs::default()
    };
    // SAFETY: The arguments are readable and of the size given. The child has its own copy of the
    // memory, in which it makes one system call and ends.
    let child = unsafe {
        let child = syscall(SYS_CLONE3, &raw const args, size_of::<CloneArgs>());
        if child == 0 {
            syscall(SYS_EXIT_GROUP, 0);
        }
        child
    };
    if child < 0 {
        return Err(Errno::from(std::io::Error::last_os_error()));
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    let ended = unsafe { waitpid(tid, &mut status, 0) };
    assert_eq!((ended, status), (tid, 0), "the child {pid}");
    Ok(())
}
