// SPDX-License-Identifier: GPL-2.0

//! Processes whose pid the caller chooses, and children.

use crate::errno::Op;
use crate::sys;
use std::ffi::c_int;

const SYS_FORK: usize = 57;
const SYS_EXIT_GROUP: usize = 231;
const SYS_CLONE3: usize = 435;
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
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
}

/// Runs a process with this pid, which ends at once.
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
    let at = (&raw const args) as usize;
    // The child has its own copy of the memory, in which it makes one system call and ends.
    let child = sys::checked(SYS_CLONE3, [at, size_of::<CloneArgs>(), 0, 0, 0, 0])?;
    if child == 0 {
        sys::call(SYS_EXIT_GROUP, [0; 6]);
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    let ended = unsafe { waitpid(tid, &mut status, 0) };
    assert_eq!((ended, status), (tid, 0), "the child {pid}");
    Ok(())
}

/// Runs `f` in a child of this process, which allocates nothing and takes no lock. Returns its pid when it has
/// ended.
pub fn run_in_child(f: impl FnOnce()) -> Op<u32> {
    let child = sys::checked(SYS_FORK, [0; 6])?;
    if child == 0 {
        f();
        sys::call(SYS_EXIT_GROUP, [0; 6]);
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    let ended = unsafe { waitpid(child as c_int, &mut status, 0) };
    assert_eq!((ended as usize, status), (child, 0), "the child");
    Ok(child as u32)
}
