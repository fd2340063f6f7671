// SPDX-License-Identifier: GPL-2.0

//! The events that a command waits for, with `onmatch`: the variables of these are found first.

use super::{
    action::{
        HistAction,
        MOST_ACTIONS, //
    },
    expr::{
        NameSpan,
        NamedFields, //
    },
    variable::{
        EventPath,
        NamedVariable, //
    }, //
};
use crate::event::format::INTERNAL_SYSTEM;

/// The events of the `onmatch` of a command.
#[derive(Clone, Copy)]
pub(crate) struct MatchedEvents<'a>([Option<EventPath<'a>>; MOST_ACTIONS]);

impl<'a> MatchedEvents<'a> {
    /// Returns those of actions whose texts are parts of `text`.
    pub(super) fn of(actions: &[NameSpan; MOST_ACTIONS], text: &'a [u8]) -> Self {
        Self(actions.map(|item| HistAction::parsed(item, text)?.handler.matched()))
    }

    /// Returns what a variable stands for: that of `event`, if it is written. If not, one of the events that the
    /// command waits for comes before those of others, of which there may be one alone.
    pub(super) fn variable(
        &self,
        fields: &dyn NamedFields,
        event: Option<EventPath<'_>>,
        name: &[u8],
    ) -> NamedVariable {
        let mut found = NamedVariable::Unknown;
        if event.is_none() {
            // Of markers ftrace finds none here.
            let events = self.0.iter().flatten();
            for path in events.filter(|(system, _)| *system != INTERNAL_SYSTEM.as_bytes()) {
                let there = fields.variable(Some(*path), name);
                match (there, found) {
                    (NamedVariable::Unknown, _) => {}
                    (_, NamedVariable::Unknown) => found = there,
                    // An event may be waited for twice.
                    _ if there == found => {}
                    _ => return NamedVariable::Ambiguous,
                }
            }
        }
        match found {
            NamedVariable::Unknown => fields.variable(event, name),
            found => found,
        }
    }
}
