// SPDX-License-Identifier: GPL-2.0

//! The stacks behind an event: what `stacktrace` and `userstacktrace` record.
//!
//! Called by the probe of an event that was recorded, on the same CPU, with preemption still disabled. A
//! stack is a record of its own behind the event; whoever interrupts may record between the two.

use super::{
    entry::OWN,
    record,
    EventFile, //
};
use crate::{
    event::{
        context::Base,
        format, //
    },
    kapi::{
        context,
        percpu::CpuPin,
        stack::{
            self,
            DEPTH, //
        }, //
    },
    text::stack::{
        fill,
        HEAD, //
    },
};

/// What follows each event of an instance: the bits of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stacks(u64);

impl Stacks {
    /// Nothing.
    pub(crate) const NONE: Stacks = Stacks(0);
    const KERNEL: u64 = 1;
    const USER: u64 = 2;

    /// These.
    pub(crate) fn new(kernel: bool, user: bool) -> Self {
        let bit = |on: bool, bit: u64| if on { bit } else { 0 };
        Stacks(bit(kernel, Self::KERNEL) | bit(user, Self::USER))
    }

    /// The set that [`Self::word`] was taken from.
    pub(super) const fn from_word(word: u64) -> Self {
        Stacks(word)
    }

    /// As a word.
    pub(super) const fn word(self) -> u64 {
        self.0
    }

    const fn has(self, bit: u64) -> bool {
        self.0 & bit != 0
    }
}

/// Records the stacks behind an event of `file`.
#[cold]
#[inline(never)]
pub(super) fn follow(pin: &CpuPin, file: &EventFile, stacks: Stacks) {
    if stacks.has(Stacks::KERNEL) {
        stack::with_callers(pin, file.event().owner(), |callers| {
            put(
                pin,
                file,
                format::KERNEL_STACK.id,
                callers.len() as u32,
                callers,
            );
        });
    }
    // What is not in memory cannot be fetched from NMI.
    if stacks.has(Stacks::USER) && !in_nmi() {
        stack::with_user_callers(pin, |process, callers| {
            put(pin, file, format::USER_STACK.id, process, callers);
        });
    }
}

fn in_nmi() -> bool {
    context::raw().in_nmi()
}

/// Records a number and addresses. The ring counts what it refuses.
fn put(pin: &CpuPin, file: &EventFile, id: u16, number: u32, addresses: &[u64]) {
    // SAFETY: By the invariant of `EventFile`.
    let (buffers, recorder, waker) = unsafe {
        (
            file.buffers.as_ref(),
            file.recorder.as_ref(),
            file.waker.as_ref(),
        )
    };
    let addresses = addresses.get(..DEPTH).unwrap_or(addresses);
    let len = HEAD.wrapping_add(addresses.len().wrapping_mul(8));
    let _ = record(
        pin,
        buffers,
        recorder,
        waker,
        Base::new(id, OWN),
        len,
        |rest| {
            fill(rest, number, addresses);
        },
    );
}
