// SPDX-License-Identifier: GPL-2.0

//! One call of `poll`: the polled file and the caller's table, in one value.
//!
//! `fs::file` makes it; the instance adds the wait queues of its buffers to it.

use kernel::{
    fs::File,
    sync::poll::{
        PollCondVar,
        PollTable, //
    }, //
};

/// A call of `poll`, `select` or `epoll` for one file.
pub(crate) struct Poller<'a> {
    file: &'a File,
    table: PollTable<'a>,
}

impl<'a> Poller<'a> {
    /// Returns the call for `file` with the caller's `table`.
    pub(crate) fn new(file: &'a File, table: PollTable<'a>) -> Self {
        Self { file, table }
    }

    /// Lets a wake-up of `queue` end the caller's sleep. Called before the caller looks whether
    /// there is something to read; otherwise a wake-up between the two would be lost.
    pub(crate) fn watch(&self, queue: &PollCondVar) {
        self.table.register_wait(self.file, queue);
    }
}
