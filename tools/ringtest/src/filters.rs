// SPDX-License-Identifier: GPL-2.0
//! Random filters: a compiled one answers as its expression does, whatever the predicates say.

use proptest::prelude::*;

use crate::event::field_type::AddressSpace;
use crate::expr::fetch::{Env, Operand};
use crate::expr::predicate::Names;
use crate::expr::program::{Node, PredicateText, Program};
use crate::expr::structure;

/// An expression over predicates numbered by the bit of a record that they look at.
#[derive(Clone, Debug)]
enum Expr {
    Bit(u8),
    Not(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
}

impl Expr {
    fn value(&self, bits: u8) -> bool {
        match self {
            Expr::Bit(n) => bits >> n & 1 != 0,
            Expr::Not(e) => !e.value(bits),
            Expr::And(all) => all.iter().all(|e| e.value(bits)),
            Expr::Or(any) => any.iter().any(|e| e.value(bits)),
        }
    }

    /// As text: with parentheses where they are needed, and some more.
    fn text(&self, more: bool) -> String {
        let operand = |e: &Expr, bare: bool| match e {
            Expr::Bit(_) | Expr::Not(_) if !more => e.text(more),
            Expr::And(_) if bare && !more => e.text(more),
            _ => format!("({})", e.text(more)),
        };
        match self {
            Expr::Bit(n) => format!("bits & {}", 1 << n),
            Expr::Not(e) => format!("!{}", operand(e, false)),
            Expr::And(all) => {
                let all: Vec<_> = all.iter().map(|e| operand(e, false)).collect();
                all.join("&&")
            }
            Expr::Or(any) => {
                let any: Vec<_> = any.iter().map(|e| operand(e, true)).collect();
                any.join(" || ")
            }
        }
    }
}

struct Bits;

impl Names for Bits {
    fn field(&self, name: &str) -> Option<Operand> {
        (name == "bits").then(|| Operand::stored("u8", 0, 1, false))
    }
    fn function(&self, _: &str) -> Option<(u64, u64)> {
        None
    }
    fn function_at(&self, _: u64) -> Option<(u64, u64)> {
        None
    }
}

struct Nowhere;

impl Env for Nowhere {
    fn cpu(&self) -> u32 {
        0
    }
    fn comm(&self) -> &[u8] {
        b""
    }
    fn string(&self, _: u64, _: AddressSpace, _: impl FnOnce(&[u8]) -> bool) -> Option<bool> {
        None
    }
}

/// Compiles a text and asks about all records of one byte; `None` if the text is refused.
fn answers(text: &[u8]) -> Option<Vec<bool>> {
    let needs = structure::measure(text).ok()?;
    let mut nodes = vec![Node::UNUSED; needs.preds];
    let mut sets = vec![0; needs.sets];
    let used = PredicateText { text, cpus: 8 }
        .compile(&Bits, &mut nodes, &mut sets)
        .ok()?;
    let program = Program {
        text,
        nodes: &nodes[..used],
        sets: &sets,
        cpus: 8,
    };
    Some(
        (0..=u8::MAX)
            .map(|b| program.matches(&[b], &Nowhere))
            .collect(),
    )
}

fn exprs() -> impl Strategy<Value = Expr> {
    let leaf = (0u8..8).prop_map(Expr::Bit);
    leaf.prop_recursive(6, 60, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|e| Expr::Not(Box::new(e))),
            prop::collection::vec(inner.clone(), 2..5).prop_map(Expr::And),
            prop::collection::vec(inner, 2..5).prop_map(Expr::Or),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn programs_answer_as_their_expressions(expr in exprs(), more: bool) {
        let text = expr.text(more);
        prop_assume!(text.len() < 4000);
        let want: Vec<_> = (0..=u8::MAX).map(|bits| expr.value(bits)).collect();
        prop_assert_eq!(answers(text.as_bytes()), Some(want), "{}", text);
    }

    /// Pieces of filters in any order: refused or compiled, never anything worse.
    #[test]
    fn no_text_breaks_the_compiler(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "(", ")", "!", "&&", "||", "&", "|", " ", "bits", "comm", "cpu", "==", "!=", "~", "<", "1",
            "0x", "-", "'", "\"", "CPUS{", "}", "0-3", ".function", ".ustring", "*", "[", "]", "\\",
        ]), 0..40)
    ) {
        answers(pieces.concat().as_bytes());
    }

    #[test]
    fn no_bytes_break_the_compiler(text in prop::collection::vec(1u8.., 0..200)) {
        answers(&text);
    }
}
