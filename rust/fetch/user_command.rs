// SPDX-License-Identifier: GPL-2.0

//! The first two words of a definition of a probe in programs, `p|r[:[GROUP/][EVENT]]
//! PATH:OFFSET[%return][(REFERENCE_COUNTER)]`, where OFFSET may be FUNCTION[+OFFSET].

use super::{
    command::{
        words,
        LineWord,
        ProbeNames,
        ShortName, //
    },
    error::{
        ProbeError,
        ProbeRefusal, //
    },
    expand,
    number, //
};
use core::fmt::{
    self,
    Write, //
};

/// The group of an event that names none.
pub(crate) const GROUP: &str = "uprobes";

/// Where in a file such a probe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserPlace {
    /// Offset of the instruction.
    pub(crate) offset: u64,
    /// Offset of a word that counts the probes; 0 if there is none.
    pub(crate) counter: u64,
    /// Whether the probe is hit when the function that begins there returns.
    pub(crate) returns: bool,
}

/// What such a probe is put on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserHead<'a> {
    /// Whether the first word says that the probe is one of returns.
    returns: bool,
    /// The part of the first word after the colon.
    names: Option<LineWord<'a>>,
    /// The file.
    pub(crate) path: LineWord<'a>,
    /// What follows the path and the colon.
    place: LineWord<'a>,
}

impl<'a> UserHead<'a> {
    /// Parses the first two words of a definition. `None` when it is one of another kind.
    pub(crate) fn parse(line: &'a str) -> Result<Option<Self>, ProbeRefusal> {
        let mut all = words(line);
        let (Some(first), Some(second)) = (all.next(), all.next()) else {
            return Ok(None);
        };
        let Some(rest) = first.text.strip_prefix(['p', 'r']) else {
            return Ok(None);
        };
        expand::check_count(line, line)?;
        if !second.text.contains('/') {
            return Ok(None);
        }
        let Some((path, place)) = second.text.rsplit_once(':') else {
            return Ok(None);
        };
        // Beyond ftrace: a function. The places of other kinds are no paths.
        let is_function = path.starts_with('/') && place.starts_with(is_first_of_name);
        if !is_function && !place.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        let begin = second.text.len().saturating_sub(place.len());
        Ok(Some(Self {
            returns: first.text.starts_with('r'),
            names: rest.strip_prefix(':').map(|text| LineWord { at: 2, text }),
            path: LineWord {
                at: second.at,
                text: path,
            },
            place: LineWord {
                at: second.at.saturating_add(begin),
                text: place,
            },
        }))
    }

    /// Returns the function that the place names, if it names one.
    pub(crate) fn function(&self) -> Option<&'a str> {
        let text = self.place.text;
        let end = text.find(['+', '%', '(']).unwrap_or(text.len());
        text.get(..end)
            .filter(|name| name.starts_with(is_first_of_name))
    }

    /// Parses the place in the file. `begin` is the offset of [`Self::function`], if the file has it.
    pub(crate) fn place(&self, begin: Option<u64>) -> Result<UserPlace, ProbeRefusal> {
        let LineWord { at, text } = self.place;
        let (text, counter) = match text.split_once('(') {
            None => (text, 0),
            Some((before, inside)) => {
                let inside_at = at.saturating_add(before.len()).saturating_add(1);
                let refuse = |error, len: usize| {
                    Err(ProbeRefusal::new(error, inside_at.saturating_add(len)))
                };
                let number = match inside.split_once(')') {
                    None => return refuse(ProbeError::ReferenceOpen, inside.len()),
                    Some((number, "")) => number,
                    Some((number, _)) => {
                        let end = number.len().saturating_add(1);
                        return refuse(ProbeError::ReferenceSuffix, end);
                    }
                };
                let counter = number::unsigned(number)
                    .map_err(|code| ProbeRefusal::with(ProbeError::Reference, inside_at, code))?;
                (before, counter)
            }
        };
        let (text, is_return) = match text.split_once('%') {
            None => (text, false),
            Some((text, "return")) => (text, true),
            Some((text, _)) => {
                let at = at.saturating_add(text.len());
                return Err(ProbeRefusal::new(ProbeError::AddressSuffix, at));
            }
        };
        let (begin, text, at) = match self.function() {
            None => (0, text, at),
            Some(name) => {
                let begin = begin.ok_or(ProbeRefusal::new(ProbeError::FilePlace, at))?;
                let after = at.saturating_add(name.len()).saturating_add(1);
                match text.split_once('+') {
                    None => (begin, "0", at),
                    Some((_, offset)) => (begin, offset, after),
                }
            }
        };
        let offset = number::unsigned(text)
            .map_err(|code| ProbeRefusal::with(ProbeError::FilePlace, at, code))?
            .wrapping_add(begin);
        Ok(UserPlace {
            offset,
            counter,
            returns: self.returns || is_return,
        })
    }

    /// Parses the names of the event.
    pub(crate) fn names(&self) -> Result<ProbeNames<'a>, ProbeRefusal> {
        ProbeNames::given(self.names)
    }

    /// Writes the name of an event at this offset that has none of its own: the name of the file up to the first
    /// of these signs. Fails when `w` does.
    pub(crate) fn write_default_name(&self, offset: u64, w: &mut dyn Write) -> fmt::Result {
        let path = self.path.text;
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let name = name.split(['.', '-', '_']).next().unwrap_or_default();
        let mut short = ShortName::new(w);
        write!(short, "p_{name}_{offset:#x}")
    }
}

/// Returns whether names of functions begin so.
fn is_first_of_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

impl UserPlace {
    /// Writes the place in a file as the list of definitions has it. Fails when `w` does.
    pub(crate) fn write(&self, w: &mut dyn Write) -> fmt::Result {
        write!(w, "{:#018x}", self.offset)?;
        match self.counter {
            0 => Ok(()),
            counter => write!(w, "({counter:#x})"),
        }
    }
}

/// Returns the path in the place of a list of definitions.
pub(crate) fn path_of(place: &str) -> &str {
    place.rsplit_once(':').map_or(place, |(path, _)| path)
}
