// SPDX-License-Identifier: GPL-2.0

//! The hooks of the function profiler: how often functions are called, and how long their calls take. The
//! kernel calls them in any context, NMI included.
//!
//! A function has a row for each CPU. The hook at the entry counts in that of its own CPU, and the kernel
//! keeps with the call which row that was. The exit adds its time there, wherever the task runs by then, so
//! that hits and times of a row are of the same calls. Nothing that is called here is a function that can be
//! traced.

use super::exit::Exit;
use crate::{
    functions::table::{
        self,
        Place, //
    },
    kapi::{
        clock::{
            self,
            ClockId,
            InlineClock, //
        },
        cpus,
        grace_ref::GraceRef,
        percpu::{
            CpuPin,
            PinRef, //
        },
        publisher::PublishedRef,
        sums::Sums,
        words::LocalU64, //
    },
    ring::port::LocalWord,
    tasks::sleep::{
        TaskCall,
        TaskTimes, //
    },
    text::profile::ProfileTotals, //
};
use core::{
    cell::Cell,
    ffi::c_int, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// What the hook at the entry answers: the exit is to be hooked as well, or not.
const FOLLOWED: c_int = 0;
const IGNORED: c_int = 1;

/// What is counted of a function on a CPU.
#[repr(C)]
struct ProfileRow {
    /// Only that CPU counts here.
    hits: LocalU64,
    times: Sums,
}

/// The rows of some functions: those of the first CPU, then those of the next.
pub(crate) struct ProfileRows {
    functions: usize,
    rows: KVVec<ProfileRow>,
}

impl ProfileRows {
    /// Returns rows of so many functions, in which nothing was counted.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(functions: usize) -> Result<Self> {
        // A call has so many bits for the number of its function, and that of its CPU.
        u32::try_from(functions).map_err(|_| ENOMEM)?;
        u16::try_from(cpus::most()).map_err(|_| ENOMEM)?;
        let len = functions.checked_mul(cpus::most() as usize).ok_or(ENOMEM)?;
        let mut rows = KVVec::with_capacity(len, GFP_KERNEL)?;
        for _ in 0..len {
            let row = ProfileRow {
                hits: LocalWord::new(0),
                times: Sums::none(),
            };
            rows.push(row, GFP_KERNEL)?;
        }
        Ok(Self { functions, rows })
    }

    /// Returns the row of a function on a CPU, if there is one.
    #[inline(always)]
    fn row(&self, cpu: u32, function: u32) -> Option<&ProfileRow> {
        let first = (cpu as usize).wrapping_mul(self.functions);
        self.rows.get(first.wrapping_add(function as usize))
    }

    /// Returns what was counted of a function on a CPU.
    pub(crate) fn totals(&self, cpu: u32, function: u32) -> ProfileTotals {
        let Some(row) = self.row(cpu, function) else {
            return ProfileTotals::default();
        };
        let (time, squares) = row.times.get();
        ProfileTotals {
            hits: row.hits.get(),
            time,
            squares,
        }
    }
}

/// Where functions are counted.
pub(crate) struct ProfileDispatch {
    /// The number of each function in `rows`. It keeps it as long as the profiler counts: calls that have not
    /// ended know it by that.
    pub(crate) table: KVVec<Place>,
    pub(crate) rows: Arc<ProfileRows>,
    /// The sets of functions whose hooks count, one bit each.
    pub(crate) active: u64,
    /// What does not count of the times of tasks, if all does not.
    pub(crate) times: GraceRef<TaskTimes>,
    /// Times of calls do not count in those of their callers.
    pub(crate) own: bool,
}

impl ProfileDispatch {
    /// Counts a call of the function at `address`. Returns the number of the function, and above it that of
    /// the CPU.
    #[inline(always)]
    fn hit(&self, pin: &CpuPin, address: u64) -> Option<u64> {
        let function = table::find(&self.table, address)?;
        let cpu = pin.number();
        // Of this CPU, where `pin` keeps the caller.
        self.rows.row(cpu, function as u32)?.hits.add(1);
        Some(function | u64::from(cpu).wrapping_shl(u32::BITS))
    }
}

/// What the hooks follow. Hooks that began before another one was set may still follow the one before it.
pub(crate) static PROFILE_DISPATCH: PublishedRef<ProfileDispatch> = PublishedRef::none();

/// What the kernel keeps for the hook at the exit. Only the hooks of the call look there.
#[repr(C)]
struct ProfiledCall {
    /// The time of the entry.
    time: Cell<u64>,
    /// The number of the function, and above it those of the CPU and of the generation of the hook, of 16 bits
    /// each.
    row: Cell<u64>,
}

impl ProfiledCall {
    /// Notes a call at `time`.
    #[inline(always)]
    fn note(&self, time: u64, row: u64) {
        self.time.set(time);
        self.row.set(row);
    }
}

/// Counts a call of the function at `address`. Returns whether its exit is to be ignored.
///
/// # Safety
///
/// Called by the kernel at the beginning of a function, with a place of two words for `call`, and preemption disabled,
/// which `pin` stands for: it has no bytes.
#[no_mangle]
unsafe extern "C" fn rtrace_profile_entry(
    number: u32,
    generation: u32,
    address: u64,
    call: &ProfiledCall,
    pin: PinRef<'_>,
) -> c_int {
    enter(number, generation, address, call, pin)
}

/// As [`rtrace_profile_entry`].
#[inline(always)]
fn enter(
    number: u32,
    generation: u32,
    address: u64,
    call: &ProfiledCall,
    pin: PinRef<'_>,
) -> c_int {
    let Some(dispatch) = PROFILE_DISPATCH.get(pin.pin()) else {
        return IGNORED;
    };
    if dispatch.active & 1u64.wrapping_shl(number) == 0 {
        return IGNORED;
    }
    let Some(row) = dispatch.hit(pin.pin(), address) else {
        return IGNORED;
    };
    let row = row | u64::from(generation).wrapping_shl(48);
    // As late as can be: what the hook takes is no part of the call.
    let Some(time) = InlineClock::of(ClockId::Local).and_then(|clock| clock.now()) else {
        return enter_by_call(row, call);
    };
    call.note(time, row);
    FOLLOWED
}

/// Ends [`rtrace_profile_entry`] where the clock is a function, or its parameters have changed.
#[cold]
#[inline(never)]
extern "C" fn enter_by_call(row: u64, call: &ProfiledCall) -> c_int {
    call.note(clock::read(ClockId::Local), row);
    FOLLOWED
}

/// Adds the time of a call that returns.
///
/// # Safety
///
/// Called by the kernel at the end of a function, with the `call` that a hook at its entry has noted, and preemption
/// disabled, which `pin` stands for.
#[no_mangle]
unsafe extern "C" fn rtrace_profile_exit(generation: u32, call: &ProfiledCall, pin: PinRef<'_>) {
    let (time, row) = (call.time.get(), call.row.get());
    match InlineClock::of(ClockId::Local).and_then(|clock| clock.now()) {
        Some(now) => leave_at(now, generation, time, row, pin),
        None => leave_by_call(generation, time, row, pin),
    }
}

/// As [`rtrace_profile_exit`], where the clock is a function, or its parameters have changed.
#[cold]
#[inline(never)]
extern "C" fn leave_by_call(generation: u32, time: u64, row: u64, pin: PinRef<'_>) {
    leave_at(clock::read(ClockId::Local), generation, time, row, pin);
}

/// Adds the time of a call that began at `time`.
#[inline(always)]
fn leave_at(now: u64, generation: u32, time: u64, row: u64, pin: PinRef<'_>) {
    // The kernel knows a set of functions by its place, which may have become that of another one.
    if row.wrapping_shr(48) != u64::from(generation) {
        return;
    }
    let Some(dispatch) = PROFILE_DISPATCH.get(pin.pin()) else {
        return;
    };
    let cpu = row.wrapping_shr(u32::BITS) as u16;
    if let Some(row) = dispatch.rows.row(cpu.into(), row as u32) {
        // The clocks of two CPUs may differ by a little.
        row.times.add(now.saturating_sub(time));
    }
}

/// As [`rtrace_profile_entry`], and keeps what does not count of the task's time.
///
/// # Safety
///
/// As for [`rtrace_profile_entry`], with a place of three words for `call`.
#[no_mangle]
unsafe extern "C" fn rtrace_profile_task_entry(
    number: u32,
    generation: u32,
    address: u64,
    call: &TaskCall<ProfiledCall>,
    pin: PinRef<'_>,
) -> c_int {
    let answer = enter(number, generation, address, &call.call, pin);
    if answer == FOLLOWED {
        let times = PROFILE_DISPATCH
            .get(pin.pin())
            .and_then(|dispatch| dispatch.times.get());
        call.begin(pin.pin(), times, call.call.time.get());
    }
    answer
}

/// As [`rtrace_profile_exit`], where not all time of a call counts.
///
/// # Safety
///
/// As for [`rtrace_profile_exit`].
#[no_mangle]
unsafe extern "C" fn rtrace_profile_task_exit(
    generation: u32,
    whole: &TaskCall<ProfiledCall>,
    pin: PinRef<'_>,
) {
    let (time, row) = (whole.call.time.get(), whole.call.row.get());
    let now = clock::read(ClockId::Local);
    if row.wrapping_shr(48) != u64::from(generation) {
        return;
    }
    let Some(dispatch) = PROFILE_DISPATCH.get(pin.pin()) else {
        return;
    };
    let Some(times) = dispatch.times.get() else {
        return;
    };
    let taken = whole.taken(times, pin.pin(), now);
    let counts = now.saturating_sub(time).saturating_sub(taken);
    if dispatch.own {
        // Once for all callers: each takes off what its own calls have left.
        times.take(pin.pin(), counts);
    }
    leave_at(time.wrapping_add(counts), generation, time, row, pin);
}

/// Counts a call of the function at `address`, and nothing else.
///
/// # Safety
///
/// Called by the kernel at the beginning of a function.
#[no_mangle]
unsafe extern "C" fn rtrace_profile_hit(
    address: u64,
    _caller: u64,
    _ops: *mut c_void,
    _regs: *mut c_void,
) {
    let exit = Exit::begin();
    if let Some(dispatch) = PROFILE_DISPATCH.get(exit.pin().pin()) {
        dispatch.hit(exit.pin().pin(), address);
    }
    exit.end();
}
