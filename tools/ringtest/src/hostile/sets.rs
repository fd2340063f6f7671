// SPDX-License-Identifier: GPL-2.0
//! Sets that users write: of pids, of CPUs.

use super::source::Source;
use crate::text::{
    cpumask,
    pids::{
        self,
        ByteStep,
        PidError, //
        PidParser,
    },
    word, //
};

/// The number that a word is, as in C.
fn number(word: &[u8]) -> Option<u128> {
    let text = std::str::from_utf8(word).ok()?;
    let text = text.strip_prefix('+').unwrap_or(text);
    if text.starts_with(['+', '-']) {
        return None;
    }
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let value = match (hex, text.strip_prefix('0')) {
        (Some(hex), _) if hex.starts_with(['+', '-']) => return None,
        (Some(hex), _) => u128::from_str_radix(hex, 16).ok()?,
        (None, Some("")) => 0,
        (None, Some(octal)) if octal.starts_with(['+', '-']) => return None,
        (None, Some(octal)) => u128::from_str_radix(octal, 8).ok()?,
        (None, None) => text.parse().ok()?,
    };
    (value <= u128::from(u64::MAX)).then_some(value)
}

/// The pids of a text up to its end, cut into words instead of read byte by byte.
fn expected(text: &[u8]) -> (Vec<u32>, Option<PidError>) {
    let mut found = vec![];
    let mut rest = text;
    loop {
        while let [first, behind @ ..] = rest {
            if !word::is_space(*first) {
                break;
            }
            rest = behind;
        }
        let ends = |byte: &u8| *byte == 0 || word::is_space(*byte);
        let len = rest.iter().position(ends).unwrap_or(rest.len());
        if len == 0 {
            return (found, None);
        }
        let value = (len < 128).then(|| number(&rest[..len])).flatten();
        match value.map(|value| value as u32) {
            None => return (found, Some(PidError::Number)),
            Some(pid) if pid >= pids::END => return (found, Some(PidError::TooLarge)),
            Some(pid) => found.push(pid),
        }
        // The byte that ended the word has been passed.
        rest = rest.get(len + 1..).unwrap_or_default();
    }
}

pub fn lists_of_pids(source: &mut Source) {
    const PIECES: &[&str] = &[
        "1",
        "22",
        "0x1f",
        "0X",
        "010",
        "09",
        "+7",
        "-1",
        " ",
        " ",
        "\n",
        "\t",
        "\0",
        "1073741823",
        "1073741824",
        "4294967297",
        "18446744073709551615",
        "18446744073709551616",
        "a",
    ];

    let mut text = source.pieces(PIECES, 12);
    if source.once_in(8) {
        // Around the longest word.
        let at = source.below(text.len() + 1);
        let many = vec![b'0'; 120 + source.below(12)];
        text.splice(at..at, many);
    }
    let (mut pids, mut found) = (PidParser::new(), vec![]);
    let mut wrong = None;
    let mut ended = false;
    for byte in &text {
        match pids.push(*byte) {
            Ok(ByteStep::More) => {}
            Ok(ByteStep::Pid(pid)) => found.push(pid),
            Ok(ByteStep::End) => ended = true,
            Err(error) => wrong = Some(error),
        }
        if ended || wrong.is_some() {
            break;
        }
    }
    if !ended && wrong.is_none() {
        match pids.finish() {
            Ok(last) => found.extend(last),
            Err(error) => wrong = Some(error),
        }
    }
    assert_eq!(
        (found, wrong),
        expected(&text),
        "{:?}",
        text.escape_ascii().to_string()
    );
}

/// The CPUs of a text of digits, commas and blanks; `None` when it names others.
fn cpus_of(text: &[u8], cpus: usize) -> Option<Vec<usize>> {
    let between = |byte: &u8| *byte == b',' || word::is_space(*byte);
    let groups: Vec<_> = text
        .split(between)
        .filter(|group| !group.is_empty())
        .collect();
    let mut found = vec![];
    if groups.len() > cpus.div_ceil(32) {
        return None;
    }
    for (place, group) in groups.iter().rev().enumerate() {
        if group.len() > 8 {
            return None;
        }
        let value = u32::from_str_radix(std::str::from_utf8(group).ok()?, 16).ok()?;
        found.extend(
            (0..32)
                .filter(|bit| value >> bit & 1 != 0)
                .map(|bit| 32 * place + bit),
        );
    }
    found.iter().all(|cpu| *cpu < cpus).then_some(found)
}

fn members(words: &[u64]) -> Vec<usize> {
    let bits = 0..words.len() * 64;
    bits.filter(|bit| words[bit / 64] >> (bit % 64) & 1 != 0)
        .collect()
}

pub fn sets_of_cpus(source: &mut Source) {
    const PIECES: &[&str] = &[
        "0", "1", "f", "F", "3f", "00000000", "ffffffff", ",", ",", " ", "\n", "\0", "x", "0x",
    ];

    let cpus = match source.below(3) {
        0 => 1 + source.below(200),
        _ => *source.pick(&[1, 2, 8, 31, 32, 33, 63, 64, 65, 96, 127, 128]),
    };
    let words = cpus.div_ceil(64);
    let parsed = |text: &[u8]| {
        // Whatever is in the memory before.
        let mut set = vec![0xdead_beef_dead_beef; words];
        cpumask::parse(text, cpus, &mut set).map(|()| set)
    };
    let shown = |set: &[u64]| {
        let mut text = String::new();
        cpumask::write_text(set, cpus, &mut text).unwrap();
        text
    };
    let text = source.pieces(PIECES, 10);
    let found = parsed(&text);
    let looked_at = text.split(|byte| matches!(byte, 0 | b'\n')).next().unwrap();
    let plain = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b',' || word::is_space(*byte);
    if looked_at.iter().all(plain) {
        let wanted = cpus_of(looked_at, cpus);
        let found = found.as_ref().ok().map(|set| members(set));
        assert_eq!(
            found,
            wanted,
            "{:?} of {cpus}",
            text.escape_ascii().to_string()
        );
    }
    // What is taken is shown, and what is shown is taken.
    if let Ok(set) = found {
        assert!(
            members(&set).iter().all(|cpu| *cpu < cpus),
            "{text:?} of {cpus}"
        );
        assert_eq!(parsed(shown(&set).as_bytes()), Ok(set));
    }
    let any: Vec<usize> = (0..source.below(9)).map(|_| source.below(cpus)).collect();
    let mut set = vec![0; words];
    for cpu in any {
        set[cpu / 64] |= 1 << (cpu % 64);
    }
    assert_eq!(parsed(shown(&set).as_bytes()), Ok(set));
}
