// SPDX-License-Identifier: GPL-2.0
//! The long exploration: every plan of the list, its schedules divided among threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Instant;

use super::bounds::Most;
use super::plans::{Plan, LONG_PLANS};
use super::world::World;
use crate::trail::{explore, number_of, parse, split, Choice, Sample, ALL};

/// Sets of schedules that make up all of the plan, small enough to be dealt out.
fn divide(plan: Plan) -> Vec<Vec<Choice>> {
    let w = World::new(plan);
    let mut sets = split(&[], || w.one());
    let rest = sets.split_off(1);
    for set in rest {
        sets.extend(split(&set, || w.one()));
    }
    sets
}

/// Explores `plan` on `threads` threads; returns the schedules and the largest numbers.
fn run(plan: Plan, sample: Sample, threads: usize) -> (u64, Most) {
    let sets = divide(plan);
    let next = AtomicUsize::new(0);
    let sum = Mutex::new((0, Most::default()));
    let work = || {
        let w = World::new(plan);
        let mut schedules = 0;
        while let Some(set) = sets.get(next.fetch_add(1, Ordering::Relaxed)) {
            schedules += explore(set, sample, || w.one());
        }
        let mut sum = sum.lock().unwrap();
        *sum = (sum.0 + schedules, sum.1.max(w.most.get()));
    };
    std::thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(work);
        }
    });
    sum.into_inner().unwrap()
}

/// `RTRACE_EXPLORE_ONE_IN=n RTRACE_EXPLORE_PART=k` explores about one part in n, and each k another
/// one; `RTRACE_EXPLORE_PLAN=text` only the plan of that name, or plans with the text in their names;
/// `RTRACE_EXPLORE_THREADS` is obeyed.
#[test]
#[ignore = "an hour"]
fn all_plans() {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = number_of("RTRACE_EXPLORE_THREADS", cpus as u64) as usize;
    let (less, part) = (
        number_of("RTRACE_EXPLORE_ONE_IN", 1),
        number_of("RTRACE_EXPLORE_PART", 0),
    );
    let only = std::env::var("RTRACE_EXPLORE_PLAN").unwrap_or_default();
    let (mut all, mut complete) = (0, 0);
    let (mut most, began) = (Most::default(), Instant::now());
    let is_name = LONG_PLANS.iter().any(|p| p.name == only);
    let is_wanted = |name: &str| match is_name {
        true => name == only,
        false => name.contains(&only),
    };
    for plan in LONG_PLANS.iter().filter(|p| is_wanted(p.name)) {
        let one_in = plan.one_in * less;
        let part = part % one_in;
        let start = Instant::now();
        let (schedules, m) = run(*plan, Sample::new(one_in, part), threads);
        let seconds = start.elapsed().as_secs_f64();
        let what = match one_in {
            1 => "complete".to_string(),
            n => format!("1 in {n}"),
        };
        println!(
            "explored {schedules:>11}  {what:<10} {seconds:>6.0}s  {}",
            plan.name
        );
        all += schedules;
        complete += if one_in == 1 { schedules } else { 0 };
        most = most.max(m);
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "sum      {all:>11}  {complete} of them in complete plans, {seconds:.0}s, {:.0} per second and thread",
        all as f64 / seconds / threads as f64
    );
    println!("at most  {most:?}");
    assert_ne!(all, 0, "no such plan");
}

/// The schedule `RTRACE_EXPLORE_SCHEDULE`, as a failure printed it, of the plan named
/// `RTRACE_EXPLORE_PLAN`.
#[test]
#[ignore = "needs a schedule"]
fn one_schedule() {
    let name = std::env::var("RTRACE_EXPLORE_PLAN").unwrap_or_default();
    let schedule = std::env::var("RTRACE_EXPLORE_SCHEDULE").unwrap_or_default();
    let plan = LONG_PLANS.iter().find(|p| p.name == name);
    let w = World::new(*plan.unwrap_or(&LONG_PLANS[0]));
    let prefix = parse(&schedule);
    let alone = Sample::new(u64::MAX, 0);
    explore(&prefix, alone, || w.one());
}

#[test]
fn threads_explore_what_one_does() {
    let plan = Plan {
        sizes: &[1300, 4056],
        nested: 1,
        reads: 1,
        ..super::PLAN
    };
    let whole = super::run_some(plan, ALL);
    let (schedules, most) = run(plan, ALL, 3);
    assert_eq!(schedules, whole);
    assert!(most.reserve > 0);
}
