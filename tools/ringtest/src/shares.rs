// SPDX-License-Identifier: GPL-2.0
//! Readers that wait for a share of a ring ask, look and fall asleep at every instant of nested
//! writers, by exhaustion.
//!
//! A sleeper does what `buffers::watermark` does: it asks, looks, and sleeps if the share is not
//! full. Between these an event may be told of; then it does not sleep, but begins again. One whose
//! question finds a mark that was passed has all others begin again. When no writer is left, no
//! reader sleeps whose share is full.

use std::cell::{Cell, RefCell};

use crate::ring::cpu::{CpuRing, ReaderState};
use crate::ring::watermark::{Publication, WakeCondition};
use crate::sim::{parts, with_hook, Sim};
use crate::trail::{choose, explore, sample, schedule};

/// What may happen in a world.
#[derive(Clone, Copy)]
struct Plan {
    outer: u32,
    nested: u32,
    /// Steps of sleepers in between; the others come when no writer is left.
    steps: u32,
    /// What each sleeper waits for.
    shares: &'static [u32],
    /// Bytes of a payload: two of 1400 fit a sub-buffer, one of 3000.
    len: usize,
    discards: bool,
}

/// The state of a sleeper.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    /// It is about to ask.
    Start,
    /// It asked, for an event or for the mark.
    Asked {
        mark: bool,
    },
    Asleep {
        mark: bool,
    },
    /// Its share was full.
    Done,
}

struct World {
    plan: Plan,
    ring: CpuRing<Sim>,
    state: RefCell<ReaderState>,
    /// Nested writers, and steps in between, that are left.
    nested: Cell<u32>,
    steps: Cell<u32>,
    /// Sleepers do one thing at a time.
    busy: Cell<bool>,
    clock: Cell<u64>,
    events: Cell<u64>,
    sleepers: RefCell<Vec<At>>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
    /// How many slept, and how many of them were woken, in all worlds.
    static SLEPT: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

fn instant() {
    // SAFETY: set by `one` for as long as the hook is there.
    let w = unsafe { &*WORLD.get() };
    if w.busy.get() {
        return;
    }
    // A choice with one answer would make every schedule longer.
    let acts = |at: &At| w.steps.get() != 0 && matches!(at, At::Start | At::Asked { .. });
    let mut who: Vec<Option<usize>> = vec![];
    who.extend((w.nested.get() != 0).then_some(None));
    let sleepers = w.sleepers.borrow().clone();
    who.extend(
        sleepers
            .iter()
            .enumerate()
            .filter(|(_, at)| acts(at))
            .map(|(i, _)| Some(i)),
    );
    let chosen = usize::from(choose(who.len() as u8 + 1)).checked_sub(1);
    match chosen.and_then(|i| who.get(i)) {
        None => {}
        Some(None) => {
            w.nested.set(w.nested.get() - 1);
            w.write();
        }
        Some(Some(i)) => {
            w.steps.set(w.steps.get() - 1);
            w.act(*i);
        }
    }
}

impl World {
    fn new(plan: Plan) -> Self {
        let (ring, state) = CpuRing::new(parts(4, 4096), 4096).unwrap();
        World {
            plan,
            ring,
            state: RefCell::new(state),
            nested: Cell::new(plan.nested),
            steps: Cell::new(plan.steps),
            busy: Cell::new(false),
            clock: Cell::new(1000),
            events: Cell::new(0),
            sleepers: RefCell::new(vec![At::Start; plan.shares.len()]),
        }
    }

    /// Makes every sleeper in that state begin again.
    fn wake(&self, whom: impl Fn(bool) -> bool) {
        for at in self.sleepers.borrow_mut().iter_mut() {
            match *at {
                At::Asked { mark } if whom(mark) => *at = At::Start,
                At::Asleep { mark } if whom(mark) => {
                    *at = At::Start;
                    let (slept, woken) = SLEPT.get();
                    SLEPT.set((slept, woken + 1));
                }
                _ => {}
            }
        }
    }

    /// Writes one event, and tells the sleepers.
    fn write(&self) {
        let id = self.events.get();
        self.events.set(id + 1);
        // SAFETY: one simulated CPU; nested calls run to their end inside this one.
        let writer = unsafe { self.ring.writer() };
        let clock = || {
            self.clock.set(self.clock.get() + 7);
            self.clock.get()
        };
        let event = writer.reserve(self.plan.len, clock).expect("refused");
        let published = match self.plan.discards && id % 2 == 1 {
            true => event.discard(),
            false => event.commit(),
        };
        match published {
            Publication::Nothing => {}
            Publication::Events => self.wake(|mark| !mark),
            Publication::Watermark => self.wake(|_| true),
        }
    }

    /// Returns whether the share of a sleeper is full, or what it asks for.
    fn as_reader<T>(&self, f: impl FnOnce(&mut crate::ring::reader::Reader<'_, Sim>) -> T) -> T {
        let was = self.busy.replace(true);
        let mut state = self.state.borrow_mut();
        // SAFETY: the state was made together with this ring.
        let result = f(&mut unsafe { self.ring.reader(&mut state) });
        self.busy.set(was);
        result
    }

    /// Makes the next step of a sleeper.
    fn act(&self, i: usize) {
        let percent = self.plan.shares[i];
        let at = self.sleepers.borrow()[i];
        let next = match at {
            At::Start => match self.as_reader(|r| r.ask(percent)) {
                WakeCondition::Event => At::Asked { mark: false },
                WakeCondition::Watermark { passed } => {
                    if passed {
                        self.wake(|mark| mark);
                    }
                    At::Asked { mark: true }
                }
            },
            At::Asked { mark } => match self.as_reader(|r| r.reached(percent)) {
                true => At::Done,
                false => {
                    let (slept, woken) = SLEPT.get();
                    SLEPT.set((slept + 1, woken));
                    At::Asleep { mark }
                }
            },
            asleep => asleep,
        };
        self.sleepers.borrow_mut()[i] = next;
    }

    fn one(&self) {
        WORLD.set(self);
        for _ in 0..self.plan.outer {
            with_hook(instant, || self.write());
        }
        // A sleeper that is awake continues until it sleeps or has what it waits for.
        for _ in 0..8 {
            (0..self.plan.shares.len()).for_each(|i| self.act(i));
        }
        for (percent, at) in self.plan.shares.iter().zip(&*self.sleepers.borrow()) {
            let full = self.as_reader(|r| r.reached(*percent));
            let right = match at {
                At::Asleep { .. } => !full,
                At::Done => full,
                awake => panic!("{awake:?} in {}", schedule()),
            };
            assert!(right, "{percent} %: {at:?}, full {full}, in {}", schedule());
        }
    }
}

fn run(plan: Plan) {
    run_some(plan, 1);
}

fn run_some(plan: Plan, one_in: u64) {
    SLEPT.set((0, 0));
    let schedules = explore(&[], sample(one_in), || World::new(plan).one());
    let (slept, woken) = SLEPT.get();
    println!("{schedules} schedules, {slept} slept, {woken} were woken");
    assert!(schedules > 1000 && woken > 100);
}

const PLAN: Plan = Plan {
    outer: 2,
    nested: 1,
    steps: 2,
    shares: &[50],
    len: 3000,
    discards: false,
};

#[test]
fn a_sleeper_beside_nested_writers() {
    run(PLAN);
}

#[test]
fn a_sleeper_beside_writers_in_a_row() {
    run(Plan {
        outer: 3,
        nested: 0,
        steps: 3,
        ..PLAN
    });
}

#[test]
fn a_sleeper_beside_writers_three_levels_deep() {
    let plan = Plan {
        outer: 1,
        nested: 2,
        ..PLAN
    };
    run_some(plan, 16);
}

#[test]
fn two_sleepers_with_one_mark() {
    for shares in [&[50, 75], &[75, 50], &[0, 50]] {
        run(Plan {
            nested: 0,
            steps: 3,
            shares,
            ..PLAN
        });
    }
}

#[test]
fn a_sleeper_in_a_ring_that_is_lapped() {
    run(Plan {
        outer: 7,
        nested: 0,
        shares: &[100],
        ..PLAN
    });
}

#[test]
fn a_sleeper_beside_discards() {
    run(Plan {
        discards: true,
        len: 1400,
        outer: 3,
        ..PLAN
    });
}
