// SPDX-License-Identifier: GPL-2.0

//! The kernel log, searched for the marks of a bug after every test.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// A line with one of these means that the kernel found something wrong.
const MARKS: &[&str] = &[
    "WARNING:",
    "BUG:",
    "kernel BUG",
    "Oops:",
    "general protection",
    "KFENCE:",
    "KASAN:",
    "UBSAN:",
    "possible recursive locking",
    "possible circular locking",
    "inconsistent lock state",
    "suspicious RCU usage",
    "sleeping function called",
    "scheduling while atomic",
    "detected stall",
    "soft lockup",
    "blocked for more than",
    "refcount_t:",
    "list_add corruption",
    "list_del corruption",
    "unreferenced object",
    "rust_kernel: panicked",
    "panicked at",
];

pub struct KernelLog {
    file: Option<File>,
}

impl KernelLog {
    /// Starts at the end of the log as it is now.
    pub fn from_now() -> Self {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(crate::sys::O_NONBLOCK)
            .open("/dev/kmsg")
            .ok()
            .and_then(|mut file| file.seek(SeekFrom::End(0)).is_ok().then_some(file));
        KernelLog { file }
    }

    /// The suspicious lines since the last call.
    pub fn splats(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        let Some(file) = &mut self.file else {
            return vec!["cannot read /dev/kmsg".into()];
        };
        let mut record = [0u8; 8192];
        loop {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(n) => {
                    let text = String::from_utf8_lossy(&record[..n]);
                    // `prefix;text`, then lines of properties that start with a blank.
                    let line = text.split_once(';').map_or("", |(_, rest)| rest);
                    let line = line.lines().next().unwrap_or_default();
                    if MARKS.iter().any(|mark| line.contains(mark)) {
                        found.push(line.to_string());
                    }
                }
                // Old records were overwritten: read on with the oldest that is left.
                Err(e) if e.raw_os_error() == Some(32) => continue,
                Err(_) => break,
            }
        }
        found
    }
}
