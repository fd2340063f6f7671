// SPDX-License-Identifier: GPL-2.0

//! Histograms, and the effect by which an event is counted.

use super::{
    counts::{
        Counts,
        SharedCounts, //
    },
    growth::growing_counter,
    quick::quick_counter,
    quick_text::text_counter,
    stack::with_callers_of,
    tally::tally_counter, //
};
use crate::{
    hist::{
        key::{
            comm_words,
            KeyEnv, //
        },
        keys::MOST_WORDS,
        load::NumberLoad,
        plan::{
            Plan,
            COMM, //
        }, //
    },
    kapi::{
        clock::{
            self,
            ClockId, //
        },
        percpu::{
            CpuPin,
            PinRef, //
        },
        stack,
        strings, //
    },
    probes::{
        Effect,
        EventFile,
        Hit, //
    }, //
};
use core::{
    cell::Cell,
    mem, //
};
use kernel::{
    prelude::*,
    sync::{
        Arc,
        UniqueArc, //
    }, //
};

/// Words of a key that a writer makes without clearing much of its stack.
pub(super) const SHORT: usize = 4;

/// A histogram.
#[pin_data(PinnedDrop)]
pub(crate) struct Hist {
    /// The command, without the filter; `plan` has parts of it.
    text: KVec<u8>,
    plan: Plan,
    /// The event that it counts.
    event: u16,
    /// Those that the references of the plan name.
    sources: KVec<Arc<Hist>>,
    counts: Arc<SharedCounts>,
    /// Whether another one of that name made the counts: its variables are theirs.
    follows: bool,
    /// Whether its keys may be those of all histograms that it refers to.
    is_related: bool,
    /// Of one that goes with others: the one that goes after it.
    next: Option<Pin<UniqueArc<Hist>>>,
}

#[pinned_drop]
impl PinnedDrop for Hist {
    fn drop(self: Pin<&mut Self>) {
        // Each may have the last reference to the next one, in a chain as long as users like. They go one after the
        // other, not one inside the other, for which the stack may be too short.
        let mut sources = mem::take(self.project().sources);
        let mut ended: Option<Pin<UniqueArc<Hist>>> = None;
        loop {
            while let Some(source) = sources.pop() {
                if let Some(mut last) = Arc::into_unique_or_drop(source) {
                    *last.as_mut().project().next = ended.take();
                    ended = Some(last);
                }
            }
            let Some(mut gone) = ended else {
                return;
            };
            let parts = gone.as_mut().project();
            sources = mem::take(parts.sources);
            ended = parts.next.take();
        }
    }
}

impl Hist {
    /// Returns one of the event with this id, with the histograms that the references of the plan name. It counts
    /// in what `first` does, whose plan is like this one, or in something of its own. Process context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        plan: &Plan,
        text: KVec<u8>,
        event: u16,
        sources: KVec<Arc<Hist>>,
        first: Option<&Hist>,
    ) -> Result<Arc<Self>> {
        // For keys that are stacks; one that is none of them needs little of it.
        stack::prepare()?;
        let counts = match first {
            Some(first) => first.counts.clone(),
            None => SharedCounts::new(plan)?,
        };
        let is_related = sources
            .iter()
            .all(|source| plan.has_keys_like(&source.plan));
        // In place: a plan is large.
        Arc::pin_init(
            pin_init!(Self {
                text,
                plan: *plan,
                event,
                sources,
                counts,
                follows: first.is_some(),
                is_related,
                next: None,
            }),
            GFP_KERNEL,
        )
    }

    /// Returns what it counts.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the id of the event that it counts.
    pub(crate) fn event(&self) -> u16 {
        self.event
    }

    /// Returns the histograms that it refers to, one for each reference of the plan.
    pub(crate) fn sources(&self) -> &[Arc<Hist>] {
        &self.sources
    }

    /// Returns what it counts in.
    #[inline(always)]
    pub(crate) fn counts(&self) -> &Arc<SharedCounts> {
        &self.counts
    }

    /// Returns whether it counts in what another one of its name made.
    pub(crate) fn follows(&self) -> bool {
        self.follows
    }

    /// Returns its name, if it has one, with what comes before it in a command.
    pub(crate) fn name(&self) -> Option<&[u8]> {
        self.plan.name.map(|name| name.text(&self.text))
    }

    /// Returns whether an event may have a key of all histograms that it refers to. If not, none is counted.
    pub(super) fn is_related(&self) -> bool {
        self.is_related
    }

    /// Resolves the references for an event with this key: numbers, and the strings and stacks among them by their
    /// own order, which `texts` has zeroes for. Returns whether all are set. Any context.
    #[inline(always)]
    pub(super) fn resolve<const ROW: usize>(
        &self,
        key: &[u64],
        numbers: &mut [u64],
        texts: &mut [[u64; ROW]],
    ) -> bool {
        // A key that is a part of another one is not that key.
        if !self.is_related {
            return false;
        }
        let all = self.plan.references().iter().zip(&self.sources);
        for (place, (reference, source)) in numbers.iter_mut().zip(all) {
            let Some(counts) = source.counts.current() else {
                return false;
            };
            if !texts.is_empty() && reference.shape.is_text() {
                let text = texts.get_mut(usize::from(reference.text));
                if !text.is_some_and(|room| source.read_text(counts, key, reference.variable, room))
                {
                    return false;
                }
                continue;
            }
            let variable = reference.variable.into();
            match counts.map.variable(key, variable, reference.once) {
                Some(number) => *place = number,
                None => return false,
            }
        }
        true
    }

    /// Copies the string or stack that the entry of a key has, after a word. Returns whether it has one.
    #[inline(never)]
    fn read_text(&self, counts: &Counts, key: &[u64], variable: u8, room: &mut [u64]) -> bool {
        let variable = self.plan.variables().get(usize::from(variable));
        let number = variable.and_then(|variable| variable.text.checked_sub(1));
        let text = number.and_then(|number| counts.texts.get(usize::from(number)));
        let entry = counts.map.find(key);
        match (text, entry) {
            (Some(text), Some(entry)) => text.read(entry.number, room),
            _ => false,
        }
    }

    /// Returns the most words that a string or stack has of those that it refers to.
    pub(super) fn referred_words(&self) -> usize {
        let all = self.plan.references().iter().zip(&self.sources);
        let words = all.filter_map(|(reference, source)| {
            let variables = source.plan.variables();
            let variable = variables.get(usize::from(reference.variable))?;
            (variable.text != 0).then_some(usize::from(variable.words))
        });
        words.max().unwrap_or(0)
    }

    /// Returns the text that the plan has parts of.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Begins again with nothing.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and nothing has changed.
    pub(crate) fn clear(&self) -> Result {
        self.counts.clear(&self.plan)
    }

    /// Returns what was counted, and begins again with nothing; no event is in neither or in both.
    ///
    /// # Errors
    ///
    /// `EBUSY` for one whose entries have variables, which would be lost, `ENOMEM`. Nothing has changed then.
    pub(crate) fn take(&self) -> Result<KBox<Counts>> {
        match self.may_be_taken() {
            true => self.counts.take(&self.plan),
            false => Err(EBUSY),
        }
    }

    /// Returns whether its entries have nothing but what was counted.
    pub(crate) fn may_be_taken(&self) -> bool {
        !self.plan.is_linked()
    }
}

/// Counts an event.
pub(super) struct Counter {
    hist: Arc<Hist>,
    /// Those of the histogram, so that a writer follows one reference less.
    pub(super) counts: Arc<SharedCounts>,
}

/// Returns the time by the clock of the instance, in microseconds if `usecs` and if it counts nanoseconds. Any context,
/// with preemption disabled.
#[inline(always)]
pub(super) fn time_by(file: &EventFile, usecs: bool) -> u64 {
    let id = file.sink().clock();
    in_units(clock::read(id), id, usecs)
}

/// Returns the same, if the clock is read without a call.
#[inline(always)]
pub(super) fn time_here(file: &EventFile, pin: PinRef<'_>, usecs: bool) -> Option<u64> {
    let sink = file.sink();
    let clock = match clock::InlineClock::left(sink.buffers().rings().here(pin).gate()) {
        Some(clock) => clock,
        // Recording is off.
        None => clock::InlineClock::of(sink.clock())?,
    };
    // No other clock is read so.
    Some(in_units(clock.now()?, ClockId::Local, usecs))
}

#[inline(always)]
fn in_units(time: u64, clock: ClockId, usecs: bool) -> u64 {
    match usecs && clock.in_ns() {
        true => time / 1000,
        false => time,
    }
}

/// What a key may need besides the record.
pub(super) struct HitSurroundings<'a> {
    hit: &'a Hit<'a>,
    /// When the event came, after that was asked: it has one time.
    time: Cell<Option<u64>>,
}

impl<'a> HitSurroundings<'a> {
    /// Returns what is around an event.
    #[inline(always)]
    pub(super) fn of(hit: &'a Hit<'a>) -> Self {
        let time = Cell::new(None);
        Self { hit, time }
    }

    /// Returns the event.
    #[inline(always)]
    pub(super) fn hit(&self) -> &'a Hit<'a> {
        self.hit
    }
}

impl KeyEnv for HitSurroundings<'_> {
    #[inline(always)]
    fn cpu(&self) -> u32 {
        self.hit.pin().number()
    }

    fn comm(&self) -> [u8; COMM] {
        strings::comm()
    }

    fn time(&self, usecs: bool) -> u64 {
        self.time.get().unwrap_or_else(|| {
            let time = time_by(self.hit.file, usecs);
            self.time.set(Some(time));
            time
        })
    }

    fn callers(&self, room: &mut [u64]) -> usize {
        let mut used = 0usize;
        with_callers_of(self.hit, |callers| {
            for (place, caller) in room.iter_mut().zip(callers) {
                *place = *caller;
                used = used.wrapping_add(1);
            }
        });
        used
    }
}

impl Effect for Counter {
    fn is_hist(&self) -> bool {
        true
    }

    fn needs_callers(&self) -> bool {
        self.hist.plan.nodes.have_stack()
    }

    fn miss(&self, pin: &CpuPin) {
        self.counts.drop_one(pin);
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        let plan = &self.hist.plan;
        let Some(counts) = self.counts.to_count() else {
            return;
        };
        match plan.key_words() <= SHORT {
            true => count_short(plan, counts, hit, record),
            false => count_long(plan, counts, hit, record),
        }
    }
}

/// Counts an event by `KEYS` numbers, adds up `VALUES` and sets `VARIABLES`, which is what most histograms do.
pub(super) struct NumberCounter<const KEYS: usize, const VALUES: usize, const VARIABLES: usize> {
    pub(super) keys: [NumberLoad; KEYS],
    pub(super) values: [NumberLoad; VALUES],
    pub(super) variables: [NumberLoad; VARIABLES],
    /// Those of the histogram, so that a writer follows one reference less.
    pub(super) counts: Arc<SharedCounts>,
    pub(super) hist: Arc<Hist>,
}

impl<const KEYS: usize, const VALUES: usize, const VARIABLES: usize>
    NumberCounter<KEYS, VALUES, VARIABLES>
{
    /// Returns one for `hist`, which does nothing else; `None` if it has another number of something.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn for_hist(hist: &Arc<Hist>) -> Result<Option<KBox<dyn Effect>>> {
        let plan = &hist.plan;
        let (Ok(keys), Ok(values)) = (
            <[NumberLoad; KEYS]>::try_from(plan.key_loads()),
            <[NumberLoad; VALUES]>::try_from(plan.value_loads()),
        ) else {
            return Ok(None);
        };
        let all = plan.variables();
        if all.len() != VARIABLES {
            return Ok(None);
        }
        let mut variables = [NumberLoad::default(); VARIABLES];
        for (place, variable) in variables.iter_mut().zip(all) {
            *place = variable.load;
        }
        let counter = Self {
            keys,
            values,
            variables,
            counts: hist.counts.clone(),
            hist: hist.clone(),
        };
        quick_counter(counter).map(Some)
    }
}

impl<const KEYS: usize, const VALUES: usize, const VARIABLES: usize> Effect
    for NumberCounter<KEYS, VALUES, VARIABLES>
{
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
        let (plan, env) = (&self.hist.plan, HitSurroundings::of(hit));
        let cpu = hit.pin().by_value();
        let (mut key, mut added) = ([0; KEYS], [0; VALUES]);
        for (place, load) in key.iter_mut().zip(&self.keys) {
            match load.read(plan, record, &env) {
                Some(number) => *place = number,
                None => return counts.map.drop_one(cpu),
            }
        }
        for (place, load) in added.iter_mut().zip(&self.values) {
            *place = load.read(plan, record, &env).unwrap_or(0);
        }
        let Some(entry) = counts.map.count_in(cpu, &key, &added, task_words) else {
            return;
        };
        let mut at = 0usize;
        for load in &self.variables {
            let number = load.read(plan, record, &env).unwrap_or(0);
            counts.map.set_variable(entry, at, number);
            at = at.wrapping_add(1);
        }
    }
}

/// Returns the name of the current task, as an entry has it.
#[inline(never)]
pub(super) fn task_words() -> [u64; COMM / 8] {
    comm_words(strings::comm())
}

#[inline(never)]
fn count_short(plan: &Plan, counts: &Counts, hit: &Hit<'_>, record: &[u8]) {
    count::<SHORT>(plan, counts, hit, record);
}

#[inline(never)]
fn count_long(plan: &Plan, counts: &Counts, hit: &Hit<'_>, record: &[u8]) {
    count::<MOST_WORDS>(plan, counts, hit, record);
}

#[inline(always)]
fn count<const WORDS: usize>(plan: &Plan, counts: &Counts, hit: &Hit<'_>, record: &[u8]) {
    let env = HitSurroundings::of(hit);
    let cpu = hit.pin().by_value();
    let mut room = [0; WORDS];
    let Some(key) = plan.key(record, &env, &mut room) else {
        return counts.map.drop_one(cpu);
    };
    let (added, len) = plan.added(record, &env);
    let added = added.get(..len).unwrap_or_default();
    counts.map.count(cpu, key, added, task_words);
}

/// Returns what counts events in `hist`, which has no references and no actions, if its keys and its variables are
/// a few numbers.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn number_counter(hist: &Arc<Hist>) -> Result<Option<KBox<dyn Effect>>> {
    let plan = &hist.plan;
    if plan.is_variable() || plan.has_tallies() || plan.texts().next().is_some() {
        return Ok(None);
    }
    let all = [
        NumberCounter::<1, 0, 0>::for_hist,
        NumberCounter::<1, 1, 0>::for_hist,
        NumberCounter::<2, 0, 0>::for_hist,
        NumberCounter::<2, 1, 0>::for_hist,
        NumberCounter::<1, 0, 1>::for_hist,
        NumberCounter::<2, 0, 1>::for_hist,
    ];
    for for_hist in all {
        if let Some(counter) = for_hist(hist)? {
            return Ok(Some(counter));
        }
    }
    Ok(None)
}

/// Returns what counts events in `hist`.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn counter(hist: &Arc<Hist>) -> Result<KBox<dyn Effect>> {
    let counter = fixed_counter(hist)?;
    match hist.plan.grows {
        true => growing_counter(counter, hist.counts.clone()),
        false => Ok(counter),
    }
}

/// Returns what counts events in `hist`, whatever becomes of its size.
fn fixed_counter(hist: &Arc<Hist>) -> Result<KBox<dyn Effect>> {
    if hist.plan.has_tallies() {
        return tally_counter(hist);
    }
    if let Some(counter) = number_counter(hist)? {
        return Ok(counter);
    }
    let counter = Counter {
        hist: hist.clone(),
        counts: hist.counts.clone(),
    };
    text_counter(counter, &hist.plan)
}
