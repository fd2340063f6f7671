// SPDX-License-Identifier: GPL-2.0

//! How the predicates of a filter are joined: parentheses, `!`, `&&` and `||`.
//!
//! Predicates are compiled into jumps: each knows which one comes next when it holds and which one
//! when it does not. Instead of a tree there are only the text and the places of the predicates in
//! it; between them there is nothing but blanks, `(`, `)`, `!`, `&&` and `||`.

use super::error::{
    Error,
    ErrorKind, //
    PredicateErrno,
};
use crate::text::word::is_space;

/// Bytes of the longest text of a filter.
pub(crate) const MAX_TEXT: usize = 4095;

/// The memory that a program needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryNeeds {
    /// Number of predicates, or more.
    pub(crate) preds: usize,
    /// Number of sets of CPUs, or more.
    pub(crate) sets: usize,
}

/// Counts what the memory must hold, and checks parentheses and quotes before anything else is
/// looked at.
///
/// # Errors
///
/// Fails for unbalanced ones, and for a text without a predicate, with ftrace's error, place and
/// error number.
pub(crate) fn measure(text: &[u8]) -> Result<MemoryNeeds, Error> {
    let mut needs = MemoryNeeds { preds: 0, sets: 0 };
    let mut in_pred = false;
    let mut open = 0usize;
    let mut quote: Option<(u8, usize)> = None;
    for (at, byte) in text.iter().copied().enumerate() {
        if is_space(byte) {
            continue;
        }
        if let Some((end, _)) = quote {
            if byte == end {
                quote = None;
            }
            continue;
        }
        let twice = text.get(at.wrapping_add(1)) == Some(&byte);
        match byte {
            b'\'' | b'"' => quote = Some((byte, at)),
            b'|' | b'&' if twice => {
                in_pred = false;
                continue;
            }
            b'(' => {
                in_pred = false;
                open = open.wrapping_add(1);
                continue;
            }
            b')' => {
                in_pred = false;
                let Some(less) = open.checked_sub(1) else {
                    return Err(Error::new(ErrorKind::TooManyClose, at).with(PredicateErrno::Perm));
                };
                open = less;
                continue;
            }
            b'{' => needs.sets = needs.sets.wrapping_add(1),
            _ => {}
        }
        if !in_pred {
            needs.preds = needs.preds.wrapping_add(1);
            in_pred = true;
        }
    }
    if let Some((_, at)) = quote {
        return Err(Error::new(ErrorKind::MissingQuote, at).with(PredicateErrno::Srch));
    }
    if open != 0 {
        let at = last_open(text);
        return Err(Error::new(ErrorKind::TooManyOpen, at).with(PredicateErrno::NoEnt));
    }
    if needs.preds == 0 {
        return Err(Error::nameless(PredicateErrno::Inval));
    }
    Ok(needs)
}

/// Returns the place of the last `(` that nothing closes.
fn last_open(text: &[u8]) -> usize {
    let mut closed = 0usize;
    let mut quote = None;
    for (at, byte) in text.iter().copied().enumerate().rev() {
        match (quote, byte) {
            (Some(end), _) => {
                if byte == end {
                    quote = None;
                }
            }
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b')') => closed = closed.wrapping_add(1),
            (None, b'(') => match closed.checked_sub(1) {
                Some(less) => closed = less,
                None => return at,
            },
            _ => {}
        }
    }
    0
}

/// A set of places in a text: a bit for each byte.
pub(super) struct Bits([u64; MAX_TEXT.div_ceil(64)]);

impl Bits {
    pub(super) fn new() -> Self {
        Self([0; MAX_TEXT.div_ceil(64)])
    }

    pub(super) fn get(&self, at: usize) -> bool {
        let word = self.0.get(at >> 6).copied().unwrap_or(0);
        word.wrapping_shr((at & 63) as u32) & 1 != 0
    }

    pub(super) fn set(&mut self, at: usize, on: bool) {
        let bit = 1u64.wrapping_shl((at & 63) as u32);
        if let Some(word) = self.0.get_mut(at >> 6) {
            *word = if on { *word | bit } else { *word & !bit };
        }
    }
}

/// The next step after a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    /// The predicate with this number.
    Pred(usize),
    /// The expression has this value.
    Done(bool),
}

/// The predicates of a parsed text.
pub(super) trait Preds {
    /// Returns the offset of the first byte after predicate number `index`.
    fn end(&self, index: usize) -> usize;
}

/// Returns the next step after predicate number `pred` when it and the `!` before it give `value`.
/// `inverted` has a bit for each `)` whose `(` has an odd number of `!` before it.
pub(super) fn next(
    text: &[u8],
    preds: &impl Preds,
    inverted: &Bits,
    pred: usize,
    mut value: bool,
) -> NextStep {
    let mut at = preds.end(pred);
    let mut follower = pred.wrapping_add(1);
    loop {
        match text.get(at).copied() {
            None => return NextStep::Done(value),
            Some(b')') => {
                value ^= inverted.get(at);
                at = at.wrapping_add(1);
            }
            // The value is decided as far as this operator reaches: true for operands joined by
            // `||`, false for those joined by `&&`.
            Some(op @ (b'&' | b'|')) if value == (op == b'|') => {
                (at, follower) = skip(text, preds, at, follower, op == b'&');
            }
            Some(b'&' | b'|') => return NextStep::Pred(follower),
            Some(_) => at = at.wrapping_add(1),
        }
    }
}

/// Skips the operands on the level of the operator at `at`: up to the end of the level, or with
/// `stop_at_or` up to the next `||` in it. Returns the place, and the number of the next predicate.
fn skip(
    text: &[u8],
    preds: &impl Preds,
    at: usize,
    mut follower: usize,
    stop_at_or: bool,
) -> (usize, usize) {
    let mut depth = 0usize;
    let mut at = at.wrapping_add(2);
    while let Some(byte) = text.get(at).copied() {
        match byte {
            b'(' => depth = depth.wrapping_add(1),
            b')' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => break,
            },
            b'|' if depth == 0 && stop_at_or => break,
            b'&' | b'|' => at = at.wrapping_add(1),
            b'!' => {}
            _ if is_space(byte) => {}
            _ => {
                // Nothing else stands outside a predicate, so the next one begins here.
                at = preds.end(follower);
                follower = follower.wrapping_add(1);
                continue;
            }
        }
        at = at.wrapping_add(1);
    }
    (at, follower)
}
