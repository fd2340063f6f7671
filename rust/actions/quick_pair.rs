// SPDX-License-Identifier: GPL-2.0

//! The fast path of the second one of two events that are matched by one number, as most are: its histogram has the
//! difference between a number of it, or its time, and what the first one left for that key; a synthetic event gets
//! this alone.
//!
//! Both entries are looked for in the first slot of the key before the number of the first event is taken. If one of
//! them may be elsewhere, or a call is needed for the time, nothing has changed, and the event is counted by
//! [`super::quick_link`]. So no call is made but the jump to what records the synthetic event.

use super::{
    counts::SharedCounts,
    quick::{
        QuickClock,
        QuickEnv,
        QuickLoad,
        PLAIN,
        TIMES,
        TIMES_IN_USECS, //
    },
    quick_effect::QuickEffect,
    quick_link::{
        QuickLinkedCounter,
        QuickReference,
        QuickSynthetic,
        QuickSynthetics, //
    },
};
use crate::{
    hist::map::{
        FirstSlot,
        Map,
        VariableAt, //
    },
    kapi::{
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
        Hit,
        LightEffect,
        LightEnd, //
    },
    sources::synthetic::SyntheticEvent, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// What counts any event of such a histogram.
type PairRest = QuickLinkedCounter<1, 0, QuickSynthetics>;

/// What is done for such an event.
struct MatchedPair {
    /// Those of `rest`.
    counts: Arc<SharedCounts>,
    /// Those of the histogram of the first event, and which one of its variables is taken.
    begun: Arc<SharedCounts>,
    variable: VariableAt,
    /// Where the difference is kept.
    own: VariableAt,
    clock: QuickClock,
    key: QuickLoad,
    /// That from which the other one is subtracted.
    number: QuickLoad,
    synthetic: Arc<SyntheticEvent>,
    rest: QuickEffect<PairRest>,
}

/// What became of an event.
enum PairOutcome {
    /// It was counted, with this difference.
    Counted(u64),
    /// It is not one to count: there was no first event.
    Unmatched,
    /// Nothing was done, because that is for [`MatchedPair::rest`].
    Undone,
}

/// Counts the events of a pair. With `TASK` the key is the number of the task; `STEPS` are those of a variable that is the
/// number.
#[repr(transparent)]
struct PairCounter<const TASK: bool, const STEPS: u8>(MatchedPair);

impl<const TASK: bool, const STEPS: u8> PairCounter<TASK, STEPS> {
    /// Returns it as an effect.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn boxed(pair: MatchedPair) -> Result<KBox<dyn Effect>> {
        Ok(KBox::new(Self(pair), GFP_KERNEL)?)
    }

    /// Counts an event, and sets its variable. Any context.
    #[inline(always)]
    fn count(&self, file: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>) -> PairOutcome {
        let pair = &self.0;
        let Some(env) = QuickEnv::here::<STEPS>(file, pin, pair.clock) else {
            return PairOutcome::Undone;
        };
        let Some(begun) = pair.begun.current() else {
            return PairOutcome::Undone;
        };
        let Some(counts) = pair.counts.if_unwatched() else {
            return PairOutcome::Undone;
        };
        let key = match TASK {
            true => QuickLoad::TASK.read::<PLAIN>(record.words(), &env),
            false => pair.key.read::<PLAIN>(record.words(), &env),
        };
        let hash = Map::<Kernel>::hash_of(&[key]);
        let first = match begun.map.first_slot(&[key], hash) {
            FirstSlot::Own(first) => first,
            FirstSlot::Empty => return PairOutcome::Unmatched,
            FirstSlot::Other => return PairOutcome::Undone,
        };
        let FirstSlot::Own(entry) = counts.map.first_slot(&[key], hash) else {
            return PairOutcome::Undone;
        };
        // From here on the event is counted, or is none to count.
        let Some(before) = begun.map.variable_of(first, pair.variable, true) else {
            return PairOutcome::Unmatched;
        };
        counts.map.count_at(pin, entry, &[]);
        let number = match STEPS {
            TIMES | TIMES_IN_USECS => env.time,
            _ => pair.number.read::<PLAIN>(record.words(), &env),
        };
        let difference = number.wrapping_sub(before);
        counts.map.set_variable_of(entry, pair.own, difference);
        PairOutcome::Counted(difference)
    }
}

/// Records the synthetic event, and ends the event that led to it, which may be recorded as well.
#[inline(never)]
fn end_both(
    file: &EventFile,
    record: scratch::Record<'_>,
    synthetic: &SyntheticEvent,
    number: u64,
    exit: Exit,
) {
    synthetic.write_number(number, Exit::begin());
    commit_counted(file, record, exit);
}

/// Counts an event as any other, and ends it.
#[inline(never)]
fn end_by_rest(
    file: &EventFile,
    record: scratch::Record<'_>,
    rest: &QuickEffect<PairRest>,
    exit: Exit,
) {
    rest.end_lightly(file, record, exit);
}

/// Counts an event as any other.
#[inline(never)]
fn act_by_rest(
    rest: &QuickEffect<PairRest>,
    file: &EventFile,
    record: RecordToRead<'_>,
    pin: PinRef<'_>,
) {
    rest.act_lightly(file, record, pin);
}

impl<const TASK: bool, const STEPS: u8> Effect for PairCounter<TASK, STEPS> {
    fn is_hist(&self) -> bool {
        true
    }

    fn light_end(&self) -> Option<LightEnd> {
        Some(LightEnd::of(self))
    }

    fn act_lightly(&self, file: &EventFile, record: RecordToRead<'_>, pin: PinRef<'_>) {
        let synthetic = &self.0.synthetic;
        match self.count(file, record, pin) {
            PairOutcome::Counted(number) if synthetic.may_be_recorded() => {
                synthetic.write_number(number, Exit::begin());
            }
            PairOutcome::Counted(_) | PairOutcome::Unmatched => {}
            PairOutcome::Undone => act_by_rest(&self.0.rest, file, record, pin),
        }
    }

    fn miss(&self, pin: &CpuPin) {
        self.0.rest.miss(pin);
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        self.0.rest.act(hit, record);
    }
}

impl<const TASK: bool, const STEPS: u8> LightEffect for PairCounter<TASK, STEPS> {
    #[inline(always)]
    fn end_lightly(&self, file: &EventFile, record: scratch::Record<'_>, exit: Exit) {
        let synthetic = &self.0.synthetic;
        match self.count(file, record.to_read(), exit.pin()) {
            PairOutcome::Counted(number) if file.is_off() => {
                // All that is needed of it is known: the synthetic event, which may have triggers itself, gets its place.
                record.end();
                synthetic.write_number(number, exit);
            }
            PairOutcome::Counted(number) => end_both(file, record, synthetic, number, exit),
            PairOutcome::Unmatched => commit_counted(file, record, exit),
            PairOutcome::Undone => end_by_rest(file, record, &self.0.rest, exit),
        }
    }
}

/// Returns what is needed of a counter besides its key: the number, its variable, the reference and the synthetic
/// event. `None` if it does more.
fn parts(rest: &PairRest) -> Option<(QuickLoad, VariableAt, &QuickReference, &QuickSynthetic)> {
    let ([key], [reference], [variable], [synthetic]) = (
        &rest.keys,
        &rest.references[..],
        &rest.variables[..],
        &rest.deeds.0[..],
    ) else {
        return None;
    };
    let [given] = &synthetic.numbers[..] else {
        return None;
    };
    let number = variable.number.less_reference()?;
    let is_number = reference.once && reference.text == 0;
    let are_read = key.is_plain() && (number.is_plain() || number.is_time());
    let is_given = variable.is_first() && given.is_variable() && synthetic.event.has_one_number();
    (is_number && are_read && is_given).then_some((number, variable.at, reference, synthetic))
}

/// Returns what counts events as `rest` does, and by the fast path of a pair if they are one.
///
/// # Errors
///
/// `ENOMEM`.
pub(super) fn pair_counter(rest: PairRest) -> Result<KBox<dyn Effect>> {
    let Some((number, own, reference, synthetic)) = parts(&rest) else {
        return Ok(KBox::new(QuickEffect(rest), GFP_KERNEL)?);
    };
    let [key] = rest.keys;
    let pair = MatchedPair {
        counts: rest.counts.clone(),
        begun: reference.counts.clone(),
        variable: reference.variable,
        own,
        clock: rest.clock,
        key,
        number,
        synthetic: synthetic.event.clone(),
        rest: QuickEffect(rest),
    };
    let steps = match number.is_time() {
        true => pair.clock.times(),
        false => PLAIN,
    };
    match (key.is_task(), steps) {
        (false, TIMES) => PairCounter::<false, TIMES>::boxed(pair),
        (false, TIMES_IN_USECS) => PairCounter::<false, TIMES_IN_USECS>::boxed(pair),
        (false, _) => PairCounter::<false, PLAIN>::boxed(pair),
        (true, TIMES) => PairCounter::<true, TIMES>::boxed(pair),
        (true, TIMES_IN_USECS) => PairCounter::<true, TIMES_IN_USECS>::boxed(pair),
        (true, _) => PairCounter::<true, PLAIN>::boxed(pair),
    }
}
