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
        NumberAt, //
    },
    key::{
        log2,
        KeyEnv, //
    },
    plan::Plan, //
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

/// A number that writers get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NumberLoad {
    number: NumberAt,
    step: LoadStep,
    node: u8,
}

impl NumberLoad {
    /// Stands for no number.
    pub(super) const NONE: Self = Self {
        number: NumberAt::NONE,
        step: LoadStep::Plain,
        node: 0,
    };

    /// Returns how the number of a node is got.
    pub(super) fn of(nodes: &Nodes, node: u8) -> Self {
        let atom = nodes.atom(node);
        let (number, step) = match atom.map(|atom| (atom.source, atom.modifier)) {
            Some((ExprSource::Number(number), Modifier::Log2)) => (number, LoadStep::Log2),
            Some((_, Modifier::Log2 | Modifier::Buckets(_))) => {
                (NumberAt::NONE, LoadStep::Expression)
            }
            Some((ExprSource::Number(number), _)) => (number, LoadStep::Plain),
            Some((ExprSource::Cpu, _)) => (NumberAt::NONE, LoadStep::Cpu),
            Some((ExprSource::Timestamp, _)) => (NumberAt::NONE, LoadStep::Time),
            _ => (NumberAt::NONE, LoadStep::Expression),
        };
        Self { number, step, node }
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
