// SPDX-License-Identifier: GPL-2.0
//! Filters of any text, asked about records of any bytes.
//!
//! A filter that is made here knows what it means: its answer about each record is worked out a
//! second time, from wide numbers and with a matcher of its own. Of a text that was not made on
//! purpose only this is known: refused with a place in it, or a program that ends, and that answers
//! the opposite after a `!`.

use std::cell::Cell;

use super::source::Source;
use crate::event::field_type::AddressSpace;
use crate::expr::{
    error::Error,
    fetch::{
        Env,
        Operand, //
    },
    gate::{
        Gate,
        TextGate, //
    },
    predicate::Names,
    program::{
        self,
        Node,
        Program, //
    },
    structure::{
        self,
        MAX_TEXT, //
    }, //
};
use crate::text::word;

const CPUS: usize = 70;
const HERE: u32 = 3;
const COMM: &[u8] = b"bash\0junk";
const FUNCTION: std::ops::Range<u64> = 0x1000..0x1100;
const READABLE: u64 = 0x77;
const STRING: &[u8] = b"kworker/0:1";

/// Name, type, offset, size, signed.
const FIELDS: &[(&str, &str, usize, usize, bool)] = &[
    ("u8", "u8", 8, 1, false),
    ("s16", "short", 10, 2, true),
    ("u32", "u32", 12, 4, false),
    ("s64", "long", 16, 8, true),
    ("ip", "unsigned long", 24, 8, false),
    ("name", "char[8]", 32, 8, false),
    ("dyn", "__data_loc char[]", 40, 4, true),
    ("rel", "__rel_loc char[]", 44, 4, true),
    ("ptr", "const char *", 48, 8, false),
    ("mask", "__data_loc cpumask_t", 56, 4, false),
];
/// The fields that each event has, followed by its own.
const COMMON: usize = 8;
const SIZE: usize = 60;
const NUMBERS: std::ops::Range<usize> = 0..5;
const TEXTS: std::ops::Range<usize> = 5..9;

struct Event;

impl Names for Event {
    fn field(&self, name: &str) -> Option<Operand> {
        let (_, ty, offset, size, signed) = FIELDS.iter().find(|field| field.0 == name)?;
        Some(Operand::stored(ty, *offset as u32, *size as u32, *signed))
    }

    fn function(&self, name: &str) -> Option<(u64, u64)> {
        (name == "schedule").then_some((FUNCTION.start, FUNCTION.end))
    }

    fn function_at(&self, address: u64) -> Option<(u64, u64)> {
        FUNCTION
            .contains(&address)
            .then_some((FUNCTION.start, FUNCTION.end))
    }
}

/// Counts the questions that the record alone does not answer.
struct Machine {
    asked: Cell<usize>,
}

impl Machine {
    fn new() -> Self {
        Machine {
            asked: Cell::new(0),
        }
    }

    fn count(&self) {
        self.asked.set(self.asked.get() + 1);
    }
}

impl Env for Machine {
    fn cpu(&self) -> u32 {
        self.count();
        HERE
    }

    fn comm(&self) -> &[u8] {
        self.count();
        COMM
    }

    fn string(
        &self,
        address: u64,
        _: AddressSpace,
        question: impl FnOnce(&[u8]) -> bool,
    ) -> Option<bool> {
        self.count();
        (address == READABLE).then(|| question(STRING))
    }
}

/// A text with exactly the memory that it asked for.
struct Compiled<'a> {
    text: &'a [u8],
    nodes: Vec<Node>,
    sets: Vec<u64>,
}

impl<'a> Compiled<'a> {
    fn new(text: &'a [u8]) -> Result<Self, Error> {
        let needs = structure::measure(text)?;
        assert!(needs.preds <= text.len() && needs.sets <= text.len());
        let mut nodes = vec![Node::UNUSED; needs.preds];
        let mut sets = vec![0; needs.sets * CPUS.div_ceil(64)];
        let used =
            program::PredicateText { text, cpus: CPUS }.compile(&Event, &mut nodes, &mut sets)?;
        assert!((1..=needs.preds).contains(&used));
        nodes.truncate(used);
        Ok(Compiled { text, nodes, sets })
    }

    /// Each predicate is asked at most once, and the gates keep nothing out that is let through.
    fn answer(&self, record: &[u8]) -> bool {
        let machine = Machine::new();
        let program = Program {
            text: self.text,
            nodes: &self.nodes,
            sets: &self.sets,
            cpus: CPUS,
        };
        let answer = program.matches(record, &machine);
        assert!(machine.asked.get() <= self.nodes.len());
        if let Some(gate) = Gate::new(&self.nodes, COMMON..SIZE) {
            // No record is shorter than its event.
            if let Some(word) = record.get(..SIZE).and(little(record, gate.offset, 8)) {
                let passed = gate.range.holds(word);
                assert!(passed || !answer, "{gate:?} keeps out");
                assert!(answer || !passed || !gate.alone, "{gate:?} lets through");
            }
        }
        if let Some(gate) = TextGate::new(&self.nodes) {
            let passed = gate.passes(self.text, record);
            assert!(passed || !answer, "{gate:?} keeps out");
            assert!(answer || !passed || !gate.alone, "{gate:?} lets through");
        }
        answer
    }
}

/// A record of any length, some of its words locating something.
fn record(source: &mut Source) -> Vec<u8> {
    let mut bytes = source.bytes(24);
    bytes.resize(
        if source.once_in(4) {
            source.below(96)
        } else {
            96
        },
        b'a',
    );
    for (at, count) in [(8, 1), (10, 2), (12, 4), (16, 8), (24, 8), (48, 8)] {
        let value = match (source.below(4), at) {
            (0, 48) => READABLE,
            (0, _) => FUNCTION.start + source.below(300) as u64,
            (1, _) => u64::MAX - source.below(9) as u64,
            _ => source.number(),
        };
        put(&mut bytes, at, &value.to_le_bytes()[..count]);
    }
    let name = source.pieces(&["swap", "b", "\0"], 3);
    put(&mut bytes, 32, &name[..name.len().min(8)]);
    for (at, base) in [(40, 0), (44, 48), (56, 0)] {
        let word = match source.below(3) {
            0 => source.number() as u32,
            _ => {
                let start = 60 + source.below(30) as u32;
                (start - base) | (source.below(12) as u32) << 16
            }
        };
        put(&mut bytes, at, &word.to_le_bytes());
    }
    let text = source.pieces(&["ab", "c", "\0", "\x01"], 12);
    put(&mut bytes, 60, &text);
    bytes
}

/// Writes as much of `new` as there is room for.
fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    let room = bytes.get_mut(at..).unwrap_or(&mut []);
    for (byte, new) in room.iter_mut().zip(new) {
        *byte = *new;
    }
}

fn little(record: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = record.get(at..at + size)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
    )
}

/// Returns what a field of `size` bytes makes of a number.
fn as_field(value: u64, size: usize, signed: bool) -> i128 {
    let range = 1i128 << (8 * size);
    let value = i128::from(value) % range;
    match signed && value >= range / 2 {
        true => value - range,
        false => value,
    }
}

/// What a predicate asks.
enum Ask {
    Number(usize, &'static str, u64),
    Text(Option<usize>, &'static str, Vec<Piece>),
    Cpu(&'static str, i32),
    /// A field, or the CPU; two CPUs at least.
    Among(Option<usize>, &'static str, Vec<usize>),
    Mask(&'static str, Vec<usize>),
    Within(bool),
}

/// A part of a pattern.
enum Piece {
    Byte(u8),
    Escaped(u8),
    Any,
    Star,
    Class(bool, u8, u8),
}

fn matches(pieces: &[Piece], string: &[u8]) -> bool {
    let Some((piece, rest)) = pieces.split_first() else {
        return string.is_empty();
    };
    if let Piece::Star = piece {
        return (0..=string.len()).any(|taken| matches(rest, &string[taken..]));
    }
    let Some((byte, behind)) = string.split_first() else {
        return false;
    };
    let right = match piece {
        Piece::Byte(want) | Piece::Escaped(want) => want == byte,
        Piece::Any => true,
        Piece::Class(inverted, from, to) => (from <= byte && byte <= to) != *inverted,
        Piece::Star => unreachable!("looked at above"),
    };
    right && matches(rest, behind)
}

fn compared<T: PartialOrd>(operator: &str, a: T, b: T) -> bool {
    match operator {
        "==" => a == b,
        "!=" => a != b,
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        ">=" => a >= b,
        other => unreachable!("{other} compares nothing"),
    }
}

/// The string that a field holds; `None` for a pointer that cannot be followed.
fn string_of(record: &[u8], field: Option<usize>) -> Option<Vec<u8>> {
    let located = |at: usize, base: usize| {
        let word = little(record, at, 4)? as usize;
        let start = base + (word & 0xffff);
        record.get(start..start + (word >> 16))
    };
    let bytes = match field.map(|field| FIELDS[field].0) {
        None => COMM,
        Some("name") => record.get(32..40).unwrap_or_default(),
        Some("dyn") => located(40, 0).unwrap_or_default(),
        Some("rel") => located(44, 48).unwrap_or_default(),
        _ => (little(record, 48, 8)? == READABLE).then_some(STRING)?,
    };
    Some(bytes.split(|byte| *byte == 0).next()?.to_vec())
}

impl Ask {
    fn some(source: &mut Source) -> Self {
        const COMPARE: &[&str] = &["==", "!=", "<", "<=", ">", ">=", "&"];
        const SETS: &[&str] = &["==", "!=", "&"];

        let set = |source: &mut Source| {
            let mut set: Vec<_> = (0..2 + source.below(4))
                .map(|_| source.below(CPUS))
                .collect();
            set.sort();
            set.dedup();
            if set.len() < 2 {
                set = vec![1, 2];
            }
            set
        };
        match source.below(10) {
            0..4 => {
                let field = NUMBERS.start + source.below(NUMBERS.len());
                Ask::Number(field, *source.pick(COMPARE), source.number())
            }
            4..7 => {
                let field = (!source.once_in(4)).then(|| TEXTS.start + source.below(TEXTS.len()));
                let operator = *source.pick(&["==", "!=", "~", "~"]);
                Ask::Text(field, operator, pattern(source, operator == "~"))
            }
            7 => Ask::Cpu(*source.pick(&COMPARE[..6]), source.below(6) as i32),
            8 if source.once_in(2) => Ask::Mask(*source.pick(SETS), set(source)),
            8 => {
                let field =
                    (!source.once_in(3)).then(|| NUMBERS.start + source.below(NUMBERS.len()));
                Ask::Among(field, *source.pick(SETS), set(source))
            }
            _ => Ask::Within(source.once_in(2)),
        }
    }

    fn text(&self, source: &mut Source) -> String {
        let blank = |source: &mut Source| *source.pick(&["", "", " ", " \t"]);
        let (before, behind) = (blank(source), blank(source));
        let list = |cpus: &[usize]| {
            let cpus: Vec<_> = cpus.iter().map(usize::to_string).collect();
            format!("CPUS{{{}}}", cpus.join(","))
        };
        match self {
            Ask::Number(field, operator, value) => {
                let (name, _, _, _, signed) = FIELDS[*field];
                let value = match (source.below(3), signed) {
                    (0, true) => format!("{}", *value as i64),
                    (0, false) => format!("{value}"),
                    // Signed fields take no number beyond theirs.
                    _ if signed => format!("{}", *value as i64),
                    (1, _) => format!("{value:#x}"),
                    _ => format!("0{value:o}"),
                };
                format!("{name}{before}{operator}{behind}{value}")
            }
            Ask::Text(field, operator, pieces) => {
                let name = field.map_or("COMM", |field| FIELDS[field].0);
                let quote = source.pick(&["'", "\""]);
                let mut text = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Byte(byte) => text.push(char::from(*byte)),
                        Piece::Escaped(byte) => text.extend(['\\', char::from(*byte)]),
                        Piece::Any => text.push('?'),
                        Piece::Star => text.push('*'),
                        Piece::Class(inverted, from, to) => {
                            let not = if *inverted { "!" } else { "" };
                            text += &format!("[{not}{}-{}]", char::from(*from), char::from(*to));
                        }
                    }
                }
                format!("{name}{before}{operator}{behind}{quote}{text}{quote}")
            }
            Ask::Cpu(operator, cpu) => {
                let name = source.pick(&["CPU", "cpu", "common_cpu"]);
                format!("{name}{before}{operator}{behind}{cpu}")
            }
            Ask::Among(field, operator, cpus) => {
                let name = field.map_or("CPU", |field| FIELDS[field].0);
                format!("{name}{before}{operator}{behind}{}", list(cpus))
            }
            Ask::Mask(operator, cpus) => format!("mask{before}{operator}{behind}{}", list(cpus)),
            Ask::Within(not) => {
                let operator = if *not { "!=" } else { "==" };
                let what = source.pick(&["schedule ", "0x1004", "4096"]);
                format!("ip.function{before}{operator}{behind}{what}")
            }
        }
    }

    fn holds(&self, record: &[u8]) -> bool {
        match self {
            Ask::Number(field, operator, value) => {
                let (_, _, offset, size, signed) = FIELDS[*field];
                let Some(found) = little(record, offset, size) else {
                    return false;
                };
                match *operator {
                    "&" => found & value != 0,
                    operator => compared(
                        operator,
                        as_field(found, size, signed),
                        as_field(*value, size, signed),
                    ),
                }
            }
            Ask::Text(field, operator, pieces) => {
                let Some(string) = string_of(record, *field) else {
                    return false;
                };
                matches(pieces, &string) != (*operator == "!=")
            }
            Ask::Cpu(operator, cpu) => compared(operator, HERE as i32, *cpu),
            Ask::Among(field, operator, cpus) => {
                let found = match field.map(|field| FIELDS[field]) {
                    None => Some(HERE as usize),
                    Some((_, _, offset, size, _)) => little(record, offset, size)
                        .map(|number| number as u32 as usize)
                        .filter(|cpu| *cpu < CPUS),
                };
                let Some(cpu) = found else {
                    return false;
                };
                match *operator {
                    "&" => cpus.contains(&cpu),
                    // Two CPUs are never one.
                    operator => operator == "!=",
                }
            }
            Ask::Mask(operator, cpus) => {
                let place = little(record, 56, 4).unwrap_or(u64::MAX) as usize;
                let bytes = record.get(place & 0xffff..);
                let Some(bytes) = bytes.and_then(|bytes| bytes.get(..place >> 16)) else {
                    return false;
                };
                let bits = 0..bytes.len() * 8;
                let found: Vec<_> = bits
                    .filter(|cpu| bytes[cpu / 8] >> (cpu % 8) & 1 != 0)
                    .collect();
                match *operator {
                    "&" => cpus.iter().any(|cpu| found.contains(cpu)),
                    operator => compared(operator, &found, cpus),
                }
            }
            Ask::Within(not) => {
                little(record, 24, 8).is_some_and(|address| FUNCTION.contains(&address) != *not)
            }
        }
    }
}

/// A pattern, or a string when it is none. It does not begin with a digit or a `!`, which mean
/// something before a pattern.
fn pattern(source: &mut Source, glob: bool) -> Vec<Piece> {
    let piece = |source: &mut Source| match source.below(if glob { 8 } else { 4 }) {
        0..4 => Piece::Byte(*source.pick(b"abkswp/:")),
        4 => Piece::Any,
        5 => Piece::Class(source.once_in(3), b'a', *source.pick(b"abkz")),
        6 => Piece::Escaped(*source.pick(b"ab*?\\[")),
        _ => Piece::Star,
    };
    let start = *source.pick(&["bash", "swap", "kworker", "ab", "", "", ""]);
    let mut pieces: Vec<_> = start.bytes().map(Piece::Byte).collect();
    for _ in 0..source.below(5) {
        pieces.push(piece(source));
    }
    pieces
}

/// An expression over predicates.
enum Expr {
    Ask(Ask),
    Not(Box<Expr>),
    All(Vec<Expr>),
    Any(Vec<Expr>),
}

impl Expr {
    fn some(source: &mut Source, depth: usize) -> Self {
        if depth == 0 || source.once_in(3) {
            return Expr::Ask(Ask::some(source));
        }
        let parts = |source: &mut Source| {
            (0..2 + source.below(3))
                .map(|_| Expr::some(source, depth - 1))
                .collect()
        };
        match source.below(5) {
            0 => Expr::Not(Box::new(Expr::some(source, depth - 1))),
            1 | 2 => Expr::All(parts(source)),
            _ => Expr::Any(parts(source)),
        }
    }

    fn text(&self, source: &mut Source) -> String {
        let mut joined = |parts: &[Expr], with: &str| {
            let parts: Vec<_> = parts.iter().map(|part| part.operand(source)).collect();
            parts.join(with)
        };
        match self {
            Expr::Ask(ask) => ask.text(source),
            Expr::Not(expr) => format!("!{}", expr.operand(source)),
            Expr::All(parts) => joined(parts, " && "),
            Expr::Any(parts) => joined(parts, "||"),
        }
    }

    fn operand(&self, source: &mut Source) -> String {
        match self {
            Expr::Ask(_) | Expr::Not(_) if !source.once_in(4) => self.text(source),
            _ => format!("({})", self.text(source)),
        }
    }

    fn holds(&self, record: &[u8]) -> bool {
        match self {
            Expr::Ask(ask) => ask.holds(record),
            Expr::Not(expr) => !expr.holds(record),
            Expr::All(parts) => parts.iter().all(|part| part.holds(record)),
            Expr::Any(parts) => parts.iter().any(|part| part.holds(record)),
        }
    }
}

pub fn filters_of_broken_records(source: &mut Source) {
    let expr = Expr::some(source, 3);
    let text = expr.text(source);
    let compiled = Compiled::new(text.trim_end().as_bytes());
    let compiled = compiled.unwrap_or_else(|error| panic!("{text}: {error:?}"));

    for _ in 0..3 {
        let record = record(source);
        let answer = compiled.answer(&record);
        assert_eq!(answer, expr.holds(&record), "{text} of {record:?}");
    }
}

/// A text without an intended meaning.
fn any_text(source: &mut Source) -> Vec<u8> {
    const PIECES: &[&str] = &[
        "(",
        ")",
        "!",
        "&&",
        "||",
        "&",
        "|",
        " ",
        "\t",
        "u8",
        "s64",
        "name",
        "dyn",
        "ptr",
        "mask",
        "comm",
        "cpu",
        "stacktrace",
        "==",
        "!=",
        "~",
        "<",
        ">=",
        "1",
        "-5",
        "0x",
        "08",
        "'",
        "\"",
        "'a*'",
        "\"[!b-\"",
        "CPUS{",
        "}",
        "0-3:1/2",
        "N",
        "all",
        ".function",
        ".ustring",
        "schedule",
        "\u{a0}",
        "\\",
    ];

    let mut text = match source.below(3) {
        0 => source.pieces(PIECES, 24),
        _ => Expr::some(source, 2).text(source).into_bytes(),
    };
    if source.once_in(2) {
        source.spoil(&mut text);
    }
    if source.once_in(64) {
        text = text.repeat(1 + 4200 / text.len().max(1));
    }
    text.retain(|byte| *byte != 0);
    text.truncate(MAX_TEXT);
    word::strip_end(&text).to_vec()
}

pub fn any_text_is_a_filter(source: &mut Source) {
    let text = any_text(source);
    let shown = String::from_utf8_lossy(&text);

    let compiled = match Compiled::new(&text) {
        Ok(compiled) => compiled,
        Err(error) => {
            assert!(error.at <= text.len() + 2, "{shown}: {error:?}");
            let mut told = String::new();
            error.write(&mut told, text.len()).unwrap();
            let lines: Vec<_> = told.split('\n').collect();
            assert_eq!(lines[0], "", "{told}");
            assert!((2..=3).contains(&lines.len()), "{told}");
            assert!(told.len() <= text.len() + 100, "{told}");
            return;
        }
    };
    // A function's name ends at a blank.
    let around = |front: &str| [front.as_bytes(), &text, b" )"].concat();
    let (same, opposite) = (around("("), around("!("));
    let fits = opposite.len() <= MAX_TEXT;
    let more = fits.then(|| (Compiled::new(&same), Compiled::new(&opposite)));

    for _ in 0..2 {
        let record = record(source);
        let answer = compiled.answer(&record);
        if let Some((same, opposite)) = &more {
            let found = |other: &Result<Compiled<'_>, Error>| match other {
                Ok(compiled) => compiled.answer(&record),
                Err(error) => panic!("{shown} in parentheses: {error:?}"),
            };
            assert_eq!(found(same), answer, "{shown} in parentheses");
            assert_eq!(found(opposite), !answer, "{shown} behind a !");
        }
    }
}
