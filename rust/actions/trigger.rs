// SPDX-License-Identifier: GPL-2.0

//! What triggers do: the effects by which an event switches recording or another event, takes a snapshot
//! or records a stack.
//!
//! Any context, NMI included. What must sleep is left to the worker of the instance.

use super::stack::KernelStack;
use crate::{
    kapi::{
        grace_ref::GraceRef,
        stack, //
    },
    probes::{
        Action,
        Effect,
        EventFile,
        Hit,
        WANT_NEWS,
        WANT_SNAPSHOT, //
    }, //
};
use kernel::prelude::*;

/// Switches recording.
struct Recording {
    on: bool,
}

impl Effect for Recording {
    fn switches(&self) -> bool {
        true
    }

    fn is_due(&self, hit: &Hit<'_>) -> bool {
        hit.file.sink().is_on() != self.on
    }

    fn act(&self, hit: &Hit<'_>, _: &[u8]) {
        let sink = hit.file.sink();
        sink.switch(self.on);
        // Readers that wait reach the end of their file, and names of tasks are remembered or not.
        sink.want(WANT_NEWS);
    }
}

/// Takes a snapshot, soon.
struct Snapshot;

impl Effect for Snapshot {
    fn act(&self, hit: &Hit<'_>, _: &[u8]) {
        hit.file.sink().want(WANT_SNAPSHOT);
    }
}

/// Records the callers.
impl Effect for KernelStack {
    fn act(&self, hit: &Hit<'_>, _: &[u8]) {
        self.recorded(hit);
    }
}

/// The part of an event that a trigger switches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SwitchedPart {
    /// Whether it is recorded.
    Records,
    /// Whether its histograms count.
    Hists,
}

/// Switches a part of an event.
///
/// The file of the event stays until the trigger is disarmed and probes have left it.
struct Switch {
    target: GraceRef<EventFile>,
    part: SwitchedPart,
    on: bool,
}

impl Effect for Switch {
    fn switches(&self) -> bool {
        self.part == SwitchedPart::Records
    }

    fn is_due(&self, _: &Hit<'_>) -> bool {
        let target = self.target.get();
        target.is_some_and(|file| self.part == SwitchedPart::Hists || file.is_off() == self.on)
    }

    fn act(&self, _: &Hit<'_>, _: &[u8]) {
        match (self.target.get(), self.part) {
            (None, _) => {}
            (Some(file), SwitchedPart::Records) => file.set_off(!self.on),
            (Some(file), SwitchedPart::Hists) => file.switch_hists(self.on),
        }
    }
}

/// Returns what switches recording on or off.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn recording(on: bool) -> Result<KBox<dyn Effect>> {
    Ok(KBox::new(Recording { on }, GFP_KERNEL)?)
}

/// Returns what takes a snapshot.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn snapshot() -> Result<KBox<dyn Effect>> {
    Ok(KBox::new(Snapshot, GFP_KERNEL)?)
}

/// Returns what records the callers.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn stacktrace() -> Result<KBox<dyn Effect>> {
    stack::prepare()?;
    Ok(KBox::new(KernelStack, GFP_KERNEL)?)
}

/// Returns what switches this part of the event of `target` on or off.
///
/// # Errors
///
/// `ENOMEM`.
///
/// # Safety
///
/// `target` stays where it is until the trigger that has the result was disarmed, or taken out of the list
/// of its event, and [`crate::events::synchronize`] has returned.
pub(crate) unsafe fn switch(
    target: &EventFile,
    part: SwitchedPart,
    on: bool,
) -> Result<KBox<dyn Effect>> {
    let switch = Switch {
        target: GraceRef::none(),
        part,
        on,
    };
    // SAFETY: The caller keeps the file as long as a probe can ask for it.
    unsafe { switch.target.set(Some(target)) };
    Ok(KBox::new(switch, GFP_KERNEL)?)
}
