// SPDX-License-Identifier: GPL-2.0

//! What the tracepoints of interrupts, soft interrupts and task switches call while `osnoise` measures: each is
//! accounted for, and an event.
//!
//! Each has a fast path, which keeps nothing for what is rare: that the clock has no time at hand, and that the event
//! is recorded.
//!
//! Preemption is disabled: by the interrupt, the soft interrupt or the scheduler. No lock, no allocation, no panic.

#![allow(improper_ctypes_definitions, reason = "see `probes::fastcall`")]

use crate::{
    kapi::{
        foreign::CText,
        noise::{
            this,
            time,
            time_at_hand, //
        },
        percpu::PinRef, //
    },
    latency::noise::{
        Noise,
        NoiseKind, //
    },
    sources::osnoise, //
};
use core::convert::Infallible;

/// A section of `kind` begins.
#[inline(always)]
fn enter(kind: NoiseKind, pin: PinRef<'_>) {
    let Some(noise) = this(pin.pin()) else {
        return;
    };
    if noise.enter(kind, || time_at_hand(pin.pin())).is_err() {
        enter_slowly(kind, pin);
    }
}

/// As [`enter`].
#[cold]
#[inline(never)]
fn enter_slowly(kind: NoiseKind, pin: PinRef<'_>) {
    if let Some(noise) = this(pin.pin()) {
        let Ok(()) = noise.enter::<Infallible>(kind, || Ok(time(pin.pin())));
    }
}

/// A section of `kind` ends. Returns what it took, if it is told of.
#[inline(never)]
fn leave_slowly(kind: NoiseKind, pin: PinRef<'_>) -> Option<Noise> {
    let Ok(left) = this(pin.pin())?.leave::<Infallible>(kind, || Ok(time(pin.pin())));
    left
}

/// An interrupt begins.
#[no_mangle]
extern "C" fn rtrace_noise_irq_enter(pin: PinRef<'_>) {
    enter(NoiseKind::Irq, pin);
}

/// The interrupt of this name ends.
#[no_mangle]
extern "C" fn rtrace_noise_irq_leave(vector: i32, name: CText<'_>, pin: PinRef<'_>) {
    let Some(noise) = this(pin.pin()) else {
        return;
    };
    match noise.leave(NoiseKind::Irq, || time_at_hand(pin.pin())) {
        Err(_) => irq_leave_slowly(vector, name, pin),
        Ok(Some(noise)) if osnoise::has_irq_noise() => tell_irq(vector, name, noise),
        Ok(_) => {}
    }
}

/// As [`rtrace_noise_irq_leave`].
#[cold]
#[inline(never)]
fn irq_leave_slowly(vector: i32, name: CText<'_>, pin: PinRef<'_>) {
    if let Some(noise) = leave_slowly(NoiseKind::Irq, pin) {
        tell_irq(vector, name, noise);
    }
}

/// Tells of an interrupt. Not inline: the length of the name is not asked for before it is of interest.
#[inline(never)]
fn tell_irq(vector: i32, name: CText<'_>, noise: Noise) {
    osnoise::irq_noise(vector, name.bytes(), noise);
}

/// A soft interrupt begins.
#[no_mangle]
extern "C" fn rtrace_noise_softirq_enter(pin: PinRef<'_>) {
    enter(NoiseKind::SoftIrq, pin);
}

/// A soft interrupt ends.
#[no_mangle]
extern "C" fn rtrace_noise_softirq_leave(vector: u32, pin: PinRef<'_>) {
    let Some(noise) = this(pin.pin()) else {
        return;
    };
    match noise.leave(NoiseKind::SoftIrq, || time_at_hand(pin.pin())) {
        Err(_) => softirq_leave_slowly(vector, pin),
        Ok(Some(noise)) => osnoise::softirq_noise(vector, noise),
        Ok(None) => {}
    }
}

/// As [`rtrace_noise_softirq_leave`].
#[cold]
#[inline(never)]
fn softirq_leave_slowly(vector: u32, pin: PinRef<'_>) {
    if let Some(noise) = leave_slowly(NoiseKind::SoftIrq, pin) {
        osnoise::softirq_noise(vector, noise);
    }
}

/// The CPU goes from the current task, whose pid is `prev`, to that with the pid `next`.
#[no_mangle]
extern "C" fn rtrace_noise_switch(prev: u32, next: u32, pin: PinRef<'_>) {
    let Some(noise) = this(pin.pin()) else {
        return;
    };
    match noise.switch(prev, next, || time_at_hand(pin.pin())) {
        Err(_) => switch_slowly(prev, next, pin),
        Ok(Some(noise)) if osnoise::has_thread_noise() => osnoise::thread_noise(prev, noise),
        Ok(_) => {}
    }
}

/// As [`rtrace_noise_switch`].
#[cold]
#[inline(never)]
fn switch_slowly(prev: u32, next: u32, pin: PinRef<'_>) {
    let Some(noise) = this(pin.pin()) else {
        return;
    };
    let Ok(left) = noise.switch::<Infallible>(prev, next, || Ok(time(pin.pin())));
    if let Some(noise) = left {
        osnoise::thread_noise(prev, noise);
    }
}
