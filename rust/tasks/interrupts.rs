// SPDX-License-Identifier: GPL-2.0

//! Where interrupts are switched off and on, told to a tracer, on a kernel that has tracepoints there.
//!
//! The kernel tells of each change once, with interrupts off: of a section, its first place and its last one. Of an idle
//! CPU it tells that they are on. A non-maskable interrupt that comes while they are on is a section as well; it may have
//! interrupted the watcher, which is not told of it. If it comes between a change and what tells of that, the section of
//! the task has lost its beginning.

use super::attached::Synchronized;
use crate::{
    events::tracepoints::{
        self,
        AttachedProbe, //
    },
    kapi::{
        context,
        percpu::CpuPin, //
    }, //
};
use core::ptr;
use kernel::prelude::*;

/// Whether this kernel has the tracepoints.
pub(crate) const ARE_TOLD: bool = cfg!(all(CONFIG_PREEMPTIRQ_TRACEPOINTS, CONFIG_TRACE_IRQFLAGS));

/// What wants to know. Called with interrupts disabled, in any context but NMI; may neither sleep nor allocate.
pub(crate) trait InterruptWatcher: Sync {
    /// Learns that interrupts of this CPU were switched off at `place`, in a function that was called at `caller`, 0 if
    /// that is not known.
    fn switched_off(&self, pin: &CpuPin, place: u64, caller: u64);
    /// Learns that they are about to be switched on at `place`, likewise.
    fn switched_on(&self, pin: &CpuPin, place: u64, caller: u64);
}

/// Calls `f`, unless this is an NMI.
#[inline(always)]
fn unless_in_nmi(f: impl FnOnce(&CpuPin)) {
    CpuPin::with(|pin| {
        if !context::raw().in_nmi() {
            f(pin);
        }
    });
}

extern "C" fn switched_off<T: InterruptWatcher>(watcher: &T, place: c_ulong, caller: c_ulong) {
    unless_in_nmi(|pin| watcher.switched_off(pin, place as u64, caller as u64));
}

extern "C" fn switched_on<T: InterruptWatcher>(watcher: &T, place: c_ulong, caller: c_ulong) {
    unless_in_nmi(|pin| watcher.switched_on(pin, place as u64, caller as u64));
}

/// A watcher is told while this exists. Dropping it waits until no probe uses the watcher any more.
pub(crate) struct InterruptWatch {
    // In this order: after the end of a section that is not told of, there is a beginning or nothing.
    _ends: AttachedProbe,
    _beginnings: AttachedProbe,
    _after: Synchronized,
}

/// What the tracepoints call: with the two places.
type OnChange<T> = extern "C" fn(&T, c_ulong, c_ulong);

/// Has the tracepoint of this name call `function`.
///
/// # Errors
///
/// `ENODEV` when the kernel has none, `ENOMEM`.
///
/// # Safety
///
/// `watcher` stays where it is until the result was dropped and no probe runs any more.
unsafe fn attach<T>(name: &str, function: OnChange<T>, watcher: &T) -> Result<AttachedProbe> {
    let tracepoint = tracepoints::find(name).ok_or(ENODEV)?;
    let data = ptr::from_ref(watcher).cast();
    // SAFETY: Both tracepoints are the kernel's own, which stay, and pass their cookie and two words; the caller keeps
    // the watcher, which is the cookie.
    unsafe { tracepoint.attach(function as *mut c_void, data) }
}

impl InterruptWatch {
    /// Tells `watcher` of the sections that begin from now on.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the kernel has not the tracepoints, `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `watcher` stays where it is longer than the result.
    pub(crate) unsafe fn new<T: InterruptWatcher>(watcher: &T) -> Result<Self> {
        // Dropped last, also where the second one fails.
        let after = Synchronized;
        // SAFETY: The watcher stays until the result was dropped, whose last part waits for the probes.
        let ends = unsafe { attach("irq_enable", switched_on::<T>, watcher) }?;
        // SAFETY: Likewise, the caller keeps the watcher until no probe runs.
        let beginnings = unsafe { attach("irq_disable", switched_off::<T>, watcher) }?;
        Ok(Self {
            _ends: ends,
            _beginnings: beginnings,
            _after: after,
        })
    }
}
