// SPDX-License-Identifier: GPL-2.0

//! The fast path of counting an event that is not in the ring by one string, the name of its task or one of its
//! record: there is an entry for that.

use super::{
    counts::SharedCounts,
    hist::Counter,
    quick::{
        QuickClock,
        QuickEnv,
        QuickLoad,
        PLAIN,
        WITH_TIME, //
    },
    quick_effect::{
        FirstCounter,
        NearCounter,
        QuickEffect, //
    }, //
};
use crate::{
    hist::{
        key::{
            name_key,
            TextKey, //
        },
        map::Map,
        plan::{
            Plan,
            COMM, //
        }, //
    },
    kapi::{
        context,
        percpu::PinRef,
        port::Kernel,
        scratch::RecordToRead, //
    },
    probes::{
        Effect,
        EventFile, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A key that is one string.
trait QuickText<const WORDS: usize>: Copy + Send + Sync + 'static {
    /// Returns the words of the key of an event, and how many these are; `None` if they are more. Any context.
    fn words(self, record: RecordToRead<'_>) -> Option<([u64; WORDS], usize)>;
}

/// The name of the task.
#[derive(Clone, Copy)]
struct TaskName;

/// Words of its key: their number, and the name.
const NAME_WORDS: usize = 1 + COMM / 8;

impl QuickText<NAME_WORDS> for TaskName {
    #[inline(always)]
    fn words(self, _: RecordToRead<'_>) -> Option<([u64; NAME_WORDS], usize)> {
        Some(name_key(context::name()))
    }
}

impl QuickText<{ TextKey::WORDS }> for TextKey {
    #[inline(always)]
    fn words(self, record: RecordToRead<'_>) -> Option<([u64; TextKey::WORDS], usize)> {
        self.key_of(record.bytes())
    }
}

/// Counts events by `text` as `counter` does.
struct TextCounter<K, const WORDS: usize, const VALUES: usize> {
    counter: Counter,
    /// Those of `counter`.
    counts: Arc<SharedCounts>,
    clock: QuickClock,
    text: K,
    values: [QuickLoad; VALUES],
}

impl<K: QuickText<WORDS>, const WORDS: usize, const VALUES: usize> TextCounter<K, WORDS, VALUES> {
    /// Returns what counts as `counter` does, which is that of `plan`; `counter` again if that has another number of
    /// values, or one that is not made of one word.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn boxed(text: K, counter: Counter, plan: &Plan) -> Result<Result<KBox<dyn Effect>, Counter>> {
        let Some(values) = QuickLoad::all(plan.value_loads()) else {
            return Ok(Err(counter));
        };
        let this = Self {
            counts: counter.counts.clone(),
            clock: QuickClock::of(plan),
            text,
            counter,
            values,
        };
        let boxed: KBox<dyn Effect> = KBox::new(QuickEffect(this), GFP_KERNEL)?;
        Ok(Ok(boxed))
    }

    /// Counts an event in the entry that `count` knows.
    #[inline(always)]
    fn count(
        &self,
        file: &EventFile,
        record: RecordToRead<'_>,
        pin: PinRef<'_>,
        count: impl FnOnce(&Map<Kernel>, usize, &[u64], &[u64]) -> Option<usize>,
    ) -> Option<()> {
        let counts = self.counts.if_unwatched()?;
        let (key, used) = self.text.words(record)?;
        let env = match VALUES {
            0 => QuickEnv::here::<PLAIN>(file, pin, self.clock)?,
            _ => QuickEnv::of(file, pin, self.clock),
        };
        let added = QuickLoad::read_all::<WITH_TIME, VALUES>(&self.values, record, &env);
        count(&counts.map, env.cpu as usize, key.get(..used)?, &added)?;
        Some(())
    }
}

impl<K: QuickText<WORDS>, const WORDS: usize, const VALUES: usize> NearCounter
    for TextCounter<K, WORDS, VALUES>
{
    type Counter = Counter;

    fn counter(&self) -> &Counter {
        &self.counter
    }

    #[inline(always)]
    fn count_near(
        &self,
        file: &EventFile,
        record: RecordToRead<'_>,
        pin: PinRef<'_>,
    ) -> Option<()> {
        self.count(file, record, pin, Map::count_known)
    }
}

impl<K: QuickText<WORDS>, const WORDS: usize, const VALUES: usize> FirstCounter
    for TextCounter<K, WORDS, VALUES>
{
    type Near = Self;

    fn near(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn count_first(
        &self,
        file: &EventFile,
        record: RecordToRead<'_>,
        pin: PinRef<'_>,
    ) -> Option<()> {
        self.count(file, record, pin, Map::count_first)
    }
}

/// Returns what counts events by `text` as `counter` does, and by the fast path if that can be.
fn counter_by<K: QuickText<WORDS>, const WORDS: usize>(
    text: K,
    mut counter: Counter,
    plan: &Plan,
) -> Result<KBox<dyn Effect>> {
    let all = [
        TextCounter::<K, WORDS, 0>::boxed,
        TextCounter::<K, WORDS, 1>::boxed,
    ];
    for boxed in all {
        counter = match boxed(text, counter, plan)? {
            Ok(quick) => return Ok(quick),
            Err(counter) => counter,
        };
    }
    Ok(KBox::new(counter, GFP_KERNEL)?)
}

/// Returns what counts events as `counter` does, and by the fast path if the key is one string.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn text_counter(counter: Counter, plan: &Plan) -> Result<KBox<dyn Effect>> {
    match plan.text_key() {
        _ if plan.is_by_name() => counter_by::<_, NAME_WORDS>(TaskName, counter, plan),
        Some(text) => counter_by::<_, { TextKey::WORDS }>(text, counter, plan),
        None => Ok(KBox::new(counter, GFP_KERNEL)?),
    }
}
