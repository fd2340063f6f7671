// SPDX-License-Identifier: GPL-2.0

//! Values that are taken for what BTF or the kernel does not say: `(STRUCT[,MEMBER])FETCH->FIELD`, and the part of this
//! CPU, `this_cpu_ptr(FETCH)` and `this_cpu_read(FETCH)`.

use super::{
    argument::{
        is_per_cpu,
        Compiler, //
    },
    command::LineWord,
    error::{
        Code,
        ProbeError,
        ProbeRefusal, //
    },
    known_types::FieldsOrigin,
    step::{
        FetchStep,
        StepList, //
    },
};

/// A part of a line at an offset in `word`.
fn part(word: LineWord<'_>, from: usize, to: usize) -> LineWord<'_> {
    LineWord {
        at: word.at.saturating_add(from),
        text: word.text.get(from..to).unwrap_or_default(),
    }
}

/// Returns where the parenthesis is closed with which `text` begins.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (byte, at) in text.bytes().zip(0usize..) {
        match byte {
            b'(' => depth = depth.saturating_add(1),
            b')' if depth <= 1 => return Some(at),
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// The parts of a typecast.
struct TypeCast<'a> {
    /// What is in the first parentheses.
    ty: LineWord<'a>,
    /// The value.
    inner: LineWord<'a>,
    /// What follows the arrow.
    fields: LineWord<'a>,
}

impl<'a> TypeCast<'a> {
    /// Parses `word`, which begins with a parenthesis.
    fn parse(word: LineWord<'a>) -> Result<Self, ProbeRefusal> {
        let end = word.text.len();
        let refuse = |error, at: usize| Err(ProbeRefusal::new(error, word.at.saturating_add(at)));
        let Some(close) = word.text.find(')') else {
            return refuse(ProbeError::DereferenceOpen, end);
        };
        let begin = close.saturating_add(1);
        let rest = part(word, begin, end).text;
        let after = |at: usize| begin.saturating_add(at);
        // Where the value begins, where it ends, and where the arrow is to be.
        let (first, last, arrow) = match rest.bytes().next() {
            Some(b'(') => match closing(rest) {
                Some(close) => (after(1), after(close), after(close).saturating_add(1)),
                None => return refuse(ProbeError::DereferenceOpen, begin),
            },
            Some(b'+' | b'-') => Self::nested(word, begin)?,
            _ if is_per_cpu(rest) => Self::nested(word, begin)?,
            first => {
                let sign = rest.find(['+', '-']);
                let digit = sign.and_then(|at| rest.as_bytes().get(at.saturating_add(1)));
                if first == Some(b'@') && digit.is_some_and(u8::is_ascii_digit) {
                    return refuse(ProbeError::TypecastSymbol, begin);
                }
                let arrow = after(rest.find('-').unwrap_or(rest.len()));
                match word.text.get(arrow..).unwrap_or_default() {
                    text if text.starts_with("->") => (begin, arrow, arrow),
                    _ => return refuse(ProbeError::TypecastField, end),
                }
            }
        };
        let fields = arrow.saturating_add(2);
        match word.text.get(arrow..fields) {
            Some("->") => Ok(Self {
                ty: part(word, 1, close),
                inner: part(word, first, last),
                fields: part(word, fields, end),
            }),
            _ => refuse(ProbeError::TypecastField, arrow),
        }
    }

    /// Finds the end of what is at `begin`, which has something else in parentheses.
    fn nested(word: LineWord<'a>, begin: usize) -> Result<(usize, usize, usize), ProbeRefusal> {
        let end = word.text.len();
        let refuse = |error, at: usize| Err(ProbeRefusal::new(error, word.at.saturating_add(at)));
        let inside = begin.saturating_add(1);
        let rest = part(word, inside, end).text;
        let Some(open) = rest.find('(') else {
            return refuse(ProbeError::DereferenceBrace, begin);
        };
        let open = inside.saturating_add(open);
        match closing(part(word, open, end).text) {
            Some(close) => {
                let after = open.saturating_add(close).saturating_add(1);
                Ok((begin, after, after))
            }
            None => refuse(ProbeError::DereferenceOpen, end),
        }
    }
}

impl Compiler<'_> {
    /// Compiles a typecast.
    pub(super) fn cast(
        &mut self,
        word: LineWord<'_>,
        steps: &mut StepList,
        depth: usize,
    ) -> Result<(), ProbeRefusal> {
        if !self.site.has_types() {
            let error = ProbeError::Btf;
            return Err(ProbeRefusal::with(error, word.at, Code::Unsupported));
        }
        let TypeCast { ty, inner, fields } = TypeCast::parse(word)?;
        self.fetch(inner, steps, depth.saturating_add(1))?;
        let (name, member) = match ty.text.split_once(',') {
            Some((name, member)) => (name, Some(member)),
            None => (ty.text, None),
        };
        let known = self
            .types
            .and_then(|types| Some((types, types.structure(name)?)));
        let Some((types, number)) = known else {
            return Err(ProbeRefusal::new(ProbeError::NoPointer, ty.at));
        };
        let before = match member {
            Some(member) => {
                let at = name.len().saturating_add(1).saturating_add(ty.at);
                types.offset_in(number, member, at)?
            }
            None => 0,
        };
        let from = FieldsOrigin::Struct { ty: number, before };
        self.follow_fields(from, (fields.text, fields.at), steps)
    }

    /// Compiles the part of this CPU.
    pub(super) fn per_cpu(
        &mut self,
        word: LineWord<'_>,
        steps: &mut StepList,
        depth: usize,
    ) -> Result<(), ProbeRefusal> {
        let is_read = word.text.starts_with("this_cpu_read");
        let end = word.text.len();
        let open = word.text.find('(').unwrap_or(end);
        let inside = open.saturating_add(1);
        let inner_at = word.at.saturating_add(inside);
        let close = word.text.rfind(')').filter(|close| *close >= inside);
        let Some(close) = close else {
            let at = word.at.saturating_add(end);
            return Err(ProbeRefusal::new(ProbeError::DereferenceOpen, at));
        };
        let inner = part(word, inside, close);
        self.fetch(inner, steps, depth.saturating_add(1))?;
        (self.value, self.place) = (None, inner_at);
        let last = steps.all().last();
        if matches!(last, Some(FetchStep::Comm | FetchStep::Literal(_))) {
            return Err(ProbeRefusal::new(ProbeError::CommDereferenced, inner_at));
        }
        match inner.text.starts_with('@') {
            // What is at the symbol is not read: its address is that of the variable.
            true => steps.replace_last(FetchStep::PerCpu),
            false => self.push(FetchStep::PerCpu, steps)?,
        }
        if is_read {
            let load = FetchStep::Load {
                offset: 0,
                user: false,
            };
            self.push(load, steps)?;
        }
        Ok(())
    }
}
