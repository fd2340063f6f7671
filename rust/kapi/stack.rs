// SPDX-License-Identifier: GPL-2.0

//! Who called the current function, in the kernel and in user space; and the stack of the current task.
//!
//! Called by probes in any context, NMI included: nothing is locked or allocated. The kernel writes
//! callers into memory of the CPU that [`prepare`] got before; there is a part of it for
//! each level of nesting, and an event that comes when all are in use gets no stack. The memory goes
//! with the module. Stacks of a task whose functions are known ([`unwind`](crate::unwind)) are
//! read without the kernel's unwinder, from a probe on.

use super::{
    c,
    foreign::Object,
    irqs,
    late::LazyPerCpu,
    percpu::CpuPin,
    raw_cell::RawCell,
    words::{
        LocalU64,
        SharedU64, //
    }, //
};
use crate::{
    ring::port::LocalWord,
    text::stack::USER_DEPTH,
    unwind::{
        frames::{
            FrameTable,
            ASKED,
            PLACES as FRAME_PLACES, //
        },
        learn::{
            step_of,
            UnwinderStop, //
        },
        walk::{
            walk,
            StackPoint,
            WalkEnd,
            WordStack, //
        }, //
    }, //
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

/// Calls `f` with the callers in the kernel, the innermost first, without the functions that record: those of this module.
#[inline(always)]
pub(crate) fn with_callers(pin: &CpuPin, f: impl FnOnce(&[u64])) {
    with_callers_of(pin, None, ptr::null, f);
}

/// Where a probe returns to, while it has not returned. C finds it.
#[repr(transparent)]
pub(crate) struct ProbeFrame(c::rt_frame);

/// As [`with_callers`], where the frame of the probe may be at hand; `module` returns that of its event, or null.
#[inline(always)]
pub(crate) fn with_callers_of(
    pin: &CpuPin,
    frame: Option<&ProbeFrame>,
    module: impl FnOnce() -> *const bindings::module,
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
    let found = match frame {
        Some(frame) => callers_of(frame, module, room),
        // SAFETY: It writes at most as many addresses as there is room for.
        None => unsafe {
            bindings::stack_trace_save(room.as_mut_ptr().cast(), room.len() as u32, 0) as usize
        },
    };
    let callers = room.get(..found).unwrap_or_default();
    let recorder = |address: &u64| c::rt_is_recorder(*address as usize);
    let first = callers
        .iter()
        .position(|address| !recorder(address))
        .unwrap_or(callers.len());
    f(callers.get(first..).unwrap_or_default());
    place.used.set(level);
}

/// How the unwinder goes on from functions, of the stacks that were looked at.
static FRAMES: FrameTable<SharedU64> = FrameTable::of(
    [const { SharedU64::zero() }; FRAME_PLACES],
    [const { SharedU64::zero() }; ASKED],
);

/// Forgets what is known of functions: some of them have gone, or their module is about to free the code of its init.
pub(crate) fn code_went() {
    FRAMES.forget();
}

/// Stores where the probe with this frame returns to, and its callers. Returns how many.
#[inline(always)]
fn callers_of(
    frame: &ProbeFrame,
    module: impl FnOnce() -> *const bindings::module,
    room: &mut [u64],
) -> usize {
    let point = StackPoint {
        address: frame.0.ip as u64,
        sp: ptr::from_ref(frame).wrapping_add(1).addr() as u64,
        bp: frame.0.bp as u64,
    };
    let end = match TaskStack::of_current(point.sp) {
        Some(stack) => walk(&FRAMES, &stack, point, room),
        None => WalkEnd::Other,
    };
    match end {
        WalkEnd::Whole(found) => {
            #[cfg(CONFIG_KUNIT = "y")]
            compare(frame, room.get(..found).unwrap_or_default());
            found
        }
        WalkEnd::New(known) | WalkEnd::Lost(known) => learn_callers(frame, module(), known, room),
        WalkEnd::Other => unwind_callers(frame, room),
    }
}

/// Compares the callers that were found with what the kernel's unwinder finds. Kernels of tests do so each time.
#[cfg(CONFIG_KUNIT = "y")]
#[inline(never)]
fn compare(frame: &ProbeFrame, callers: &[u64]) {
    let mut room = [0; 64];
    let found = unwind_callers(frame, &mut room);
    let told = room.get(..found).unwrap_or_default();
    let same = callers.iter().zip(told).all(|(own, told)| own == told);
    let as_many = found == callers.len().min(room.len());
    kernel::warn_on!(!same || !as_many);
}

/// As [`callers_of`], where the first `known` addresses are in `room`, and how the unwinder goes on from the next one is
/// learned.
#[cold]
#[inline(never)]
fn learn_callers(
    frame: &ProbeFrame,
    module: *const bindings::module,
    known: usize,
    room: &mut [u64],
) -> usize {
    let asked = room.get(known).copied().unwrap_or(0);
    if !FRAMES.is_to_ask(asked) {
        return unwind_callers(frame, room);
    }
    let (to, most) = (room.as_mut_ptr().cast(), room.len() as u32);
    // SAFETY: It writes as many addresses at most as there is room for. The probe has not returned; the module is there
    // while it runs.
    let found = unsafe { c::rt_learn_callers(&frame.0, module, known as u32, to, most) as usize };
    if found == 0 {
        return unwind_callers(frame, room);
    }
    let callers = room.get(..found).unwrap_or_default();
    // Or it would be asked about again and again: a hook of returns, whose address is told of no stack.
    if !callers.contains(&asked) {
        FRAMES.give_up(asked);
    }
    found
}

impl From<c::rt_unwinder_stop> for UnwinderStop {
    fn from(stop: c::rt_unwinder_stop) -> Self {
        match stop.at {
            c::rt_unwinder_at_RT_AT_CALL => Self::Call(StackPoint {
                address: stop.ip as u64,
                sp: stop.sp as u64,
                bp: stop.bp as u64,
            }),
            c::rt_unwinder_at_RT_AT_USER => Self::User(stop.sp as u64),
            c::rt_unwinder_at_RT_AT_END => Self::End,
            _ => Self::Other,
        }
    }
}

/// Learns how the unwinder has gone on from `address`: between these two, of which the first is that of `before`.
#[no_mangle]
extern "C" fn rtrace_learn_step(
    address: usize,
    before: &Object<c::unwind_state>,
    from: &c::rt_unwinder_stop,
    to: &c::rt_unwinder_stop,
) {
    let again = |bp: u64| UnwinderStop::from(c::rt_unwind_with(before, bp as usize));
    let (from, to) = (UnwinderStop::from(*from), UnwinderStop::from(*to));
    if let Some(step) = step_of(TaskStack::of_current, from, to, again) {
        FRAMES.learn(address as u64, step);
    }
}

/// Learns that only the unwinder knows how it goes on from `address`.
#[no_mangle]
extern "C" fn rtrace_give_up_step(address: usize) {
    FRAMES.give_up(address as u64);
}

/// As [`callers_of`], by the kernel's unwinder.
#[inline(never)]
fn unwind_callers(frame: &ProbeFrame, room: &mut [u64]) -> usize {
    let (to, most) = (room.as_mut_ptr().cast(), room.len() as u32);
    // SAFETY: It writes as many addresses at most as there is room for. The probe has not returned.
    unsafe { c::rt_callers_of(&frame.0, to, most) as usize }
}

/// As [`with_callers`] of those of this module, with interrupts disabled: what calls functions meanwhile is the search
/// itself, or an NMI. [`is_of_call`] is true then.
pub(crate) fn with_callers_of_call(pin: &CpuPin, f: impl FnOnce(&[u64])) {
    let Some(place) = PLACES.this(pin) else {
        return;
    };
    irqs::disabled(|| {
        place.of_call.set(1);
        with_callers(pin, f);
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
/// Where the registers of user space are on a stack, and their code segment.
const USER_REGS: u64 = c::RT_USER_REGS as u64;
const USER_CS: u64 = c::RT_USER_CS as u64;

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
        let address = self.from.saturating_add((at as u64).saturating_mul(WORD));
        WordStack::word(self, address).unwrap_or(0)
    }
}

impl WordStack for TaskStack {
    #[inline(always)]
    fn word(&self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.from);
        if offset >= self.bytes() || offset % WORD != 0 {
            return None;
        }
        // SAFETY: It is a word of the stack of the current task (invariant, and compared above).
        Some(unsafe { c::rt_stack_word(address as usize) as u64 })
    }

    #[inline(always)]
    fn is_user(&self, address: u64) -> bool {
        let segment = address.wrapping_add(USER_CS.wrapping_sub(USER_REGS));
        // The lower bits are the level of privileges.
        address & SIZE.wrapping_sub(1) == USER_REGS
            && WordStack::word(self, segment).is_some_and(|segment| segment & 3 != 0)
    }
}
