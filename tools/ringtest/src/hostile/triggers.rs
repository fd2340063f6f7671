// SPDX-License-Identifier: GPL-2.0
//! What users write into `trigger` files.

use super::source::Source;
use crate::text::{
    errno::Errno,
    trigger::{
        parse,
        Line,
        Verb,
        UNLIMITED, //
    },
    word, //
};

/// What commands are made of.
const PIECES: &[&str] = &[
    "traceon",
    "traceoff",
    "snapshot",
    "stacktrace",
    "enable_event",
    "disable_event",
    "hist",
    "!",
    ":",
    ":",
    " ",
    "\t",
    "\n",
    "\0",
    "if",
    " if ",
    "3",
    "0x10",
    "08",
    "-1",
    "18446744073709551615",
    "18446744073709551616",
    "sched",
    "sched_switch",
    "prev_pid == 0",
    "\u{a0}",
];

/// All parts are parts of the text, and no answer depends on what follows the first NUL.
pub fn any_text_is_a_trigger(source: &mut Source) {
    let mut text = source.pieces(PIECES, 9);
    if source.once_in(4) {
        source.spoil(&mut text);
    }
    let end = text.iter().position(|byte| *byte == 0);
    let seen = &text[..end.unwrap_or(text.len())];
    let Ok(command) = parse(&text) else {
        assert_eq!(parse(seen), Err(Errno::Inval), "{text:?}");
        return;
    };
    assert_eq!(parse(seen), Ok(command), "{text:?}");
    let holds = |part: &[u8]| part.is_empty() || seen.windows(part.len()).any(|at| at == part);
    if let Ok(Some(filter)) = command.filter() {
        assert!(word::strip(seen).ends_with(filter), "{text:?}");
    }
    if command.verb.names_event() {
        if let Ok((system, name)) = command.event() {
            assert!(holds(system) && holds(name), "{text:?}");
            assert!(!system.contains(&b':') && !name.contains(&b':'));
        }
    }
    if let Err(error) = command.count() {
        assert!(matches!(error, Errno::Inval | Errno::Range));
    }
}

/// A line without its word for "always" is a command that makes the same line.
pub fn what_a_trigger_shows_is_what_was_parsed(source: &mut Source) {
    // Those of histograms are longer: `hists` beside this one reads them back.
    let verbs: Vec<_> = Verb::ALL
        .into_iter()
        .filter(|verb| *verb != Verb::Hist)
        .collect();
    let verb = verbs[source.below(verbs.len())];
    let event = verb.names_event().then_some(("sched", "sched_switch"));
    let count = match source.once_in(3) {
        true => UNLIMITED,
        false => source.number() >> 1,
    };
    let filter = source.once_in(2).then_some(&b"prev_pid == 0"[..]);
    let line = Line {
        verb,
        event,
        count,
        filter,
    };
    let mut shown = String::new();
    line.write_text(&mut shown).unwrap();
    let command = shown.replace("count=", "").replace(":unlimited", "");
    let parsed = parse(command.as_bytes()).unwrap();
    assert_eq!(parsed.verb, verb);
    assert_eq!(parsed.count(), Ok(count), "{command}");
    assert_eq!(parsed.filter(), Ok(filter), "{command}");
    if let Some((system, name)) = event {
        assert_eq!(parsed.event(), Ok((system.as_bytes(), name.as_bytes())));
    }
}
