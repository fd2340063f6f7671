// SPDX-License-Identifier: GPL-2.0

//! What the machines of all hits have in common: this kernel, and what hits of the definition share.
//!
//! [`HitKernel`] runs in any context, NMI included: no lock, no allocation, no panic.

use super::{
    hit_counts::{
        HitCounts, //
        HitKind,
    },
    probe_layout::ProbeLayout, //
};
use crate::{
    fetch::run::ProbedKernel,
    kapi::{
        kprobe::symbol_address,
        percpu,
        strings,
        symbol,
        task,
        words::SharedU64, //
    },
    ring::port::SharedWord as _, //
};
use kernel::prelude::*;

/// What all hits of a definition share.
pub(super) struct SharedByHits {
    pub(super) counts: HitCounts,
    /// The addresses of the symbols that are looked up again, by their slots.
    symbols: KVec<SharedU64>,
}

impl SharedByHits {
    /// Returns that of a definition: counts that are all 0, and symbols that [`Self::find_symbols`] looks up. Process
    /// context; may sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(layout: &ProbeLayout) -> Result<Self> {
        let mut symbols = KVec::new();
        for _ in layout.symbols() {
            symbols.push(SharedU64::zero(), GFP_KERNEL)?;
        }
        let counts = HitCounts::new()?;
        Ok(Self { counts, symbols })
    }

    /// Looks up the symbols of `layout`, with which this was made. A hit that is still going on finds the old address or
    /// the new one. Process context; to look up a function of a module takes a grace period.
    ///
    /// # Errors
    ///
    /// `ENOENT` for the first one that is not there.
    pub(super) fn find_symbols(&self, layout: &ProbeLayout) -> Result {
        for (slot, name) in layout.symbols() {
            let address = symbol_address(name).ok_or(ENOENT)?;
            if let Some(place) = self.symbols.get(usize::from(slot)) {
                place.store(address);
            }
        }
        Ok(())
    }
}

/// This kernel. Its addresses have names, those of a program have none.
pub(super) struct HitKernel<'a, const IN_PROGRAM: bool = false> {
    shared: &'a SharedByHits,
}

impl<'a, const IN_PROGRAM: bool> HitKernel<'a, IN_PROGRAM> {
    /// Returns that of a hit of the definition whose hits share this.
    #[inline(always)]
    pub(super) fn new(shared: &'a SharedByHits) -> Self {
        Self { shared }
    }
}

impl<const IN_PROGRAM: bool> ProbedKernel for HitKernel<'_, IN_PROGRAM> {
    fn faulted(&self) {
        self.shared.counts.count(HitKind::Fault);
    }

    fn was_cut(&self) {
        self.shared.counts.count(HitKind::Cut);
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

    fn symbol_address(&self, slot: u8) -> u64 {
        let address = self.shared.symbols.get(usize::from(slot));
        address.map_or(0, |address| address.load())
    }

    fn symbol(&self, address: u64, take: impl FnOnce(&[u8])) {
        if !IN_PROGRAM {
            symbol::with_text_at(address, take);
        }
    }
}
