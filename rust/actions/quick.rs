// SPDX-License-Identifier: GPL-2.0

//! The fast path of counting an event that is not in the ring: its keys, values and variables are numbers of it,
//! and its entry is in the first slot of the key.
//!
//! It makes no call, so that it needs no frame. Whatever else there is to do is done by the [`NumberCounter`] that
//! counts other events of the histogram as well.

use super::{
    counts::{
        Counts,
        SharedCounts, //
    },
    hist::{
        time_by,
        time_here,
        NumberCounter, //
    },
    quick_effect::{
        FirstCounter,
        NearCounter,
        QuickEffect, //
    }, //
};
use crate::{
    hist::{
        key::log2,
        load::{
            LoadedWord,
            NumberLoad,
            WordStep, //
        },
        map::{
            FoundEntry,
            Map,
            VariableAt, //
        },
        plan::Plan, //
    },
    kapi::{
        percpu::PinRef,
        port::Kernel,
        scratch::{
            PlacedWord,
            RecordWords, //
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

/// A number of a record.
#[derive(Clone, Copy)]
pub(super) struct QuickLoad {
    at: PlacedWord,
    word: LoadedWord,
}

impl QuickLoad {
    /// Stands for no number.
    const NONE: Self = Self {
        at: PlacedWord::FIRST,
        word: LoadedWord::NONE,
    };

    /// The number of the task.
    pub(super) const TASK: Self = Self {
        at: PlacedWord::FIRST,
        word: LoadedWord::TASK,
    };

    /// Returns how these numbers are got; `None` if they are not `LEN`, or one of them is not made of one word.
    pub(super) fn all<const LEN: usize>(loads: &[NumberLoad]) -> Option<[Self; LEN]> {
        let loads: &[NumberLoad; LEN] = loads.try_into().ok()?;
        let mut all = [Self::NONE; LEN];
        for (place, load) in all.iter_mut().zip(loads) {
            *place = Self::of(load)?;
        }
        Some(all)
    }

    /// Returns how this number is got; `None` if it is not made of one word.
    pub(super) fn of(load: &NumberLoad) -> Option<Self> {
        let word = load.word()?;
        Some(Self {
            at: PlacedWord::new(word.start as usize)?,
            word,
        })
    }

    /// Returns whether it is the number of the task.
    pub(super) fn is_task(&self) -> bool {
        self.word == LoadedWord::TASK
    }

    /// Returns whether it is a word of the record as it is, and so needs no steps but [`PLAIN`].
    pub(super) fn is_plain(&self) -> bool {
        self.word.step == WordStep::Plain
    }

    /// Returns whether it is the time.
    pub(super) fn is_time(&self) -> bool {
        self.word.step == WordStep::Time
    }

    /// Returns the number. `STEPS` are those that it may need.
    #[inline(always)]
    pub(super) fn read<const STEPS: u8>(&self, record: RecordWords<'_>, env: &QuickEnv) -> u64 {
        match self.word.step {
            WordStep::Cpu if STEPS >= WITH_STEPS => return env.cpu.into(),
            WordStep::Time if STEPS == WITH_TIME => return env.time,
            _ => {}
        }
        let number = self.word.number(record.word(self.at));
        match self.word.step {
            WordStep::Log2 if STEPS >= WITH_STEPS => log2(number),
            _ => number,
        }
    }

    /// Returns the numbers. `STEPS` are those that they may need.
    #[inline(always)]
    pub(super) fn read_all<const STEPS: u8, const LEN: usize>(
        loads: &[Self; LEN],
        record: RecordWords<'_>,
        env: &QuickEnv,
    ) -> [u64; LEN] {
        let mut numbers = [0; LEN];
        for (place, load) in numbers.iter_mut().zip(loads) {
            *place = load.read::<STEPS>(record, env);
        }
        numbers
    }

    /// Returns which steps it needs.
    fn steps(&self) -> u8 {
        match self.word.step {
            WordStep::Plain => PLAIN,
            WordStep::Cpu | WordStep::Log2 => WITH_STEPS,
            WordStep::Time => WITH_TIME,
        }
    }
}

/// Words as they are.
pub(super) const PLAIN: u8 = 0;
/// Words as they are, but for variables, which are the time in the unit of the clock.
pub(super) const TIMES: u8 = 1;
/// The same, in microseconds.
pub(super) const TIMES_IN_USECS: u8 = 2;
/// Words as they are, those after a step, and the CPU; so do all that follow.
const WITH_STEPS: u8 = 3;
/// The same, and the time.
pub(super) const WITH_TIME: u8 = 4;

/// How the time is read for events of a plan.
#[derive(Clone, Copy)]
pub(super) struct QuickClock {
    /// Whether it is read at all.
    timed: bool,
    /// Whether it counts microseconds.
    usecs: bool,
}

impl QuickClock {
    /// Returns how `plan` wants it.
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            timed: plan.timestamps,
            usecs: plan.usecs,
        }
    }

    /// Returns the steps of variables that are the time.
    pub(super) fn times(&self) -> u8 {
        match self.usecs {
            true => TIMES_IN_USECS,
            false => TIMES,
        }
    }
}

/// What numbers may need besides the record.
pub(super) struct QuickEnv {
    pub(super) cpu: u32,
    /// When the event came, if `WITH_TIME` numbers are read.
    pub(super) time: u64,
}

impl QuickEnv {
    /// Returns what an event of `file` needs. Any context.
    #[inline(always)]
    pub(super) fn of(file: &EventFile, pin: PinRef<'_>, clock: QuickClock) -> Self {
        Self {
            cpu: pin.pin().number(),
            time: match clock.timed {
                true => read_clock(file, clock.usecs),
                false => 0,
            },
        }
    }

    /// Returns the same for numbers that need these steps, if no call is made for it.
    #[inline(always)]
    pub(super) fn here<const STEPS: u8>(
        file: &EventFile,
        pin: PinRef<'_>,
        clock: QuickClock,
    ) -> Option<Self> {
        Some(Self {
            cpu: pin.pin().number(),
            time: match STEPS {
                WITH_TIME => time_here(file, pin, clock.usecs)?,
                TIMES => time_here(file, pin, false)?,
                TIMES_IN_USECS => time_here(file, pin, true)?,
                _ => 0,
            },
        })
    }
}

/// As [`time_by`], for those to whom a frame matters more than a call.
#[inline(never)]
fn read_clock(file: &EventFile, usecs: bool) -> u64 {
    time_by(file, usecs)
}

/// The numbers of events that `counter` counts, which comes first so that both have one address.
#[repr(C)]
struct QuickNumbers<const KEYS: usize, const VALUES: usize, const VARIABLES: usize> {
    counter: NumberCounter<KEYS, VALUES, VARIABLES>,
    /// Those of `counter`.
    counts: Arc<SharedCounts>,
    clock: QuickClock,
    keys: [QuickLoad; KEYS],
    values: [QuickLoad; VALUES],
    variables: [(VariableAt, QuickLoad); VARIABLES],
}

impl<const KEYS: usize, const VALUES: usize, const VARIABLES: usize>
    QuickNumbers<KEYS, VALUES, VARIABLES>
{
    /// Returns all of them.
    fn all(&self) -> impl Iterator<Item = &QuickLoad> {
        let variables = self.variables.iter().map(|(_, load)| load);
        Iterator::chain(Iterator::chain(self.keys.iter(), &self.values), variables)
    }

    /// Returns whether the variables are the time, and the other numbers words as they are.
    fn are_times(&self) -> bool {
        let mut others = Iterator::chain(self.keys.iter(), &self.values);
        let mut variables = self.variables.iter().map(|(_, load)| load);
        variables.all(QuickLoad::is_time) && others.all(QuickLoad::is_plain)
    }

    /// Returns which steps any of them needs.
    fn steps(&self) -> u8 {
        self.all().map(QuickLoad::steps).fold(PLAIN, u8::max)
    }

    /// Returns where the last word ends that they are read from, or the first one of a record.
    fn words_end(&self) -> usize {
        let ends = self.all().map(|load| load.at.end());
        ends.fold(PlacedWord::FIRST.end(), usize::max)
    }

    /// Returns whether the first key is the number of the task.
    fn are_by_task(&self) -> bool {
        let first = self.keys.first();
        first.is_some_and(QuickLoad::is_task)
    }

    /// Counts an event in the entry that `count` knows, and sets its variables. `STEPS` are those that its numbers may
    /// need; with `TASK` the first key is the number of the task.
    #[inline(always)]
    fn count<const TASK: bool, const STEPS: u8>(
        &self,
        counts: &Counts,
        record: RecordWords<'_>,
        env: &QuickEnv,
        pin: PinRef<'_>,
        count: impl FnOnce(&Map<Kernel>, PinRef<'_>, &[u64], &[u64]) -> Option<FoundEntry>,
    ) -> Option<()> {
        let mut key = QuickLoad::read_all::<STEPS, KEYS>(&self.keys, record, env);
        if let (true, Some(first)) = (TASK, key.first_mut()) {
            *first = QuickLoad::TASK.read::<PLAIN>(record, env);
        }
        let added = QuickLoad::read_all::<STEPS, VALUES>(&self.values, record, env);
        let entry = count(&counts.map, pin, &key, &added)?;
        for (at, load) in &self.variables {
            let number = match STEPS {
                TIMES | TIMES_IN_USECS => env.time,
                _ => load.read::<STEPS>(record, env),
            };
            counts.map.set_variable_of(entry, *at, number);
        }
        Some(())
    }

    /// Returns what counts such events, by numbers of this kind.
    fn boxed<const TASK: bool, const STEPS: u8>(self) -> Result<KBox<dyn Effect>> {
        let counter = QuickCounter::<KEYS, VALUES, VARIABLES, TASK, STEPS>(self);
        Ok(KBox::new(QuickEffect(counter), GFP_KERNEL)?)
    }
}

impl<const KEYS: usize, const VALUES: usize, const VARIABLES: usize> NearCounter
    for QuickNumbers<KEYS, VALUES, VARIABLES>
{
    type Counter = NumberCounter<KEYS, VALUES, VARIABLES>;
    type Record<'a> = RecordWords<'a>;

    fn counter(&self) -> &Self::Counter {
        &self.counter
    }

    /// Also an event whose time is read by a call.
    #[inline(always)]
    fn count_near(&self, file: &EventFile, words: RecordWords<'_>, pin: PinRef<'_>) -> Option<()> {
        let counts = self.counts.if_unwatched()?;
        let env = QuickEnv::of(file, pin, self.clock);
        self.count::<false, WITH_TIME>(counts, words, &env, pin, Map::count_known)
    }
}

/// Counts events by these numbers, which need `STEPS`; with `TASK` the first key is the number of the task.
#[repr(transparent)]
struct QuickCounter<
    const KEYS: usize,
    const VALUES: usize,
    const VARIABLES: usize,
    const TASK: bool,
    const STEPS: u8,
>(QuickNumbers<KEYS, VALUES, VARIABLES>);

// SAFETY: All words that are read are those of the loads, of which `words_end` knows, and the first one.
unsafe impl<
        const KEYS: usize,
        const VALUES: usize,
        const VARIABLES: usize,
        const TASK: bool,
        const STEPS: u8,
    > FirstCounter for QuickCounter<KEYS, VALUES, VARIABLES, TASK, STEPS>
{
    type Near = QuickNumbers<KEYS, VALUES, VARIABLES>;

    fn near(&self) -> &Self::Near {
        &self.0
    }

    fn words_end(&self) -> Option<usize> {
        Some(self.0.words_end())
    }

    #[inline(always)]
    fn count_first(&self, file: &EventFile, words: RecordWords<'_>, pin: PinRef<'_>) -> Option<()> {
        let counts = self.0.counts.if_unwatched()?;
        let env = QuickEnv::here::<STEPS>(file, pin, self.0.clock)?;
        self.0
            .count::<TASK, STEPS>(counts, words, &env, pin, Map::count_first)
    }
}

/// Returns these with the place that each has in the entries of `counts`.
fn placed<const LEN: usize>(
    counts: &SharedCounts,
    loads: [QuickLoad; LEN],
) -> Option<[(VariableAt, QuickLoad); LEN]> {
    let mut all = [(VariableAt::FIRST, QuickLoad::NONE); LEN];
    for (number, (place, load)) in (0..).zip(all.iter_mut().zip(loads)) {
        *place = (counts.variable_at(number)?, load);
    }
    Some(all)
}

/// Returns what counts events as `counter` does, and by the fast path if that can be.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn quick_counter<const KEYS: usize, const VALUES: usize, const VARIABLES: usize>(
    counter: NumberCounter<KEYS, VALUES, VARIABLES>,
) -> Result<KBox<dyn Effect>> {
    let (Some(keys), Some(values), Some(variables)) = (
        QuickLoad::all::<KEYS>(&counter.keys),
        QuickLoad::all::<VALUES>(&counter.values),
        QuickLoad::all::<VARIABLES>(&counter.variables),
    ) else {
        return Ok(KBox::new(counter, GFP_KERNEL)?);
    };
    let Some(variables) = placed(&counter.counts, variables) else {
        return Ok(KBox::new(counter, GFP_KERNEL)?);
    };
    let numbers = QuickNumbers {
        counts: counter.counts.clone(),
        clock: QuickClock::of(counter.hist.plan()),
        keys,
        values,
        variables,
        counter,
    };
    let is_by_task = numbers.are_by_task();
    // Nothing of this is compiled for histograms without a variable.
    if VARIABLES == 1 && numbers.are_times() {
        return match (is_by_task, numbers.clock.times()) {
            (false, TIMES) => numbers.boxed::<false, TIMES>(),
            (false, _) => numbers.boxed::<false, TIMES_IN_USECS>(),
            (true, TIMES) => numbers.boxed::<true, TIMES>(),
            (true, _) => numbers.boxed::<true, TIMES_IN_USECS>(),
        };
    }
    match (is_by_task, numbers.steps()) {
        (false, PLAIN) => numbers.boxed::<false, PLAIN>(),
        (false, WITH_STEPS) => numbers.boxed::<false, WITH_STEPS>(),
        (false, _) => numbers.boxed::<false, WITH_TIME>(),
        (true, PLAIN) => numbers.boxed::<true, PLAIN>(),
        (true, WITH_STEPS) => numbers.boxed::<true, WITH_STEPS>(),
        (true, _) => numbers.boxed::<true, WITH_TIME>(),
    }
}
