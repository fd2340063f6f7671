// SPDX-License-Identifier: GPL-2.0

//! Which calls of the functions that an instance wants are recorded.

use super::{
    followed::{
        self,
        FollowedPart, //
    },
    graph_places::GraphPlaces,
    TracedPids, //
};
use crate::{
    kapi::{
        context,
        percpu::CpuPin,
        publisher::{
            FollowedArc,
            RetiredBox, //
        },
        stack,
        words::{
            SharedU64,
            SharedU8, //
        }, //
    },
    ring::port::SharedWord, //
};
use kernel::sync::Arc;

/// Bits of [`GraphRules::special`]: calls in hard interrupts are not recorded; there are places; there are
/// lists of tasks; arguments are recorded; return values are; there is a threshold; of calls that return an error
/// the exit is recorded, and nothing else; the places of calls are recorded; time asleep does not count; callers are
/// recorded at the exit; there is a limit to the depth; calls are recorded on the CPU of the task alone that a tracer of
/// latencies follows.
const WITHOUT_IRQS: u64 = 1;
const BY_PLACE: u64 = 2;
const BY_TASK: u64 = 4;
const WITH_ARGS: u64 = 8;
const WITH_RETVAL: u64 = 16;
const BY_TIME: u64 = 32;
const BY_ERROR: u64 = 64;
const WITH_RETADDR: u64 = 128;
const AWAKE: u64 = 256;
const WITH_STACK: u64 = 512;
const BY_DEPTH: u64 = 1024;
const OF_FOLLOWED: u64 = 2048;

/// What an instance asks of the calls that are recorded.
pub(crate) struct GraphRules {
    /// Calls that are at least as deep are not recorded; 0 for no limit.
    max_depth: SharedU64,
    /// One bit for each rule that is seldom there, so that without any a hook looks at one word.
    special: SharedU64,
    /// Calls that take less are not recorded, in nanoseconds; of others, the exit is. 0 for all calls.
    threshold: SharedU64,
    /// The functions that calls are to be in, or not to be in.
    places: FollowedArc<GraphPlaces>,
    /// The tasks whose calls are recorded, when not all.
    pids: FollowedArc<TracedPids>,
}

/// What the rules say to an entry.
pub(super) enum Answer<'r> {
    /// It is not recorded.
    Ignore,
    /// Nor is it recorded, but what is called in it has to be deeper, and its exit ends that.
    Hold,
    /// It is recorded.
    Take(Root<'r>),
    /// It is recorded, and the rules say how.
    TakeClosely(Root<'r>),
}

/// The call that a call is in, of those that calls are to be in, and what has to be noted when that was recorded.
pub(super) struct Root<'r> {
    note: Option<(&'r SharedU8, u8)>,
    /// A hard interrupt has called it.
    of_irq: bool,
}

impl Root<'_> {
    /// Notes that the call was entered.
    #[inline(always)]
    pub(super) fn enter(self) {
        if let Some((byte, noted)) = self.note {
            byte.store(noted);
        }
    }
}

impl<'r> Root<'r> {
    /// Returns that of a call which is one itself, for which `noted` is noted in `byte`.
    pub(super) fn noted_in(byte: &'r SharedU8, noted: u8, of_irq: bool) -> Self {
        let note = Some((byte, noted));
        Self { note, of_irq }
    }

    /// Returns that of a call of which nothing is noted.
    pub(super) const fn none(of_irq: bool) -> Self {
        Self { note: None, of_irq }
    }
}

impl GraphRules {
    /// Returns rules that every call follows.
    pub(crate) const fn new() -> Self {
        Self::of(0)
    }

    /// Returns rules that the calls follow which are made on the CPU of the task that a tracer of latencies follows.
    pub(crate) const fn of_followed() -> Self {
        Self::of(OF_FOLLOWED)
    }

    const fn of(special: u64) -> Self {
        Self {
            max_depth: SharedU64::zero(),
            special: SharedU64::of(special),
            threshold: SharedU64::zero(),
            places: FollowedArc::none(),
            pids: FollowedArc::none(),
        }
    }

    /// Returns the depth from which on calls are not recorded; 0 for none.
    pub(crate) fn max_depth(&self) -> u32 {
        self.max_depth.load() as u32
    }

    /// Sets that.
    pub(crate) fn set_max_depth(&self, depth: u32) {
        self.max_depth.store(depth.into());
        self.special.mark(BY_DEPTH, depth != 0);
    }

    /// Returns how long a call takes at least that is recorded, in nanoseconds; 0 when all are.
    pub(crate) fn threshold(&self) -> u64 {
        self.threshold.load()
    }

    /// Returns whether each call is recorded, and as usual.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.special.load() == 0
    }

    /// Returns whether each call that is recorded is so as usual.
    #[inline(always)]
    pub(super) fn is_usual(&self) -> bool {
        self.special.load() & !BY_DEPTH == 0
    }

    /// Returns whether a call is recorded by where it is made, and it is made elsewhere.
    #[inline(always)]
    pub(super) fn is_elsewhere(&self, pin: &CpuPin) -> bool {
        self.special.load() & OF_FOLLOWED != 0 && !followed::is_here(pin, FollowedPart::Task)
    }

    /// Returns whether calls are recorded with their arguments.
    pub(super) fn with_args(&self) -> bool {
        self.special.load() & WITH_ARGS != 0
    }

    /// Returns whether they are recorded with the place that they return to.
    pub(super) fn with_retaddr(&self) -> bool {
        self.special.load() & WITH_RETADDR != 0
    }

    /// Returns whether the functions that led to a call are recorded at its exit.
    pub(super) fn with_stack(&self) -> bool {
        self.special.load() & WITH_STACK != 0
    }

    /// Returns whether that is so, or a call is recorded by where it is made.
    #[inline(always)]
    pub(super) fn is_awake_or_of_followed(&self) -> bool {
        self.special.load() & (AWAKE | OF_FOLLOWED) != 0
    }

    /// Returns whether time asleep does not count.
    pub(super) fn is_awake(&self) -> bool {
        self.special.load() & AWAKE != 0
    }

    /// Returns whether they are recorded with what they return.
    pub(super) fn with_retval(&self) -> bool {
        self.special.load() & (WITH_RETVAL | BY_ERROR) != 0
    }

    /// Returns whether only those are recorded that return an error.
    pub(super) fn by_error(&self) -> bool {
        self.special.load() & BY_ERROR != 0
    }

    /// Sets that.
    pub(crate) fn set_threshold(&self, ns: u64) {
        self.threshold.store(ns);
        self.special.mark(BY_TIME, ns != 0);
    }

    /// Has calls in hard interrupts recorded or not.
    pub(crate) fn set_irqs(&self, on: bool) {
        self.special.mark(WITHOUT_IRQS, !on);
    }

    /// Has calls recorded with their arguments or not.
    pub(crate) fn set_args(&self, on: bool) {
        self.special.mark(WITH_ARGS, on);
    }

    /// Has calls recorded with the place that they return to or not.
    pub(crate) fn set_retaddr(&self, on: bool) {
        self.special.mark(WITH_RETADDR, on);
    }

    /// Has the functions that led to a call recorded at its exit or not.
    pub(crate) fn set_stack(&self, on: bool) {
        self.special.mark(WITH_STACK, on);
    }

    /// Has time asleep not counted, or counted.
    pub(crate) fn set_awake(&self, on: bool) {
        self.special.mark(AWAKE, on);
    }

    /// Has calls recorded with what they return or not.
    pub(crate) fn set_retval(&self, on: bool) {
        self.special.mark(WITH_RETVAL, on);
    }

    /// Has calls recorded only if they return an error, or all.
    pub(crate) fn set_by_error(&self, on: bool) {
        self.special.mark(BY_ERROR, on);
    }

    /// Has calls recorded by the functions that they are in. Returns what hooks asked before.
    pub(crate) fn set_places(
        &self,
        places: Option<Arc<GraphPlaces>>,
    ) -> RetiredBox<Arc<GraphPlaces>> {
        let is_any = places.is_some();
        let before = self.places.set(places);
        self.special.mark(BY_PLACE, is_any);
        before
    }

    /// Has calls of these tasks recorded alone, or those of all. Returns what hooks asked before.
    pub(crate) fn set_pids(&self, pids: Option<Arc<TracedPids>>) -> RetiredBox<Arc<TracedPids>> {
        let is_any = pids.is_some();
        let before = self.pids.set(pids);
        self.special.mark(BY_TASK, is_any);
        before
    }

    /// Returns whether a call at this depth is recorded. Any context.
    #[inline(always)]
    pub(super) fn ask<'p>(&'p self, pin: &'p CpuPin, address: u64, depth: i32) -> Answer<'p> {
        let Ok(level) = u64::try_from(depth) else {
            return Answer::Ignore;
        };
        match self.special.load() {
            BY_DEPTH if self.is_too_deep(level) => Answer::Ignore,
            0 | BY_DEPTH => Answer::Take(Root::none(false)),
            special => self.ask_closely(special, pin, address, level),
        }
    }

    /// Learns that a call at this depth of the current task ends. Any context.
    #[inline(always)]
    pub(super) fn leave(&self, pin: &CpuPin, depth: i32) {
        if self.special.load() & BY_PLACE != 0 {
            self.leave_place(pin, depth);
        }
    }

    #[inline(never)]
    fn leave_place(&self, pin: &CpuPin, depth: i32) {
        let level = u64::try_from(depth);
        if let (Some(places), Ok(level)) = (self.places.get(pin), level) {
            places.leave(pin, level);
        }
    }

    /// Returns whether the calls of the current task are not recorded. Any context.
    #[inline(always)]
    pub(super) fn is_of_others(&self, pin: &CpuPin) -> bool {
        self.pids
            .get(pin)
            .is_some_and(|pids| !pids.has(context::pid()))
    }

    #[inline(always)]
    fn is_too_deep(&self, level: u64) -> bool {
        let most = self.max_depth.load();
        most != 0 && level >= most
    }

    /// Answers where there are special rules.
    #[inline(never)]
    fn ask_closely<'p>(
        &'p self,
        special: u64,
        pin: &'p CpuPin,
        address: u64,
        level: u64,
    ) -> Answer<'p> {
        // Or the search for callers would make calls, whose exits look for callers.
        if special & WITH_STACK != 0 && stack::is_of_call(pin) {
            return Answer::Ignore;
        }
        let raw = context::raw();
        // First, as in ftrace: the calls of another task are in no place.
        if self.pids.get(pin).is_some_and(|pids| !pids.has(raw.pid)) {
            return Answer::Ignore;
        }
        let mut root = Root::none(false);
        if let Some(places) = self.places.get(pin) {
            match places.ask(pin, address, level) {
                Answer::Take(found) => root = found,
                other => return other,
            }
        }
        if self.is_too_deep(level) {
            return Answer::Ignore;
        }
        if special & (WITHOUT_IRQS | OF_FOLLOWED) != 0 {
            // As in ftrace: a user that names a function which interrupts call means those calls.
            let is_of_irq = special & WITHOUT_IRQS != 0 && !root.of_irq && raw.in_hardirq();
            if is_of_irq || self.is_elsewhere(pin) {
                return Answer::Ignore;
            }
        }
        Answer::TakeClosely(root)
    }
}
