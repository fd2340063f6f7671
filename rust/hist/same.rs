// SPDX-License-Identifier: GPL-2.0

//! Whether two commands make the same histogram.

use super::{
    expr::{
        ExprNode,
        ExprSource, //
    },
    keys::KeyField,
    plan::Plan, //
};

impl Plan {
    /// Returns whether both make the same histogram: ftrace takes the second one for the first. Sizes do not
    /// matter, nor do names for the same thing.
    pub(crate) fn is_same(&self, text: &[u8], other: &Self, other_text: &[u8]) -> bool {
        let same = |(one, two): (&u8, &u8)| self.is_same_node(*one, other, *two);
        let variables = self.variables().len() == other.variables().len();
        let mut pairs = self.variables().iter().zip(other.variables());
        let same_variables = pairs.all(|(one, two)| {
            one.name.text(text) == two.name.text(other_text)
                && self.is_same_node(one.node, other, two.node)
        });
        let same_actions = self.actions(text).eq(other.actions(other_text));
        let keys = self.keys().len() == other.keys().len();
        let values = self.values().len() == other.values().len();
        variables
            && same_variables
            && same_actions
            && keys
            && values
            && self.sorts() == other.sorts()
            && self.values().iter().zip(other.values()).all(same)
            && self
                .keys()
                .iter()
                .zip(other.keys())
                .all(|(one, two)| self.is_same_node(one.node, other, two.node))
    }

    /// Returns whether the events of both can be counted together: fields are called the same and have the same
    /// types, wherever records have them, and entries have the same words.
    pub(crate) fn is_like(&self, text: &[u8], other: &Self, other_text: &[u8]) -> bool {
        let like = |one, two| self.is_like_node((one, text), other, (two, other_text));
        let key = |key: &KeyField| (key.at, key.words, key.bytes);
        let mut keys = self.keys().iter().zip(other.keys());
        let mut values = self.values().iter().zip(other.values());
        let mut variables = self.variables().iter().zip(other.variables());
        self.keys().len() == other.keys().len()
            && self.values().len() == other.values().len()
            && self.variables().len() == other.variables().len()
            && self.sorts() == other.sorts()
            && keys.all(|(one, two)| key(one) == key(two) && like(one.node, two.node))
            && values.all(|(one, two)| like(*one, *two))
            && variables.all(|(one, two)| {
                one.name.text(text) == two.name.text(other_text)
                    && (one.text, one.words) == (two.text, two.words)
                    && like(one.node, two.node)
            })
            && self.actions(text).eq(other.actions(other_text))
            && self.kept.is_like(&other.kept)
    }

    fn is_like_node(&self, (at, text): (u8, &[u8]), other: &Self, of: (u8, &[u8])) -> bool {
        let (other_at, other_text) = of;
        let like = |one, two| self.is_like_node((one, text), other, (two, other_text));
        match (self.nodes.get(at), other.nodes.get(other_at)) {
            (ExprNode::Atom(one), ExprNode::Atom(two)) => {
                one.modifier == two.modifier
                    && one.name.text(text) == two.name.text(other_text)
                    && match (one.source, two.source) {
                        (ExprSource::Number(_), ExprSource::Number(_)) => {
                            self.nodes.shape(at) == other.nodes.shape(other_at)
                        }
                        (ExprSource::Text(one), ExprSource::Text(two)) => {
                            (one.ty, one.size) == (two.ty, two.size)
                        }
                        (one, two) => self.is_same_source(one, other, two),
                    }
            }
            (ExprNode::Binary(op, a, b), ExprNode::Binary(other_op, c, d)) => {
                op == other_op && like(a, c) && like(b, d)
            }
            (ExprNode::Negated(a), ExprNode::Negated(b)) => like(a, b),
            _ => false,
        }
    }

    fn is_same_node(&self, at: u8, other: &Self, other_at: u8) -> bool {
        match (self.nodes.get(at), other.nodes.get(other_at)) {
            (ExprNode::Atom(one), ExprNode::Atom(two)) => {
                self.is_same_source(one.source, other, two.source) && one.modifier == two.modifier
            }
            (ExprNode::Binary(op, a, b), ExprNode::Binary(other_op, c, d)) => {
                op == other_op && self.is_same_node(a, other, c) && self.is_same_node(b, other, d)
            }
            (ExprNode::Negated(a), ExprNode::Negated(b)) => self.is_same_node(a, other, b),
            _ => false,
        }
    }

    fn is_same_source(&self, one: ExprSource, other: &Self, two: ExprSource) -> bool {
        let variable = |plan: &Self, at: u8| {
            let reference = plan.references().get(usize::from(at)).copied();
            reference.map(|reference| (reference.hist, reference.variable))
        };
        match (one, two) {
            (ExprSource::Reference(one, _), ExprSource::Reference(two, _)) => {
                variable(self, one) == variable(other, two)
            }
            _ => one == two,
        }
    }
}
