// SPDX-License-Identifier: GPL-2.0
//! What a step of the unwinder tells of the function.

use super::{
    frames::{
        CodeSite,
        FrameStep, //
    },
    walk::{
        SavedRegisters,
        StackPoint,
        WordStack, //
    }, //
};

/// The words of a frame that are looked at for the frame pointer of its caller.
const MOST_WORDS: u64 = 512;

/// Stacks of which something is learned.
pub(crate) trait LearnedStack: WordStack {
    /// Returns whether two words are on the same one.
    fn are_together(&self, one: u64, other: u64) -> bool;
}

/// Where the unwinder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnwinderStop {
    /// At a call, on the stack of the task or of an interrupt.
    Call(StackPoint),
    /// At registers; their address, and what they say.
    Registers(u64, SavedRegisters),
    /// After all callers.
    End,
    /// On another stack, or where it cannot go on.
    Other,
}

impl UnwinderStop {
    /// Returns where the unwinder goes on from, if it knows a caller.
    pub(crate) fn point(self) -> Option<StackPoint> {
        match self {
            Self::Call(point) | Self::Registers(_, SavedRegisters::Kernel(point)) => Some(point),
            _ => None,
        }
    }

    /// Returns what it goes on from there.
    pub(crate) fn site(self) -> Option<CodeSite> {
        let address = self.point()?.address;
        Some(match self {
            Self::Registers(..) => CodeSite::Interrupted(address),
            _ => CodeSite::Call(address),
        })
    }

    fn is_at(self, sp: u64) -> bool {
        matches!(self, Self::Call(point) if point.sp == sp)
    }
}

/// Returns how the unwinder goes on from `before`, if that can be told: it came to `after`, and to `again(bp)` with that
/// frame pointer instead of its own, and with 0 in all other registers. What it went by shows in these: they are the same
/// place, or one that is as far away.
pub(crate) fn step_of(
    stack: &impl LearnedStack,
    before: UnwinderStop,
    after: UnwinderStop,
    again: impl Fn(u64) -> UnwinderStop,
) -> Option<FrameStep> {
    let from = before.point()?;
    // No address, and not the one that it is.
    let number = if from.bp == 1 { 2 } else { 1 };
    let to = match after {
        UnwinderStop::Call(to) => to,
        UnwinderStop::End => return Some(FrameStep::new(FrameStep::LAST, 0, 0)),
        UnwinderStop::Registers(regs, told)
            if stack.registers(regs) == Some(told)
                && stack.are_together(from.sp, regs)
                && again(number) == after =>
        {
            let by = regs.wrapping_sub(from.sp);
            return Some(FrameStep::new(FrameStep::REGISTERS, by, 0));
        }
        _ => return Some(FrameStep::UNTOLD),
    };
    // A hook of returns has its own address there.
    if stack.word(to.sp.wrapping_sub(8)) != Some(to.address) {
        return None;
    }
    let by_stack = again(number);
    let (kind, base, bp, trial) = if by_stack.is_at(to.sp) {
        match stack.before_switch(from.sp) {
            Some(sp) => (FrameStep::SWITCH, sp, number, by_stack),
            None if stack.are_together(from.sp, to.sp.wrapping_sub(8)) => {
                (FrameStep::UP, from.sp, number, by_stack)
            }
            None => return Some(FrameStep::UNTOLD),
        }
    } else {
        let above = from.bp.wrapping_add(8);
        let by_frame = again(above);
        let is_below = again(from.bp.wrapping_sub(8)).is_at(to.sp.wrapping_sub(8));
        if !is_below || !by_frame.is_at(to.sp.wrapping_add(8)) {
            return Some(FrameStep::UNTOLD);
        }
        (FrameStep::UP_BP, from.bp, above, by_frame)
    };
    // Where the frame begins, of which the part on another stack has nothing that was saved.
    let begin = match kind {
        FrameStep::SWITCH => base,
        _ => from.sp,
    };
    // Both, as one of them alone may be a number that the frame has kept.
    let is_kept = to.bp == from.bp && matches!(trial, UnwinderStop::Call(point) if point.bp == bp);
    let place = match is_kept {
        true => 0,
        false if stack.are_together(begin, to.sp.wrapping_sub(8)) => {
            place_of(stack, to.bp, begin, to.sp)
        }
        false => FrameStep::LOST,
    };
    Some(FrameStep::new(kind, to.sp.wrapping_sub(base), place))
}

/// Returns which word below the frame's end is the frame pointer of its caller: one of those from `sp` on. If several
/// are the same, or not all can be read, nothing tells which.
fn place_of(stack: &impl WordStack, bp: u64, sp: u64, end: u64) -> u32 {
    // The first one is the caller's address.
    let words = end.wrapping_sub(sp) / 8;
    let word = |below: u64| stack.word(end.wrapping_sub(below.wrapping_mul(8)));
    let mut places = (2..=words.min(MOST_WORDS)).filter(|below| word(*below) == Some(bp));
    match (places.next(), places.next()) {
        (Some(place), None) if words <= MOST_WORDS => place as u32,
        _ => FrameStep::LOST,
    }
}
