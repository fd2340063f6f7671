// SPDX-License-Identifier: GPL-2.0

//! What the tracepoints of interrupts, soft interrupts and task switches call while `osnoise` measures: each is
//! accounted for, and an event.
//!
//! Any context; no lock, no allocation, no panic.

use crate::{
    kapi::noise::{
        here,
        time, //
    },
    latency::noise::NoiseKind,
    sources::osnoise, //
};
use core::slice;
use kernel::{
    bindings,
    prelude::*, //
};

/// An interrupt begins.
#[no_mangle]
extern "C" fn rtrace_noise_irq_enter() {
    here(|pin, noise| noise.enter(NoiseKind::Irq, || time(pin)));
}

/// An interrupt ends.
///
/// # Safety
///
/// `name` is its name, which ends with a NUL.
#[no_mangle]
unsafe extern "C" fn rtrace_noise_irq_leave(vector: i32, name: *const c_char) {
    here(|pin, noise| {
        let noise = noise.leave(NoiseKind::Irq, || time(pin));
        if let Some(noise) = noise.filter(|_| osnoise::has_irq_noise()) {
            // SAFETY: The caller promises a string.
            let len = unsafe { bindings::strlen(name) };
            // SAFETY: It has so many bytes, which stay for this call.
            let name = unsafe { slice::from_raw_parts(name.cast(), len) };
            osnoise::irq_noise(vector, name, noise);
        }
    });
}

/// A soft interrupt begins.
#[no_mangle]
extern "C" fn rtrace_noise_softirq_enter() {
    here(|pin, noise| noise.enter(NoiseKind::SoftIrq, || time(pin)));
}

/// A soft interrupt ends.
#[no_mangle]
extern "C" fn rtrace_noise_softirq_leave(vector: u32) {
    here(|pin, noise| {
        if let Some(noise) = noise.leave(NoiseKind::SoftIrq, || time(pin)) {
            osnoise::softirq_noise(vector, noise);
        }
    });
}

/// The CPU goes from the current task, whose pid is `prev`, to that with the pid `next`.
#[no_mangle]
extern "C" fn rtrace_noise_switch(prev: u32, next: u32) {
    here(|pin, noise| {
        if let Some(noise) = noise.switch(prev, next, || time(pin)) {
            osnoise::thread_noise(prev, noise);
        }
    });
}
