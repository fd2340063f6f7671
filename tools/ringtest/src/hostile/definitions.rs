// SPDX-License-Identifier: GPL-2.0
//! What users write into `synthetic_events`, and records of such events with a few bytes wrong.

use super::source::Source;
use crate::synthetic::{
    command::{
        skip_spaces,
        SyntheticCommand,
        SyntheticDraft, //
    },
    print::SyntheticNames,
    record::{
        self,
        SyntheticValue, //
    },
    tests::Defined,
};
use crate::text::writer::{
    ByteWrite,
    Bytes, //
};
use core::fmt;

/// What definitions are made of.
const PIECES: &[&str] = &[
    "ev",
    " ",
    " ",
    "\t",
    "\u{b}",
    ";",
    "; ",
    "u64 a",
    "s8 b",
    "gfp_t c",
    "char d[16]",
    "char e[]",
    "long f[]",
    "unsigned",
    "unsigned long g",
    "char",
    "[",
    "]",
    "[256]",
    "0x10",
    "257",
    "!",
    "synthetic/",
    "\u{a0}",
    "\0",
];

/// Prints what the kernel has names for as nothing.
struct Nameless;

impl SyntheticNames for Nameless {
    fn write_symbol(&mut self, _: u64, _: &mut dyn ByteWrite) -> fmt::Result {
        Ok(())
    }

    fn write_gfp(&mut self, _: u64, _: &mut dyn ByteWrite) -> fmt::Result {
        Ok(())
    }
}

/// Carets are inside of the line; what is taken is shown as a line that defines the same.
pub fn any_text_is_a_definition(source: &mut Source) {
    let mut line = b"ev ".to_vec();
    line.extend(source.pieces(PIECES, 12));
    if source.once_in(4) {
        source.spoil(&mut line);
    }
    let line = skip_spaces(&line);
    let defined = match SyntheticCommand::parse(line) {
        Ok(SyntheticCommand::Remove(name)) => {
            assert!(line.starts_with(b"!") && line[1..].starts_with(name));
            return;
        }
        Ok(SyntheticCommand::Define(draft)) => Defined::of(draft),
        Err(refusal) => Err(refusal),
    };
    match defined {
        Err(refusal) => assert!(refusal.at <= line.len(), "{}", line.escape_ascii()),
        Ok(defined) => {
            let shown = defined.line();
            let Ok(SyntheticCommand::Define(draft)) = SyntheticCommand::parse(shown.as_bytes())
            else {
                panic!("{shown}");
            };
            let again = Defined::of(draft).map(|again| again.text);
            assert_eq!(again, Ok(defined.text));
        }
    }
    let dynamic = [b"s:", line].concat();
    if let Err(refusal) = SyntheticDraft::parse_dynamic(&dynamic).and_then(Defined::of) {
        assert!(refusal.at <= dynamic.len(), "{}", dynamic.escape_ascii());
    }
}

/// Nothing outside of a record is printed, whatever places it has for its strings and stacks.
pub fn broken_synthetic_records(source: &mut Source) {
    let line = b"ev u64 a; char b[16]; char c[]; long d[]; s8 e; gfp_t f; char g[]";
    let Ok(SyntheticCommand::Define(draft)) = SyntheticCommand::parse(line) else {
        panic!("it is refused");
    };
    let Ok(defined) = Defined::of(draft) else {
        panic!("a field is refused");
    };
    let bytes = source.bytes(300);
    let callers: Vec<u64> = (0..source.below(40)).map(|_| source.next()).collect();
    let values = [
        SyntheticValue::Number(source.number()),
        SyntheticValue::Text(&bytes),
        SyntheticValue::Text(&bytes),
        SyntheticValue::Stack(&callers),
        SyntheticValue::Number(source.number()),
        SyntheticValue::Number(source.number()),
        SyntheticValue::Text(&bytes),
    ];
    let values = &values[..source.below(values.len() + 1)];
    let fixed = record::fixed_size(&defined.fields);
    let size = record::size(&defined.fields, fixed, values);
    let mut bytes = vec![0xa5; size];
    record::fill(&defined.fields, fixed, values, &mut bytes);
    if source.once_in(2) {
        source.spoil(&mut bytes);
        bytes.truncate(source.below(bytes.len() + 1));
    }
    let mut out = Bytes::default();
    defined
        .layout()
        .write_values(&bytes, source.once_in(2), &mut Nameless, &mut out)
        .unwrap();
    assert!(out.0.len() <= 4 * bytes.len() + 400);
}
