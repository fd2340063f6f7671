// SPDX-License-Identifier: GPL-2.0

//! Divides the text after `hist:` into its items and the filter.

use super::{
    action::{
        self,
        MOST_ACTIONS, //
    },
    error::{
        refuse,
        HistErrno,
        HistErrorKind,
        Log, //
    },
    variable::{
        Assignment,
        MOST_VARIABLES, //
    }, //
};
use crate::text::{
    number,
    word, //
};

/// The sizes that a histogram may have, as powers of 2.
const SIZE_BITS: core::ops::RangeInclusive<u32> = 7..=17;
/// Begins the name of a modifier that has an operator in it.
const SYM_OFFSET: &[u8] = b".sym-offset";
/// The place of that operator, and what stands there while expressions are divided.
const OPERATOR: (usize, u8) = (4, b'X');

/// A command, divided. Of an item that comes twice the last one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HistCommand<'a> {
    pub(crate) keys: &'a [u8],
    pub(crate) values: Option<&'a [u8]>,
    pub(crate) sort: Option<&'a [u8]>,
    /// With the `name=` before it.
    pub(crate) name: Option<&'a [u8]>,
    pub(crate) clock: Option<&'a [u8]>,
    /// As a power of 2.
    pub(crate) size_bits: Option<u32>,
    /// Whether it is to grow when its entries become many.
    pub(crate) grows: bool,
    pub(crate) no_hitcount: bool,
    pub(crate) pause: bool,
    pub(crate) resume: bool,
    pub(crate) clear: bool,
    /// The items that define variables.
    definitions: [&'a [u8]; MOST_VARIABLES],
    actions: [&'a [u8]; MOST_ACTIONS],
}

/// Puts `item` into the first place that is empty. Returns whether there was one.
fn put<'a>(places: &mut [&'a [u8]], item: &'a [u8]) -> bool {
    let place = places.iter_mut().find(|place| place.is_empty());
    place.map(|place| *place = item).is_some()
}

impl<'a> HistCommand<'a> {
    /// Returns the actions.
    pub(crate) fn actions(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.actions.iter().copied().filter(|item| !item.is_empty())
    }

    /// Returns the variables that it defines: of each item at most [`MOST_VARIABLES`], as in ftrace without a word
    /// about others.
    ///
    /// # Errors
    ///
    /// `Inval` for a definition without a name or a value, and for more than [`MOST_VARIABLES`].
    pub(super) fn variables(
        &self,
        log: &mut Log<'_>,
    ) -> Result<[Assignment<'a>; MOST_VARIABLES], HistErrno> {
        let mut found = [Assignment::default(); MOST_VARIABLES];
        let items = self.definitions.iter().filter(|item| !item.is_empty());
        let texts = items.flat_map(|item| item.split(|byte| *byte == b',').take(MOST_VARIABLES));
        let mut places = found.iter_mut();
        for text in texts {
            let mut parts = text.splitn(2, |byte| *byte == b'=');
            let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
                return Err(refuse(log, HistErrorKind::MalformedAssignment, text));
            };
            let Some(place) = places.next() else {
                return Err(refuse(log, HistErrorKind::TooManyVariables, name));
            };
            *place = Assignment { name, value };
        }
        Ok(found)
    }
}

/// Divides a command into its items and the filter, which begins with its `if`.
///
/// An `if` has blanks on both sides and something after it.
///
/// # Errors
///
/// `Inval` for an `if` at the beginning, or without anything after it.
pub(crate) fn split(text: &[u8]) -> Result<(&[u8], Option<&[u8]>), HistErrno> {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let mut from = 0usize;
    loop {
        let rest = text.get(from..).unwrap_or_default();
        let Some(at) = rest.windows(2).position(|two| two == b"if") else {
            return Ok((text, None));
        };
        let at = at.saturating_add(from);
        from = at.saturating_add(1);
        let Some(before) = at.checked_sub(1) else {
            return Err(HistErrno::Inval);
        };
        if !is_blank(text.get(before)) {
            continue;
        }
        let after = at.saturating_add(2);
        if after.saturating_add(1) >= text.len() {
            return Err(HistErrno::Inval);
        }
        if is_blank(text.get(after)) {
            let items = text.get(..before).unwrap_or_default();
            let filter = text.get(at..).unwrap_or_default();
            return Ok((word::strip(items), Some(word::strip(filter))));
        }
    }
}

/// Replaces the operator in names of modifiers, so that all others are those of expressions.
pub(crate) fn hide_operators(items: &mut [u8]) {
    let mut rest = items;
    while let Some(at) = rest
        .windows(SYM_OFFSET.len())
        .position(|part| part == SYM_OFFSET)
    {
        let (place, byte) = OPERATOR;
        if let Some(operator) = rest.get_mut(at.saturating_add(place)) {
            *operator = byte;
        }
        rest = rest
            .get_mut(at.saturating_add(SYM_OFFSET.len())..)
            .unwrap_or_default();
    }
}

/// Divides the items of a command.
///
/// # Errors
///
/// `Inval` for an unknown item, one without its value, and without keys; `Inval` and `Range` for a size.
pub(crate) fn parse<'a>(items: &'a [u8], log: &mut Log<'_>) -> Result<HistCommand<'a>, HistErrno> {
    let mut command = HistCommand::default();
    let mut keys = None;
    for item in items.split(|byte| *byte == b':') {
        let mut parts = item.splitn(2, |byte| *byte == b'=');
        let (name, value) = (parts.next().unwrap_or_default(), parts.next());
        let Some(value) = value else {
            match item {
                b"nohitcount" | b"NOHC" => command.no_hitcount = true,
                b"pause" => command.pause = true,
                b"cont" | b"continue" => command.resume = true,
                b"clear" => command.clear = true,
                _ if action::is_action(item) && put(&mut command.actions, item) => {}
                _ => return Err(HistErrno::Inval),
            }
            continue;
        };
        if value.is_empty() {
            return Err(refuse(log, HistErrorKind::EmptyAssignment, item));
        }
        match name {
            b"key" | b"keys" => keys = Some(value),
            b"val" | b"vals" | b"values" => command.values = Some(value),
            b"sort" => command.sort = Some(value),
            b"name" => command.name = Some(item),
            b"clock" => command.clock = Some(word::strip(value)),
            b"size" => {
                command.grows = value == b"auto";
                command.size_bits = match command.grows {
                    true => None,
                    false => Some(size_bits(value)?),
                };
            }
            _ if put(&mut command.definitions, item) => {}
            _ => {
                return Err(refuse(log, HistErrorKind::TooManyVariables, item));
            }
        }
    }
    command.keys = keys.ok_or(HistErrno::Inval)?;
    Ok(command)
}

/// Returns the power of 2 that is not less than the size that `text` says.
fn size_bits(text: &[u8]) -> Result<u32, HistErrno> {
    let size = number::parse_c(text).map_err(|why| match why {
        crate::text::errno::Errno::Inval => HistErrno::Inval,
        crate::text::errno::Errno::Range => HistErrno::Range,
    })?;
    let bits = match size.checked_sub(1) {
        None => return Err(HistErrno::Inval),
        Some(less) => u64::BITS.saturating_sub(less.leading_zeros()),
    };
    match SIZE_BITS.contains(&bits) {
        true => Ok(bits),
        false => Err(HistErrno::Inval),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<HistCommand<'_>, HistErrno> {
        parse(text.as_bytes(), &mut |_, _| {})
    }

    #[test]
    fn filters_begin_at_an_if_between_blanks() {
        let rows: &[(&str, &str, Option<&str>)] = &[
            ("keys=id", "keys=id", None),
            ("keys=id if a == 1", "keys=id", Some("if a == 1")),
            ("keys=id\tif\ta", "keys=id", Some("if\ta")),
            ("keys=id   if   a  ", "keys=id", Some("if   a")),
            ("keys=iff,xif if iff", "keys=iff,xif", Some("if iff")),
        ];
        for (text, items, filter) in rows {
            let wanted = (items.as_bytes(), filter.map(str::as_bytes));
            assert_eq!(split(text.as_bytes()), Ok(wanted), "{text}");
        }
        // One byte more than the word is no more than that to ftrace.
        for text in ["if a", "keys=id if", "keys=id if ", "keys=id ifx"] {
            assert_eq!(split(text.as_bytes()), Err(HistErrno::Inval), "{text}");
        }
        assert!(split(b"keys=id ifxy").is_ok());
    }

    #[test]
    fn items() {
        let command = parsed("keys=a,b:vals=c:sort=a:size=1000:pause:keys=d").unwrap();
        assert_eq!((command.keys, command.values), (&b"d"[..], Some(&b"c"[..])));
        assert_eq!(
            (command.sort, command.size_bits),
            (Some(&b"a"[..]), Some(10))
        );
        assert!(command.pause && !command.clear && !command.resume);
        assert_eq!(parsed("key=a").unwrap().size_bits, None);
        for (text, grows, bits) in [
            ("key=a:size=auto", true, None),
            ("key=a:size=auto:size=128", false, Some(7)),
            ("key=a:size=128:size=auto", true, None),
        ] {
            let command = parsed(text).unwrap();
            assert_eq!((command.grows, command.size_bits), (grows, bits), "{text}");
        }
        for (size, bits) in [("65", 7), ("128", 7), ("129", 8), ("0x20000", 17)] {
            let text = format!("key=a:size={size}");
            assert_eq!(parsed(&text).unwrap().size_bits, Some(bits), "{size}");
        }
    }

    #[test]
    fn refusals() {
        for text in [
            "",
            "vals=a",
            "keys=",
            "keys=a:",
            "keys=a:foo",
            "keys=a:foo.bar",
            "keys = a",
            "keys=a:size=0",
            "keys=a:size=64",
            "keys=a:size=131073",
            "keys=a:size=x",
        ] {
            assert_eq!(parsed(text), Err(HistErrno::Inval), "{text}");
        }
        let large = "keys=a:size=18446744073709551616";
        assert_eq!(parsed(large), Err(HistErrno::Range));
        let mut logged = Vec::new();
        let _ = parse(b"keys=a:sort=", &mut |kind, word| {
            logged.push((kind, word.to_vec()))
        });
        assert_eq!(
            logged,
            [(HistErrorKind::EmptyAssignment, b"sort=".to_vec())]
        );
    }

    #[test]
    fn operators_in_names_are_hidden() {
        let mut text = *b"keys=a.sym-offset,b.sym-offset-1";
        hide_operators(&mut text);
        assert_eq!(&text, b"keys=a.symXoffset,b.symXoffset-1");
    }
}
