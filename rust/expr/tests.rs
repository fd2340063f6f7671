// SPDX-License-Identifier: GPL-2.0

//! Errors and answers of whole filters.

use super::{
    error::{
        Error,
        ErrorKind, //
        PredicateErrno,
    },
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
        Node,
        PredicateText, //
        Program,
    },
    structure, //
};
use crate::event::field_type::AddressSpace;

const CPUS: usize = 70;

/// An event with a field of each kind.
struct Event;

/// Name, type, offset, size, signed.
const FIELDS: &[(&str, &str, u32, u32, bool)] = &[
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
    ("odd", "struct odd", 60, 3, false),
];

impl Names for Event {
    fn field(&self, name: &str) -> Option<Operand> {
        let (_, ty, offset, size, signed) = FIELDS.iter().find(|f| f.0 == name)?;
        Some(Operand::stored(ty, *offset, *size, *signed))
    }

    fn function(&self, name: &str) -> Option<(u64, u64)> {
        (name == "schedule").then_some((0x1000, 0x1100))
    }

    fn function_at(&self, address: u64) -> Option<(u64, u64)> {
        (0x1000..0x1100)
            .contains(&address)
            .then_some((0x1000, 0x1100))
    }
}

struct Here;

impl Env for Here {
    fn cpu(&self) -> u32 {
        3
    }

    fn comm(&self) -> &[u8] {
        b"bash\0junk"
    }

    fn string(
        &self,
        address: u64,
        space: AddressSpace,
        question: impl FnOnce(&[u8]) -> bool,
    ) -> Option<bool> {
        match (address, space) {
            (0x77, AddressSpace::Kernel) => Some(question(b"kernel")),
            (0x77, AddressSpace::User) => Some(question(b"user")),
            _ => None,
        }
    }
}

fn record() -> Vec<u8> {
    let mut r = vec![0u8; 80];
    r[0..2].copy_from_slice(&300u16.to_le_bytes());
    r[4..8].copy_from_slice(&(-5i32).to_le_bytes());
    r[8] = 200;
    r[10..12].copy_from_slice(&(-2i16).to_le_bytes());
    r[12..16].copy_from_slice(&0x8000_0001u32.to_le_bytes());
    r[16..24].copy_from_slice(&(-9i64).to_le_bytes());
    r[24..32].copy_from_slice(&0x10ffu64.to_le_bytes());
    r[32..40].copy_from_slice(b"swapper!");
    r[40..44].copy_from_slice(&(64u32 | 5 << 16).to_le_bytes());
    r[44..48].copy_from_slice(&(21u32 | 4 << 16).to_le_bytes());
    r[48..56].copy_from_slice(&0x77u64.to_le_bytes());
    r[56..60].copy_from_slice(&(73u32 | 7 << 16).to_le_bytes());
    r[64..69].copy_from_slice(b"four\0");
    r[69..73].copy_from_slice(b"rel\0");
    r[73] = 0b1001;
    r
}

fn compiled<T>(text: &str, then: impl FnOnce(Program<'_>) -> T) -> Result<T, Error> {
    let text = text.as_bytes();
    let needs = structure::measure(text)?;
    let mut nodes = vec![Node::UNUSED; needs.preds];
    let mut sets = vec![0; needs.sets * CPUS.div_ceil(64)];
    let used = PredicateText { text, cpus: CPUS }.compile(&Event, &mut nodes, &mut sets)?;
    Ok(then(Program {
        text,
        nodes: &nodes[..used],
        sets: &sets,
        cpus: CPUS,
    }))
}

fn passes(text: &str) -> bool {
    compiled(text, |program| program.matches(&record(), &Here))
        .unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

#[test]
fn answers() {
    let rows = [
        ("u8 == 200", true),
        ("u8 == 0xc8", true),
        ("u8==200", true),
        ("u8 == 456", true),
        ("u8 > 199", true),
        ("u8 < 200", false),
        ("u8 & 8", true),
        ("u8 & 7", false),
        ("s16 == -2", true),
        ("s16 < 0", true),
        ("s16 >= -2", true),
        ("s16 & 1", false),
        ("u32 > 5", true),
        ("u32 & 0x80000000", true),
        ("s64 <= -9", true),
        ("s64 != -9", false),
        ("common_pid == -5", true),
        ("common_type == 300", true),
        ("CPU == 3", true),
        ("cpu > 3", false),
        ("common_cpu != 3", false),
        ("CPU == CPUS{3}", true),
        ("CPU & CPUS{0-4}", true),
        ("CPU == CPUS{0-4}", false),
        ("CPU != CPUS{0-4}", true),
        ("u8 & CPUS{0-4}", false),
        ("common_flags & CPUS{0}", true),
        ("common_flags & CPUS{0,9}", true),
        ("mask & CPUS{3}", true),
        ("mask == CPUS{3}", false),
        ("mask != CPUS{3}", true),
        ("mask == CPUS{0,3}", true),
        ("mask != CPUS{0,3}", false),
        ("mask & CPUS{1,2,4-69}", false),
        ("COMM == bash", false),
        ("comm == \"bash\"", true),
        ("comm ~ \"b*\"", true),
        ("COMM ~ '!b*'", false),
        ("name == 'swapper!'", true),
        ("name != \"swapper\"", true),
        ("name ~ \"*per!\"", true),
        ("dyn == \"four\"", true),
        ("dyn ~ '?our'", true),
        ("rel == \"rel\"", true),
        ("ptr == \"kernel\"", true),
        ("ptr.ustring == \"user\"", true),
        ("ptr ~ \"*x*\"", false),
        ("ip.function == schedule", true),
        ("ip.function == 0x1050", true),
        ("ip.function != schedule", false),
        ("ip == 0x10ff", true),
        ("stacktrace == 0", false),
        ("odd == 0", false),
    ];
    for (text, want) in rows {
        match compiled(text, |program| program.matches(&record(), &Here)) {
            Ok(got) => assert_eq!(got, want, "{text}"),
            Err(e) => assert!(text == "COMM == bash", "{text}: {e:?}"),
        }
    }
}

#[test]
fn gates() {
    // Where the number is read, and whether nothing else is asked.
    let rows = [
        ("u8 == 200", Some((1, true))),
        ("u8 & 8", Some((1, true))),
        ("s16 < -1", Some((4, true))),
        ("(((u32 != 5)))", Some((8, true))),
        ("!(s64 > 7)", Some((16, true))),
        ("!!ip == 7", Some((24, true))),
        ("u8 & CPUS{3}", Some((1, true))),
        ("u32 >= 5 && name == \"a\"", Some((8, false))),
        ("!(u8 == 1 || u8 == 2)", Some((1, false))),
        ("(u8 == 1 && u8 == 2) && CPU == 3", Some((1, false))),
        // Another predicate may keep the record.
        ("u8 == 1 || u8 == 2", None),
        ("u8 == 1 && u8 == 2 || u8 == 3", None),
        ("!(u8 == 1 && u8 == 2)", None),
        // Not a number of the event, or not the first.
        ("common_pid == -5", None),
        ("common_type == 300 && u8 == 1", None),
        ("CPU == 3", None),
        ("name == \"a\" && u8 == 1", None),
        ("u8 & CPUS{3,4}", None),
        ("mask & CPUS{3}", None),
        ("ip.function == schedule", None),
        ("odd == 0", None),
    ];
    let of = |text: &str, size| {
        compiled(text, |program| Gate::new(program.nodes, 8..size)).unwrap_or_else(|e| {
            panic!("{text}: {e:?}");
        })
    };
    for (text, want) in rows {
        let gate = of(text, 80);
        assert_eq!(gate.map(|gate| (gate.offset, gate.alone)), want, "{text}");
    }
    assert!(of("ip == 7", 32).is_some());
    assert!(of("ip == 7", 31).is_none(), "not in every record");
}

#[test]
fn gates_of_texts() {
    // Whether the record passes, and whether nothing else is asked.
    let rows = [
        ("name == 'swapper!'", Some((true, true))),
        ("name != 'swapper!'", Some((false, true))),
        ("!(name ~ \"*app*\")", Some((false, true))),
        ("!!name ~ \"swap*\"", Some((true, true))),
        ("dyn ~ \"*our\"", Some((true, true))),
        ("rel == \"rex\"", Some((false, true))),
        ("name ~ \"s?apper!\" && u8 == 1", Some((true, false))),
        ("!(name == \"a\" || u8 == 1)", Some((true, false))),
        // Another predicate may keep the record.
        ("name == \"a\" || u8 == 200", None),
        ("!(name == \"a\" && u8 == 200)", None),
        // Not a string of the event, or not the first.
        ("ptr == \"kernel\"", None),
        ("comm == \"bash\"", None),
        ("u8 == 200 && name == \"a\"", None),
        ("ip == 7", None),
    ];
    for (text, want) in rows {
        let gate = compiled(text, |program| {
            TextGate::new(program.nodes)
                .map(|gate| (gate.passes(program.text, &record()), gate.alone))
        });
        assert_eq!(gate, Ok(want), "{text}");
    }
}

#[test]
fn expressions() {
    // T holds, F does not.
    let rows = [
        ("T", true),
        ("!T", false),
        ("!!T", true),
        ("T && F", false),
        ("F || T", true),
        ("T || F && F", true),
        ("(T || F) && F", false),
        ("!(T && F)", true),
        ("!(T && (F || !F))", false),
        ("!(!(T) || F) && T", true),
        ("F && F || T", true),
        ("F && (T || T) || F", false),
        ("((((T))))", true),
        ("! ( F || ! ( T && ! F ) )", true),
        ("T && !F && !(F || F) && T", true),
    ];
    for (text, want) in rows {
        let text = text.replace('T', "u8 == 200").replace('F', "u8 == 1");
        assert_eq!(passes(&text), want, "{text}");
        let dense = text.replace(' ', "");
        assert_eq!(passes(&dense), want, "{dense}");
    }
}

#[test]
fn errors_have_the_place_and_the_number_that_ftrace_gives() {
    use {ErrorKind::*, PredicateErrno::*};
    let rows = [
        ("", Nameless, Inval, 0),
        ("()", Nameless, Inval, 0),
        ("(", TooManyOpen, NoEnt, 0),
        ("((u8 == 1)", TooManyOpen, NoEnt, 0),
        ("(u8 == 1) && (", TooManyOpen, NoEnt, 13),
        ("u8 == 1)", TooManyClose, Perm, 7),
        ("comm == \"a", MissingQuote, Srch, 8),
        ("!", NoFilter, Inval, 1),
        ("u8 == 1 &&", InvalidFilter, Inval, 10),
        ("u8 == 1 && !", InvalidFilter, Inval, 12),
        ("u8 == 1 u8 == 2", TooManyPreds, Perm, 8),
        ("u8 == 1 & u8 == 2", TooManyPreds, Perm, 8),
        ("(u8 == 1)(u8 == 2)", TooManyPreds, Perm, 9),
        ("&& u8 == 1", Nameless, Perm, 0),
        ("u8 == 1 && ()", Nameless, Perm, 0),
        ("nope == 1", FieldNotFound, Inval, 5),
        ("u8", InvalidOperator, Inval, 3),
        ("u8 = 1", InvalidOperator, Inval, 4),
        ("u8 !~ 1", InvalidOperator, Inval, 4),
        ("u8 == ", InvalidValue, Inval, 7),
        ("u8 == abc", InvalidValue, Inval, 7),
        ("u8 == 12x", IllegalIntval, Inval, 7),
        ("u8 == -1", IllegalIntval, Inval, 7),
        ("u8 == 0123456789012345678901234", OperandTooLong, Inval, 32),
        ("u8 == \"a\"", ExpectDigit, Inval, 7),
        ("u8 ~ 1", IllegalFieldOp, Inval, 6),
        ("comm == 1", ExpectString, Inval, 9),
        ("comm < \"a\"", IllegalFieldOp, Inval, 8),
        ("name & \"a\"", IllegalFieldOp, Inval, 8),
        ("CPU == CPUS", MissingBraceOpen, Inval, 13),
        ("CPU == CPUS{1", MissingBraceClose, Inval, 14),
        ("CPU == CPUS{}", InvalidCpulist, Inval, 13),
        ("CPU == CPUS{99}", InvalidCpulist, Inval, 15),
        ("CPU < CPUS{1}", IllegalFieldOp, Inval, 7),
        ("comm == CPUS{1}", IllegalFieldOp, Inval, 9),
        ("u8.function == schedule", IllegalFieldOp, Inval, 16),
        ("ip.function < schedule", InvalidOperator, Inval, 15),
        ("ip.function == nope", NoFunction, Inval, 20),
        ("ip.function == 0x1", NoFunction, Inval, 19),
        ("ip.function == 0xg", InvalidValue, Inval, 19),
    ];
    for (text, kind, errno, at) in rows {
        let error = compiled(text, |_| ()).err();
        let want = Some(Error { kind, errno, at });
        assert_eq!(error, want, "{text}");
    }
    let long = format!("comm == \"{}\"", "a".repeat(256));
    let error = compiled(&long, |_| ()).err();
    assert_eq!(error.map(|e| e.kind), Some(OperandTooLong));
}

#[test]
fn the_file_shows_a_caret() {
    let show = |text: &str| {
        let mut shown = text.to_string();
        let error = compiled(text, |_| ()).unwrap_err();
        error.write(&mut shown, text.len()).unwrap();
        shown
    };
    assert_eq!(
        show("nope == 1"),
        "nope == 1\n     ^\nparse_error: Field not found"
    );
    assert_eq!(show("("), "(\n^\nparse_error: Too many '('");
    assert_eq!(show("()"), "()\nError: (0)");
}

#[test]
fn a_short_record_answers_no() {
    for (name, ..) in FIELDS {
        for text in [format!("{name} != 1"), format!("{name} != \"a\"")] {
            let answer = compiled(&text, |program| program.matches(&[0; 8], &Here));
            // Nothing can be read. A string inside the record is then an empty one, which is not
            // "a".
            if let Ok(answer) = answer {
                let string = text.contains('"') && !text.contains("ptr");
                assert_eq!(answer, string, "{text}");
            }
        }
    }
}

#[test]
fn the_longest_texts_are_compiled() {
    let deep = format!("{}u8 == 200{}", "!(".repeat(1000), ")".repeat(1000));
    assert!(passes(&deep));
    let wide = vec!["u8==1"; 500].join("||") + "||u8==200";
    assert!(passes(&wide));
}
