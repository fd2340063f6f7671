// SPDX-License-Identifier: GPL-2.0

//! Reads by io_uring into a buffer that was registered with it, one at a time.

use crate::errno::{Errno, Op};
use crate::sys;
use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

const SYS_MMAP: usize = 9;
const SYS_SETUP: usize = 425;
const SYS_ENTER: usize = 426;
const SYS_REGISTER: usize = 427;

const REGISTER_BUFFERS: usize = 0;
const ENTER_GETEVENTS: usize = 1;
const READ_FIXED: u8 = 4;

const SUBMISSIONS: usize = 0;
const COMPLETIONS: usize = 0x800_0000;
const ENTRIES: usize = 0x1000_0000;

const PAGE: usize = 4096;
const READ_WRITE: usize = 3;
const SHARED_POPULATED: usize = 0x8001;
const PRIVATE_ANONYMOUS: usize = 0x22;

/// Places in what the kernel tells of the rings, in words: where in a ring its words are.
const SUBMISSION_TAIL: usize = 11;
const SUBMISSION_ARRAY: usize = 16;
const COMPLETION_HEAD: usize = 20;
const COMPLETION_ENTRIES: usize = 25;

/// What is asked for.
#[repr(C)]
#[derive(Default)]
struct Submission {
    opcode: u8,
    flags: u8,
    priority: u16,
    descriptor: i32,
    offset: u64,
    address: u64,
    len: u32,
    read_flags: u32,
    user_data: u64,
    buffer: u16,
    rest: [u16; 11],
}

/// A ring of each kind with one entry that is used, and the buffer.
pub struct Uring {
    file: File,
    told: [u32; 30],
    submissions: *mut u8,
    completions: *mut u8,
    entries: *mut Submission,
    buffer: *mut u8,
    done: u32,
}

fn map(file: usize, offset: usize, flags: usize) -> Op<*mut c_void> {
    let at = sys::checked(SYS_MMAP, [0, PAGE, READ_WRITE, flags, file, offset])?;
    Ok(at as *mut c_void)
}

impl Uring {
    /// Makes it, if programs may have one.
    pub fn new() -> Op<Self> {
        let mut told = [0u32; 30];
        let made = sys::checked(SYS_SETUP, [1, told.as_mut_ptr() as usize, 0, 0, 0, 0])?;
        // SAFETY: The kernel has made the descriptor for this process just now.
        let file = unsafe { File::from_raw_fd(made as i32) };
        let mapped = |offset| map(made, offset, SHARED_POPULATED);
        let uring = Uring {
            told,
            submissions: mapped(SUBMISSIONS)?.cast(),
            completions: mapped(COMPLETIONS)?.cast(),
            entries: mapped(ENTRIES)?.cast(),
            buffer: map(usize::MAX, 0, PRIVATE_ANONYMOUS)?.cast(),
            file,
            done: 0,
        };
        let area = [uring.buffer as usize, PAGE];
        let list = area.as_ptr() as usize;
        sys::checked(SYS_REGISTER, [made, REGISTER_BUFFERS, list, 1, 0, 0])?;
        Ok(uring)
    }

    /// Returns the address of the word that the kernel tells of at `place`, in the ring at `ring`.
    fn word(&self, ring: *mut u8, place: usize) -> *mut u32 {
        ring.wrapping_add(self.told[place] as usize).cast()
    }

    /// Reads what comes next in `file`, at most `len` bytes.
    pub fn read_fixed(&mut self, file: &impl AsRawFd, len: usize) -> Op<Vec<u8>> {
        let entry = Submission {
            opcode: READ_FIXED,
            descriptor: file.as_raw_fd(),
            // The position of the file.
            offset: u64::MAX,
            address: self.buffer as u64,
            len: len.min(PAGE) as u32,
            ..Submission::default()
        };
        let tail = self.word(self.submissions, SUBMISSION_TAIL);
        // SAFETY: The page of the entries and that of the ring are mapped, and the kernel reads them when it is told.
        unsafe {
            self.entries.write(entry);
            self.word(self.submissions, SUBMISSION_ARRAY)
                .write_volatile(0);
            tail.write_volatile(self.done.wrapping_add(1));
        }
        let ring = self.file.as_raw_fd() as usize;
        sys::checked(SYS_ENTER, [ring, 1, 1, ENTER_GETEVENTS, 0, 0])?;
        // Twice as many completions as submissions have room.
        let at = self.told[COMPLETION_ENTRIES] as usize + (self.done as usize % 2) * 16;
        self.done = self.done.wrapping_add(1);
        let head = self.word(self.completions, COMPLETION_HEAD);
        // SAFETY: The page of the ring is mapped, and the completion that was waited for is in it.
        let result = unsafe {
            let result = self.completions.add(at + 8).cast::<i32>().read_volatile();
            head.write_volatile(self.done);
            result
        };
        let len = usize::try_from(result).map_err(|_| Errno(-result))?;
        // SAFETY: The kernel has written so many bytes to the buffer, which is mapped.
        Ok(unsafe { std::slice::from_raw_parts(self.buffer, len) }.to_vec())
    }
}
