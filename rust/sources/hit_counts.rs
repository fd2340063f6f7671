// SPDX-License-Identifier: GPL-2.0

//! What is counted of the hits of a definition, whatever its kind: each CPU counts for itself, in any context.
//!
//! What was hit is accounted for: hits, calls by what records and those that were too deep are as many as the records,
//! those that were lost, and those that the definition's own filter has left out.

use crate::kapi::cpu_counts::PerCpuCounts;
use kernel::prelude::*;

/// What is counted.
#[derive(Clone, Copy)]
pub(super) enum HitKind {
    /// A hit while the event is enabled somewhere, recorded or not.
    Hit,
    /// A hit that the filter of the definition did not let through.
    Filtered,
    /// A call by what records, which is not recorded.
    OwnCall,
    /// One that was not recorded because too many were inside each other.
    TooDeep,
    /// Memory that could not be read.
    Fault,
    /// A string that had no room.
    Cut,
}

/// The kinds of [`HitKind`].
const KINDS: usize = 6;
const _: () = assert!(HitKind::Cut as usize + 1 == KINDS);

/// The counts of a definition.
pub(super) struct HitCounts(PerCpuCounts<KINDS>);

impl HitCounts {
    /// Returns counts that are all 0. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new() -> Result<Self> {
        PerCpuCounts::new().map(Self)
    }

    /// Counts one more. Any context.
    #[inline(always)]
    pub(super) fn count(&self, what: HitKind) {
        self.0.count(what as usize);
    }

    /// Returns what was counted by all CPUs, and `missed`.
    pub(super) fn sums(&self, missed: Option<u64>) -> HitSums {
        let sum = |what: HitKind| self.0.sum(what as usize);
        HitSums {
            hits: sum(HitKind::Hit),
            filtered: sum(HitKind::Filtered),
            missed,
            own_calls: sum(HitKind::OwnCall),
            too_deep: sum(HitKind::TooDeep),
            faults: sum(HitKind::Fault),
            cuts: sum(HitKind::Cut),
        }
    }
}

/// What was counted of a definition.
pub(super) struct HitSums {
    pub(super) hits: u64,
    pub(super) filtered: u64,
    /// What the kernel did not tell of, if it counts that.
    pub(super) missed: Option<u64>,
    pub(super) own_calls: u64,
    pub(super) too_deep: u64,
    pub(super) faults: u64,
    pub(super) cuts: u64,
}
