// SPDX-License-Identifier: GPL-2.0

//! Who called the current function, in the kernel and in user space.
//!
//! Called by probes in any context, NMI included: nothing is locked or allocated. The kernel writes
//! callers into memory of the CPU that [`prepare`] got, before anybody asks; there is a part of it for
//! each level of nesting, and an event that comes when all are in use gets no stack. The memory goes
//! with the module, in [`exit`].

use super::{
    c,
    late::Late,
    percpu::CpuPin,
    words::LocalU64, //
};
use crate::{
    ring::port::LocalWord,
    text::stack::USER_DEPTH, //
};
use core::cell::UnsafeCell;
use kernel::{
    bindings,
    prelude::*, //
};

/// Most callers of a stack: as many as a record holds.
pub(crate) const DEPTH: usize = 507;

/// Writers that may be interrupted by each other while they look at the stack: task, soft interrupt,
/// interrupt, NMI.
const LEVELS: usize = 4;

/// What one CPU has.
struct Place {
    /// Levels in use.
    used: LocalU64,
    /// Somebody looks at user space: faults are events.
    user: LocalU64,
    levels: UnsafeCell<KVVec<u64>>,
}

// SAFETY: Only the CPU itself uses `levels`, and each level of nesting its own part.
unsafe impl Sync for Place {}
// SAFETY: Nothing in it belongs to a thread.
unsafe impl Send for Place {}

static PLACES: Late<Place> = Late::new();

/// Gets the memory. Process context.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn prepare() -> Result {
    PLACES.prepare(|_| {
        Ok(Place {
            used: LocalWord::new(0),
            user: LocalWord::new(0),
            levels: UnsafeCell::new(KVVec::from_elem(0, LEVELS * DEPTH, GFP_KERNEL)?),
        })
    })
}

/// Frees the memory.
///
/// # Safety
///
/// No probe runs any more, and nobody calls anything here.
pub(crate) unsafe fn exit() {
    // SAFETY: By the contract.
    unsafe { PLACES.free() };
}

/// Calls `f` with the callers in the kernel, the innermost first, without those that record: this module,
/// and `module` if it is not null.
pub(crate) fn with_callers(pin: &CpuPin, module: *const bindings::module, f: impl FnOnce(&[u64])) {
    let Some(place) = PLACES.this(pin) else {
        return;
    };
    let level = place.used.get();
    if level >= LEVELS as u64 {
        return;
    }
    // Whoever interrupts between the two leaves the word as it was.
    place.used.set(level.wrapping_add(1));
    // SAFETY: `levels` is made once and never changes its place.
    let all = unsafe { (*place.levels.get()).as_mut_ptr() };
    // SAFETY: A part of its own for each level, inside of the memory; it is ours while `used` counts
    // us.
    let part = unsafe {
        core::slice::from_raw_parts_mut(all.add((level as usize).wrapping_mul(DEPTH)), DEPTH)
    };
    // SAFETY: Writes at most so many addresses.
    let found = unsafe { bindings::stack_trace_save(part.as_mut_ptr().cast(), DEPTH as u32, 0) };
    let callers = part.get(..found as usize).unwrap_or_default();
    // SAFETY: Only compares addresses; the module is there while its probe runs.
    let recorder = |address: u64| unsafe { c::rt_is_recorder(module, address as usize) };
    let first = callers
        .iter()
        .position(|address| !recorder(*address))
        .unwrap_or(callers.len());
    f(callers.get(first..).unwrap_or_default());
    place.used.set(level);
}

/// Calls `f` with the process and its callers in user space, the innermost first and zeros behind them.
///
/// Not for NMI, and not while this CPU is in here: memory of user space may have to be found first,
/// and that makes events.
pub(crate) fn with_user_callers(pin: &CpuPin, f: impl FnOnce(u32, &[u64; USER_DEPTH])) {
    let Some(place) = PLACES.this(pin) else {
        return;
    };
    if place.user.get() != 0 {
        return;
    }
    place.user.set(1);
    let (mut process, mut callers) = (0, [0; USER_DEPTH]);
    // SAFETY: Writes the number and at most so many addresses.
    unsafe { c::rt_user_stack(&mut process, callers.as_mut_ptr(), USER_DEPTH as u32) };
    f(process, &callers);
    place.user.set(0);
}
