// SPDX-License-Identifier: GPL-2.0
//! Does a name match a pattern.
//!
//! Called by `set_event`. `*` stands for any run of bytes, `?` for one byte, `[a-c]` and `[!a-c]` for
//! one byte of a class and for one outside it; a backslash takes the next byte as it is. A bracket that
//! is never closed is a bracket. Time is bounded by the product of the two lengths, stack use is
//! constant.

/// Whether the whole of `name` matches `pattern`.
pub(crate) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut pattern = pattern;
    let mut name = name;
    // Where to go on when a byte does not fit: behind the last star, which then takes one byte more.
    // An earlier star needs no other try: whatever it could take, the last one can take as well.
    let mut star: Option<(&[u8], &[u8])> = None;

    loop {
        if let [b'*', tail @ ..] = pattern {
            pattern = tail;
            star = Some((tail, name));
            continue;
        }

        let [byte, rest @ ..] = name else {
            return pattern.is_empty();
        };
        if let Some(tail) = one(pattern, *byte) {
            pattern = tail;
            name = rest;
            continue;
        }

        let Some((tail, [_, taken @ ..])) = star else {
            return false;
        };
        pattern = tail;
        name = taken;
        star = Some((tail, taken));
    }
}

/// What is left of `pattern` behind its first element, when that element fits `byte`.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (fits, tail) = match pattern {
        [] => return None,
        [b'?', tail @ ..] => (true, tail),
        [b'\\', literal, tail @ ..] => (*literal == byte, tail),
        [b'[', tail @ ..] => class(tail, byte).unwrap_or((byte == b'[', tail)),
        [literal, tail @ ..] => (*literal == byte, tail),
    };

    fits.then_some(tail)
}

/// Whether `byte` is in the class whose text begins `pattern`, and what follows the class. Nothing when
/// the class has no end.
fn class(pattern: &[u8], byte: u8) -> Option<(bool, &[u8])> {
    let (inverted, mut rest) = match pattern {
        [b'!', tail @ ..] => (true, tail),
        _ => (false, pattern),
    };
    let mut inside = false;
    let mut first = true;

    loop {
        // A closing bracket in the first place is a member.
        let (low, high, tail) = match rest {
            [] => return None,
            [b']', tail @ ..] if !first => return Some((inside != inverted, tail)),
            [low, b'-', high, tail @ ..] if *high != b']' => (*low, *high, tail),
            [member, tail @ ..] => (*member, *member, tail),
        };

        inside |= (low..=high).contains(&byte);
        first = false;
        rest = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIT: &[(&str, &str)] = &[
        ("", ""),
        ("*", ""),
        ("*", "sched"),
        ("sched_*", "sched_"),
        ("sched_*", "sched_switch"),
        ("*_switch", "sched_switch"),
        ("*s*s*h", "sched_switch"),
        ("**a**", "bab"),
        ("?", "x"),
        ("s?hed", "sched"),
        ("irq_[a-f]*", "irq_exit"),
        ("[!a]x", "bx"),
        ("[]]", "]"),
        ("[!]]", "a"),
        ("[a-]", "-"),
        ("[ab", "[ab"),
        ("\\*", "*"),
        ("\\[a]", "[a]"),
        ("a\\", "a\\"),
        ("*aaaaab", "aaaaaaaaaaaaaaab"),
    ];
    const MISFIT: &[(&str, &str)] = &[
        ("", "a"),
        ("?", ""),
        ("a", ""),
        ("sched_*", "sched"),
        ("*switch", "sched_switches"),
        ("[a-c]", "d"),
        ("[!a-c]", "b"),
        ("[a]", ""),
        ("\\*", "a"),
        ("a*b*c", "acb"),
        ("ab", "abc"),
    ];

    #[test]
    fn table() {
        for (pattern, name) in FIT {
            assert!(
                matches(pattern.as_bytes(), name.as_bytes()),
                "{pattern} {name}"
            );
        }
        for (pattern, name) in MISFIT {
            assert!(
                !matches(pattern.as_bytes(), name.as_bytes()),
                "{pattern} {name}"
            );
        }
    }

    /// The definition, without any cleverness and without classes.
    fn oracle(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            ([b'*', tail @ ..], _) => (0..=name.len()).any(|taken| oracle(tail, &name[taken..])),
            ([b'?', tail @ ..], [_, rest @ ..]) => oracle(tail, rest),
            ([literal, tail @ ..], [byte, rest @ ..]) => literal == byte && oracle(tail, rest),
            _ => false,
        }
    }

    fn all(alphabet: &[u8], longest: usize) -> Vec<Vec<u8>> {
        let mut texts = vec![vec![]];
        let mut from = 0;

        for _ in 0..longest {
            let until = texts.len();
            for i in from..until {
                for &byte in alphabet {
                    texts.push([texts[i].as_slice(), &[byte]].concat());
                }
            }
            from = until;
        }
        texts
    }

    #[test]
    fn every_short_pattern_does_what_the_definition_says() {
        for pattern in all(b"ab*?", 5) {
            for name in all(b"ab", 5) {
                assert_eq!(
                    matches(&pattern, &name),
                    oracle(&pattern, &name),
                    "{pattern:?} {name:?}"
                );
            }
        }
    }
}
