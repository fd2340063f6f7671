// SPDX-License-Identifier: GPL-2.0

//! Which readers sleep in `read` of one open file, and which of them had a descriptor closed
//! meanwhile.
//!
//! Closing a descriptor does not end a `read` that another thread does with it, and the sleeper
//! itself keeps the file open. So `flush`, which runs on each close, ends the sleepers of the
//! program that closes; those of other programs, which got the file by fork, go on. Called by
//! `fs::file` alone.

use crate::kapi::task;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

/// One reader that sleeps.
struct Sleeper {
    /// The file table of its program; only compared.
    owner: usize,
    closed: Atomic<bool>,
}

/// The readers that sleep in one open file.
#[pin_data]
pub(crate) struct FileSleepers {
    #[pin]
    list: Mutex<KVec<Arc<Sleeper>>>,
}

/// A reader in the list; it leaves the list when this is dropped.
#[must_use = "the reader leaves the list at once when the guard is unused"]
pub(crate) struct SleepingReader<'a> {
    sleepers: &'a FileSleepers,
    sleeper: Arc<Sleeper>,
}

impl FileSleepers {
    /// Returns a list without readers.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            list <- new_mutex!(KVec::new()),
        })
    }

    /// Enters the calling task, which is going to sleep.
    pub(crate) fn enter(&self) -> Result<SleepingReader<'_>> {
        let sleeper = Arc::new(
            Sleeper {
                owner: task::file_table(),
                closed: Atomic::new(false),
            },
            GFP_KERNEL,
        )?;
        self.list.lock().push(sleeper.clone(), GFP_KERNEL)?;
        Ok(SleepingReader {
            sleepers: self,
            sleeper,
        })
    }

    /// Ends the sleep of the readers of `owner`. Returns whether there is a reader to be woken up.
    pub(crate) fn close(&self, owner: usize) -> bool {
        let list = self.list.lock();
        let mut any = false;
        for sleeper in list.iter().filter(|sleeper| sleeper.owner == owner) {
            // Relaxed: the wake-up that follows orders it before the sleeper's next look.
            sleeper.closed.store(true, Relaxed);
            any = true;
        }
        any
    }
}

impl SleepingReader<'_> {
    /// Returns whether this program closed a descriptor of the file after the reader entered.
    pub(crate) fn closed(&self) -> bool {
        self.sleeper.closed.load(Relaxed)
    }
}

impl Drop for SleepingReader<'_> {
    fn drop(&mut self) {
        let this = Arc::as_ptr(&self.sleeper);
        let mut list = self.sleepers.list.lock();
        list.retain(|sleeper| !core::ptr::eq(Arc::as_ptr(sleeper), this));
    }
}
