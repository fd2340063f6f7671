// SPDX-License-Identifier: GPL-2.0
//! A stack is read by the steps that are known.

use super::frames::{
    FrameStep,
    FrameTable, //
};
use crate::ring::port::SharedWord;

/// The stack of a task.
pub(crate) trait WordStack {
    /// Returns the word at `address`, if that is on the stack.
    fn word(&self, address: u64) -> Option<u64>;

    /// Returns whether the registers at `address` are those with which the task has left user space.
    fn is_user(&self, address: u64) -> bool;
}

/// Where a function goes on, and its registers then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackPoint {
    pub(crate) address: u64,
    pub(crate) sp: u64,
    pub(crate) bp: u64,
}

/// How a walk has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    /// With all callers, so many.
    Whole(usize),
    /// At an address that is not known, after so many that are.
    New(usize),
    /// At one that needs the frame pointer, of which that many addresses before it nothing is known.
    Lost(usize),
    /// Where only the unwinder knows more.
    Other,
}

/// Stores in `room` where the function at `point` goes on, and its callers. Any context.
#[inline(always)]
pub(crate) fn walk<W: SharedWord>(
    table: &FrameTable<W>,
    stack: &impl WordStack,
    mut point: StackPoint,
    room: &mut [u64],
) -> WalkEnd {
    let (mut known, mut lost) = (0usize, None);
    for place in room {
        *place = point.address;
        let Some(step) = table.find(point.address) else {
            return WalkEnd::New(known);
        };
        let from = match (step.kind(), lost) {
            (FrameStep::UP, _) => Some(point.sp),
            (FrameStep::UP_BP, None) => Some(point.bp),
            (FrameStep::UP_BP, Some(at)) => return WalkEnd::Lost(at),
            (FrameStep::LAST, _) => None,
            (FrameStep::USER, _) if stack.is_user(point.sp.wrapping_add(step.by())) => None,
            _ => return WalkEnd::Other,
        };
        let this = known;
        known = known.wrapping_add(1);
        let Some(from) = from else {
            break;
        };
        point.sp = from.wrapping_add(step.by());
        let Some(address) = stack.word(point.sp.wrapping_sub(8)) else {
            return WalkEnd::Other;
        };
        point.address = address;
        match step.bp() {
            0 => {}
            FrameStep::LOST => lost = Some(this),
            below => {
                let at = point.sp.wrapping_sub(u64::from(below).wrapping_mul(8));
                let Some(bp) = stack.word(at) else {
                    return WalkEnd::Other;
                };
                point.bp = bp;
                lost = None;
            }
        }
    }
    WalkEnd::Whole(known)
}
