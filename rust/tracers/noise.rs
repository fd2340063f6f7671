// SPDX-License-Identifier: GPL-2.0

//! What the tracepoints of interrupts, soft interrupts and task switches call while `osnoise` measures: each is
//! accounted for, and an event.
//!
//! Any context; no lock, no allocation, no panic.

use crate::{
    kapi::noise::{
        here,
        now, //
    },
    latency::noise::NoiseKind,
    sources::osnoise, //
};
use core::slice;
use kernel::prelude::*;

/// An interrupt begins.
#[no_mangle]
extern "C" fn rtrace_noise_irq_enter() {
    here(|noise| noise.enter(NoiseKind::Irq, now));
}

/// An interrupt ends.
///
/// # Safety
///
/// `name` is its name, of `len` bytes.
#[no_mangle]
unsafe extern "C" fn rtrace_noise_irq_leave(vector: i32, name: *const c_char, len: usize) {
    here(|noise| {
        if let Some(noise) = noise.leave(NoiseKind::Irq, now) {
            // SAFETY: The caller promises so many bytes, which stay for this call.
            let name = unsafe { slice::from_raw_parts(name.cast(), len) };
            osnoise::irq_noise(vector, name, noise);
        }
    });
}

/// A soft interrupt begins.
#[no_mangle]
extern "C" fn rtrace_noise_softirq_enter() {
    here(|noise| noise.enter(NoiseKind::SoftIrq, now));
}

/// A soft interrupt ends.
#[no_mangle]
extern "C" fn rtrace_noise_softirq_leave(vector: u32) {
    here(|noise| {
        if let Some(noise) = noise.leave(NoiseKind::SoftIrq, now) {
            osnoise::softirq_noise(vector, noise);
        }
    });
}

/// The CPU goes from the current task, whose pid is `prev`, to that with the pid `next`.
#[no_mangle]
extern "C" fn rtrace_noise_switch(prev: u32, next: u32) {
    here(|noise| {
        if let Some(noise) = noise.switch(prev, next, now) {
            osnoise::thread_noise(prev, noise);
        }
    });
}
