// SPDX-License-Identifier: GPL-2.0

//! The clocks of rtnative.
//!
//! rtrace makes its clock `local` inline where it can, and calls a function elsewhere; so there are two
//! of it here, with the same choice at run time. `sched_clock()` of user-mode Linux counts jiffies, and
//! that is what is inline; with `rtnative_cycles` it is rtrace's own `latch` instead, over parameters
//! like those that the kernel keeps on a machine.

#[allow(dead_code, reason = "one of its clocks is called here")]
#[cfg(not(rtnative_cycles))]
#[path = "../../../../rust/kapi/clock/call.rs"]
mod call;
#[path = "../../../../rust/kapi/clock/inline.rs"]
mod inline;
#[cfg(rtnative_cycles)]
#[path = "../../../../rust/kapi/clock/latch.rs"]
mod latch;

pub(crate) use inline::{
    read_left,
    GateClock,
    InlineClock,
    LEFT_CALLED,
    LEFT_MONO,
    LEFT_OTHER,
    LEFT_TSC, //
};
#[cfg(rtnative_cycles)]
use made_of::rt_scale;
use made_of::{
    by_call as sched_clock,
    now as now_at, //
};

use crate::ring::cpu::GateWord;
use kernel::prelude::*;

/// The numbers of the clocks.
#[derive(Clone, Copy)]
pub(crate) enum ClockId {
    /// A function is called.
    Called,
    /// Made here.
    Inline,
}

impl InlineClock {
    /// `clock`, if it is that.
    #[inline(always)]
    pub(crate) fn of(clock: ClockId) -> Option<Self> {
        // SAFETY: That is what `made_of` names.
        matches!(clock, ClockId::Inline).then(|| unsafe { Self::at(made_of::place()) })
    }
}

/// For a gate: the addresses of user-mode Linux are those of a process, without the highest bit.
const fn word_of(place: u64) -> u64 {
    place | GateWord::OPEN
}

/// What [`word_of`] was given.
#[inline(always)]
const fn place_of(word: u64) -> u64 {
    word & !GateWord::OPEN
}

/// What is left in the gates of rings whose clock is `clock`.
pub(crate) fn to_leave(clock: ClockId) -> GateClock {
    let function = match clock {
        ClockId::Called => LEFT_CALLED,
        ClockId::Inline => LEFT_OTHER,
    };
    let here = InlineClock::of(clock).and_then(GateClock::here);
    here.unwrap_or(GateClock::function(function))
}

/// The cycle counter, as rtrace's clock of it.
#[inline(always)]
pub(crate) fn tsc() -> u64 {
    // SAFETY: Reads the counter.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        core::arch::x86_64::_rdtsc()
    }
}

/// The clock `mono`, as rtrace's. No ring here has it.
#[inline(always)]
fn mono() -> u64 {
    // SAFETY: No requirements.
    unsafe { kernel::bindings::ktime_get_mono_fast_ns() }
}

/// Reads `clock`.
#[inline(always)]
pub(crate) fn read(clock: ClockId) -> u64 {
    match InlineClock::of(clock) {
        Some(here) => here.now().unwrap_or_else(made_of::by_call),
        None => by_call(clock),
    }
}

/// Reads `clock` by a function, which is found by its number.
#[inline(never)]
pub(crate) fn by_call(clock: ClockId) -> u64 {
    match clock {
        ClockId::Called => made_of::by_call(),
        // SAFETY: No requirements.
        ClockId::Inline => unsafe { kernel::bindings::ktime_get_mono_fast_ns() },
    }
}

/// Decides what the clocks are made of.
///
/// # Safety
///
/// Called once, before a clock is read.
pub(crate) unsafe fn choose(mul: u32, shift: u32) -> Result {
    // SAFETY: By the contract.
    unsafe { made_of::begin(mul, shift) };
    // The two are the same clock.
    let before = made_of::by_call();
    let here = InlineClock::of(ClockId::Inline).and_then(InlineClock::now);
    let behind = made_of::by_call();
    match here {
        Some(time) if (before..=behind).contains(&time) => Ok(()),
        _ => Err(EINVAL),
    }
}

/// What `sched_clock()` of user-mode Linux is made of.
#[cfg(not(rtnative_cycles))]
mod made_of {
    use core::ptr::with_exposed_provenance;
    use kernel::{
        bindings,
        time::NSEC_PER_SEC, //
    };

    /// `INITIAL_JIFFIES`: five minutes before the number has more than 32 bits.
    const FIRST: u64 = (300 * bindings::HZ).wrapping_neg() as u64;
    const JIFFY: u64 = NSEC_PER_SEC as u64 / bindings::HZ as u64;

    pub(super) fn place() -> u64 {
        (&raw const bindings::jiffies).expose_provenance() as u64
    }

    /// # Safety
    ///
    /// `place` is from [`place`].
    #[inline(always)]
    pub(super) unsafe fn now(place: u64) -> Option<u64> {
        // SAFETY: A variable of the kernel; a tick changes it in one store.
        let jiffies = unsafe { with_exposed_provenance::<u64>(place as usize).read_volatile() };
        Some(jiffies.wrapping_sub(FIRST).wrapping_mul(JIFFY))
    }

    pub(crate) use super::call::sched_clock as by_call;

    /// # Safety
    ///
    /// None.
    pub(super) unsafe fn begin(_mul: u32, _shift: u32) {}
}

/// What `sched_clock()` is made of where there is a cycle counter.
#[cfg(rtnative_cycles)]
mod made_of {
    use super::latch;
    use core::{
        cell::UnsafeCell,
        mem::offset_of, //
    };

    /// The parameters, as the kernel keeps them. It has one for each CPU; the base of `gs` is 0 in a
    /// process, so that an address is the place.
    #[repr(C)]
    struct Latch {
        mul: u32,
        shift: u32,
        offset: u64,
        other: [u64; 2],
        sequence: u32,
    }

    const _: () = assert!(offset_of!(Latch, mul) == latch::MUL as usize);
    const _: () = assert!(offset_of!(Latch, shift) == latch::SHIFT as usize);
    const _: () = assert!(offset_of!(Latch, offset) == latch::OFFSET as usize);
    const _: () = assert!(offset_of!(Latch, sequence) == latch::SEQUENCE as usize);

    /// As a variable that is alone in its cache lines.
    #[repr(align(64))]
    struct Still(UnsafeCell<Latch>);

    // SAFETY: Only `begin` writes it, before any reading.
    unsafe impl Sync for Still {}

    static LATCH: Still = Still(UnsafeCell::new(Latch {
        mul: 0,
        shift: 0,
        offset: 0,
        other: [0; 2],
        sequence: 0,
    }));

    /// As in rtrace's shim: what a CPU keeps, and there is one.
    #[repr(C, align(16))]
    pub(super) struct rt_scale {
        pub(super) factor: u64,
        pub(super) sequence: u32,
        pub(super) busy: u32,
    }

    #[expect(non_upper_case_globals, reason = "the name of C")]
    pub(super) static mut rt_scale: rt_scale = rt_scale {
        factor: 0,
        sequence: u32::MAX,
        busy: 0,
    };

    pub(super) fn place() -> u64 {
        LATCH.0.get().expose_provenance() as u64
    }

    /// # Safety
    ///
    /// `place` is from [`place`].
    #[inline(always)]
    pub(super) unsafe fn now(place: u64) -> Option<u64> {
        // SAFETY: That of the parameters, by the contract.
        unsafe { latch::now(place) }
    }

    #[inline(never)]
    pub(crate) fn by_call() -> u64 {
        // SAFETY: The place.
        unsafe { now(place()) }.unwrap_or(0)
    }

    /// # Safety
    ///
    /// Called before any clock is read.
    pub(super) unsafe fn begin(mul: u32, shift: u32) {
        let at = LATCH.0.get();
        // SAFETY: By the contract.
        unsafe {
            (&raw mut (*at).mul).write(mul);
            (&raw mut (*at).shift).write(shift);
            latch::refresh(place());
        }
    }
}
