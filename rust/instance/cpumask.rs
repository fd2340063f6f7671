// SPDX-License-Identifier: GPL-2.0

//! Which CPUs does an instance record? Those of `tracing_cpumask`: the rings of the others, in both
//! banks, are disabled, so a writer looks at nothing that it would not look at anyway.
//!
//! A leaf lock keeps the set and the rings together.

use super::Instance;
use crate::{
    kapi::cpus,
    ring::cpu::DISABLE_CPU,
    text::cpumask::{
        self,
        Wrong, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};
use kernel::prelude::*;

/// A bit for each CPU there can be.
pub(super) type CpuSet = KVec<u64>;

/// All CPUs.
pub(super) fn all() -> Result<CpuSet> {
    let words = (cpus::most() as usize).div_ceil(64);
    Ok(KVec::from_elem(u64::MAX, words, GFP_KERNEL)?)
}

fn has(set: &[u64], cpu: u32) -> bool {
    let word = set.get(cpu as usize >> 6).copied().unwrap_or(0);
    word.wrapping_shr(cpu & 63) & 1 != 0
}

impl Instance {
    /// Writes the set as `tracing_cpumask` shows it.
    pub(crate) fn show_cpumask(&self, out: &mut dyn Write) -> fmt::Result {
        cpumask::write_text(&self.cpus.lock(), cpus::most() as usize, out)
    }

    /// Records the CPUs that `command` names and no others. Writers that have begun are not stopped.
    ///
    /// # Errors
    ///
    /// `EINVAL` for what is no set, `EOVERFLOW` for one with CPUs that cannot be, `ENOMEM`; nothing
    /// has changed.
    pub(crate) fn set_cpumask(&self, command: &[u8]) -> Result {
        let mut set = all()?;
        cpumask::parse(command, cpus::most() as usize, &mut set).map_err(|wrong| match wrong {
            Wrong::Digit => EINVAL,
            Wrong::TooMany => EOVERFLOW,
        })?;
        let mut there = self.cpus.lock();
        self.buffers()
            .each_of_cpu(|cpu, ring| ring.set_disabled(DISABLE_CPU, !has(&set, cpu)));
        *there = set;
        Ok(())
    }
}
