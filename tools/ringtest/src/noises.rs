// SPDX-License-Identifier: GPL-2.0
//! What takes a CPU, told apart: soft interrupts and interrupts at every instant of a thread's section, by
//! exhaustion. Each takes what it took by itself, whatever interrupted it.

use std::cell::{Cell, RefCell};

use crate::latency::noise::{CpuNoise, NoiseKind};
use crate::sim::{unhook, with_hook, Word};
use crate::trail::{choose, explore, schedule, ALL};

const WORKLOAD: u32 = 7;
const OTHER: u32 = 9;
/// What a section of each level takes by itself.
const TAKES: [u64; 3] = [1000, 100, 10];

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
    fn now(&self) -> u64 {
        self.time.get()
    }

    fn works(&self, level: usize) {
        self.time.set(self.time.get() + TAKES[level]);
    }

    /// A soft interrupt (level 1) or an interrupt (2).
    fn interrupt(&self, level: usize) {
        let before = self.level.replace(level);
        let kind = [NoiseKind::SoftIrq, NoiseKind::Irq][level - 1];
        self.noise.enter(kind, || self.now());
        self.works(level);
        let start = self.time.get();
        let noise = self.noise.leave(kind, || self.now());
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
            let (time, begun) = self.noise.look(|| self.now(), || 0);
            assert_eq!(self.noise.switch(WORKLOAD, OTHER, || self.now()), None);
            self.works(0);
            let noise = self.noise.switch(OTHER, WORKLOAD, || self.now());
            let duration = noise.map(|noise| noise.duration);
            assert_eq!(duration, Some(TAKES[0]), "the thread, in {}", schedule());
            // The workload sees how many there were while it did not run.
            let (later, more) = self.noise.look(|| self.now(), || 0);
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

#[test]
fn what_is_between_two_looks_was_begun_between_them() {
    let noise: CpuNoise<Word> = CpuNoise::new();
    noise.begin(Some(WORKLOAD), false);
    let (_, before) = noise.look(|| 5, || 0);
    noise.enter(NoiseKind::Irq, || 6);
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
    noise.enter(NoiseKind::Irq, || 1);
    noise.begin(Some(WORKLOAD), false);
    assert_eq!(noise.leave(NoiseKind::Irq, || 10), None);
    assert_eq!(noise.switch(OTHER, WORKLOAD, || 11), None);
    noise.enter(NoiseKind::SoftIrq, || 12);
    noise.end();
    assert_eq!(noise.leave(NoiseKind::SoftIrq, || 20), None);
    noise.begin(Some(WORKLOAD), false);
    assert_eq!(noise.leave(NoiseKind::SoftIrq, || 30), None, "of before");
}

#[test]
fn what_delays_the_thread_begins_with_the_tick() {
    let noise: CpuNoise<Word> = CpuNoise::new();
    let time = Cell::new(1000);
    let now = || time.get();
    let passes = |ns: u64| time.set(time.get() + ns);
    noise.begin(Some(WORKLOAD), true);
    // Before a tick nothing but interrupts is told of.
    assert_eq!(noise.switch(WORKLOAD, OTHER, now), None);
    passes(70);
    noise.enter(NoiseKind::SoftIrq, now);
    passes(50);
    // The tick, in an interrupt in a soft interrupt in a thread.
    noise.enter(NoiseKind::Irq, now);
    passes(3);
    noise.tick();
    passes(4);
    let duration = |noise: Option<crate::latency::noise::Noise>| noise.map(|noise| noise.duration);
    assert_eq!(duration(noise.leave(NoiseKind::Irq, now)), Some(7));
    passes(20);
    assert_eq!(duration(noise.leave(NoiseKind::SoftIrq, now)), Some(20));
    passes(5);
    // The thread: what it did after the soft interrupt, and what that did before the tick.
    assert_eq!(duration(noise.switch(OTHER, WORKLOAD, now)), Some(55));
    noise.answered();
    assert_eq!(noise.switch(WORKLOAD, OTHER, now), None);
    passes(9);
    assert_eq!(noise.switch(OTHER, WORKLOAD, now), None);
}
