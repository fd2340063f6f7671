// SPDX-License-Identifier: GPL-2.0

//! Running something on all CPUs at once.
//!
//! Called in process context with interrupts enabled; each function returns when all CPUs are done.

use super::{
    c,
    percpu::CpuPin, //
};
use core::ptr;
use kernel::prelude::*;

/// Runs `f` on every online CPU, with interrupts disabled.
pub(crate) fn run<F: Fn(&CpuPin) + Sync>(f: &F) {
    // SAFETY: `call::<F>` takes the address of an `F`. It is there until the function returns, which
    // waits for all CPUs.
    unsafe { c::rt_on_each_cpu(Some(call::<F>), ptr::from_ref(f).cast_mut().cast()) };
}

/// Calls `f` on this CPU.
///
/// # Safety
///
/// `f` points to an `F` that may be called here, and interrupts are disabled.
unsafe extern "C" fn call<F: Fn(&CpuPin) + Sync>(f: *mut c_void) {
    // SAFETY: The caller promises an `F`, which is `Sync`.
    let f = unsafe { &*f.cast::<F>() };
    // SAFETY: No other task runs on this CPU while interrupts are disabled, as the caller promises.
    f(&unsafe { CpuPin::assume() });
}

/// Interrupts every other online CPU. What they stored before that is visible to this CPU when the
/// function returns, and what they load after it is not older than what this CPU stored before.
pub(super) fn interrupt_others() {
    c::rt_interrupt_others();
}
