// SPDX-License-Identifier: GPL-2.0

//! The first two words of a definition of a probe on functions, `f[:[GROUP/][EVENT]] SYMBOL[%return]`, or on a
//! tracepoint, `t[:[GROUP/][EVENT]] TRACEPOINT`.

use super::{
    command::{
        words,
        LineWord,
        ProbeNames, //
    },
    error::{
        ProbeError,
        ProbeRefusal, //
    }, //
};
use core::fmt::{
    self,
    Write, //
};

/// A name has fewer bytes.
const LONGEST_NAME: usize = 64;

/// What a probe is hit at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunctionSite {
    /// The beginning of functions.
    Begin,
    /// Their return.
    Return,
    Tracepoint,
}

impl FunctionSite {
    /// Returns the group of an event that names none.
    pub(crate) fn group(self) -> &'static str {
        match self {
            Self::Begin | Self::Return => "fprobes",
            Self::Tracepoint => "tracepoints",
        }
    }
}

/// What such a probe is put on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FunctionHead<'a> {
    /// The part of the first word after the colon.
    names: Option<LineWord<'a>>,
    pub(crate) site: FunctionSite,
    /// The name of the tracepoint, or a pattern of names of functions.
    pub(crate) target: &'a str,
    /// Offset of the second word.
    pub(crate) target_at: usize,
}

/// Returns the offset of a `$retval` in `text` after which the name ends.
fn return_value(text: &str) -> Option<usize> {
    let at = text.find("$retval")?;
    let after = text.get(at..)?.strip_prefix("$retval")?.bytes().next();
    let goes_on = after.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (!goes_on).then_some(at)
}

impl<'a> FunctionHead<'a> {
    /// Parses the first two words of a definition. `None` when it is one of another kind.
    pub(crate) fn parse(line: &'a str) -> Result<Option<Self>, ProbeRefusal> {
        let mut all = words(line);
        let (Some(first), Some(second)) = (all.next(), all.next()) else {
            return Ok(None);
        };
        let is_function = first.text.starts_with('f');
        let Some(rest) = first.text.strip_prefix(['f', 't']) else {
            return Ok(None);
        };
        let names = match (rest, rest.strip_prefix(':')) {
            ("", _) => None,
            (_, Some(text)) => Some(LineWord { at: 2, text }),
            _ => return Err(ProbeRefusal::new(ProbeError::MaxActive, 1)),
        };
        let refuse = |error, at| {
            let at = second.at.saturating_add(at);
            Err(ProbeRefusal::new(error, at))
        };
        let (target, mut site) = match second.text.split_once('%') {
            Some((target, "return")) if is_function => (target, FunctionSite::Return),
            Some((target, _)) => return refuse(ProbeError::AddressSuffix, target.len()),
            None if is_function => (second.text, FunctionSite::Begin),
            None => (second.text, FunctionSite::Tracepoint),
        };
        let is_wrong = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        if let (FunctionSite::Tracepoint, Some(at)) = (site, target.find(is_wrong)) {
            return refuse(ProbeError::TracepointName, at);
        }
        for word in all {
            match (site, return_value(word.text)) {
                (FunctionSite::Tracepoint, Some(at)) => {
                    let at = word.at.saturating_add(at);
                    return Err(ProbeRefusal::new(ProbeError::ReturnValueOnProbe, at));
                }
                // What is returned makes it a probe of returns.
                (FunctionSite::Begin, Some(_)) => site = FunctionSite::Return,
                _ => {}
            }
        }
        Ok(Some(Self {
            names,
            site,
            target,
            target_at: second.at,
        }))
    }

    /// Parses the names of the event.
    pub(crate) fn names(&self) -> Result<ProbeNames<'a>, ProbeRefusal> {
        ProbeNames::given(self.names)
    }

    /// Writes the name of an event that has none of its own. Fails when `w` does.
    pub(crate) fn write_default_name(&self, w: &mut dyn Write) -> fmt::Result {
        let is_number = self.target.starts_with(|c: char| c.is_ascii_digit());
        let (before, after) = match self.site {
            FunctionSite::Begin => ("", "__entry"),
            FunctionSite::Return => ("", "__exit"),
            FunctionSite::Tracepoint if is_number => ("_", ""),
            FunctionSite::Tracepoint => ("", ""),
        };
        let all = before
            .chars()
            .chain(self.target.chars())
            .chain(after.chars());
        // As in ftrace, not at the beginning, and no more than there is room for.
        let names = all.zip(1usize..LONGEST_NAME);
        for (c, number) in names {
            w.write_char(match c {
                ':' | '.' | '*' if number != 1 => '_',
                other => other,
            })?;
        }
        Ok(())
    }
}
