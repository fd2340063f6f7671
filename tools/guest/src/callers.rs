// SPDX-License-Identifier: GPL-2.0

//! System calls of hostile callers: other users, odd names, addresses at the end of
//! what is mapped, pages that outlive their file.

use crate::errno::{Errno, Op, EBADF};
use std::ffi::{c_int, c_long, c_void};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

const SYS_READ: c_long = 0;
const SYS_WRITE: c_long = 1;
const SYS_SENDMSG: c_long = 46;
const SYS_RECVMSG: c_long = 47;
const SYS_CAPSET: c_long = 126;
const SYS_PRCTL: c_long = 157;
const SYS_SETRESUID: c_long = 117;
const SYS_SETRESGID: c_long = 119;
const SYS_SETGROUPS: c_long = 116;
const SYS_UNSHARE: c_long = 272;
const SYS_SPLICE: c_long = 275;
const SYS_PRLIMIT64: c_long = 302;

const PR_SET_NAME: c_int = 15;
const CLONE_NEWNS: c_int = 0x0002_0000;
const CLONE_NEWUSER: c_int = 0x1000_0000;

const PROT_READ: c_int = 1;
const PROT_WRITE: c_int = 2;
const MAP_SHARED: c_int = 1;
const MAP_PRIVATE: c_int = 2;
const MAP_ANONYMOUS: c_int = 0x20;
const PAGE: usize = 4096;

extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn mmap(
        at: *mut c_void,
        len: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, len: usize) -> c_int;
}

fn check(result: c_long) -> Op<usize> {
    usize::try_from(result).map_err(|_| std::io::Error::last_os_error().into())
}

/// Gives the calling thread a name, any bytes without NUL; the kernel cuts it after 15.
pub fn name_this_thread(name: &[u8]) -> Op {
    let mut bytes = [0u8; 16];
    for (to, from) in bytes.iter_mut().take(15).zip(name) {
        *to = *from;
    }
    // SAFETY: The kernel reads at most 16 bytes of the name.
    check(unsafe { syscall(SYS_PRCTL, PR_SET_NAME, bytes.as_ptr()) }).map(drop)
}

/// Makes the calling thread, and only it, another user for good.
pub fn become_user(uid: u32, gid: u32) -> Op {
    // SAFETY: Plain numbers, and an empty list of groups.
    unsafe {
        check(syscall(SYS_SETGROUPS, 0usize, 0usize))?;
        check(syscall(SYS_SETRESGID, gid, gid, gid))?;
        check(syscall(SYS_SETRESUID, uid, uid, uid)).map(drop)
    }
}

/// Puts the calling process, which has one thread, into a user namespace where it is root.
pub fn new_user_namespace() -> Op {
    // SAFETY: Plain numbers.
    check(unsafe { syscall(SYS_UNSHARE, CLONE_NEWUSER | CLONE_NEWNS) }).map(drop)
}

/// As [`new_user_namespace`], for a process of root, which stays the user that it was.
pub fn new_namespace_of_root() -> Op {
    new_user_namespace()?;
    Ok(std::fs::write("/proc/self/uid_map", "0 0 1")?)
}

/// Gives the calling process, which has one thread, mounts of its own.
pub fn new_mount_namespace() -> Op {
    // SAFETY: Plain numbers.
    check(unsafe { syscall(SYS_UNSHARE, CLONE_NEWNS) }).map(drop)
}

/// Takes all capabilities from the calling thread, and only from it, for good.
pub fn drop_capabilities() -> Op {
    const VERSION_3: u32 = 0x2008_0522;
    let (header, none) = ([VERSION_3, 0], [0u32; 6]);
    // SAFETY: The kernel reads a version with a pid, and two times three words.
    check(unsafe { syscall(SYS_CAPSET, header.as_ptr(), none.as_ptr()) }).map(drop)
}

/// Has this process open up to `files` files at a time.
pub fn allow_files(files: u64) -> Op {
    const RLIMIT_NOFILE: usize = 7;
    let limit = [files, files];
    // SAFETY: The kernel reads two numbers, and writes nothing.
    check(unsafe { syscall(SYS_PRLIMIT64, 0usize, RLIMIT_NOFILE, limit.as_ptr(), 0usize) })
        .map(drop)
}

/// What is sent beside the bytes of a message: one descriptor.
#[repr(C)]
struct Rights {
    len: usize,
    level: c_int,
    kind: c_int,
    descriptor: c_int,
    padding: c_int,
}

impl Rights {
    /// Returns those to this descriptor.
    fn to(descriptor: c_int) -> Self {
        const SOL_SOCKET: c_int = 1;
        const SCM_RIGHTS: c_int = 1;
        Rights {
            len: std::mem::offset_of!(Rights, padding),
            level: SOL_SOCKET,
            kind: SCM_RIGHTS,
            descriptor,
            padding: 0,
        }
    }
}

/// Makes a system call with a message of one byte and these rights.
fn with_message(number: c_long, socket: &impl AsRawFd, rights: &mut Rights) -> Op<usize> {
    let mut byte = [0u8];
    let piece = [byte.as_mut_ptr() as usize, byte.len()];
    // `struct msghdr`: no name, one piece, the rights, no flags.
    let mut message = [
        0,
        0,
        piece.as_ptr() as usize,
        1,
        &raw mut *rights as usize,
        size_of::<Rights>(),
        0,
    ];
    // SAFETY: The message, its piece, the byte and the rights are valid and live until the call returns;
    // the kernel writes at most the byte, the rights and the message's lengths, which nobody uses then.
    check(unsafe { syscall(number, socket.as_raw_fd(), message.as_mut_ptr(), 0usize) })
}

/// Sends a descriptor over a socket.
pub fn send_descriptor(socket: &impl AsRawFd, file: &impl AsRawFd) -> Op {
    with_message(SYS_SENDMSG, socket, &mut Rights::to(file.as_raw_fd())).map(drop)
}

/// Receives a descriptor from a socket.
pub fn receive_descriptor(socket: &impl AsRawFd) -> Op<File> {
    let mut rights = Rights::to(-1);
    with_message(SYS_RECVMSG, socket, &mut rights)?;
    match rights.descriptor {
        // SAFETY: The kernel has made the descriptor for this process just now.
        made @ 0.. => Ok(unsafe { File::from_raw_fd(made) }),
        _ => Err(EBADF),
    }
}

/// Two pages of memory; only the first is mapped.
pub struct PageEnd(*mut c_void);

impl PageEnd {
    pub fn new() -> Op<Self> {
        // SAFETY: New memory at no particular address.
        let at = unsafe {
            mmap(
                std::ptr::null_mut(),
                2 * PAGE,
                PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if at as isize == -1 {
            return Err(std::io::Error::last_os_error().into());
        }
        // SAFETY: The second of the two pages, which is not in use yet.
        check(unsafe { munmap(at.byte_add(PAGE), PAGE) }.into())?;
        Ok(PageEnd(at))
    }

    /// Writes `text` to the last bytes of the page.
    fn put(&self, text: &[u8]) -> *mut c_void {
        let len = text.len().min(PAGE);
        // SAFETY: Inside of the page, which this value owns and has not lent.
        unsafe {
            let at = self.0.byte_add(PAGE - len);
            std::ptr::copy_nonoverlapping(text.as_ptr(), at.cast(), len);
            at
        }
    }

    /// Writes `text` and `behind` bytes more, which are not mapped.
    pub fn write(&self, file: &impl AsRawFd, text: &[u8], behind: usize) -> Op<usize> {
        let at = self.put(text);
        // SAFETY: The kernel checks the addresses.
        check(unsafe { syscall(SYS_WRITE, file.as_raw_fd(), at, text.len() + behind) })
    }

    /// Reads into the last `room` bytes of the page and `behind` bytes more.
    pub fn read(&self, file: &impl AsRawFd, room: usize, behind: usize) -> Op<usize> {
        let at = self.put(&vec![0; room]);
        // SAFETY: The kernel checks the addresses; what it writes to is not borrowed.
        check(unsafe { syscall(SYS_READ, file.as_raw_fd(), at, room + behind) })
    }
}

impl Drop for PageEnd {
    fn drop(&mut self) {
        // SAFETY: Mapped by `new`.
        unsafe { munmap(self.0, PAGE) };
    }
}

/// Tries to map `pages` pages of a file; takes the mapping away again when it worked.
pub fn map(file: &impl AsRawFd, pages: usize, page: i64, writable: bool, shared: bool) -> Op {
    let prot = PROT_READ | if writable { PROT_WRITE } else { 0 };
    let flags = if shared { MAP_SHARED } else { MAP_PRIVATE };
    let offset = page.wrapping_mul(PAGE as i64);
    // SAFETY: New memory at no particular address, which no code uses yet.
    unsafe {
        let at = mmap(
            std::ptr::null_mut(),
            pages * PAGE,
            prot,
            flags,
            file.as_raw_fd(),
            offset,
        );
        if at as isize == -1 {
            return Err(Errno::from(std::io::Error::last_os_error()));
        }
        munmap(at, pages * PAGE);
    }
    Ok(())
}

/// Moves up to `len` bytes from a file into a pipe; does not wait when `wait` is false.
pub fn splice(from: &impl AsRawFd, to: &impl AsRawFd, len: usize, wait: bool) -> Op<usize> {
    const SPLICE_F_NONBLOCK: usize = 2;
    let flags = if wait { 0 } else { SPLICE_F_NONBLOCK };
    let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
    // SAFETY: Plain numbers; both offsets are null.
    check(unsafe { syscall(SYS_SPLICE, from, 0usize, to, 0usize, len, flags) })
}
