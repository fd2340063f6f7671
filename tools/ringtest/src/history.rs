// SPDX-License-Identifier: GPL-2.0
//! What the published algorithms for the time of nested events promised, and where they failed.
//!
//! An event carries the time that its writer read from the clock; or, where that was not possible,
//! the time of the event before it, never a later one. Time does not go back. The shipped ring
//! keeps more than that (`nest`). This weaker promise is explored on its own, one class of
//! schedules per test, because the mutants `ftrace-*` bring ftrace's algorithms into the ring, and
//! their errors are to be told from the zero deltas that they meant.

use std::cell::{Cell, RefCell};

use crate::plain;
use crate::ring::cpu::{CpuRing, ReaderState};
use crate::sim::{parts, with_hook, Sim};
use crate::trail::{choose, explore, schedule, ALL};

const SIZE: usize = 4096;
/// Does not fit an event header.
const LONG: u64 = (1 << 27) + 5;

/// A class of schedules.
#[derive(Clone, Copy)]
struct Class {
    /// Writers that no other interrupts, one after the other.
    outer: u8,
    /// Writers that interrupt others.
    nested: u8,
    /// How deep they may be nested.
    depth: u8,
    /// Bytes of payload.
    size: usize,
    /// Steps of the clock to choose from.
    clock: &'static [u64],
}

const CLASS: Class = Class {
    outer: 2,
    nested: 2,
    depth: 1,
    size: 100,
    clock: &[1],
};

struct World {
    ring: CpuRing<Sim>,
    reader: RefCell<ReaderState>,
    class: Class,
    nested: Cell<u8>,
    depth: Cell<u8>,
    clock: Cell<u64>,
    /// The time that each writer last read, by number of the writer.
    times: RefCell<Vec<u64>>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
}

/// At every instant: a nested writer, or nothing.
fn instant() {
    // SAFETY: set by `explore_class`, which owns the world.
    let w = unsafe { &*WORLD.with(Cell::get) };
    if w.nested.get() > 0 && w.depth.get() < w.class.depth && choose(2) == 1 {
        w.nested.set(w.nested.get() - 1);
        w.depth.set(w.depth.get() + 1);
        w.write();
        w.depth.set(w.depth.get() - 1);
    }
}

impl World {
    fn write(&self) {
        let id = self.times.borrow().len();
        self.times.borrow_mut().push(0);
        let read = Cell::new(0);
        let clock = || {
            let step = match self.class.clock {
                [step] => *step,
                steps => steps[choose(steps.len() as u8) as usize],
            };
            self.clock.set(self.clock.get() + step);
            read.set(self.clock.get());
            read.get()
        };
        // SAFETY: one simulated CPU; nested calls run to their end inside this one.
        let writer = unsafe { self.ring.writer() };
        let mut event = writer.reserve(self.class.size, clock).unwrap();
        self.times.borrow_mut()[id] = read.get();
        event.payload()[..8].copy_from_slice(&(id as u64).to_ne_bytes());
        event.commit();
    }

    /// Reads all events.
    fn check(&self) {
        let at = schedule();
        let times = self.times.borrow();
        let mut seen = vec![false; times.len()];
        let mut state = self.reader.borrow_mut();
        // SAFETY: the state was made together with this ring.
        let mut reader = unsafe { self.ring.reader(&mut state) };
        let mut bytes = vec![0u8; SIZE];
        let mut last = 0;
        while reader.take_image(&mut bytes).unwrap().is_some() {
            let image = plain::image(&bytes);
            for event in plain::decode(image.data, 0, image.stamp) {
                let id = u64::from_ne_bytes(event.payload[..8].try_into().unwrap()) as usize;
                let (time, own) = (event.time, times[id]);
                assert!(time >= last, "time goes back at {id} in {at}");
                let zero = time == last && time <= own;
                assert!(
                    time == own || zero,
                    "{id} has {time}, its writer read {own}, in front is {last}, in {at}"
                );
                assert!(!seen[id], "{id} twice in {at}");
                seen[id] = true;
                last = time;
            }
        }
        assert!(seen.iter().all(|s| *s), "an event is missing in {at}");
    }
}

fn explore_class(class: Class) {
    const SLOTS: usize = 4;
    let parts = parts(SLOTS, SIZE);
    let (ring, reader) = CpuRing::new(parts, SIZE).unwrap();
    let w = World {
        ring,
        reader: RefCell::new(reader),
        class,
        nested: Cell::new(0),
        depth: Cell::new(0),
        clock: Cell::new(0),
        times: RefCell::default(),
    };
    WORLD.with(|p| p.set(&w));
    let runs = explore(&[], ALL, || {
        // SAFETY: no writer is active.
        unsafe { w.ring.idle(&mut w.reader.borrow_mut()) }.reset();
        w.nested.set(class.nested);
        w.clock.set(1000);
        w.times.borrow_mut().clear();
        with_hook(instant, || (0..class.outer).for_each(|_| w.write()));
        w.check();
    });
    println!("{runs} schedules");
}

#[test]
fn two_interrupts_of_one_event() {
    explore_class(CLASS);
}

#[test]
fn an_interrupt_is_interrupted() {
    explore_class(Class { depth: 2, ..CLASS });
}

#[test]
fn three_interrupts_of_one_event() {
    explore_class(Class {
        outer: 1,
        nested: 3,
        ..CLASS
    });
}

#[test]
fn interrupts_leave_the_sub_buffer() {
    explore_class(Class {
        size: 1300,
        nested: 3,
        ..CLASS
    });
}

#[test]
fn a_long_interrupt() {
    explore_class(Class {
        clock: &[1, LONG],
        ..CLASS
    });
}

#[test]
fn interrupts_at_equal_times() {
    explore_class(Class {
        depth: 2,
        clock: &[0, 50],
        ..CLASS
    });
}
