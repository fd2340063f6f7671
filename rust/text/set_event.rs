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
    word, //
};

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

    /// Returns whether the word names no event and no system, and so selects all of them.
    pub(crate) fn means_all(&self) -> bool {
        match self.names {
            NameParts::Both { system, event } => system == NamePart::All && event == NamePart::All,
            NameParts::Either(name) => name == NamePart::All,
        }
    }
}

/// Returns whether `wanted` names `module`: the kernel writes the dash of a file name as an
/// underscore.
fn same_module(wanted: &[u8], module: &[u8]) -> bool {
    let dashed = wanted
        .iter()
        .map(|&byte| if byte == b'-' { b'_' } else { byte });

    dashed.eq(module.iter().copied())
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
