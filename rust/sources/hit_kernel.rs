// SPDX-License-Identifier: GPL-2.0

//! What the machines of all hits have in common: this kernel, and the counts of the definition.
//!
//! All of it runs in any context, NMI included: no lock, no allocation, no panic.

use super::hit_counts::{
    HitCounts, //
    HitKind,
};
use crate::{
    fetch::run::ProbedKernel,
    kapi::{
        percpu,
        strings,
        symbol,
        task, //
    }, //
};

/// This kernel. Its addresses have names, those of a program have none.
pub(super) struct HitKernel<'a, const IN_PROGRAM: bool = false> {
    /// What counts memory that cannot be read.
    counts: &'a HitCounts,
}

impl<'a, const IN_PROGRAM: bool> HitKernel<'a, IN_PROGRAM> {
    /// Returns that of a hit of the definition that has these counts.
    #[inline(always)]
    pub(super) fn new(counts: &'a HitCounts) -> Self {
        Self { counts }
    }
}

impl<const IN_PROGRAM: bool> ProbedKernel for HitKernel<'_, IN_PROGRAM> {
    fn faulted(&self) {
        self.counts.count(HitKind::Fault);
    }

    fn was_cut(&self) {
        self.counts.count(HitKind::Cut);
    }

    fn comm(&self) -> [u8; task::COMM] {
        strings::comm()
    }

    fn current(&self) -> u64 {
        task::identity(kernel::current!())
    }

    fn per_cpu(&self, address: u64) -> u64 {
        percpu::address_here(address)
    }

    fn symbol(&self, address: u64, take: impl FnOnce(&[u8])) {
        if !IN_PROGRAM {
            symbol::with_text_at(address, take);
        }
    }
}
