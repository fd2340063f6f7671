// SPDX-License-Identifier: GPL-2.0

//! The numbers of an event on the fast path of [`super::quick_link`]: those of its record, of references and of its
//! variables, constants, and the result of one operator with two of these.

use super::{
    linked::FEW,
    quick::{
        QuickEnv,
        QuickLoad,
        WITH_TIME, //
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
    kapi::scratch::RecordToRead, //
};
use kernel::prelude::*;

/// Returns all of what a counter of the fast path is made of; `None` if one of `items` is more than it does.
///
/// # Errors
///
/// Those of the items, `ENOMEM`.
pub(super) fn all_of<T>(items: impl Iterator<Item = Result<Option<T>>>) -> Result<Option<KVec<T>>> {
    let mut all = KVec::new();
    for item in items {
        match item? {
            Some(item) => all.push(item, GFP_KERNEL)?,
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// What numbers are made of, and strings.
pub(super) struct LinkedHit<'a, const ROW: usize> {
    pub(super) record: RecordToRead<'a>,
    pub(super) env: QuickEnv,
    /// What references have.
    pub(super) references: [u64; FEW],
    /// The string of one that has no number, after a word.
    pub(super) text: [u64; ROW],
    /// The variables, as this event sets them.
    pub(super) own: [u64; FEW],
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
    fn number<const ROW: usize>(&self, hit: &LinkedHit<'_, ROW>) -> u64 {
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
pub(super) struct LinkedNumber {
    first: LinkedOperand,
    then: Option<(ExprOp, LinkedOperand)>,
}

impl LinkedNumber {
    /// Returns that of an operand.
    fn sole(first: LinkedOperand) -> Self {
        Self { first, then: None }
    }

    /// Returns that of a node; `None` if it takes more than an operator.
    pub(super) fn of(plan: &Plan, node: u8) -> Option<Self> {
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
    pub(super) fn of_parameter(plan: &Plan, parameter: &Parameter) -> Option<Self> {
        match *parameter {
            Parameter::Variable(at) => Some(Self::sole(LinkedOperand::Variable(at))),
            Parameter::Reference(_, shape) if shape.is_text() => None,
            Parameter::Reference(at, _) => Some(Self::sole(LinkedOperand::Reference(at))),
            Parameter::Node(node) => Self::of(plan, node),
        }
    }

    /// Returns from which number the first reference is subtracted, if this is such a difference.
    pub(super) fn less_reference(&self) -> Option<QuickLoad> {
        match (self.first, self.then) {
            (LinkedOperand::Load(load), Some((ExprOp::Minus, LinkedOperand::Reference(0)))) => {
                Some(load)
            }
            _ => None,
        }
    }

    /// Returns whether it is the first variable.
    pub(super) fn is_variable(&self) -> bool {
        matches!((self.first, self.then), (LinkedOperand::Variable(0), None))
    }

    #[inline(always)]
    pub(super) fn number<const ROW: usize>(&self, hit: &LinkedHit<'_, ROW>) -> u64 {
        let first = self.first.number(hit);
        match self.then {
            None => first,
            Some((op, second)) => op.of(first, second.number(hit)),
        }
    }
}
