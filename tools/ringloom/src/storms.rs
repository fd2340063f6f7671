// SPDX-License-Identifier: GPL-2.0
//! Larger rings than loom can explore: random schedules of a writing CPU with interrupts and of a
//! reader that does everything it can, operation by operation. Memory is sequentially consistent
//! here.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

use shuttle::rand::{thread_rng, Rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};

use crate::many::Many;
use crate::ring::cpu::DISABLE_USER;
use crate::runs::{long, tell};
use crate::world::reached::*;
use crate::world::{Plan, World, ONE};

/// Schedules of each test.
fn schedules() -> usize {
    if long() {
        1_000_000
    } else {
        5_000
    }
}

/// The seed of the schedules: the same each time, or another one if there is time for many.
fn seed() -> u64 {
    if !long() {
        return 3;
    }
    let since = std::time::UNIX_EPOCH.elapsed().unwrap();
    since.as_nanos() as u64
}

/// Runs one world in which everything is random.
fn storm(switches: bool) -> u64 {
    let mut lots = thread_rng();
    let discards: &'static [u64] = [&[][..], &[2, 3, 7], &[1, 4, 5, 9]][lots.gen_range(0..3)];
    let plan = Plan {
        slots: lots.gen_range(2..=3),
        len: [3000, 2024, 1000][lots.gen_range(0..3)],
        overwrite: lots.gen_range(0..3) != 0,
        writes: lots.gen_range(4..=8),
        nested: [(); 2].map(|()| lots.gen::<bool>().then(|| lots.gen_range(0..250))),
        discards,
    };
    let turns = lots.gen_range(2..=8);
    World::<Many>::beside(plan, |w| {
        let after = Cell::new(None);
        for _ in 0..turns {
            match thread_rng().gen_range(0..if switches { 7 } else { 6 }) {
                0 => _ = w.read(1),
                1 => _ = w.read(usize::MAX),
                2 => _ = w.image(),
                3 => after.set(w.view(None)),
                4 => after.set(w.view(after.get())),
                5 => w.stats(),
                _ => {
                    w.ring.set_disabled(DISABLE_USER, true);
                    w.read(usize::MAX);
                    w.ring.set_disabled(DISABLE_USER, false);
                }
            }
        }
    })
}

fn run(name: &str, scheduler: impl Scheduler + 'static, expected: u64) {
    let began = Instant::now();
    let reached = Arc::new(AtomicU64::new(0));
    let all = reached.clone();
    let mut config = Config::new();
    config.stack_size = 1 << 17;
    config.failure_persistence = shuttle::FailurePersistence::Print;
    let runs = Runner::new(scheduler, config).run(move || {
        all.fetch_or(storm(expected & DISABLED != 0), Ordering::Relaxed);
    });
    tell(name, runs as u64, began, "by lot");
    let expected = expected | OPEN | FULL | SPARE | LOST | DROPPED | COMMIT_OVERRUN;
    let expected = expected | RACING | NESTED | PADDED | OWN;
    let missing = expected & !reached.load(Ordering::Relaxed);
    assert_eq!(missing, 0, "never happened");
}

#[test]
fn random_schedules() {
    run(
        "random",
        RandomScheduler::new_from_seed(seed(), schedules()),
        0,
    );
}

#[test]
fn schedules_of_few_preemptions() {
    run(
        "few preemptions",
        PctScheduler::new_from_seed(seed(), 4, schedules()),
        TORN,
    );
}

#[test]
fn recording_is_switched_meanwhile() {
    run(
        "switched",
        RandomScheduler::new_from_seed(seed(), schedules()),
        DISABLED,
    );
}

#[test]
fn smallest_rings() {
    // The same small world again and again: what loom does, with more events.
    let began = Instant::now();
    let scheduler = PctScheduler::new_from_seed(seed(), 3, schedules());
    let runs = Runner::new(scheduler, Config::new()).run(|| {
        World::<Many>::beside(Plan { writes: 7, ..ONE }, |w| {
            for _ in 0..4 {
                w.read(usize::MAX);
            }
        });
    });
    tell("smallest", runs as u64, began, "by lot");
}
