// SPDX-License-Identifier: GPL-2.0

//! Who called the current function, in the kernel and in user space.
//!
//! Called by probes in any context, NMI included: nothing is locked or allocated. The kernel writes
//! callers into memory of the CPU that [`prepare`] got before; there is a part of it for
//! each level of nesting, and an event that comes when all are in use gets no stack. The memory goes
//! with the module. Stacks whose functions are known ([`unwind`](crate::unwind)) are read without the
//! kernel's unwinder, from a probe on.

use super::{
    c,
    foreign::Object,
    irqs,
    kernel_stacks::{
        IrqStackEnd,
        KernelStacks,
        TaskStack, //
    },
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
            CodeSite,
            FrameTable,
            ASKED,
            PLACES as FRAME_PLACES, //
        },
        learn::{
            step_of,
            UnwinderStop, //
        },
        walk::{
            lost_since,
            walk,
            walk_on,
            SavedRegisters,
            StackPoint,
            WalkEnd, //
        }, //
    }, //
};
use core::ptr;
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
pub(super) struct CpuFrames {
    /// Levels in use.
    used: LocalU64,
    /// Whether a writer looks at user space: faults are events.
    user: LocalU64,
    /// Whether this CPU is in [`with_callers_of_call`].
    of_call: LocalU64,
    /// Where the stack of its interrupts ends.
    irq_stack: IrqStackEnd,
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
            irq_stack: IrqStackEnd::unknown(),
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
        Some(frame) => callers_of(frame, &place.irq_stack, module, room),
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

impl ProbeFrame {
    /// Returns where the probe returns to.
    #[inline(always)]
    fn point(&self) -> StackPoint {
        StackPoint {
            address: self.0.ip as u64,
            sp: ptr::from_ref(self).wrapping_add(1).addr() as u64,
            bp: self.0.bp as u64,
        }
    }
}

/// Stores where the probe with this frame returns to, and its callers. Returns how many.
#[inline(always)]
fn callers_of(
    frame: &ProbeFrame,
    irq_stack: &IrqStackEnd,
    module: impl FnOnce() -> *const bindings::module,
    room: &mut [u64],
) -> usize {
    let point = frame.point();
    if let Some(stack) = TaskStack::of_current(point.sp) {
        // How it has ended otherwise is not worth the registers.
        if let WalkEnd::Whole(found) = walk(&FRAMES, &stack, point, room) {
            return compared(frame, found, room);
        }
    }
    callers_anywhere(frame, irq_stack, module(), room)
}

/// As [`callers_of`], where they are not those of a task alone, or not all known.
#[inline(never)]
fn callers_anywhere(
    frame: &ProbeFrame,
    irq_stack: &IrqStackEnd,
    module: *const bindings::module,
    room: &mut [u64],
) -> usize {
    let point = frame.point();
    let Some(stacks) = KernelStacks::of_probe(point.sp, irq_stack) else {
        return unwind_callers(frame, room);
    };
    let end = walk_on(&FRAMES, &stacks, walk(&FRAMES, &stacks, point, room), room);
    let at = |known: usize| room.get(known).copied().unwrap_or(0);
    let (known, asked) = match end {
        WalkEnd::Whole(found) => return compared(frame, found, room),
        WalkEnd::New(known) => (known, CodeSite::Call(at(known))),
        WalkEnd::Lost(known) => {
            let since = lost_since(&FRAMES, room.get(..known).unwrap_or_default());
            let since = since.unwrap_or(known);
            (since, CodeSite::Call(at(since)))
        }
        WalkEnd::Interrupted(known, _) => (known, CodeSite::Interrupted(at(known))),
        WalkEnd::Other => return unwind_callers(frame, room),
    };
    if let Some(found) = learn_callers(frame, &stacks, module, known, asked, room) {
        return found;
    }
    match end {
        WalkEnd::Interrupted(_, regs) => {
            compared(frame, unwind_interrupted(regs, known, room), room)
        }
        _ => unwind_callers(frame, room),
    }
}

/// Returns `found`, how many callers are in `room`. Kernels of tests compare them each time.
#[inline(always)]
fn compared(_frame: &ProbeFrame, found: usize, _room: &[u64]) -> usize {
    #[cfg(CONFIG_KUNIT = "y")]
    compare(_frame, _room.get(..found).unwrap_or_default());
    found
}

/// Compares the callers that were found with what the kernel's unwinder finds.
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

/// As [`callers_of`], where the first `known` addresses are in `room`, and how the unwinder goes on from the next one,
/// `asked`, is learned. `None` if it is not to be asked, or cannot begin at the probe.
#[cold]
#[inline(never)]
fn learn_callers(
    frame: &ProbeFrame,
    stacks: &KernelStacks,
    module: *const bindings::module,
    known: usize,
    asked: CodeSite,
    room: &mut [u64],
) -> Option<usize> {
    if !FRAMES.is_to_ask(asked) {
        return None;
    }
    let stacks = ptr::from_ref(stacks).cast();
    let (to, most) = (room.as_mut_ptr().cast(), room.len() as u32);
    // SAFETY: It writes as many addresses at most as there is room for. The probe has not returned; the module is there
    // while it runs, and the stacks are for that time.
    let found = unsafe { c::rt_learn_callers(&frame.0, module, stacks, known as u32, to, most) };
    let found = Some(found as usize).filter(|found| *found > 0)?;
    // Or it would be asked about again and again: a hook of returns, whose address is told of no stack.
    let callers = room.get(..found).unwrap_or_default();
    if !callers.contains(&asked.address()) {
        FRAMES.give_up(asked);
    }
    Some(found)
}

impl From<&c::rt_unwinder_stop> for UnwinderStop {
    fn from(stop: &c::rt_unwinder_stop) -> Self {
        let point = StackPoint {
            address: stop.ip as u64,
            sp: stop.sp as u64,
            bp: stop.bp as u64,
        };
        let registers = |told| Self::Registers(stop.regs as u64, told);
        match stop.at {
            c::rt_unwinder_at_RT_AT_CALL => Self::Call(point),
            c::rt_unwinder_at_RT_AT_USER => registers(SavedRegisters::User),
            c::rt_unwinder_at_RT_AT_INTERRUPTED => registers(SavedRegisters::Kernel(point)),
            c::rt_unwinder_at_RT_AT_END => Self::End,
            _ => Self::Other,
        }
    }
}

/// Learns how the unwinder has gone on between these two, of which the first is that of `before`.
///
/// # Safety
///
/// `stacks` is what was passed to `rt_learn_callers()`, which has not returned.
#[no_mangle]
unsafe extern "C" fn rtrace_learn_step(
    stacks: &KernelStacks,
    before: &Object<c::unwind_state>,
    from: &c::rt_unwinder_stop,
    to: &c::rt_unwinder_stop,
) {
    let again = |bp: u64| UnwinderStop::from(&c::rt_unwind_with(before, bp as usize));
    let from = UnwinderStop::from(from);
    let step = step_of(stacks, from, to.into(), again);
    if let (Some(site), Some(step)) = (from.site(), step) {
        FRAMES.learn(site, step);
    }
}

/// Learns that only the unwinder knows how it goes on from there.
#[no_mangle]
extern "C" fn rtrace_give_up_step(from: &c::rt_unwinder_stop) {
    if let Some(site) = UnwinderStop::from(from).site() {
        FRAMES.give_up(site);
    }
}

/// As [`callers_of`], by the kernel's unwinder.
#[inline(never)]
fn unwind_callers(frame: &ProbeFrame, room: &mut [u64]) -> usize {
    let (to, most) = (room.as_mut_ptr().cast(), room.len() as u32);
    // SAFETY: It writes as many addresses at most as there is room for. The probe has not returned.
    unsafe { c::rt_callers_of(&frame.0, to, most) as usize }
}

/// As [`callers_of`], by the kernel's unwinder from the registers of what was interrupted on, where the first `known`
/// addresses are in `room`.
#[inline(never)]
fn unwind_interrupted(regs: u64, known: usize, room: &mut [u64]) -> usize {
    let rest = room.get_mut(known..).unwrap_or_default();
    let (to, most) = (rest.as_mut_ptr().cast(), rest.len() as u32);
    // SAFETY: It writes as many addresses at most as there is room for. The registers are on a stack that is in use, as
    // the walk has found them there.
    known.wrapping_add(unsafe { c::rt_callers_at(regs as usize, to, most) as usize })
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
