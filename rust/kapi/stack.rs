// SPDX-License-Identifier: GPL-2.0

//! Who called the current function, in the kernel and in user space; and the stack of the current task.
//!
//! Called by probes in any context, NMI included: nothing is locked or allocated. The kernel writes
//! callers into memory of the CPU that [`prepare`] got before; there is a part of it for
//! each level of nesting, and an event that comes when all are in use gets no stack. The memory goes
//! with the module.

use super::{
    c,
    irqs,
    late::LazyPerCpu,
    percpu::CpuPin,
    raw_cell::RawCell,
    words::LocalU64, //
};
use crate::{
    ring::port::LocalWord,
    text::stack::USER_DEPTH, //
};
use core::ptr;
use kernel::{
    bindings,
    prelude::*,
    types::NotThreadSafe, //
};

/// Most callers of a stack: as many as a record holds.
pub(crate) const DEPTH: usize = 507;

/// Writers that may be interrupted by each other while they look at the stack: task, soft interrupt,
/// interrupt, NMI.
const LEVELS: usize = 4;

/// What one CPU has.
pub(super) struct CpuFrames {
    /// Levels in use.
    used: LocalU64,
    /// Whether a writer looks at user space: faults are events.
    user: LocalU64,
    /// Whether this CPU is in [`with_callers_of_call`].
    of_call: LocalU64,
    /// [`DEPTH`] words for each level, which the CPU itself uses while `used` counts the level.
    levels: [RawCell<KVVec<u64>>; LEVELS],
}

pub(super) static PLACES: LazyPerCpu<CpuFrames> = LazyPerCpu::new();

/// Allocates the memory. Process context.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn prepare() -> Result {
    let level = || -> Result<_> { Ok(RawCell::new(KVVec::from_elem(0, DEPTH, GFP_KERNEL)?)) };
    PLACES.prepare(|_| {
        Ok(CpuFrames {
            used: LocalWord::new(0),
            user: LocalWord::new(0),
            of_call: LocalWord::new(0),
            levels: [level()?, level()?, level()?, level()?],
        })
    })
}

/// Calls `f` with the callers in the kernel, the innermost first, without those that record: this module,
/// and `module` if it is not null.
#[inline(always)]
pub(crate) fn with_callers(pin: &CpuPin, module: *const bindings::module, f: impl FnOnce(&[u64])) {
    with_callers_of(pin, None, module, f);
}

/// Where a probe returns to, while it has not returned. C finds it.
#[repr(transparent)]
pub(crate) struct ProbeFrame(c::rt_frame);

/// As [`with_callers`], where the frame of the probe may be at hand.
#[inline(always)]
pub(crate) fn with_callers_of(
    pin: &CpuPin,
    frame: Option<&ProbeFrame>,
    module: *const bindings::module,
    f: impl FnOnce(&[u64]),
) {
    let Some(place) = PLACES.this(pin) else {
        return;
    };
    let level = place.used.get();
    let Some(room) = place.levels.get(level as usize) else {
        return;
    };
    // A writer that interrupts between the two leaves the word as it was.
    place.used.set(level.wrapping_add(1));
    // SAFETY: The room is that of this CPU, where `pin` keeps the caller, and of this level, which `used`
    // counts until the end of this function.
    let room = unsafe { &mut *room.get() };
    let (to, most) = (room.as_mut_ptr().cast(), DEPTH as u32);
    let found = match frame {
        // SAFETY: It writes at most `DEPTH` addresses, for which there is room; the probe has not returned.
        Some(frame) => unsafe { c::rt_callers_of(&frame.0, to, most) },
        // SAFETY: It writes at most `DEPTH` addresses, for which there is room.
        None => unsafe { bindings::stack_trace_save(to, most, 0) },
    };
    let callers = room.get(..found as usize).unwrap_or_default();
    // SAFETY: It only compares addresses; the module is there while its probe runs.
    let recorder = |address: u64| unsafe { c::rt_is_recorder(module, address as usize) };
    let first = callers
        .iter()
        .position(|address| !recorder(*address))
        .unwrap_or(callers.len());
    f(callers.get(first..).unwrap_or_default());
    place.used.set(level);
}

/// As [`with_callers`] of those of this module, with interrupts disabled: what calls functions meanwhile is the search
/// itself, or an NMI. [`is_of_call`] is true then.
pub(crate) fn with_callers_of_call(pin: &CpuPin, f: impl FnOnce(&[u64])) {
    let Some(place) = PLACES.this(pin) else {
        return;
    };
    irqs::disabled(|| {
        place.of_call.set(1);
        with_callers(pin, ptr::null(), f);
        place.of_call.set(0);
    });
}

/// Returns whether this CPU is in [`with_callers_of_call`]. Any context.
pub(crate) fn is_of_call(pin: &CpuPin) -> bool {
    PLACES
        .this(pin)
        .is_some_and(|place| place.of_call.get() != 0)
}

/// Calls `f` with the process and its callers in user space, the innermost first and zeros after them.
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
    // SAFETY: It writes the number and at most `USER_DEPTH` addresses, for which there is room.
    unsafe { c::rt_user_stack(&mut process, callers.as_mut_ptr(), USER_DEPTH as u32) };
    f(process, &callers);
    place.user.set(0);
}

/// The bytes of the stack of a task.
const SIZE: u64 = c::RT_STACK_SIZE as u64;
const WORD: u64 = u64::BITS as u64 / 8;

/// Returns how many bytes of a stack are used up to `address`, if it is on the stack of a task.
#[inline(always)]
pub(crate) fn depth(address: u64) -> u64 {
    SIZE.wrapping_sub(address & SIZE.wrapping_sub(1))
}

/// A part of the stack of the current task, from an address to where the stack began.
///
/// # Invariants
///
/// It is a multiple of 8 bytes from `from` to the end of the stack, and stays with the task.
pub(crate) struct TaskStack {
    from: u64,
    _of_task: NotThreadSafe,
}

impl TaskStack {
    /// Returns the part from `address`, if that is on the stack of the current task, and not on that of an
    /// interrupt. Any context.
    pub(crate) fn of_current(address: u64) -> Option<Self> {
        let offset = address.checked_sub(c::rt_task_stack() as u64)?;
        let is_there = offset < SIZE && address % WORD == 0;
        // INVARIANT: The stack is aligned to its size, which is a multiple of a word.
        is_there.then_some(Self {
            from: address,
            _of_task: NotThreadSafe,
        })
    }

    /// Returns the bytes of the part.
    pub(crate) fn bytes(&self) -> u64 {
        depth(self.from)
    }

    /// Returns its words.
    pub(crate) fn words(&self) -> usize {
        (self.bytes() / WORD) as usize
    }

    /// Returns the bytes from a word on.
    pub(crate) fn bytes_from(&self, at: usize) -> u64 {
        self.bytes()
            .saturating_sub((at as u64).saturating_mul(WORD))
    }

    /// Returns a word; 0 for one that is not in the part.
    pub(crate) fn word(&self, at: usize) -> u64 {
        if at >= self.words() {
            return 0;
        }
        let address = self.from.wrapping_add((at as u64).wrapping_mul(WORD));
        // SAFETY: It is a word of the stack of the current task (invariant, and compared above).
        unsafe { c::rt_stack_word(address as usize) as u64 }
    }
}
