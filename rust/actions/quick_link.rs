// SPDX-License-Identifier: GPL-2.0

//! The fast path of counting an event that is not in the ring for a histogram with references and synthetic events:
//! keys are numbers of the event, and so are the variables and what the synthetic events get, or numbers that
//! references give, or the result of one operator.
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
    }, //
};
use crate::{
    hist::{
        expr::{
            ExprNode,
            ExprOp,
            ExprSource,
            Modifier, //
        },
        load::NumberLoad,
        parameter::Parameter,
        plan::Plan, //
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

/// What numbers are made of.
struct LinkedHit<'a> {
    record: RecordToRead<'a>,
    env: QuickEnv,
    /// What references have.
    references: [u64; FEW],
    /// The variables, as this event sets them.
    own: [u64; FEW],
}

/// An operand.
#[derive(Clone, Copy)]
enum LinkedOperand {
    Load(QuickLoad),
    Reference(u8),
    Variable(u8),
    Constant(u64),
}

impl LinkedOperand {
    /// Returns that of a node which is an atom; `None` if it takes more than a step.
    fn of(plan: &Plan, node: u8) -> Option<Self> {
        let atom = plan.nodes.atom(node)?;
        if matches!(atom.modifier, Modifier::Buckets(_)) {
            return None;
        }
        match atom.source {
            _ if atom.source.is_text() => None,
            ExprSource::Reference(at, _) if atom.modifier != Modifier::Log2 => {
                Some(Self::Reference(at))
            }
            ExprSource::Constant(number) if atom.modifier != Modifier::Log2 => {
                Some(Self::Constant(number))
            }
            _ => QuickLoad::of(&NumberLoad::of(&plan.nodes, node)).map(Self::Load),
        }
    }

    #[inline(always)]
    fn number(&self, hit: &LinkedHit<'_>) -> u64 {
        let among = |numbers: &[u64; FEW], at: u8| numbers.get(usize::from(at)).copied();
        match *self {
            Self::Load(load) => load.read::<WITH_TIME>(hit.record.words(), &hit.env),
            Self::Reference(at) => among(&hit.references, at).unwrap_or(0),
            Self::Variable(at) => among(&hit.own, at).unwrap_or(0),
            Self::Constant(number) => number,
        }
    }
}

/// A number.
#[derive(Clone, Copy)]
struct LinkedNumber {
    first: LinkedOperand,
    then: Option<(ExprOp, LinkedOperand)>,
}

impl LinkedNumber {
    /// Returns that of an operand.
    fn sole(first: LinkedOperand) -> Self {
        Self { first, then: None }
    }

    /// Returns that of a node; `None` if it takes more than an operator.
    fn of(plan: &Plan, node: u8) -> Option<Self> {
        match plan.nodes.get(node) {
            ExprNode::Atom(_) => LinkedOperand::of(plan, node).map(Self::sole),
            ExprNode::Binary(op, left, right) => Some(Self {
                first: LinkedOperand::of(plan, left)?,
                then: Some((op, LinkedOperand::of(plan, right)?)),
            }),
            ExprNode::Negated(_) => None,
        }
    }

    /// Returns that of a parameter.
    fn of_parameter(plan: &Plan, parameter: &Parameter) -> Option<Self> {
        match *parameter {
            Parameter::Variable(at) => Some(Self::sole(LinkedOperand::Variable(at))),
            Parameter::Reference(_, shape) if shape.is_text() => None,
            Parameter::Reference(at, _) => Some(Self::sole(LinkedOperand::Reference(at))),
            Parameter::Node(node) => Self::of(plan, node),
        }
    }

    #[inline(always)]
    fn number(&self, hit: &LinkedHit<'_>) -> u64 {
        let first = self.first.number(hit);
        match self.then {
            None => first,
            Some((op, second)) => op.of(first, second.number(hit)),
        }
    }
}

/// A reference.
struct QuickReference {
    counts: Arc<SharedCounts>,
    variable: usize,
    /// Whether it takes the number.
    once: bool,
}

impl QuickReference {
    /// Returns those of a histogram; `None` if one is to a string or a stack.
    fn all(hist: &Hist) -> Result<Option<KVec<Self>>> {
        let mut all = KVec::new();
        for (reference, source) in hist.plan().references().iter().zip(hist.sources()) {
            if reference.shape.is_text() {
                return Ok(None);
            }
            let reference = Self {
                counts: source.counts().clone(),
                variable: reference.variable.into(),
                once: reference.once,
            };
            all.push(reference, GFP_KERNEL)?;
        }
        Ok(Some(all))
    }

    /// Returns the number that the entry of a key has, if it has one.
    #[inline(always)]
    fn number(&self, key: &[u64]) -> Option<u64> {
        let counts = self.counts.current()?;
        counts.map.variable(key, self.variable, self.once)
    }
}

/// A synthetic event that is recorded, and what it gets.
struct QuickSynthetic {
    event: Arc<SyntheticEvent>,
    numbers: KVec<LinkedNumber>,
}

impl QuickSynthetic {
    /// Returns those of a counter, in the order of its actions; `None` if one of these is of another kind.
    fn all(counter: &LinkedCounter, plan: &Plan) -> Result<Option<KVec<Self>>> {
        let mut all = KVec::new();
        for deed in &counter.deeds {
            let HistDeed::Record(recorder) = deed else {
                return Ok(None);
            };
            if recorder.parameters.len() > FEW || !recorder.synthetic.has_numbers_alone() {
                return Ok(None);
            }
            let mut numbers = KVec::new();
            for parameter in &recorder.parameters {
                match LinkedNumber::of_parameter(plan, parameter) {
                    Some(number) => numbers.push(number, GFP_KERNEL)?,
                    None => return Ok(None),
                }
            }
            let event = recorder.synthetic.event();
            all.push(Self { event, numbers }, GFP_KERNEL)?;
        }
        Ok(Some(all))
    }

    /// Records it for a hit, if it is enabled anywhere. Any context.
    #[inline(always)]
    fn record(&self, hit: &LinkedHit<'_>, pin: PinRef<'_>) {
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

/// Counts events as `counter` does, by `KEYS` numbers.
struct QuickLinkedCounter<const KEYS: usize> {
    counter: LinkedCounter,
    /// Those of `counter`.
    counts: Arc<SharedCounts>,
    clock: QuickClock,
    keys: [QuickLoad; KEYS],
    references: KVec<QuickReference>,
    variables: KVec<LinkedNumber>,
    synthetics: KVec<QuickSynthetic>,
}

impl<const KEYS: usize> QuickLinkedCounter<KEYS> {
    /// Returns the entry of a key that is not in its first slot, in which the event was counted.
    #[cold]
    #[inline(never)]
    fn count_slowly(&self, counts: &Counts, cpu: usize, key: [u64; KEYS]) -> Option<usize> {
        counts.map.count_in(cpu, &key, &[], task_words)
    }

    /// Returns what counts as `counter` does; `counter` again if it does what is not done here.
    fn boxed(counter: LinkedCounter) -> Result<Result<KBox<dyn Effect>, LinkedCounter>> {
        let plan = counter.hist.plan();
        let Some(keys) = QuickLoad::all(plan.key_loads()) else {
            return Ok(Err(counter));
        };
        let mut variables = KVec::new();
        for variable in plan.variables() {
            let Some(number) = LinkedNumber::of(plan, variable.node) else {
                return Ok(Err(counter));
            };
            variables.push(number, GFP_KERNEL)?;
        }
        let (Some(references), Some(synthetics)) = (
            QuickReference::all(&counter.hist)?,
            QuickSynthetic::all(&counter, plan)?,
        ) else {
            return Ok(Err(counter));
        };
        let this = Self {
            counts: counter.counts.clone(),
            clock: QuickClock::of(plan),
            keys,
            references,
            variables,
            synthetics,
            counter,
        };
        let boxed: KBox<dyn Effect> = KBox::new(QuickEffect(this), GFP_KERNEL)?;
        Ok(Ok(boxed))
    }
}

/// No event: the number that a reference takes would be gone.
impl<const KEYS: usize> NearCounter for QuickLinkedCounter<KEYS> {
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
unsafe impl<const KEYS: usize> FirstCounter for QuickLinkedCounter<KEYS> {
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
            own: [0; FEW],
        };
        let key = QuickLoad::read_all::<WITH_TIME, KEYS>(&self.keys, record.words(), &hit.env);
        for (place, reference) in hit.references.iter_mut().zip(&self.references) {
            match reference.number(&key) {
                Some(number) => *place = number,
                // It is not one to count.
                None => return Some(()),
            }
        }
        let cpu = hit.env.cpu as usize;
        let known = counts.map.count_first(cpu, &key, &[]);
        let Some(entry) = known.or_else(|| self.count_slowly(counts, cpu, key)) else {
            return Some(());
        };
        let mut at = 0usize;
        for variable in &self.variables {
            let number = variable.number(&hit);
            if let Some(place) = hit.own.get_mut(at) {
                *place = number;
            }
            counts.map.set_variable(entry, at, number);
            at = at.wrapping_add(1);
        }
        for synthetic in &self.synthetics {
            synthetic.record(&hit, pin);
        }
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
    let counts_alone = plan.values().is_empty() && matches!(counter.more, KeptExtras::Nothing);
    if is_small && counts_alone && !plan.is_variable() {
        let all = [
            QuickLinkedCounter::<1>::boxed,
            QuickLinkedCounter::<2>::boxed,
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
