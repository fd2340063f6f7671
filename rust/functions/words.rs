// SPDX-License-Identifier: GPL-2.0
//! The words of `set_ftrace_filter` and its like.
//!
//! A word is a pattern of names or the index of a function, with `!` before it to take functions out:
//!
//! - `name`, `front*`, `*end`, `*middle*`, or a glob with `?`, `[…]`, `\` or a `*` inside;
//! - `INDEX`, the number of a line of `available_filter_functions`, counted from 1, whatever module follows;
//! - `PATTERN:mod:MODULE`, of which both may be patterns: those functions of the module. An empty
//!   pattern means all, an empty module means all modules, and `!` before the module all functions that
//!   are not in it. `PATTERN:mod` names no module, and is the pattern.

use super::list::Function;
use crate::{
    expr::pattern::{
        classify,
        matches,
        Pattern, //
        PatternKind,
    },
    text::{
        errno::Errno,
        number, //
    }, //
};

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterWord<'a> {
    /// It takes functions out of the set.
    pub(crate) removes: bool,
    /// Which functions.
    pub(crate) selection: Selection<'a>,
}

/// The functions that a word selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selection<'a> {
    /// The one in this line of the list, counted from 0; [`NO_LINE`] for none.
    Line(usize),
    /// Those whose names match.
    Names(NamePattern<'a>, Option<NamePattern<'a>>),
}

/// A line that no list has.
const NO_LINE: usize = usize::MAX;

/// A pattern of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamePattern<'a> {
    how: PatternKind,
    text: &'a [u8],
    inverted: bool,
}

impl<'a> NamePattern<'a> {
    /// Parses a pattern. A digit at its beginning is one of a name.
    fn parse(text: &'a [u8]) -> Self {
        let Pattern {
            not,
            how,
            start,
            end,
        } = classify(text);
        Self {
            how,
            text: text.get(start..end).unwrap_or_default(),
            inverted: not,
        }
    }

    /// Returns whether it is empty or a `*`: whether it matches every name.
    fn is_any(&self) -> bool {
        self.text.is_empty()
    }

    fn matches(&self, name: &[u8]) -> bool {
        matches(self.how, self.text, name)
    }

    /// Returns whether functions of `module` are meant, where this is the pattern of a module.
    fn takes(&self, module: Option<&[u8]>) -> bool {
        let inside = match module {
            None => false,
            Some(_) if self.is_any() => true,
            Some(module) => self.matches(module),
        };
        inside != self.inverted
    }
}

impl<'a> FilterWord<'a> {
    /// Parses a word.
    ///
    /// # Errors
    ///
    /// `Inval` for a command that there is not, and for the index 0 and a number that is none where no module follows: one
    /// with a module may wait for that, as in ftrace.
    pub(crate) fn parse(word: &'a [u8]) -> Result<Self, Errno> {
        let (pattern, rest) = match word.iter().position(|byte| *byte == b':') {
            Some(at) => (
                word.get(..at).unwrap_or_default(),
                word.get(at.saturating_add(1)..),
            ),
            None => (word, None),
        };
        let module = match rest {
            None | Some(b"mod") => None,
            Some(rest) => Some(rest.strip_prefix(b"mod:").ok_or(Errno::Inval)?),
        };
        let removes = pattern.first() == Some(&b'!');
        let pattern = pattern.strip_prefix(b"!").unwrap_or(pattern);
        let selection = match pattern.first() {
            Some(digit) if digit.is_ascii_digit() => match (line(pattern), module) {
                (Some(line), _) => Selection::Line(line),
                (None, Some(_)) => Selection::Line(NO_LINE),
                (None, None) => return Err(Errno::Inval),
            },
            _ => Selection::Names(NamePattern::parse(pattern), module.map(NamePattern::parse)),
        };
        Ok(Self { removes, selection })
    }
}

/// Returns the line of an index, counted from 0; `None` for 0 and for what is no number.
fn line(index: &[u8]) -> Option<usize> {
    let line = number::c_integer(index, false)?.checked_sub(1)?;
    usize::try_from(line).ok()
}

/// Returns the pattern and the module of a word that names functions of a module, without the `!` that takes
/// them out; `None` for another word.
pub(crate) fn of_module(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let word = word.strip_prefix(b"!").unwrap_or(word);
    let at = word.iter().position(|byte| *byte == b':')?;
    let (pattern, rest) = word.split_at_checked(at)?;
    Some((pattern, rest.strip_prefix(b":mod:")?))
}

/// Returns whether a word names functions of a module, or would if it said of which one.
pub(crate) fn is_for_modules(word: &[u8]) -> bool {
    word.split(|byte| *byte == b':').nth(1) == Some(b"mod".as_slice())
}

impl Selection<'_> {
    /// Returns whether it is one by names alone.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Selection::Names(_, None))
    }

    /// Returns whether it is one by its line, of whatever module.
    pub(crate) fn is_line(&self) -> bool {
        matches!(self, Selection::Line(_))
    }

    /// Returns whether `function`, in line `at` of the list, is one of them.
    pub(crate) fn takes(&self, at: usize, function: &Function<'_>) -> bool {
        match self {
            Selection::Line(line) => *line == at,
            Selection::Names(name, None) => name.matches(function.name),
            Selection::Names(name, Some(module)) => {
                module.takes(function.module) && (name.is_any() || name.matches(function.name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[(&str, Option<&str>)] = &[
        ("schedule", None),
        ("schedule_timeout", None),
        ("preempt_schedule", None),
        ("vfs_read", None),
        ("ext4_read", Some("ext4")),
        ("ext4_write", Some("ext4")),
        ("xfs_read", Some("xfs")),
    ];

    fn selected(word: &str) -> Result<(bool, Vec<&'static str>), Errno> {
        let word = FilterWord::parse(word.as_bytes())?;
        let names = LIST.iter().enumerate().filter(|(at, (name, module))| {
            let function = Function {
                address: 1,
                name: name.as_bytes(),
                module: module.map(str::as_bytes),
                shown: b"",
            };
            word.selection.takes(*at, &function)
        });
        Ok((word.removes, names.map(|(_, row)| row.0).collect()))
    }

    #[test]
    fn words_select_functions() {
        let all: Vec<&str> = LIST.iter().map(|row| row.0).collect();
        let rows: &[(&str, &[&str])] = &[
            ("schedule", &["schedule"]),
            ("schedule*", &["schedule", "schedule_timeout"]),
            ("*schedule", &["schedule", "preempt_schedule"]),
            ("*sched*out", &["schedule_timeout"]),
            ("*_read", &["vfs_read", "ext4_read", "xfs_read"]),
            ("?fs_read", &["vfs_read", "xfs_read"]),
            ("[vx]fs_*", &["vfs_read", "xfs_read"]),
            ("*", &all),
            ("nosuch", &[]),
            ("1", &["schedule"]),
            ("0x4", &["vfs_read"]),
            ("8", &[]),
            ("4:mod:ext4", &["vfs_read"]),
            ("4:mod:nosuch", &["vfs_read"]),
            ("8:mod:ext4", &[]),
            ("0:mod:ext4", &[]),
            ("4x:mod:ext4", &[]),
            ("vfs_read:mod", &["vfs_read"]),
            ("4:mod", &["vfs_read"]),
            ("nosuch:mod", &[]),
            (":mod:ext4", &["ext4_read", "ext4_write"]),
            ("*:mod:ext4", &["ext4_read", "ext4_write"]),
            ("*read:mod:e*", &["ext4_read"]),
            ("*:mod:", &["ext4_read", "ext4_write", "xfs_read"]),
            ("*:mod:*", &["ext4_read", "ext4_write", "xfs_read"]),
            ("*:mod:!*", &all[..4]),
            (":mod:!", &all[..4]),
            ("*_read:mod:!ext4", &["vfs_read", "xfs_read"]),
            (":mod:nosuch", &[]),
        ];
        for (word, expected) in rows {
            assert_eq!(selected(word), Ok((false, expected.to_vec())), "{word}");
            let inverse = format!("!{word}");
            assert_eq!(
                selected(&inverse),
                Ok((true, expected.to_vec())),
                "{inverse}"
            );
        }
    }

    #[test]
    fn words_of_modules_have_two_parts() {
        let rows: &[(&str, Option<(&str, &str)>)] = &[
            ("schedule", None),
            ("f*:mod:ext4", Some(("f*", "ext4"))),
            ("!f*:mod:ext4", Some(("f*", "ext4"))),
            (":mod:ext4", Some(("", "ext4"))),
            ("*:mod:", Some(("*", ""))),
            ("f:mod:!ext4", Some(("f", "!ext4"))),
            ("f:mod", None),
            ("f:traceoff:mod:x", None),
        ];
        for (word, expected) in rows {
            let expected = expected.map(|(a, b)| (a.as_bytes(), b.as_bytes()));
            assert_eq!(of_module(word.as_bytes()), expected, "{word}");
            let is_for_modules = expected.is_some() || *word == "f:mod";
            assert_eq!(
                super::is_for_modules(word.as_bytes()),
                is_for_modules,
                "{word}"
            );
        }
    }

    #[test]
    fn words_that_are_refused() {
        for word in [
            "0",
            "!0",
            "1x",
            "0:mod",
            "1x:mod",
            "schedule:mo",
            "schedule:modx",
            "99999999999999999999",
            "schedule:nosuch",
            "schedule:",
            "a:b:c",
        ] {
            assert!(selected(word).is_err(), "{word}");
        }
    }
}
