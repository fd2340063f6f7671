// SPDX-License-Identifier: GPL-2.0

//! The probes of kprobes and kretprobes. The kernel has them registered while the definition exists.
//!
//! [`rtrace_kprobe_hit`] runs in any context, NMI included: no lock, no allocation, no panic.

use super::hit_probe::{
    HitProbe,
    ProbeHook, //
};
use crate::{
    fetch::run::{
        ProbedMachine,
        WORDS, //
    },
    kapi::{
        kprobe::KernelProbe,
        percpu::CpuPin,
        strings,
        symbol, //
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

/// The registers of a hit, and the memory of this machine.
struct Registers<'a>(&'a [u64; WORDS]);

impl ProbedMachine for Registers<'_> {
    fn registers(&self) -> &[u64; WORDS] {
        self.0
    }

    fn read(&self, address: u64, to: &mut [u8], user: bool) -> bool {
        strings::read(address, to, user)
    }

    fn comm(&self) -> [u8; 16] {
        strings::comm()
    }

    fn current(&self) -> u64 {
        kernel::current!().as_ptr() as u64
    }

    fn symbol(&self, address: u64, take: impl FnOnce(&[u8])) {
        symbol::with_text_at(address, take);
    }
}

/// Records a hit of a probe. Any context.
///
/// # Safety
///
/// - `data` is the `Kprobe` that the probe was enabled with.
/// - `registers` is a `struct pt_regs` that does not change meanwhile; preemption is disabled.
#[no_mangle]
unsafe extern "C" fn rtrace_kprobe_hit(
    data: *const c_void,
    registers: *const c_void,
    returned_to: usize,
) {
    // SAFETY: The caller promises the `Kprobe` of the probe, which goes after the probe.
    let probe = unsafe { &*data.cast::<Kprobe>() };
    // SAFETY: The caller promises the registers, which are as many words on this machine.
    let words = unsafe { &*registers.cast::<[u64; WORDS]>() };
    // SAFETY: The caller promises that preemption is disabled.
    let pin = unsafe { CpuPin::assume() };
    let place = (probe.address(), returned_to as u64);
    probe.hit(&pin, &Registers(words), place);
}
