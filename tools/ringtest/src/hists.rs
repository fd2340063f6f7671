// SPDX-License-Identifier: GPL-2.0
//! The map of histograms: writers that interrupt each other, and whole writers of other CPUs, at every
//! instant, by exhaustion.
//!
//! When no writer is left, each key is in one entry with all that was counted for it, unless there was no
//! room: hits and drops together are the events, a key that has an entry was dropped at no time after that,
//! and only as many entries are there as the map takes and writers were active.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};

use crate::hist::map::{FirstSlot, Map, Part, Shape, LEVELS};
use crate::sim::{unhook, with_hook, Sim, Word};
use crate::trail::{choose, explore, schedule, Sample, ALL};

use crate::ring::port::LocalWord;

#[derive(Clone, Copy)]
struct Plan {
    size: usize,
    /// Keys of the outer writers, which come one after the other.
    outer: &'static [u64],
    /// Keys of the writers that come at some instant, in this order.
    nested: &'static [u64],
    /// Whether these may be of another CPU.
    others: bool,
    /// How many words a key has.
    words: usize,
    /// Whether they try the fast path first, as most events do.
    quick: bool,
    /// What is taken from another map before that: keys, and how many events each has.
    absorbed: &'static [(u64, u64)],
}

struct World {
    plan: Plan,
    map: Map<Sim>,
    left: Cell<usize>,
    /// Whether a writer of the other CPU is at work: none of the first one goes on before it ends.
    cpu: Cell<usize>,
    depth: Cell<usize>,
    counted: RefCell<HashMap<u64, u64>>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
}

const CPUS: usize = 2;

fn instant() {
    // SAFETY: set by `one` for as long as the hook is there.
    let world = unsafe { &*WORLD.get() };
    let left = world.left.get();
    if left == 0 || world.depth.get() == LEVELS {
        return;
    }
    let cpus = if world.plan.others { 2 } else { 1 };
    let chosen = choose(cpus + 1);
    if chosen != 0 {
        let key = world.plan.nested[world.plan.nested.len() - left];
        world.left.set(left - 1);
        // The one that is interrupted, or the other.
        let cpu = (world.cpu.get() + usize::from(chosen) - 1) % CPUS;
        world.write(cpu, key);
    }
}

fn zeroes(count: usize) -> Vec<Word> {
    (0..count).map(|_| LocalWord::new(0)).collect()
}

impl World {
    fn new(plan: Plan) -> Self {
        let shape = Shape {
            size: plan.size,
            key_words: plan.words,
            note_words: 2,
            sums: 2,
            raised: 0,
            variables: 0,
            cpus: CPUS,
        };
        let parts = (0..CPUS).map(|_| Part::new(zeroes(shape.own_words())));
        World {
            plan,
            map: Map::new(
                shape,
                zeroes(shape.slots()),
                zeroes(shape.shared_words()),
                parts.collect(),
            ),
            left: Cell::new(plan.nested.len()),
            cpu: Cell::new(0),
            depth: Cell::new(0),
            counted: RefCell::default(),
        }
    }

    fn write(&self, cpu: usize, key: u64) {
        self.add(cpu, key, 1, |words| {
            let sums = [key * 10];
            let quickly = || {
                let first = self.map.count_first(cpu, words, &sums);
                first.or_else(|| self.map.count_known(cpu, words, &sums))
            };
            if !self.plan.quick || quickly().is_none() {
                self.map.count(cpu, words, &sums, || [key, !key]);
            }
        });
    }

    fn absorb(&self, cpu: usize, key: u64, events: u64) {
        self.add(cpu, key, events, |words| {
            let sums = [events, events * key * 10];
            self.map.absorb(cpu, words, [key, !key], &sums);
        });
    }

    fn add(&self, cpu: usize, key: u64, events: u64, count: impl FnOnce(&[u64])) {
        let before = (self.cpu.replace(cpu), self.depth.get());
        self.depth.set(before.1 + 1);
        count(&vec![key; self.plan.words]);
        *self.counted.borrow_mut().entry(key).or_default() += events;
        self.cpu.set(before.0);
        self.depth.set(before.1);
    }

    fn one(&self) {
        WORLD.set(self);
        for (key, events) in self.plan.absorbed {
            with_hook(instant, || self.absorb(0, *key, *events));
        }
        for key in self.plan.outer {
            with_hook(instant, || self.write(0, *key));
        }
        unhook();
        while self.left.get() != 0 {
            let key = self.plan.nested[self.plan.nested.len() - self.left.get()];
            self.left.set(self.left.get() - 1);
            self.write(0, key);
        }
        self.check();
    }

    fn check(&self) {
        let mut seen = HashMap::new();
        let all = self.map.for_each_row(|_, row| {
            let row: Vec<u64> = row.collect();
            let key = row[0];
            assert!(row[..self.plan.words].iter().all(|word| *word == key));
            assert_eq!(row[self.plan.words..][..2], [key, !key], "note");
            let hits = row[self.plan.words + 2];
            assert_eq!(row[self.plan.words + 3], hits * key * 10, "sum");
            let twice = seen.insert(key, hits);
            assert_eq!(twice, None, "{key} is in two entries, in {}", schedule());
            Ok::<(), ()>(())
        });
        assert_eq!(all, Ok(()));
        let counted = self.counted.borrow();
        let events: u64 = counted.values().sum();
        let (hits, drops) = self.map.totals();
        assert_eq!(hits + drops, events, "in {}", schedule());
        assert_eq!(seen.values().sum::<u64>(), hits, "in {}", schedule());
        // The entry that fills the map may be that of the key.
        let room = counted.len() <= self.plan.size;
        assert!(!room || drops == 0, "{drops} drops, in {}", schedule());
        assert!(seen.len() <= self.plan.size + self.plan.nested.len());
        assert_eq!(self.map.entries(), seen.len());
        for (key, hits) in &seen {
            assert!(*hits <= counted[key]);
        }
        // What is there is found again, and what is not finds room or has none.
        for key in counted.keys() {
            let words = vec![*key; self.plan.words];
            self.map.count(1, &words, &[0], || [*key, !*key]);
        }
        let (more, lost) = self.map.totals();
        assert_eq!(more + lost, events + counted.len() as u64);
        let known = counted.keys().filter(|key| seen.contains_key(key)).count();
        assert!(more - hits >= known as u64, "orphan, in {}", schedule());
    }
}

fn run(plan: Plan) {
    run_some(plan, ALL);
}

fn run_some(plan: Plan, sample: Sample) {
    let schedules = explore(&[], sample, || World::new(plan).one());
    println!("{schedules} schedules");
    assert!(schedules > 50, "{schedules}");
}

const PLAN: Plan = Plan {
    size: 8,
    outer: &[1],
    nested: &[1, 1],
    others: true,
    words: 1,
    quick: false,
    absorbed: &[],
};

#[test]
fn the_same_key_with_room() {
    run(PLAN);
    run(Plan {
        words: 3,
        nested: &[1],
        outer: &[1, 2],
        ..PLAN
    });
}

#[test]
fn the_same_key_four_levels_deep() {
    run_some(
        Plan {
            nested: &[1, 1, 1],
            others: false,
            ..PLAN
        },
        ALL,
    );
}

#[test]
fn different_keys_with_room() {
    run(Plan {
        nested: &[2, 1],
        ..PLAN
    });
    run(Plan {
        nested: &[2, 3, 1],
        others: false,
        ..PLAN
    });
}

/// The fast path finds what is there, and leaves everything else as it was.
#[test]
fn the_fast_path() {
    for (outer, nested) in [(&[1, 1], &[1]), (&[1, 2], &[2]), (&[1, 1], &[2])] {
        for size in [1, 8] {
            run(Plan {
                size,
                outer,
                nested,
                quick: true,
                ..PLAN
            });
        }
    }
}

/// A key with an entry keeps it, and the last place goes to one key.
#[test]
fn the_last_place() {
    for nested in [&[2, 1], &[1, 2], &[2, 2], &[1, 1]] {
        run(Plan {
            size: 1,
            nested,
            ..PLAN
        });
        run(Plan {
            size: 2,
            outer: &[3, 1],
            nested,
            others: false,
            ..PLAN
        });
    }
}

/// What a smaller map has is added while writers count.
#[test]
fn a_larger_map_absorbs_a_smaller_one() {
    for absorbed in [&[(1, 3)][..], &[(1, 3), (2, 1)], &[(3, 2)]] {
        for nested in [&[1, 2], &[1, 1]] {
            for size in [1, 8] {
                run(Plan {
                    size,
                    outer: &[],
                    nested,
                    absorbed,
                    ..PLAN
                });
            }
        }
    }
}

/// So are events that the smaller one had no room for.
#[test]
fn drops_are_absorbed() {
    let world = World::new(PLAN);
    world.write(0, 1);
    world.map.absorb_drops(1, 5);
    assert_eq!(world.map.totals(), (1, 5));
    assert!(!world.map.is_filling());
    (2..=4).for_each(|key| world.write(0, key));
    assert!(world.map.is_filling());
}

/// What is left over at a level is used, or the places run out: each writer of the first CPU is interrupted
/// by one with the same key, again and again.
#[test]
fn what_is_left_over_is_used() {
    let plan = Plan {
        size: 64,
        outer: &[1],
        nested: &[],
        ..PLAN
    };
    let world = World::new(plan);
    thread_local! {
        static KEY: Cell<u64> = const { Cell::new(0) };
        static AT: Cell<u32> = const { Cell::new(0) };
    }
    fn nested() {
        let at = AT.get();
        AT.set(at.wrapping_sub(1));
        if at == 0 {
            // SAFETY: set below, and the world stays until the end of the test.
            let world = unsafe { &*WORLD.get() };
            world.write(0, KEY.get());
        }
    }
    WORLD.set(&world);
    for key in 1..=64 {
        KEY.set(key);
        // Before the slot is changed, and after the place is taken.
        AT.set(8);
        with_hook(nested, || world.write(0, key));
        unhook();
    }
    assert_eq!(world.map.totals(), (128, 0));
    world.check();
}

/// A full map, exactly.
#[test]
fn a_full_map_drops_what_is_new() {
    let plan = Plan {
        size: 128,
        nested: &[],
        ..PLAN
    };
    let world = World::new(plan);
    for key in (0..200).chain([1, 199]) {
        world.write(0, key);
    }
    assert_eq!(world.map.totals(), (129, 73));
    assert_eq!(world.map.entries(), 128);
}

/// Keys of a full map are found, near their place or far from it, and no others.
#[test]
fn keys_far_from_their_place_are_found() {
    const SIZE: u64 = 4096;
    let plan = Plan {
        size: SIZE as usize,
        nested: &[],
        ..PLAN
    };
    let world = World::new(plan);
    (0..SIZE).for_each(|key| world.write(0, key));
    let words = |key| vec![key; plan.words];
    let is_first = |key: &u64| world.map.count_first(0, &words(*key), &[0]).is_some();
    let is_far = |key: &u64| world.map.count_known(0, &words(*key), &[0]).is_none();
    assert!((0..SIZE).filter(is_first).count() as u64 > SIZE / 2);
    assert_ne!((0..SIZE).filter(is_far).count(), 0);
    let entries: BTreeSet<_> = (0..SIZE)
        .map(|key| world.map.find(&words(key)).map(|entry| entry.number))
        .collect();
    assert_eq!(entries.len(), SIZE as usize);
    assert!(!entries.contains(&None));
    let others = SIZE..2 * SIZE;
    assert!(others
        .clone()
        .all(|key| world.map.find(&words(key)).is_none()));
    assert!(!others.clone().any(|key| is_first(&key)));
    assert!(others.clone().all(|key| is_far(&key)));
    // What the first slot of a key tells is true of all of them.
    let mut told = [0; 3];
    for key in 0..2 * SIZE {
        let known = world.map.find(&words(key)).map(|entry| entry.number);
        told[match world
            .map
            .first_slot(&words(key), Map::<Sim>::hash_of(&words(key)))
        {
            FirstSlot::Own(entry) => {
                assert_eq!(Some(entry.number), known, "{key}");
                0
            }
            FirstSlot::Empty => {
                assert_eq!(known, None, "{key}");
                1
            }
            FirstSlot::Other => 2,
        }] += 1;
    }
    assert!(told.iter().all(|count| *count != 0), "{told:?}");
}

/// Keys that differ in their last word are different ones.
#[test]
fn keys_are_all_their_words() {
    const SIZE: u64 = 128;
    let world = World::new(Plan {
        size: SIZE as usize,
        nested: &[],
        words: 2,
        ..PLAN
    });
    let count = |key: u64| world.map.count_in(0, &[7, key], &[0], || [0; 2]);
    let entries: Vec<_> = (0..SIZE).map(count).collect();
    assert_eq!(world.map.entries(), SIZE as usize);
    for key in 0..2 * SIZE {
        let known = entries.get(key as usize).copied().flatten();
        let first = world.map.count_first(0, &[7, key], &[0]);
        let first = first.map(|entry| entry.number);
        assert!(first.is_none() || first == known, "{key}");
        let found = world.map.find(&[7, key]).map(|entry| entry.number);
        assert_eq!(found, known, "{key}");
    }
}
