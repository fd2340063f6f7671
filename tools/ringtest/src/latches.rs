// SPDX-License-Identifier: GPL-2.0
//! The clock made of a latch: `rust/kapi/clock/latch.rs`, with all parameters and all counters, and
//! while another CPU changes the parameters. `instants` has every instant of a change.

mod instants;
mod trap;

use crate::clock::{
    latch,
    rt_scale, //
};
use crate::trail::share;
use proptest::prelude::*;
use std::arch::asm;
use std::hint::spin_loop;
use std::sync::atomic::{
    AtomicBool,
    AtomicU32,
    AtomicU64,
    Ordering::SeqCst, //
};
use std::sync::{
    Mutex,
    MutexGuard,
    PoisonError, //
};
use std::thread;

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

    /// One store of a change to `set`, in the kernel's order.
    fn store(&self, which: usize, set: &Set) {
        let [first, second] = &self.copies;
        match which {
            0 | 4 => {
                self.sequence.fetch_add(1, SeqCst);
            }
            1 => first.mul.store(set.mul, SeqCst),
            2 => first.shift.store(set.shift, SeqCst),
            3 => first.offset.store(set.offset, SeqCst),
            5 => second.mul.store(set.mul, SeqCst),
            6 => second.shift.store(set.shift, SeqCst),
            _ => second.offset.store(set.offset, SeqCst),
        }
    }

    fn place(&self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    fn now(&self) -> Option<u64> {
        // SAFETY: A program's `gs` has base 0, and this is the layout that `now` reads.
        unsafe { latch::now(self.place()) }
    }

    fn refresh(&self) {
        // SAFETY: The address and the layout are those of `now`; the caller is the only `Cpu`, or
        // interrupts it.
        unsafe { latch::refresh(self.place()) };
    }

    /// As `clock::read` does, without the function that is called then.
    fn read(&self) -> Option<u64> {
        let time = self.now();
        if time.is_none() {
            self.refresh();
        }
        time
    }
}

/// Stores of a change.
const STORES: usize = 8;

#[derive(Clone, Copy, Debug)]
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

    /// Whether a cycle is less than two nanoseconds.
    fn fits(&self) -> bool {
        u64::from(self.mul) < 2 << self.shift
    }
}

/// Three sets of parameters. What is made of parts of two is no time of any.
const SETS: [Set; 3] = [set(3, 1), set(4, 2), set(5, 3)];

/// No two factors are the same, nor are shifts of sets that follow each other.
const fn set(mul: u32, offset: u64) -> Set {
    Set {
        mul: mul << 20,
        shift: 23 + (mul & 1),
        offset: offset << 60,
    }
}

/// The cycle counter, in order.
fn cycles() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: Every x86-64 has this counter.
    unsafe { asm!("lfence", "rdtsc", "lfence", out("rax") low, out("rdx") high) };
    high << 32 | low
}

/// The only CPU: its state, [`rt_scale`], exists once in the program.
struct Cpu(MutexGuard<'static, ()>);

impl Cpu {
    /// One that has read no clock yet.
    fn get() -> Self {
        static ONE: Mutex<()> = Mutex::new(());
        let cpu = Self(ONE.lock().unwrap_or_else(PoisonError::into_inner));
        cpu.forget();
        cpu
    }

    fn forget(&self) {
        // SAFETY: This value has exclusive use of it.
        unsafe {
            (&raw mut rt_scale).write_volatile(rt_scale {
                factor: u64::MAX / 3,
                sequence: u32::MAX,
                busy: 0,
            });
        }
    }
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
    let cpu = Cpu::get();
    let latch = Latch::new();
    for mul in [0, 1, 3, 2047, 0x5555_5555, 0x8000_0000, u32::MAX] {
        for shift in [0, 1, 10, 22, 31, 32] {
            for offset in [0, 1, 1 << 40, 1 << 63, u64::MAX, u64::MAX << 50] {
                let set = Set { mul, shift, offset };
                latch.fill(&set);
                // The second copy is not read.
                latch.copies[1].mul.store(!mul, SeqCst);
                cpu.forget();
                // The highest number is that of no factor.
                for sequence in [0, 2, 1000, u32::MAX - 3] {
                    latch.sequence.store(sequence, SeqCst);
                    assert_eq!(latch.read(), None, "of a number that nobody has read");
                    let from = cycles();
                    let time = latch.read();
                    let to = cycles();
                    assert_eq!(time.is_some(), set.fits(), "{set:?}");
                    assert!(time.is_none_or(|time| set.has(time, from, to)), "{set:?}");
                    latch.sequence.store(sequence + 1, SeqCst);
                    assert_eq!((latch.read(), latch.read()), (None, None), "an odd number");
                }
            }
        }
    }
}

/// A resume changes the offset, and not the number.
#[test]
fn an_offset_of_the_same_number_is_seen() {
    let _cpu = Cpu::get();
    let latch = Latch::new();
    latch.fill(&SETS[0]);
    latch.refresh();
    for offset in [0, 1 << 60, u64::MAX] {
        let set = Set { offset, ..SETS[0] };
        latch.copies[0].offset.store(offset, SeqCst);
        let from = cycles();
        let time = latch.now().unwrap();
        assert!(set.has(time, from, cycles()));
    }
}

/// A factor that is too long leaves the previous one, with its number.
#[test]
fn a_cycle_of_two_nanoseconds_is_refused() {
    let _cpu = Cpu::get();
    let latch = Latch::new();
    for (mul, shift, fits) in [
        (2047, 10, true),
        (2048, 10, false),
        (u32::MAX, 31, true),
        (u32::MAX, 30, false),
        (1 << 31, 30, false),
        (1, 0, true),
        (2, 0, false),
        (1, 63, true),
        (1, 64, false),
        (0, u32::MAX, false),
    ] {
        assert_eq!(latch::factor(mul, shift).is_some(), fits, "{mul} {shift}");
        latch.fill(&Set {
            mul,
            shift,
            offset: 0,
        });
        latch.sequence.fetch_add(2, SeqCst);
        latch.refresh();
        assert_eq!(latch.now().is_some(), fits, "{mul} {shift}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000 / share().0 as u32))]

    /// The shipped instructions, with any counter: to the bit what the kernel's wider ones make of
    /// it.
    #[test]
    fn every_counter_is_exact(
        shift in 0_u32..=31, mul: u32, offset: u64, low: u64, less in 1_u32..64,
    ) {
        let set = Set { mul: mul >> (31 - shift), shift, offset };
        let _cpu = Cpu::get();
        let latch = Latch::new();
        latch.fill(&set);
        latch.refresh();
        for counter in [low >> less, (1 << (64 - less)) - 1] {
            prop_assert_eq!(trap::at_counter(counter, || latch.now()), Some(set.time(counter)));
        }
    }
}

/// Memory as it is between two CPUs: one changes, one reads.
#[test]
fn another_cpu_changes() {
    const VALUES: u32 = 1_000_000;
    const REFUSED: u32 = 1000;
    static LATCH: Latch = Latch::new();
    static DONE: AtomicBool = AtomicBool::new(false);
    let _cpu = Cpu::get();
    LATCH.fill(&SETS[0]);
    let changes = thread::spawn(|| {
        for set in SETS.iter().cycle().skip(1) {
            if DONE.load(SeqCst) {
                break;
            }
            (0..STORES).for_each(|which| LATCH.store(which, set));
            // Long enough to be read, or not quite.
            let rest = cycles() % 1024;
            (0..rest).for_each(|_| spin_loop());
        }
    });
    let (mut values, mut refused) = (0, 0);
    while values < VALUES || refused < REFUSED {
        let from = cycles();
        let time = LATCH.read();
        let to = cycles();
        let Some(time) = time else {
            refused += 1;
            continue;
        };
        let right = SETS.iter().any(|set| set.has(time, from, to));
        DONE.store(!right, SeqCst);
        assert!(right, "{time:#x} is of no set");
        values += 1;
    }
    DONE.store(true, SeqCst);
    changes.join().unwrap();
}
