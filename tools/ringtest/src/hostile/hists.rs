// SPDX-License-Identifier: GPL-2.0
//! What users write of histograms into `trigger` files, and what such a histogram makes of records with a few bytes
//! wrong.

use super::source::Source;
use crate::event::field_type::FieldType;
use crate::hist::{
    command,
    error::{
        HistErrno,
        HistErrorKind, //
    },
    expr::{
        Described,
        NamedFields, //
    },
    key::KeyEnv,
    keys::MOST_WORDS,
    plan::{
        Plan,
        COMM, //
    },
    print::{
        HistLine,
        HistNames, //
    },
    sort::{
        self,
        Rows,
        SortItem, //
    },
    variable::{
        EventPath,
        NamedVariable,
        Reference,
        VariableKind,
        VariableShape, //
    }, //
};
use crate::text::{
    error_log,
    writer::Bytes, //
};
use std::fmt;

/// What commands are made of.
const PIECES: &[&str] = &[
    "keys=",
    "key=",
    "vals=",
    "values=",
    "val=",
    "sort=",
    "size=",
    "name=",
    "clock=",
    "x=",
    "y=",
    ":",
    ":",
    ":",
    ":",
    ",",
    ",",
    "=",
    ".",
    "u",
    "s",
    "t",
    "c",
    "d",
    "k",
    "p",
    "common_pid",
    "common_comm",
    "common_timestamp",
    "common_cpu",
    "common_stacktrace",
    "stacktrace",
    "hitcount",
    "cpu",
    "comm",
    ".hex",
    ".log2",
    ".buckets=10",
    ".buckets=0",
    ".usecs",
    ".execname",
    ".sym",
    ".sym-offset",
    ".syscall",
    ".percent",
    ".graph",
    ".signed",
    ".min",
    ".max",
    ".avg",
    ".quantiles",
    ".stacktrace",
    ".descending",
    ".ascending",
    ".top=3",
    "+",
    "-",
    "*",
    "/",
    "-(",
    ")",
    "$x",
    "$v",
    "$y",
    "s.e.$v",
    "onmatch(s.e)",
    "onmax($x)",
    "onchange($x)",
    "onmatch(",
    ".trace(syn,$x)",
    ".syn($x,u)",
    ".save(u,c)",
    ".snapshot()",
    "pause",
    "cont",
    "clear",
    "nohitcount",
    "NOHC",
    "auto",
    "local",
    "0",
    "3",
    "128",
    "0x10",
    "18446744073709551615",
    "18446744073709551616",
    " ",
    "\t",
    " if u > 3",
    "\0",
    "\u{e9}",
];

/// The fields of an event: name, type, offset, size, sign.
const FIELDS: &[(&str, &str, u32, u32, bool)] = &[
    ("common_pid", "int", 4, 4, true),
    ("u", "u64", 8, 8, false),
    ("s", "s16", 16, 2, true),
    ("t", "u32", 20, 4, false),
    ("c", "char[12]", 24, 12, false),
    ("d", "__data_loc char[]", 36, 4, false),
    ("k", "__data_loc unsigned long[]", 40, 8, false),
    ("p", "void *", 48, 8, false),
];
const SIZE: usize = 56;

struct Event;

impl NamedFields for Event {
    fn field(&self, name: &str) -> Option<Described> {
        let (_, ty, offset, size, signed) = *FIELDS.iter().find(|field| field.0 == name)?;
        let ty = FieldType::of(ty, size);
        Some(Described {
            ty,
            offset,
            size,
            signed,
        })
    }

    fn variable(&self, event: Option<EventPath<'_>>, name: &[u8]) -> NamedVariable {
        match (event, name) {
            (None | Some((b"s", b"e")), b"v") => NamedVariable::Known(Reference {
                hist: 1,
                variable: 0,
                once: false,
                text: 0,
                shape: VariableShape {
                    kind: VariableKind::Number,
                    size: 8,
                    signed: false,
                    usecs: false,
                },
            }),
            _ => NamedVariable::Unknown,
        }
    }

    fn has_variable(&self, _name: &[u8]) -> bool {
        false
    }

    fn has_event(&self, system: &[u8], _name: &[u8]) -> bool {
        system == b"s"
    }
}

struct Here;

impl KeyEnv for Here {
    fn cpu(&self) -> u32 {
        1
    }

    fn comm(&self) -> [u8; COMM] {
        *b"a name of 16byte"
    }

    fn time(&self, usecs: bool) -> u64 {
        if usecs {
            5
        } else {
            5000
        }
    }

    fn callers(&self, room: &mut [u64]) -> usize {
        room[..2].copy_from_slice(&[0x1000, 0x2000]);
        2
    }

    fn reference(&self, _at: u8) -> u64 {
        7
    }
}

impl HistNames for Here {
    fn symbol(
        &self,
        address: u64,
        _offset: bool,
        show: &mut dyn FnMut(&str) -> fmt::Result,
    ) -> fmt::Result {
        show(&format!("{address:#x}"))
    }

    fn syscall(
        &self,
        number: u64,
        show: &mut dyn FnMut(Option<&str>) -> fmt::Result,
    ) -> fmt::Result {
        show((number == 0).then_some("sys_read"))
    }
}

/// Returns the plan of a command and the text that it has parts of. A refusal is of a place inside of the command.
fn planned(text: &[u8]) -> Result<(Plan, Vec<u8>), HistErrno> {
    let whole = [b"hist:", text].concat();
    let mut log = |_: HistErrorKind, word: &[u8]| {
        let at = error_log::place(&whole, word);
        assert!(at <= whole.len(), "{}", whole.escape_ascii());
    };
    let (items, filter) = command::split(text)?;
    assert!(items.len() + filter.map_or(0, <[u8]>::len) <= text.len());
    let mut items = items.to_vec();
    command::hide_operators(&mut items);
    let parsed = command::parse(&items, &mut log)?;
    let mut plan = Plan::new();
    plan.resolve(&parsed, &items, &Event, false, &mut log)?;
    Ok((plan, items))
}

/// Returns a command that is nearly right.
fn any_command(source: &mut Source) -> Vec<u8> {
    let mut text = match source.once_in(4) {
        true => Vec::new(),
        false => b"keys=".to_vec(),
    };
    text.extend(source.pieces(PIECES, 14));
    if source.once_in(4) {
        source.spoil(&mut text);
    }
    text
}

/// The line of what is taken is a command that makes the same line.
pub fn any_text_is_a_histogram(source: &mut Source) {
    let text = any_command(source);
    let Ok((plan, items)) = planned(&text) else {
        return;
    };
    let line = |plan: &Plan, items: &[u8]| {
        let mut out = Bytes::default();
        let line = HistLine {
            plan,
            text: items,
            filter: None,
            paused: false,
        };
        line.write_text(&mut out).unwrap();
        out.0
    };
    let shown = line(&plan, &items);
    let command = shown.strip_prefix(b"hist:").unwrap();
    let command = command.strip_suffix(b" [active]\n").unwrap();
    let text = text.escape_ascii();
    let Ok((again, items)) = planned(command) else {
        panic!("{text} is shown as {}", shown.escape_ascii());
    };
    let second = line(&again, &items);
    assert!(
        second == shown,
        "{text}: {} {}",
        shown.escape_ascii(),
        second.escape_ascii()
    );
}

/// Nothing outside of a record is counted or shown, whatever places it has for its strings and stacks.
pub fn histograms_of_broken_records(source: &mut Source) {
    let Ok((plan, items)) = planned(&any_command(source)) else {
        return;
    };
    let mut words = Vec::new();
    for _ in 0..1 + source.below(4) {
        let mut record = source.bytes(SIZE + 40);
        if source.once_in(2) && record.len() >= SIZE {
            // Places that are nearly right.
            let room = record.len() - SIZE;
            for at in [36, 40] {
                let len = source.below(room + 2) as u32;
                let place = SIZE as u32 | len << 16;
                record[at..at + 4].copy_from_slice(&place.to_le_bytes());
            }
        }
        let mut room = [u64::MAX; MOST_WORDS];
        let Some(key) = plan.key(&record, &Here, &mut room[..]) else {
            continue;
        };
        let mut key = key.to_vec();
        assert!(key.len() <= plan.key_words());
        key.resize(plan.key_words(), 0);
        let mut sums = vec![0; plan.sums()];
        let (added, count) = plan.added(&record, &Here);
        for (sum, more) in sums.iter_mut().skip(1).zip(&added[..count]) {
            *sum = *more;
        }
        plan.tally(&record, &Here, |at, number| sums[at] = number);
        for variable in plan.variables() {
            plan.number(variable.node, &record, &Here);
        }
        words.extend(key);
        words.extend(vec![0; plan.note_words()]);
        let settled = plan.settle(&sums, |word| {
            words.push(word);
            Ok::<(), ()>(())
        });
        assert_eq!(settled, Ok(()));
        words.extend(vec![0; plan.kept.row_words()]);
    }
    let rows = Rows::new(&plan, &words);
    let mut order: Vec<_> = (0..rows.len() as u32).map(SortItem::new).collect();
    sort::sort(&plan, rows, &mut order);
    let mut seen: Vec<u32> = order.iter().map(|item| item.row()).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..rows.len() as u32));
    let mut out = Bytes::default();
    plan.write_rows(&items, (rows, &order), &Here, &mut out)
        .unwrap();
    plan.write_json(&items, (rows, &order), &Here, &mut out)
        .unwrap();
    assert!(out.0.len() < 100_000);
}
