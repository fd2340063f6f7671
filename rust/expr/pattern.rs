// SPDX-License-Identifier: GPL-2.0

//! Patterns of strings: what follows `~` in a filter, and whether a string matches it. Those that
//! are no globs are compared by [`Needle`].

use super::needle::Needle;

/// How a pattern is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternKind {
    /// The whole string.
    Full,
    /// `abc*`
    Front,
    /// `*abc`
    End,
    /// `*abc*`
    Middle,
    /// Any pattern with `?`, `[`, `\` or a `*` inside.
    Glob,
}

/// The pattern after `~`: whether a `!` before it inverts it, how it is compared, and which part
/// of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) not: bool,
    pub(crate) how: PatternKind,
    /// Offsets in the text that [`classify`] was given.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Parses the text after `~`. One that begins with a digit is compared as it is.
pub(crate) fn classify(text: &[u8]) -> Pattern {
    let not = text.first() == Some(&b'!');
    let start = usize::from(not);
    let body = text.get(start..).unwrap_or(&[]);
    let whole = |how| Pattern {
        not,
        how,
        start,
        end: text.len(),
    };
    if body.first().is_some_and(u8::is_ascii_digit) {
        return whole(PatternKind::Full);
    }
    let last = body.len().saturating_sub(1);
    let inner = |(i, b): (usize, &u8)| b"[?\\".contains(b) || (*b == b'*' && i != 0 && i != last);
    if body.iter().enumerate().any(inner) {
        return whole(PatternKind::Glob);
    }
    let front = body.first() == Some(&b'*');
    let back = last != 0 && body.last() == Some(&b'*');
    Pattern {
        not,
        how: match (front, back) {
            (false, false) => PatternKind::Full,
            (false, true) => PatternKind::Front,
            (true, false) => PatternKind::End,
            (true, true) => PatternKind::Middle,
        },
        start: start.wrapping_add(usize::from(front)),
        end: text.len().wrapping_sub(usize::from(back)),
    }
}

/// Returns whether the string that ends at the first NUL of `bytes` matches; `pattern` has no NUL. A
/// pattern that is asked about many strings is a [`Needle`] of its owner.
pub(crate) fn matches(how: PatternKind, pattern: &[u8], bytes: &[u8]) -> bool {
    Needle::new(how, pattern).matches(pattern, bytes)
}

/// One step of a glob.
enum Token<'a> {
    Any,
    Star,
    Byte(u8),
    Class { inverted: bool, spans: &'a [u8] },
}

/// Returns the first token of `pattern` and the rest of it; `None` when it is empty.
fn token(pattern: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let (first, rest) = pattern.split_first()?;
    Some(match first {
        b'?' => (Token::Any, rest),
        b'*' => (Token::Star, rest),
        b'\\' => match rest.split_first() {
            Some((byte, rest)) => (Token::Byte(*byte), rest),
            // There is nothing to escape but the end of the string, which is no byte.
            None => (Token::Byte(0), rest),
        },
        // Without its closing bracket it is an ordinary byte.
        b'[' => class(rest).unwrap_or((Token::Byte(b'['), rest)),
        byte => (Token::Byte(*byte), rest),
    })
}

/// Returns the class whose `[` comes before `rest`, and what follows its `]`; `None` when there is
/// no such `]`. A `]` that comes first is one of the bytes of the class.
fn class(rest: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let inverted = rest.first() == Some(&b'!');
    let body = rest.get(usize::from(inverted)..)?;
    let mut at = 0usize;
    loop {
        let byte = body.get(at)?;
        if *byte == b']' && at != 0 {
            break;
        }
        at = at.wrapping_add(1);
        let range = body.get(at) == Some(&b'-') && body.get(at.wrapping_add(1)) != Some(&b']');
        if range {
            body.get(at.wrapping_add(1))?;
            at = at.wrapping_add(2);
        }
    }
    let spans = body.get(..at)?;
    Some((
        Token::Class { inverted, spans },
        body.get(at.wrapping_add(1)..)?,
    ))
}

fn in_spans(mut spans: &[u8], byte: u8) -> bool {
    loop {
        spans = match spans {
            [from, b'-', to, rest @ ..] => {
                if (*from..=*to).contains(&byte) {
                    return true;
                }
                rest
            }
            [one, rest @ ..] => {
                if *one == byte {
                    return true;
                }
                rest
            }
            [] => return false,
        };
    }
}

/// Returns whether the glob matches the whole string, after at most as many steps as the product
/// of the two lengths.
pub(super) fn glob(pattern: &[u8], string: &[u8]) -> bool {
    let (mut p, mut s) = (pattern, string);
    // The pattern after the last star, and the string after what that star took so far. An earlier
    // star never has to take more.
    let mut back: Option<(&[u8], &[u8])> = None;
    loop {
        let step = match (token(p), s.split_first()) {
            (None, None) => return true,
            (Some((Token::Star, rest)), _) => {
                back = Some((rest, s));
                p = rest;
                continue;
            }
            (Some((Token::Any, rest)), Some((_, tail))) => Some((rest, tail)),
            (Some((Token::Byte(want), rest)), Some((byte, tail))) if want == *byte => {
                Some((rest, tail))
            }
            (Some((Token::Class { inverted, spans }, rest)), Some((byte, tail)))
                if in_spans(spans, *byte) != inverted =>
            {
                Some((rest, tail))
            }
            // The end of the string was escaped.
            (Some((Token::Byte(0), _)), None) => return true,
            _ => None,
        };
        if let Some(next) = step {
            (p, s) = next;
            continue;
        }
        let Some((behind, taken)) = back else {
            return false;
        };
        let Some((_, more)) = taken.split_first() else {
            return false;
        };
        back = Some((behind, more));
        (p, s) = (behind, more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_one(text: &str, string: &str) -> bool {
        let p = classify(text.as_bytes());
        matches(p.how, &text.as_bytes()[p.start..p.end], string.as_bytes()) != p.not
    }

    #[test]
    fn kinds_of_patterns() {
        let rows = [
            ("abc", PatternKind::Full, "abc"),
            ("abc*", PatternKind::Front, "abc"),
            ("*abc", PatternKind::End, "abc"),
            ("*abc*", PatternKind::Middle, "abc"),
            ("!*abc", PatternKind::End, "abc"),
            ("*", PatternKind::End, ""),
            ("**", PatternKind::Middle, ""),
            ("a*c", PatternKind::Glob, "a*c"),
            ("a?", PatternKind::Glob, "a?"),
            ("5*", PatternKind::Full, "5*"),
            ("", PatternKind::Full, ""),
        ];
        for (text, how, part) in rows {
            let p = classify(text.as_bytes());
            assert_eq!((p.how, &text[p.start..p.end]), (how, part), "{text}");
            assert_eq!(p.not, text.starts_with('!'));
        }
    }

    #[test]
    fn simple_patterns_match() {
        for (text, string, want) in [
            ("bash", "bash", true),
            ("bash", "bashful", false),
            ("ba*", "bash", true),
            ("*sh", "bash", true),
            ("*sh", "bash\0\0xsh", true),
            ("*as*", "bash", true),
            ("*", "", true),
            ("!ba*", "bash", false),
            ("!ba*", "zsh", true),
            ("", "", true),
            ("", "x", false),
            ("*abcde*", "abc", false),
        ] {
            assert_eq!(try_one(text, string), want, "{text} {string:?}");
        }
    }

    #[test]
    fn globs_match() {
        for (text, string, want) in [
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*b*c", "aXXbYYc", true),
            ("a*b*c", "acb", false),
            ("[ab]*", "bash", true),
            ("[!ab]*", "bash", false),
            ("[a-c]?", "b1", true),
            ("[]x]?", "]1", true),
            ("[a-]?", "-1", true),
            ("[abc", "[abc", true),
            ("\\*a", "*a", true),
            ("\\*a", "ba", false),
            ("ba\\", "ba", true),
            ("*\\", "ba", true),
            ("ba\\", "bab", false),
            ("k*d/?:*", "kworker/d/0:1", true),
            ("*aaaab?", "aaaaaaaaaaaaab1", true),
        ] {
            assert_eq!(try_one(text, string), want, "{text} {string:?}");
        }
    }
}
