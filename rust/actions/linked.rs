// SPDX-License-Identifier: GPL-2.0

//! Histograms that are linked: with variables, which other histograms refer to, with such references, or with
//! actions, which record synthetic events.
//!
//! An event whose references are not all set is not counted. One that is counted sets the variables of its
//! entry; then the actions run, in the order of the command.

use super::hist::{
    task_words,
    Hist,
    HitSurroundings,
    SHORT, //
};
use crate::{
    hist::{
        expr::ExprSource,
        key::KeyEnv,
        plan::{
            Parameter,
            COMM,
            DEPTH,
            MOST_WORDS, //
        },
        variable::MOST_VARIABLES, //
    },
    kapi::strings,
    probes::{
        Effect,
        Hit, //
    },
    sources::synthetic::SyntheticRef,
    synthetic::record::SyntheticValue, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// What keys and values may need besides the record.
struct LinkedSurroundings<'a> {
    hit: HitSurroundings<'a>,
    /// The numbers of references.
    references: &'a [u64],
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
}

/// Most parameters of an action.
pub(crate) const MOST_PARAMETERS: usize = 16;

/// Records a synthetic event.
pub(crate) struct SyntheticRecorder {
    synthetic: SyntheticRef,
    parameters: KVec<Parameter>,
}

impl SyntheticRecorder {
    /// Returns one that gives these parameters, at most [`MOST_PARAMETERS`], to the fields of the event.
    pub(crate) fn new(synthetic: SyntheticRef, parameters: KVec<Parameter>) -> Self {
        Self {
            synthetic,
            parameters,
        }
    }

    /// Records one, with the numbers that variables and references have for this event.
    #[inline(never)]
    fn record(
        &self,
        hist: &Hist,
        hit: &Hit<'_>,
        record: &[u8],
        own: &[u64],
        env: &LinkedSurroundings<'_>,
    ) {
        let plan = hist.plan();
        let comm = strings::comm();
        let mut callers = [0; DEPTH];
        let mut values = [SyntheticValue::Number(0); MOST_PARAMETERS];
        let is_stack = |parameter: &Parameter| match parameter {
            Parameter::Node(node) => {
                let atom = plan.nodes.atom(*node);
                atom.is_some_and(|atom| atom.source == ExprSource::Stack)
            }
            Parameter::Variable(_) | Parameter::Reference(..) => false,
        };
        let used = match self.parameters.iter().any(is_stack) {
            true => env.callers(&mut callers),
            false => 0,
        };
        let callers = callers.get(..used).unwrap_or_default();
        for (value, parameter) in values.iter_mut().zip(&self.parameters) {
            let number = |numbers: &[u64], at: u8| {
                let number = numbers.get(usize::from(at)).copied();
                SyntheticValue::Number(number.unwrap_or(0))
            };
            *value = match *parameter {
                Parameter::Variable(at) => number(own, at),
                Parameter::Reference(at, _) => number(env.references, at),
                Parameter::Node(node) => match plan.nodes.atom(node).map(|atom| atom.source) {
                    Some(ExprSource::Text(text)) => {
                        SyntheticValue::Text(text.read(record).unwrap_or_default())
                    }
                    Some(ExprSource::Comm) => SyntheticValue::Text(&comm),
                    Some(ExprSource::Stack) => SyntheticValue::Stack(callers),
                    _ => SyntheticValue::Number(plan.number(node, record, env)),
                },
            };
        }
        let values = values.get(..self.parameters.len()).unwrap_or_default();
        self.synthetic.write(hit.pin, values);
    }
}

/// Counts an event of a histogram that is linked.
struct LinkedCounter {
    hist: Arc<Hist>,
    recorders: KVec<SyntheticRecorder>,
}

impl Effect for LinkedCounter {
    fn act(&self, hit: &Hit<'_>, record: &[u8]) {
        match self.hist.plan().key_words() <= SHORT {
            true => self.count_short(hit, record),
            false => self.count_long(hit, record),
        }
    }
}

impl LinkedCounter {
    #[inline(never)]
    fn count_short(&self, hit: &Hit<'_>, record: &[u8]) {
        self.count::<SHORT>(hit, record);
    }

    #[inline(never)]
    fn count_long(&self, hit: &Hit<'_>, record: &[u8]) {
        self.count::<MOST_WORDS>(hit, record);
    }

    #[inline(always)]
    fn count<const WORDS: usize>(&self, hit: &Hit<'_>, record: &[u8]) {
        let plan = self.hist.plan();
        let Some(counts) = self.hist.current() else {
            return;
        };
        let cpu = hit.pin.cpu() as usize;
        let mut room = [0; WORDS];
        let env = HitSurroundings(hit);
        let Some(key) = plan.key(record, &env, &mut room) else {
            return counts.drop_one(cpu);
        };
        let mut references = [0; MOST_VARIABLES];
        if !self.hist.resolve(key, &mut references) {
            return;
        }
        let env = LinkedSurroundings {
            hit: HitSurroundings(hit),
            references: &references,
        };
        let (added, len) = plan.added(record, &env);
        let added = added.get(..len).unwrap_or_default();
        let Some(entry) = counts.count_in(cpu, key, added, task_words) else {
            return;
        };
        let mut own = [0; MOST_VARIABLES];
        let mut at = 0usize;
        for (place, variable) in own.iter_mut().zip(plan.variables()) {
            *place = plan.number(variable.node, record, &env);
            counts.set_variable(entry, at, *place);
            at = at.wrapping_add(1);
        }
        for recorder in &self.recorders {
            recorder.record(&self.hist, hit, record, &own, &env);
        }
    }
}

/// Returns what counts events in `hist`, which is linked, and runs these actions.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn linked_counter(
    hist: &Arc<Hist>,
    recorders: KVec<SyntheticRecorder>,
) -> Result<KBox<dyn Effect>> {
    let hist = hist.clone();
    Ok(KBox::new(LinkedCounter { hist, recorders }, GFP_KERNEL)?)
}
