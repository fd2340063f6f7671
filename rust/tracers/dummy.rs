// SPDX-License-Identifier: GPL-2.0

//! A tracer for KUnit tests, which counts what is asked of it. All that it needs is this file; a row of
//! [`super::ALL`] would offer it to users.

use super::{
    Sink,
    Tracer, //
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// A dummy tracer.
pub(crate) struct Dummy {
    /// Fails to start.
    pub(crate) fails: bool,
    /// How often it was started, less how often it was stopped.
    pub(crate) running: Atomic<i32>,
}

impl Dummy {
    /// Returns one that does not run.
    pub(crate) const fn new(fails: bool) -> Self {
        Self {
            fails,
            running: Atomic::new(0),
        }
    }
}

impl Tracer for Dummy {
    fn name(&self) -> &'static str {
        "dummy"
    }

    fn start(&self, sink: &Sink<'_>) -> Result {
        if self.fails || sink.buffers.subbuf_size() == 0 {
            return Err(EIO);
        }
        self.running.fetch_add(1, Relaxed);
        Ok(())
    }

    fn stop(&self, _: &Sink<'_>) {
        self.running.fetch_add(-1, Relaxed);
    }
}
