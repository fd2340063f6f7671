// SPDX-License-Identifier: GPL-2.0
//! Nested writers and a reader at every instant of the shipped ring, by exhaustion.
//!
//! Each world writes two events from task context. At every operation on a word a whole nested
//! writer may run, or a whole call of the reader, within a budget. Afterwards every event must be
//! accounted for, with its content and exactly the time that its writer read from the clock.

mod bounds;
mod check;
mod long;
mod plans;
mod world;

use crate::trail::{explore, least, sample, Sample};
use plans::{Plan, LONG, PLAN};
use world::World;

fn run(plan: Plan) -> u64 {
    run_some(plan, sample(plan.one_in))
}

fn run_some(plan: Plan, some: Sample) -> u64 {
    let w = World::new(plan);
    let schedules = explore(&[], some, || w.one());
    println!("{schedules} schedules, at most {:?}", w.most.get());
    schedules
}

#[test]
fn two_nested_writers_have_exact_times() {
    assert!(run(PLAN) > least(1000));
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
fn small_events_are_given_back() {
    // Without a length word, and after one that leaves the fast paths free; of a usual size and
    // another.
    run(Plan {
        sizes: &[8, 100],
        before: 1,
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
fn a_reader_finds_nothing_of_the_last_use() {
    // The second read goes on to a sub-buffer that was full and has less in it now.
    run(Plan {
        sizes: &[4056, 1300],
        before: 2,
        outer: 1,
        nested: 1,
        reads: 2,
        ..PLAN
    });
}

#[test]
fn a_reader_follows_who_left_on_the_way_out() {
    // The third event fills the sub-buffer; the nested one goes on while its writer leaves.
    run(Plan {
        sizes: &[1300],
        before: 2,
        outer: 1,
        nested: 1,
        reads: 3,
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
fn a_time_record_that_does_not_fit() {
    run(Plan {
        one_in: 5,
        sizes: &[2032],
        before: 1,
        clock: &[1, LONG],
        discards: true,
        ..PLAN
    });
}

#[test]
fn an_attached_sub_buffer_is_lapped() {
    run(Plan {
        sizes: &[4056],
        before: 1,
        has_read: true,
        reads: 1,
        ..PLAN
    });
}

#[test]
fn a_writer_takes_the_spare_that_the_reader_has_just_named() {
    run(Plan {
        sizes: &[4056],
        before: 2,
        has_read: true,
        outer: 1,
        reads: 1,
        ..PLAN
    });
}

#[test]
fn a_reader_that_consumes_nothing() {
    run(Plan {
        sizes: &[4056],
        before: 1,
        nested: 1,
        reads: 1,
        views: true,
        discards: true,
        ..PLAN
    });
}
