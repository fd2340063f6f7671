// SPDX-License-Identifier: GPL-2.0

//! Which CPUs this machine can ever have, and how many it has now.

use super::c;
use crate::text::word;
use kernel::{
    bindings,
    cpu,
    cpumask::Cpumask,
    error::to_result,
    prelude::*, //
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

/// Returns whether this CPU is online. Any context: nothing that can be traced is called.
pub(crate) fn is_online(number: u32) -> bool {
    if number >= most() {
        return false;
    }
    let words = (&raw const bindings::__cpu_online_mask).cast::<u64>();
    let word = words.wrapping_add((number / u64::BITS) as usize);
    // SAFETY: The mask exists as long as the kernel runs, with a bit for each such number. Volatile: a CPU that comes
    // or goes changes its bit.
    let bits = unsafe { word.read_volatile() };
    bits >> (number % u64::BITS) & 1 != 0
}

/// Parses a list of CPUs, such as `0-2,5`, or `all`. Returns one bit for each.
///
/// # Errors
///
/// `EINVAL` for anything else, `ERANGE` for a CPU that there cannot be, `ENOMEM`.
pub(crate) fn parse_list(list: &[u8]) -> Result<KVec<u64>> {
    let list = word::c_string(list);
    let mut text = KVec::with_capacity(list.len().saturating_add(1), GFP_KERNEL)?;
    text.extend_from_slice(list, GFP_KERNEL)?;
    text.push(0, GFP_KERNEL)?;
    let text = CStr::from_bytes_with_nul(&text).map_err(|_| EINVAL)?;
    let mut set = KVec::from_elem(0u64, (most() as usize).div_ceil(64), GFP_KERNEL)?;
    let bits = c_int::try_from(most())?;
    // SAFETY: The text is terminated, and the set has so many bits.
    to_result(unsafe { c::bitmap_parselist(text.as_char_ptr(), set.as_mut_ptr().cast(), bits) })?;
    Ok(set)
}
