// SPDX-License-Identifier: GPL-2.0
//! Bounds of how long interrupts or preemption were off, from looks: golden series, and random lives of a CPU whose
//! sections are known. What is told lies between the bounds, whatever the looks missed.

use crate::latency::sampled::{Lateness, OffLook, OffSection, OffSeries};
use crate::random::Random;
use crate::sim::Word;

const OFF: OffLook = OffLook::Off { joined: false };
const STILL: OffLook = OffLook::Off { joined: true };
use OffLook::On;

fn section(lower: u64, upper: u64, looks: u32) -> Option<OffSection> {
    Some(OffSection {
        lower,
        upper,
        looks,
    })
}

#[test]
fn series() {
    type Row = (&'static [(u64, OffLook)], Option<OffSection>, &'static str);
    let rows: [Row; 8] = [
        (&[(10, On), (20, On)], None, "never off"),
        (
            &[(10, On), (20, OFF), (30, On)],
            section(0, 20, 1),
            "one look: it may have been as short as nothing",
        ),
        (
            &[(10, On), (20, OFF), (30, STILL), (40, STILL), (50, On)],
            section(20, 40, 3),
            "(k - 1) and (k + 1) periods",
        ),
        (
            &[(10, On), (20, OFF), (30, OFF)],
            section(0, 20, 1),
            "nothing proves that it is the same",
        ),
        (
            &[(10, On), (20, OFF), (30, OFF), (40, STILL), (50, On)],
            section(10, 30, 2),
            "the second one began after the last look at the first",
        ),
        (
            &[(10, OFF), (20, STILL), (30, On)],
            None,
            "when it began is not known",
        ),
        (
            &[(10, OFF), (20, On), (30, OFF), (40, STILL), (50, On)],
            section(10, 30, 2),
            "the one after that is",
        ),
        (
            &[(10, On), (20, STILL), (30, On)],
            section(0, 20, 1),
            "joined to nothing",
        ),
    ];
    for (looks, expected, why) in rows {
        let series: OffSeries<Word> = OffSeries::new();
        let mut last = None;
        for (at, look) in looks {
            last = series.look(*at, *look);
        }
        assert_eq!(last, expected, "{why}");
    }
}

#[test]
fn late_interrupts() {
    let late: Lateness<Word> = Lateness::new();
    // The first one has none before it.
    assert_eq!(late.came(100, 105), None);
    // No later than usual, and earlier than that.
    assert_eq!(late.came(200, 205), None);
    assert_eq!(late.came(300, 303), None);
    // 47 beyond the 3 that are its own.
    assert_eq!(late.came(400, 450), section(47, 147, 1));
    assert_eq!(late.came(500, 503), None);
    assert_eq!(late.came(600, 700), section(97, 197, 1));
    // A clock that steps back.
    assert_eq!(late.came(1_700, 1_690), None);
}

/// A CPU: sections in which it is off, in order, none touching the next.
fn sections(numbers: &mut Random, until: u64) -> Vec<(u64, u64)> {
    let (mut all, mut at) = (Vec::new(), 1_000);
    while at < until {
        let begin = at + 1 + numbers.below(300);
        let longest = [5, 50, 2_000][numbers.below(3) as usize];
        let end = begin + 1 + numbers.below(longest);
        all.push((begin, end));
        at = end;
    }
    all
}

#[test]
fn preemption_lies_between_the_bounds() {
    const UNTIL: u64 = 200_000;
    let (mut told, mut exact) = (0, 0);
    for seed in 1..200 {
        let mut numbers = Random::new(seed);
        let all = sections(&mut numbers, UNTIL);
        let at_time = |at: u64| all.iter().position(|(from, to)| (*from..*to).contains(&at));
        let series: OffSeries<Word> = OffSeries::new();
        let (mut at, mut before) = (10, None);
        while at < UNTIL {
            let now = at_time(at);
            let look = match now {
                None => On,
                // The proof may be missing, but it is never wrong.
                Some(_) => OffLook::Off {
                    joined: now == before && numbers.below(20) != 0,
                },
            };
            if let Some(seen) = series.look(at, look) {
                let which = before.expect("the look before was in it");
                let (from, to) = all[which];
                let length = to - from;
                assert!(seen.lower < length, "{seen:?} of {length}, {seed}");
                // Pieces of one section have the bounds of pieces.
                let is_whole = now != before && seen.looks > 1 && seen.upper >= length;
                exact += u64::from(is_whole);
                told += 1;
                assert!(
                    seen.lower <= seen.upper && seen.looks > 0,
                    "{seen:?}, {seed}"
                );
            }
            before = now;
            at += 90 + numbers.below(20);
        }
    }
    println!("{told} sections, {exact} of them whole");
    assert!(told > 10_000 && exact > 1_000, "{told}, {exact}");
}

#[test]
fn all_of_a_proven_section_is_below_the_upper_bound() {
    const UNTIL: u64 = 200_000;
    for seed in 1..200 {
        let mut numbers = Random::new(seed);
        let all = sections(&mut numbers, UNTIL);
        let at_time = |at: u64| all.iter().position(|(from, to)| (*from..*to).contains(&at));
        let series: OffSeries<Word> = OffSeries::new();
        let (mut at, mut before) = (10, None);
        while at < UNTIL {
            let now = at_time(at);
            let joined = now == before;
            let look = now.map_or(On, |_| OffLook::Off { joined });
            if let Some(seen) = series.look(at, look) {
                let (from, to) = all[before.expect("the look before was in it")];
                let length = to - from;
                assert!(
                    seen.lower < length && length < seen.upper,
                    "{seen:?} of {length}, {seed}"
                );
            }
            before = now;
            at += 90 + numbers.below(20);
        }
    }
}

#[test]
fn interrupts_lie_between_the_bounds() {
    const UNTIL: u64 = 200_000;
    const PERIOD: u64 = 100;
    /// What an interrupt needs by itself, at least and at most.
    const OWN: (u64, u64) = (3, 7);
    let mut told = 0;
    for seed in 1..200 {
        let mut numbers = Random::new(seed);
        let mut all = sections(&mut numbers, UNTIL);
        // An interrupt has time for itself between two of them.
        let mut last = 0;
        all.retain(|(from, to)| {
            let is_apart = *from > last + 2 * OWN.1;
            last = *to;
            is_apart
        });
        let late: Lateness<Word> = Lateness::new();
        // So the shortest is known.
        late.came(1, 1 + OWN.0);
        let mut due = 50;
        while due < UNTIL {
            // One that would begin while the interrupt comes is before it.
            let off = all
                .iter()
                .find(|(from, to)| due + OWN.1 > *from && due < *to);
            let at = off.map_or(due, |(_, to)| *to) + OWN.0 + numbers.below(OWN.1 - OWN.0);
            let seen = late.came(due, at);
            match (seen, off) {
                (Some(seen), Some((from, to))) => {
                    assert!(seen.lower <= to - from + 2 * OWN.1, "{seen:?}, {seed}");
                    assert!(seen.upper >= to - from, "{seen:?}, {seed}");
                    told += 1;
                }
                (Some(seen), None) => assert!(seen.lower < OWN.1 - OWN.0, "{seen:?}, {seed}"),
                (None, _) => {}
            }
            while due <= at {
                due += PERIOD;
            }
        }
    }
    assert!(told > 10_000, "{told}");
}
