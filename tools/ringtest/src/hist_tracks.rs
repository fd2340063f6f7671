// SPDX-License-Identifier: GPL-2.0
//! What entries keep: writers that offer numbers to one entry and readers that copy it, which interrupt each
//! other at every instant, by exhaustion.
//!
//! The words beside a number are always those of the same offer, the largest number stays, and an offer that
//! was taken is told so once.

use std::cell::{Cell, RefCell};

use crate::hist::map::LEVELS;
use crate::hist::tracked::{Rule, TrackedFields, TrackedPart, TrackedShape};
use crate::ring::port::{LocalWord, SharedWord};
use crate::sim::{unhook, with_hook, Sim, Word};
use crate::trail::{choose, explore, schedule, ALL};

const CPUS: usize = 2;

struct World {
    tracked: TrackedFields<Sim>,
    rule: Rule,
    left: Cell<u32>,
    /// Writers that are inside each other, by CPU, and the CPU that runs now.
    depth: [Cell<usize>; CPUS],
    cpu: Cell<usize>,
    offered: Cell<u64>,
    /// Numbers of offers that were taken, in the order in which their writers were told.
    taken: RefCell<Vec<u64>>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
}

fn instant() {
    // SAFETY: set by `one` for as long as the hook is there.
    let world = unsafe { &*WORLD.get() };
    if world.left.get() == 0 {
        return;
    }
    let chosen = choose(4);
    if chosen == 0 {
        return;
    }
    world.left.set(world.left.get() - 1);
    match chosen {
        // A larger number on the same CPU, a smaller one on the other, or a reader.
        1 => world.offer(world.cpu.get(), world.offered.get() + 10),
        2 => world.offer(1 - world.cpu.get(), world.offered.get().wrapping_sub(5)),
        _ => world.look(),
    }
}

fn zeroes(count: usize) -> Vec<Word> {
    (0..count).map(|_| LocalWord::new(0)).collect()
}

impl World {
    fn new(rule: Rule, left: u32) -> Self {
        let shape = TrackedShape {
            entries: 2,
            words: 2,
            cpus: CPUS,
        };
        let tables = (zeroes(shape.entries), zeroes(shape.record_words()));
        let parts = (0..CPUS).map(|_| TrackedPart::new()).collect();
        World {
            tracked: TrackedFields::new(shape, tables.0, tables.1, parts),
            rule,
            left: Cell::new(left),
            depth: [Cell::new(0), Cell::new(0)],
            cpu: Cell::new(0),
            offered: Cell::new(0),
            taken: RefCell::default(),
        }
    }

    fn offer(&self, cpu: usize, number: u64) {
        let depth = &self.depth[cpu];
        if depth.get() == LEVELS {
            return;
        }
        let before = self.cpu.replace(cpu);
        depth.set(depth.get() + 1);
        self.offered.set(self.offered.get().max(number));
        let fill = |room: &[Word]| {
            room[0].store(number + 1);
            room[1].store(number + 2);
        };
        if self.tracked.offer(cpu, (1, number), self.rule, fill) {
            self.taken.borrow_mut().push(number);
        }
        depth.set(depth.get() - 1);
        self.cpu.set(before);
    }

    /// Returns what is kept.
    fn read(&self) -> Option<u64> {
        let mut room = [0; 3];
        if !self.tracked.read(1, &mut room) {
            return None;
        }
        let [number, one, two] = room;
        let whole = (one, two) == (number + 1, number + 2);
        assert!(whole, "{room:?} in {}", schedule());
        Some(number)
    }

    fn look(&self) {
        let before = self.read();
        let after = self.read();
        if self.rule == Rule::Larger {
            assert!(before <= after, "in {}", schedule());
        }
    }

    fn one(&self) {
        WORLD.set(self);
        assert_eq!(self.read(), None);
        for number in [20, 25, 22] {
            with_hook(instant, || self.offer(0, number));
            with_hook(instant, || self.look());
        }
        unhook();
        let taken = self.taken.borrow();
        let last = self.read();
        match self.rule {
            Rule::Larger => {
                assert_eq!(last, taken.iter().max().copied(), "in {}", schedule());
                assert_eq!(last, Some(self.offered.get()), "in {}", schedule());
                let mut different = taken.clone();
                different.sort_unstable();
                different.dedup();
                assert_eq!(different.len(), taken.len(), "in {}", schedule());
            }
            Rule::Other | Rule::Any => assert!(taken.contains(&last.unwrap()), "in {}", schedule()),
        }
        let mut room = [0; 3];
        assert!(!self.tracked.read(0, &mut room), "another entry");
        assert!(!self.tracked.read(2, &mut room), "no entry");
    }
}

#[test]
fn the_largest_stays() {
    let schedules = explore(&[], ALL, || World::new(Rule::Larger, 3).one());
    println!("{schedules} schedules");
    assert!(schedules > 1000, "{schedules}");
}

#[test]
fn the_last_one_is_whole() {
    let schedules = explore(&[], ALL, || World::new(Rule::Any, 2).one());
    println!("{schedules} schedules");
    assert!(schedules > 1000, "{schedules}");
}

#[test]
fn the_last_change_is_whole() {
    let schedules = explore(&[], ALL, || World::new(Rule::Other, 3).one());
    println!("{schedules} schedules");
    assert!(schedules > 1000, "{schedules}");
}
