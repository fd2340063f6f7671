// SPDX-License-Identifier: GPL-2.0

//! Which readers sleep in `read` of one open file, and which of them had a descriptor closed
//! meanwhile.
//!
//! Closing a descriptor does not end a `read` that another thread does with it, and the sleeper
//! itself keeps the file open. So `flush`, which runs on each close, ends the sleepers of the
//! program that closes; those of other programs, which got the file by fork, go on. A reader that has
//! looked for events, and does not sleep yet, learns of it when it enters. Called by `fs::open` alone.

use crate::kapi::task;
use core::ops::Range;
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

/// How many closes are remembered for a reader that is about to sleep. It sleeps all the same if as many
/// of other programs came after that of its own.
const REMEMBERED: u64 = 8;

/// One reader that sleeps.
struct Sleeper {
    /// The file table of its program; only compared.
    owner: usize,
    closed: Atomic<bool>,
}

/// The readers that sleep, and the last closes.
struct SleeperList {
    readers: KVec<Arc<Sleeper>>,
    /// The file tables of the programs that closed the file last, each at the place of its number.
    closers: [usize; REMEMBERED as usize],
}

/// The readers that sleep in one open file.
#[pin_data]
pub(crate) struct FileSleepers {
    #[pin]
    list: Mutex<SleeperList>,
    /// The number of closes. Changes with `list` locked.
    closes: Atomic<u64>,
}

/// How often the file had been closed when a call began.
#[derive(Clone, Copy)]
pub(crate) struct ClosesBefore(u64);

/// A reader in the list; it leaves the list when this is dropped.
#[must_use = "the reader leaves the list at once when the guard is unused"]
pub(crate) struct SleepingReader<'a> {
    sleepers: &'a FileSleepers,
    sleeper: Arc<Sleeper>,
}

/// Returns the place of the close `number`.
fn place_of(number: u64) -> usize {
    (number % REMEMBERED) as usize
}

impl SleeperList {
    /// Returns whether one of the closes `numbers` was of `owner`, as far as they are remembered.
    fn has_close(&self, numbers: Range<u64>, owner: usize) -> bool {
        let first = numbers.start.max(numbers.end.saturating_sub(REMEMBERED));
        let mut places = (first..numbers.end).map(place_of);
        places.any(|place| self.closers.get(place) == Some(&owner))
    }
}

impl FileSleepers {
    /// Returns a list without readers.
    pub(crate) fn new() -> impl PinInit<Self> {
        let list = SleeperList {
            readers: KVec::new(),
            closers: [0; REMEMBERED as usize],
        };
        pin_init!(Self {
            list <- new_mutex!(list),
            closes: Atomic::new(0),
        })
    }

    /// Returns what [`Self::enter`] compares. A call that may sleep begins with it, before its first
    /// look for events.
    pub(crate) fn closes(&self) -> ClosesBefore {
        // Relaxed: a close that this does not count has locked the list before `enter` does, which
        // counts it then, or locks it after that, and finds the reader.
        ClosesBefore(self.closes.load(Relaxed))
    }

    /// Enters the calling task, which is going to sleep. It was closed already if its program closed
    /// the file after `before`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn enter(&self, before: ClosesBefore) -> Result<SleepingReader<'_>> {
        let owner = task::file_table();
        let sleeper = Arc::new(
            Sleeper {
                owner,
                closed: Atomic::new(false),
            },
            GFP_KERNEL,
        )?;
        let mut list = self.list.lock();
        list.readers.push(sleeper.clone(), GFP_KERNEL)?;
        let closes = before.0..self.closes.load(Relaxed);
        if list.has_close(closes, owner) {
            // Relaxed: only this task reads it.
            sleeper.closed.store(true, Relaxed);
        }
        Ok(SleepingReader {
            sleepers: self,
            sleeper,
        })
    }

    /// Ends the sleep of the readers of `owner`. Returns whether there is a reader to be woken up.
    pub(crate) fn close(&self, owner: usize) -> bool {
        let mut list = self.list.lock();
        let number = self.closes.load(Relaxed);
        if let Some(closer) = list.closers.get_mut(place_of(number)) {
            *closer = owner;
        }
        self.closes.store(number.wrapping_add(1), Relaxed);
        let mut any = false;
        for sleeper in list.readers.iter().filter(|sleeper| sleeper.owner == owner) {
            // Relaxed: the wake-up that follows orders it before the sleeper's next look.
            sleeper.closed.store(true, Relaxed);
            any = true;
        }
        any
    }
}

impl SleepingReader<'_> {
    /// Returns whether this program closed a descriptor of the file after the reader's call began.
    pub(crate) fn closed(&self) -> bool {
        self.sleeper.closed.load(Relaxed)
    }
}

impl Drop for SleepingReader<'_> {
    fn drop(&mut self) {
        let this = Arc::as_ptr(&self.sleeper);
        let mut list = self.sleepers.list.lock();
        list.readers
            .retain(|sleeper| !core::ptr::eq(Arc::as_ptr(sleeper), this));
    }
}

#[kunit_tests(rtrace_fs_sleep)]
mod tests {
    use super::*;

    #[test]
    fn a_close_during_the_call_ends_the_sleep() -> Result {
        let own = task::file_table();
        let other = own.wrapping_add(1);
        // The closes before a call, those between its look for events and its sleep, and whether
        // that ends.
        let rows: [(&[usize], &[usize], bool); 7] = [
            (&[], &[], false),
            (&[own], &[], false),
            (&[own], &[other], false),
            (&[], &[own], true),
            (&[other], &[own, other], true),
            (&[], &[other, other, other, own], true),
            (&[own], &[other; 20], false),
        ];
        for (before, during, ends) in rows {
            let sleepers = KBox::pin_init(FileSleepers::new(), GFP_KERNEL)?;
            for owner in before {
                assert!(!sleepers.close(*owner));
            }
            let closes = sleepers.closes();
            for owner in during {
                assert!(!sleepers.close(*owner));
            }
            let sleeper = sleepers.enter(closes)?;
            assert_eq!(sleeper.closed(), ends);
            assert!(!sleepers.close(other));
            assert_eq!(sleeper.closed(), ends);
            assert!(sleepers.close(own) && sleeper.closed());
        }
        Ok(())
    }
}
