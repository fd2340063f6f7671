// SPDX-License-Identifier: GPL-2.0

//! The tracer of an instance: `current_tracer`.

use super::Instance;
use crate::tracers::{
    Sink,
    Tracer,
    NOP, //
};
use kernel::prelude::*;

impl Instance {
    /// Returns the name of the present tracer.
    pub(crate) fn tracer_name(&self) -> &'static str {
        self.tracer.lock().name()
    }

    /// Stops the present tracer and starts `tracer`.
    ///
    /// # Errors
    ///
    /// Those of [`Tracer::start`]; the tracer is `nop` then.
    pub(crate) fn set_tracer(&self, tracer: &'static dyn Tracer) -> Result {
        let sink = Sink {
            buffers: self.buffers(),
        };
        let mut present = self.tracer.lock();
        if present.name() == tracer.name() {
            return Ok(());
        }
        present.stop(&sink);
        *present = NOP;
        tracer.start(&sink)?;
        *present = tracer;
        Ok(())
    }
}
