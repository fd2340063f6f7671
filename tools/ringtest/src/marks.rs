// SPDX-License-Identifier: GPL-2.0
//! A reader that waits for a share of the ring is told when it is full, not before, and never too
//! late.

use crate::ring::watermark::{Publication, WakeCondition};
use crate::world::{World, STEPS};

/// One fills a sub-buffer.
const WHOLE: usize = 4072;

fn world(slots: usize) -> World {
    World::new(0, slots, 1000, STEPS)
}

#[test]
fn a_share_counts_the_sub_buffer_that_is_written() {
    let w = world(10);
    let reached = |percent| w.with_reader(|r| r.reached(percent));
    assert!(!reached(0));
    w.write(8, false);
    assert!(reached(0) && reached(10) && !reached(11));
    w.write(WHOLE, false);
    assert!(reached(20) && !reached(21) && !reached(30));
    (0..8).for_each(|_| w.write(WHOLE, false));
    assert!(reached(100));
    (0..50).for_each(|_| w.write(WHOLE, false));
    assert!(reached(100), "lapped");
    // The sub-buffer that the reader holds does not count.
    w.read(0);
    assert!(reached(90) && reached(0));
    w.drain();
    assert!(!reached(0) && !reached(1));
}

#[test]
fn a_reader_in_the_sub_buffer_that_is_written_waits_for_its_end() {
    let w = world(10);
    w.write(8, false);
    w.read(0);
    let reached = |percent| w.with_reader(|r| r.reached(percent));
    assert!(reached(0) && !reached(1));
    assert_eq!(
        w.with_reader(|r| r.ask(1)),
        WakeCondition::Watermark { passed: true }
    );
    w.write(8, false);
    assert_eq!(w.told(), Publication::Events);
    w.write(WHOLE, false);
    assert_eq!(w.told(), Publication::Watermark);
    assert!(reached(1));
    w.drain();
}

#[test]
fn the_writer_that_makes_it_true_tells_so() {
    for percent in 1..=100 {
        let w = world(7);
        w.with_reader(|r| r.ask(percent));
        loop {
            let due = match w.with_reader(|r| r.ask(percent)) {
                WakeCondition::Event => [Publication::Events, Publication::Watermark],
                WakeCondition::Watermark { passed } => {
                    assert!(!passed, "{percent} %: the mark was passed in silence");
                    [Publication::Watermark; 2]
                }
            };
            w.write(WHOLE, false);
            if w.with_reader(|r| r.reached(percent)) {
                assert!(due.contains(&w.told()), "{percent} %: {:?}", w.told());
                break;
            }
        }
    }
}

#[test]
fn the_lowest_mark_stays_and_a_passed_one_is_told_of() {
    let w = world(10);
    let ask = |percent| w.with_reader(|r| r.ask(percent));
    ask(50);
    assert_eq!(ask(100), WakeCondition::Watermark { passed: false });
    // After the first sub-buffer four more are opened.
    (0..4).for_each(|_| w.write(WHOLE, false));
    assert_eq!(w.told(), Publication::Events);
    w.write(WHOLE, false);
    assert_eq!(
        w.told(),
        Publication::Watermark,
        "the mark of the first who asked"
    );
    assert_eq!(ask(100), WakeCondition::Watermark { passed: true });
    w.write(WHOLE, false);
    assert_eq!(w.told(), Publication::Events);
}

#[test]
fn a_ring_that_was_changed_tells_at_the_next_end() {
    type Change = fn(&World);
    let changes: [Change; 3] = [|w| w.resize(20), |w| w.set_order(1), |w| w.reset()];
    for change in changes {
        let w = world(10);
        w.with_reader(|r| r.ask(100));
        w.write(WHOLE, false);
        change(&w);
        (0..3).for_each(|_| w.write(WHOLE, false));
        assert_eq!(w.told(), Publication::Watermark);
    }
}
