// SPDX-License-Identifier: GPL-2.0

//! The compiled form of a filter, and its evaluation.

use super::{
    error::{
        Error,
        ErrorKind, //
        PredicateErrno,
    },
    fetch::{
        number_at,
        upper_at,
        Env, //
    },
    op::Op,
    predicate::{
        Names,
        Parser,
        Sets,
        Test, //
    },
    structure::{
        self,
        Bits,
        NextStep,
        Preds,
        MAX_TEXT, //
    },
    value,
};
use crate::{
    event::field_type::{
        FieldType,
        Value, //
    },
    text::word::is_space, //
};

/// A predicate with its two jumps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(super) test: Test,
    /// The next node when it holds, and when not: a later one, [`ACCEPT`] or [`REJECT`].
    pub(super) yes: u16,
    pub(super) no: u16,
    /// Offset of the byte after its text.
    end: u16,
    /// Whether an odd number of `!` stands directly before it.
    inverted: bool,
}

pub(super) const ACCEPT: u16 = u16::MAX;
pub(super) const REJECT: u16 = ACCEPT - 1;

impl Node {
    /// The node that memory is filled with before a text is compiled.
    pub(crate) const UNUSED: Self = Self {
        test: Test::Never,
        yes: REJECT,
        no: REJECT,
        end: 0,
        inverted: false,
    };
}

impl Preds for &[Node] {
    fn end(&self, index: usize) -> usize {
        self.get(index)
            .map_or(MAX_TEXT, |node| usize::from(node.end))
    }
}

/// A text to be compiled.
pub(crate) struct PredicateText<'a> {
    /// The text without blanks at its end; at most [`MAX_TEXT`] bytes, none of them 0.
    pub(crate) text: &'a [u8],
    /// Number of possible CPUs.
    pub(crate) cpus: usize,
}

impl PredicateText<'_> {
    /// Compiles into `nodes` and `sets`, which hold what [`structure::measure`] said: a node per
    /// predicate, a bit per CPU and set (in whole words). Returns the number of nodes used.
    ///
    /// # Errors
    ///
    /// Fails with the first error in the text. The memory holds no program then.
    pub(crate) fn compile(
        &self,
        names: &impl Names,
        nodes: &mut [Node],
        sets: &mut [u64],
    ) -> Result<usize, Error> {
        let text = self.text;
        let mut parser = Parser {
            text,
            names,
            sets: Sets {
                words: sets,
                cpus: self.cpus,
                used: 0,
            },
        };
        // Whether the content of a parenthesis is inverted: a bit for each open one, by its depth,
        // and for each closing one, by its place.
        let (mut opened, mut closed) = (Bits::new(), Bits::new());
        let mut depth = 0usize;
        let mut count = 0usize;
        let mut inverted = false;
        let mut at = 0usize;
        let complete = 'text: loop {
            let Some(byte) = text.get(at).copied() else {
                break count == 0;
            };
            match byte {
                _ if is_space(byte) => {
                    at = at.wrapping_add(1);
                    continue;
                }
                b'(' => {
                    opened.set(depth, core::mem::take(&mut inverted));
                    depth = depth.wrapping_add(1);
                    at = at.wrapping_add(1);
                    continue;
                }
                // `!=` and `!~` are operators.
                b'!' if !matches!(text.get(at.wrapping_add(1)), Some(b'=' | b'~')) => {
                    inverted = !inverted;
                    at = at.wrapping_add(1);
                    continue;
                }
                _ => {}
            }
            let Some(node) = nodes.get_mut(count) else {
                return Err(Error::new(ErrorKind::TooManyPreds, at).with(PredicateErrno::Perm));
            };
            let (test, end) = parser.predicate(at)?;
            *node = Node {
                test,
                end: end as u16,
                inverted: core::mem::take(&mut inverted),
                ..Node::UNUSED
            };
            count = count.wrapping_add(1);
            at = end;
            loop {
                let next = text.get(at.wrapping_add(1)).copied();
                match text.get(at).copied() {
                    None => break 'text true,
                    Some(b')') => {
                        let Some(less) = depth.checked_sub(1) else {
                            let place = at.wrapping_add(1);
                            return Err(Error::new(ErrorKind::TooManyClose, place)
                                .with(PredicateErrno::Perm));
                        };
                        depth = less;
                        closed.set(at, opened.get(depth));
                    }
                    Some(op @ (b'&' | b'|')) if next == Some(op) => {
                        at = at.wrapping_add(2);
                        break;
                    }
                    Some(blank) if is_space(blank) => {}
                    Some(_) => {
                        return Err(
                            Error::new(ErrorKind::TooManyPreds, at).with(PredicateErrno::Perm)
                        );
                    }
                }
                at = at.wrapping_add(1);
            }
        };
        if !complete {
            return Err(Error::new(ErrorKind::InvalidFilter, at));
        }
        if depth != 0 {
            let place = at.wrapping_add(1);
            return Err(Error::new(ErrorKind::TooManyOpen, place).with(PredicateErrno::Perm));
        }
        if count == 0 {
            return Err(Error::new(ErrorKind::NoFilter, at));
        }
        for index in 0..count {
            let target = |value: bool| {
                let placed: &[Node] = nodes.get(..count).unwrap_or(&[]);
                let inverted = placed.get(index).is_some_and(|node| node.inverted);
                match structure::next(text, &placed, &closed, index, value ^ inverted) {
                    NextStep::Pred(next) => next as u16,
                    NextStep::Done(true) => ACCEPT,
                    NextStep::Done(false) => REJECT,
                }
            };
            let (yes, no) = (target(true), target(false));
            if let Some(node) = nodes.get_mut(index) {
                (node.yes, node.no) = (yes, no);
            }
        }
        Ok(count)
    }
}

/// A compiled filter, in its owner's memory.
#[derive(Clone, Copy)]
pub(crate) struct Program<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) nodes: &'a [Node],
    pub(crate) sets: &'a [u64],
    pub(crate) cpus: usize,
}

impl Program<'_> {
    /// Returns whether the filter keeps a record. Any context; at most as many steps as
    /// predicates, and in each as many as the comparison of a string needs.
    #[inline]
    pub(crate) fn matches(&self, record: &[u8], env: &impl Env) -> bool {
        let mut at = 0u16;
        while let Some(node) = self.nodes.get(usize::from(at)) {
            at = if self.holds(&node.test, record, env) {
                node.yes
            } else {
                node.no
            };
        }
        at == ACCEPT
    }

    fn set(&self, set: u16) -> &[u64] {
        let words = self.cpus.div_ceil(64);
        let start = usize::from(set).wrapping_mul(words);
        self.sets
            .get(start..start.wrapping_add(words))
            .unwrap_or(&[])
    }

    #[inline]
    fn holds(&self, test: &Test, record: &[u8], env: &impl Env) -> bool {
        match *test {
            Test::Number {
                offset,
                size,
                range,
            } => upper_at(record, offset, size).is_some_and(|found| range.holds(found)),
            Test::Cpu(range) => range.holds(u64::from(env.cpu())),
            Test::In { of, op, set } => match of.read(record, env) {
                Some(Value::Number(cpu, _)) => {
                    cpu & 0xffff_ffff < self.cpus as u64 && self.is_in(cpu & 0xffff_ffff, op, set)
                }
                _ => false,
            },
            Test::MaskHas { offset, op, cpu } => mask_field(record, offset).is_some_and(|found| {
                let has = found.bit(cpu);
                match op {
                    Op::Eq => has && found.weight() == 1,
                    Op::Ne => !has || found.weight() != 1,
                    _ => has,
                }
            }),
            Test::MaskIs { offset, op, set } => mask_field(record, offset).is_some_and(|found| {
                let set = self.set(set);
                let words = found.0.len().div_ceil(8).max(set.len());
                let mut pairs =
                    (0..words).map(|i| (found.word(i), set.get(i).copied().unwrap_or(0)));
                match op {
                    Op::Eq => pairs.all(|(a, b)| a == b),
                    Op::Ne => pairs.any(|(a, b)| a != b),
                    _ => pairs.any(|(a, b)| a & b != 0),
                }
            }),
            Test::Text {
                of,
                needle,
                start,
                len,
                not,
            } => {
                let text = part(self.text, start, len);
                let question = |string: &[u8]| needle.matches(text, string) != not;
                let string = match of.read(record, env) {
                    Some(Value::Chars(string) | Value::DynamicChars(string)) => string,
                    Some(Value::StringAt(address, space)) => {
                        return env.string(address, space, question).unwrap_or(false);
                    }
                    // A string that is not inside the record is an empty one.
                    None if of.is_in_record() => &[],
                    _ => return false,
                };
                question(string)
            }
            Test::Within {
                offset,
                from,
                to,
                not,
            } => number_at(record, offset, 8).is_some_and(|at| (from <= at && at < to) != not),
            Test::Never => false,
        }
    }

    /// Returns whether `cpu` is `op` to a set. A set has at least two CPUs, so it never equals one
    /// CPU.
    fn is_in(&self, cpu: u64, op: Op, set: u16) -> bool {
        match op {
            Op::And => value::has(self.set(set), cpu),
            op => op == Op::Ne,
        }
    }
}

/// Returns the part of a filter's text that is a pattern of `len` bytes.
#[inline(always)]
pub(super) fn part(text: &[u8], start: u16, len: u16) -> &[u8] {
    let start = usize::from(start);
    text.get(start..start.wrapping_add(usize::from(len)))
        .unwrap_or(&[])
}

/// A set of CPUs in a record, with a bit for each CPU.
struct MaskField<'a>(&'a [u8]);

fn mask_field(record: &[u8], offset: u32) -> Option<MaskField<'_>> {
    FieldType::Cpumask
        .location()
        .bytes(record, offset, 4)
        .map(MaskField)
}

impl MaskField<'_> {
    fn bit(&self, cpu: u64) -> bool {
        usize::try_from(cpu >> 3)
            .ok()
            .and_then(|i| self.0.get(i))
            .is_some_and(|byte| byte.wrapping_shr((cpu & 7) as u32) & 1 != 0)
    }

    fn weight(&self) -> u32 {
        self.0
            .iter()
            .fold(0, |sum, byte| sum.wrapping_add(byte.count_ones()))
    }

    fn word(&self, i: usize) -> u64 {
        let mut bytes = [0; 8];
        let start = i.wrapping_mul(8);
        for (to, from) in bytes.iter_mut().zip(self.0.get(start..).unwrap_or(&[])) {
            *to = *from;
        }
        u64::from_le_bytes(bytes)
    }
}
