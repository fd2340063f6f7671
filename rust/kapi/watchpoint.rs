// SPDX-License-Identifier: GPL-2.0

//! Watchpoints on the kernel's memory: each takes a debug register of every CPU.

use super::{
    c,
    foreign::{
        FinalRef,
        Owned,
        Release, //
        TaskSharedObject,
    }, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// Bytes that are watched.
#[derive(Clone, Copy)]
pub(crate) struct WatchedBytes {
    pub(crate) address: u64,
    /// 1, 2, 4 or 8 of them.
    pub(crate) len: u8,
    /// Whether only what writes there is an access.
    pub(crate) only_writes: bool,
}

impl WatchedBytes {
    /// Returns whether some of them are this module's.
    pub(crate) fn are_own(&self) -> bool {
        c::rt_watch_is_own(self.address as usize, self.len.into())
    }
}

/// A watchpoint; cleared when this is dropped, which sleeps.
///
/// # Invariants
///
/// The watchpoint is set if `is_set` says so.
pub(crate) struct Watchpoint {
    watch: Owned<c::rt_watch>,
    is_set: bool,
}

impl Release for c::rt_watch {
    fn release(ending: FinalRef<Self>) {
        c::rt_watch_put(ending);
    }
}

// SAFETY: No task owns a watchpoint, and nothing takes a reference.
unsafe impl TaskSharedObject for c::rt_watch {}

impl Watchpoint {
    /// Returns one that is not set. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        // INVARIANT: It is not set.
        Ok(Self {
            watch: c::rt_watch_get().ok_or(ENOMEM)?,
            is_set: false,
        })
    }

    /// Has `rtrace_watch_hit` be called with `data` after each access to `bytes`, by any CPU. Sleeps.
    ///
    /// # Errors
    ///
    /// `ENOSPC` when a CPU has no debug register left, `EINVAL` for bytes that the kernel's own entry code uses,
    /// `ENOMEM`: no CPU calls it.
    ///
    /// # Safety
    ///
    /// `data` is what that function expects until [`Self::clear`] has returned, or until this was dropped.
    pub(crate) unsafe fn set(&mut self, bytes: WatchedBytes, data: *const c_void) -> Result {
        self.clear();
        let WatchedBytes {
            address,
            len,
            only_writes,
        } = bytes;
        let watch = self.watch.as_ptr();
        // SAFETY: It is not set, as `clear` has seen to, and does so again before it goes, in `drop`. The caller promises
        // what `data` is.
        to_result(unsafe {
            c::rt_watch_set(watch, address as usize, len.into(), only_writes, data)
        })?;
        // INVARIANT: It was set just now.
        self.is_set = true;
        Ok(())
    }

    /// Has it be called no more; no call runs when this returns. Sleeps.
    pub(crate) fn clear(&mut self) {
        // INVARIANT: It is cleared if it was set.
        if core::mem::take(&mut self.is_set) {
            c::rt_watch_clear(self.watch.alone());
        }
    }
}

impl Drop for Watchpoint {
    /// Has it be called no more before it is given back.
    fn drop(&mut self) {
        self.clear();
    }
}
