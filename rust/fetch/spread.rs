// SPDX-License-Identifier: GPL-2.0

//! Fields of a struct that are arguments together: `FETCH->{FIELD,FIELD...}` and `FETCH->*`. ftrace does not have them.
//!
//! What is written then is one argument for each field, called as the fetch and the field. The list of definitions
//! shows these. Carets point into the line as it was written, so each word has its [`WordOrigin`].

use super::{
    argument::{
        Compiler,
        LONGEST_NAME, //
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
    expand::HEAD,
    MOST_ARGUMENTS, //
};
use core::fmt::{
    self,
    Write, //
};

/// A part of a word: its offset in the word, its place in the line as it was written, and its bytes there.
#[derive(Clone, Copy, Debug, Default)]
struct PartOrigin {
    offset: usize,
    place: usize,
    len: usize,
}

/// Where the parts of a word come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordOrigin {
    /// Its offset in the line that is written.
    at: usize,
    /// The name, the fetch, the field and the type; those that are not there repeat the last one.
    parts: [PartOrigin; 4],
}

impl WordOrigin {
    /// Returns where what is at `at` of the line that was written is in the line that it was made of. Places after the
    /// end stay as far after it.
    pub(crate) fn place(origins: &[Self], at: usize) -> usize {
        let Some(word) = origins.iter().rev().find(|origin| origin.at <= at) else {
            return at;
        };
        let inside = at.saturating_sub(word.at);
        let part = word.parts.iter().rev().find(|part| part.offset <= inside);
        part.map_or(at, |part| {
            let inside = inside.saturating_sub(part.offset);
            part.place.saturating_add(inside.min(part.len))
        })
    }

    /// Returns the place of the word.
    pub(crate) fn begin(&self) -> usize {
        let [name, ..] = self.parts;
        name.place
    }
}

/// An argument that stands for several.
struct SpreadArgument<'a> {
    /// What their names begin with.
    name: &'a str,
    fetch: LineWord<'a>,
    /// What is in braces; all that there is if it is `None`.
    fields: Option<LineWord<'a>>,
    /// Where the fields are.
    fields_at: usize,
    /// The type of those that have none of their own.
    ty: LineWord<'a>,
}

impl<'a> SpreadArgument<'a> {
    /// Parses `word`; `None` if it is one argument.
    fn parse(word: LineWord<'a>) -> Result<Option<Self>, ProbeRefusal> {
        let (name, body) = match word.text.split_once('=') {
            Some((name, body)) => (name, body),
            None => ("", word.text),
        };
        let end = word.at.saturating_add(word.text.len());
        let at = |rest: &str| end.saturating_sub(rest.len());
        // What is in quotes is text.
        if body.starts_with("\\\"") {
            return Ok(None);
        }
        let (fetch, fields, rest) = match (body.split_once("->{"), body.split_once("->*")) {
            (Some((fetch, list)), _) => match list.split_once('}') {
                Some((fields, rest)) => (fetch, Some((fields, at(list))), rest),
                None => return Err(ProbeRefusal::new(ProbeError::FieldsOpen, end)),
            },
            (None, Some((fetch, rest))) => (fetch, None, rest),
            (None, None) => return Ok(None),
        };
        let ty = match (rest, rest.strip_prefix(':')) {
            ("", _) => "",
            (_, Some(ty)) if !ty.is_empty() => ty,
            (_, Some(_)) => return Err(ProbeRefusal::new(ProbeError::Type, end)),
            (_, None) => return Err(ProbeRefusal::new(ProbeError::FieldsSuffix, at(rest))),
        };
        Ok(Some(Self {
            name: match name {
                "" => fetch.trim_start_matches('$'),
                name => name,
            },
            fetch: LineWord {
                at: at(body),
                text: fetch,
            },
            fields: fields.map(|(text, at)| LineWord { at, text }),
            fields_at: match fields {
                Some((_, at)) => at,
                // The asterisk.
                None => at(rest).saturating_sub(1),
            },
            ty: LineWord {
                at: at(ty),
                text: ty,
            },
        }))
    }

    /// Returns the length of the name that `field` has after that of the fetch.
    fn has_room(&self, field: &str) -> bool {
        let name = parts_of_name(self.name).map_or(0, |parts| {
            parts.fold(0usize, |len, part| {
                len.saturating_add(part.len()).saturating_add(1)
            })
        });
        name.saturating_add(field.len()) <= LONGEST_NAME
    }

    /// Writes the argument of a field; `is_whole` is set if its name has no room for that of the fetch. Returns where
    /// its parts are from.
    fn write(
        &self,
        field: LineWord<'_>,
        is_whole: bool,
        out: &mut SpreadLine<'_>,
    ) -> Result<WordOrigin, fmt::Error> {
        let (path, own) = match field.text.split_once(':') {
            Some((path, _)) => (path, true),
            None => (field.text, false),
        };
        out.write_char(' ')?;
        let begin = out.len;
        if let Some(parts) = parts_of_name(self.name).filter(|_| is_whole) {
            for part in parts {
                write!(out, "{part}_")?;
            }
        }
        match parts_of_name(path) {
            Some(parts) => {
                let mut before = "";
                for part in parts {
                    write!(out, "{before}{part}")?;
                    before = "_";
                }
            }
            None => out.write_str(path)?,
        }
        out.write_char('=')?;
        let name = PartOrigin {
            offset: 0,
            place: field.at,
            len: 0,
        };
        let part = |out: &SpreadLine<'_>, word: LineWord<'_>, len: usize| PartOrigin {
            offset: out.len.saturating_sub(begin),
            place: word.at,
            len,
        };
        let fetch = part(out, self.fetch, self.fetch.text.len().saturating_add(2));
        write!(out, "{}->", self.fetch.text)?;
        // All of a name that is not in the line is where the asterisk is.
        let len = if self.fields.is_some() {
            field.text.len()
        } else {
            0
        };
        let own_part = part(out, field, len);
        out.write_str(field.text)?;
        let ty = match own || self.ty.text.is_empty() {
            true => own_part,
            false => {
                out.write_char(':')?;
                let ty = part(out, self.ty, self.ty.text.len());
                out.write_str(self.ty.text)?;
                ty
            }
        };
        Ok(WordOrigin {
            at: begin,
            parts: [name, fetch, own_part, ty],
        })
    }
}

/// Returns the names in a path of fields; `None` if it is none.
fn parts_of_name(path: &str) -> Option<impl Iterator<Item = &str>> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '>');
    let is_path = !path.is_empty() && path.chars().all(is_name);
    let parts = path.split(['.', '-', '>']).filter(|part| !part.is_empty());
    is_path.then_some(parts)
}

/// The line that is written, with the number of its bytes.
struct SpreadLine<'a> {
    out: &'a mut dyn Write,
    len: usize,
}

impl Write for SpreadLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.len = self.len.saturating_add(text.len());
        self.out.write_str(text)
    }
}

/// Returns whether an argument of `line` stands for several.
pub(crate) fn has_spread(line: &str) -> bool {
    words(line)
        .skip(HEAD)
        .any(|word| word.text.contains("->{") || word.text.contains("->*"))
}

/// Writes `line` with an argument for each field, and hands `take` the origin of each word. `compiler` knows the
/// types. The inner error is that `out` or `take` failed.
pub(crate) fn spread(
    line: &str,
    compiler: &mut Compiler<'_>,
    out: &mut dyn Write,
    take: &mut dyn FnMut(WordOrigin) -> fmt::Result,
) -> Result<fmt::Result, ProbeRefusal> {
    let mut out = SpreadLine { out, len: 0 };
    // Others of the line have room.
    let given = words(line).skip(HEAD).count();
    let mut room = MOST_ARGUMENTS.saturating_sub(given);
    let mut result = Ok(());
    for (word, number) in words(line).zip(0usize..) {
        let argument = match number < HEAD {
            true => None,
            false => SpreadArgument::parse(word)?,
        };
        let Some(argument) = argument else {
            let written = write_whole(word, number, &mut out);
            result = result.and_then(|()| written.and_then(&mut *take));
            continue;
        };
        let mut put = |field: LineWord<'_>, is_whole: bool| {
            let written = argument.write(field, is_whole, &mut out);
            result = result.and_then(|()| written.and_then(&mut *take));
        };
        match argument.fields {
            Some(fields) => {
                let mut at = fields.at;
                for text in fields.text.split(',') {
                    if text.is_empty() || text.starts_with(':') {
                        return Err(ProbeRefusal::new(ProbeError::ArgumentBodyMissing, at));
                    }
                    put(LineWord { at, text }, true);
                    at = at.saturating_add(text.len()).saturating_add(1);
                }
            }
            None => {
                let at = argument.fields_at;
                let mut count = 0usize;
                compiler.scalars(argument.fetch, at, &mut |text| {
                    let is_whole = argument.has_room(text);
                    if text.len() <= LONGEST_NAME && count <= room {
                        count = count.saturating_add(1);
                        put(LineWord { at, text }, is_whole);
                    }
                })?;
                if count == 0 {
                    let error = ProbeError::NoField;
                    return Err(ProbeRefusal::with(error, at, Code::Missing));
                }
                room = room.saturating_sub(count.saturating_sub(1));
            }
        }
    }
    Ok(result)
}

/// Writes a word as it is.
fn write_whole(
    word: LineWord<'_>,
    number: usize,
    out: &mut SpreadLine<'_>,
) -> Result<WordOrigin, fmt::Error> {
    if number != 0 {
        out.write_char(' ')?;
    }
    let at = out.len;
    out.write_str(word.text)?;
    let part = PartOrigin {
        offset: 0,
        place: word.at,
        len: usize::MAX,
    };
    let parts = [part; 4];
    Ok(WordOrigin { at, parts })
}
