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
        percpu::{
            CpuPin,
            PinRef, //
        },
        port::Kernel,
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
        let boxed: KBox<dyn Effect> = KBox::new(this, GFP_KERNEL)?;
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

    /// Counts an event whose entry is not in the first slot of its key.
    #[inline(never)]
    fn act_nearby(&self, file: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>) {
        if self.count(file, record, pin, Map::count_known).is_none() {
            self.act_slowly(file, record, pin);
        }
    }

    /// Does so for an event that it ends.
    #[inline(never)]
    fn end_nearby(&self, file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
        self.act_nearby(file, record.to_read(), exit.pin());
        commit_counted(file, record, exit);
    }
}

impl<K: QuickText<WORDS>, const WORDS: usize, const VALUES: usize> Effect
    for TextCounter<K, WORDS, VALUES>
{
    fn is_hist(&self) -> bool {
        true
    }

    fn is_light(&self) -> bool {
        true
    }

    fn act_lightly(&self, file: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>) {
        if self.count(file, record, pin, Map::count_first).is_none() {
            self.act_nearby(file, record, pin);
        }
    }

    fn end_lightly(&self, file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
        match self.count(file, record.to_read(), exit.pin(), Map::count_first) {
            Some(()) => commit_counted(file, record, exit),
            None => self.end_nearby(file, record, exit),
        }
    }

    fn miss(&self, pin: &CpuPin) {
        self.counter.miss(pin);
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        self.counter.act(hit, record);
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
