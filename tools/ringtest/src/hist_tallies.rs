// SPDX-License-Identifier: GPL-2.0
//! What entries keep of values besides sums: writers that interrupt each other, and whole writers of another CPU, at
//! every instant, by exhaustion. The greatest number of those whose writers have ended is there at any time, and no
//! number is added twice or not at all.

use std::cell::{Cell, RefCell};

use crate::hist::map::{Map, Part, Shape, LEVELS};
use crate::ring::port::LocalWord;
use crate::sim::{unhook, with_hook, Sim, Word};
use crate::trail::{choose, explore, schedule, ALL};

const CPUS: usize = 2;
const KEY: u64 = 7;

struct World {
    map: Map<Sim>,
    /// Numbers of the writers that come at some instant, in this order.
    nested: &'static [u64],
    left: Cell<usize>,
    cpu: Cell<usize>,
    depth: Cell<usize>,
    ended: RefCell<Vec<u64>>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
}

fn instant() {
    // SAFETY: set by `one` for as long as the hook is there.
    let world = unsafe { &*WORLD.get() };
    let left = world.left.get();
    if left == 0 || world.depth.get() == LEVELS {
        return;
    }
    let chosen = usize::from(choose(CPUS as u8 + 1));
    if chosen != 0 {
        world.left.set(left - 1);
        let number = world.nested[world.nested.len() - left];
        world.write((world.cpu.get() + chosen - 1) % CPUS, number);
    }
}

fn zeroes(count: usize) -> Vec<Word> {
    (0..count).map(|_| LocalWord::new(0)).collect()
}

impl World {
    fn new(nested: &'static [u64]) -> Self {
        let shape = Shape {
            size: 2,
            key_words: 1,
            note_words: 0,
            sums: 3,
            raised: 1,
            variables: 0,
            cpus: CPUS,
        };
        let words = zeroes(shape.shared_words());
        let parts = (0..CPUS).map(|_| Part::new(zeroes(shape.own_words())));
        World {
            map: Map::new(shape, zeroes(shape.slots()), words, parts.collect()),
            nested,
            left: Cell::new(nested.len()),
            cpu: Cell::new(0),
            depth: Cell::new(0),
            ended: RefCell::default(),
        }
    }

    fn write(&self, cpu: usize, number: u64) {
        let before = (self.cpu.replace(cpu), self.depth.get());
        self.depth.set(before.1 + 1);
        let entry = self.map.count_in(cpu, &[KEY], &[], || [0; 2]);
        let entry = entry.expect("there is room");
        self.map.tally(cpu, entry, 1, number);
        self.map.tally(cpu, entry, 2, number);
        self.ended.borrow_mut().push(number);
        self.check(false);
        self.cpu.set(before.0);
        self.depth.set(before.1);
    }

    /// Checks the sums of the entry; of writers at work some have not changed all of them.
    fn check(&self, all: bool) {
        // A copy: other writers may come while the map is read.
        let ended = self.ended.borrow().clone();
        let seen = self.map.for_each_row(|_, row| {
            let row: Vec<u64> = row.collect();
            let greatest = ended.iter().max().copied().unwrap_or(0);
            let sum: u64 = ended.iter().sum();
            match all {
                true => assert_eq!(
                    row[1..],
                    [ended.len() as u64, greatest, sum],
                    "in {}",
                    schedule()
                ),
                false => assert!(
                    row[2] >= greatest && row[3] >= sum,
                    "{row:?} after {ended:?}, in {}",
                    schedule()
                ),
            }
            Ok::<(), ()>(())
        });
        assert_eq!(seen, Ok(()));
    }

    fn one(&self, outer: &[u64]) {
        WORLD.set(self);
        for number in outer {
            with_hook(instant, || self.write(0, *number));
        }
        unhook();
        while self.left.get() != 0 {
            let number = self.nested[self.nested.len() - self.left.get()];
            self.left.set(self.left.get() - 1);
            self.write(0, number);
        }
        self.check(true);
    }
}

#[test]
fn the_greatest_number_stays() {
    let rows: &[(&[u64], &[u64])] = &[
        (&[5], &[9, 3]),
        (&[5], &[3, 9]),
        (&[9], &[3, 5]),
        (&[1, 2], &[3]),
        (&[2, 1], &[0, u64::MAX >> 2]),
    ];
    for (outer, nested) in rows {
        let schedules = explore(&[], ALL, || World::new(nested).one(outer));
        println!("{schedules} schedules");
        assert!(schedules > 50, "{schedules}");
    }
}
