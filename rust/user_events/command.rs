// SPDX-License-Identifier: GPL-2.0

//! A definition as a program or a line of `dynamic_events` gives it.

use super::{
    field::{
        end_of,
        UserField, //
    },
    WrongUserEvent,
    MARK, //
};
use crate::text::word::is_ascii_space;
use core::iter::Peekable;

/// Most bytes of a name: it is that of a folder.
pub(crate) const LONGEST_NAME: usize = 255;

/// A definition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserCommand<'a> {
    pub(crate) name: &'a str,
    /// What comes after the name.
    pub(crate) fields: &'a str,
}

impl<'a> UserCommand<'a> {
    /// Reads a definition.
    ///
    /// # Errors
    ///
    /// That it has flags, of which there are none, or no name that a folder can have. Its fields are not looked
    /// at.
    pub(crate) fn parse(text: &'a [u8]) -> Result<Self, WrongUserEvent> {
        let text = core::str::from_utf8(text).map_err(|_| WrongUserEvent)?;
        let (name, fields) = text.split_once(' ').unwrap_or((text, ""));
        let is_wrong = |byte: u8| byte.is_ascii_control() || matches!(byte, b':' | b'/');
        let is_taken = matches!(name, "" | "." | ".." | "enable" | "filter");
        match is_taken || name.len() > LONGEST_NAME || name.bytes().any(is_wrong) {
            true => Err(WrongUserEvent),
            false => Ok(Self { name, fields }),
        }
    }

    /// Reads a line of `dynamic_events` that begins with [`MARK`].
    ///
    /// # Errors
    ///
    /// Those of [`Self::parse`].
    pub(crate) fn parse_dynamic(line: &'a [u8]) -> Result<Self, WrongUserEvent> {
        let line = line.strip_prefix(MARK.as_bytes()).unwrap_or(line);
        let blanks = line
            .iter()
            .take_while(|byte| is_ascii_space(**byte))
            .count();
        Self::parse(line.get(blanks..).unwrap_or_default())
    }

    /// Calls `f` with each field, in the order of their places.
    ///
    /// # Errors
    ///
    /// That one is none, and those of `f`.
    pub(crate) fn for_each_field<E: From<WrongUserEvent>>(
        self,
        mut f: impl FnMut(UserField) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut offset = end_of(None);
        let mut at = 0usize;
        for part in self.fields.split(';') {
            let end = at.saturating_add(part.len());
            if let Some(field) = UserField::read(self.fields, at..end, offset)? {
                offset = end_of(Some(&field));
                f(field)?;
            }
            at = end.saturating_add(1);
        }
        Ok(())
    }
}

/// Returns the words of `text`; a semicolon is the end of a word.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split_inclusive(';');
    let words =
        parts.flat_map(|part| part.split(|c: char| u8::try_from(c).is_ok_and(is_ascii_space)));
    words.filter(|word| !word.is_empty())
}

/// Returns whether `given` defines the fields that were read from `text`: in the same words, and with nothing
/// after them but a semicolon.
pub(crate) fn is_same(fields: &[UserField], text: &str, given: &str) -> bool {
    let mut words = words(given).peekable();
    if words.peek().is_none() {
        return fields.is_empty();
    }
    let is_next = |field: &UserField| {
        let size = field.defined_size(text);
        let mut ty = field.ty(text).split(' ');
        ty.all(|own| words.next() == Some(own))
            && take(&mut words, size.is_none(), |word| word == field.name(text))
            && size.is_none_or(|size| take(&mut words, true, |word| is_number(word, size)))
    };
    fields.iter().all(is_next) && words.next().is_none()
}

/// Takes the next word, and returns whether it is the right one. The last one of a field has a semicolon, or
/// none comes after it.
fn take<'a>(
    words: &mut Peekable<impl Iterator<Item = &'a str>>,
    is_last: bool,
    is_it: impl Fn(&str) -> bool,
) -> bool {
    let Some(word) = words.next() else {
        return false;
    };
    match word.strip_suffix(';') {
        Some(word) => is_last && is_it(word),
        None => is_it(word) && (!is_last || words.peek().is_none()),
    }
}

/// Returns whether `text` is `number` as it is printed.
fn is_number(text: &str, number: u32) -> bool {
    !text.starts_with(['0', '+']) && text.parse() == Ok(number)
}
