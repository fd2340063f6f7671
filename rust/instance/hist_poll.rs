// SPDX-License-Identifier: GPL-2.0

//! Waiting for the histograms of an event to count one.

use super::{
    triggers::EventTriggers,
    Instance, //
};
use crate::{
    actions::hist::Hist,
    events::{
        self,
        Event, //
    },
    kapi::wait::Poller, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

impl Instance {
    /// Returns the histograms of `event`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn hists_of(&self, event: &Event) -> Result<KVec<Arc<Hist>>> {
        let mut hists = KVec::new();
        let all = self.triggers.lock();
        let of = all.iter().find(|of| of.event.id() == event.id());
        for hist in of.into_iter().flat_map(EventTriggers::hists) {
            hists.push(hist.clone(), GFP_KERNEL)?;
        }
        Ok(hists)
    }

    /// Returns how many events all histograms of `event` have counted; 0 without memory. Process context.
    pub(crate) fn hist_hits(&self, event: &Event) -> u64 {
        sum(&self.hists_of(event).unwrap_or_default())
    }

    /// Does the same. Unless `is_new` says that a poller need not wait, `poller` is woken when one more is counted,
    /// or when the event gets or loses a histogram. It may sleep for a grace period.
    pub(crate) fn poll_hists(
        &self,
        event: &Event,
        is_new: impl Fn(u64) -> bool,
        poller: &Poller<'_>,
    ) -> u64 {
        // By this the poller hears of other histograms.
        poller.watch(self.buffers().waker().pollers());
        let Ok(hists) = self.hists_of(event) else {
            return 0;
        };
        let hits = sum(&hists);
        if hists.is_empty() || is_new(hits) {
            return hits;
        }
        hists.iter().for_each(|hist| hist.counts().watch(poller));
        // Writers that began before wake no poller: what they count is seen below.
        events::synchronize();
        sum(&hists)
    }
}

fn sum(hists: &[Arc<Hist>]) -> u64 {
    let hits = hists.iter().map(|hist| hist.counts().hits());
    hits.fold(0, u64::wrapping_add)
}
