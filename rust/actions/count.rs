// SPDX-License-Identifier: GPL-2.0

//! Counts how often each event of an instance was recorded and how often it was refused: the option
//! `event-counts`.
//!
//! Each CPU counts for itself, with one instruction that an interrupt cannot split.

use super::{
    ActionMemory, //
    Follower,
};
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
    probes::{
        Action,
        Hit, //
    },
    ring::port::LocalWord,
    text::options::Opt, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Row of the action in [`super::ALL`].
pub(super) struct EventCounts;

impl Follower for EventCounts {
    fn option(&self) -> Opt {
        Opt::EventCounts
    }

    fn action(&self, memory: &mut ActionMemory) -> Result<Arc<dyn Action>> {
        let counts = match &memory.counts {
            Some(counts) => counts.clone(),
            None => Arc::new(EventCounters::new()?, GFP_KERNEL)?,
        };
        memory.counts = Some(counts.clone());
        Ok(counts)
    }

    fn begin(&self, memory: &ActionMemory) {
        if let Some(counts) = &memory.counts {
            counts.reset();
        }
    }
}

/// The counts of one event on one CPU.
struct EventCount {
    hits: LocalU64,
    lost: LocalU64,
}

/// The counts of all events, by CPU.
pub(crate) struct EventCounters(PerCpu<KVVec<EventCount>>);

impl EventCounters {
    /// Returns counts that are all 0.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn new() -> Result<Self> {
        let made = PerCpu::new(|_| {
            let mut counts = KVVec::with_capacity(CAPACITY, GFP_KERNEL | __GFP_NOWARN)?;
            for _ in 0..CAPACITY {
                let count = EventCount {
                    hits: LocalWord::new(0),
                    lost: LocalWord::new(0),
                };
                counts.push(count, GFP_KERNEL)?;
            }
            Ok(counts)
        })?;
        Ok(Self(made))
    }

    /// Returns the count of the event `id` on this CPU; `None` for an id that no event has.
    #[inline(always)]
    fn here(&self, pin: &CpuPin, id: u16) -> Option<&EventCount> {
        let at = id.checked_sub(FIRST_ID)?;
        self.0.this(pin).get(usize::from(at))
    }

    /// Returns how often the event `id` was recorded and how often it was refused, summed over all
    /// CPUs.
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

    /// Sets the count of the event `id` to 0. The caller ensures that no probe counts it meanwhile.
    pub(super) fn forget(&self, id: u16) {
        let at = usize::from(id.saturating_sub(FIRST_ID));
        for count in cpus::possible().filter_map(|cpu| self.0.of(cpu)?.get(at)) {
            count.hits.set(0);
            count.lost.set(0);
        }
    }

    /// Sets all counts to 0. The caller ensures that no probe counts meanwhile.
    fn reset(&self) {
        for counts in cpus::possible().filter_map(|cpu| self.0.of(cpu)) {
            for count in counts {
                count.hits.set(0);
                count.lost.set(0);
            }
        }
    }
}

impl Action for EventCounters {
    fn recorded(&self, hit: &Hit<'_>) {
        if let Some(count) = self.here(hit.pin(), hit.file.id()) {
            count.hits.add(1);
        }
    }

    fn refused(&self, hit: &Hit<'_>) {
        if let Some(count) = self.here(hit.pin(), hit.file.id()) {
            count.lost.add(1);
        }
    }
}
