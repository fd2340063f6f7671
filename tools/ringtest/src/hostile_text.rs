// SPDX-License-Identifier: GPL-2.0
//! No bytes that a user can write into a control file do harm.
//!
//! Random and nearly right inputs go into every parser of `text`. The properties hold whatever the input
//! is; what right inputs mean is tested beside the parsers.

use proptest::prelude::*;

use crate::text::{
    clock,
    errno::Errno,
    number,
    options,
    set_event::{
        next_word,
        Selection, //
    },
    word, //
};

/// Bytes that look like what the files take, so that the parsers get past their first test.
fn nearly_right() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "0",
            "1",
            "+",
            "-",
            "9",
            "no",
            "overwrite",
            "local",
            "mono",
            ":",
            ":mod:",
            "!",
            "*",
            "?",
            "[",
            "]",
            "\\",
            "sched",
            "_",
            "\n",
            " ",
            "\0",
            "18446744073709551615",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 1..4),
    ];

    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn numbers_are_those_of_the_standard_library(input in nearly_right()) {
        let seen = &input[..input.len().min(66)];
        let seen = seen.split(|byte| *byte == 0).next().unwrap_or_default();
        let body = seen.strip_suffix(b"\n").unwrap_or(seen);
        let expected = std::str::from_utf8(body)
            .ok()
            .and_then(|text| text.parse::<u64>().ok());

        match number::parse(&input) {
            Ok(value) => prop_assert_eq!(Some(value), expected),
            Err(Errno::Inval | Errno::Range) => prop_assert_eq!(None, expected),
        }
    }

    #[test]
    fn any_number_reads_back(value: u64, newline: bool, plus: bool) {
        let text = format!("{}{value}{}", if plus { "+" } else { "" }, if newline { "\n" } else { "" });

        prop_assert_eq!(number::parse(text.as_bytes()), Ok(value));
    }

    #[test]
    fn what_names_are_accepted_is_a_name(input in nearly_right()) {
        if let Ok(clock) = clock::parse(&input) {
            prop_assert_eq!(word::strip(&input), clock.name().as_bytes());
        }
        if let Ok((opt, on)) = options::parse(&input) {
            let name = format!("{}{}", if on { "" } else { "no" }, opt.name());

            prop_assert_eq!(word::strip(&input), name.as_bytes());
        }
    }

    #[test]
    fn a_write_is_consumed_word_by_word(input in nearly_right()) {
        let mut rest = input.as_slice();
        let mut words = vec![];

        while !rest.is_empty() {
            match next_word(rest) {
                Ok((found, consumed)) => {
                    prop_assert!((1..=rest.len()).contains(&consumed));
                    if !found.is_empty() {
                        words.push(found.to_vec());
                    }
                    rest = &rest[consumed..];
                }
                Err(error) => {
                    prop_assert_eq!(error, Errno::Inval);
                    return Ok(());
                }
            }
        }

        let expected: Vec<Vec<u8>> = input
            .split(|byte| *byte == 0 || word::is_space(*byte))
            .filter(|part| !part.is_empty())
            .map(<[u8]>::to_vec)
            .collect();
        prop_assert_eq!(words, expected);
    }

    #[test]
    fn an_exclamation_mark_changes_the_direction_only(word in "[a-z:*?\\[\\]\\\\]{0,20}", module: bool) {
        let module = module.then_some("sched");
        let inverted = format!("!{word}");
        let (on, off) = (Selection::parse(word.as_bytes()), Selection::parse(inverted.as_bytes()));

        prop_assert!(on.enable && !off.enable);
        for (system, event) in [("sched", "sched_switch"), ("a", "b"), ("", "")] {
            prop_assert_eq!(
                on.matches(system, event, module),
                off.matches(system, event, module)
            );
        }
    }

    #[test]
    fn any_bytes_are_a_selection(word in nearly_right()) {
        // No module is named by a word without a colon, and no event of the kernel by one with a module.
        let selection = Selection::parse(&word);

        if word.windows(5).any(|part| part == b":mod:") {
            prop_assert!(!selection.matches("sched", "sched_switch", None));
        }
    }
}
