// SPDX-License-Identifier: GPL-2.0

//! A tracer for KUnit tests, which counts how often it is started and stopped. It consists of this
//! file; a row of [`super::ALL`] would offer it to users.

use super::{
    Host,
    Tracer, //
};
use crate::tasks::names;
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// A dummy tracer.
pub(crate) struct DummyTracer {
    /// Makes [`Tracer::start`] fail.
    pub(crate) fails: bool,
    /// Number of starts minus number of stops.
    pub(crate) running: Atomic<i32>,
    /// Whether names of tasks were remembered when it was started.
    pub(crate) named: Atomic<bool>,
}

impl DummyTracer {
    /// Returns a tracer that does not run.
    pub(crate) const fn new(fails: bool) -> Self {
        Self {
            fails,
            running: Atomic::new(0),
            named: Atomic::new(false),
        }
    }
}

impl Tracer for DummyTracer {
    fn name(&self) -> &'static str {
        "dummy"
    }

    fn records(&self) -> bool {
        true
    }

    fn start(&self, host: &Host<'_>) -> Result {
        self.named.store(names::are_remembered(), Relaxed);
        if self.fails || host.sink().buffers().subbuf_size() == 0 {
            return Err(EIO);
        }
        self.running.fetch_add(1, Relaxed);
        Ok(())
    }

    fn stop(&self, _: &Host<'_>) {
        self.running.fetch_add(-1, Relaxed);
    }
}
