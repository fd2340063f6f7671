// SPDX-License-Identifier: GPL-2.0

//! The words of a definition of an event probe, `e[:[GROUP/][EVENT]] SYSTEM/EVENT [ARGUMENTS] [if FILTER]`,
//! but for the arguments.

use super::{
    command::{
        words,
        DefiningLine,
        LineWord,
        ProbeNames, //
    },
    error::{
        ProbeError,
        ProbeRefusal, //
    }, //
};

/// The group of an event probe that names none.
pub(crate) const GROUP: &str = "eprobes";

/// A definition of an event probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventHead<'a> {
    /// The part of the first word after the colon.
    names: Option<LineWord<'a>>,
    /// The event that is followed.
    place: LineWord<'a>,
    /// The line without the filter.
    pub(crate) line: &'a str,
    /// The filter and its place in the line; empty when there is nothing after the `if`.
    pub(crate) filter: Option<LineWord<'a>>,
}

/// Why the name of the event that is followed is refused: what is wrong with it, if it is not just missing,
/// and that it is needed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamelessEvent(pub(crate) Option<ProbeRefusal>, pub(crate) ProbeRefusal);

impl<'a> EventHead<'a> {
    /// Parses a line; `None` when it defines no event probe.
    pub(crate) fn parse(line: DefiningLine<'a>) -> Option<Self> {
        let mut all = words(line.text);
        let (first, place) = (all.next()?, all.next()?);
        let rest = first.text.strip_prefix('e')?;
        let names = rest.split_once(':').map(|(_, text)| LineWord {
            at: first.text.len().saturating_sub(text.len()),
            text,
        });
        Some(Self {
            names,
            place,
            line: line.text,
            filter: line.condition,
        })
    }

    /// Parses the names of the event.
    pub(crate) fn names(&self) -> Result<ProbeNames<'a>, ProbeRefusal> {
        ProbeNames::given(self.names)
    }

    /// Parses the system and the name of the event that is followed.
    pub(crate) fn followed(&self) -> Result<(&'a str, &'a str), NamelessEvent> {
        let missing = ProbeRefusal::new(ProbeError::EventInfo, self.place.at);
        match ProbeNames::parse(self.place) {
            Ok(ProbeNames {
                group: Some(system),
                event: Some(event),
            }) => Ok((system, event)),
            Ok(_) => Err(NamelessEvent(None, missing)),
            Err(refusal) => Err(NamelessEvent(Some(refusal), missing)),
        }
    }

    /// Returns the offset of the name of the event that is followed.
    pub(crate) fn place_at(&self) -> usize {
        self.place.at
    }
}

/// Returns whether `given` is the event `own`, which is written with a dot.
pub(crate) fn is_same_event(own: &str, given: &str) -> bool {
    let names = given.split_once('/').or_else(|| given.split_once('.'));
    names.is_some() && names == own.split_once('.')
}
