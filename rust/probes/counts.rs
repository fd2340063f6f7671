// SPDX-License-Identifier: GPL-2.0

//! How often each event of an instance was recorded, and how often it was refused.
//!
//! Counted by the probes, each CPU for itself by one instruction that an interrupt cannot split, in any
//! context. Probes that nobody asked to count pay a load and a branch.

use crate::{
    events::{
        CAPACITY,
        FIRST_ID, //
    },
    kapi::{
        cpus,
        percpu::{
            CpuPin,
            PerCpu, //
        },
        words::LocalU64, //
    },
    ring::port::LocalWord, //
};
use kernel::prelude::*;

/// The counts of one event on one CPU.
struct Count {
    hits: LocalU64,
    lost: LocalU64,
}

/// The counts of all events, by CPU.
pub(crate) struct Counts(PerCpu<KVVec<Count>>);

impl Counts {
    /// All 0.
    pub(crate) fn new() -> Result<Self> {
        let made = PerCpu::new(|_| {
            let mut counts = KVVec::with_capacity(CAPACITY, GFP_KERNEL | __GFP_NOWARN)?;
            for _ in 0..CAPACITY {
                let count = Count {
                    hits: LocalWord::new(0),
                    lost: LocalWord::new(0),
                };
                counts.push(count, GFP_KERNEL)?;
            }
            Ok(counts)
        })?;
        Ok(Self(made))
    }

    #[inline(always)]
    fn here(&self, pin: &CpuPin, id: u16) -> Option<&Count> {
        let at = id.checked_sub(FIRST_ID)?;
        self.0.this(pin).get(usize::from(at))
    }

    /// The event `id` was recorded.
    #[cold]
    pub(super) fn hit(&self, pin: &CpuPin, id: u16) {
        if let Some(count) = self.here(pin, id) {
            count.hits.add(1);
        }
    }

    /// The event `id` was refused though recording was on.
    #[cold]
    pub(super) fn lost(&self, pin: &CpuPin, id: u16) {
        if let Some(count) = self.here(pin, id) {
            count.lost.add(1);
        }
    }

    /// Recorded and refused, over all CPUs.
    pub(crate) fn of(&self, id: u16) -> (u64, u64) {
        let at = usize::from(id.saturating_sub(FIRST_ID));
        cpus::possible()
            .filter_map(|cpu| self.0.of(cpu)?.get(at))
            .fold((0, 0), |(hits, lost): (u64, u64), count| {
                (
                    hits.wrapping_add(count.hits.get()),
                    lost.wrapping_add(count.lost.get()),
                )
            })
    }

    /// Makes all 0. Nobody counts.
    pub(crate) fn reset(&self) {
        for counts in cpus::possible().filter_map(|cpu| self.0.of(cpu)) {
            for count in counts {
                count.hits.set(0);
                count.lost.set(0);
            }
        }
    }
}
