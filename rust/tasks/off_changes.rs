// SPDX-License-Identifier: GPL-2.0

//! Where interrupts and preemption are switched off and on, told to a tracer, on a kernel that has tracepoints there.
//!
//! The kernel tells of each change once, while it is off: of a section, its first place and its last one. A non-maskable
//! interrupt that comes while interrupts are on is a section as well; it may have interrupted the watcher, which is not
//! told of it. If it comes between a change and what tells of that, the section of the task has lost its beginning.
//!
//! An idle CPU waits with interrupts on, as the kernel tells it, and with preemption off: for the latter its wait is
//! what is between two sections, of which the tracepoint of idle CPUs tells.

use super::attached::DetachBarrier;
use crate::{
    events::tracepoints::{
        self,
        AttachedProbe, //
    },
    kapi::{
        context,
        kprobe::symbol_address,
        percpu::CpuPin,
        words::SharedU64, //
    },
    ring::port::SharedWord as _, //
};
use core::{
    marker::PhantomData,
    ptr, //
};
use kernel::prelude::*;

const INTERRUPTS_ARE_TOLD: bool = cfg!(all(CONFIG_PREEMPTIRQ_TRACEPOINTS, CONFIG_TRACE_IRQFLAGS));
const PREEMPTION_IS_TOLD: bool = cfg!(all(
    CONFIG_PREEMPTIRQ_TRACEPOINTS,
    CONFIG_TRACE_PREEMPT_TOGGLE
));

/// What is off in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionKind {
    Interrupts,
    Preemption,
    /// One of the two at least.
    Either,
}

impl SectionKind {
    /// Returns whether this kernel tells of such sections.
    pub(crate) const fn is_told(self) -> bool {
        match self {
            Self::Interrupts => INTERRUPTS_ARE_TOLD,
            Self::Preemption => PREEMPTION_IS_TOLD,
            Self::Either => INTERRUPTS_ARE_TOLD && PREEMPTION_IS_TOLD,
        }
    }
}

/// What wants to know. Called while what it is told of is off, in any context but NMI; may neither sleep nor allocate.
/// On a CPU no call interrupts another one.
pub(crate) trait OffWatcher: Sync {
    /// Learns that a section of this CPU has begun at `place`, in a function that was called at `caller`, 0 if that is
    /// not known.
    fn switched_off(&self, pin: &CpuPin, place: u64, caller: u64);
    /// Learns that it is about to end at `place`, likewise.
    fn switched_on(&self, pin: &CpuPin, place: u64, caller: u64);
}

/// Of which changes a probe tells: all, or those while something is on.
trait ToldChange {
    const WHILE_PREEMPTIBLE: bool = false;
    const WHILE_INTERRUPTIBLE: bool = false;
}

struct EachChange;

impl ToldChange for EachChange {}

/// Those of interrupts while preemption is on.
struct PreemptibleChange;

impl ToldChange for PreemptibleChange {
    const WHILE_PREEMPTIBLE: bool = true;
}

/// Those of preemption while interrupts are on.
struct InterruptibleChange;

impl ToldChange for InterruptibleChange {
    const WHILE_INTERRUPTIBLE: bool = true;
}

/// Calls `f` if it is told of a change, unless this is an NMI.
#[inline(always)]
fn if_told<C: ToldChange>(f: impl FnOnce(&CpuPin)) {
    CpuPin::with(|pin| {
        let words = context::raw();
        // The pin disables preemption once.
        let is_told = (!C::WHILE_PREEMPTIBLE || words.is_preemptible(1))
            && (!C::WHILE_INTERRUPTIBLE || words.is_interruptible());
        if is_told && !words.in_nmi() {
            f(pin);
        }
    });
}

extern "C" fn switched_off<T: OffWatcher, C: ToldChange>(
    watcher: &T,
    place: c_ulong,
    caller: c_ulong,
) {
    if_told::<C>(|pin| watcher.switched_off(pin, place as u64, caller as u64));
}

extern "C" fn switched_on<T: OffWatcher, C: ToldChange>(
    watcher: &T,
    place: c_ulong,
    caller: c_ulong,
) {
    if_told::<C>(|pin| watcher.switched_on(pin, place as u64, caller as u64));
}

/// The function that has idle CPUs wait: what sections of preemption begin and end at there.
static IDLE_LOOP: SharedU64 = SharedU64::zero();

/// All bits are set when a CPU leaves a state of idleness.
const LEAVES: c_uint = c_uint::MAX;

extern "C" fn idle_changes<T: OffWatcher>(watcher: &T, state: c_uint, _cpu: c_uint) {
    let place = IDLE_LOOP.load();
    if_told::<EachChange>(|pin| match state {
        LEAVES => watcher.switched_off(pin, place, 0),
        _ => watcher.switched_on(pin, place, 0),
    });
}

/// The probes of a watch. Those at ends come first, and are taken off first: after the end of a section that is not told
/// of, there is a beginning or nothing.
const MOST_PROBES: usize = 5;

/// A watcher is told while this exists. Dropping it waits until no probe uses the watcher any more.
pub(crate) struct OffWatch {
    probes: [Option<AttachedProbe>; MOST_PROBES],
    _after: DetachBarrier,
}

/// What the tracepoints of changes call: with the two places.
type ChangeCallback<T> = extern "C" fn(&T, c_ulong, c_ulong);

/// What the one of idle CPUs calls: with the state, and the number of the CPU.
type IdleChangeCallback<T> = extern "C" fn(&T, c_uint, c_uint);

/// A tracepoint of the kernel, and what it is to call with a `T` as the cookie.
///
/// # Invariants
///
/// The function has the prototype of the tracepoint of that name, which is the kernel's own.
struct NamedProbe<T>(&'static str, *mut c_void, PhantomData<fn(&T)>);

impl<T: OffWatcher> NamedProbe<T> {
    /// Returns one of the four that pass two places.
    fn at_change(name: &'static str, function: ChangeCallback<T>) -> Self {
        // INVARIANT: All tracepoints of the system `preemptirq` do.
        Self(name, function as *mut c_void, PhantomData)
    }

    /// Returns that of idle CPUs.
    fn at_idle(function: IdleChangeCallback<T>) -> Self {
        // INVARIANT: It passes its cookie and two numbers.
        Self("cpu_idle", function as *mut c_void, PhantomData)
    }

    /// Has the tracepoint call the function.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the kernel has none of that name, `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `watcher` stays where it is until the result was dropped and no probe runs any more.
    unsafe fn attach(&self, watcher: &T) -> Result<AttachedProbe> {
        let tracepoint = tracepoints::find(self.0).ok_or(ENODEV)?;
        let data = ptr::from_ref(watcher).cast();
        // SAFETY: The tracepoint is the kernel's own, which stays, and passes what the function takes (invariant); the
        // caller keeps the watcher, which is the cookie.
        unsafe { tracepoint.attach(self.1, data) }
    }
}

/// Returns the probes that tell a `T` of sections of this kind, in the order of [`MOST_PROBES`].
fn probes_of<T: OffWatcher>(kind: SectionKind) -> [Option<NamedProbe<T>>; MOST_PROBES] {
    let (irqs_on, irqs_off) = ("irq_enable", "irq_disable");
    let (on, off) = ("preempt_enable", "preempt_disable");
    let at = |name, function| Some(NamedProbe::at_change(name, function));
    let idle = || Some(NamedProbe::at_idle(idle_changes::<T>));
    match kind {
        SectionKind::Interrupts => [
            at(irqs_on, switched_on::<T, EachChange>),
            at(irqs_off, switched_off::<T, EachChange>),
            None,
            None,
            None,
        ],
        SectionKind::Preemption => [
            idle(),
            at(on, switched_on::<T, EachChange>),
            at(off, switched_off::<T, EachChange>),
            None,
            None,
        ],
        SectionKind::Either => [
            idle(),
            at(irqs_on, switched_on::<T, PreemptibleChange>),
            at(on, switched_on::<T, InterruptibleChange>),
            at(irqs_off, switched_off::<T, PreemptibleChange>),
            at(off, switched_off::<T, InterruptibleChange>),
        ],
    }
}

impl OffWatch {
    /// Tells `watcher` of the sections of this kind that begin from now on. Process context.
    ///
    /// # Errors
    ///
    /// `ENODEV` when the kernel has not the tracepoints, `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `watcher` stays where it is longer than the result.
    pub(crate) unsafe fn new<T: OffWatcher>(kind: SectionKind, watcher: &T) -> Result<Self> {
        IDLE_LOOP.store(symbol_address("do_idle").unwrap_or(0));
        // What is attached goes in this order also where one fails, and then this waits.
        let mut watch = Self {
            probes: Default::default(),
            _after: DetachBarrier,
        };
        for (place, probe) in watch.probes.iter_mut().zip(probes_of::<T>(kind)) {
            if let Some(probe) = probe {
                // SAFETY: The watcher stays until the result was dropped, whose last part waits for the probes.
                *place = Some(unsafe { probe.attach(watcher) }?);
            }
        }
        Ok(watch)
    }
}
