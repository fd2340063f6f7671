// SPDX-License-Identifier: GPL-2.0
//! What takes a CPU, told apart: soft interrupts and interrupts at every instant of a thread's section, by
//! exhaustion. Each takes what it took by itself, whatever interrupted it.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;

use crate::latency::noise::{CpuNoise, Noise, NoiseKind};
use crate::sim::{unhook, with_hook, Word};
use crate::trail::{choose, explore, schedule, ALL};

const WORKLOAD: u32 = 7;
const OTHER: u32 = 9;
/// What a section of each level takes by itself.
const TAKES: [u64; 3] = [1000, 100, 10];

/// What a clock says that always has a time.
type Time = Result<u64, Infallible>;

struct World {
    noise: CpuNoise<Word>,
    time: Cell<u64>,
    level: Cell<usize>,
    left: Cell<usize>,
    seen: RefCell<[u64; 3]>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
}

fn instant() {
    // SAFETY: set by `one` for as long as the hook is there.
    let world = unsafe { &*WORLD.get() };
    let level = world.level.get();
    if world.left.get() == 0 || level == 2 {
        return;
    }
    let chosen = usize::from(choose(3 - level as u8));
    if chosen != 0 {
        world.left.set(world.left.get() - 1);
        world.interrupt(level + chosen);
    }
}

impl World {
    fn now(&self) -> Time {
        Ok(self.time.get())
    }

    fn works(&self, level: usize) {
        self.time.set(self.time.get() + TAKES[level]);
    }

    /// A soft interrupt (level 1) or an interrupt (2).
    fn interrupt(&self, level: usize) {
        let before = self.level.replace(level);
        let kind = [NoiseKind::SoftIrq, NoiseKind::Irq][level - 1];
        let Ok(()) = self.noise.enter(kind, || self.now());
        self.works(level);
        let start = self.time.get();
        let Ok(noise) = self.noise.leave(kind, || self.now());
        let noise = noise.expect("it was there");
        assert_eq!(noise.duration, TAKES[level], "{kind:?} in {}", schedule());
        assert!(noise.start < start);
        self.seen.borrow_mut()[level] += 1;
        self.level.set(before);
    }

    fn one(&self) {
        WORLD.set(self);
        self.noise.begin(Some(WORKLOAD), false);
        with_hook(instant, || {
            let (time, begun) = self.noise.look(|| self.time.get(), || 0);
            assert_eq!(self.noise.switch(WORKLOAD, OTHER, || self.now()), Ok(None));
            self.works(0);
            let Ok(noise) = self.noise.switch(OTHER, WORKLOAD, || self.now());
            let duration = noise.map(|noise| noise.duration);
            assert_eq!(duration, Some(TAKES[0]), "the thread, in {}", schedule());
            // The workload sees how many there were while it did not run.
            let (later, more) = self.noise.look(|| self.time.get(), || 0);
            assert!(later - time >= TAKES[0]);
            assert!(more > begun, "in {}", schedule());
        });
        unhook();
        let counts = self.noise.counts();
        let seen = self.seen.borrow();
        let all = (counts.threads, counts.softirqs, counts.irqs);
        assert_eq!(all, (1, seen[1], seen[2]), "in {}", schedule());
    }
}

fn run(interrupts: usize) -> u64 {
    explore(&[], ALL, || {
        World {
            noise: CpuNoise::new(),
            time: Cell::new(1 << 40),
            level: Cell::new(0),
            left: Cell::new(interrupts),
            seen: RefCell::default(),
        }
        .one();
    })
}

#[test]
fn each_takes_what_it_took_by_itself() {
    let schedules = run(3);
    println!("{schedules} schedules");
    assert!(schedules > 1000, "{schedules}");
}

/// What such a clock says.
fn at(time: u64) -> Time {
    Ok(time)
}

#[test]
fn what_is_between_two_looks_was_begun_between_them() {
    let noise: CpuNoise<Word> = CpuNoise::new();
    noise.begin(Some(WORKLOAD), false);
    let (_, before) = noise.look(|| 5, || 0);
    let Ok(()) = noise.enter(NoiseKind::Irq, || at(6));
    assert_eq!(noise.look(|| 7, || 0).1, before + 1);
}

#[test]
fn others_count_as_what_began() {
    let noise: CpuNoise<Word> = CpuNoise::new();
    noise.begin(Some(WORKLOAD), false);
    let (time, others) = (Cell::new(0), Cell::new(0));
    // One comes between the count and the clock: the clock is read again.
    let now = || {
        time.set(time.get() + 1);
        others.set(time.get().min(2));
        time.get()
    };
    let (_, before) = noise.look(|| 0, || 0);
    assert_eq!(noise.look(now, || others.get()), (3, before + 2));
}

#[test]
fn what_began_before_is_not_told() {
    let noise: CpuNoise<Word> = CpuNoise::new();
    let Ok(()) = noise.enter(NoiseKind::Irq, || at(1));
    noise.begin(Some(WORKLOAD), false);
    assert_eq!(noise.leave(NoiseKind::Irq, || at(10)), Ok(None));
    assert_eq!(noise.switch(OTHER, WORKLOAD, || at(11)), Ok(None));
    let Ok(()) = noise.enter(NoiseKind::SoftIrq, || at(12));
    noise.end();
    assert_eq!(noise.leave(NoiseKind::SoftIrq, || at(20)), Ok(None));
    noise.begin(Some(WORKLOAD), false);
    let later = noise.leave(NoiseKind::SoftIrq, || at(30));
    assert_eq!(later, Ok(None), "of before");
}

#[test]
fn what_delays_the_thread_begins_with_the_tick() {
    let noise: CpuNoise<Word> = CpuNoise::new();
    let time = Cell::new(1000);
    let now = || at(time.get());
    let passes = |ns: u64| time.set(time.get() + ns);
    noise.begin(Some(WORKLOAD), true);
    // Before a tick nothing but interrupts is told of.
    assert_eq!(noise.switch(WORKLOAD, OTHER, now), Ok(None));
    passes(70);
    let Ok(()) = noise.enter(NoiseKind::SoftIrq, now);
    passes(50);
    // The tick, in an interrupt in a soft interrupt in a thread.
    let Ok(()) = noise.enter(NoiseKind::Irq, now);
    passes(3);
    noise.tick();
    passes(4);
    let duration = |Ok(noise): Result<Option<Noise>, Infallible>| noise.map(|noise| noise.duration);
    assert_eq!(duration(noise.leave(NoiseKind::Irq, now)), Some(7));
    passes(20);
    assert_eq!(duration(noise.leave(NoiseKind::SoftIrq, now)), Some(20));
    passes(5);
    // The thread: what it did after the soft interrupt, and what that did before the tick.
    assert_eq!(duration(noise.switch(OTHER, WORKLOAD, now)), Some(55));
    noise.answered();
    assert_eq!(noise.switch(WORKLOAD, OTHER, now), Ok(None));
    passes(9);
    assert_eq!(noise.switch(OTHER, WORKLOAD, now), Ok(None));
}

/// A clock that has no time at hand has changed nothing: the same is done again with one that has.
#[test]
fn without_a_time_nothing_changes() {
    let no_time = || Err(());
    // Each step is tried without a time before it is done, or is not.
    let run = |tries: bool| {
        let noise: CpuNoise<Word> = CpuNoise::new();
        let (enter, leave) = (
            |kind, time| {
                assert!(!tries || noise.enter(kind, no_time).is_err());
                let Ok(()) = noise.enter(kind, || at(time));
            },
            |kind, time| {
                assert!(!tries || noise.leave(kind, no_time).is_err());
                noise.leave(kind, || at(time))
            },
        );
        let switch = |prev, next, time| {
            assert!(!tries || noise.switch(prev, next, no_time).is_err());
            noise.switch(prev, next, || at(time))
        };
        noise.begin(Some(WORKLOAD), false);
        let first = switch(WORKLOAD, OTHER, 10);
        enter(NoiseKind::SoftIrq, 20);
        enter(NoiseKind::Irq, 30);
        let told = [
            first,
            leave(NoiseKind::Irq, 33),
            leave(NoiseKind::SoftIrq, 60),
            switch(OTHER, OTHER + 1, 70),
            switch(OTHER + 1, WORKLOAD, 75),
        ];
        (told, noise.counts(), noise.look(|| 80, || 0))
    };
    let took = run(false)
        .0
        .map(|Ok(noise)| noise.map(|noise| (noise.start, noise.duration)));
    let expected = [
        None,
        Some((30, 3)),
        Some((20, 37)),
        Some((10, 20)),
        Some((70, 5)),
    ];
    assert_eq!(took, expected);
    assert_eq!(run(true), run(false));
}
