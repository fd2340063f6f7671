// SPDX-License-Identifier: GPL-2.0

//! Probes at instructions of programs, and at returns of their functions.
//!
//! The kernel calls them in the task that is hit, which may sleep. It waits for calls of all probes together: one
//! wait serves all that were unregistered before.

use super::{
    c,
    foreign::{
        FinalRef,
        Owned,
        Release, //
        TaskSharedObject,
    },
    grace::SharedWait,
    open_file::OwnFile, //
};
use kernel::{
    error::to_result,
    prelude::*,
    str::CString, //
};

/// The file of a probe, opened to be read.
pub(crate) struct ProbedFile(OwnFile);

impl ProbedFile {
    /// Fills `room` with what the file has from `at` on. Returns false if it ends before, cannot be read, or the
    /// current task is to be killed. Process context.
    pub(crate) fn read(&self, at: u64, room: &mut [u8]) -> bool {
        let Ok(at) = i64::try_from(at) else {
            return false;
        };
        c::rt_uprobe_read(&self.0, at, room.into())
    }
}

/// Whether this kernel has such probes.
pub(crate) const IS_THERE: bool = cfg!(CONFIG_UPROBES);

/// Those that were unregistered.
static UNREGISTERED: SharedWait = SharedWait::new();

/// A probe of a file; unregistered when this is dropped, which sleeps.
///
/// # Invariants
///
/// The probe is registered if `is_registered` is set. Unless `left` has its number among those that were unregistered,
/// the kernel does not use it when it is not registered.
pub(crate) struct UserProbe {
    probe: Owned<c::rt_uprobe>,
    is_registered: bool,
    left: Option<u64>,
}

impl Release for c::rt_uprobe {
    fn release(ending: FinalRef<Self>) {
        c::rt_uprobe_put(ending);
    }
}

// SAFETY: No task owns a probe, which is only read by what takes a reference.
unsafe impl TaskSharedObject for c::rt_uprobe {}

impl UserProbe {
    /// Returns one of the file at `path`, as the current task sees it, that is not registered. Process context.
    ///
    /// # Errors
    ///
    /// What the kernel says of the path, and `ENOMEM`.
    pub(crate) fn open(path: &str) -> Result<Self> {
        let path = CString::try_from_fmt(fmt!("{path}"))?;
        let mut probe = None;
        to_result(c::rt_uprobe_open((&*path).into(), &mut probe))?;
        // INVARIANT: It was opened just now.
        Ok(Self {
            probe: probe.ok_or(EINVAL)?,
            is_registered: false,
            left: None,
        })
    }

    /// Returns whether it is a regular file.
    pub(crate) fn is_regular(&self) -> bool {
        c::rt_uprobe_is_regular(&self.probe)
    }

    /// Returns a number that no other file has while this is there.
    pub(crate) fn file(&self) -> u64 {
        c::rt_uprobe_inode(&self.probe).addr() as u64
    }

    /// Returns the file, to be read; `None` if the current task must not read it. Process context.
    pub(crate) fn to_read(&self) -> Option<ProbedFile> {
        c::rt_uprobe_file(&self.probe).map(ProbedFile)
    }

    /// Has `rtrace_user_hit` be called with `data` at the instruction at `offset` of the file, or at returns of the
    /// function that begins there. Meanwhile processes have the word at `counter`, if that is not 0, one more.
    ///
    /// # Errors
    ///
    /// What the kernel says of the place, and `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `data` is what that function expects until this was dropped.
    pub(crate) unsafe fn register(
        &mut self,
        (offset, counter): (u64, u64),
        returns: bool,
        data: *const c_void,
    ) -> Result {
        self.release();
        let (offset, counter) = (offset as i64, counter as i64);
        let probe = self.probe.as_ptr();
        // SAFETY: The probe is not registered, nor does the kernel use it since `release`, as is so again before it
        // goes, in `drop`. The caller promises what `data` is.
        to_result(unsafe { c::rt_uprobe_register(probe, offset, counter, returns, data) })?;
        // INVARIANT: It was registered just now.
        self.is_registered = true;
        Ok(())
    }

    /// Has it be called no more. A call may still run until this is dropped. Sleeps.
    pub(crate) fn unregister(&mut self) {
        if core::mem::take(&mut self.is_registered) {
            c::rt_uprobe_unregister(self.probe.alone());
            // INVARIANT: That is its number.
            self.left = Some(UNREGISTERED.leave());
        }
    }

    /// Unregisters it and waits until no call of it runs.
    fn release(&mut self) {
        self.unregister();
        if let Some(number) = self.left.take() {
            // Without a lock that a call of a probe takes.
            UNREGISTERED.pass(number, || {
                c::rt_uprobe_wait();
            });
        }
    }
}

impl Drop for UserProbe {
    /// Has nothing use it before it goes.
    fn drop(&mut self) {
        self.release();
    }
}
