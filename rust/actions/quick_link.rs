// SPDX-License-Identifier: GPL-2.0

//! The fast path of counting an event that is not in the ring for a histogram with references and actions: keys are
//! numbers of the event, and so are the variables and what the synthetic events get, or numbers that references give,
//! or the result of one operator. For those that are strings, and for actions that keep something, see
//! [`super::quick_kept`].
//!
//! As on the fast path of [`super::quick`] there is an entry for most events. The number that a reference takes is
//! gone when that is known, so that the rest is done here for every event.

use super::{
    counts::{
        Counts,
        SharedCounts, //
    },
    hist::{
        task_words,
        Hist, //
    },
    linked::{
        HistDeed,
        KeptExtras,
        LinkedCounter,
        SyntheticRecorder,
        FEW, //
    },
    quick::{
        QuickClock,
        QuickEnv,
        QuickLoad,
        WITH_TIME, //
    },
    quick_effect::{
        FirstCounter,
        NearCounter,
        QuickEffect, //
    },
    quick_kept::{
        QuickKept,
        ROW, //
    },
    quick_number::{
        all_of,
        LinkedHit,
        LinkedNumber, //
    },
    quick_pair::pair_counter, //
};
use crate::{
    hist::{
        map::VariableAt,
        plan::Plan,
        variable::VariableKind, //
    },
    kapi::{
        percpu::PinRef,
        scratch::RecordToRead, //
    },
    probes::{
        Effect,
        EventFile, //
    },
    sources::synthetic::SyntheticEvent, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A variable that is a number.
pub(super) struct QuickVariable {
    /// Which one it is.
    own: usize,
    /// Where entries have it.
    pub(super) at: VariableAt,
    pub(super) number: LinkedNumber,
}

impl QuickVariable {
    /// Returns those of a histogram; `None` if one takes more than an operator.
    fn all(hist: &Hist) -> Result<Option<KVec<Self>>> {
        let plan = hist.plan();
        let numbers = (0..).zip(plan.variables());
        let numbers = numbers.filter(|(_, variable)| variable.text == 0);
        all_of(numbers.map(|(own, variable)| {
            let number = LinkedNumber::of(plan, variable.node);
            let at = hist.counts().variable_at(own);
            Ok(at.zip(number).map(|(at, number)| Self { own, at, number }))
        }))
    }

    /// Returns whether it is the first one.
    pub(super) fn is_first(&self) -> bool {
        self.own == 0
    }
}

/// A reference.
pub(super) struct QuickReference {
    pub(super) counts: Arc<SharedCounts>,
    pub(super) variable: VariableAt,
    /// Whether it takes the number.
    pub(super) once: bool,
    /// Of a string: which one it is among those of its histogram, from 1.
    pub(super) text: usize,
}

impl QuickReference {
    /// Returns those of a histogram. `None` if one is to a stack, or to a string that has not room in a row of `ROW`
    /// words after the first, or a second one to a string.
    fn all<const ROW: usize>(hist: &Hist) -> Result<Option<KVec<Self>>> {
        let plan = hist.plan();
        let has_room = match plan.referred_texts() {
            0 => true,
            1 => hist.referred_words() < ROW,
            _ => false,
        };
        if !has_room {
            return Ok(None);
        }
        let references = plan.references().iter().zip(hist.sources());
        all_of(references.map(|(reference, source)| {
            let variable = usize::from(reference.variable);
            let text = match reference.shape.kind {
                VariableKind::Number => 0,
                VariableKind::String => {
                    let variable = source.plan().variables().get(variable);
                    variable.map_or(0, |variable| variable.text.into())
                }
                VariableKind::Stack => return Ok(None),
            };
            let counts = source.counts().clone();
            let variable = counts.variable_at(variable);
            Ok(variable.map(|variable| Self {
                counts,
                variable,
                once: reference.once,
                text,
            }))
        }))
    }

    /// Gets the number that the entry of a key has, or copies its string. `None` if it has none.
    #[inline(always)]
    fn resolve<const ROW: usize>(
        &self,
        key: &[u64],
        number: &mut u64,
        text: &mut [u64; ROW],
    ) -> Option<()> {
        let counts = self.counts.current()?;
        if ROW == 0 || self.text == 0 {
            let entry = counts.map.find(key)?;
            *number = counts.map.variable_of(entry, self.variable, self.once)?;
            return Some(());
        }
        let texts = counts.texts.get(self.text.wrapping_sub(1))?;
        let is_there = texts.read(counts.map.find(key)?.number, text);
        is_there.then_some(())
    }
}

/// What an event leads to beside the numbers of its entry. `ROW` is that of [`LinkedHit`].
pub(super) trait QuickDeeds<const ROW: usize>: Send + Sync + Sized + 'static {
    /// Returns that of a counter; `None` if that has more to do.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn of(counter: &LinkedCounter, plan: &Plan) -> Result<Option<Self>>;

    /// Does it for an event that was counted in `entry`. Any context.
    fn run(&self, hit: &LinkedHit<'_, ROW>, counts: &Counts, entry: usize, pin: PinRef<'_>);
}

/// A synthetic event that is recorded, and the numbers that it gets.
pub(super) struct QuickSynthetic {
    pub(super) event: Arc<SyntheticEvent>,
    pub(super) numbers: KVec<LinkedNumber>,
}

impl QuickSynthetic {
    /// Returns that of a recorder; `None` if it gets more than numbers.
    pub(super) fn of(recorder: &SyntheticRecorder, plan: &Plan) -> Result<Option<Self>> {
        if recorder.parameters.len() > FEW || !recorder.synthetic.has_numbers_alone() {
            return Ok(None);
        }
        let parameters = recorder.parameters.iter();
        let numbers = all_of(parameters.map(|of| Ok(LinkedNumber::of_parameter(plan, of))))?;
        let event = recorder.synthetic.event();
        Ok(numbers.map(|numbers| Self { event, numbers }))
    }

    /// Records it for a hit, if it is enabled anywhere. Any context.
    #[inline(always)]
    pub(super) fn record<const ROW: usize>(&self, hit: &LinkedHit<'_, ROW>, pin: PinRef<'_>) {
        if !self.event.may_be_recorded() {
            return;
        }
        let mut numbers = [0; FEW];
        for (place, number) in numbers.iter_mut().zip(&self.numbers) {
            *place = number.number(hit);
        }
        self.event.write_numbers(pin.pin(), &numbers);
    }
}

/// Synthetic events alone, in the order of the actions.
pub(super) struct QuickSynthetics(pub(super) KVec<QuickSynthetic>);

impl QuickDeeds<0> for QuickSynthetics {
    fn of(counter: &LinkedCounter, plan: &Plan) -> Result<Option<Self>> {
        if !matches!(counter.more, KeptExtras::Nothing) {
            return Ok(None);
        }
        let deeds = counter.deeds.iter();
        let all = all_of(deeds.map(|deed| match deed {
            HistDeed::Record(recorder) => QuickSynthetic::of(recorder, plan),
            HistDeed::Track(..) => Ok(None),
        }))?;
        Ok(all.map(Self))
    }

    #[inline(always)]
    fn run(&self, hit: &LinkedHit<'_, 0>, _: &Counts, _: usize, pin: PinRef<'_>) {
        for synthetic in &self.0 {
            synthetic.record(hit, pin);
        }
    }
}

/// Counts events as `counter` does, by `KEYS` numbers.
pub(super) struct QuickLinkedCounter<const KEYS: usize, const ROW: usize, D> {
    counter: LinkedCounter,
    /// Those of `counter`.
    pub(super) counts: Arc<SharedCounts>,
    pub(super) clock: QuickClock,
    pub(super) keys: [QuickLoad; KEYS],
    pub(super) references: KVec<QuickReference>,
    pub(super) variables: KVec<QuickVariable>,
    pub(super) deeds: D,
}

impl<const KEYS: usize, const ROW: usize, D: QuickDeeds<ROW>> QuickLinkedCounter<KEYS, ROW, D> {
    /// Returns the entry of a key that is not in its first slot, in which the event was counted.
    #[cold]
    #[inline(never)]
    fn count_slowly(&self, counts: &Counts, pin: PinRef<'_>, key: [u64; KEYS]) -> Option<usize> {
        counts.map.count_in(pin, &key, &[], task_words)
    }

    /// Returns one that counts as `counter` does; `counter` again if it does what is not done here.
    fn of(counter: LinkedCounter) -> Result<Result<Self, LinkedCounter>> {
        let plan = counter.hist.plan();
        let Some(keys) = QuickLoad::all(plan.key_loads()) else {
            return Ok(Err(counter));
        };
        let (Some(variables), Some(references), Some(deeds)) = (
            QuickVariable::all(&counter.hist)?,
            QuickReference::all::<ROW>(&counter.hist)?,
            D::of(&counter, plan)?,
        ) else {
            return Ok(Err(counter));
        };
        Ok(Ok(Self {
            counts: counter.counts.clone(),
            clock: QuickClock::of(plan),
            keys,
            references,
            variables,
            deeds,
            counter,
        }))
    }

    /// Returns the same as an effect.
    fn boxed(counter: LinkedCounter) -> Result<Result<KBox<dyn Effect>, LinkedCounter>> {
        let this = match Self::of(counter)? {
            Ok(this) => this,
            Err(counter) => return Ok(Err(counter)),
        };
        let boxed: KBox<dyn Effect> = KBox::new(QuickEffect(this), GFP_KERNEL)?;
        Ok(Ok(boxed))
    }
}

/// No event: the number that a reference takes would be gone.
impl<const KEYS: usize, const ROW: usize, D: QuickDeeds<ROW>> NearCounter
    for QuickLinkedCounter<KEYS, ROW, D>
{
    type Counter = LinkedCounter;
    type Record<'a> = RecordToRead<'a>;

    fn counter(&self) -> &LinkedCounter {
        &self.counter
    }

    #[inline(always)]
    fn count_near(&self, _: &EventFile, _: RecordToRead<'_>, _: PinRef<'_>) -> Option<()> {
        None
    }
}

// SAFETY: There is no `words_end`: nothing is promised of words.
unsafe impl<const KEYS: usize, const ROW: usize, D: QuickDeeds<ROW>> FirstCounter
    for QuickLinkedCounter<KEYS, ROW, D>
{
    type Near = Self;

    fn near(&self) -> &Self {
        self
    }

    /// Counts any event, unless a poller waits for it.
    #[inline(always)]
    fn count_first(
        &self,
        file: &EventFile,
        record: RecordToRead<'_>,
        pin: PinRef<'_>,
    ) -> Option<()> {
        let counts = self.counts.if_unwatched()?;
        let mut hit = LinkedHit {
            record,
            env: QuickEnv::of(file, pin, self.clock),
            references: [0; FEW],
            text: [0; ROW],
            own: [0; FEW],
        };
        let key = QuickLoad::read_all::<WITH_TIME, KEYS>(&self.keys, record.words(), &hit.env);
        for (place, reference) in hit.references.iter_mut().zip(&self.references) {
            if reference.resolve(&key, place, &mut hit.text).is_none() {
                // It is not one to count.
                return Some(());
            }
        }
        let known = counts.map.count_first(pin, &key, &[]);
        let counted = known.or_else(|| {
            let number = self.count_slowly(counts, pin, key)?;
            Some(counts.map.entry_at(number))
        });
        let Some(entry) = counted else {
            return Some(());
        };
        for variable in &self.variables {
            let number = variable.number.number(&hit);
            if let Some(place) = hit.own.get_mut(variable.own) {
                *place = number;
            }
            counts.map.set_variable_of(entry, variable.at, number);
        }
        self.deeds.run(&hit, counts, entry.number, pin);
        Some(())
    }
}

/// Returns what counts events as `counter` does, and by the fast path if that can be.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn quick_linked_counter(mut counter: LinkedCounter) -> Result<KBox<dyn Effect>> {
    let plan = counter.hist.plan();
    let is_small = plan.variables().len().max(plan.references().len()) <= FEW;
    let is_quick = is_small && counter.hist.is_related();
    if is_quick && plan.values().is_empty() && !plan.is_variable() {
        counter = match QuickLinkedCounter::<1, 0, QuickSynthetics>::of(counter)? {
            Ok(quick) => return pair_counter(quick),
            Err(counter) => counter,
        };
        let all = [
            QuickLinkedCounter::<2, 0, QuickSynthetics>::boxed,
            QuickLinkedCounter::<1, ROW, QuickKept>::boxed,
            QuickLinkedCounter::<2, ROW, QuickKept>::boxed,
        ];
        for boxed in all {
            counter = match boxed(counter)? {
                Ok(quick) => return Ok(quick),
                Err(counter) => counter,
            };
        }
    }
    Ok(KBox::new(counter, GFP_KERNEL)?)
}
