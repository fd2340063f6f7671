// SPDX-License-Identifier: GPL-2.0

//! Pauses recording while a reader looks.
//!
//! With the option `pause-on-trace`, an open `trace` holds a [`Pause`]. `tracing_on` does not show
//! it; what is written to `tracing_on` meanwhile takes effect when the last such reader has closed
//! the file.

use super::Instance;
use crate::ring::cpu::DISABLE_PAUSE;
use kernel::sync::Arc;

/// Keeps recording paused while it exists.
pub(crate) struct Pause(Arc<Instance>);

impl Instance {
    /// Pauses recording until the result is dropped. Writers that have already reserved commit
    /// their records.
    pub(crate) fn pause(self: &Arc<Self>) -> Pause {
        let mut pauses = self.pauses.lock();
        *pauses = pauses.saturating_add(1);
        self.buffers()
            .each(|ring| ring.set_disabled(DISABLE_PAUSE, true));
        drop(pauses);
        Pause(self.clone())
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        let mut pauses = self.0.pauses.lock();
        *pauses = pauses.saturating_sub(1);
        if *pauses == 0 {
            self.0
                .buffers()
                .each(|ring| ring.set_disabled(DISABLE_PAUSE, false));
        }
    }
}
