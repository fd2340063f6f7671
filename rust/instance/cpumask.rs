// SPDX-License-Identifier: GPL-2.0

//! The CPUs that an instance records: `tracing_cpumask`. The rings of the other CPUs are disabled
//! in both banks, so that a writer tests nothing that it would not test anyway.
//!
//! A leaf lock keeps the set and the state of the rings together.

use super::Instance;
use crate::{
    kapi::cpus,
    ring::cpu::DISABLE_CPU,
    text::cpumask::{
        self,
        CpuMaskError, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};
use kernel::prelude::*;

/// One bit for each possible CPU.
pub(super) type CpuMask = KVec<u64>;

/// Returns the set of all CPUs.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn all() -> Result<CpuMask> {
    let words = (cpus::most() as usize).div_ceil(64);
    Ok(KVec::from_elem(u64::MAX, words, GFP_KERNEL)?)
}

fn has(set: &[u64], cpu: u32) -> bool {
    let word = set.get(cpu as usize >> 6).copied().unwrap_or(0);
    word.wrapping_shr(cpu & 63) & 1 != 0
}

impl Instance {
    /// Writes the set in the format of `tracing_cpumask`.
    pub(crate) fn show_cpumask(&self, out: &mut dyn Write) -> fmt::Result {
        cpumask::write_text(&self.cpus.lock(), cpus::most() as usize, out)
    }

    /// Records on the CPUs that `command` names and on no others. Writers that have already
    /// reserved commit their records.
    ///
    /// # Errors
    ///
    /// `EINVAL` if `command` is not a set of CPUs, `EOVERFLOW` if it names CPUs that are not
    /// possible, `ENOMEM`. Nothing has changed then, but for `ENOMEM` of [`Self::tell_tracer`].
    pub(crate) fn set_cpumask(&self, command: &[u8]) -> Result {
        let mut set = all()?;
        cpumask::parse(command, cpus::most() as usize, &mut set).map_err(|wrong| match wrong {
            CpuMaskError::Digit => EINVAL,
            CpuMaskError::TooMany => EOVERFLOW,
        })?;
        let mut there = self.cpus.lock();
        self.buffers()
            .each_of_cpu(|cpu, ring| ring.set_disabled(DISABLE_CPU, !has(&set, cpu)));
        *there = set;
        drop(there);
        self.tell_tracer()
    }
}
