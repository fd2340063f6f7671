// SPDX-License-Identifier: GPL-2.0

//! The effect of counters with a fast path.
//!
//! Most events are counted in the first slot of their key, without a call, so that the effect needs no frame and
//! counting is the last jump of the probe. What is not there is looked for near it, in a function of its own; whatever
//! else there is to do is done by the counter of any event.

use crate::{
    kapi::{
        percpu::{
            CpuPin,
            PinRef, //
        },
        scratch::{
            self,
            RecordToRead, //
        }, //
    },
    probes::{
        commit_counted,
        Effect,
        EventFile,
        Exit,
        Hit, //
    }, //
};

/// Counts events of a histogram whose entries are near the first slot of their key.
///
/// Contexts: those of [`Effect`].
pub(super) trait NearCounter: Send + Sync {
    /// What counts any event of the histogram.
    type Counter: Effect;

    /// Returns what counts any event of the histogram.
    fn counter(&self) -> &Self::Counter;

    /// Counts an event. `None` if nothing is counted, because that is for [`Self::counter`].
    fn count_near(&self, file: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>)
        -> Option<()>;
}

/// Counts events of a histogram whose entries are in the first slot of their key.
///
/// Contexts: those of [`Effect`].
pub(super) trait FirstCounter: Send + Sync {
    /// What counts the others.
    type Near: NearCounter;

    /// Returns what counts the others.
    fn near(&self) -> &Self::Near;

    /// Counts an event, inline. `None` if nothing is counted, because that is for [`Self::near`].
    fn count_first(
        &self,
        file: &EventFile,
        record: RecordToRead<'_>,
        pin: PinRef<'_>,
    ) -> Option<()>;
}

/// Counts an event that is not counted in the first slot of its key.
#[inline(never)]
fn act_nearby<N: NearCounter>(
    near: &N,
    file: &EventFile,
    record: RecordToRead<'_>,
    pin: PinRef<'_>,
) {
    if near.count_near(file, record, pin).is_none() {
        near.counter().act_slowly(file, record, pin);
    }
}

/// Does so for an event that it ends.
#[inline(never)]
fn end_nearby<N: NearCounter>(near: &N, file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
    act_nearby(near, file, record.to_read(), exit.pin());
    commit_counted(file, record, exit);
}

/// Counts events by the fast path of a counter.
#[repr(transparent)]
pub(super) struct QuickEffect<C>(pub(super) C);

impl<C: FirstCounter> Effect for QuickEffect<C> {
    fn is_hist(&self) -> bool {
        true
    }

    fn is_light(&self) -> bool {
        true
    }

    fn act_lightly(&self, file: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>) {
        if self.0.count_first(file, record, pin).is_none() {
            act_nearby(self.0.near(), file, record, pin);
        }
    }

    fn end_lightly(&self, file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
        let counted = self.0.count_first(file, record.to_read(), exit.pin());
        match counted {
            Some(()) => commit_counted(file, record, exit),
            None => end_nearby(self.0.near(), file, record, exit),
        }
    }

    fn miss(&self, pin: &CpuPin) {
        self.0.near().counter().miss(pin);
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        self.0.near().counter().act(hit, record);
    }
}
