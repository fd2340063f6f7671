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
            with_ended_key,
            with_name_key,
            DynamicKey,
            NameKey,
            TextKey, //
        },
        map::{
            FoundEntry,
            Map, //
        },
        plan::Plan, //
    },
    kapi::{
        context,
        percpu::PinRef,
        port::Kernel,
        scratch::{
            PlacedWord,
            RecordToRead, //
        }, //
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
trait QuickText: Copy + Send + Sync + 'static {
    /// Calls `f` with the key of an event; `None` if that is not made here. Any context.
    fn with_key<R>(
        self,
        record: RecordToRead<'_>,
        f: impl FnOnce(&[u64]) -> Option<R>,
    ) -> Option<R>;

    /// The same for an event that is not counted in the first slot of its key: also with one that takes room on the
    /// stack.
    #[inline(always)]
    fn with_any_key<R>(
        self,
        record: RecordToRead<'_>,
        f: impl FnOnce(&[u64]) -> Option<R>,
    ) -> Option<R> {
        self.with_key(record, f)
    }
}

/// The name of the task.
#[derive(Clone, Copy)]
struct TaskName;

impl QuickText for TaskName {
    #[inline(always)]
    fn with_key<R>(self, _: RecordToRead<'_>, f: impl FnOnce(&[u64]) -> Option<R>) -> Option<R> {
        with_name_key(context::name(), f)
    }
}

/// A field of as many bytes as the name of a task: its two words.
#[derive(Clone, Copy)]
struct QuickName([PlacedWord; 2]);

impl QuickName {
    /// Returns that of a key; `None` if no record is so long.
    fn of(key: NameKey) -> Option<Self> {
        let first = PlacedWord::new(key.offset())?;
        Some(Self([first, PlacedWord::new(first.end())?]))
    }
}

impl QuickText for QuickName {
    #[inline(always)]
    fn with_key<R>(
        self,
        record: RecordToRead<'_>,
        f: impl FnOnce(&[u64]) -> Option<R>,
    ) -> Option<R> {
        with_name_key(NameKey::cut(self.0.map(|at| record.word(at))), f)
    }
}

/// A field that tells where the string is.
#[derive(Clone, Copy)]
struct QuickDynamic {
    at: PlacedWord,
    key: DynamicKey,
}

impl QuickDynamic {
    /// Returns that of a key; `None` if no record is so long.
    fn of(key: DynamicKey) -> Option<Self> {
        let at = PlacedWord::new(key.offset())?;
        Some(Self { at, key })
    }
}

impl QuickText for QuickDynamic {
    /// Not of one that has no NUL at its end, as hardly any has.
    #[inline(always)]
    fn with_key<R>(
        self,
        record: RecordToRead<'_>,
        f: impl FnOnce(&[u64]) -> Option<R>,
    ) -> Option<R> {
        with_ended_key(record.ended_text(record.word(self.at) as u32)?, f)
    }

    #[inline(always)]
    fn with_any_key<R>(
        self,
        record: RecordToRead<'_>,
        f: impl FnOnce(&[u64]) -> Option<R>,
    ) -> Option<R> {
        self.key.with_any_key(record.bytes(), f)
    }
}

impl QuickText for TextKey {
    #[inline(always)]
    fn with_key<R>(
        self,
        record: RecordToRead<'_>,
        f: impl FnOnce(&[u64]) -> Option<R>,
    ) -> Option<R> {
        TextKey::with_key(&self, record.bytes(), f)
    }
}

/// Counts events by `text` as `counter` does.
struct TextCounter<K, const VALUES: usize> {
    counter: Counter,
    /// Those of `counter`.
    counts: Arc<SharedCounts>,
    clock: QuickClock,
    text: K,
    values: [QuickLoad; VALUES],
}

impl<K: QuickText, const VALUES: usize> TextCounter<K, VALUES> {
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

    /// Counts an event in the entry that `count` knows; with `ANY` by any key.
    #[inline(always)]
    fn count<const ANY: bool>(
        &self,
        file: &EventFile,
        record: RecordToRead<'_>,
        pin: PinRef<'_>,
        count: impl FnOnce(&Map<Kernel>, PinRef<'_>, &[u64], &[u64]) -> Option<FoundEntry>,
    ) -> Option<()> {
        let counts = self.counts.if_unwatched()?;
        let env = match VALUES {
            0 => QuickEnv::here::<PLAIN>(file, pin, self.clock)?,
            _ => QuickEnv::of(file, pin, self.clock),
        };
        let added = QuickLoad::read_all::<WITH_TIME, VALUES>(&self.values, record.words(), &env);
        let entry = |key: &[u64]| count(&counts.map, pin, key, &added);
        let counted = match ANY {
            true => self.text.with_any_key(record, entry),
            false => self.text.with_key(record, entry),
        };
        counted.map(drop)
    }
}

impl<K: QuickText, const VALUES: usize> NearCounter for TextCounter<K, VALUES> {
    type Counter = Counter;
    type Record<'a> = RecordToRead<'a>;

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
        self.count::<true>(file, record, pin, Map::count_known)
    }
}

// SAFETY: There is no `words_end`: nothing is promised of words.
unsafe impl<K: QuickText, const VALUES: usize> FirstCounter for TextCounter<K, VALUES> {
    /// The values may be that.
    const READS_TASK: bool = VALUES != 0;

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
        self.count::<false>(file, record, pin, Map::count_first)
    }
}

/// Returns what counts events by `text` as `counter` does, and by the fast path if that can be.
fn counter_by<K: QuickText>(
    text: K,
    mut counter: Counter,
    plan: &Plan,
) -> Result<KBox<dyn Effect>> {
    let all = [TextCounter::<K, 0>::boxed, TextCounter::<K, 1>::boxed];
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
    if plan.is_by_name() {
        return counter_by(TaskName, counter, plan);
    }
    let Some(text) = plan.text_key() else {
        return Ok(KBox::new(counter, GFP_KERNEL)?);
    };
    if let Some(name) = text.as_name().and_then(QuickName::of) {
        return counter_by(name, counter, plan);
    }
    match text.as_dynamic().and_then(QuickDynamic::of) {
        Some(dynamic) => counter_by(dynamic, counter, plan),
        None => counter_by(text, counter, plan),
    }
}
