// SPDX-License-Identifier: GPL-2.0

//! Where events come in: what a probe in C calls, and what Rust calls to record.
//!
//! The functions here run in every context, NMI included, with preemption disabled. They take no
//! lock, allocate nothing and cannot panic.

use crate::{
    instance::Buffers,
    kapi::{
        c,
        clock,
        context,
        events::Event,
        percpu::{
            CpuPin,
            PerCpu, //
        },
        port::Ring,
        waker::Waker, //
    },
    ring::writer::Reserved,
    text::clock::ClockId, //
};
use core::{
    ptr::{
        null_mut,
        NonNull, //
    },
    sync::atomic::Ordering, //
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// Bytes of the common fields that every record begins with.
const COMMON: usize = 8;

/// Most bytes of a record.
pub(crate) const MOST_PAYLOAD: usize = 4072;

/// How often the probe of a tracepoint has disabled preemption when it records.
const OWN_PROBE: u64 = 1;
