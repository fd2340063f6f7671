// SPDX-License-Identifier: GPL-2.0

//! What a histogram does with an event that was counted.
//!
//! ```text
//! action    HANDLER.DEED
//! handler   onmatch(SYSTEM.EVENT)    when all references are set
//!           onmax($VARIABLE)         when it is larger than it ever was in this entry
//!           onchange($VARIABLE)      when it is another one than the last time
//! deed      NAME(PARAMETER,...)      records the synthetic event of that name
//!           trace(NAME,PARAMETER,...)  the same
//!           save(FIELD,...)          keeps these in the entry
//!           snapshot()               takes a snapshot
//! ```

use super::{
    error::{
        refuse,
        HistErrno,
        HistErrorKind,
        Log, //
    },
    expr::NameSpan,
    tracked::Rule,
    variable::EventPath, //
};
use crate::text::{
    word,
    writer::ByteWrite, //
};
use core::{
    fmt,
    str, //
};

/// Most actions of a histogram.
pub(crate) const MOST_ACTIONS: usize = 8;
/// Bytes of the shortest parameter that ftrace takes.
const SHORTEST: usize = 2;
/// Most parameters that ftrace takes.
const MOST_WORDS: usize = 64;
/// How an action begins.
const MATCH: &[u8] = b"onmatch(";
const MAX: &[u8] = b"onmax(";
const CHANGE: &[u8] = b"onchange(";

/// Returns whether an item of a command is an action.
pub(super) fn is_action(item: &[u8]) -> bool {
    [MATCH, MAX, CHANGE]
        .iter()
        .any(|begin| item.starts_with(begin))
}

/// When an action runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HistHandler<'a> {
    /// An event whose references, also those to this event, are set.
    Match { system: &'a [u8], event: &'a [u8] },
    /// What follows a variable, which is written as in the command.
    Track { variable: &'a [u8], kind: TrackKind },
}

/// What of a variable an action follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrackKind {
    Maximum,
    Change,
}

impl TrackKind {
    /// Returns what takes the place of the number that an entry has.
    #[inline(always)]
    pub(crate) const fn rule(self) -> Rule {
        match self {
            Self::Maximum => Rule::Larger,
            Self::Change => Rule::Other,
        }
    }

    /// Returns its handler.
    pub(super) const fn handler(self) -> &'static str {
        match self {
            Self::Maximum => "onmax",
            Self::Change => "onchange",
        }
    }

    /// Returns what an entry calls the number.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Maximum => "max",
            Self::Change => "changed",
        }
    }
}

/// What an action does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Record,
    Save,
    Snapshot,
}

/// An action.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HistAction<'a> {
    pub(crate) handler: HistHandler<'a>,
    pub(crate) deed: Deed,
    /// What it is called, as it was written.
    word: &'a [u8],
    /// The synthetic event, of [`Deed::Record`].
    pub(crate) name: &'a [u8],
    /// Whether `trace` names it.
    by_trace: bool,
    /// As they were written, with commas and blanks.
    parameters: &'a [u8],
}

/// However the synthetic event is named.
impl PartialEq for HistAction<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.handler, self.deed, self.name) == (other.handler, other.deed, other.name)
            && self.parameters().eq(other.parameters())
    }
}

/// Divides `text` at the first `end`. The rest is `None` when there is none.
fn until(text: &[u8], end: u8) -> (&[u8], Option<&[u8]>) {
    let mut parts = text.splitn(2, |byte| *byte == end);
    (parts.next().unwrap_or_default(), parts.next())
}

impl<'a> HistHandler<'a> {
    /// Divides an item that [`is_action`]. Returns the rest as well.
    fn parse(item: &'a [u8], log: &mut Log<'_>) -> Result<(Self, &'a [u8]), HistErrno> {
        let tracks = [(MAX, TrackKind::Maximum), (CHANGE, TrackKind::Change)];
        for (begin, kind) in tracks {
            let Some(rest) = item.strip_prefix(begin) else {
                continue;
            };
            let (variable, Some(rest)) = until(rest, b')') else {
                return Err(HistErrno::Inval);
            };
            return Ok((Self::Track { variable, kind }, rest));
        }
        let rest = item.strip_prefix(MATCH).ok_or(HistErrno::Inval)?;
        let (of, Some(rest)) = until(rest, b')') else {
            return Err(refuse(log, HistErrorKind::NoClosingParen, rest));
        };
        let (system, Some(event)) = until(of, b'.') else {
            return Err(refuse(log, HistErrorKind::MissingSubsystem, of));
        };
        Ok((Self::Match { system, event }, rest))
    }

    /// Returns the event whose records it waits for.
    pub(crate) fn matched(&self) -> Option<EventPath<'a>> {
        match *self {
            Self::Match { system, event } => Some((system, event)),
            Self::Track { .. } => None,
        }
    }

    /// Writes it as a command has it.
    fn write_text(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        match *self {
            Self::Match { system, event } => {
                out.write_str("onmatch(")?;
                out.write_bytes(system)?;
                out.write_str(".")?;
                out.write_bytes(event)?;
            }
            Self::Track { variable, kind } => {
                write!(out, "{}(", kind.handler())?;
                out.write_bytes(variable)?;
            }
        }
        out.write_str(")")
    }
}

impl<'a> HistAction<'a> {
    /// Divides an item that [`is_action`]. `has_event` says whether there is an event of a system and a name, which is
    /// asked before what follows the event is looked at.
    ///
    /// # Errors
    ///
    /// `Inval` for what is none.
    pub(crate) fn parse(
        item: &'a [u8],
        has_event: &dyn Fn(&[u8], &[u8]) -> bool,
        log: &mut Log<'_>,
    ) -> Result<Self, HistErrno> {
        let (handler, rest) = HistHandler::parse(item, log)?;
        if let Some((system, event)) = handler.matched() {
            if !has_event(system, event) {
                return Err(refuse(log, HistErrorKind::NoSuchEvent, event));
            }
        }
        let mut refuse = |kind, word: &[u8]| Err(refuse(log, kind, word));
        let (_, Some(rest)) = until(rest, b'.') else {
            return refuse(HistErrorKind::NoAction, b"");
        };
        let (word, Some(rest)) = until(rest, b'(') else {
            return refuse(HistErrorKind::NoAction, b"");
        };
        // As in ftrace by their beginnings.
        let deed = match word {
            _ if word.starts_with(b"save") => Deed::Save,
            _ if word.starts_with(b"snapshot") => Deed::Snapshot,
            _ => Deed::Record,
        };
        let (parameters, end) = until(rest, b')');
        let mut action = Self {
            handler,
            deed,
            word,
            name: word,
            by_trace: deed == Deed::Record && word.starts_with(b"trace"),
            parameters,
        };
        if deed == Deed::Snapshot {
            action.parameters = b"";
            if end.is_none() {
                return refuse(HistErrorKind::NoClosingParen, rest);
            }
        } else {
            let most = MOST_WORDS.saturating_add(action.by_trace.into());
            for (at, parameter) in action.words().enumerate() {
                if at >= most {
                    return refuse(HistErrorKind::TooManyParameters, b"");
                }
                if parameter.len() < SHORTEST {
                    return refuse(HistErrorKind::InvalidParameter, parameter);
                }
            }
        }
        if deed != Deed::Record && matches!(handler, HistHandler::Match { .. }) {
            return refuse(HistErrorKind::ActionMismatch, word);
        }
        if action.by_trace {
            action.name = action.words().next().unwrap_or_default();
            let (_, rest) = until(parameters, b',');
            action.parameters = rest.unwrap_or_default();
        }
        Ok(action)
    }

    /// Returns the action that `item` of `text` is; `None` if it is none. Its errors were told when it was parsed first.
    pub(super) fn parsed(item: NameSpan, text: &'a [u8]) -> Option<Self> {
        Self::parse(item.text(text), &|_, _| true, &mut |_, _| {}).ok()
    }

    /// Returns what is between the commas.
    fn words(&self) -> impl Iterator<Item = &'a [u8]> {
        let parts = self.parameters.split(|byte| *byte == b',');
        parts.map(word::strip)
    }

    /// Returns the parameters.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &'a [u8]> {
        let none = self.parameters.is_empty();
        self.words().skip(usize::from(none))
    }

    /// Writes it as a command has it.
    pub(super) fn write_text(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        self.handler.write_text(out)?;
        out.write_str(".")?;
        out.write_bytes(self.word)?;
        out.write_str("(")?;
        let mut separator = "";
        if self.by_trace {
            out.write_bytes(self.name)?;
            separator = ",";
        }
        for parameter in self.parameters() {
            out.write_str(separator)?;
            out.write_bytes(parameter)?;
            separator = ",";
        }
        out.write_char(')')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Logged = Vec<(HistErrorKind, String)>;

    fn parsed(text: &str) -> (Result<String, HistErrno>, Logged) {
        let mut logged = Vec::new();
        let mut log = |kind, word: &[u8]| {
            logged.push((kind, String::from_utf8_lossy(word).into_owned()));
        };
        let is_there = |_: &[u8], event: &[u8]| event != b"gone";
        let action = HistAction::parse(text.as_bytes(), &is_there, &mut log).map(|action| {
            let mut out = String::new();
            action.write_text(&mut out).unwrap();
            out
        });
        (action, logged)
    }

    #[test]
    fn actions_read_back() {
        for (text, shown) in [
            ("onmatch(s.e).syn($aa,bb)", "onmatch(s.e).syn($aa,bb)"),
            ("onmatch(s.e).syn( $aa , bb ", "onmatch(s.e).syn($aa,bb)"),
            ("onmatch(s.e).trace(syn)", "onmatch(s.e).trace(syn)"),
            (
                "onmatch(s.e).trace(syn, aa,$bb)",
                "onmatch(s.e).trace(syn,aa,$bb)",
            ),
            (
                "onmatch(s.e.f)x.tracer(syn,aa)y",
                "onmatch(s.e.f).tracer(syn,aa)",
            ),
            ("onmax($aa).save(bb, cc)", "onmax($aa).save(bb,cc)"),
            ("onchange(aa)x.snapshot(yy)z", "onchange(aa).snapshot()"),
            ("onmax($aa).syn(bb", "onmax($aa).syn(bb)"),
        ] {
            assert_eq!(parsed(text), (Ok(shown.to_string()), vec![]), "{text}");
        }
    }

    #[test]
    fn refusals() {
        use HistErrorKind::*;
        for (text, kind, word) in [
            ("onmatch(s.e", NoClosingParen, "s.e"),
            ("onmatch(se)", MissingSubsystem, "se"),
            ("onmatch(s.e)", NoAction, ""),
            ("onmatch(s.gone)", NoSuchEvent, "gone"),
            ("onmatch(s.gone).snapshot()", NoSuchEvent, "gone"),
            ("onmatch(s.e).syn", NoAction, ""),
            ("onmatch(s.e).save(aa)", ActionMismatch, "save"),
            ("onmatch(s.e).snapshot()", ActionMismatch, "snapshot"),
            ("onmatch(s.e).snapshot(", NoClosingParen, ""),
            ("onmax($aa).snapshot(x", NoClosingParen, "x"),
            ("onmatch(s.e).save()", InvalidParameter, ""),
            ("onmax($aa).saved()", InvalidParameter, ""),
            ("onmax($aa)", NoAction, ""),
            ("onchange($aa).save", NoAction, ""),
            ("onmatch(s.e).syn()", InvalidParameter, ""),
            ("onmatch(s.e).syn(aa,b)", InvalidParameter, "b"),
            ("onmatch(s.e).trace()", InvalidParameter, ""),
        ] {
            let logged = vec![(kind, word.to_string())];
            assert_eq!(parsed(text), (Err(HistErrno::Inval), logged), "{text}");
        }
        let many = format!("onmax($aa).save({})", ["bb"; MOST_WORDS + 1].join(","));
        let logged = vec![(TooManyParameters, String::new())];
        assert_eq!(parsed(&many), (Err(HistErrno::Inval), logged));
        for text in ["onmax($aa", "onchange("] {
            assert_eq!(parsed(text), (Err(HistErrno::Inval), vec![]), "{text}");
        }
    }
}
