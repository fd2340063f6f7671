// SPDX-License-Identifier: GPL-2.0

//! Makes the calls of a sequence on one of the two trees.

use super::answer::Answer;
use super::files::File;
use super::{Bytes, Call, What, SLOTS};
use crate::sys;
use crate::tree::Tree;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

mod number {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const OPEN: usize = 2;
    pub const CLOSE: usize = 3;
    pub const POLL: usize = 7;
    pub const LSEEK: usize = 8;
    pub const MMAP: usize = 9;
    pub const MUNMAP: usize = 11;
    pub const IOCTL: usize = 16;
    pub const READV: usize = 19;
    pub const WRITEV: usize = 20;
    pub const DUP: usize = 32;
    pub const SENDFILE: usize = 40;
    pub const FCNTL: usize = 72;
    pub const FSYNC: usize = 74;
    pub const FTRUNCATE: usize = 77;
    pub const SPLICE: usize = 275;
    pub const FALLOCATE: usize = 285;
    pub const PIPE2: usize = 293;
    pub const PREADV2: usize = 327;
    pub const PWRITEV2: usize = 328;
}

const O_NONBLOCK: i32 = 0o4000;
const O_WRONLY_TRUNC: i32 = 0o1001;
/// The longest read.
const ROOM: usize = 1 << 16;

/// A descriptor that is closed with the value.
struct Open {
    fd: usize,
    file: &'static File,
}

impl Drop for Open {
    fn drop(&mut self) {
        sys::call(number::CLOSE, [self.fd, 0, 0, 0, 0, 0]);
    }
}

/// One of the two trees, and what is open there.
pub struct Side {
    tree: Tree,
    slots: [Option<Open>; SLOTS],
    /// Addresses and lengths of mappings.
    maps: Vec<(usize, usize)>,
    /// Reading and writing end.
    pipe: [usize; 2],
    memory: Vec<u8>,
}

impl Drop for Side {
    fn drop(&mut self) {
        self.unmap();
        for end in self.pipe {
            sys::call(number::CLOSE, [end, 0, 0, 0, 0, 0]);
        }
    }
}

impl Side {
    pub fn new(tree: Tree) -> Self {
        let mut ends = [0u32; 2];
        let flags = O_NONBLOCK as usize;
        sys::call(
            number::PIPE2,
            [ends.as_mut_ptr() as usize, flags, 0, 0, 0, 0],
        );
        Side {
            tree,
            slots: Default::default(),
            maps: Vec::new(),
            pipe: ends.map(|end| end as usize),
            memory: vec![0; ROOM],
        }
    }

    /// The file that is open there.
    pub fn file(&self, slot: usize) -> Option<&'static File> {
        self.slots[slot].as_ref().map(|open| open.file)
    }

    fn unmap(&mut self) -> isize {
        let mut result = 0;
        for (address, len) in self.maps.drain(..) {
            result = sys::call(number::MUNMAP, [address, len, 0, 0, 0, 0]);
        }
        result
    }

    fn open(&self, file: &File, flags: i32) -> isize {
        let path = self.tree.file(file.name);
        let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
            return -1;
        };
        let flags = (flags | O_NONBLOCK) as usize;
        sys::call(
            number::OPEN,
            [path.as_ptr() as usize, flags, 0o644, 0, 0, 0],
        )
    }

    /// What so many bytes of the memory hold.
    fn taken(&self, result: isize) -> Vec<u8> {
        let len = usize::try_from(result).unwrap_or(0);
        self.memory[..len.min(ROOM)].to_vec()
    }

    fn empty_pipe(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let to = self.memory.as_mut_ptr() as usize;
            let result = sys::call(number::READ, [self.pipe[0], to, ROOM, 0, 0, 0]);
            if result <= 0 {
                return bytes;
            }
            bytes.extend(self.taken(result));
        }
    }

    /// The call's answer: what was read, and where the file then stands.
    pub fn perform(&mut self, what: &What) -> Answer {
        let (slot, call) = match what {
            What::On { slot, call } => (*slot, call),
            What::Put {
                file,
                bytes: Bytes(bytes),
            } => {
                let fd = self.open(file, O_WRONLY_TRUNC);
                let Ok(opened) = usize::try_from(fd) else {
                    return Answer::number(fd);
                };
                let opened = Open { fd: opened, file };
                let from = bytes.as_ptr() as usize;
                let args = [opened.fd, from, bytes.len(), 0, 0, 0];
                return Answer::number(sys::call(number::WRITE, args));
            }
        };
        if let Call::Open { file, flags } = call {
            self.slots[slot] = None;
            let result = self.open(file, *flags);
            let fd = usize::try_from(result).ok();
            self.slots[slot] = fd.map(|fd| Open { fd, file });
            return Answer::number(result.min(0));
        }
        let Some(fd) = self.slots[slot].as_ref().map(|open| open.fd) else {
            return Answer::number(0);
        };
        let (result, bytes) = self.on(fd, slot, call);
        let position = match self.slots[slot] {
            Some(_) => sys::call(number::LSEEK, [fd, 0, 1, 0, 0, 0]),
            None => 0,
        };
        Answer {
            result,
            bytes,
            position,
        }
    }

    fn on(&mut self, fd: usize, slot: usize, call: &Call) -> (isize, Vec<u8>) {
        let to = self.memory.as_mut_ptr() as usize;
        let call_with = |number, rest: [usize; 5]| {
            let [a, b, c, d, e] = rest;
            sys::call(number, [fd, a, b, c, d, e])
        };
        let read = match call {
            Call::Read { len } => call_with(number::READ, [to, *len, 0, 0, 0]),
            Call::ReadAt { len, at, flags } => {
                let pieces = [to, *len];
                let high = (*at >> 32) as usize;
                let args = [pieces.as_ptr() as usize, 1, *at as usize, high, *flags];
                call_with(number::PREADV2, args)
            }
            Call::ReadPieces {
                lens: [first, second],
            } => {
                // Both have room for half of it.
                let (first, second) = ((*first).min(ROOM / 2), (*second).min(ROOM / 2));
                let pieces = [to, first, to + first, second];
                call_with(number::READV, [pieces.as_ptr() as usize, 2, 0, 0, 0])
            }
            Call::Splice { len, flags } => {
                let args = [0, self.pipe[1], 0, *len, *flags];
                let result = call_with(number::SPLICE, args);
                return (result, self.empty_pipe());
            }
            Call::Send { len, at } => {
                let mut offset = at.unwrap_or(0);
                let pointer = match at {
                    Some(_) => &raw mut offset as usize,
                    None => 0,
                };
                let args = [self.pipe[1], fd, pointer, *len, 0, 0];
                let result = sys::call(number::SENDFILE, args);
                return (result, self.empty_pipe());
            }
            _ => return (self.without_bytes(fd, slot, call), Vec::new()),
        };
        (read, self.taken(read))
    }

    fn without_bytes(&mut self, fd: usize, slot: usize, call: &Call) -> isize {
        let call_with = |number, rest: [usize; 5]| {
            let [a, b, c, d, e] = rest;
            sys::call(number, [fd, a, b, c, d, e])
        };
        match call {
            Call::Close => {
                self.slots[slot] = None;
                0
            }
            Call::Dup { to } => {
                let result = call_with(number::DUP, [0; 5]);
                if let (Ok(fd), Some(file)) = (usize::try_from(result), self.file(slot)) {
                    self.slots[*to] = Some(Open { fd, file });
                }
                result.min(0)
            }
            Call::Write {
                bytes: Bytes(bytes),
            } => {
                let args = [bytes.as_ptr() as usize, bytes.len(), 0, 0, 0];
                call_with(number::WRITE, args)
            }
            Call::WriteAt {
                bytes: Bytes(bytes),
                at,
                flags,
            } => {
                let pieces = [bytes.as_ptr() as usize, bytes.len()];
                let high = (*at >> 32) as usize;
                let args = [pieces.as_ptr() as usize, 1, *at as usize, high, *flags];
                call_with(number::PWRITEV2, args)
            }
            Call::WritePieces {
                bytes: Bytes(bytes),
                cut,
            } => {
                let from = bytes.as_ptr() as usize;
                let pieces = [from, *cut, from + cut, bytes.len() - cut];
                call_with(number::WRITEV, [pieces.as_ptr() as usize, 2, 0, 0, 0])
            }
            Call::Seek { at, whence } => {
                call_with(number::LSEEK, [*at as usize, *whence as usize, 0, 0, 0])
            }
            Call::Poll { events } => {
                let mut asked = [fd as u32, u32::from(*events as u16)];
                let args = [asked.as_mut_ptr() as usize, 1, 0, 0, 0, 0];
                let ready = sys::call(number::POLL, args);
                // What is ready, above what was asked for.
                ready.min(0) + (asked[1] >> 16) as isize
            }
            Call::Control { command, argument } => {
                call_with(number::IOCTL, [*command as usize, *argument, 0, 0, 0])
            }
            Call::Flags { flags } => {
                let flags = (flags | O_NONBLOCK) as usize;
                call_with(number::FCNTL, [4, flags, 0, 0, 0])
            }
            Call::Map {
                len,
                protection,
                shared,
                at,
            } => {
                let sharing = if *shared { 1 } else { 2 };
                let args = [0, *len, *protection, sharing, fd, *at];
                let result = sys::call(number::MMAP, args);
                if let Ok(address) = usize::try_from(result) {
                    self.maps.push((address, *len));
                }
                result.min(0)
            }
            Call::Unmap => self.unmap(),
            Call::Truncate { len } => call_with(number::FTRUNCATE, [*len as usize, 0, 0, 0, 0]),
            Call::Sync => call_with(number::FSYNC, [0; 5]),
            Call::Allocate { mode } => call_with(number::FALLOCATE, [*mode as usize, 0, 100, 0, 0]),
            // These are elsewhere.
            Call::Open { .. } | Call::Read { .. } | Call::ReadAt { .. } => 0,
            Call::ReadPieces { .. } | Call::Splice { .. } | Call::Send { .. } => 0,
        }
    }
}
