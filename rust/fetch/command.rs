// SPDX-License-Identifier: GPL-2.0

//! One line of `kprobe_events` or `dynamic_events`: its words, and what they define or delete.
//!
//! A line is what remains when its words are joined by one blank each: carets point into that.

use super::{
    error::{
        Code,
        ProbeError,
        ProbeRefusal, //
    },
    number, //
};
use core::fmt::{
    self,
    Write, //
};

/// A name has fewer bytes.
const LONGEST_NAME: usize = 64;
/// Most calls at a time that a probe of returns follows.
const MOST_ACTIVE: u64 = 4096;
/// The group of an event that names none.
pub(crate) const GROUP: &str = "kprobes";

/// A word of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineWord<'a> {
    /// Its offset in the line.
    pub(crate) at: usize,
    pub(crate) text: &'a str,
}

/// Returns the words of a joined line.
pub(crate) fn words(line: &str) -> impl Iterator<Item = LineWord<'_>> + Clone {
    let mut at = 0usize;
    line.split(' ').map(move |text| {
        let word = LineWord { at, text };
        at = at.saturating_add(text.len()).saturating_add(1);
        word
    })
}

/// A line that defines an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DefiningLine<'a> {
    /// The line without the filter.
    pub(crate) text: &'a str,
    /// The filter and its place in the line; empty when there is nothing after the `if`.
    pub(crate) condition: Option<LineWord<'a>>,
}

impl<'a> DefiningLine<'a> {
    /// Finds the filter in a line: what is after an `if` that comes after the first two words.
    pub(crate) fn parse(line: &'a str) -> Self {
        let found = words(line).skip(2).find(|word| word.text == "if");
        let condition = found.map(|word| {
            let at = word.at.saturating_add("if ".len());
            let text = line.get(at..).unwrap_or_default();
            LineWord { at, text }
        });
        let end = found.map_or(line.len(), |word| word.at.saturating_sub(1));
        Self {
            text: line.get(..end).unwrap_or(line),
            condition,
        }
    }
}

/// Writes as much of a name as there is room for.
pub(super) struct ShortName<'a> {
    w: &'a mut dyn Write,
    len: usize,
}

impl<'a> ShortName<'a> {
    /// Returns one of which nothing is written.
    pub(super) fn new(w: &'a mut dyn Write) -> Self {
        Self { w, len: 0 }
    }
}

impl Write for ShortName<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            self.len = self.len.saturating_add(c.len_utf8());
            if self.len < LONGEST_NAME {
                self.w.write_char(c)?;
            }
        }
        Ok(())
    }
}

/// What a probe is put on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbePlace<'a> {
    Address(u64),
    Symbol {
        /// Its name, with that of a module and a colon before it perhaps.
        name: &'a str,
        offset: u32,
    },
}

/// The first two words of a definition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    /// Whether the probe is hit when the function returns.
    pub(crate) returns: bool,
    /// Most calls at a time that are followed; 0 leaves it to the kernel.
    pub(crate) max_active: u32,
    /// The part of the first word after the colon.
    names: Option<LineWord<'a>>,
    pub(crate) place: ProbePlace<'a>,
    /// Offset of the second word.
    pub(crate) place_at: usize,
}

/// Group and name of an event, as far as they are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProbeNames<'a> {
    pub(crate) group: Option<&'a str>,
    pub(crate) event: Option<&'a str>,
}

/// Returns whether `text` is a C identifier.
pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns whether `text` can be the name of a group: dashes are allowed after the first byte.
fn is_group(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

impl<'a> ProbeNames<'a> {
    /// Returns the `[GROUP/][EVENT]` that is to be deleted; `None` when there is neither.
    pub(crate) fn selected(text: &'a str) -> Option<Self> {
        let (group, event) = match text.split_once('/') {
            Some((group, event)) => (Some(group), event),
            None => (None, text),
        };
        let event = Some(event).filter(|event| !event.is_empty());
        (group.is_some() || event.is_some()).then_some(Self { group, event })
    }

    /// Parses the part of the first word of a definition after its colon, if it has one.
    pub(super) fn given(word: Option<LineWord<'a>>) -> Result<Self, ProbeRefusal> {
        match word {
            Some(word) => Self::parse(word),
            None => Ok(Self {
                group: None,
                event: None,
            }),
        }
    }

    /// Parses `[GROUP/][EVENT]`.
    pub(crate) fn parse(word: LineWord<'a>) -> Result<Self, ProbeRefusal> {
        let LineWord { mut at, text } = word;
        let (group, event) = match text.split_once('/').or_else(|| text.split_once('.')) {
            Some((group, event)) => (Some(group), event),
            None => (None, text),
        };
        if let Some(group) = group {
            let error = match group {
                "" => Some(ProbeError::GroupNameMissing),
                _ if group.len() >= LONGEST_NAME => Some(ProbeError::GroupNameTooLong),
                _ if !is_group(group) => Some(ProbeError::GroupName),
                _ => None,
            };
            if let Some(error) = error {
                return Err(ProbeRefusal::new(error, at));
            }
            at = at.saturating_add(group.len()).saturating_add(1);
        }
        match event {
            "" if group.is_some() => Ok(Self { group, event: None }),
            "" => Err(ProbeRefusal::new(ProbeError::EventNameMissing, at)),
            _ if event.len() >= LONGEST_NAME => {
                Err(ProbeRefusal::new(ProbeError::EventNameTooLong, at))
            }
            _ if !is_name(event) => Err(ProbeRefusal::new(ProbeError::EventName, at)),
            _ => Ok(Self {
                group,
                event: Some(event),
            }),
        }
    }
}

impl<'a> Head<'a> {
    /// Parses the first two words of a definition. `None` when they are no definition of a probe in the
    /// kernel.
    pub(crate) fn parse(line: &'a str) -> Result<Option<Self>, ProbeRefusal> {
        let mut words = words(line);
        let (Some(first), Some(second)) = (words.next(), words.next()) else {
            return Ok(None);
        };
        let (returns, rest) = match (first.text.strip_prefix('p'), first.text.strip_prefix('r')) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Ok(None),
        };
        let (number, names) = match rest.split_once(':') {
            Some((number, names)) => (number, Some(names)),
            None => (rest, None),
        };
        let max_active = match number.bytes().next() {
            Some(b'0'..=b'9') => max_active(returns, number)?,
            _ => 0,
        };
        let names = names.map(|text| LineWord {
            at: first.text.len().saturating_sub(text.len()),
            text,
        });
        let Some((place, at_exit)) = place(second)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            returns: returns || at_exit,
            max_active,
            names,
            place,
            place_at: second.at,
        }))
    }

    /// Parses the names of the event.
    pub(crate) fn names(&self) -> Result<ProbeNames<'a>, ProbeRefusal> {
        ProbeNames::given(self.names)
    }

    /// Writes the name of an event that has none of its own. Fails when `w` does.
    pub(crate) fn write_default_name(&self, w: &mut dyn Write) -> fmt::Result {
        let mut short = ShortName::new(w);
        short.write_char(if self.returns { 'r' } else { 'p' })?;
        match self.place {
            ProbePlace::Address(address) => write!(short, "_{address:#x}"),
            ProbePlace::Symbol { name, offset } => {
                short.write_char('_')?;
                for byte in name.chars() {
                    short.write_char(match byte {
                        ':' | '.' | '*' => '_',
                        other => other,
                    })?;
                }
                write!(short, "_{offset}")
            }
        }
    }

    /// Writes the place as the list of definitions has it. Fails when `w` does.
    pub(crate) fn write_place(&self, w: &mut dyn Write) -> fmt::Result {
        match self.place {
            ProbePlace::Address(address) => write!(w, "{address:#x}"),
            ProbePlace::Symbol { name, offset: 0 } => w.write_str(name),
            ProbePlace::Symbol { name, offset } => write!(w, "{name}+{offset}"),
        }
    }
}

/// Parses the number after `r`, which stands at offset 1 of the line.
fn max_active(returns: bool, text: &str) -> Result<u32, ProbeRefusal> {
    if !returns {
        return Err(ProbeRefusal::new(ProbeError::MaxActiveKind, 1));
    }
    match number::unsigned(text) {
        Ok(0) | Err(_) => Err(ProbeRefusal::new(ProbeError::MaxActive, 1)),
        Ok(count) if count > u64::from(u32::MAX) => {
            Err(ProbeRefusal::new(ProbeError::MaxActive, 1))
        }
        Ok(count) if count > MOST_ACTIVE => Err(ProbeRefusal::new(ProbeError::MaxActiveTooBig, 1)),
        Ok(count) => Ok(count as u32),
    }
}

/// Returns whether two second words are one place.
pub(crate) fn is_same_place(text: &str, other: &str) -> bool {
    let parsed = |text| place(LineWord { at: 0, text }).ok().flatten();
    match (parsed(text), parsed(other)) {
        (Some((place, _)), Some((other, _))) => place == other,
        _ => false,
    }
}

/// Parses the second word; says also whether it ends in `%return`. `None` for a place in a file.
fn place(word: LineWord<'_>) -> Result<Option<(ProbePlace<'_>, bool)>, ProbeRefusal> {
    if let Ok(address) = number::unsigned(word.text) {
        return Ok(Some((ProbePlace::Address(address), false)));
    }
    if word.text.contains('/') && word.text.contains(':') {
        return Ok(None);
    }
    let (text, returns) = match word.text.split_once('%') {
        Some((text, "return")) => (text, true),
        Some((text, _)) => {
            let at = word.at.saturating_add(text.len());
            return Err(ProbeRefusal::new(ProbeError::AddressSuffix, at));
        }
        None => (word.text, false),
    };
    let at = text.find(['+', '-']).unwrap_or(text.len());
    let (name, offset) = text.split_at_checked(at).unwrap_or((text, ""));
    let offset = match offset {
        "" => Ok(0),
        text => number::signed(text).and_then(|n| u32::try_from(n).map_err(|_| Code::Invalid)),
    };
    match offset {
        Ok(offset) => Ok(Some((ProbePlace::Symbol { name, offset }, returns))),
        Err(_) => Err(ProbeRefusal::new(ProbeError::ProbeAddress, word.at)),
    }
}
