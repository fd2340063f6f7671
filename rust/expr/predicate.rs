// SPDX-License-Identifier: GPL-2.0

//! One predicate: its text, and the test that it makes on a record.

use super::{
    error::{
        Error,
        ErrorKind, //
    },
    fetch::{
        Fetch,
        Operand,
        StoredField, //
    },
    needle::Needle,
    op::{
        Op,
        OPS, //
    },
    pattern::{
        self,
        PatternKind, //
    },
    range::Range,
    value::{
        self,
        CpuSet, //
    },
};
use crate::{
    event::field_type::FieldType,
    text::{
        number,
        word::{
            is_alnum,
            is_space, //
        }, //
    }, //
};

/// What the names in a predicate stand for: fields of an event, functions of the kernel.
pub(crate) trait Names {
    /// Returns the event's own field called `name`.
    fn field(&self, name: &str) -> Option<Operand>;
    /// Returns the first address of the function called `name`, and the one after its last.
    fn function(&self, name: &str) -> Option<(u64, u64)>;
    /// Returns the same two addresses of the function that contains `address`.
    fn function_at(&self, address: u64) -> Option<(u64, u64)>;
}

/// A test of a record. Strings are parts of the filter's text, sets of CPUs are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Number {
        offset: u32,
        /// 1, 2, 4 or 8.
        size: u32,
        range: Range,
    },
    /// The current CPU, as 8 bytes.
    Cpu(Range),
    /// A number, taken as a CPU, against a set of CPUs.
    In {
        of: Fetch,
        op: Op,
        set: u16,
    },
    /// A field that is a set of CPUs, against one CPU or, as [`Self::MaskIs`], a set.
    MaskHas {
        offset: u32,
        op: Op,
        cpu: u64,
    },
    MaskIs {
        offset: u32,
        op: Op,
        set: u16,
    },
    Text {
        of: Fetch,
        needle: Needle,
        start: u16,
        len: u16,
        not: bool,
    },
    /// An address that is inside a function, or with `not` outside.
    Within {
        offset: u32,
        from: u64,
        to: u64,
        not: bool,
    },
    /// Nothing that can be compared: the test fails for every record.
    Never,
}

/// One more than the bytes of the longest string.
const MOST_TEXT: usize = 256;
/// One more than the bytes of the longest number.
const MOST_DIGITS: usize = 24;

/// The memory for sets of CPUs.
pub(super) struct Sets<'a> {
    pub(super) words: &'a mut [u64],
    pub(super) cpus: usize,
    pub(super) used: u16,
}

impl Sets<'_> {
    fn per_set(&self) -> usize {
        self.cpus.div_ceil(64)
    }

    /// Returns the number of the next set and its words; `None` when the memory is used up.
    fn next(&mut self) -> Option<(u16, &mut [u64])> {
        let per_set = self.per_set();
        let start = usize::from(self.used).checked_mul(per_set)?;
        let words = self.words.get_mut(start..)?.get_mut(..per_set)?;
        Some((self.used, words))
    }
}

/// A parser of single predicates.
pub(super) struct Parser<'a, N: Names> {
    pub(super) text: &'a [u8],
    pub(super) names: &'a N,
    pub(super) sets: Sets<'a>,
}

fn is_name(byte: &u8) -> bool {
    is_alnum(*byte) || *byte == b'_'
}

/// Returns the error at `at`. Its place is told as one more than it is.
fn error(kind: ErrorKind, at: usize) -> Error {
    Error::new(kind, at.wrapping_add(1))
}

impl<N: Names> Parser<'_, N> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    /// Returns the first place from `at` on whose byte is not `like`.
    fn behind(&self, at: usize, like: impl Fn(&u8) -> bool) -> usize {
        let rest = self.text.get(at..).unwrap_or(&[]);
        let len = rest.iter().position(|b| !like(b)).unwrap_or(rest.len());
        at.wrapping_add(len)
    }

    fn blanks(&self, at: usize) -> usize {
        self.behind(at, |b| is_space(*b))
    }

    /// Returns the place after `word` if it stands at `at`.
    fn word(&self, at: usize, word: &[u8]) -> Option<usize> {
        let found = self.text.get(at..)?.starts_with(word);
        found.then_some(at.wrapping_add(word.len()))
    }

    fn part(&self, from: usize, to: usize) -> &[u8] {
        self.text.get(from..to).unwrap_or(&[])
    }

    fn str_part(&self, from: usize, to: usize) -> &str {
        core::str::from_utf8(self.part(from, to)).unwrap_or("")
    }

    /// Parses the predicate that begins at `start`. Returns its test and the place after it; fails
    /// with the [`Error`] of the first thing that is wrong in it.
    pub(super) fn predicate(&mut self, start: usize) -> Result<(Test, usize), Error> {
        let mut at = self.behind(start, is_name);
        if at == start {
            return Err(Error::nameless(super::error::PredicateErrno::Perm));
        }
        let name = self.str_part(start, at);
        let field = self
            .names
            .field(name)
            .or_else(|| Operand::generic(name))
            .or_else(|| Operand::common(name))
            .ok_or(error(ErrorKind::FieldNotFound, at))?;
        let user = self.word(at, b".ustring");
        at = user.unwrap_or(at);
        let function = self.word(at, b".function");
        at = self.blanks(function.unwrap_or(at));
        let found = OPS
            .iter()
            .find_map(|(word, op)| Some((*op, self.word(at, word)?)));
        let Some((op, behind)) = found else {
            return Err(error(ErrorKind::InvalidOperator, at));
        };
        at = self.blanks(behind);
        if function.is_some() {
            return self.function(field, op, at);
        }
        if let Some(behind) = self.word(at, b"CPUS") {
            return self.cpus(field, op, at, behind);
        }
        match self.byte(at) {
            Some(quote @ (b'\'' | b'"')) => self.string(field, op, at, quote, user.is_some()),
            Some(b'0'..=b'9' | b'-') => self.number(field, op, at),
            _ => Err(error(ErrorKind::InvalidValue, at)),
        }
    }

    fn function(&self, field: Operand, op: Op, at: usize) -> Result<(Test, usize), Error> {
        let Fetch::Field(StoredField {
            offset, size: 8, ..
        }) = field.fetch
        else {
            return Err(error(ErrorKind::IllegalFieldOp, at));
        };
        if !matches!(op, Op::Eq | Op::Ne) {
            return Err(error(ErrorKind::InvalidOperator, at));
        }
        let (found, end) = if self.byte(at).is_some_and(|b| b.is_ascii_digit()) {
            let end = self.behind(at, |b| is_alnum(*b));
            if end.wrapping_sub(at) >= MOST_DIGITS {
                return Err(error(ErrorKind::OperandTooLong, end));
            }
            let address = number::c_integer(self.part(at, end), false)
                .ok_or(error(ErrorKind::InvalidValue, end))?;
            (self.names.function_at(address), end)
        } else {
            let end = self.behind(at, |b| !is_space(*b));
            (self.names.function(self.str_part(at, end)), end)
        };
        let (from, to) = found.ok_or(error(ErrorKind::NoFunction, end))?;
        let test = Test::Within {
            offset,
            from,
            to,
            not: op == Op::Ne,
        };
        Ok((test, end))
    }

    fn cpus(
        &mut self,
        field: Operand,
        op: Op,
        at: usize,
        behind: usize,
    ) -> Result<(Test, usize), Error> {
        let of = field.fetch;
        if of.is_string() || of == Fetch::Stacktrace || !matches!(op, Op::Eq | Op::Ne | Op::And) {
            return Err(error(ErrorKind::IllegalFieldOp, at));
        }
        let start = behind.wrapping_add(1);
        if self.byte(behind) != Some(b'{') {
            return Err(error(ErrorKind::MissingBraceOpen, start));
        }
        let end = self.behind(start, |b| *b != b'}');
        if self.byte(end).is_none() {
            return Err(error(ErrorKind::MissingBraceClose, end));
        }
        let bad = error(ErrorKind::InvalidCpulist, end);
        if start == end {
            return Err(bad);
        }
        let (text, cpus) = (self.text, self.sets.cpus);
        let (set, words) = self.sets.next().ok_or(bad)?;
        CpuSet::new(words, cpus)
            .parse(text.get(start..end).unwrap_or(&[]))
            .ok_or(bad)?;
        let single = match value::weight(words) {
            1 => value::first(words),
            _ => {
                self.sets.used = set.wrapping_add(1);
                None
            }
        };
        // A set of one CPU is compared as that CPU's number.
        let same = if op == Op::And { Op::Eq } else { op };
        let test = match (of, single) {
            (
                Fetch::Field(StoredField {
                    ty: FieldType::Cpumask,
                    offset,
                    ..
                }),
                single,
            ) => match single {
                Some(cpu) => Test::MaskHas { offset, op, cpu },
                None => Test::MaskIs { offset, op, set },
            },
            (Fetch::Cpu, Some(cpu)) => cpu_is(same, cpu),
            (Fetch::Cpu, None) => Test::In { of, op, set },
            (Fetch::Field(field), single) if is_word(field.size) => match single {
                Some(value) => Test::Number {
                    offset: field.offset,
                    size: field.size,
                    range: Range::new(same, value, field.size, false),
                },
                None => {
                    let of = Fetch::Field(field.as_number());
                    Test::In { of, op, set }
                }
            },
            _ => Test::Never,
        };
        Ok((test, end.wrapping_add(1)))
    }

    fn string(
        &self,
        field: Operand,
        op: Op,
        at: usize,
        quote: u8,
        user: bool,
    ) -> Result<(Test, usize), Error> {
        if !matches!(op, Op::Eq | Op::Ne | Op::Glob) {
            return Err(error(ErrorKind::IllegalFieldOp, at));
        }
        if !field.fetch.is_string() {
            return Err(error(ErrorKind::ExpectDigit, at));
        }
        let start = at.wrapping_add(1);
        let end = self.behind(start, |b| *b != quote);
        if self.byte(end).is_none() {
            return Err(error(ErrorKind::MissingQuote, end));
        }
        if end.wrapping_sub(start) >= MOST_TEXT {
            return Err(error(ErrorKind::OperandTooLong, end));
        }
        let (not, how, from, to) = if op == Op::Glob {
            let p = pattern::classify(self.part(start, end));
            (
                p.not,
                p.how,
                start.wrapping_add(p.start),
                start.wrapping_add(p.end),
            )
        } else {
            (op == Op::Ne, PatternKind::Full, start, end)
        };
        let test = Test::Text {
            of: if user {
                field.fetch.in_user_space()
            } else {
                field.fetch
            },
            needle: Needle::new(how, self.part(from, to)),
            start: from as u16,
            len: to.saturating_sub(from) as u16,
            not,
        };
        Ok((test, end.wrapping_add(1)))
    }

    fn number(&self, field: Operand, op: Op, at: usize) -> Result<(Test, usize), Error> {
        if field.fetch.is_string() {
            return Err(error(ErrorKind::ExpectString, at));
        }
        if op == Op::Glob {
            return Err(error(ErrorKind::IllegalFieldOp, at));
        }
        let sign = usize::from(self.byte(at) == Some(b'-'));
        let end = self.behind(at.wrapping_add(sign), |b| is_alnum(*b));
        if end.wrapping_sub(at) >= MOST_DIGITS {
            return Err(error(ErrorKind::OperandTooLong, end));
        }
        let value = number::c_integer(self.part(at, end), field.signed)
            .ok_or(error(ErrorKind::IllegalIntval, at))?;
        let test = match field.fetch {
            // The kernel knows no mask for the current CPU.
            Fetch::Cpu if op == Op::And => Test::Never,
            Fetch::Cpu => cpu_is(op, value),
            Fetch::Field(stored) if is_word(stored.size) => Test::Number {
                offset: stored.offset,
                size: stored.size,
                range: Range::new(op, value, stored.size, field.signed),
            },
            _ => Test::Never,
        };
        Ok((test, end))
    }
}

/// Returns the test of the current CPU against a number, both as `int`.
fn cpu_is(op: Op, value: u64) -> Test {
    Test::Cpu(Range::new(op, i64::from(value as i32) as u64, 8, true))
}

fn is_word(size: u32) -> bool {
    matches!(size, 1 | 2 | 4 | 8)
}
