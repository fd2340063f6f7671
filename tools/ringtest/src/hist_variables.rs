// SPDX-License-Identifier: GPL-2.0
//! Variables of histograms: writers that set one and readers that take it, which interrupt each other at every
//! instant, by exhaustion.
//!
//! A number that was set is taken once at most, and one that nobody replaced or took is there.

use std::cell::{Cell, RefCell};

use crate::hist::map::{Map, Part, Shape, LEVELS};
use crate::ring::port::LocalWord;
use crate::sim::{unhook, with_hook, Sim, Word};
use crate::trail::{choose, explore, schedule, ALL};

const KEY: [u64; 1] = [7];

struct World {
    map: Map<Sim>,
    /// How many will come at some instant.
    left: Cell<u32>,
    depth: Cell<usize>,
    /// The last number that was set.
    number: Cell<u64>,
    taken: RefCell<Vec<u64>>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
}

fn instant() {
    // SAFETY: set by `one` for as long as the hook is there.
    let world = unsafe { &*WORLD.get() };
    if world.left.get() == 0 || world.depth.get() == LEVELS {
        return;
    }
    let chosen = choose(3);
    if chosen == 0 {
        return;
    }
    world.left.set(world.left.get() - 1);
    match chosen {
        1 => {
            world.take();
        }
        _ => world.set(),
    }
}

fn zeroes(count: usize) -> Vec<Word> {
    (0..count).map(|_| LocalWord::new(0)).collect()
}

impl World {
    fn new(left: u32) -> Self {
        let shape = Shape {
            size: 2,
            key_words: 1,
            note_words: 0,
            sums: 1,
            raised: 0,
            variables: 2,
            cpus: 1,
        };
        let words = zeroes(shape.shared_words());
        let parts = vec![Part::new(zeroes(shape.own_words()))];
        World {
            map: Map::new(shape, zeroes(shape.slots()), words, parts),
            left: Cell::new(left),
            depth: Cell::new(0),
            number: Cell::new(0),
            taken: RefCell::default(),
        }
    }

    fn nested<R>(&self, f: impl FnOnce() -> R) -> R {
        self.depth.set(self.depth.get() + 1);
        let result = f();
        self.depth.set(self.depth.get() - 1);
        result
    }

    /// Sets the next number, and another variable as well.
    fn set(&self) {
        let number = self.number.get() + 1;
        self.number.set(number);
        self.nested(|| {
            let entry = self.map.count_in(0, &KEY, &[], || [0; 2]).unwrap();
            self.map.set_variable(entry, 1, number);
            self.map.set_variable(entry, 0, number);
        });
    }

    /// Takes the number, if there is one.
    fn take(&self) -> Option<u64> {
        let number = self.nested(|| self.map.variable(&KEY, 0, true))?;
        let mut taken = self.taken.borrow_mut();
        let twice = taken.contains(&number);
        assert!(!twice, "{number} was taken twice, in {}", schedule());
        assert!((1..=self.number.get()).contains(&number), "{number}");
        taken.push(number);
        Some(number)
    }

    fn one(&self) {
        WORLD.set(self);
        assert_eq!(self.take(), None, "nothing was set");
        for _ in 0..2 {
            with_hook(instant, || self.set());
            with_hook(instant, || self.take());
        }
        unhook();
        self.take();
        assert_eq!(self.take(), None, "in {}", schedule());
        self.set();
        let last = self.number.get();
        assert_eq!(self.map.variable(&KEY, 0, false), Some(last), "read");
        assert_eq!(self.take(), Some(last), "lost in {}", schedule());
        assert_eq!(self.map.variable(&KEY, 0, false), None, "taken");
        // Of the other variable and of other keys nothing was taken.
        assert_eq!(self.map.variable(&KEY, 1, false), Some(last));
        assert_eq!(self.map.variable(&[8], 1, false), None);
        assert_eq!(self.map.variable(&KEY, 2, false), None);
        assert_eq!(self.map.variable(&[7, 7], 1, false), None);
    }
}

#[test]
fn a_number_is_taken_once() {
    let schedules = explore(&[], ALL, || World::new(2).one());
    println!("{schedules} schedules");
    assert!(schedules > 50, "{schedules}");
}
