// SPDX-License-Identifier: GPL-2.0

//! Readers that want nothing to be recorded while they look.
//!
//! Under the option `pause-on-trace` an open `trace` keeps a [`Pause`]. `tracing_on` says nothing of it,
//! and what is switched there holds when the last reader has gone.

use super::Instance;
use crate::ring::cpu::DISABLE_PAUSE;
use kernel::sync::Arc;

/// While it exists, nothing is recorded.
pub(crate) struct Pause(Arc<Instance>);

impl Instance {
    /// Stops recording until the result is dropped. Writers that have begun end what they do.
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
