// SPDX-License-Identifier: GPL-2.0

//! System calls of the readers of `trace_pipe_raw` beyond `read`: splice, ioctl, flags, pipes.

use crate::errno::Op;
use std::ffi::{c_int, c_long};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;

pub use crate::callers::splice;

const SYS_IOCTL: c_long = 16;
const SYS_FCNTL: c_long = 72;
const SYS_TEE: c_long = 276;

const F_GETFL: usize = 3;
const F_SETFL: usize = 4;
const F_SETPIPE_SZ: usize = 1031;
const FIONREAD: usize = 0x541b;

extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

fn check(result: c_long) -> Op<usize> {
    usize::try_from(result).map_err(|_| std::io::Error::last_os_error().into())
}

/// An ioctl without an argument.
pub fn ioctl(file: &impl AsRawFd, command: u32) -> Op<usize> {
    // SAFETY: Plain numbers.
    check(unsafe { syscall(SYS_IOCTL, file.as_raw_fd(), command as usize, 0usize) })
}

/// Switches O_NONBLOCK of an open file.
pub fn set_nonblock(file: &impl AsRawFd, on: bool) -> Op {
    let bit = crate::sys::O_NONBLOCK as usize;
    // SAFETY: Plain numbers.
    unsafe {
        let flags = check(syscall(SYS_FCNTL, file.as_raw_fd(), F_GETFL, 0usize))?;
        let flags = if on { flags | bit } else { flags & !bit };
        check(syscall(SYS_FCNTL, file.as_raw_fd(), F_SETFL, flags)).map(drop)
    }
}

/// Gives a pipe room for `bytes` bytes.
pub fn set_pipe_size(pipe: &impl AsRawFd, bytes: usize) -> Op {
    // SAFETY: Plain numbers.
    check(unsafe { syscall(SYS_FCNTL, pipe.as_raw_fd(), F_SETPIPE_SZ, bytes) }).map(drop)
}

/// Copies what is in one pipe into another; both have the same pages then.
pub fn tee(from: &impl AsRawFd, to: &impl AsRawFd, len: usize) -> Op<usize> {
    let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
    // SAFETY: Plain numbers.
    check(unsafe { syscall(SYS_TEE, from, to, len, 0usize) })
}

/// Returns the number of bytes in a pipe.
pub fn in_pipe(pipe: &impl AsRawFd) -> Op<usize> {
    let mut bytes: c_int = 0;
    // SAFETY: The kernel stores one int.
    check(unsafe { syscall(SYS_IOCTL, pipe.as_raw_fd(), FIONREAD, &mut bytes) })?;
    Ok(usize::try_from(bytes).unwrap_or(0))
}

/// Takes everything out of a pipe.
pub fn drain(pipe: &mut File) -> Vec<u8> {
    let mut bytes = vec![0; in_pipe(pipe).unwrap_or(0)];
    match pipe.read_exact(&mut bytes) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}
