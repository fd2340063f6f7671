// SPDX-License-Identifier: GPL-2.0
//! The clock made of a latch: `rust/kapi/clock/latch.rs`, at every instant of a change of its parameters.
//!
//! The processor stops behind each instruction of the reader, and at one of them whoever changes the
//! parameters goes on by some stores. All instants and all numbers of stores are tried.

use crate::latch;
use std::arch::asm;
use std::sync::atomic::{
    AtomicU32,
    AtomicU64,
    AtomicUsize,
    Ordering::SeqCst, //
};

/// One copy of the parameters, as in the kernel's `struct cyc2ns_data`.
#[repr(C)]
struct Copy {
    mul: AtomicU32,
    shift: AtomicU32,
    offset: AtomicU64,
}

/// `struct cyc2ns`.
#[repr(C)]
struct Latch {
    copies: [Copy; 2],
    sequence: AtomicU32,
}

impl Latch {
    const fn new() -> Self {
        const COPY: Copy = Copy {
            mul: AtomicU32::new(0),
            shift: AtomicU32::new(0),
            offset: AtomicU64::new(0),
        };
        Self {
            copies: [COPY; 2],
            sequence: AtomicU32::new(0),
        }
    }

    fn fill(&self, set: &Set) {
        for copy in &self.copies {
            copy.mul.store(set.mul, SeqCst);
            copy.shift.store(set.shift, SeqCst);
            copy.offset.store(set.offset, SeqCst);
        }
    }

    fn now(&self) -> Option<u64> {
        // SAFETY: A program's `gs` has base 0, and this is the layout that `now` reads.
        unsafe { latch::now(std::ptr::from_ref(self) as u64) }
    }
}

#[derive(Clone, Copy)]
struct Set {
    mul: u32,
    shift: u32,
    offset: u64,
}

impl Set {
    fn time(&self, cycles: u64) -> u64 {
        let product = u128::from(cycles) * u128::from(self.mul);
        ((product >> self.shift) as u64).wrapping_add(self.offset)
    }

    /// Whether it is a time of this set, of the counter from one value to another.
    fn has(&self, time: u64, from: u64, to: u64) -> bool {
        time.wrapping_sub(self.time(from)) <= self.time(to).wrapping_sub(self.time(from))
    }
}

/// The cycle counter, in order.
fn cycles() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: Reads the counter.
    unsafe { asm!("lfence", "rdtsc", "lfence", out("rax") low, out("rdx") high) };
    high << 32 | low
}

#[test]
fn layout_is_the_kernels() {
    use std::mem::{offset_of, size_of};
    let places = [
        (latch::MUL, offset_of!(Copy, mul)),
        (latch::SHIFT, offset_of!(Copy, shift)),
        (latch::OFFSET, offset_of!(Copy, offset)),
        (latch::SEQUENCE, offset_of!(Latch, sequence)),
    ];
    for (place, wanted) in places {
        assert_eq!(place as usize, wanted);
    }
    assert!(latch::SIZE as usize <= size_of::<Latch>());
}

#[test]
fn values_are_those_of_the_formula() {
    let latch = Latch::new();
    for mul in [0, 1, 3, 0x5555_5555, 0x8000_0000, u32::MAX] {
        for shift in [0, 1, 10, 22, 31] {
            for offset in [0, 1, 1 << 40, 1 << 63, u64::MAX, u64::MAX << 50] {
                let set = Set { mul, shift, offset };
                latch.fill(&set);
                // The second copy is nobody's business.
                latch.copies[1].mul.store(!mul, SeqCst);
                for sequence in [0, 2, 1000, u32::MAX - 1] {
                    latch.sequence.store(sequence, SeqCst);
                    let from = cycles();
                    let time = latch.now().unwrap();
                    let to = cycles();
                    assert!(set.has(time, from, to), "{mul} {shift} {offset}: {time}");
                    latch.sequence.store(sequence + 1, SeqCst);
                    assert_eq!(latch.now(), None);
                }
                // A resume changes the offset, and not the number.
                latch.sequence.store(4, SeqCst);
                let set = Set {
                    offset: offset.wrapping_add(1 << 60),
                    ..set
                };
                latch.copies[0].offset.store(set.offset, SeqCst);
                let from = cycles();
                let time = latch.now().unwrap();
                assert!(set.has(time, from, cycles()));
            }
        }
    }
}

/// Parameters before, between and after two changes. What is made of parts of two is no time of any.
const SETS: [Set; 3] = [set(1, 20), set(2, 17), set(3, 25)];

const fn set(factor: u32, shift: u32) -> Set {
    Set {
        mul: factor << shift,
        shift,
        offset: (factor as u64) << 58,
    }
}

/// Stores of one change, in the kernel's order.
const STORES: usize = 8;

static LATCH: Latch = Latch::new();
/// How many stores were done.
static DONE: AtomicUsize = AtomicUsize::new(0);
/// Up to where they are done, at which instruction, and how many that were.
static UP_TO: AtomicUsize = AtomicUsize::new(0);
static AT: AtomicUsize = AtomicUsize::new(0);
static SEEN: AtomicUsize = AtomicUsize::new(0);

/// Does the stores up to the `up_to`th.
fn change(up_to: usize) {
    for store in DONE.load(SeqCst)..up_to {
        let set = &SETS[store / STORES + 1];
        let [first, second] = &LATCH.copies;
        match store % STORES {
            0 | 4 => {
                LATCH.sequence.fetch_add(1, SeqCst);
            }
            1 => first.mul.store(set.mul, SeqCst),
            2 => first.shift.store(set.shift, SeqCst),
            3 => first.offset.store(set.offset, SeqCst),
            5 => second.mul.store(set.mul, SeqCst),
            6 => second.shift.store(set.shift, SeqCst),
            _ => second.offset.store(set.offset, SeqCst),
        }
    }
    DONE.store(up_to, SeqCst);
}

/// The processor has done one more instruction.
extern "C" fn on_step(_signal: i32) {
    if SEEN.fetch_add(1, SeqCst) == AT.load(SeqCst) {
        change(UP_TO.load(SeqCst));
    }
}

extern "C" {
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
}

const SIGTRAP: i32 = 5;

/// Reads while the processor stops behind each instruction.
fn now_in_steps() -> Option<u64> {
    // SAFETY: Sets the trap flag: `on_step` runs behind each instruction from here on.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let time = LATCH.now();
    // SAFETY: Takes it away.
    unsafe { asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
    time
}

#[test]
fn a_change_at_every_instant() {
    // SAFETY: The handler uses atomic words alone; nobody else here has this signal.
    unsafe { signal(SIGTRAP, on_step) };
    let (mut changed, mut refused) = (0, 0);
    for first in [0, u32::MAX - 1] {
        for at in 0.. {
            let mut steps = 0;
            for begin in 0..=2 * STORES {
                for end in begin..=2 * STORES {
                    LATCH.fill(&SETS[0]);
                    LATCH.sequence.store(first, SeqCst);
                    DONE.store(0, SeqCst);
                    change(begin);
                    let number = LATCH.sequence.load(SeqCst);
                    UP_TO.store(end, SeqCst);
                    AT.store(at, SeqCst);
                    SEEN.store(0, SeqCst);
                    let from = cycles();
                    let time = now_in_steps();
                    let to = cycles();
                    steps = SEEN.load(SeqCst);

                    let same = number == LATCH.sequence.load(SeqCst);
                    match time {
                        Some(time) => {
                            assert!(
                                SETS.iter().any(|set| set.has(time, from, to)),
                                "{time:#x} is of no set: stores {begin} to {end} at {at}"
                            );
                            changed += usize::from(!same);
                        }
                        None => {
                            assert!(!same || number % 2 == 1, "{begin} to {end} at {at}");
                            refused += 1;
                        }
                    }
                }
            }
            assert!(steps > 11, "only {steps} instructions");
            if at > steps {
                break;
            }
        }
    }
    assert!(changed > 100 && refused > 100, "{changed} {refused}");
}
