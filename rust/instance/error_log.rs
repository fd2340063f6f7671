// SPDX-License-Identifier: GPL-2.0

//! The last commands that an instance refused, with the reasons: `error_log`.

use crate::{
    kapi::clock,
    text::{
        clock::ClockId,
        error_log::{
            RefusedCommand,
            KEPT, //
        },
        writer::ByteWrite, //
    }, //
};
use core::fmt;
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::Mutex, //
};

/// Why a command was refused.
pub(crate) struct CommandRefusal {
    /// Parser that refused the command, as `error_log` names it.
    pub(crate) author: &'static str,
    /// The text of the error.
    pub(crate) error: &'static str,
    /// Offset of the byte in the command that the caret points to.
    pub(crate) at: usize,
}

struct LoggedError {
    time: u64,
    /// Where it was refused, if that is not always the same.
    place: Option<CString>,
    refused: CommandRefusal,
    command: KVec<u8>,
}

/// The log. Its lock is a leaf lock.
#[pin_data]
pub(crate) struct ErrorLog {
    #[pin]
    entries: Mutex<KVec<LoggedError>>,
}

impl ErrorLog {
    /// Returns an empty log.
    pub(super) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            entries <- new_mutex!(KVec::new()),
        })
    }

    /// Logs that `command` was refused. Without memory for the entry it is not logged.
    pub(crate) fn add(&self, refused: CommandRefusal, command: &[u8]) {
        self.log(None, refused, command);
    }

    /// Logs the same, where `place` is named as the author.
    pub(crate) fn add_of(&self, place: CString, refused: CommandRefusal, command: &[u8]) {
        self.log(Some(place), refused, command);
    }

    fn log(&self, place: Option<CString>, refused: CommandRefusal, command: &[u8]) {
        let mut copy = KVec::new();
        if copy.extend_from_slice(command, GFP_KERNEL).is_err() {
            return;
        }
        let mut entries = self.entries.lock();
        if entries.len() >= KEPT {
            let _ = entries.remove(0);
        }
        let entry = LoggedError {
            time: clock::read(ClockId::Local),
            place,
            refused,
            command: copy,
        };
        let _ = entries.push(entry, GFP_KERNEL);
    }

    /// Writes the text of `error_log`.
    pub(crate) fn write_text(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        self.entries.lock().iter().try_for_each(|entry| {
            RefusedCommand {
                time: entry.time,
                place: entry
                    .place
                    .as_ref()
                    .and_then(|place| place.to_str().ok())
                    .unwrap_or(entry.refused.author),
                error: entry.refused.error,
                command: &entry.command,
                at: entry.refused.at,
            }
            .write_text(out)
        })
    }

    /// Removes all entries.
    pub(crate) fn clear(&self) {
        self.entries.lock().clear();
    }
}
