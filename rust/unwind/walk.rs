// SPDX-License-Identifier: GPL-2.0
//! A stack is read by the steps that are known.

use super::frames::{
    CodeSite,
    FrameStep,
    FrameTable, //
};
use crate::ring::port::SharedWord;

/// The stacks that callers are on: that of a task and, in an interrupt, that of the CPU's interrupts.
pub(crate) trait WordStack {
    /// Returns the word at `address`, if that is on one of them.
    fn word(&self, address: u64) -> Option<u64>;

    /// Returns what the registers at `address` are, if they are on one of them.
    fn registers(&self, address: u64) -> Option<SavedRegisters>;

    /// Returns the stack pointer of before the switch to the stack of an interrupt, if `address` is that of its last word,
    /// which has it.
    fn before_switch(&self, address: u64) -> Option<u64>;
}

/// Where code goes on, and its registers then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackPoint {
    pub(crate) address: u64,
    pub(crate) sp: u64,
    pub(crate) bp: u64,
}

/// The frame pointer where it is not known, which is no address of a word.
const NO_FRAME: u64 = 1;

/// Registers on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SavedRegisters {
    /// Those with which the task has left user space.
    User,
    /// Those of what was interrupted in the kernel, which goes on there.
    Kernel(StackPoint),
}

/// How a walk has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    /// With all callers, so many.
    Whole(usize),
    /// At an address that is not known, after so many that are.
    New(usize),
    /// At one that needs the frame pointer, which is not known any more, after so many addresses that are.
    Lost(usize),
    /// At what was interrupted, after so many addresses; its registers are there.
    Interrupted(usize, u64),
    /// Where only the unwinder knows more.
    Other,
}

/// Stores in `room` where the function at `point` goes on, and its callers, up to registers of what was interrupted. Any
/// context.
#[inline(always)]
pub(crate) fn walk<W: SharedWord>(
    table: &FrameTable<W>,
    stack: &impl WordStack,
    point: StackPoint,
    room: &mut [u64],
) -> WalkEnd {
    walk_calls(table, stack, point, 0, room)
}

/// Goes on with a walk that has ended so, if it has come to what was interrupted: it stays there if that step is not
/// known.
pub(crate) fn walk_on<W: SharedWord>(
    table: &FrameTable<W>,
    stack: &impl WordStack,
    mut end: WalkEnd,
    room: &mut [u64],
) -> WalkEnd {
    while let WalkEnd::Interrupted(known, regs) = end {
        let Some(SavedRegisters::Kernel(mut point)) = stack.registers(regs) else {
            return WalkEnd::Other;
        };
        let Some(place) = room.get_mut(known) else {
            return WalkEnd::Whole(known);
        };
        *place = point.address;
        let step = table.find(CodeSite::Interrupted(point.address));
        // The unwinder goes on from the registers, and need not begin anew.
        let Some(step) = step.filter(|step| step.kind() != FrameStep::OTHER) else {
            return end;
        };
        end = match advance(stack, step, &mut point) {
            AdvanceEnd::Caller => walk_calls(table, stack, point, known.wrapping_add(1), room),
            end => end.after(known),
        };
    }
    end
}

/// The part of a walk to registers; `known` addresses are in `room`.
#[inline(always)]
fn walk_calls<W: SharedWord>(
    table: &FrameTable<W>,
    stack: &impl WordStack,
    mut point: StackPoint,
    known: usize,
    room: &mut [u64],
) -> WalkEnd {
    let most = room.len();
    let mut places = room.get_mut(known..).unwrap_or_default().iter_mut();
    while let Some(place) = places.next() {
        *place = point.address;
        let step = table.find(CodeSite::Call(point.address));
        let end = match step {
            Some(step) => advance(stack, step, &mut point),
            None => AdvanceEnd::New,
        };
        if !matches!(end, AdvanceEnd::Caller) {
            // There are few registers: how many are known is not counted.
            let known = most.wrapping_sub(places.len()).wrapping_sub(1);
            return end.after(known);
        }
    }
    WalkEnd::Whole(most)
}

/// What there is after an address.
enum AdvanceEnd {
    Caller,
    /// Nothing: it was the last one.
    Last,
    /// Registers of what was interrupted, at this address.
    Registers(u64),
    /// What has its frame's end in a frame pointer that is not known.
    Lost,
    /// As [`WalkEnd::New`].
    New,
    /// As [`WalkEnd::Other`].
    Other,
}

impl AdvanceEnd {
    /// Returns the end of a walk that has come to this from the address after `known` others.
    #[inline(always)]
    fn after(self, known: usize) -> WalkEnd {
        let found = known.wrapping_add(1);
        match self {
            Self::Last => WalkEnd::Whole(found),
            Self::Registers(regs) => WalkEnd::Interrupted(found, regs),
            Self::New => WalkEnd::New(known),
            Self::Lost => WalkEnd::Lost(known),
            Self::Caller | Self::Other => WalkEnd::Other,
        }
    }
}

/// Returns which of `addresses` is the last one after which the frame pointer may be lost.
pub(crate) fn lost_since<W: SharedWord>(table: &FrameTable<W>, addresses: &[u64]) -> Option<usize> {
    let is_lost = |site| {
        let step = table.find(site);
        step.is_some_and(|step| step.bp() == FrameStep::LOST)
    };
    let (mut last, mut at) = (None, 0usize);
    for address in addresses {
        if is_lost(CodeSite::Call(*address)) || is_lost(CodeSite::Interrupted(*address)) {
            last = Some(at);
        }
        at = at.wrapping_add(1);
    }
    last
}

/// Goes on from `point` to its caller, if there is one.
#[inline(always)]
fn advance(stack: &impl WordStack, step: FrameStep, point: &mut StackPoint) -> AdvanceEnd {
    let from = match step.kind() {
        FrameStep::UP => point.sp,
        FrameStep::UP_BP if point.bp == NO_FRAME => return AdvanceEnd::Lost,
        FrameStep::UP_BP => point.bp,
        FrameStep::LAST => return AdvanceEnd::Last,
        FrameStep::REGISTERS => {
            let regs = point.sp.wrapping_add(step.by());
            return match stack.registers(regs) {
                Some(SavedRegisters::User) => AdvanceEnd::Last,
                Some(SavedRegisters::Kernel(_)) => AdvanceEnd::Registers(regs),
                None => AdvanceEnd::Other,
            };
        }
        FrameStep::SWITCH => match stack.before_switch(point.sp) {
            Some(sp) => sp,
            None => return AdvanceEnd::Other,
        },
        _ => return AdvanceEnd::Other,
    };
    point.sp = from.wrapping_add(step.by());
    let Some(address) = stack.word(point.sp.wrapping_sub(8)) else {
        return AdvanceEnd::Other;
    };
    point.address = address;
    match step.bp() {
        0 => {}
        FrameStep::LOST => point.bp = NO_FRAME,
        below => {
            let at = point.sp.wrapping_sub(u64::from(below).wrapping_mul(8));
            let Some(bp) = stack.word(at) else {
                return AdvanceEnd::Other;
            };
            point.bp = bp;
        }
    }
    AdvanceEnd::Caller
}
