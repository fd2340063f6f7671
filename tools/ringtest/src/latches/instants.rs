// SPDX-License-Identifier: GPL-2.0
//! A change at every instant of a reading, and of making the factor anew.
//!
//! The processor stops after each instruction of the reader. At one of them the writer of the
//! parameters goes on by some stores, and an interrupt there reads the clock, too, and makes the
//! factor anew. At all of them an NMI looks at the clock. All instants and all numbers of stores
//! are tried.

use super::{
    cycles,
    trap,
    Cpu,
    Latch,
    SETS,
    STORES, //
};
use crate::clock::rt_scale;
use crate::trail::{
    least,
    share, //
};
use std::sync::atomic::{
    AtomicBool,
    AtomicUsize,
    Ordering::SeqCst, //
};

static LATCH: Latch = Latch::new();
/// How many stores were done.
static DONE: AtomicUsize = AtomicUsize::new(0);
/// Up to where they are done, at which instruction, and how many that were.
static UP_TO: AtomicUsize = AtomicUsize::new(0);
static AT: AtomicUsize = AtomicUsize::new(0);
static SEEN: AtomicUsize = AtomicUsize::new(0);
/// Whether an interrupt reads there.
static INTERRUPTS: AtomicBool = AtomicBool::new(false);
/// Readings inside of others that had a time, and those that were of no set.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
static WRONG: AtomicUsize = AtomicUsize::new(0);

/// Does the stores up to the `up_to`th.
fn change(up_to: usize) {
    for store in DONE.load(SeqCst)..up_to {
        LATCH.store(store % STORES, &SETS[store / STORES + 1]);
    }
    DONE.store(up_to, SeqCst);
}

/// A reading in another one.
fn inside(read: fn(&Latch) -> Option<u64>) {
    let from = cycles();
    let time = read(&LATCH);
    let to = cycles();
    if let Some(time) = time {
        INSIDE.fetch_add(1, SeqCst);
        if !SETS.iter().any(|set| set.has(time, from, to)) {
            WRONG.fetch_add(1, SeqCst);
        }
    }
}

/// The processor has done one more instruction.
fn on_step() {
    if SEEN.fetch_add(1, SeqCst) == AT.load(SeqCst) {
        change(UP_TO.load(SeqCst));
        if INTERRUPTS.load(SeqCst) {
            inside(Latch::read);
            inside(Latch::read);
        }
    }
    inside(Latch::now);
}

/// How a reading begins.
#[derive(Clone, Copy, Debug)]
struct Begin {
    /// The number before the first change.
    number: u32,
    /// The CPU has a factor of that.
    knows: bool,
    interrupts: bool,
}

const BEGINS: [Begin; 3] = [
    begin(0, true, false),
    begin(0, false, true),
    begin(u32::MAX - 1, true, true),
];

const fn begin(number: u32, knows: bool, interrupts: bool) -> Begin {
    Begin {
        number,
        knows,
        interrupts,
    }
}

/// Counters, of which one is far enough to need all the bits.
const COUNTERS: [u64; 2] = [0x0123_4567_89ab_cdef, (1 << 40) - 1];

/// One reading, with the change going on from `from` to `to` at the instruction `at`: how many
/// there were, and whether it had a time and met a change.
fn one(cpu: &Cpu, begin: Begin, at: usize, from: usize, to: usize) -> (usize, bool, bool) {
    let what = || format!("{begin:?}, stores {from} to {to} at {at}");
    cpu.forget();
    LATCH.fill(&SETS[0]);
    LATCH.sequence.store(begin.number, SeqCst);
    DONE.store(0, SeqCst);
    if begin.knows {
        LATCH.refresh();
    }
    change(from);
    let number = LATCH.sequence.load(SeqCst);
    UP_TO.store(to, SeqCst);
    AT.store(at, SeqCst);
    SEEN.store(0, SeqCst);
    INTERRUPTS.store(begin.interrupts, SeqCst);
    WRONG.store(0, SeqCst);

    let counter = COUNTERS[at % COUNTERS.len()];
    let time = trap::in_steps(counter, Some(on_step), || LATCH.read());

    let steps = SEEN.load(SeqCst);
    let same = number == LATCH.sequence.load(SeqCst);
    assert_eq!(WRONG.load(SeqCst), 0, "of no set, inside: {}", what());
    match time {
        Some(time) => assert!(
            SETS.iter().any(|set| set.time(counter) == time),
            "{time:#x} is of no set: {}",
            what()
        ),
        None => assert!(
            !same || !begin.knows || number != begin.number,
            "{}",
            what()
        ),
    }
    // Whatever happened: when the change is over, the next reading but one has a time.
    change(to.next_multiple_of(STORES));
    LATCH.read();
    let from = cycles();
    let last = LATCH.read();
    let set = SETS[to.div_ceil(STORES)];
    assert!(
        last.is_some_and(|time| set.has(time, from, cycles())),
        "{}",
        what()
    );
    // SAFETY: `cpu` is the only one in this program.
    let busy = unsafe { (&raw const rt_scale.busy).read_volatile() };
    assert_eq!(busy, 0, "{}", what());
    (steps, time.is_some(), !same)
}

#[test]
fn a_change_at_every_instant() {
    let cpu = Cpu::get();
    INSIDE.store(0, SeqCst);
    let (mut changed, mut refused) = (0u64, 0u64);
    let (less, part) = share();
    let (less, part) = (less as usize, part as usize);
    for begin in BEGINS {
        for at in (part..).step_by(less) {
            let mut most = 0;
            for from in 0..=STORES {
                for to in from..=2 * STORES {
                    let (steps, has_time, met) = one(&cpu, begin, at, from, to);
                    most = most.max(steps);
                    changed += u64::from(has_time && met);
                    refused += u64::from(!has_time);
                }
            }
            assert!(most > 8, "only {most} instructions");
            if at > most {
                break;
            }
        }
    }
    let inside = INSIDE.load(SeqCst);
    assert!(
        changed > least(100) && refused > 100 && inside > 1000,
        "{changed} {refused} {inside}"
    );
}
