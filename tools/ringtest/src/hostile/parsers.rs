// SPDX-License-Identifier: GPL-2.0
//! What users write into control files: numbers, names, words.

use super::source::Source;
use crate::text::{
    clock,
    errno::Errno,
    number,
    options,
    set_event,
    size,
    word, //
};

/// What numbers are made of, right and wrong.
const DIGITS: &[&str] = &[
    "0",
    "1",
    "9",
    "00",
    "+",
    "-",
    "\n",
    " ",
    "0x",
    "\0",
    "k",
    "1844674407370955161",
    "18446744073709551615",
    "18446744073709551616",
    "0000000000000000000000000000000000",
    "a0",
];

fn digits(source: &mut Source) -> Vec<u8> {
    if source.once_in(3) {
        let mut text = format!("{}\n", source.number()).into_bytes();
        if source.once_in(2) {
            source.spoil(&mut text);
        }
        return text;
    }
    let mut text = source.pieces(DIGITS, 6);
    if source.once_in(8) {
        // Around the length that is looked at.
        text.splice(0..0, vec![b'0'; 60 + source.below(8)]);
    }
    text
}

/// What a number is, by comparing texts instead of adding up.
fn expected(input: &[u8]) -> Result<u64, Errno> {
    let mut seen = &input[..input.len().min(66)];
    if let Some(nul) = seen.iter().position(|byte| *byte == 0) {
        seen = &seen[..nul];
    }
    let unsigned = seen.strip_prefix(b"+").unwrap_or(seen);
    let count = unsigned
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (digits, rest) = unsigned.split_at(count);
    let text = std::str::from_utf8(digits).unwrap();
    let short = text.trim_start_matches('0');

    if short.len() > 20 || short.len() == 20 && short > "18446744073709551615" {
        Err(Errno::Range)
    } else if count == 0 || !matches!(rest, b"" | b"\n") {
        Err(Errno::Inval)
    } else {
        Ok(text.parse().unwrap())
    }
}

pub fn numbers(source: &mut Source) {
    let input = digits(source);

    assert_eq!(number::parse(&input), expected(&input), "{input:?}");
    let value = source.number();
    let sign = if source.once_in(2) { "+" } else { "" };
    let end = if source.once_in(2) { "\n" } else { "" };
    let text = format!("{sign}{value}{end}");
    assert_eq!(number::parse(text.as_bytes()), Ok(value));
}

pub fn flags_and_switches(source: &mut Source) {
    let input = digits(source);
    let flag = match expected(&input) {
        Ok(0) => Ok(false),
        Ok(1) => Ok(true),
        Ok(_) => Err(Errno::Inval),
        Err(error) => Err(error),
    };

    assert_eq!(number::parse_flag(&input), flag, "{input:?}");
    assert_eq!(
        number::parse_switch(&input),
        expected(&input).map(|value| value > 0)
    );
}

pub fn buffer_sizes(source: &mut Source) {
    let input = digits(source);
    let wanted = match expected(&input) {
        Ok(0) => Err(Errno::Inval),
        other => other,
    };

    assert_eq!(size::parse(&input), wanted, "{input:?}");
}

/// `names` with what may stand around them, and what may not.
fn near_names(source: &mut Source, names: &[&str]) -> Vec<u8> {
    const AROUND: &[&str] = &["", "", "", "\n", " ", "\t", "\0", "no", "x", "[", "\u{a0}"];

    let mut text: Vec<u8> = vec![];
    for _ in 0..=source.below(3) {
        text.extend(source.pick(AROUND).bytes());
    }
    text.extend(source.pick(names).bytes());
    for _ in 0..=source.below(3) {
        text.extend(source.pick(AROUND).bytes());
    }
    if source.once_in(16) {
        text.resize(60 + source.below(8), b' ');
    }
    if source.once_in(4) {
        source.spoil(&mut text);
    }
    text
}

/// The name in `input`, if it may be one.
fn named(input: &[u8]) -> Option<Vec<u8>> {
    let text = input.split(|byte| *byte == 0).next().unwrap();
    let space = |byte: &u8| b"\t\n\x0b\x0c\r \xa0".contains(byte);
    let start = text.iter().position(|byte| !space(byte));
    let end = text.iter().rposition(|byte| !space(byte));

    match (start, end) {
        (Some(start), Some(end)) if input.len() < 64 => Some(text[start..=end].to_vec()),
        _ => None,
    }
}

pub fn clocks(source: &mut Source) {
    let names: Vec<&str> = clock::ClockId::ALL.iter().map(|c| c.name()).collect();
    let input = near_names(source, &names);
    let found = clock::parse(&input).map(|clock| clock.name().as_bytes().to_vec());
    let wanted = named(&input).filter(|name| names.iter().any(|n| n.as_bytes() == name));

    assert_eq!(found, wanted.ok_or(Errno::Inval), "{input:?}");
}

pub fn options(source: &mut Source) {
    let names: Vec<&str> = options::Opt::ALL.iter().map(|opt| opt.name()).collect();
    let input = near_names(source, &names);
    let found = options::parse(&input).map(|(opt, on)| (opt.name().as_bytes().to_vec(), on));
    let wanted = named(&input)
        .map(|name| match name.strip_prefix(b"no") {
            Some(name) => (name.to_vec(), false),
            None => (name, true),
        })
        .filter(|(name, _)| names.iter().any(|n| n.as_bytes() == name));

    assert_eq!(found, wanted.ok_or(Errno::Inval), "{input:?}");
    if let Ok((opt, on)) = options::parse(&input) {
        let set = options::OptionSet::from_bits(source.next());
        assert_eq!(set.with(opt, on).has(opt), on);
        assert_eq!(set.with(opt, on).with(opt, set.has(opt)), set);
    }
}

pub fn stripped_words(source: &mut Source) {
    let input = source.pieces(&["a", "b c", "\0", " ", "\n", "\t", "\u{b}"], 8);
    // Without the limit on the length.
    let wanted = named(&input).unwrap_or_default();

    assert_eq!(word::strip(&input), wanted, "{input:?}");
}

pub fn event_words(source: &mut Source) {
    const WORDS: &[&str] = &[
        "sched", ":", "!", " ", "\n", "\0", "*", "a", "\t", "_switch",
    ];

    let mut input = source.pieces(WORDS, 12);
    if source.once_in(8) {
        // Around the longest word.
        let at = source.below(input.len() + 1);
        let many = vec![b'n'; 120 + source.below(12)];
        input.splice(at..at, many);
    }
    let mut rest = input.as_slice();
    let mut words = vec![];
    let too_long = loop {
        match set_event::next_word(rest) {
            Ok((found, consumed)) => {
                assert!((1..=rest.len()).contains(&consumed) || rest.is_empty());
                if !found.is_empty() {
                    words.push(found.to_vec());
                }
                rest = &rest[consumed..];
            }
            Err(error) => {
                assert_eq!(error, Errno::Inval);
                break true;
            }
        }
        if rest.is_empty() {
            break false;
        }
    };
    let mut wanted: Vec<Vec<u8>> = input
        .split(|byte| *byte == 0 || word::is_space(*byte))
        .filter(|part| !part.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    let longest = wanted.iter().position(|word| word.len() > 127);

    assert_eq!(too_long, longest.is_some(), "{input:?}");
    wanted.truncate(longest.unwrap_or(wanted.len()));
    assert_eq!(words, wanted, "{input:?}");
}
