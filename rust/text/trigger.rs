// SPDX-License-Identifier: GPL-2.0
//! Parses what is written to the `trigger` file of an event, and prints what it reads.
//!
//! A write is one command: `[!]NAME[:ARGUMENTS][:COUNT][ if FILTER]`. Only the name is looked at before
//! the caller knows whether the trigger goes or comes: what follows it is not looked at when a trigger is
//! removed, and the errors of its parts have an order. [`parse`] therefore only divides; the methods of
//! [`Command`] judge the parts.

use super::{
    errno::Errno,
    number,
    word,
    writer::ByteWrite, //
};
use core::fmt;

/// What a trigger does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    TraceOn,
    TraceOff,
    Snapshot,
    Stacktrace,
    EnableEvent,
    DisableEvent,
    EnableHist,
    DisableHist,
    Hist,
}

impl Verb {
    /// All of them, in the order in which the file lists them.
    pub(crate) const ALL: [Self; 9] = [
        Self::TraceOn,
        Self::TraceOff,
        Self::Snapshot,
        Self::Stacktrace,
        Self::EnableEvent,
        Self::DisableEvent,
        Self::EnableHist,
        Self::DisableHist,
        Self::Hist,
    ];

    /// Returns its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::TraceOn => "traceon",
            Self::TraceOff => "traceoff",
            Self::Snapshot => "snapshot",
            Self::Stacktrace => "stacktrace",
            Self::EnableEvent => "enable_event",
            Self::DisableEvent => "disable_event",
            Self::EnableHist => "enable_hist",
            Self::DisableHist => "disable_hist",
            Self::Hist => "hist",
        }
    }

    /// Returns whether it switches an event or its histograms; it names the event.
    pub(crate) const fn names_event(self) -> bool {
        matches!(
            self,
            Self::EnableEvent | Self::DisableEvent | Self::EnableHist | Self::DisableHist
        )
    }

    /// Returns whether an event has at most one trigger of the two: one of each kind, and, of those that
    /// switch an event, one for each event that they switch. Histograms are told apart by what they count.
    pub(crate) const fn excludes(self, other: Self) -> bool {
        !matches!(self, Self::Hist) && self.kind() == other.kind()
    }

    const fn kind(self) -> u8 {
        match self {
            Self::TraceOn | Self::TraceOff => 0,
            Self::Snapshot => 1,
            Self::Stacktrace => 2,
            Self::EnableEvent | Self::DisableEvent => 3,
            Self::Hist => 4,
            Self::EnableHist | Self::DisableHist => 5,
        }
    }
}

/// A count that does not end.
pub(crate) const UNLIMITED: u64 = u64::MAX;

/// A command, divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Command<'a> {
    /// Whether the trigger is removed.
    pub(crate) remove: bool,
    pub(crate) verb: Verb,
    /// What comes before the filter; `None` without anything.
    argument: Option<&'a [u8]>,
    /// What begins with `if`, or should.
    rest: Option<&'a [u8]>,
}

/// Divides the text of one write.
///
/// # Errors
///
/// `Inval` for a name that is not one of [`Verb`], and where the event that it names is missing.
pub(crate) fn parse(input: &[u8]) -> Result<Command<'_>, Errno> {
    let (name, rest) = divide(word::strip(input), |byte| {
        matches!(byte, b':' | b' ' | b'\t')
    });
    let rest = rest.map(skip_blanks).filter(|rest| !rest.is_empty());
    let (remove, name) = match name {
        [b'!', name @ ..] => (true, name),
        _ => (false, name),
    };
    let verb = Verb::ALL
        .into_iter()
        .find(|verb| verb.name().as_bytes() == name)
        .ok_or(Errno::Inval)?;
    let (argument, rest) = match rest {
        // Its items and its filter are divided in another way.
        items if matches!(verb, Verb::Hist) => (items, None),
        None if verb.names_event() => return Err(Errno::Inval),
        None => (None, None),
        // An optional count begins with a digit; anything else should be a filter.
        Some(rest) if !verb.names_event() && !matches!(rest, [b'0'..=b'9', ..]) => {
            (None, Some(rest))
        }
        Some(rest) => {
            let (argument, rest) = divide(rest, is_blank);
            let rest = rest.map(skip_blanks).filter(|rest| !rest.is_empty());
            (Some(argument), rest)
        }
    };
    Ok(Command {
        remove,
        verb,
        argument,
        rest,
    })
}

impl<'a> Command<'a> {
    /// Returns the system and the name of the event that the command names, for a verb that names one.
    ///
    /// # Errors
    ///
    /// `Inval` without a colon between the two.
    pub(crate) fn event(&self) -> Result<(&'a [u8], &'a [u8]), Errno> {
        let argument = self.argument.unwrap_or_default();
        let (system, rest) = divide(argument, is_colon);
        let (name, _) = divide(rest.ok_or(Errno::Inval)?, is_colon);
        Ok((system, name))
    }

    /// Returns all that follows the name of a histogram; nothing if nothing does.
    pub(crate) fn items(&self) -> &'a [u8] {
        self.argument.unwrap_or_default()
    }

    /// Returns how often the trigger acts.
    ///
    /// # Errors
    ///
    /// `Inval` for what is no number, `Range` for one of more than 64 bits.
    pub(crate) fn count(&self) -> Result<u64, Errno> {
        let mut argument = match self.verb {
            Verb::Hist => None,
            _ => self.argument,
        };
        if self.verb.names_event() {
            let after = |text| divide(text, is_colon).1;
            argument = argument.and_then(after).and_then(after);
        }
        match argument {
            None => Ok(UNLIMITED),
            Some(argument) => number::parse_c(divide(argument, is_colon).0),
        }
    }

    /// Returns the filter, with the blanks before it but one.
    ///
    /// # Errors
    ///
    /// `Inval` for a text that does not begin with `if`, or that is no more than that.
    pub(crate) fn filter(&self) -> Result<Option<&'a [u8]>, Errno> {
        self.rest.map(condition).transpose()
    }
}

/// Returns the filter in a text that begins with its `if`.
///
/// # Errors
///
/// `Inval` for a text that does not, or that is no more than that.
pub(crate) fn condition(text: &[u8]) -> Result<&[u8], Errno> {
    match divide(text, is_blank) {
        (b"if", Some(filter)) => Ok(filter),
        _ => Err(Errno::Inval),
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_colon(byte: u8) -> bool {
    byte == b':'
}

/// Returns what is before the first byte that `ends` accepts, and what is after it, if there is one.
fn divide(text: &[u8], ends: fn(u8) -> bool) -> (&[u8], Option<&[u8]>) {
    let mut parts = text.splitn(2, |byte| ends(*byte));
    (parts.next().unwrap_or_default(), parts.next())
}

fn skip_blanks(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        if !word::is_space(*first) {
            break;
        }
        rest = tail;
    }
    rest
}

/// Writes what the file of an event without triggers shows.
pub(crate) fn write_available(out: &mut dyn ByteWrite) -> fmt::Result {
    out.write_str("# Available triggers:\n#")?;
    Verb::ALL
        .iter()
        .try_for_each(|verb| write!(out, " {}", verb.name()))?;
    out.write_str("\n")
}

/// A trigger, as its file shows it.
pub(crate) struct Line<'a> {
    pub(crate) verb: Verb,
    /// The event that it switches.
    pub(crate) event: Option<(&'a str, &'a str)>,
    /// How often it will still act.
    pub(crate) count: u64,
    pub(crate) filter: Option<&'a [u8]>,
}

impl Line<'_> {
    /// Writes the line. As in ftrace a count of more than 63 bits looks negative.
    pub(crate) fn write_text(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        out.write_str(self.verb.name())?;
        if let Some((system, name)) = self.event {
            write!(out, ":{system}:{name}")?;
        }
        match self.count {
            UNLIMITED => out.write_str(":unlimited")?,
            count => write!(out, ":count={}", count as i64)?,
        }
        if let Some(filter) = self.filter {
            out.write_str(" if ")?;
            out.write_bytes(filter)?;
        }
        out.write_str("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Verb, whether it is removed, event, count, filter.
    type ParsedCommand<'a> = (
        Verb,
        bool,
        Option<(&'a [u8], &'a [u8])>,
        u64,
        Option<&'a [u8]>,
    );

    fn whole(text: &[u8]) -> Result<ParsedCommand<'_>, Errno> {
        let command = parse(text)?;
        let event = match command.verb.names_event() {
            true => Some(command.event()?),
            false => None,
        };
        let (count, filter) = (command.count()?, command.filter()?);
        Ok((command.verb, command.remove, event, count, filter))
    }

    #[test]
    fn commands() {
        use Verb::*;
        let event = |name: &'static [u8]| Some((&b"sys"[..], name));
        let rows: &[(&[u8], ParsedCommand<'_>)] = &[
            (b"traceoff", (TraceOff, false, None, UNLIMITED, None)),
            (b"  traceon \n", (TraceOn, false, None, UNLIMITED, None)),
            (b"traceoff:", (TraceOff, false, None, UNLIMITED, None)),
            (b"traceoff: ", (TraceOff, false, None, UNLIMITED, None)),
            (b"traceoff:3", (TraceOff, false, None, 3, None)),
            (b"traceoff 3", (TraceOff, false, None, 3, None)),
            (b"traceoff: 3", (TraceOff, false, None, 3, None)),
            (b"traceoff:3:4", (TraceOff, false, None, 3, None)),
            (b"traceoff:0x10", (TraceOff, false, None, 16, None)),
            (b"traceoff:010", (TraceOff, false, None, 8, None)),
            (
                b"traceoff:18446744073709551615",
                (TraceOff, false, None, UNLIMITED, None),
            ),
            (b"snapshot:1 if a", (Snapshot, false, None, 1, Some(b"a"))),
            (
                b"stacktrace if a == 1",
                (Stacktrace, false, None, UNLIMITED, Some(b"a == 1")),
            ),
            (
                b"stacktrace   if   a",
                (Stacktrace, false, None, UNLIMITED, Some(b"  a")),
            ),
            (
                b"stacktrace:if\ta",
                (Stacktrace, false, None, UNLIMITED, Some(b"a")),
            ),
            (b"!traceoff", (TraceOff, true, None, UNLIMITED, None)),
            (
                b"enable_event:sys:a",
                (EnableEvent, false, event(b"a"), UNLIMITED, None),
            ),
            (
                b"disable_event:sys:a:7:x if b",
                (DisableEvent, false, event(b"a"), 7, Some(b"b")),
            ),
            (
                b"hist:keys=a:vals=b if c",
                (Hist, false, None, UNLIMITED, None),
            ),
            (
                b"enable_event sys:a",
                (EnableEvent, false, event(b"a"), UNLIMITED, None),
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(whole(text), Ok(*expected), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn refusals() {
        let inval: &[&[u8]] = &[
            b"",
            b" ",
            b":",
            b"!",
            b"nosuch",
            b"!!traceoff",
            b"! traceoff",
            b"# traceoff",
            b"traceoff\ntraceon",
            b"traceof",
            b"traceoff:abc",
            b"traceoff:3abc",
            b"traceoff:-1",
            b"traceoff:0x",
            b"traceoff:08",
            b"traceoff iff a",
            b"traceoff if",
            b"traceoff:3 a",
            b"enable_event",
            b"enable_event:",
            b"enable_event:sys",
            b"enable_event:sys:a:",
            b"enable_event:sys:a:-1",
            b"enable_event:sys:a x",
        ];
        for text in inval {
            assert_eq!(whole(text), Err(Errno::Inval), "{}", text.escape_ascii());
        }
        for text in [
            "traceoff:18446744073709551616",
            "traceoff:0xfffffffffffffffff",
        ] {
            assert_eq!(whole(text.as_bytes()), Err(Errno::Range), "{text}");
        }
    }

    /// What is removed is named by the name alone.
    #[test]
    fn the_rest_of_a_removal_is_not_judged() {
        for text in ["!traceoff:abc", "!traceoff:3 x", "!traceoff nothing"] {
            let command = parse(text.as_bytes()).unwrap();
            assert!(command.remove && command.verb == Verb::TraceOff, "{text}");
        }
        let command = parse(b"!enable_event:a:b:c if").unwrap();
        assert_eq!(command.event(), Ok((&b"a"[..], &b"b"[..])));
    }

    fn shown(line: Line<'_>) -> String {
        let mut out = String::new();
        line.write_text(&mut out).unwrap();
        out
    }

    #[test]
    fn lines() {
        let line = |verb, event, count, filter| Line {
            verb,
            event,
            count,
            filter,
        };
        assert_eq!(
            shown(line(Verb::TraceOff, None, UNLIMITED, None)),
            "traceoff:unlimited\n"
        );
        assert_eq!(
            shown(line(Verb::TraceOff, None, 3, Some(b"id > 5"))),
            "traceoff:count=3 if id > 5\n"
        );
        assert_eq!(
            shown(line(Verb::EnableEvent, Some(("sys", "ev")), 0, None)),
            "enable_event:sys:ev:count=0\n"
        );
        assert_eq!(
            shown(line(Verb::Snapshot, None, 1 << 63, None)),
            "snapshot:count=-9223372036854775808\n"
        );
        let mut out = String::new();
        write_available(&mut out).unwrap();
        assert_eq!(
            out,
            "# Available triggers:\n\
             # traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist\n"
        );
    }
}
