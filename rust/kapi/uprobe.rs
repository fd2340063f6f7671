// SPDX-License-Identifier: GPL-2.0

//! Probes at instructions of programs, and at returns of their functions.
//!
//! The kernel calls them in the task that is hit, which may sleep. It waits for calls of all probes together: one
//! wait serves all that were unregistered before.

use super::{
    c,
    grace::SharedWait, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    bindings,
    error::to_result,
    prelude::*,
    str::CString, //
};

/// The file of a probe, opened to be read.
///
/// # Invariants
///
/// `rt_uprobe_file` returned the pointer.
pub(crate) struct ProbedFile(NonNull<bindings::file>);

impl ProbedFile {
    /// Fills `room` with what the file has from `at` on. Returns false if it ends before, cannot be read, or the
    /// current task is to be killed. Process context.
    pub(crate) fn read(&self, at: u64, room: &mut [u8]) -> bool {
        let Ok(at) = i64::try_from(at) else {
            return false;
        };
        // SAFETY: The file is open (invariant); the function writes as many bytes as there is room for.
        unsafe { c::rt_uprobe_read(self.0.as_ptr(), at, room.as_mut_ptr().cast(), room.len()) }
    }
}

impl Drop for ProbedFile {
    fn drop(&mut self) {
        // SAFETY: The file is open (invariant), and this is the last use.
        unsafe { c::rt_uprobe_close(self.0.as_ptr()) };
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
/// `rt_uprobe_open` returned the pointer, and the probe is registered if `is_registered` is set. Unless `left` has
/// its number among those that were unregistered, the kernel does not use it when it is not registered.
pub(crate) struct UserProbe {
    probe: NonNull<c::rt_uprobe>,
    is_registered: bool,
    left: Option<u64>,
}

// SAFETY: No task owns a probe, and it is changed through `&mut self` alone.
unsafe impl Send for UserProbe {}

impl UserProbe {
    /// Returns one of the file at `path`, as the current task sees it, that is not registered. Process context.
    ///
    /// # Errors
    ///
    /// What the kernel says of the path, and `ENOMEM`.
    pub(crate) fn open(path: &str) -> Result<Self> {
        let path = CString::try_from_fmt(fmt!("{path}"))?;
        let mut probe = ptr::null_mut();
        // SAFETY: The path is a terminated string, which the function only reads; `probe` is ours.
        to_result(unsafe { c::rt_uprobe_open(path.as_char_ptr(), &mut probe) })?;
        // INVARIANT: It was opened just now.
        Ok(Self {
            probe: NonNull::new(probe).ok_or(EINVAL)?,
            is_registered: false,
            left: None,
        })
    }

    /// Returns whether it is a regular file.
    pub(crate) fn is_regular(&self) -> bool {
        // SAFETY: The probe is open (invariant).
        unsafe { c::rt_uprobe_is_regular(self.probe.as_ptr()) }
    }

    /// Returns a number that no other file has while this is there.
    pub(crate) fn file(&self) -> u64 {
        // SAFETY: The probe is open (invariant).
        unsafe { c::rt_uprobe_inode(self.probe.as_ptr()) }.addr() as u64
    }

    /// Returns the file, to be read; `None` if the current task must not read it. Process context.
    pub(crate) fn to_read(&self) -> Option<ProbedFile> {
        // SAFETY: The probe is open (invariant).
        let file = unsafe { c::rt_uprobe_file(self.probe.as_ptr()) };
        // INVARIANT: It was returned just now.
        NonNull::new(file).map(ProbedFile)
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
        // SAFETY: The probe is not registered, nor does the kernel use it since `release`. The caller promises what
        // `data` is.
        to_result(unsafe { c::rt_uprobe_register(probe, offset, counter, returns, data) })?;
        // INVARIANT: It was registered just now.
        self.is_registered = true;
        Ok(())
    }

    /// Has it be called no more. A call may still run until this is dropped. Sleeps.
    pub(crate) fn unregister(&mut self) {
        if core::mem::take(&mut self.is_registered) {
            // SAFETY: The probe is registered (invariant).
            unsafe { c::rt_uprobe_unregister(self.probe.as_ptr()) };
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
    fn drop(&mut self) {
        self.release();
        // SAFETY: It was opened, is not registered, and this is the last use (invariant).
        unsafe { c::rt_uprobe_put(self.probe.as_ptr()) };
    }
}
