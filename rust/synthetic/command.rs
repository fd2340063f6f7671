// SPDX-License-Identifier: GPL-2.0

//! A line of `synthetic_events`, or one of `dynamic_events` that begins with `s:`.
//!
//! Errors come in ftrace's order: the form of the line, its name, whether there is such an event, which
//! only the caller knows, and then the fields one by one.

use super::{
    error::{
        SyntheticError,
        SyntheticRefusal, //
    },
    field::FieldDraft,
    MOST_FIELDS, //
};
use crate::text::word::is_space;

/// The system of the events, which a line of `dynamic_events` may name.
pub(crate) const SYSTEM: &str = "synthetic";
/// How a definition in `dynamic_events` begins.
pub(crate) const MARK: &str = "s:";

/// A line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SyntheticCommand<'a> {
    /// Removes the event of this name.
    Remove(&'a [u8]),
    Define(SyntheticDraft<'a>),
}

/// A definition whose name and fields are not looked at yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyntheticDraft<'a> {
    command: &'a [u8],
    name: &'a [u8],
    fields: &'a [u8],
}

/// Returns `text` without the white space at its beginning.
pub(crate) fn skip_spaces(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|byte| is_space(**byte)).count();
    text.get(spaces..).unwrap_or_default()
}

/// Returns the words of `text`.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    text.split(|byte| is_space(*byte))
        .filter(|word| !word.is_empty())
}

/// Returns the part of `text` before its first blank or tabulator, and what begins with that, if there is one.
fn divide(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let end = text.iter().position(|byte| matches!(byte, b' ' | b'\t'));
    match end.and_then(|end| text.split_at_checked(end)) {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    }
}

/// Checks that there is a name and a field, or the name of an event to remove.
fn check_form(text: &[u8]) -> Result<(), SyntheticRefusal> {
    let mut parts = text.split(|byte| *byte == b';');
    let first = parts.next().unwrap_or_default();
    match first.starts_with(b"!") || words(first).nth(2).is_some() {
        true => Ok(()),
        false => Err(SyntheticRefusal::whole(SyntheticError::Command)),
    }
}

impl<'a> SyntheticCommand<'a> {
    /// Divides a line of `synthetic_events`, which begins with no white space.
    pub(crate) fn parse(command: &'a [u8]) -> Result<Self, SyntheticRefusal> {
        check_form(command)?;
        match (divide(command), command.strip_prefix(b"!")) {
            (_, Some(rest)) => Ok(Self::Remove(divide(rest).0)),
            ((name, Some(fields)), None) => Ok(Self::Define(SyntheticDraft {
                command,
                name,
                fields: skip_spaces(fields),
            })),
            ((_, None), None) => Err(SyntheticRefusal::whole(SyntheticError::Command)),
        }
    }
}

impl<'a> SyntheticDraft<'a> {
    /// Divides a line of `dynamic_events`, which begins with [`MARK`].
    pub(crate) fn parse_dynamic(command: &'a [u8]) -> Result<Self, SyntheticRefusal> {
        let refuse = |error| Err(SyntheticRefusal::whole(error));
        let rest = command.get(MARK.len()..).unwrap_or_default();
        if divide(command).1.is_none() {
            return refuse(SyntheticError::Command);
        }
        let rest = match rest.contains(&b'/') {
            false => rest,
            true => {
                let event = rest.strip_prefix(SYSTEM.as_bytes());
                match event.and_then(|event| event.strip_prefix(b"/")) {
                    Some(event) => event,
                    None => return refuse(SyntheticError::DynamicCommand),
                }
            }
        };
        check_form(rest)?;
        let (name, fields) = divide(rest);
        Ok(Self {
            command,
            name,
            fields: skip_spaces(fields.unwrap_or_default()),
        })
    }

    /// Returns the name of the event.
    pub(crate) fn name(&self) -> Result<&'a str, SyntheticRefusal> {
        match name(self.name) {
            Some(name) => Ok(name),
            None if self.name.is_empty() => Err(SyntheticRefusal::whole(SyntheticError::Command)),
            None => {
                let error = SyntheticError::Name;
                Err(SyntheticRefusal::word(error, self.command, self.name))
            }
        }
    }

    /// Returns the refusal when there is an event of that name.
    pub(crate) fn exists(&self) -> SyntheticRefusal {
        SyntheticRefusal::word(SyntheticError::Exists, self.command, self.name)
    }

    /// Calls `f` with each field.
    ///
    /// # Errors
    ///
    /// The first one of `f`, or what it makes of a refusal.
    pub(crate) fn for_each_field<E: From<SyntheticRefusal>>(
        &self,
        mut f: impl FnMut(FieldDraft<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut count = 0usize;
        for part in self.fields.split(|byte| *byte == b';') {
            let mut words = words(part);
            while let Some(first) = words.next() {
                let field = FieldDraft::parse(self.command, first, &mut words)?;
                if count == MOST_FIELDS {
                    return Err(SyntheticRefusal::whole(SyntheticError::TooManyFields).into());
                }
                f(field)?;
                count = count.saturating_add(1);
            }
        }
        match count {
            0 => Err(SyntheticRefusal::whole(SyntheticError::Command).into()),
            _ => Ok(()),
        }
    }
}

/// Returns `text` if it can be the name of an event or of a field: a C identifier.
pub(super) fn name(text: &[u8]) -> Option<&str> {
    let text = core::str::from_utf8(text).ok()?;
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (begins && text.bytes().all(is_part)).then_some(text)
}
