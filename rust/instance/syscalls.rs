// SPDX-License-Identifier: GPL-2.0

//! The events of system calls in an instance: what differs from other events, which have a probe
//! each.
//!
//! The lock here is taken inside that of `events`, and is a leaf but for the locks of tracepoints.

use super::Instance;
use crate::{
    events::{
        USER_BYTES,
        USER_MOST, //
    },
    probes::{
        Calls,
        EventFile, //
    }, //
};
use kernel::prelude::*;

/// What an instance knows of system calls.
pub(super) struct Syscalls {
    user_bytes: u64,
    /// Made when the first event is enabled; it goes with the instance.
    calls: Option<KBox<Calls>>,
}

impl Syscalls {
    pub(super) const fn new() -> Self {
        Self {
            user_bytes: USER_BYTES,
            calls: None,
        }
    }

    fn calls(&mut self) -> Result<&Calls> {
        match &mut self.calls {
            Some(calls) => Ok(calls),
            none => Ok(none.insert(Calls::new(self.user_bytes)?)),
        }
    }
}

impl Instance {
    /// Bytes that are recorded of what an argument of a system call points to.
    pub(crate) fn syscall_user_bytes(&self) -> u64 {
        self.syscalls.lock().user_bytes
    }

    /// Changes that. More than the most means the most.
    pub(crate) fn set_syscall_user_bytes(&self, bytes: u64) {
        let mut syscalls = self.syscalls.lock();
        syscalls.user_bytes = bytes.min(USER_MOST);
        if let Some(calls) = &syscalls.calls {
            calls.set_user_bytes(syscalls.user_bytes);
        }
    }

    /// Puts the probe of `file` on its tracepoint. `events` is locked.
    ///
    /// # Safety
    ///
    /// `file` and all it points to stay where they are until [`Instance::detach`] and, after that,
    /// `events::synchronize` have returned; it is not attached.
    pub(super) unsafe fn attach(&self, file: &EventFile) -> Result {
        match file.event().call() {
            // SAFETY: By the contract; the box of `calls` stays as long as the instance, which
            // disables its events before it goes.
            Some(call) => unsafe { self.syscalls.lock().calls()?.attach(call, file) },
            // SAFETY: By the contract.
            None => unsafe { file.event().attach(file.cookie()) },
        }
    }

    /// Takes the probe of `file` off. `events` is locked.
    ///
    /// # Safety
    ///
    /// It was attached by [`Instance::attach`], and not detached since.
    pub(super) unsafe fn detach(&self, file: &EventFile) {
        match (file.event().call(), &self.syscalls.lock().calls) {
            // SAFETY: By the contract.
            (Some(call), Some(calls)) => unsafe { calls.detach(call, file) },
            // SAFETY: By the contract.
            _ => unsafe { file.event().detach(file.cookie()) },
        }
    }
}
