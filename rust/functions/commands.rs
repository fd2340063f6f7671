// SPDX-License-Identifier: GPL-2.0
//! The commands of `set_ftrace_filter`: what is done when a function is called.
//!
//! A command is `FUNCTIONS:NAME[:ARGUMENTS][:COUNT]`, with `!` before it to take one away. As in ftrace, a
//! command with a count and one without are of two kinds, and a function has at most one of each kind.

use super::words::{
    FilterWord,
    Selection, //
};
use crate::text::{
    errno::Errno,
    number,
    writer::ByteWrite, //
};
use core::fmt;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandVerb {
    TraceOn,
    TraceOff,
    Snapshot,
    Stacktrace,
    EnableEvent,
    DisableEvent,
    Dump,
    CpuDump,
}

impl CommandVerb {
    const ALL: [Self; 8] = [
        Self::TraceOn,
        Self::TraceOff,
        Self::Snapshot,
        Self::Stacktrace,
        Self::EnableEvent,
        Self::DisableEvent,
        Self::Dump,
        Self::CpuDump,
    ];

    /// Returns its name.
    const fn name(self) -> &'static str {
        match self {
            Self::TraceOn => "traceon",
            Self::TraceOff => "traceoff",
            Self::Snapshot => "snapshot",
            Self::Stacktrace => "stacktrace",
            Self::EnableEvent => "enable_event",
            Self::DisableEvent => "disable_event",
            Self::Dump => "dump",
            Self::CpuDump => "cpudump",
        }
    }

    /// Returns whether it switches an event, which it names.
    pub(crate) const fn names_event(self) -> bool {
        matches!(self, Self::EnableEvent | Self::DisableEvent)
    }

    /// Returns the count that it always has, as in ftrace, whatever is written; `None` where that says.
    const fn fixed_count(self) -> Option<Option<&'static [u8]>> {
        match self {
            Self::Dump => Some(Some(b"1")),
            Self::CpuDump => Some(None),
            _ => None,
        }
    }
}

/// A count that does not end.
pub(crate) const ENDLESS: i64 = -1;

/// Commands of which a function has at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommandKind {
    pub(crate) verb: CommandVerb,
    /// Whether it has a count.
    pub(crate) counted: bool,
}

impl CommandKind {
    /// Returns whether one that will still act `left` times acts. As in ftrace, a negative count is none for some commands
    /// and without end for others.
    #[inline]
    pub(crate) const fn acts_with(self, left: i64) -> bool {
        let has_no_lower_end =
            self.verb.names_event() || matches!(self.verb, CommandVerb::Stacktrace);
        match left {
            0 => false,
            ..0 => !self.counted || has_no_lower_end,
            _ => true,
        }
    }

    /// Writes the line of one, of the function that is `shown` so, which switches `event` and will still act
    /// `left` times.
    pub(crate) fn write_line(
        self,
        shown: &[u8],
        event: Option<(&str, &str)>,
        left: i64,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        out.write_bytes(shown)?;
        write!(out, ":{}", self.verb.name())?;
        if let Some((system, name)) = event {
            write!(out, ":{system}:{name}")?;
        }
        // Of those that switch an event, one with all bits of a count set is the same as one without.
        let endless = !self.counted || self.verb.names_event() && left == ENDLESS;
        match endless {
            true => out.write_str(":unlimited\n"),
            false => writeln!(out, ":count={left}"),
        }
    }
}

/// A command, divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommandWord<'a> {
    /// It is taken away.
    pub(crate) removes: bool,
    pub(crate) kind: CommandKind,
    functions: &'a [u8],
    /// The system and the name of the event that it switches.
    pub(crate) event: Option<(&'a [u8], &'a [u8])>,
    count: Option<&'a [u8]>,
}

/// Returns what is before the first colon, and what is after it, if there is one.
fn divide(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = text.splitn(2, |byte| *byte == b':');
    (parts.next().unwrap_or_default(), parts.next())
}

impl<'a> CommandWord<'a> {
    /// Divides a word; `None` for one that is no command.
    ///
    /// # Errors
    ///
    /// `Inval` for one that should name an event and does not.
    pub(crate) fn parse(word: &'a [u8]) -> Result<Option<Self>, Errno> {
        let (functions, Some(rest)) = divide(word) else {
            return Ok(None);
        };
        let (name, rest) = divide(rest);
        let mut verbs = CommandVerb::ALL.into_iter();
        let Some(verb) = verbs.find(|verb| verb.name().as_bytes() == name) else {
            return Ok(None);
        };
        let (event, rest) = match verb.names_event() {
            false => (None, rest),
            true => {
                let (system, rest) = divide(rest.ok_or(Errno::Inval)?);
                let (event, rest) = divide(rest.ok_or(Errno::Inval)?);
                (Some((system, event)), rest)
            }
        };
        let written = rest.map(|rest| divide(rest).0);
        let count = verb.fixed_count().unwrap_or(written);
        Ok(Some(Self {
            removes: functions.first() == Some(&b'!'),
            kind: CommandKind {
                verb,
                counted: count.is_some(),
            },
            functions: functions.strip_prefix(b"!").unwrap_or(functions),
            event,
            count,
        }))
    }

    /// Returns how often it acts.
    ///
    /// # Errors
    ///
    /// `Inval` for what is no number, `Range` for one of more than 64 bits.
    pub(crate) fn count(&self) -> Result<i64, Errno> {
        match self.count {
            None => Ok(ENDLESS),
            Some([]) if !self.kind.verb.names_event() => Ok(ENDLESS),
            Some(count) => Ok(number::parse_c(count)? as i64),
        }
    }

    /// Returns the functions that are meant; `None` for all, which only a command that takes away can mean
    /// so.
    ///
    /// # Errors
    ///
    /// `Inval` for an index that is none.
    pub(crate) fn functions(&self) -> Result<Option<Selection<'a>>, Errno> {
        if self.removes && matches!(self.functions, b"" | b"*") {
            return Ok(None);
        }
        Ok(Some(FilterWord::parse(self.functions)?.selection))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(word: &str) -> Result<Option<CommandWord<'_>>, Errno> {
        CommandWord::parse(word.as_bytes())
    }

    #[test]
    fn words_are_divided() {
        for word in ["schedule", "s:mod:ext4", "s:nosuch:1", "s:"] {
            assert_eq!(parse(word), Ok(None), "{word}");
        }
        let rows: &[(&str, bool, CommandVerb, Option<(&str, &str)>, bool, i64)] = &[
            (
                "f:traceon",
                false,
                CommandVerb::TraceOn,
                None,
                false,
                ENDLESS,
            ),
            (
                "f:traceoff:0x10",
                false,
                CommandVerb::TraceOff,
                None,
                true,
                16,
            ),
            (
                "f:snapshot:",
                false,
                CommandVerb::Snapshot,
                None,
                true,
                ENDLESS,
            ),
            (
                "!f:stacktrace:3:x",
                true,
                CommandVerb::Stacktrace,
                None,
                true,
                3,
            ),
            (
                "f:enable_event:a:b",
                false,
                CommandVerb::EnableEvent,
                Some(("a", "b")),
                false,
                ENDLESS,
            ),
            (
                "f:disable_event:a:b:7",
                false,
                CommandVerb::DisableEvent,
                Some(("a", "b")),
                true,
                7,
            ),
            ("f:dump", false, CommandVerb::Dump, None, true, 1),
            ("!f:dump:9:x", true, CommandVerb::Dump, None, true, 1),
            (
                "f:cpudump:x",
                false,
                CommandVerb::CpuDump,
                None,
                false,
                ENDLESS,
            ),
        ];
        for (word, removes, verb, event, counted, count) in rows {
            let found = parse(word).unwrap().unwrap();
            let event = event.map(|(system, name)| (system.as_bytes(), name.as_bytes()));
            assert_eq!(found.removes, *removes, "{word}");
            assert_eq!(
                (found.kind.verb, found.kind.counted),
                (*verb, *counted),
                "{word}"
            );
            assert_eq!(found.event, event, "{word}");
            assert_eq!(found.count(), Ok(*count), "{word}");
        }
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for word in ["f:enable_event", "f:enable_event:a", "f:disable_event:"] {
            assert_eq!(parse(word), Err(Errno::Inval), "{word}");
        }
        let count = |word| parse(word).unwrap().unwrap().count();
        assert_eq!(count("f:traceon:x"), Err(Errno::Inval));
        assert_eq!(count("f:traceon:99999999999999999999"), Err(Errno::Range));
        assert_eq!(count("f:enable_event:a:b:"), Err(Errno::Inval));
        assert!(parse("0:traceon").unwrap().unwrap().functions().is_err());
        assert_eq!(parse("!*:traceon").unwrap().unwrap().functions(), Ok(None));
    }

    #[test]
    fn a_negative_count_is_none_or_has_no_end() {
        for verb in CommandVerb::ALL {
            let acts = |counted, left| CommandKind { verb, counted }.acts_with(left);
            let endless = verb.names_event() || verb == CommandVerb::Stacktrace;
            for (left, uncounted, counted) in [
                (0, false, false),
                (1, true, true),
                (ENDLESS, true, endless),
                (-7, true, endless),
            ] {
                assert_eq!(acts(false, left), uncounted, "{verb:?} {left}");
                assert_eq!(acts(true, left), counted, "{verb:?} {left}");
            }
        }
    }

    #[test]
    fn lines_are_those_of_ftrace() {
        let line = |verb, counted, event, left| {
            let mut out = String::new();
            let kind = CommandKind { verb, counted };
            kind.write_line(b"vfs_read", event, left, &mut out).unwrap();
            out
        };
        let verb = CommandVerb::TraceOff;
        assert_eq!(line(verb, false, None, -1), "vfs_read:traceoff:unlimited\n");
        assert_eq!(line(verb, true, None, 4), "vfs_read:traceoff:count=4\n");
        assert_eq!(line(verb, true, None, -1), "vfs_read:traceoff:count=-1\n");
        let event = Some(("a", "b"));
        assert_eq!(
            line(CommandVerb::EnableEvent, true, event, 0),
            "vfs_read:enable_event:a:b:count=0\n"
        );
        assert_eq!(
            line(CommandVerb::EnableEvent, true, event, -1),
            "vfs_read:enable_event:a:b:unlimited\n"
        );
    }
}
