// SPDX-License-Identifier: GPL-2.0

//! What C does when CPUs come and go: threads on each, watchpoints on each, and what is known of those that are dead.

use super::c;
use kernel::{
    error::to_result,
    prelude::*, //
};

/// Has CPUs tell of coming and going, while this lives.
pub(crate) struct CpuWatch(());

impl CpuWatch {
    /// Begins to watch. One at a time.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `ENOSPC`.
    pub(crate) fn begin() -> Result<Self> {
        to_result(c::rt_threads_init())?;
        to_result(c::rt_watches_init()).inspect_err(|_| c::rt_threads_exit())?;
        to_result(c::rt_dead_cpus_init()).inspect_err(|_| {
            c::rt_watches_exit();
            c::rt_threads_exit();
        })?;
        Ok(Self(()))
    }
}

impl Drop for CpuWatch {
    fn drop(&mut self) {
        c::rt_dead_cpus_exit();
        c::rt_watches_exit();
        c::rt_threads_exit();
    }
}
