// SPDX-License-Identifier: GPL-2.0

//! The effect by which an event is counted whose entry keeps more of values than their sums.

use super::{
    counts::SharedCounts,
    hist::{
        task_words,
        Hist,
        HitSurroundings,
        SHORT, //
    },
};
use crate::{
    hist::keys::MOST_WORDS,
    kapi::percpu::CpuPin,
    probes::{
        Effect,
        Hit, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Counts an event, and tallies its values. Keys have `WORDS` words at most.
struct TallyCounter<const WORDS: usize> {
    hist: Arc<Hist>,
    /// Those of the histogram, so that a writer follows one reference less.
    counts: Arc<SharedCounts>,
}

impl<const WORDS: usize> Effect for TallyCounter<WORDS> {
    fn is_hist(&self) -> bool {
        true
    }

    fn miss(&self, pin: &CpuPin) {
        self.counts.drop_one(pin);
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        let Some(counts) = self.counts.to_count() else {
            return;
        };
        let (plan, env) = (self.hist.plan(), HitSurroundings::of(hit));
        let cpu = hit.pin().by_value();
        let mut room = [0; WORDS];
        let Some(key) = plan.key(record, &env, &mut room) else {
            return counts.map.drop_one(cpu);
        };
        let Some(entry) = counts.map.count_in(cpu, key, &[], task_words) else {
            return;
        };
        plan.tally(record, &env, |sum, number| {
            counts.map.tally(cpu, entry, sum, number);
        });
    }
}

/// Returns what counts events in `hist`, which has no references and no actions.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn tally_counter(hist: &Arc<Hist>) -> Result<KBox<dyn Effect>> {
    let (hist, counts) = (hist.clone(), hist.counts().clone());
    if hist.plan().key_words() <= SHORT {
        let counter = TallyCounter::<SHORT> { hist, counts };
        return Ok(KBox::new(counter, GFP_KERNEL)?);
    }
    let counter = TallyCounter::<MOST_WORDS> { hist, counts };
    Ok(KBox::new(counter, GFP_KERNEL)?)
}
