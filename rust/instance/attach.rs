// SPDX-License-Identifier: GPL-2.0

//! Attaches the events of an instance to their sources, and tells sources about the instance.

use super::Instance;
use crate::{
    events::Recipient,
    probes::EventFile,
    sources::{
        self,
        USER_MOST, //
    }, //
};
use kernel::{
    prelude::*,
    sync::atomic::Relaxed, //
};

impl Instance {
    /// Returns how many bytes are recorded of each user buffer that an argument of a system call
    /// points to.
    pub(crate) fn syscall_user_bytes(&self) -> u64 {
        self.user_bytes.load(Relaxed)
    }

    /// Sets that number of bytes, limited to [`USER_MOST`].
    pub(crate) fn set_syscall_user_bytes(&self, bytes: u64) {
        // An event that is being enabled either reads the new number or is told about it.
        let _events = self.events.lock();
        self.user_bytes.store(bytes.min(USER_MOST), Relaxed);
        sources::set_user_bytes(self.recipient(), bytes.min(USER_MOST));
    }

    /// Returns the name by which sources know the instance.
    pub(crate) fn recipient(&self) -> Recipient {
        Recipient::at(&*self.sink)
    }

    /// Has the source of its event put the probe of `file` on. `events` is locked.
    ///
    /// # Errors
    ///
    /// Those of `Source::attach`.
    pub(super) fn attach(&self, file: &EventFile) -> Result {
        let source = file.event().source();
        source.attach(file.attachment(self.syscall_user_bytes()))
    }

    /// Has it take the probe of `file` off. `events` is locked.
    pub(super) fn detach(&self, file: &EventFile) {
        let source = file.event().source();
        source.detach(file.attachment(self.syscall_user_bytes()));
    }
}
