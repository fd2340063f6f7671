// SPDX-License-Identifier: GPL-2.0

//! The probes of kprobes and kretprobes. The kernel has them registered while the definition exists.
//!
//! [`rtrace_kprobe_hit`] runs in any context, NMI included: no lock, no allocation, no panic.

use super::{
    hit_probe::{
        HitProbe,
        ProbeHook, //
    },
    registers::{
        self,
        CallRegisters, //
    }, //
};
use crate::{
    fetch::{
        run::WORDS,
        step::MOST_KEPT, //
    },
    kapi::{
        kprobe::{
            KernelProbe,
            MOST_WORDS, //
        },
        percpu::CpuPin, //
    }, //
};
use core::ptr;
use kernel::prelude::*;

/// The probe of a definition.
pub(super) type Kprobe = HitProbe<KernelProbe>;

impl ProbeHook for KernelProbe {
    const OWN_DEPTH: u32 = 1;

    unsafe fn enable(&mut self, probe: &Kprobe) -> Result {
        // SAFETY: The function expects a `Kprobe`, which the caller promises to stay.
        unsafe { KernelProbe::enable(self, ptr::from_ref(probe).cast()) }
    }

    fn disable(&mut self) {
        KernelProbe::disable(self);
    }

    fn missed(&self) -> Option<u64> {
        Some(KernelProbe::missed(self))
    }
}

/// Records a hit of a probe. Any context.
///
/// # Safety
///
/// - `data` is the `Kprobe` that the probe was enabled with.
/// - `regs` is a `struct pt_regs` that does not change meanwhile; preemption is disabled.
/// - For a return `kept` has what [`rtrace_kprobe_begin`] has written, or is null.
#[no_mangle]
unsafe extern "C" fn rtrace_kprobe_hit(
    data: *const c_void,
    regs: *const c_void,
    returned_to: usize,
    kept: *const u64,
) {
    // SAFETY: The caller promises the `Kprobe` of the probe, which goes after the probe.
    let probe = unsafe { &*data.cast::<Kprobe>() };
    // SAFETY: The caller promises the registers, which are as many words on this machine.
    let words = unsafe { &*regs.cast::<[u64; WORDS]>() };
    // SAFETY: The caller promises as many words, or null, which do not change meanwhile.
    let kept = unsafe { registers::kept(kept, probe.kept()) };
    // SAFETY: The caller promises that preemption is disabled.
    let pin = unsafe { CpuPin::assume() };
    let place = (probe.address(), returned_to as u64);
    probe.hit(&pin, &CallRegisters { words, kept }, place);
}

/// Keeps parameters of a call until it returns. Any context.
///
/// # Safety
///
/// - `data` is the `Kprobe` that the probe was enabled with.
/// - `regs` is a `struct pt_regs` that does not change meanwhile.
/// - There is room for [`MOST_WORDS`] words at `kept`.
#[no_mangle]
unsafe extern "C" fn rtrace_kprobe_begin(data: *const c_void, regs: *const c_void, kept: *mut u64) {
    // SAFETY: The caller promises the `Kprobe` of the probe, which goes after the probe.
    let probe = unsafe { &*data.cast::<Kprobe>() };
    // SAFETY: The caller promises the registers, which are as many words on this machine.
    let words = unsafe { &*regs.cast::<[u64; WORDS]>() };
    const { assert!(MOST_KEPT <= MOST_WORDS) };
    // SAFETY: The caller promises room for as many words as can be kept.
    unsafe { registers::keep(words, probe.kept(), kept) };
}
