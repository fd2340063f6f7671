// SPDX-License-Identifier: GPL-2.0

//! Which CPUs this machine can ever have, and how many it has now.

use kernel::{
    bindings,
    cpu,
    cpumask::Cpumask, //
};

fn possible_mask() -> &'static Cpumask {
    let mask = &raw const bindings::__cpu_possible_mask;
    // SAFETY: The mask exists as long as the kernel runs and does not change after boot.
    unsafe { Cpumask::from_raw(mask) }
}

/// Returns the numbers of the possible CPUs, in order.
pub(crate) fn possible() -> impl Iterator<Item = u32> {
    (0..most()).filter(|number| is_possible(*number))
}

/// Returns one more than the highest number that a CPU can have.
pub(crate) fn most() -> u32 {
    cpu::nr_cpu_ids()
}

/// Returns how many CPUs are online.
#[cfg(not(CONFIG_SMP))]
pub(crate) fn online() -> u32 {
    1
}

/// Returns how many CPUs are online.
#[cfg(CONFIG_SMP)]
pub(crate) fn online() -> u32 {
    let online = &raw const bindings::__num_online_cpus;
    // SAFETY: The counter exists as long as the kernel runs; a CPU that comes or goes meanwhile
    // changes it in one store.
    unsafe { online.read_volatile() }.counter.unsigned_abs()
}

/// Returns whether there can be such a CPU.
pub(crate) fn is_possible(number: u32) -> bool {
    cpu::CpuId::from_u32(number).is_some_and(|cpu| possible_mask().test(cpu))
}
