// SPDX-License-Identifier: GPL-2.0

//! The one reader of `trace_pipe`.

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
        // What would be recorded meanwhile would be lost.
        if selftest::ALWAYS && !self.inst.tracing_on() {
            self.inst.buffers().selftest(self.cpus);
        }
    }
}

impl Instance {
    /// Becomes the reader of `trace_pipe` for `cpus`.
    ///
    /// # Errors
    ///
    /// `EBUSY` when there is one for any of them.
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
