// SPDX-License-Identifier: GPL-2.0

//! Random filters, half of them right: the kernel's tracefs is asked what it says to each.

use super::filter::{compare, log_of, HANDLER, SOFTIRQ, SWITCH};
use super::{pair, test, Test};
use crate::chance::{Chance, SEED};
use crate::check::{Check, Report};
use crate::soak;
use crate::sys;
use crate::Context;

pub const TESTS: &[Test] = &[test("filter.random_texts", 200, random_texts)];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "100",
    "0x10",
    "017",
    "4294967296",
    "CPUS{0}",
    "CPUS{0-1}",
    "CPUS{1,0}",
    "CPUS{all}",
    "CPUS{N}",
    "-1",
    "x",
];
const STRINGS: &[&str] = &[
    "\"a\"",
    "'b*'",
    "\"*c\"",
    "'*d*'",
    "\"[e-g]?\"",
    "'!h'",
    "\"\"",
    "\"i'\"",
    "j",
];
const FOR_NUMBERS: &[&str] = &["==", "!=", "<", "<=", ">", ">=", "&", " == "];
const FOR_STRINGS: &[&str] = &["==", "!=", "~", " ~ "];
const BETWEEN: &[&str] = &["&&", "||", " && ", " || ", "  &&\t"];
const WRONG: &[&str] = &[
    "&", " ", "|", "(", ")", "!", "'", "\"", "CPUS", "{", "~", "\u{a0}",
];

/// Fields with numbers, and fields with strings.
type Fields = (&'static [&'static str], &'static [&'static str]);

fn predicate(chance: &mut Chance, (numbers, strings): Fields) -> String {
    if chance.below(3) == 0 {
        let (field, operator) = (chance.pick(strings), chance.pick(FOR_STRINGS));
        format!("{field}{operator}{}", chance.pick(STRINGS))
    } else {
        let (field, operator) = (chance.pick(numbers), chance.pick(FOR_NUMBERS));
        format!("{field}{operator}{}", chance.pick(NUMBERS))
    }
}

fn expression(chance: &mut Chance, fields: Fields, depth: usize) -> String {
    let mut text = String::new();
    for i in 0..=chance.below(3) {
        if i > 0 {
            text += chance.pick(BETWEEN);
        }
        if chance.below(4) == 0 {
            text.push('!');
        }
        if depth > 0 && chance.below(3) == 0 {
            text += &format!("({})", expression(chance, fields, depth - 1));
        } else {
            text += &predicate(chance, fields);
        }
    }
    text
}

/// A few bytes changed.
fn spoil(chance: &mut Chance, text: &mut Vec<u8>) {
    let at = chance.below(text.len() + 1);
    match chance.below(5) {
        0 => text.truncate(at),
        1 => text.insert(at, chance.next() as u8),
        2 => text
            .splice(at..at, chance.pick(WRONG).bytes())
            .for_each(drop),
        3 => text.splice(at..text.len().min(at + 2), []).for_each(drop),
        _ => text.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1),
    }
}

fn random_texts(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    println!("seed {SEED:#x}");
    let mut chance = Chance::new(SEED);
    let mut report = Report::default();
    // With no filter at all left, tracefs waits for a grace period.
    reference.set("events/irq/irq_handler_exit/filter", "irq == 1")?;
    let rounds = match sys::proves_locking() {
        true => 300,
        false => soak::rounds(1000, 3000),
    };
    let (mut taken, mut all) = (0, 0);
    let events: [(&str, Fields); 3] = [
        (
            SWITCH,
            (
                &["prev_pid", "prev_state", "CPU", "common_pid"],
                &["prev_comm", "next_comm", "COMM"],
            ),
        ),
        (
            HANDLER,
            (&["irq", "common_flags", "cpu"], &["name", "comm"]),
        ),
        (
            SOFTIRQ,
            (&["vec", "common_preempt_count", "CPU"], &["COMM", "nosuch"]),
        ),
    ];
    for (event, fields) in events {
        for round in 0..rounds {
            let mut text = expression(&mut chance, fields, 2).into_bytes();
            for _ in 0..chance.below(3) {
                spoil(&mut chance, &mut text);
            }
            all += 1;
            taken += usize::from(compare(&mut report, &own, &reference, event, &text));
            if round % 8 == 0 {
                let logs = (log_of(&own)?, log_of(&reference)?);
                report.expect(logs.0 == logs.1, || {
                    format!("error_log {:?}, tracefs {:?}", logs.0, logs.1)
                });
            }
        }
    }
    println!("{taken} of {all} taken");
    report.expect(taken > all / 10 && taken < all * 9 / 10, || {
        format!("{taken} of {all} taken")
    });
    report.finish()
}
