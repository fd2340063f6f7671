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

/// A line with one of these is about the kernel itself.
///
/// - `fprobe_module_callback`: an allocation of its own, which a test made fail.
/// - `fprobe_return`: each frame of fgraph has bit 0 set, which marks calls from the end of others. It is also the bit
///   of the user with index 0, which is told of returns of calls that it did not see, for instance of one that slept
///   while all fprobes went and came again. Indices go round, so it happens to one in 16 users.
/// - `return_to_handler`: it gives its frame back before its last call, where the unwinder finds no frame then. Each unwind
///   of an interrupt in the two instructions after that call says so, once in a boot.
/// - `destroy_hist_data`: its own `trigger` file refuses a histogram whose action saves a field, frees the field's variable
///   and then looks at it. KFENCE sees it when it happens to guard that allocation.
const OF_KERNEL: &[&str] = &[
    " at fprobe_module_callback+",
    " at fprobe_return+",
    "stack going in the wrong direction? at return_to_handler+",
    "KFENCE: use-after-free read in destroy_hist_data+",
];

/// Returns what follows `begin` in the last record of the log that has it.
pub fn last_behind(begin: &str) -> Option<String> {
    let mut found = None;
    let mut file = open()?;
    while let Some(line) = next(&mut file) {
        if let Some((_, rest)) = line.split_once(begin) {
            found = Some(rest.to_string());
        }
    }
    found
}

/// The log, from its oldest record on.
fn open() -> Option<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(crate::sys::O_NONBLOCK)
        .open("/dev/kmsg")
        .ok()
}

/// Returns the text of the next record; `None` after the last one.
fn next(file: &mut File) -> Option<String> {
    let mut record = [0u8; 8192];
    loop {
        match file.read(&mut record) {
            Ok(0) => return None,
            Ok(n) => {
                let text = String::from_utf8_lossy(&record[..n]);
                // `prefix;text`, then lines of properties that start with a blank.
                let line = text.split_once(';').map_or("", |(_, rest)| rest);
                return Some(line.lines().next().unwrap_or_default().to_string());
            }
            // Old records were overwritten: read on with the oldest that is left.
            Err(e) if e.raw_os_error() == Some(32) => continue,
            Err(_) => return None,
        }
    }
}

/// Returns the records of the log after the last one that has `mark`, which was written there.
pub fn after(mark: &str) -> Vec<String> {
    let (mut lines, mut file) = (Vec::new(), open());
    while let Some(line) = file.as_mut().and_then(next) {
        match line.contains(mark) {
            true => lines.clear(),
            false => lines.push(line),
        }
    }
    lines
}

/// Writes a record to the log. Without a line's end readers would wait for the rest of it.
pub fn write(text: &str) -> std::io::Result<()> {
    std::fs::write("/dev/kmsg", format!("{text}\n"))
}

pub struct KernelLog {
    file: Option<File>,
}

impl KernelLog {
    /// Starts at the end of the log as it is now.
    pub fn from_now() -> Self {
        let file = open().and_then(|mut file| file.seek(SeekFrom::End(0)).is_ok().then_some(file));
        KernelLog { file }
    }

    /// The suspicious lines since the last call.
    pub fn splats(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        let Some(file) = &mut self.file else {
            return vec!["cannot read /dev/kmsg".into()];
        };
        while let Some(line) = next(file) {
            let has = |marks: &[&str]| marks.iter().any(|mark| line.contains(mark));
            if has(MARKS) && !has(OF_KERNEL) {
                found.push(line);
            }
        }
        found
    }
}
