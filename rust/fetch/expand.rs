// SPDX-License-Identifier: GPL-2.0

//! Arguments that stand for others: `$arg*` for all parameters, `$argN` without a name of its own for the one
//! whose name BTF knows.
//!
//! What is written then is what the list of definitions shows. Carets point into the line as it was written.

use super::{
    argument::{
        is_per_cpu,
        LATENCY, //
    },
    command::{
        words,
        LineWord, //
    },
    error::{
        Code,
        ProbeError,
        ProbeRefusal, //
    },
    function::ProbedFunction,
    MOST_ARGUMENTS, //
};
use core::fmt::Write;

/// Words before the arguments.
pub(super) const HEAD: usize = 2;
/// The names that are put in have fewer bytes, with one for each end.
const MOST_NAMES: usize = 128;
/// So many have the fetches of names of files, with one for each end.
const MOST_PATHS: usize = 256;

/// Returns what is inside of all that is around the value of each argument.
fn leaves(line: &str) -> impl Iterator<Item = &str> {
    words(line).skip(HEAD).map(|word| {
        let body = word.text.split_once('=');
        let mut leaf = body.map_or(word.text, |(_, body)| body);
        loop {
            let has_parts = leaf.starts_with(['+', '-']) || is_per_cpu(leaf);
            leaf = match (leaf.split_once('('), leaf.split_once(')')) {
                (Some((_, inner)), _) if has_parts => inner,
                // A typecast, and perhaps more parentheses around the value.
                (_, Some((_, inner))) if leaf.starts_with('(') => {
                    inner.strip_prefix('(').unwrap_or(inner)
                }
                _ => return leaf,
            };
        }
    })
}

fn is_name(leaf: &str) -> bool {
    leaf.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Returns whether arguments of `line`, of a return, need what is kept from the beginning of the call: parameters, which
/// a number may name, or its time.
pub(crate) fn needs_kept(line: &str) -> bool {
    leaves(line).any(|leaf| leaf.starts_with("$arg") || leaf == LATENCY || is_name(leaf))
}

/// Returns whether arguments of `line` name parameters.
pub(crate) fn names_parameters(line: &str) -> bool {
    leaves(line).any(is_name)
}

/// Returns whether BTF is asked for arguments of `line`.
pub(crate) fn names_types(line: &str) -> bool {
    let is_meta = |word: LineWord<'_>| word.text.starts_with("$arg");
    words(line).skip(HEAD).any(is_meta)
        || words(line).skip(HEAD).any(|word| word.text.contains("->"))
        || leaves(line).any(|leaf| leaf.starts_with("$retval") || is_name(leaf))
}

/// The arguments that begin with `$arg`.
#[derive(Default)]
struct MetaArguments<'a> {
    all: Option<LineWord<'a>>,
    last: Option<LineWord<'a>>,
}

impl<'a> MetaArguments<'a> {
    fn find(line: &'a str, has_parameters: bool) -> Result<Self, ProbeRefusal> {
        let mut found = Self::default();
        for word in words(line).skip(HEAD) {
            let Some(rest) = word.text.strip_prefix("$arg") else {
                continue;
            };
            let error = match rest.bytes().next() {
                _ if !has_parameters => Some(ProbeError::NotAtEntry),
                Some(b'0'..=b'9') => None,
                Some(b'*') if found.all.is_some() => Some(ProbeError::AllArgumentsTwice),
                Some(b'*') => {
                    found.all = Some(word);
                    None
                }
                _ => Some(ProbeError::Variable),
            };
            if let Some(error) = error {
                return Err(ProbeRefusal::new(error, word.at));
            }
            found.last = Some(word);
        }
        Ok(found)
    }
}

/// Writes `line` with the names of parameters instead of their numbers. `function` is `None` where BTF does not
/// know it. The inner error is that `out` failed.
pub(crate) fn expand(
    line: &str,
    has_parameters: bool,
    function: Option<&ProbedFunction<'_>>,
    out: &mut dyn Write,
) -> Result<core::fmt::Result, ProbeRefusal> {
    let meta = MetaArguments::find(line, has_parameters)?;
    let function = function.filter(|function| function.names().next().is_some());
    let (function, last) = match (function, meta.all, meta.last) {
        (None, Some(_), Some(last)) => {
            let error = ProbeError::Btf;
            return Err(ProbeRefusal::with(error, last.at, Code::Unsupported));
        }
        (Some(function), _, Some(last)) => (function, last),
        _ => return Ok(out.write_str(line)),
    };
    debug_assert!(last.text.starts_with("$arg"));
    let mut used = 0usize;
    let mut result = Ok(());
    for (word, number) in words(line).zip(0usize..) {
        let mut put = |name: &str, ty: &str| {
            let len = name.len().saturating_add(ty.len());
            if name.is_empty() {
                let error = ProbeError::NoFunctionTypes;
                return Err(ProbeRefusal::with(error, word.at, Code::Missing));
            }
            if len >= MOST_NAMES.saturating_sub(used) {
                let error = ProbeError::ArgumentsTooLong;
                return Err(ProbeRefusal::with(error, word.at, Code::TooBig));
            }
            used = used.saturating_add(len).saturating_add(1);
            result = result.and_then(|()| write!(out, " {name}{ty}"));
            Ok(())
        };
        match word.text.strip_prefix("$arg") {
            Some(rest) if number >= HEAD => match rest.starts_with('*') {
                true => function.names().try_for_each(|name| put(name, ""))?,
                false => {
                    let (name, ty) = by_number(function, rest)
                        .map_err(|(error, code)| ProbeRefusal::with(error, word.at, code))?;
                    put(name, ty)?;
                }
            },
            _ => {
                let blank = if number == 0 { "" } else { " " };
                result = result.and_then(|()| write!(out, "{blank}{}", word.text));
            }
        }
    }
    Ok(result)
}

/// Returns the name of the parameter of that number, and the type that follows it.
fn by_number<'a>(
    function: &ProbedFunction<'a>,
    rest: &'a str,
) -> Result<(&'a str, &'a str), (ProbeError, Code)> {
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (number, ty) = rest.split_at_checked(end).unwrap_or((rest, ""));
    if !ty.is_empty() && !ty.starts_with(':') {
        return Err((ProbeError::Variable, Code::Missing));
    }
    let number = number.parse::<usize>().unwrap_or(usize::MAX);
    let place = number.checked_sub(1);
    let place = place.ok_or((ProbeError::ArgumentNumber, Code::Invalid))?;
    let name = function.names().nth(place);
    Ok((name.ok_or((ProbeError::NoParameter, Code::Missing))?, ty))
}

/// Where the kernel has names of files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathOffsets {
    /// Offset of the address of the name in `struct dentry`.
    pub(crate) name: usize,
    /// Offset of the address of the `struct dentry` in `struct file`.
    pub(crate) dentry: usize,
}

/// Cuts off a type that stands for the name of a file; says also whether the value is that of a `struct file`.
fn of_path(word: &str) -> Option<(&str, bool)> {
    let of_entry = word.strip_suffix(":%pd").map(|fetch| (fetch, false));
    of_entry.or_else(|| Some((word.strip_suffix(":%pD")?, true)))
}

/// Writes `line` with fetches of names instead of the types `%pd` and `%pD`. Returns whether they have room. Fails when
/// `out` does.
pub(crate) fn expand_paths(
    line: &str,
    offsets: PathOffsets,
    out: &mut dyn Write,
) -> Result<bool, core::fmt::Error> {
    let PathOffsets { name, dentry } = offsets;
    let mut room = MOST_PATHS;
    for (word, number) in words(line).zip(0usize..) {
        if number != 0 {
            out.write_char(' ')?;
        }
        let Some((text, is_file)) = of_path(word.text).filter(|_| number >= HEAD) else {
            out.write_str(word.text)?;
            continue;
        };
        let (equals, fetch) = match text.split_once('=') {
            Some((_, fetch)) => (text.len().saturating_sub(fetch.len()), fetch),
            None => (0, text),
        };
        let mut counted = CountedWriter { out, len: 0 };
        counted.write_str(text.get(..equals).unwrap_or_default())?;
        match is_file {
            true => write!(counted, "+0x0(+{name:#x}(+{dentry:#x}({fetch}))):string")?,
            false => write!(counted, "+0x0(+{name:#x}({fetch})):string")?,
        }
        match room.checked_sub(counted.len.saturating_add(1)) {
            Some(left) => room = left,
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// Writes, and counts the bytes.
struct CountedWriter<'a> {
    out: &'a mut dyn Write,
    len: usize,
}

impl Write for CountedWriter<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.len = self.len.saturating_add(text.len());
        self.out.write_str(text)
    }
}

/// Returns where a place of the line `expanded` is in `line`, which it was made of, as ftrace has it: the same
/// place of the word of the same number, or after the end.
pub(crate) fn place_in(line: &str, expanded: &str, at: usize) -> usize {
    if line == expanded {
        return at;
    }
    let begins = |word: &(LineWord<'_>, usize)| word.0.at <= at;
    let numbered = words(expanded).zip(0usize..).take_while(begins).last();
    let Some((word, number)) = numbered else {
        return at;
    };
    match words(line).nth(number) {
        // What stands for a fetch has no places in it.
        Some(own) if of_path(own.text).is_some() => {
            let inside = at.saturating_sub(word.at);
            own.at.saturating_add(inside.min(own.text.len()))
        }
        Some(own) => own.at.saturating_add(at.saturating_sub(word.at)),
        None => line.len().saturating_add(1),
    }
}

/// Returns where the argument of that number is in a line, counted from 0, or after the end.
pub(crate) fn argument_at(line: &str, number: usize) -> usize {
    let word = words(line).nth(number.saturating_add(HEAD));
    word.map_or(line.len().saturating_add(1), |word| word.at)
}

/// Checks that the line that `line` was expanded to has not too many arguments.
pub(crate) fn check_count(line: &str, expanded: &str) -> Result<(), ProbeRefusal> {
    match words(expanded).nth(MOST_ARGUMENTS.saturating_add(HEAD)) {
        None => Ok(()),
        Some(_) => {
            let error = ProbeError::TooManyArguments;
            Err(ProbeRefusal::with(
                error,
                argument_at(line, 0),
                Code::TooBig,
            ))
        }
    }
}
