// SPDX-License-Identifier: GPL-2.0
//! Nested writers and a reader at every instant of the shipped ring, by exhaustion.
//!
//! Each world writes two events from task context. At every operation on a word a whole nested
//! writer may run, or a whole call of the reader, within a budget. Afterwards every event must be
//! accounted for, with its content and exactly the time that its writer read from the clock.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use crate::ring::cpu::{CpuRing, Parts, ReaderState};
use crate::ring::cursor::Cursor;
use crate::ring::port::{Port, SharedWord};
use crate::ring::subbuf::SubBuf;
use crate::ring::view::CpuStats;
use crate::ring::wire;
use crate::ring::writer::Refused;
use crate::sim::{choose, explore, schedule, with_hook, Block, Sim};

const SIZE: usize = 4096;

/// What one exploration covers.
#[derive(Clone, Copy)]
struct Plan {
    /// Slots of the ring.
    slots: usize,
    /// Outer writers, one after the other.
    outer: u8,
    /// Nested writers, at any depth.
    nested: u8,
    /// Deepest nesting below the outer writer.
    depth: u8,
    /// Calls of the reader.
    reads: u8,
    /// Payload sizes to choose from.
    sizes: &'static [usize],
    /// Steps of the clock to choose from.
    clock: &'static [u64],
    /// Discards are a choice.
    discards: bool,
    overwrite: bool,
    /// Schedules at most.
    limit: u64,
}

const PLAN: Plan = Plan {
    slots: 2,
    outer: 2,
    nested: 2,
    depth: 3,
    reads: 0,
    sizes: &[1000],
    clock: &[1],
    discards: false,
    overwrite: true,
    limit: u64::MAX,
};

#[derive(Default)]
struct Log {
    /// Time of every event that was committed, by id.
    committed: HashMap<u64, u64>,
    refused: HashMap<&'static str, u64>,
    read: Vec<(u64, u64)>,
    lost: u64,
    next_id: u64,
}

struct World {
    ring: CpuRing<Sim>,
    reader: RefCell<ReaderState>,
    plan: Cell<Plan>,
    nested: Cell<u8>,
    reads: Cell<u8>,
    depth: Cell<u8>,
    in_reader: Cell<bool>,
    /// Writers that began.
    began: Cell<u64>,
    clock: Cell<u64>,
    log: RefCell<Log>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
}

fn world<'a>() -> &'a World {
    // SAFETY: set for the time of `run`, which owns the world.
    unsafe { &*WORLD.with(Cell::get) }
}

/// At every instant: nothing, a nested writer, or a reader.
fn instant() {
    let w = world();
    let plan = w.plan.get();
    let writer = w.nested.get() > 0 && w.depth.get() <= plan.depth;
    let reader = w.reads.get() > 0 && !w.in_reader.get();
    match choose(1 + u8::from(writer) + u8::from(reader)) {
        0 => {}
        1 if writer => {
            w.nested.set(w.nested.get() - 1);
            w.depth.set(w.depth.get() + 1);
            write(w);
            w.depth.set(w.depth.get() - 1);
        }
        _ => {
            w.reads.set(w.reads.get() - 1);
            w.in_reader.set(true);
            // A writer that comes while the reader is at work is an outermost one of its own.
            read(w);
            w.in_reader.set(false);
        }
    }
}

fn write(w: &World) {
    let plan = w.plan.get();
    let id = {
        let mut log = w.log.borrow_mut();
        log.next_id += 1;
        log.next_id
    };
    let size = plan.sizes[choose(plan.sizes.len() as u8) as usize];
    let stamp = Cell::new(0);
    let turns = Cell::new(0);
    let began = w.began.get() + 1;
    w.began.set(began);
    let clock = || {
        turns.set(turns.get() + 1);
        let step = plan.clock[choose(plan.clock.len() as u8) as usize];
        w.clock.set(w.clock.get() + step);
        stamp.set(w.clock.get());
        stamp.get()
    };
    // SAFETY: one simulated CPU; nested calls run to their end inside this one.
    let writer = unsafe { w.ring.writer() };
    let reserved = writer.reserve(size, clock);
    // One, and another one for each writer that came in between; none because of a reader.
    let nested = w.began.get() - began;
    assert!(
        turns.get() <= 1 + nested,
        "{} turns, {nested} nested in {}",
        turns.get(),
        schedule()
    );
    match reserved {
        Ok(mut event) => {
            let time = stamp.get();
            let p = event.payload();
            p[..8].copy_from_slice(&id.to_ne_bytes());
            p[8..16].copy_from_slice(&time.to_ne_bytes());
            if plan.discards && choose(2) == 1 {
                event.discard();
            } else {
                w.log.borrow_mut().committed.insert(id, time);
                event.commit();
            }
        }
        Err(refused) => {
            let why = match refused {
                Refused::Full => "full",
                Refused::CommitOverrun => "commit overrun",
                Refused::Recursion => "recursion",
                Refused::Disabled => "disabled",
                Refused::TooBig => "too big",
                Refused::Broken => "broken",
            };
            *w.log.borrow_mut().refused.entry(why).or_default() += 1;
        }
    }
}

/// Reads what is there, one sub-buffer.
fn read(w: &World) -> bool {
    let mut state = w.reader.borrow_mut();
    // SAFETY: the state of this ring.
    let mut reader = unsafe { w.ring.reader(&mut state) };
    let mut image = vec![0u8; SIZE];
    match reader.take_image(&mut image) {
        Ok(Some(())) => {
            check_image(&image, &mut w.log.borrow_mut());
            true
        }
        Ok(None) => false,
        Err(busy) => panic!("{busy:?} in {}", schedule()),
    }
}

fn check_image(image: &[u8], log: &mut Log) {
    let stamp = wire::long(image, 0).unwrap();
    let commit = wire::long(image, 8).unwrap();
    let len = (commit & wire::LENGTH_MASK) as usize;
    if commit & wire::MISSED_EVENTS != 0 {
        assert_ne!(
            commit & wire::MISSED_STORED,
            0,
            "events are too big for this"
        );
        log.lost += wire::long(image, wire::HEADER + len).unwrap();
    }
    let data = &image[wire::HEADER..wire::HEADER + len];
    for event in Cursor::new(data, stamp) {
        let event = event.unwrap();
        let id = wire::long(event.payload, 0).unwrap();
        let time = wire::long(event.payload, 8).unwrap();
        assert_eq!(event.time, time, "time of {id} in {}", schedule());
        log.read.push((id, event.time));
    }
}

fn one(w: &World) {
    let plan = w.plan.get();
    // SAFETY: no writer is active.
    unsafe { w.ring.reset(&mut w.reader.borrow_mut()) };
    w.ring.set_overwrite(plan.overwrite);
    w.nested.set(plan.nested);
    w.reads.set(plan.reads);
    w.depth.set(0);
    w.in_reader.set(false);
    w.clock.set(1000);
    *w.log.borrow_mut() = Log::default();
    with_hook(instant, || {
        for _ in 0..plan.outer {
            w.depth.set(1);
            write(w);
            w.depth.set(0);
        }
    });
    w.in_reader.set(true);
    check(w);
}

fn stats(w: &World) -> CpuStats {
    let mut state = w.reader.borrow_mut();
    // SAFETY: the state of this ring.
    unsafe { w.ring.reader(&mut state) }.stats()
}

fn check(w: &World) {
    let at = schedule();
    let before = stats(w);
    assert_eq!(before.broken, 0, "broken in {at}");
    let read_before = w.log.borrow().read.len() as u64;
    assert_eq!(before.read, read_before, "read in {at}");
    assert_eq!(
        before.written,
        w.log.borrow().committed.len() as u64,
        "written in {at}"
    );
    while read(w) {}
    let log = w.log.borrow();
    let after = stats(w);
    assert_eq!(after.read, log.read.len() as u64, "read at the end in {at}");
    assert_eq!(after.entries(), 0, "remaining in {at}");
    assert_eq!(
        before.entries(),
        after.read - before.read,
        "entries in {at}"
    );
    assert_eq!(after.bytes, 0, "bytes at the end in {at}");
    assert_eq!(log.lost, after.overrun, "lost in {at}");
    assert_eq!(after.written, after.read + after.overrun, "sum in {at}");
    let refused = |why| log.refused.get(why).copied().unwrap_or(0);
    assert_eq!(refused("full"), after.dropped, "dropped in {at}");
    assert_eq!(
        refused("commit overrun"),
        after.commit_overrun,
        "commit overrun in {at}"
    );
    assert_eq!(
        refused("broken") + refused("disabled") + refused("recursion"),
        0,
        "in {at}"
    );
    let mut seen = HashMap::new();
    let mut last = 0;
    for &(id, time) in &log.read {
        assert_eq!(log.committed.get(&id), Some(&time), "event {id} in {at}");
        assert!(seen.insert(id, ()).is_none(), "event {id} twice in {at}");
        assert!(time >= last, "order in {at}");
        last = time;
    }
}

fn run(plan: Plan) -> u64 {
    let parts = Parts::<Sim> {
        slots: (0..plan.slots)
            .map(|_| <Sim as Port>::Shared::new(0))
            .collect(),
        pages: (0..=plan.slots)
            .map(|_| SubBuf::new(Block::new(SIZE)))
            .collect(),
    };
    let (ring, reader) = CpuRing::new(parts, SIZE).unwrap();
    let w = World {
        ring,
        reader: RefCell::new(reader),
        plan: Cell::new(plan),
        nested: Cell::new(0),
        reads: Cell::new(0),
        depth: Cell::new(0),
        in_reader: Cell::new(false),
        began: Cell::new(0),
        clock: Cell::new(0),
        log: RefCell::default(),
    };
    WORLD.with(|p| p.set(&w));
    let runs = explore(plan.limit, || one(&w));
    println!("{runs} schedules");
    runs
}

/// Long delta between two events of one sub-buffer.
const LONG: u64 = (1 << 27) + 5;

#[test]
fn two_nested_writers_have_exact_times() {
    assert!(run(PLAN) > 1000);
}

#[test]
fn equal_times_forge_nothing() {
    run(Plan {
        clock: &[0, 50],
        ..PLAN
    });
}

#[test]
fn long_deltas_are_exact() {
    run(Plan {
        clock: &[1, LONG],
        nested: 1,
        ..PLAN
    });
}

#[test]
fn discards_keep_the_time_chain() {
    run(Plan {
        discards: true,
        ..PLAN
    });
}

#[test]
fn crossing_wrapping_and_commit_overrun() {
    run(Plan {
        sizes: &[1300, 4056],
        ..PLAN
    });
}

#[test]
fn a_full_ring_drops_the_newest() {
    run(Plan {
        sizes: &[2000, 4056],
        overwrite: false,
        ..PLAN
    });
}

#[test]
fn a_reader_at_every_instant() {
    run(Plan {
        sizes: &[1300, 4056],
        nested: 1,
        reads: 1,
        ..PLAN
    });
}

#[test]
fn a_reader_and_discards() {
    run(Plan {
        sizes: &[2000],
        nested: 1,
        reads: 1,
        discards: true,
        outer: 3,
        ..PLAN
    });
}

#[test]
fn a_reader_of_a_full_ring() {
    run(Plan {
        sizes: &[4056],
        nested: 1,
        reads: 2,
        outer: 3,
        overwrite: false,
        ..PLAN
    });
}

#[test]
fn four_levels_deep() {
    run(Plan {
        outer: 1,
        nested: 3,
        ..PLAN
    });
}

#[test]
fn discards_at_equal_times() {
    run(Plan {
        outer: 3,
        nested: 1,
        clock: &[0, 50],
        discards: true,
        ..PLAN
    });
}

#[test]
fn nested_discards_at_equal_times() {
    run(Plan {
        outer: 1,
        nested: 2,
        clock: &[0, 50],
        discards: true,
        ..PLAN
    });
}

#[test]
fn a_reader_and_nested_discards() {
    run(Plan {
        outer: 1,
        nested: 2,
        reads: 1,
        discards: true,
        ..PLAN
    });
}

#[test]
fn a_reader_of_a_ring_that_comes_round() {
    run(Plan {
        sizes: &[4056],
        outer: 3,
        nested: 2,
        reads: 1,
        ..PLAN
    });
}

#[test]
fn two_reads_of_a_ring_that_comes_round() {
    run(Plan {
        sizes: &[4056],
        outer: 3,
        nested: 1,
        reads: 2,
        ..PLAN
    });
}

#[test]
fn three_nested_writers_between_others() {
    run(Plan { nested: 3, ..PLAN });
}

#[test]
fn three_nested_writers_discard() {
    run(Plan {
        outer: 1,
        nested: 3,
        discards: true,
        ..PLAN
    });
}

#[test]
#[ignore = "minutes"]
fn two_reads_and_nested_writers() {
    run(Plan {
        sizes: &[4056],
        nested: 2,
        reads: 2,
        ..PLAN
    });
}

#[test]
#[ignore = "minutes"]
fn three_nested_writers_cross_and_discard() {
    run(Plan {
        nested: 3,
        sizes: &[1300, 4056],
        clock: &[0, 50],
        discards: true,
        ..PLAN
    });
}
