// SPDX-License-Identifier: GPL-2.0

//! The instance whose latencies a tracer measures, as its probes find it: one at a time, from the start of the tracer
//! until no probe asks for it any more.

use super::Host;
use crate::{
    event::{
        context::Base,
        format, //
    },
    hooks::FunctionFilter,
    kapi::{
        kept::KeptValue,
        percpu::CpuPin,
        stack, //
    },
    latency::wakeup::counts,
    probes::Sink,
    text::stack::{
        fill,
        HEAD, //
    }, //
};
use core::ptr;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// An instance that has a tracer of latencies. Its banks are exchanged while this exists.
pub(super) struct LatencyInstance {
    sink: KeptValue<Sink>,
    functions: Arc<FunctionFilter>,
}

impl LatencyInstance {
    /// Returns that of `host`, which has had no latency yet.
    ///
    /// # Errors
    ///
    /// `EBUSY` while a ring is mapped, `ENOMEM`.
    pub(super) fn of(host: &Host<'_>) -> Result<Self> {
        stack::prepare()?;
        host.sink().buffers().allow_exchanges()?;
        host.sink().set_max_latency(0);
        Ok(Self {
            sink: host.sink().clone(),
            functions: host.functions().clone(),
        })
    }

    /// Returns where it records. Any context.
    #[inline(always)]
    pub(super) fn sink(&self) -> &Sink {
        &self.sink
    }

    /// Returns whether it is the one that records into `sink`. Any context.
    pub(super) fn records_into(&self, sink: &Sink) -> bool {
        ptr::eq(self.sink(), sink)
    }

    /// Returns the threshold, in nanoseconds: that of the instance, or else that of the top one. 0: there is none.
    fn threshold(&self) -> u64 {
        match self.functions.rules().threshold() {
            0 => super::top_threshold(),
            own => own,
        }
    }

    /// Returns whether a latency, in the unit of the clock, is one to be told of: one that reaches the threshold, where there
    /// is one, or else one above all before it. Any context.
    pub(super) fn counts(&self, latency: u64) -> bool {
        counts(latency, self.threshold(), self.sink.max_latency())
    }
}

impl Drop for LatencyInstance {
    fn drop(&mut self) {
        self.sink.buffers().forbid_exchanges();
    }
}

/// Records `callers`, the innermost first. What is refused is in the counters of the buffer.
pub(super) fn put_callers(pin: &CpuPin, sink: &Sink, callers: &[u64]) {
    let len = HEAD.wrapping_add(callers.len().wrapping_mul(8));
    // The pin disables preemption once.
    let base = Base::new(format::KERNEL_STACK.id, 1);
    let _ = sink.record(pin, base, len, |rest| {
        fill(rest, callers.len() as u32, callers)
    });
}
