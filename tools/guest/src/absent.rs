// SPDX-License-Identifier: GPL-2.0

//! Memory that is not there until this process says so: who touches it waits (`userfaultfd`).

use crate::check::Check;
use crate::maps::PAGE;
use crate::sys;

const SYS_READ: usize = 0;
const SYS_CLOSE: usize = 3;
const SYS_MMAP: usize = 9;
const SYS_MUNMAP: usize = 11;
const SYS_IOCTL: usize = 16;
const SYS_USERFAULTFD: usize = 323;

const O_CLOEXEC: usize = 0o2000000;
const READ_WRITE: usize = 3;
const ANONYMOUS: usize = 0x22;

/// The commands and the version of `linux/userfaultfd.h`.
const API: (usize, u64) = (0xc018_aa3f, 0xaa);
const REGISTER: usize = 0xc020_aa00;
const COPY: usize = 0xc028_aa03;
/// Pages that are missing.
const MISSING: u64 = 1;

fn call(what: &str, number: usize, args: [usize; 6]) -> Check<usize> {
    match sys::call(number, args) {
        result if result < 0 => Err(format!("{what}: error {}", -result)),
        result => Ok(result as usize),
    }
}

/// A page that is not there.
pub struct Absent {
    fd: usize,
    at: usize,
}

impl Absent {
    pub fn new() -> Check<Self> {
        let Ok(fd) = call("userfaultfd", SYS_USERFAULTFD, [O_CLOEXEC, 0, 0, 0, 0, 0]) else {
            skip!("this kernel has no userfaultfd");
        };
        let args = [0, PAGE, READ_WRITE, ANONYMOUS, usize::MAX, 0];
        let page = Self {
            fd,
            at: call("mmap", SYS_MMAP, args)?,
        };
        page.ask("UFFDIO_API", API.0, &mut [API.1, 0, 0])?;
        let mut range = [page.at as u64, PAGE as u64, MISSING, 0];
        page.ask("UFFDIO_REGISTER", REGISTER, &mut range)?;
        Ok(page)
    }

    fn ask(&self, what: &str, command: usize, words: &mut [u64]) -> Check {
        let at = words.as_mut_ptr() as usize;
        call(what, SYS_IOCTL, [self.fd, command, at, 0, 0, 0]).map(drop)
    }

    pub fn address(&self) -> usize {
        self.at
    }

    /// Returns when a task waits for it.
    pub fn wait(&self) -> Check {
        let mut message = [0u64; 4];
        let at = message.as_mut_ptr() as usize;
        call("read", SYS_READ, [self.fd, at, 32, 0, 0, 0]).map(drop)
    }

    /// Has it there, with a text and zeros after it.
    pub fn bring(&self, text: &str) -> Check {
        let mut bytes = vec![0u8; PAGE];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        let from = bytes.as_ptr() as u64;
        let mut words = [self.at as u64, from, PAGE as u64, 0, 0];
        self.ask("UFFDIO_COPY", COPY, &mut words)
    }
}

impl Drop for Absent {
    fn drop(&mut self) {
        // Who still waits goes on.
        sys::call(SYS_CLOSE, [self.fd, 0, 0, 0, 0, 0]);
        sys::call(SYS_MUNMAP, [self.at, PAGE, 0, 0, 0, 0]);
    }
}
