// SPDX-License-Identifier: GPL-2.0

//! What a histogram does with an event that was counted: `onmatch(SYSTEM.EVENT).NAME(PARAMETERS)` and
//! `onmatch(SYSTEM.EVENT).trace(NAME,PARAMETERS)` record the synthetic event of that name.

use super::error::{
    refuse,
    HistErrno,
    HistErrorKind,
    Log, //
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
/// How an action begins.
const MATCH: &[u8] = b"onmatch(";
const OTHERS: [&[u8]; 2] = [b"onmax(", b"onchange("];

/// Returns whether an item of a command is an action.
pub(super) fn is_action(item: &[u8]) -> bool {
    item.starts_with(MATCH) || OTHERS.iter().any(|begin| item.starts_with(begin))
}

/// An action.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchAction<'a> {
    pub(crate) system: &'a [u8],
    pub(crate) event: &'a [u8],
    /// The synthetic event.
    pub(crate) name: &'a [u8],
    /// Whether `trace` names it.
    by_trace: bool,
    /// As they were written, with commas and blanks.
    parameters: &'a [u8],
}

impl PartialEq for MatchAction<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.system, self.event, self.name) == (other.system, other.event, other.name)
            && self.by_trace == other.by_trace
            && self.parameters().eq(other.parameters())
    }
}

/// Divides `text` at the first `end`. The rest is `None` when there is none.
fn until(text: &[u8], end: u8) -> (&[u8], Option<&[u8]>) {
    let mut parts = text.splitn(2, |byte| *byte == end);
    (parts.next().unwrap_or_default(), parts.next())
}

impl<'a> MatchAction<'a> {
    /// Divides an item that [`is_action`].
    ///
    /// # Errors
    ///
    /// `Inval` for what is none, and for the actions that are not there yet.
    pub(crate) fn parse(item: &'a [u8], log: &mut Log<'_>) -> Result<Self, HistErrno> {
        let mut refuse = |kind, word: &[u8]| Err(refuse(log, kind, word));
        let Some(rest) = item.strip_prefix(MATCH) else {
            return Err(HistErrno::Inval);
        };
        let (of, Some(rest)) = until(rest, b')') else {
            return refuse(HistErrorKind::NoClosingParen, rest);
        };
        let (system, Some(event)) = until(of, b'.') else {
            return refuse(HistErrorKind::MissingSubsystem, of);
        };
        let (_, Some(rest)) = until(rest, b'.') else {
            return refuse(HistErrorKind::NoAction, b"");
        };
        let (name, Some(rest)) = until(rest, b'(') else {
            return refuse(HistErrorKind::NoAction, b"");
        };
        // As in ftrace by their beginnings.
        let is_snapshot = name.starts_with(b"snapshot");
        if is_snapshot && !rest.contains(&b')') {
            return refuse(HistErrorKind::NoClosingParen, b"");
        }
        if is_snapshot || name.starts_with(b"save") {
            return refuse(HistErrorKind::ActionMismatch, name);
        }
        let by_trace = name.starts_with(b"trace");
        let (parameters, _) = until(rest, b')');
        let mut action = Self {
            system,
            event,
            name,
            by_trace,
            parameters,
        };
        for parameter in action.words() {
            if parameter.len() < SHORTEST {
                return refuse(HistErrorKind::InvalidParameter, parameter);
            }
        }
        if by_trace {
            let first = action.words().next().unwrap_or_default();
            let (_, rest) = until(parameters, b',');
            action.name = first;
            action.parameters = rest.unwrap_or_default();
        }
        Ok(action)
    }

    /// Returns what is between the commas.
    fn words(&self) -> impl Iterator<Item = &'a [u8]> {
        let parts = self.parameters.split(|byte| *byte == b',');
        parts.map(word::strip)
    }

    /// Returns the parameters.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &'a [u8]> {
        let none = self.by_trace && self.parameters.is_empty();
        self.words().skip(usize::from(none))
    }

    /// Writes it as a command has it.
    pub(super) fn write_text(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        let text = |part| str::from_utf8(part).unwrap_or_default();
        write!(out, "onmatch({}.{}).", text(self.system), text(self.event))?;
        let mut separator = match self.by_trace {
            true => {
                write!(out, "trace({}", text(self.name))?;
                ","
            }
            false => {
                write!(out, "{}(", text(self.name))?;
                ""
            }
        };
        for parameter in self.parameters() {
            write!(out, "{separator}{}", text(parameter))?;
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
        let action = MatchAction::parse(text.as_bytes(), &mut log).map(|action| {
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
                "onmatch(s.e.f).trace(syn,aa)",
            ),
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
            ("onmatch(s.e).syn", NoAction, ""),
            ("onmatch(s.e).save(aa)", ActionMismatch, "save"),
            ("onmatch(s.e).snapshot()", ActionMismatch, "snapshot"),
            ("onmatch(s.e).snapshot(", NoClosingParen, ""),
            ("onmatch(s.e).syn()", InvalidParameter, ""),
            ("onmatch(s.e).syn(aa,b)", InvalidParameter, "b"),
            ("onmatch(s.e).trace()", InvalidParameter, ""),
        ] {
            let logged = vec![(kind, word.to_string())];
            assert_eq!(parsed(text), (Err(HistErrno::Inval), logged), "{text}");
        }
        for text in ["onmax($aa).save(bb)", "onchange($aa).snapshot()"] {
            assert_eq!(parsed(text), (Err(HistErrno::Inval), vec![]), "{text}");
        }
    }
}
