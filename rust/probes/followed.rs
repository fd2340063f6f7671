// SPDX-License-Identifier: GPL-2.0

//! What tracers of latencies follow: the CPU of a task, or sections of each CPU. Functions that are called there
//! meanwhile are recorded by instances whose [`Manner`](super::Manner) says so, and calls on the CPU of the task by those
//! whose [`GraphRules`](super::GraphRules) do.

use crate::{
    kapi::{
        percpu::{
            CpuPin,
            PerCpu, //
        },
        publisher::{
            FollowedArc,
            RetiredBox, //
        },
        words::{
            LocalU64,
            SharedU64, //
        }, //
    },
    ring::port::{
        LocalWord,
        SharedWord, //
    }, //
};
use kernel::sync::Arc;

/// What a tracer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowedPart {
    /// The CPU of a task that waits for it.
    Task,
    /// Each CPU, while it is in a section.
    Section,
}

/// The number of the CPU of the task, and one more; 0 while no task is followed.
static CPU: SharedU64 = SharedU64::zero();

/// For each CPU whether it is in a section: not 0. None while no sections are followed.
static SECTIONS: FollowedArc<PerCpu<LocalU64>> = FollowedArc::none();

/// Has the functions of this CPU recorded, or of none. Any context.
pub(crate) fn set_followed_cpu(cpu: Option<u32>) {
    CPU.store(cpu.map_or(0, |cpu| u64::from(cpu).wrapping_add(1)));
}

/// Has sections followed, for each of which `sections` has a word, or none. Dropping the result waits until the words
/// before are not used any more.
pub(crate) fn set_sections(
    sections: Option<Arc<PerCpu<LocalU64>>>,
) -> RetiredBox<Arc<PerCpu<LocalU64>>> {
    SECTIONS.set(sections)
}

/// Has the functions of this CPU recorded from now on, or no longer. With interrupts disabled.
#[inline(always)]
pub(crate) fn set_in_section(pin: &CpuPin, on: bool) {
    if let Some(sections) = SECTIONS.get(pin) {
        sections.this(pin).set(on.into());
    }
}

/// Has the functions of a CPU that runs nothing recorded no longer, when it comes again.
pub(crate) fn clear_section_of(pin: &CpuPin, cpu: u32) {
    if let Some(section) = SECTIONS.get(pin).and_then(|sections| sections.of(cpu)) {
        section.set(0);
    }
}

/// Returns whether the functions of this CPU are recorded by those that follow `what`. Any context.
#[inline(always)]
pub(super) fn is_here(pin: &CpuPin, what: FollowedPart) -> bool {
    match what {
        FollowedPart::Task => CPU.load() == u64::from(pin.number()).wrapping_add(1),
        FollowedPart::Section => SECTIONS
            .get(pin)
            .is_some_and(|sections| sections.this(pin).get() != 0),
    }
}
