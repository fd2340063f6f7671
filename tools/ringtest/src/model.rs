// SPDX-License-Identifier: GPL-2.0
//! Random lives of one ring.
//!
//! A life is a list of commands; at random instants of a command other writers and readers come.
//! After each command the ring must account for every event ever written (`World::rest`).

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::ring::cpu::DISABLE_USER;
use crate::world::{World, BACK, STEPS, WIDE};

/// Size of an event relative to what a sub-buffer can hold.
#[derive(Clone, Copy, Debug)]
enum Len {
    Bytes(usize),
    /// Parts of 64 of the capacity.
    Part(usize),
    /// This much below the largest payload; negative is too big.
    Below(isize),
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Write(Len),
    Discard(Len),
    Burst(u8, Len),
    /// This many, event by event.
    Read(u8),
    Image,
    /// The memory of the next sub-buffer, or a copy of it.
    Give(bool),
    /// The next sub-buffer, to be looked at in its place.
    Lend,
    /// All of it, with writers and readers between the sub-buffers.
    View,
    Reset,
    Resize(usize),
    /// Sub-buffers of another size.
    Order(u32),
    Disable(bool),
    Overwrite(bool),
}

#[derive(Clone, Copy, Debug)]
struct Command {
    act: Act,
    seed: u64,
    /// One in this many instants has company; 0 is none.
    odds: u64,
}

#[derive(Clone, Debug)]
struct Life {
    order: u32,
    slots: usize,
    start: u64,
    clock: &'static [u64],
    commands: Vec<Command>,
}

impl Len {
    fn bytes(self, most: usize) -> usize {
        match self {
            Len::Bytes(n) => n,
            Len::Part(n) => most * n / 64,
            Len::Below(n) => most.checked_add_signed(-n).unwrap(),
        }
    }
}

/// What the commands so far have switched.
struct Switches {
    disabled: bool,
    overwrite: bool,
}

fn run(w: &World, command: Command, on: &mut Switches) {
    let (before, slots) = (w.stats(), w.ring.slot_count() as usize);
    let Command { act, seed, odds } = command;
    let writes = |n, len: Len, discard| {
        let len = len.bytes(w.most());
        w.alone(seed, odds, |w| (0..n).for_each(|_| w.write(len, discard)))
    };
    let others = |f: &dyn Fn(&World)| _ = w.alone(seed, odds, f);
    let mut wrote_alone = false;
    match act {
        Act::Write(len) => wrote_alone = writes(1, len, false),
        Act::Discard(len) => wrote_alone = writes(1, len, true),
        Act::Burst(n, len) => wrote_alone = writes(n, len, false),
        Act::Read(n) => others(&|w| w.read(u64::from(n))),
        Act::Image => others(&|w| _ = w.image()),
        Act::Give(stays) => others(&|w| _ = w.give(stays)),
        Act::Lend => others(&|w| _ = w.lend()),
        Act::View => others(&World::view_all),
        Act::Reset => w.reset(),
        Act::Resize(slots) => w.resize(slots),
        Act::Order(order) => w.set_order(order),
        Act::Disable(disabled) => {
            w.ring.set_disabled(DISABLE_USER, disabled);
            on.disabled = disabled;
        }
        Act::Overwrite(overwrite) => {
            w.ring.set_overwrite(overwrite);
            on.overwrite = overwrite;
        }
    }
    let pages = w.rest();
    let after = w.stats();
    if wrote_alone {
        if (after.overrun, after.dropped) != (before.overrun, before.dropped) {
            assert!(pages + 1 >= slots, "{pages} of {slots} in use, and no room");
        }
        assert!(!on.disabled || after == before, "recorded while disabled");
    }
    if !matches!(act, Act::Reset | Act::Resize(_) | Act::Order(_)) {
        if on.overwrite {
            assert_eq!(
                after.dropped, before.dropped,
                "refused instead of overwritten"
            );
        } else {
            assert_eq!(
                after.overrun, before.overrun,
                "overwritten instead of refused"
            );
        }
    }
}

fn live(life: &Life) {
    let w = World::new(life.order, life.slots, life.start, life.clock);
    let mut on = Switches {
        disabled: false,
        overwrite: true,
    };
    for command in &life.commands {
        run(&w, *command, &mut on);
    }
    w.drain();
}

fn lens() -> impl Strategy<Value = Len> {
    prop_oneof![
        4 => (0usize..=130).prop_map(Len::Bytes),
        4 => (1usize..=63).prop_map(Len::Part),
        2 => (-8isize..=16).prop_map(Len::Below),
    ]
}

fn commands() -> impl Strategy<Value = Command> {
    let act = prop_oneof![
        6 => lens().prop_map(Act::Write),
        3 => lens().prop_map(Act::Discard),
        6 => (2u8..24, lens()).prop_map(|(n, len)| Act::Burst(n, len)),
        4 => (0u8..20).prop_map(Act::Read),
        3 => Just(Act::Image),
        3 => any::<bool>().prop_map(Act::Give),
        3 => Just(Act::Lend),
        3 => Just(Act::View),
        1 => Just(Act::Reset),
        2 => (2usize..=6).prop_map(Act::Resize),
        1 => prop::sample::select(vec![0, 1, 3]).prop_map(Act::Order),
        1 => prop::bool::weighted(0.3).prop_map(Act::Disable),
        1 => prop::bool::weighted(0.7).prop_map(Act::Overwrite),
    ];
    let odds = prop::sample::select(vec![0, 0, 0, 3, 10, 40]);
    (act, any::<u64>(), odds).prop_map(|(act, seed, odds)| Command { act, seed, odds })
}

fn lives() -> impl Strategy<Value = Life> {
    (
        prop::sample::select(vec![0, 0, 0, 1, 3]),
        2usize..=6,
        prop::sample::select(vec![1000, (1 << 59) - 100, 5 << 60]),
        prop::sample::select(vec![STEPS, STEPS, WIDE, BACK]),
        prop::collection::vec(commands(), 1..40),
    )
        .prop_map(|(order, slots, start, clock, commands)| Life {
            order,
            slots,
            start: if clock == BACK { 1 << 40 } else { start },
            clock,
            commands,
        })
}

fn try_lives(cases: u32, rng: TestRng) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, rng)
        .run(&lives(), |life| {
            live(&life);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn every_life_is_accounted_for() {
    try_lives(4000, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
}

#[test]
#[ignore = "minutes, with other lives each time"]
fn many_lives_are_accounted_for() {
    let seed: [u8; 32] = std::array::from_fn(|i| {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_nanos()
            .to_le_bytes()[i % 16]
    });
    try_lives(200_000, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
}
