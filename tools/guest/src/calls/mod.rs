// SPDX-License-Identifier: GPL-2.0

//! Sequences of random system calls on the files of an instance, made on rtracefs and on tracefs one call after
//! the other, whose answers are compared. What is known to differ is a rule (`rules`).

pub mod answer;
pub mod choose;
pub mod files;
pub mod perform;
pub mod rules;

use files::File;
use std::fmt;

/// Places for descriptors.
pub const SLOTS: usize = 6;

/// Bytes, shown as a text.
#[derive(Clone)]
pub struct Bytes(pub Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.0.get(..100).unwrap_or(&self.0);
        write!(f, "\"{}\" of {}", start.escape_ascii(), self.0.len())
    }
}

/// What is said of a file that is open.
#[derive(Debug, Clone)]
pub enum Call {
    /// Opens the file with these flags and O_NONBLOCK; what is in the slot is closed before.
    Open {
        file: &'static File,
        flags: i32,
    },
    Close,
    /// Into another slot.
    Dup {
        to: usize,
    },
    Read {
        len: usize,
    },
    /// By preadv2() with these flags; a position of -1 is that of the file.
    ReadAt {
        len: usize,
        at: i64,
        flags: usize,
    },
    /// By readv(), in two pieces.
    ReadPieces {
        lens: [usize; 2],
    },
    Write {
        bytes: Bytes,
    },
    /// By pwritev2(), as `ReadAt`.
    WriteAt {
        bytes: Bytes,
        at: i64,
        flags: usize,
    },
    /// By writev(), cut into two pieces.
    WritePieces {
        bytes: Bytes,
        cut: usize,
    },
    Seek {
        at: i64,
        whence: i32,
    },
    /// Into a pipe, which is read after it.
    Splice {
        len: usize,
        flags: usize,
    },
    /// Into a pipe, from the file's position or from this one.
    Send {
        len: usize,
        at: Option<i64>,
    },
    Poll {
        events: i16,
    },
    Control {
        command: u32,
        argument: usize,
    },
    Flags {
        flags: i32,
    },
    Map {
        len: usize,
        protection: usize,
        shared: bool,
        at: usize,
    },
    Unmap,
    Truncate {
        len: i64,
    },
    Sync,
    Allocate {
        mode: i32,
    },
}

/// A call on a descriptor, or a write to a file that is opened for it alone.
#[derive(Debug, Clone)]
pub enum What {
    On {
        slot: usize,
        call: Call,
    },
    /// `echo -n BYTES > FILE`.
    Put {
        file: &'static File,
        bytes: Bytes,
    },
}

/// One of a sequence.
#[derive(Debug, Clone)]
pub struct Step {
    /// The task that makes the call: task N runs on CPU N.
    pub task: usize,
    pub what: What,
}
