// SPDX-License-Identifier: GPL-2.0

//! The clocks of `trace_clock`.
//!
//! `local` is `sched_clock()`, what the kernel's `trace_clock_local()` calls. Most of that function is
//! the way to the few instructions that make the value. Where `cyc2ns` proves that they make the same
//! here, [`read`] has them inline (`latch`); everywhere else it calls the function.

mod call;
mod cyc2ns;
mod inline;
mod latch;

pub(crate) use self::inline::{
    read_left,
    GateClock,
    InlineClock,
    LEFT_CALLED,
    LEFT_MONO,
    LEFT_OTHER,
    LEFT_TSC, //
};
use self::{
    call::{
        mono,
        sched_clock, //
    },
    latch::now as now_at, //
};

use super::{
    c::{
        self,
        rt_scale, //
    },
    kernel_btf::{
        KernelBtf,
        NoBtf, //
    },
    raw_cell::RawCell, //
};
pub(crate) use crate::text::clock::ClockId;
use core::arch::asm;
use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// The clock `counter`: events of all instances.
static COUNTER: Atomic<i64> = Atomic::new(0);

/// What [`choose_local`] decides while the module is loaded, before a clock is read.
struct ClockChoice {
    /// Which clock is made here: `local`, or [`NO_CLOCK`]. [`read`] compares what it is asked for with
    /// this, so that the choice costs nothing.
    clock: u8,
    /// The per-CPU address of what `local` is made of, once `clock` names a clock.
    place: u64,
}

static CHOICE: RawCell<ClockChoice> = RawCell::new(ClockChoice {
    clock: NO_CLOCK,
    place: 0,
});

/// The number of no clock.
const NO_CLOCK: u8 = u8::MAX;

/// Returns what was decided.
#[inline(always)]
fn choice() -> &'static ClockChoice {
    // SAFETY: Only `choose_local` changes it, whose caller promises that no clock was read before.
    unsafe { &*CHOICE.get() }
}

/// Returns the word for a gate: a per-CPU variable has the address of a kernel's variable, and one that is
/// alone in its cache lines.
const fn word_of(place: u64) -> u64 {
    place
}

/// Returns what [`word_of`] was given.
#[inline(always)]
const fn place_of(word: u64) -> u64 {
    word
}

/// Returns what is left in the gates of rings whose clock is `clock`.
pub(crate) fn to_leave(clock: ClockId) -> GateClock {
    let function = || {
        GateClock::function(match clock {
            ClockId::Local => LEFT_CALLED,
            ClockId::X86Tsc => LEFT_TSC,
            ClockId::Mono => LEFT_MONO,
            _ => LEFT_OTHER,
        })
    };
    let here = InlineClock::of(clock).and_then(GateClock::here);
    here.unwrap_or_else(function)
}

/// Reads `clock`. Any context, NMI included; preemption is disabled.
#[inline(always)]
pub(crate) fn read(clock: ClockId) -> u64 {
    match InlineClock::of(clock) {
        Some(here) => here.now().unwrap_or_else(anew),
        None if clock == ClockId::X86Tsc => tsc(),
        None => by_call(clock),
    }
}

/// Returns nanoseconds since 1970. Any context, NMI included.
pub(crate) fn wall_ns() -> u64 {
    c::ktime_get_real_fast_ns()
}

impl InlineClock {
    /// Returns `clock`, if it is made here.
    #[inline(always)]
    pub(crate) fn of(clock: ClockId) -> Option<Self> {
        // SAFETY: No clock has the number `NO_CLOCK`; `choose_local` named one only because `cyc2ns` had
        // found and proven the place, and no per-CPU variable is at 0.
        (clock as u8 == choice().clock).then(|| unsafe { Self::at(choice().place) })
    }
}

/// Returns `local` when the kernel changes what it is made of, or has done so since this CPU read it; then
/// it is made here again from the next time on. As for [`read`], of the clock that is made here.
#[cold]
#[inline(never)]
fn anew() -> u64 {
    // SAFETY: The place is the one that `cyc2ns` had proven, for a clock is made here.
    unsafe { latch::refresh(choice().place) };
    sched_clock()
}

/// Reads `clock` by the kernel's function for it. Any context: all of them are made for tracing.
#[inline(never)]
pub(crate) fn by_call(clock: ClockId) -> u64 {
    match clock {
        ClockId::Local => sched_clock(),
        ClockId::Global => c::trace_clock_global(),
        ClockId::Counter => COUNTER.fetch_add(1, Relaxed).wrapping_add(1) as u64,
        ClockId::Uptime => c::trace_clock_jiffies(),
        ClockId::Perf => c::trace_clock(),
        ClockId::Mono => c::ktime_get_mono_fast_ns(),
        ClockId::MonoRaw => c::ktime_get_raw_fast_ns(),
        ClockId::Boot => c::ktime_get_boot_fast_ns(),
        ClockId::Tai => c::ktime_get_tai_fast_ns(),
        ClockId::X86Tsc => tsc(),
    }
}

/// Returns `sched_clock()`, not earlier and not later than it is called: a CPU may read its counter ahead.
pub(super) fn sched_clock_in_order() -> u64 {
    wait_for_loads();
    let value = sched_clock();
    wait_for_loads();
    value
}

/// Waits until all instructions before it are done; those after it begin then.
#[inline(always)]
fn wait_for_loads() {
    // SAFETY: It changes no register and no memory.
    unsafe { asm!("lfence", options(nostack, preserves_flags)) };
}

/// Returns `rdtsc_ordered()`: the clock `x86-tsc`. Any context.
#[inline(always)]
pub(crate) fn tsc() -> u64 {
    let time;
    wait_for_loads();
    // SAFETY: It reads the counter, and changes no register that is not named.
    unsafe {
        asm!(
            "rdtsc",
            "shl rdx, 32",
            "or rdx, rax",
            lateout("rax") _,
            lateout("rdx") time,
            options(nostack)
        );
    }
    time
}

/// Decides how `local` is read, and says so in the kernel log. Process context.
///
/// `wanted` is what the user thinks of it, `btf` the kernel's.
///
/// # Safety
///
/// Called once, before a clock is read.
pub(crate) unsafe fn choose_local(wanted: bool, btf: Result<&KernelBtf, NoBtf>) {
    let place = match wanted {
        true => cyc2ns::find(btf),
        false => Err("local_clock is 0"),
    };
    match place {
        Ok(place) => {
            let local = ClockChoice {
                clock: ClockId::Local as u8,
                place: place.address(),
            };
            // Volatile, or the compiler sees that there are but two values, keeps which one it is, and
            // makes the value of that at each reading.
            // SAFETY: The caller promises that no clock was read before, and that this is the only call.
            unsafe { CHOICE.get().write_volatile(local) };
            pr_info!("clock local: read inline, as sched_clock() does\n");
        }
        Err(why) => pr_info!("clock local: calls sched_clock(): {why}\n"),
    }
}

/// Returns how `local` is read, for programs.
pub(crate) fn local_way() -> &'static str {
    match choice().clock {
        NO_CLOCK => "sched_clock",
        _ => "inline",
    }
}
