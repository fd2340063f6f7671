// SPDX-License-Identifier: GPL-2.0
//! Parses what users write into `set_event`.
//!
//! A write holds words separated by white space or NULs. Each word is `SYSTEM:EVENT`, `SYSTEM:`,
//! `:EVENT` or `NAME`, which is an event or a system. A `!` before it switches off, and
//! `:mod:MODULE` after it selects only the events of a module. A `*` in place of a whole name
//! stands for all names; there are no other patterns, because users of ftrace get an error for
//! those.
//!
//! One call of `write()` does one word: [`next_word`] tells how many bytes belong to it, and the
//! caller writes the rest again, so that each word gets its own answer.

use super::{
    errno::Errno,
    word,
    writer::ByteWrite, //
};
use core::fmt;

/// Most bytes that a word may have.
const LONGEST_WORD: usize = 127;

/// Returns the next word of `input`, and the number of bytes up to and including the separator
/// after it. The word is empty if a NUL comes first, or if there is only white space.
///
/// # Errors
///
/// `Inval` for a word of more than 127 bytes.
pub(crate) fn next_word(input: &[u8]) -> Result<(&[u8], usize), Errno> {
    let separates = |byte: &u8| *byte == 0 || word::is_space(*byte);
    let Some(start) = input.iter().position(|byte| !word::is_space(*byte)) else {
        return Ok((&[], input.len()));
    };
    let tail = input.get(start..).unwrap_or_default();
    let length = tail.iter().position(separates).unwrap_or(tail.len());
    let found = tail.get(..length).unwrap_or_default();
    let end = start.saturating_add(length);

    if length > LONGEST_WORD {
        return Err(Errno::Inval);
    }
    Ok((found, end.saturating_add(1).min(input.len())))
}

/// Writes the names of an event as the files show them that list something of each: in 32 columns, with at
/// least one blank after them.
pub(crate) fn write_column(out: &mut dyn ByteWrite, system: &str, event: &str) -> fmt::Result {
    let len = system.len().saturating_add(event.len());
    let width = 31usize.saturating_sub(len).max(1);
    write!(out, "{system}:{event}{:width$}", "")
}

/// A word of `set_event`: which events it selects, and whether it switches them on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventSelection<'a> {
    names: NameParts<'a>,
    module: Option<&'a [u8]>,
    /// Whether the events are switched on.
    pub(crate) enable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameParts<'a> {
    /// `SYSTEM:EVENT`.
    Both {
        system: NamePart<'a>,
        event: NamePart<'a>,
    },
    /// `NAME`, of an event or of a system.
    Either(NamePart<'a>),
}

/// One name, or all names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamePart<'a> {
    All,
    Exactly(&'a [u8]),
}

impl<'a> NamePart<'a> {
    fn parse(text: &'a [u8]) -> Self {
        match text {
            b"" | b"*" => NamePart::All,
            name => NamePart::Exactly(name),
        }
    }

    /// Returns what `set_event` shows.
    fn text(self) -> &'a [u8] {
        match self {
            NamePart::All => b"*",
            NamePart::Exactly(name) => name,
        }
    }

    fn fits(self, name: &str) -> bool {
        match self {
            NamePart::All => true,
            NamePart::Exactly(wanted) => wanted == name.as_bytes(),
        }
    }
}

impl<'a> EventSelection<'a> {
    /// Parses one word. Every word has a meaning; a word that names no event is refused by the
    /// caller, which looks for the events.
    pub(crate) fn parse(word: &'a [u8]) -> Self {
        const MODULE: &[u8] = b":mod:";

        let (enable, word) = match word.strip_prefix(b"!") {
            Some(word) => (false, word),
            None => (true, word),
        };
        let (word, module) = match word.windows(MODULE.len()).position(|part| part == MODULE) {
            Some(at) => (
                word.get(..at).unwrap_or_default(),
                word.get(at.saturating_add(MODULE.len())..),
            ),
            None => (word, None),
        };
        let names = match word.iter().position(|&byte| byte == b':') {
            Some(at) => NameParts::Both {
                system: NamePart::parse(word.get(..at).unwrap_or_default()),
                event: NamePart::parse(word.get(at.saturating_add(1)..).unwrap_or_default()),
            },
            // `:mod:MODULE` and `*:mod:MODULE` select all events of the module.
            None if module.is_some() => NameParts::Either(NamePart::parse(word)),
            None => NameParts::Either(NamePart::Exactly(word)),
        };

        EventSelection {
            names,
            module,
            enable,
        }
    }

    /// Returns whether the word selects an event. `module` is the module that has the event; `None`
    /// for the kernel's own events.
    pub(crate) fn matches(&self, system: &str, event: &str, module: Option<&str>) -> bool {
        let of_module = match (self.module, module) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(wanted), Some(module)) => same_module(wanted, module.as_bytes()),
        };
        let named = match self.names {
            NameParts::Both {
                system: wanted_system,
                event: wanted_event,
            } => wanted_system.fits(system) && wanted_event.fits(event),
            NameParts::Either(wanted) => wanted.fits(event) || wanted.fits(system),
        };

        of_module && named
    }

    /// Returns the module whose events it selects, if it names one.
    pub(crate) fn module(&self) -> Option<&'a [u8]> {
        self.module
    }

    /// Returns whether it selects events of the module `name` alone.
    pub(crate) fn is_of_module(&self, name: &[u8]) -> bool {
        self.module.is_some_and(|wanted| same_module(wanted, name))
    }

    /// Returns whether a word that switches off takes `other` back, which waits for its module: each name
    /// in it is that of `other`.
    pub(crate) fn takes_back(&self, other: &EventSelection<'_>) -> bool {
        let fits = |wanted: NamePart<'_>, name| wanted == NamePart::All || wanted == name;
        let named = match (self.names, other.names) {
            _ if self.means_all() => true,
            (NameParts::Either(wanted), NameParts::Either(name)) => wanted == name,
            (
                NameParts::Both { system, event },
                NameParts::Both {
                    system: of_system,
                    event: of_event,
                },
            ) => fits(system, of_system) && fits(event, of_event),
            _ => false,
        };
        let modules = self.module.zip(other.module);
        named && modules.is_some_and(|(own, other)| undashed(own).eq(undashed(other)))
    }

    /// Writes it as `set_event` shows a word that waits for its module.
    pub(crate) fn write_text(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        match self.names {
            NameParts::Either(NamePart::Exactly(name)) => out.write_bytes(name)?,
            NameParts::Either(NamePart::All) => out.write_bytes(b"*:*")?,
            NameParts::Both { system, event } => {
                out.write_bytes(system.text())?;
                out.write_char(':')?;
                out.write_bytes(event.text())?;
            }
        }
        out.write_bytes(b":mod:")?;
        for byte in undashed(self.module.unwrap_or_default()) {
            out.write_bytes(&[byte])?;
        }
        out.write_char('\n')
    }

    /// Returns whether the word names no event and no system, and so selects all of them.
    pub(crate) fn means_all(&self) -> bool {
        match self.names {
            NameParts::Both { system, event } => system == NamePart::All && event == NamePart::All,
            NameParts::Either(name) => name == NamePart::All,
        }
    }
}

/// Returns the bytes of the module's name that a user writes as `name`: the kernel has an underscore for the
/// dash of a file name.
pub(crate) fn undashed(name: &[u8]) -> impl Iterator<Item = u8> + '_ {
    name.iter().map(|&byte| match byte {
        b'-' => b'_',
        byte => byte,
    })
}

/// Returns whether a user means `module` by `wanted`.
fn same_module(wanted: &[u8], module: &[u8]) -> bool {
    undashed(wanted).eq(module.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &[(&str, &str, Option<&str>)] = &[
        ("sched", "sched_switch", None),
        ("sched", "sched_waking", None),
        ("irq", "irq_handler_entry", None),
        ("irq", "softirq_entry", None),
        ("signal", "irq", None),
        ("kvm", "kvm_entry", Some("kvm_intel")),
    ];

    fn chosen(word: &str) -> (bool, Vec<&'static str>) {
        let selection = EventSelection::parse(word.as_bytes());
        let names = EVENTS
            .iter()
            .filter(|(system, event, module)| selection.matches(system, event, *module))
            .map(|(_, event, _)| *event)
            .collect();

        (selection.enable, names)
    }

    #[test]
    fn words() {
        let all: Vec<&str> = EVENTS.iter().map(|row| row.1).collect();
        let sched = ["sched_switch", "sched_waking"];
        let rows: &[(&str, &[&str])] = &[
            ("sched:sched_switch", &["sched_switch"]),
            ("sched_switch", &["sched_switch"]),
            (":sched_switch", &["sched_switch"]),
            ("*:sched_switch", &["sched_switch"]),
            ("sched:", &sched),
            ("sched:*", &sched),
            ("sched", &sched),
            ("irq", &["irq_handler_entry", "softirq_entry", "irq"]),
            ("irq:", &["irq_handler_entry", "softirq_entry"]),
            ("*:*", &all),
            (":", &all),
            ("*", &[]),
            ("*:*_entry", &[]),
            ("s*:*", &[]),
            ("sched_[sx]*", &[]),
            ("::", &[]),
            ("kvm:kvm_entry:mod:kvm-intel", &["kvm_entry"]),
            (":mod:kvm_intel", &["kvm_entry"]),
            ("*:mod:kvm_intel", &["kvm_entry"]),
            ("sched:*:mod:kvm_intel", &[]),
            (":mod:kvm", &[]),
            (":mod:", &[]),
            ("", &[]),
            ("sched:sched_switch:x", &[]),
            ("Sched", &[]),
            ("sched_switc", &[]),
            ("#sched", &[]),
        ];
        for (word, expected) in rows {
            assert_eq!(chosen(word), (true, expected.to_vec()), "{word}");
            assert_eq!(
                chosen(&format!("!{word}")),
                (false, expected.to_vec()),
                "!{word}"
            );
        }
    }

    #[test]
    fn words_that_name_nothing_mean_all() {
        let rows = [
            ("*:*", true),
            (":", true),
            ("!*:*", true),
            (":mod:kvm", true),
            ("sched:*", false),
            ("*:sched_switch", false),
            ("sched", false),
            ("sched:*:mod:kvm", false),
        ];
        for (word, expected) in rows {
            assert_eq!(EventSelection::parse(word.as_bytes()).means_all(), expected);
        }
    }

    #[test]
    fn words_that_wait_show_what_they_select() {
        let rows = [
            (":mod:kvm-intel", "*:*:mod:kvm_intel\n"),
            ("*:mod:kvm", "*:*:mod:kvm\n"),
            ("kvm:mod:kvm", "kvm:mod:kvm\n"),
            (":kvm_entry:mod:kvm", "*:kvm_entry:mod:kvm\n"),
            ("kvm::mod:kvm", "kvm:*:mod:kvm\n"),
            ("!kvm:kvm_entry:mod:kvm", "kvm:kvm_entry:mod:kvm\n"),
        ];
        for (word, expected) in rows {
            let mut text = String::new();
            let selection = EventSelection::parse(word.as_bytes());
            selection.write_text(&mut text).unwrap();
            assert_eq!(text, expected, "{word}");
            assert!(EventSelection::parse(text.trim_end().as_bytes()).takes_back(&selection));
        }
    }

    #[test]
    fn names_in_a_column() {
        let rows = [
            ("irq", "softirq_entry", "irq:softirq_entry               "),
            (
                "a2345",
                "b23456789012345678901234",
                "a2345:b23456789012345678901234  ",
            ),
            (
                "a2345",
                "b234567890123456789012345",
                "a2345:b234567890123456789012345 ",
            ),
            (
                "a2345",
                "b2345678901234567890123456",
                "a2345:b2345678901234567890123456 ",
            ),
        ];
        for (system, event, expected) in rows {
            let mut text = String::new();
            write_column(&mut text, system, event).unwrap();
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn words_that_are_taken_back() {
        let rows = [
            (":mod:kvm", "kvm:mod:kvm", true),
            (":mod:kvm", "kvm:kvm_entry:mod:kvm", true),
            (":mod:kvm", ":mod:kvmgt", false),
            ("*:*:mod:kvm_x", "a:b:mod:kvm-x", true),
            ("kvm:mod:kvm", "kvm:mod:kvm", true),
            ("kvm:mod:kvm", "kvm:*:mod:kvm", false),
            ("kvm:*:mod:kvm", "kvm:kvm_entry:mod:kvm", true),
            ("*:kvm_entry:mod:kvm", "kvm:kvm_entry:mod:kvm", true),
            ("kvm:kvm_exit:mod:kvm", "kvm:kvm_entry:mod:kvm", false),
            ("kvm:kvm_entry:mod:kvm", "kvm:*:mod:kvm", false),
            ("kvm", "kvm:mod:kvm", false),
        ];
        for (word, waiting, expected) in rows {
            let [word, waiting] =
                [word, waiting].map(|text| EventSelection::parse(text.as_bytes()));
            assert_eq!(word.takes_back(&waiting), expected, "{word:?} {waiting:?}");
        }
    }

    #[test]
    fn a_write_is_cut_into_words() {
        let mut rest: &[u8] = b" sched:*\n!irq:*\t\0x \n";
        let mut words = vec![];

        while !rest.is_empty() {
            let (word, consumed) = next_word(rest).unwrap();
            words.push((String::from_utf8_lossy(word).into_owned(), consumed));
            rest = &rest[consumed..];
        }
        let words: Vec<(&str, usize)> = words.iter().map(|(w, n)| (w.as_str(), *n)).collect();
        assert_eq!(
            words,
            [("sched:*", 9), ("!irq:*", 7), ("", 1), ("x", 2), ("", 1)]
        );
    }

    #[test]
    fn words_have_at_most_127_bytes() {
        let long = [b'a'; 128];

        assert_eq!(next_word(&long), Err(Errno::Inval));
        assert_eq!(next_word(&long[..127]), Ok((&long[..127], 127)));
        assert_eq!(next_word(b""), Ok((b"".as_slice(), 0)));
    }
}
