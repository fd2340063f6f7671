// SPDX-License-Identifier: GPL-2.0

//! Which CPUs this machine can ever have, and how many it has now.

use kernel::{
    bindings,
    cpu,
    cpumask::Cpumask, //
};

fn possible_mask() -> &'static Cpumask {
    // SAFETY: The mask exists as long as the kernel runs and does not change after boot; `Cpumask`
    // has its layout.
    unsafe { &*(&raw const bindings::__cpu_possible_mask).cast::<Cpumask>() }
}

/// The numbers of the possible CPUs, in order.
pub(crate) fn possible() -> impl Iterator<Item = u32> {
    (0..most()).filter(|number| is_possible(*number))
}

/// One more than the highest number that a CPU can have.
pub(crate) fn most() -> u32 {
    cpu::nr_cpu_ids()
}

/// How many CPUs are online.
#[cfg(not(CONFIG_SMP))]
pub(crate) fn online() -> u32 {
    1
}

/// How many CPUs are online.
#[cfg(CONFIG_SMP)]
pub(crate) fn online() -> u32 {
    // SAFETY: The counter exists as long as the kernel runs; a CPU that comes or goes meanwhile
    // changes it in one store.
    let online = unsafe { (&raw const bindings::__num_online_cpus.counter).read_volatile() };
    online.unsigned_abs()
}

/// Can there be such a CPU?
pub(crate) fn is_possible(number: u32) -> bool {
    cpu::CpuId::from_u32(number).is_some_and(|cpu| possible_mask().test(cpu))
}
