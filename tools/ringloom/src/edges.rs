// SPDX-License-Identifier: GPL-2.0
//! Each edge of Documentation/memory-order.md, in every execution of a small ring.
//!
//! The checks are those of `world`: a copy is what was written, with no race; every event is read
//! once, in its place, with its time, or counted lost; what the ring says at the end is exact.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

use crate::machine::Checker as _;
use crate::ring::cpu::{GateWord, DISABLE_QUIESCE, DISABLE_USER};
use crate::runs::{every, long, tell};
use crate::weak::Weak;
use crate::world::reached::*;
use crate::world::{Plan, World, ONE, TWO};

type Reader = fn(&Rc<World<Weak>>);

/// Preemptions in one execution, at most.
fn bound(short: usize) -> Option<usize> {
    Some(if long() { short + 1 } else { short })
}

/// Explores `plan` beside `reader`; `expected` must happen somewhere.
fn explore(name: &str, plan: Plan, preemptions: usize, reader: Reader, expected: u64) {
    let began = Instant::now();
    let reached = Arc::new(AtomicU64::new(0));
    let all = reached.clone();
    let runs = every(bound(preemptions), move || {
        all.fetch_or(World::beside(plan, reader), Ordering::Relaxed);
    });
    let how = format!("at most {} preemptions", bound(preemptions).unwrap_or(0));
    tell(name, runs, began, &how);
    let missing = expected & !reached.load(Ordering::Relaxed);
    assert_eq!(missing, 0, "never happened");
}

/// Does the same with an interrupt that writes at each instant of the writer in turn.
fn explore_nested(name: &str, plan: Plan, preemptions: usize, reader: Reader, expected: u64) {
    let began = Instant::now();
    let reached = Arc::new(AtomicU64::new(0));
    let (mut runs, mut at) = (0, 0);
    loop {
        let nested = [Some(at), None];
        let plan = Plan { nested, ..plan };
        let all = reached.clone();
        let here = Arc::new(AtomicU64::new(0));
        let last = here.clone();
        runs += every(bound(preemptions), move || {
            let reached = World::beside(plan, reader);
            all.fetch_or(reached, Ordering::Relaxed);
            last.fetch_or(reached, Ordering::Relaxed);
        });
        if here.load(Ordering::Relaxed) & NESTED == 0 {
            break;
        }
        at += 1;
    }
    let preemptions = bound(preemptions).unwrap_or(0);
    let how = format!("an interrupt at each of {at} instants, at most {preemptions} preemptions");
    tell(name, runs, began, &how);
    let missing = expected & !reached.load(Ordering::Relaxed);
    assert_eq!(missing, 0, "never happened");
}

#[test]
fn an_event_is_published_whole() {
    let plan = Plan { writes: 2, ..TWO };
    let reader: Reader = |w| {
        w.read(1);
        w.read(usize::MAX);
    };
    explore("publish", plan, 4, reader, OPEN);
    explore_nested("publish, nested", plan, 2, reader, OPEN | NESTED);
}

#[test]
fn a_full_sub_buffer_is_taken_with_its_last_events() {
    let plan = Plan { writes: 3, ..TWO };
    let reader: Reader = |w| {
        w.read(usize::MAX);
        w.read(usize::MAX);
        w.read(usize::MAX);
    };
    explore("take", plan, 3, reader, OPEN | FULL);
    explore_nested("take, nested", plan, 1, reader, OPEN | FULL | NESTED);
}

#[test]
fn a_writer_that_laps_takes_the_spare() {
    let plan = Plan { writes: 4, ..ONE };
    let reader: Reader = |w| {
        w.read(usize::MAX);
    };
    explore("lap", plan, 3, reader, OPEN | SPARE | LOST);
    explore_nested(
        "lap, nested",
        plan,
        1,
        reader,
        OPEN | SPARE | LOST | NESTED | COMMIT_OVERRUN,
    );
}

#[test]
fn what_the_reader_gave_back_is_used_again() {
    let plan = Plan { writes: 5, ..ONE };
    let reader: Reader = |w| {
        w.read(usize::MAX);
        w.read(usize::MAX);
        w.image();
    };
    explore("reuse", plan, 2, reader, OPEN | FULL | SPARE | LOST);
}

#[test]
fn a_full_ring_refuses_and_loses_nothing() {
    let plan = Plan {
        writes: 4,
        overwrite: false,
        ..ONE
    };
    let reader: Reader = |w| {
        w.read(usize::MAX);
        w.read(usize::MAX);
    };
    explore(
        "no overwrite",
        plan,
        3,
        reader,
        DROPPED | OPEN | FULL | SPARE,
    );
    explore_nested(
        "no overwrite, nested",
        plan,
        1,
        reader,
        DROPPED | NESTED | COMMIT_OVERRUN,
    );
}

#[test]
fn a_discard_beside_a_reader() {
    let plan = Plan {
        writes: 3,
        discards: &[1, 3],
        ..TWO
    };
    let reader: Reader = |w| {
        w.read(usize::MAX);
        w.read(usize::MAX);
    };
    explore_nested("discard", plan, 2, reader, PADDED | NESTED | OPEN | FULL);
}

#[test]
fn a_view_takes_no_torn_copy_for_good() {
    let reader: Reader = |w| {
        w.view(None);
    };
    explore(
        "view of one",
        Plan { writes: 3, ..ONE },
        2,
        reader,
        RACING | TORN | LOST,
    );
    explore(
        "view of two",
        Plan { writes: 5, ..TWO },
        2,
        reader,
        RACING | TORN | LOST,
    );
}

#[test]
fn a_view_beside_reads() {
    let plan = Plan { writes: 3, ..ONE };
    let reader: Reader = |w| {
        w.read(usize::MAX);
        let seq = w.view(None);
        w.view(seq);
        w.read(usize::MAX);
    };
    explore("view, read", plan, 2, reader, RACING | OPEN | FULL);
    let plan = Plan { writes: 2, ..TWO };
    let reader: Reader = |w| {
        w.read(1);
        w.view(None);
    };
    explore("view of one's own", plan, 4, reader, OWN | OPEN);
}

#[test]
fn statistics_beside_writers() {
    explore("statistics", Plan { writes: 3, ..TWO }, 2, |w| w.stats(), 0);
    let plan = Plan { writes: 2, ..ONE };
    let reader: Reader = |w| {
        w.read(usize::MAX);
        w.stats();
    };
    explore("read, statistics", plan, 1, reader, OPEN);
    // The reader gives a sub-buffer back that a writer is about to count.
    let reader: Reader = |w| {
        w.read(usize::MAX);
        w.read(usize::MAX);
        w.stats();
    };
    explore("give back, statistics", plan, 3, reader, OPEN | FULL);
}

#[test]
fn recording_is_switched_beside_writers() {
    let plan = Plan { writes: 3, ..ONE };
    let reader: Reader = |w| {
        w.ring.set_disabled(DISABLE_USER, true);
        w.read(usize::MAX);
        w.ring.set_disabled(DISABLE_USER, false);
    };
    explore("switch", plan, 3, reader, DISABLED | OPEN);
}

#[test]
fn a_switch_keeps_what_is_left_meanwhile() {
    const WORD: u64 = GateWord::OPEN | 64;
    let reader: Reader = |w| {
        let other = w.clone();
        let other = Weak::spawn(move || other.ring.leave_word(WORD));
        w.ring.set_disabled(DISABLE_USER, true);
        assert!(!w.ring.gate().is_open(), "open, and off");
        w.ring.set_disabled(DISABLE_USER, false);
        Weak::join(other);
        assert_eq!(w.ring.gate().word(), WORD, "a word or a switch was lost");
    };
    let plan = Plan { writes: 1, ..ONE };
    explore("a switch and a word", plan, 3, reader, DISABLED);
}

#[test]
fn two_switches_keep_each_others_bits() {
    let reader: Reader = |w| {
        let other = w.clone();
        let other = Weak::spawn(move || other.ring.set_disabled(DISABLE_QUIESCE, true));
        w.ring.set_disabled(DISABLE_USER, true);
        w.ring.set_disabled(DISABLE_USER, false);
        Weak::join(other);
        assert!(w.ring.is_disabled(), "a switch was lost");
        w.ring.set_disabled(DISABLE_QUIESCE, false);
        assert!(!w.ring.is_disabled());
    };
    explore(
        "two switches",
        Plan { writes: 1, ..ONE },
        3,
        reader,
        DISABLED,
    );
}

#[test]
fn readers_on_two_cpus_take_turns() {
    let plan = Plan { writes: 3, ..ONE };
    let reader: Reader = |w| {
        let lock = Rc::new(loom::sync::Mutex::new(()));
        let (world, theirs) = (w.clone(), lock.clone());
        let other = Weak::spawn(move || {
            let _guard = theirs.lock().unwrap();
            world.read(usize::MAX);
        });
        {
            let _guard = lock.lock().unwrap();
            w.read(usize::MAX);
        }
        Weak::join(other);
    };
    explore("two readers", plan, 2, reader, OPEN | FULL | SPARE);
}
