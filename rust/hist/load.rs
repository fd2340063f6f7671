// SPDX-License-Identifier: GPL-2.0

//! How a writer gets the numbers of a plan.
//!
//! Most are numbers of the record, as they are or after one step. These are found when the plan is made, so
//! that writers need not look at the nodes of expressions.

use super::{
    expr::{
        ExprSource,
        Modifier,
        Nodes,
        PlacedNumber, //
    },
    key::{
        log2,
        KeyEnv, //
    },
    plan::Plan, //
};
use crate::event::{
    field::PID_AT,
    number_bits::NumberBits, //
};

/// What is done besides loading a word of the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LoadStep {
    /// Nothing.
    #[default]
    Plain,
    Log2,
    /// No word is loaded.
    Cpu,
    Time,
    /// The expression is evaluated.
    Expression,
}

/// Where the number of the task begins in the first word of a record, in bits.
const PID_SHIFT: u8 = (PID_AT * u8::BITS) as u8;

/// What is done with a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordStep {
    /// Nothing.
    Plain,
    Log2,
    /// It does not matter: the number is that of the CPU.
    Cpu,
    /// Nor here: it is the time.
    Time,
}

/// A number that is made of one word of a record, without a look at where that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoadedWord {
    /// Where the word begins.
    pub(crate) start: u32,
    /// Bits of it before the number.
    shift: u8,
    pub(crate) step: WordStep,
    /// Those of the number, after them.
    bits: NumberBits,
}

impl LoadedWord {
    /// Stands for no number.
    pub(crate) const NONE: Self = Self {
        start: 0,
        shift: 0,
        step: WordStep::Plain,
        bits: NumberBits::NONE,
    };

    /// The number of the task, among the common fields.
    pub(crate) const TASK: Self = Self {
        start: 0,
        shift: PID_SHIFT,
        step: WordStep::Plain,
        bits: NumberBits::below(u32::BITS, true),
    };

    /// Returns how a number is made.
    fn of(number: PlacedNumber, step: WordStep) -> Self {
        Self {
            start: number.start,
            shift: number.down.wrapping_sub(number.up),
            step,
            bits: NumberBits::below(number.down.into(), number.signed),
        }
    }

    /// Returns the number that a word has, before any step.
    #[inline(always)]
    pub(crate) fn number(&self, word: u64) -> u64 {
        self.bits.of(word.wrapping_shr(self.shift.into()))
    }
}

/// A number that writers get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NumberLoad {
    number: PlacedNumber,
    step: LoadStep,
    node: u8,
}

impl NumberLoad {
    /// Stands for no number.
    pub(super) const NONE: Self = Self {
        number: PlacedNumber::NONE,
        step: LoadStep::Plain,
        node: 0,
    };

    /// Returns how the number of a node is got.
    pub(crate) fn of(nodes: &Nodes, node: u8) -> Self {
        let atom = nodes.atom(node);
        let (number, step) = match atom.map(|atom| (atom.source, atom.modifier)) {
            Some((ExprSource::Number(number), Modifier::Log2)) => (number, LoadStep::Log2),
            Some((_, Modifier::Log2 | Modifier::Buckets(_))) => {
                (PlacedNumber::NONE, LoadStep::Expression)
            }
            Some((ExprSource::Number(number), _)) => (number, LoadStep::Plain),
            Some((ExprSource::Cpu, _)) => (PlacedNumber::NONE, LoadStep::Cpu),
            Some((ExprSource::Timestamp, _)) => (PlacedNumber::NONE, LoadStep::Time),
            _ => (PlacedNumber::NONE, LoadStep::Expression),
        };
        Self { number, step, node }
    }

    /// Returns how the number is made of one word, if it is, and of nothing that the common fields have but the
    /// number of the task.
    pub(crate) fn word(self) -> Option<LoadedWord> {
        let step = match self.step {
            LoadStep::Plain => WordStep::Plain,
            LoadStep::Log2 => WordStep::Log2,
            LoadStep::Cpu => WordStep::Cpu,
            LoadStep::Time => WordStep::Time,
            LoadStep::Expression => return None,
        };
        let word = LoadedWord::of(self.number, step);
        let is_in_record = matches!(step, WordStep::Plain | WordStep::Log2);
        let is_other_common = word.start == 0 && word.shift < PID_SHIFT;
        (!is_in_record || !is_other_common).then_some(word)
    }

    /// Returns the number. `None` when the record ends before it. Any context.
    #[inline(always)]
    pub(crate) fn read(self, plan: &Plan, record: &[u8], env: &impl KeyEnv) -> Option<u64> {
        match self.step {
            LoadStep::Plain => self.number.read(record),
            LoadStep::Log2 => self.number.read(record).map(log2),
            LoadStep::Cpu => Some(env.cpu().into()),
            LoadStep::Time => Some(env.time(plan.usecs)),
            LoadStep::Expression => plan.evaluate(self.node, record, env),
        }
    }
}
