// SPDX-License-Identifier: GPL-2.0

//! Ensures that `trace_pipe` has one reader at a time.

use super::Instance;
use crate::buffers::{
    selftest,
    CpuSel, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The right to be the only reader of `trace_pipe` for some CPUs.
pub(crate) struct PipeToken {
    inst: Arc<Instance>,
    cpus: CpuSel,
}

impl Drop for PipeToken {
    fn drop(&mut self) {
        let mut pipes = self.inst.pipes.lock();
        if let Some(at) = pipes.iter().position(|cpus| *cpus == self.cpus) {
            let _ = pipes.remove(at);
        }
        drop(pipes);
        // Only while recording is off: events that occur during the self-test would be lost.
        if selftest::ALWAYS && !self.inst.tracing_on() {
            self.inst.buffers().selftest(self.cpus);
        }
    }
}

impl Instance {
    /// Makes the caller the reader of `trace_pipe` for `cpus`.
    ///
    /// # Errors
    ///
    /// `EBUSY` if any of them has a reader, `ENOMEM`.
    pub(crate) fn pipe_open(self: &Arc<Self>, cpus: CpuSel) -> Result<PipeToken> {
        let mut pipes = self.pipes.lock();
        let clash = |other: &CpuSel| *other == CpuSel::All || cpus == CpuSel::All || *other == cpus;
        if pipes.iter().any(clash) {
            return Err(EBUSY);
        }
        pipes.push(cpus, GFP_KERNEL)?;
        drop(pipes);
        Ok(PipeToken {
            inst: self.clone(),
            cpus,
        })
    }
}
