// SPDX-License-Identifier: GPL-2.0

//! The last commands that an instance refused, and why: `error_log`.

use crate::{
    kapi::clock,
    text::{
        clock::ClockId,
        error_log::{
            Entry,
            KEPT, //
        },
        writer::ByteWrite, //
    }, //
};
use core::fmt;
use kernel::{
    new_mutex,
    prelude::*,
    sync::Mutex, //
};

/// Why a command was refused.
pub(crate) struct Refused {
    /// What parsed the command, as `error_log` names it.
    pub(crate) author: &'static str,
    /// What is wrong.
    pub(crate) error: &'static str,
    /// Offset of the byte that the caret points to.
    pub(crate) at: usize,
}

struct Logged {
    time: u64,
    refused: Refused,
    command: KVec<u8>,
}

/// The log. Its lock is a leaf.
#[pin_data]
pub(crate) struct ErrorLog {
    #[pin]
    entries: Mutex<KVec<Logged>>,
}

impl ErrorLog {
    /// Returns an empty one.
    pub(super) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            entries <- new_mutex!(KVec::new()),
        })
    }

    /// Remembers that `command` was refused. Without memory it is not remembered.
    pub(crate) fn add(&self, refused: Refused, command: &[u8]) {
        let mut copy = KVec::new();
        if copy.extend_from_slice(command, GFP_KERNEL).is_err() {
            return;
        }
        let mut entries = self.entries.lock();
        if entries.len() >= KEPT {
            let _ = entries.remove(0);
        }
        let entry = Logged {
            time: clock::read(ClockId::Local),
            refused,
            command: copy,
        };
        let _ = entries.push(entry, GFP_KERNEL);
    }

    /// Writes the text of the file.
    pub(crate) fn write_text(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        self.entries.lock().iter().try_for_each(|entry| {
            Entry {
                time: entry.time,
                place: entry.refused.author,
                error: entry.refused.error,
                command: &entry.command,
                at: entry.refused.at,
            }
            .write_text(out)
        })
    }

    /// Forgets all entries.
    pub(crate) fn clear(&self) {
        self.entries.lock().clear();
    }
}
