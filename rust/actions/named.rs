// SPDX-License-Identifier: GPL-2.0

//! The fast path of counting an event that is not in the ring by the name of its task: there is an entry for that.

use super::{
    counts::SharedCounts,
    hist::Counter,
    quick::{
        QuickClock,
        QuickEnv,
        QuickLoad,
        WITH_TIME, //
    }, //
};
use crate::{
    hist::{
        key::name_key,
        plan::Plan, //
    },
    kapi::{
        percpu::{
            CpuPin,
            PinRef, //
        },
        scratch::RecordToRead,
        task, //
    },
    probes::{
        Effect,
        EventFile,
        Hit, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Counts events as `counter` does.
struct NameCounter<const VALUES: usize> {
    counter: Counter,
    /// Those of `counter`.
    counts: Arc<SharedCounts>,
    clock: QuickClock,
    values: [QuickLoad; VALUES],
}

impl<const VALUES: usize> NameCounter<VALUES> {
    /// Returns what counts as `counter` does, which is that of `plan`; `counter` again if that has another number of
    /// values, or one that is not made of one word.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn boxed(counter: Counter, plan: &Plan) -> Result<Result<KBox<dyn Effect>, Counter>> {
        let Some(values) = QuickLoad::all(plan.value_loads()) else {
            return Ok(Err(counter));
        };
        let this = Self {
            counts: counter.counts.clone(),
            clock: QuickClock::of(plan),
            counter,
            values,
        };
        let boxed: KBox<dyn Effect> = KBox::new(this, GFP_KERNEL)?;
        Ok(Ok(boxed))
    }
}

impl<const VALUES: usize> Effect for NameCounter<VALUES> {
    fn is_hist(&self) -> bool {
        true
    }

    fn is_light(&self) -> bool {
        true
    }

    // As a part of `end_lightly`, where it is called most.
    #[inline(always)]
    fn act_lightly(&self, file: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>) {
        let Some(counts) = self.counts.if_unwatched() else {
            return self.act_slowly(file, record, pin);
        };
        let (key, len) = name_key(task::name(kernel::current!()));
        let key = key.get(..len).unwrap_or_default();
        let env = QuickEnv::of(file, pin, self.clock);
        let added = QuickLoad::read_all::<WITH_TIME, VALUES>(&self.values, record, &env);
        let cpu = env.cpu as usize;
        if counts.map.count_known(cpu, key, &added).is_none() {
            self.act_slowly(file, record, pin);
        }
    }

    fn miss(&self, pin: &CpuPin) {
        self.counter.miss(pin);
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        self.counter.act(hit, record);
    }
}

/// Returns what counts events as `counter` does, and by the fast path if the key is the name of the task.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn name_counter(mut counter: Counter, plan: &Plan) -> Result<KBox<dyn Effect>> {
    if plan.is_by_name() {
        for boxed in [NameCounter::<0>::boxed, NameCounter::<1>::boxed] {
            counter = match boxed(counter, plan)? {
                Ok(named) => return Ok(named),
                Err(counter) => counter,
            };
        }
    }
    Ok(KBox::new(counter, GFP_KERNEL)?)
}
