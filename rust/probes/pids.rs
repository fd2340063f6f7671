// SPDX-License-Identifier: GPL-2.0

//! Decides whether the task that runs is one whose events an instance records: a listed task, or
//! any but the listed ones.
//!
//! Each CPU has a word that says whether events there are ignored; a probe looks at nothing else.
//! The word follows the task that runs: the tracepoints of the scheduler set it both before and
//! after the probes that record them, so that a switch counts for both tasks, and a wake-up also
//! for the task that is woken.
//!
//! Lists are changed bit by bit, from any context. A list is freed once no reader of it can be
//! left.

use crate::{
    kapi::{
        grace_ref::GraceRef,
        percpu::{
            CpuPin,
            PerCpu, //
        },
        words::SharedU64, //
    },
    ring::port::SharedWord,
    tasks::watch::Watcher, //
};
use kernel::prelude::*;

/// Tasks have pids below this: the kernel's PID_MAX_LIMIT.
const MOST_TASKS: usize = 1 << 22;

/// A set of the tasks there can be: a bit for each pid.
pub(crate) struct PidSet(KVVec<SharedU64>);

impl PidSet {
    /// No task.
    pub(crate) fn new() -> Result<Self> {
        let words = MOST_TASKS >> 6;
        let mut bits = KVVec::with_capacity(words, GFP_KERNEL)?;
        for _ in 0..words {
            bits.push(SharedU64::zero(), GFP_KERNEL)?;
        }
        Ok(Self(bits))
    }

    fn place(&self, pid: u32) -> Option<(&SharedU64, u64)> {
        let word = self.0.get(pid as usize >> 6)?;
        Some((word, 1u64.wrapping_shl(pid & 63)))
    }

    /// Returns whether a task can have this pid.
    pub(crate) fn can_have(pid: u32) -> bool {
        (pid as usize) < MOST_TASKS
    }

    /// Returns whether the task `pid` is in it.
    #[inline(always)]
    pub(super) fn has(&self, pid: i32) -> bool {
        let place = u32::try_from(pid).ok().and_then(|pid| self.place(pid));
        place.is_some_and(|(word, bit)| word.load() & bit != 0)
    }

    /// Adds a pid that a task can have, or takes it away.
    pub(crate) fn set(&self, pid: u32, on: bool) {
        if let Some((word, bit)) = self.place(pid) {
            word.mark(bit, on);
        }
    }

    /// The pids, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(self.0.iter()).flat_map(|(at, word)| {
            let bits = word.load();
            (0..64u32)
                .filter(move |bit| bits.wrapping_shr(*bit) & 1 != 0)
                .map(move |bit| at.wrapping_mul(64).wrapping_add(bit))
        })
    }
}

/// One of the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PidList {
    /// Only these.
    Only,
    /// All but these.
    Never,
}

/// The lists of an instance as probes see them.
pub(crate) struct PidFilter {
    /// Whether events of this CPU are ignored.
    ignore: PerCpu<SharedU64>,
    only: GraceRef<PidSet>,
    never: GraceRef<PidSet>,
}

impl PidFilter {
    /// Without a list.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            ignore: PerCpu::new(|_| Ok(SharedU64::zero()))?,
            only: GraceRef::none(),
            never: GraceRef::none(),
        })
    }

    fn of(&self, list: PidList) -> &GraceRef<PidSet> {
        match list {
            PidList::Only => &self.only,
            PidList::Never => &self.never,
        }
    }

    /// Uses `set` from now on.
    ///
    /// # Safety
    ///
    /// The set stays where it is until another one, or none, was set and
    /// [`crate::events::synchronize`] has returned, or this has gone.
    pub(crate) unsafe fn set(&self, list: PidList, set: Option<&PidSet>) {
        // SAFETY: The caller keeps it until probes that may have got it have ended.
        unsafe { self.of(list).set(set) };
    }

    fn get(&self, list: PidList) -> Option<&PidSet> {
        self.of(list).get()
    }

    fn unlisted(&self, pid: i32) -> bool {
        self.get(PidList::Only).is_some_and(|set| !set.has(pid))
    }

    fn forbidden(&self, pid: i32) -> bool {
        self.get(PidList::Never).is_some_and(|set| set.has(pid))
    }

    fn set_ignored(&self, pin: &CpuPin, ignored: bool) {
        self.ignore.this(pin).store(u64::from(ignored));
    }

    /// The task `pid` runs on this CPU.
    pub(crate) fn runs(&self, pin: &CpuPin, pid: i32) {
        self.set_ignored(pin, self.unlisted(pid) || self.forbidden(pid));
    }

    /// Ignores nothing on `cpu`, until something happens there.
    pub(crate) fn forget(&self, cpu: u32) {
        if let Some(word) = self.ignore.of(cpu) {
            word.store(0);
        }
    }

    /// Returns whether the events of this CPU are ignored.
    #[inline(always)]
    pub(super) fn ignores(&self, pin: &CpuPin) -> bool {
        self.ignore.this(pin).load() != 0
    }
}

impl Watcher for PidFilter {
    fn before_switch(&self, pin: &CpuPin, prev: i32, next: i32) {
        let ignored = self.forbidden(prev) && self.forbidden(next)
            || self.unlisted(prev) && self.unlisted(next);
        self.set_ignored(pin, ignored);
    }

    fn after_switch(&self, pin: &CpuPin, next: i32) {
        self.runs(pin, next);
    }

    fn before_wakeup(&self, pin: &CpuPin, woken: i32) {
        if self.ignores(pin) {
            self.runs(pin, woken);
        }
    }

    fn after_wakeup(&self, pin: &CpuPin, current: i32) {
        if !self.ignores(pin) {
            self.runs(pin, current);
        }
    }

    fn forked(&self, parent: i32, child: i32) {
        for list in [PidList::Only, PidList::Never] {
            if let (Some(set), Ok(child)) = (self.get(list), u32::try_from(child)) {
                if set.has(parent) {
                    set.set(child, true);
                }
            }
        }
    }

    fn freed(&self, pid: i32) {
        for list in [PidList::Only, PidList::Never] {
            if let (Some(set), Ok(pid)) = (self.get(list), u32::try_from(pid)) {
                set.set(pid, false);
            }
        }
    }
}
