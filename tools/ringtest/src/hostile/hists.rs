// SPDX-License-Identifier: GPL-2.0
//! What users write of histograms into `trigger` files, and what such a histogram makes of records with a few bytes
//! wrong.

use super::source::Source;
use crate::hist::{
    command,
    error::{
        HistErrno,
        HistErrorKind, //
    },
    keys::MOST_WORDS,
    plan::Plan,
    print::HistLine,
    sort::{
        self,
        Rows,
        SortItem, //
    },
    test_event::{
        TestEvent,
        TestSurroundings,
        PLACES,
        SIZE, //
    }, //
};
use crate::text::{
    error_log,
    writer::Bytes, //
};

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
    "u64f",
    "s16f",
    "u32f",
    "short",
    "dyn",
    "stk",
    "ptr",
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
    "s.f.$v",
    "s.e.$t0",
    "onmatch(s.e)",
    "onmax($x)",
    "onchange($x)",
    "onmatch(",
    ".trace(syn,$x)",
    ".syn($x,u64f)",
    ".save(u64f,short)",
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
    " if u64f > 3",
    "\0",
    "\u{e9}",
];

/// A name that no NUL ends.
const HERE: TestSurroundings = TestSurroundings {
    comm: *b"a name of 16byte",
    reference: 7,
};

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
    plan.resolve(&parsed, &items, &TestEvent, false, &mut log)?;
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
        let fixed = usize::from(SIZE);
        let mut record = source.bytes(fixed + 40);
        if source.once_in(2) && record.len() >= fixed {
            // Places that are nearly right.
            let room = record.len() - fixed;
            for at in PLACES {
                let len = source.below(room + 2) as u32;
                let place = u32::from(SIZE) | len << 16;
                record[at..at + 4].copy_from_slice(&place.to_le_bytes());
            }
        }
        let mut room = [u64::MAX; MOST_WORDS];
        let Some(key) = plan.key(&record, &HERE, &mut room[..]) else {
            continue;
        };
        let mut key = key.to_vec();
        assert!(key.len() <= plan.key_words());
        key.resize(plan.key_words(), 0);
        let mut sums = vec![0; plan.sums()];
        let (added, count) = plan.added(&record, &HERE);
        for (sum, more) in sums.iter_mut().skip(1).zip(&added[..count]) {
            *sum = *more;
        }
        plan.tally(&record, &HERE, |at, number| sums[at] = number);
        for variable in plan.variables() {
            plan.number(variable.node, &record, &HERE);
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
    plan.write_rows(&items, (rows, &order), &HERE, &mut out)
        .unwrap();
    plan.write_json(&items, (rows, &order), &HERE, &mut out)
        .unwrap();
    assert!(out.0.len() < 100_000);
}
