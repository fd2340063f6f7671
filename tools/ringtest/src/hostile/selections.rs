// SPDX-License-Identifier: GPL-2.0
//! Which events a word of `set_event` names, by a second reading of its syntax.

use super::source::Source;
use crate::text::set_event::EventSelection;

const PIECES: &[&str] = &[
    "sched",
    "sched_switch",
    "irq",
    "nfs-v4",
    "nfs_v4",
    ":",
    ":mod:",
    "!",
    "*",
    "mod",
    "?",
    "[",
    "",
];

const NAMES: &[&str] = &["sched", "sched_switch", "irq", "nfs_v4", "mod", "*", ""];

const MODULES: &[Option<&str>] = &[None, Some("nfs_v4"), Some("nfs-v4"), Some("irq"), Some("")];

fn all_or(wanted: &str, name: &str) -> bool {
    wanted.is_empty() || wanted == "*" || wanted == name
}

/// Whether `word` means the event, read as text.
fn expected(word: &str, system: &str, event: &str, module: Option<&str>) -> bool {
    let word = word.strip_prefix('!').unwrap_or(word);
    let (names, of) = match word.split_once(":mod:") {
        Some((names, of)) => (names, Some(of.replace('-', "_"))),
        None => (word, None),
    };
    let of_module = match &of {
        Some(of) => module.is_some_and(|module| module == of),
        None => true,
    };
    let named = match names.split_once(':') {
        Some((s, e)) => all_or(s, system) && all_or(e, event),
        None if of.is_some() => all_or(names, system) || all_or(names, event),
        None => names == system || names == event,
    };

    of_module && named
}

pub fn any_bytes_are_a_selection(source: &mut Source) {
    let word = source.words(PIECES, 6);
    let selection = EventSelection::parse(word.as_bytes());
    let inverted = format!("!{word}");
    let other = EventSelection::parse(inverted.as_bytes());

    assert_eq!(selection.enable, !word.starts_with('!'));
    assert!(!other.enable);
    for _ in 0..4 {
        let (system, event) = (*source.pick(NAMES), *source.pick(NAMES));
        let module = *source.pick(MODULES);
        let found = selection.matches(system, event, module);

        assert_eq!(
            found,
            expected(&word, system, event, module),
            "{word:?} of {system:?} {event:?} {module:?}"
        );
        if selection.enable {
            assert_eq!(found, other.matches(system, event, module));
        }
    }
    // What is not text names no event of a name, but it is read all the same.
    let bytes = source.pieces(PIECES, 6);
    let selection = EventSelection::parse(&bytes);
    if bytes.windows(5).any(|part| part == b":mod:") {
        assert!(!selection.matches("sched", "sched_switch", None));
    }
}

pub fn a_selection_names_its_event(source: &mut Source) {
    const LETTERS: &[&str] = &["a", "Z", "_", "9", "-", "\u{e9}", ".", "no", "mod"];

    let mut name = || format!("x{}", source.words(LETTERS, 5));
    let (system, event, module) = (name(), name(), name().replace('-', "_"));
    let of =
        |module| move |text: &str| EventSelection::parse(text.as_bytes()).matches("s", "e", module);

    for text in [
        format!("{system}:{event}"),
        format!("{system}:*"),
        format!("{system}:"),
        format!(":{event}"),
        format!("*:{event}"),
        event.clone(),
        system.clone(),
        format!("{system}:{event}:mod:{module}"),
        format!(":mod:{module}"),
        format!("*:mod:{module}"),
    ] {
        let selection = EventSelection::parse(text.as_bytes());
        assert!(selection.matches(&system, &event, Some(&module)), "{text}");
        // Nothing of it fits names that differ.
        assert!(!of(Some("m"))(&text), "{text}");
    }
}
