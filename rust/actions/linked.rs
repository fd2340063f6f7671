// SPDX-License-Identifier: GPL-2.0

//! Histograms that are linked: with variables, which other histograms refer to, with such references, or with
//! actions, which record synthetic events, keep what belongs to a number, or take snapshots.
//!
//! An event whose references are not all set is not counted. One that is counted sets the variables of its
//! entry; then the actions run, in the order of the command.

use super::{
    counts::{
        Counts,
        SharedCounts, //
    },
    hist::{
        number_counter,
        task_words,
        Hist,
        HitSurroundings,
        SHORT, //
    },
    quick_link::quick_linked_counter, //
};
use crate::{
    hist::{
        expr::ExprSource,
        key::{
            recorded_stack,
            KeyEnv, //
        },
        keys::MOST_WORDS,
        parameter::Parameter,
        plan::{
            Plan,
            COMM,
            DEPTH, //
        },
        tracked::Rule,
        variable::{
            VariableKind,
            VariableShape,
            MOST_TEXTS,
            MOST_VARIABLES,
            TEXT_WORDS, //
        }, //
    },
    kapi::percpu::{
        CpuPin,
        PinRef, //
    },
    probes::{
        Effect,
        Hit,
        WANT_SNAPSHOT, //
    },
    ring::port::SharedWord,
    sources::synthetic::SyntheticRef,
    synthetic::record::SyntheticValue, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    transmute::AsBytes, //
};

/// What keys and values may need besides the record.
struct LinkedSurroundings<'a> {
    hit: HitSurroundings<'a>,
    plan: &'a Plan,
    /// The numbers of references.
    references: &'a [u64],
    /// The strings and stacks of references, each after a word, in rows of so many words.
    texts: &'a [u64],
    row: usize,
}

impl KeyEnv for LinkedSurroundings<'_> {
    fn cpu(&self) -> u32 {
        self.hit.cpu()
    }

    fn comm(&self) -> [u8; COMM] {
        self.hit.comm()
    }

    fn time(&self, usecs: bool) -> u64 {
        self.hit.time(usecs)
    }

    fn callers(&self, room: &mut [u64]) -> usize {
        self.hit.callers(room)
    }

    fn reference(&self, at: u8) -> u64 {
        self.references.get(usize::from(at)).copied().unwrap_or(0)
    }

    fn text(&self, at: u8) -> &[u64] {
        let reference = self.plan.references().get(usize::from(at));
        let words = reference.and_then(|reference| {
            let first = usize::from(reference.text).wrapping_mul(self.row);
            self.texts
                .get(first.wrapping_add(1)..first.wrapping_add(self.row))
        });
        words.unwrap_or_default()
    }
}

/// Variables, references or parameters for which a writer does not clear much of its stack.
pub(super) const FEW: usize = 4;
/// Most parameters of an action.
pub(crate) const MOST_PARAMETERS: usize = 16;

/// Returns the source of a parameter that is a node.
fn source(plan: &Plan, parameter: &Parameter) -> Option<ExprSource> {
    match *parameter {
        Parameter::Node(node) => plan.nodes.atom(node).map(|atom| atom.source),
        Parameter::Variable(_) | Parameter::Reference(..) => None,
    }
}

/// Records a synthetic event.
pub(crate) struct SyntheticRecorder {
    pub(super) synthetic: SyntheticRef,
    pub(super) parameters: KVec<Parameter>,
    /// There are few parameters, and none is the name of a task or a stack.
    is_small: bool,
}

impl SyntheticRecorder {
    /// Returns one that gives these parameters of `plan`, at most [`MOST_PARAMETERS`], to the fields of the event.
    pub(crate) fn new(plan: &Plan, synthetic: SyntheticRef, parameters: KVec<Parameter>) -> Self {
        let is_large = |parameter: &Parameter| {
            matches!(
                source(plan, parameter),
                Some(ExprSource::Comm | ExprSource::Stack)
            )
        };
        Self {
            is_small: parameters.len() <= FEW && !parameters.iter().any(is_large),
            synthetic,
            parameters,
        }
    }

    /// Records one, with what variables and references have for this event; the latter are strings and stacks only
    /// if there are `TEXTS`.
    fn record<const TEXTS: usize>(&self, counted: &CountedHit<'_>) {
        if !self.synthetic.may_be_recorded() {
            return;
        }
        match self.is_small {
            true => self.record_some::<FEW, TEXTS>(counted, (&[], &[])),
            false => self.record_all(counted),
        }
    }

    #[inline(never)]
    fn record_all(&self, counted: &CountedHit<'_>) {
        let (env, mut callers) = (&counted.env, [0; DEPTH]);
        let comm = env.comm();
        let is_stack = |parameter: &_| source(env.plan, parameter) == Some(ExprSource::Stack);
        let used = match self.parameters.iter().any(is_stack) {
            true => env.callers(&mut callers),
            false => 0,
        };
        let callers = callers.get(..used).unwrap_or_default();
        self.record_some::<MOST_PARAMETERS, MOST_TEXTS>(counted, (&comm, callers));
    }

    /// Records one with at most `MOST` parameters, the name of the task and the callers being these.
    #[inline(always)]
    fn record_some<const MOST: usize, const TEXTS: usize>(
        &self,
        counted: &CountedHit<'_>,
        (comm, callers): (&[u8], &[u64]),
    ) {
        let (env, record, own) = (&counted.env, counted.record, counted.own);
        let plan = env.plan;
        let mut values = [SyntheticValue::Number(0); MOST];
        for (value, parameter) in values.iter_mut().zip(&self.parameters) {
            let number = |numbers: &[u64], at: u8| {
                let number = numbers.get(usize::from(at)).copied();
                SyntheticValue::Number(number.unwrap_or(0))
            };
            *value = match *parameter {
                Parameter::Variable(at) => number(own, at),
                Parameter::Reference(at, shape) if TEXTS != 0 && shape.is_text() => {
                    text(env, at, shape)
                }
                Parameter::Reference(at, _) => number(env.references, at),
                Parameter::Node(node) => match plan.nodes.source(node) {
                    Some(&ExprSource::Reference(at, shape)) if TEXTS != 0 && shape.is_text() => {
                        text(env, at, shape)
                    }
                    Some(ExprSource::Text(text)) => {
                        SyntheticValue::Text(text.read(record).unwrap_or_default())
                    }
                    Some(ExprSource::Comm) => SyntheticValue::Text(comm),
                    Some(ExprSource::Stack) => SyntheticValue::Stack(callers),
                    Some(&ExprSource::StackAt(at)) => {
                        let stack = recorded_stack(record, at);
                        SyntheticValue::RecordedStack(stack.unwrap_or_default())
                    }
                    _ => SyntheticValue::Number(plan.number(node, record, env)),
                },
            };
        }
        let values = values.get(..self.parameters.len()).unwrap_or_default();
        self.synthetic.write(env.hit.hit().pin(), values);
    }
}

/// Returns the value of a reference to a string or a stack.
fn text<'e>(env: &'e LinkedSurroundings<'_>, at: u8, shape: VariableShape) -> SyntheticValue<'e> {
    let words = env.text(at);
    match shape.kind {
        VariableKind::Stack => {
            let end = words.iter().position(|word| *word == 0);
            let callers = end.and_then(|end| words.get(..end));
            SyntheticValue::Stack(callers.unwrap_or(words))
        }
        _ => SyntheticValue::Text(AsBytes::as_bytes(words)),
    }
}

/// What follows when a number takes the place of the one that an entry has.
pub(crate) enum Sequel {
    Record(SyntheticRecorder),
    /// The fields of `save` are kept with it.
    Save,
    /// The key is kept with it, if it is a number for the entries together, and a snapshot is taken.
    Snapshot,
}

/// An action.
pub(crate) enum HistDeed {
    Record(SyntheticRecorder),
    /// For the track of the plan with this number.
    Track(u8, Sequel),
}

/// What entries keep besides sums, and variables that are numbers.
#[derive(Clone, Copy)]
pub(super) enum KeptExtras {
    Nothing,
    /// Variables that are strings or stacks.
    Texts,
    /// Values that are no sums, and perhaps such variables.
    Tallies,
}

/// How much of its stack a writer needs for a histogram.
#[derive(Clone, Copy)]
enum LinkedRoom {
    /// As for the next one; the only key is a number.
    Sole,
    /// Keys are short, and there are few variables and references.
    Small,
    /// One of the references is a short string.
    OneText,
    Large,
}

/// Counts an event of a histogram that is linked.
pub(super) struct LinkedCounter {
    pub(super) hist: Arc<Hist>,
    /// Those of the histogram, so that a writer follows one reference less.
    pub(super) counts: Arc<SharedCounts>,
    room: LinkedRoom,
    /// What its entries keep besides sums and numbers.
    pub(super) more: KeptExtras,
    pub(super) deeds: KVec<HistDeed>,
}

/// An event that was counted.
struct CountedHit<'a> {
    record: &'a [u8],
    key: &'a [u64],
    entry: usize,
    counts: &'a Counts,
    /// Its variables.
    own: &'a [u64],
    env: LinkedSurroundings<'a>,
}

impl Effect for LinkedCounter {
    fn is_hist(&self) -> bool {
        true
    }

    fn needs_callers(&self) -> bool {
        self.hist.plan().nodes.have_stack()
    }

    fn miss(&self, pin: &CpuPin) {
        self.counts.drop_one(pin);
    }

    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        match self.room {
            LinkedRoom::Sole => self.count_sole(hit, record),
            LinkedRoom::Small => self.count_small(hit, record),
            LinkedRoom::OneText => self.count_one_text(hit, record),
            LinkedRoom::Large => self.count_large(hit, record),
        }
    }
}

impl LinkedCounter {
    #[inline(never)]
    fn count_sole(&self, hit: &Hit<'_>, record: &[u8]) {
        self.count::<1, FEW, 0, 1>(hit, record);
    }

    #[inline(never)]
    fn count_small(&self, hit: &Hit<'_>, record: &[u8]) {
        self.count::<SHORT, FEW, 0, 1>(hit, record);
    }

    #[inline(never)]
    fn count_one_text(&self, hit: &Hit<'_>, record: &[u8]) {
        self.count::<SHORT, FEW, 1, { SHORT + 1 }>(hit, record);
    }

    #[inline(never)]
    fn count_large(&self, hit: &Hit<'_>, record: &[u8]) {
        self.count::<MOST_WORDS, MOST_VARIABLES, MOST_TEXTS, { TEXT_WORDS + 1 }>(hit, record);
    }

    /// Counts an event whose key has `WORDS` words at most, and is one number if that is 1, with at most `LINKS` variables and references, of which
    /// `TEXTS` are strings and stacks, with a word before them of `ROW` words.
    #[inline(always)]
    fn count<const WORDS: usize, const LINKS: usize, const TEXTS: usize, const ROW: usize>(
        &self,
        hit: &Hit<'_>,
        record: &[u8],
    ) {
        let plan = self.hist.plan();
        let Some(counts) = self.counts.to_count() else {
            return;
        };
        let cpu = hit.pin().by_value();
        let mut room = [0; WORDS];
        let env = HitSurroundings::of(hit);
        let key = match WORDS {
            1 => plan.sole_key(record, &env, &mut room),
            _ => plan.key(record, &env, &mut room),
        };
        let Some(key) = key else {
            return counts.map.drop_one(cpu);
        };
        let (mut references, mut texts) = ([0; LINKS], [[0; ROW]; TEXTS]);
        if !self.hist.resolve(key, &mut references, &mut texts) {
            return;
        }
        let env = LinkedSurroundings {
            hit: env,
            plan,
            references: &references,
            texts: texts.as_flattened(),
            row: ROW,
        };
        let (added, len) = plan.added(record, &env);
        let added = added.get(..len).unwrap_or_default();
        let Some(entry) = counts.map.count_in(cpu, key, added, task_words) else {
            return;
        };
        let mut own = [0; LINKS];
        let mut at = 0usize;
        for (place, variable) in own.iter_mut().zip(plan.variables()) {
            if variable.text == 0 {
                *place = variable.load.read(plan, record, &env).unwrap_or(0);
                counts.map.set_variable(entry, at, *place);
            }
            at = at.wrapping_add(1);
        }
        match self.more {
            KeptExtras::Nothing => {}
            KeptExtras::Texts => keep_texts(&env, counts, (cpu, entry), record),
            KeptExtras::Tallies => keep_tallies(&env, counts, (cpu, entry), record),
        }
        if self.deeds.is_empty() {
            return;
        }
        let counted = CountedHit {
            record,
            key,
            entry,
            counts,
            own: &own,
            env,
        };
        for deed in &self.deeds {
            match deed {
                HistDeed::Record(recorder) => recorder.record::<TEXTS>(&counted),
                HistDeed::Track(at, sequel) => self.follow(*at, sequel, &counted),
            }
        }
    }

    /// Offers the number that a track follows to the entry.
    #[inline(never)]
    fn follow(&self, at: u8, sequel: &Sequel, counted: &CountedHit<'_>) {
        let plan = self.hist.plan();
        let at = usize::from(at);
        let (Some(track), Some(tracked)) =
            (plan.kept.tracks().get(at), counted.counts.tracked.get(at))
        else {
            return;
        };
        let hit = counted.env.hit.hit();
        let (cpu, record) = (hit.pin().number() as usize, counted.record);
        let number = counted.own.get(usize::from(track.variable)).copied();
        let number = number.unwrap_or(0);
        let saves = matches!(sequel, Sequel::Save);
        let fill = |room: &[_]| {
            if saves {
                plan.save(record, &counted.env, room);
            }
        };
        if !tracked.offer(cpu, (counted.entry, number), track.kind.rule(), fill) {
            return;
        }
        match sequel {
            Sequel::Save => {}
            Sequel::Record(recorder) => recorder.record::<MOST_TEXTS>(counted),
            Sequel::Snapshot => {
                let Some(taken) = self.counts.taken() else {
                    return;
                };
                let fill = |room: &[_]| fill_key(plan, counted.key, room);
                if taken.offer(cpu, (0, number), track.kind.rule(), fill) {
                    hit.file.sink().want(WANT_SNAPSHOT);
                }
            }
        }
    }
}

/// Keeps the variables that are strings and stacks.
#[inline(never)]
fn keep_texts(
    env: &LinkedSurroundings<'_>,
    counts: &Counts,
    (cpu, entry): (PinRef<'_>, usize),
    record: &[u8],
) {
    let plan = env.plan;
    for (variable, text) in plan.texts().zip(&counts.texts) {
        text.offer(cpu.pin().number() as usize, (entry, 1), Rule::Any, |room| {
            plan.store(variable.node, record, env, room);
        });
    }
}

/// Keeps the values that are no sums, and such variables.
#[inline(never)]
fn keep_tallies(
    env: &LinkedSurroundings<'_>,
    counts: &Counts,
    (cpu, entry): (PinRef<'_>, usize),
    record: &[u8],
) {
    env.plan.tally(record, env, |sum, number| {
        counts.map.tally(cpu, entry, sum, number);
    });
    keep_texts(env, counts, (cpu, entry), record);
}

/// Writes a key and its note.
fn fill_key<W: SharedWord>(plan: &Plan, key: &[u64], room: &[W]) {
    let (own, note) = room.split_at_checked(plan.key_words()).unwrap_or_default();
    let padded = Iterator::chain(key.iter().copied(), core::iter::repeat(0));
    for (to, word) in own.iter().zip(padded) {
        to.store(word);
    }
    if note.is_empty() {
        return;
    }
    for (to, word) in note.iter().zip(task_words()) {
        to.store(word);
    }
}

/// Returns what counts events in `hist`, which is linked, and runs these actions.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn linked_counter(hist: &Arc<Hist>, deeds: KVec<HistDeed>) -> Result<KBox<dyn Effect>> {
    let plan = hist.plan();
    if deeds.is_empty() && plan.references().is_empty() {
        if let Some(counter) = number_counter(hist)? {
            return Ok(counter);
        }
    }
    let links = plan.variables().len().max(plan.references().len());
    let is_small = plan.key_words() <= SHORT && links <= FEW;
    let counter = LinkedCounter {
        hist: hist.clone(),
        counts: hist.counts().clone(),
        room: match plan.referred_texts() {
            0 if is_small && !plan.is_variable() && plan.keys().len() == 1 => LinkedRoom::Sole,
            0 if is_small => LinkedRoom::Small,
            1 if is_small && hist.referred_words() <= SHORT => LinkedRoom::OneText,
            _ => LinkedRoom::Large,
        },
        more: match plan.texts().next() {
            _ if plan.has_tallies() => KeptExtras::Tallies,
            Some(_) => KeptExtras::Texts,
            None => KeptExtras::Nothing,
        },
        deeds,
    };
    quick_linked_counter(counter)
}
