// SPDX-License-Identifier: GPL-2.0

//! When a ring has no writer, and what may be done to it then: to empty it, to change its size, to
//! look at all its words.
//!
//! A [`QuiescentRing`] is such a ring. There are two ways to one: `quiesced` keeps writers out of the
//! live bank for a while, and `each_of_snapshot` takes the other bank, which has none. Called by
//! the rest of this folder. Contexts: process context, with the lock of the shape held, so that the
//! banks stay what they are; readers' locks are taken one after the other inside.

use super::{
    banks::Bank,
    selftest,
    side::OwnSide,
    size::BufferShape,
    Buffers,
    CpuSel, //
};
use crate::{
    kapi::{
        grace,
        port::Kernel, //
    },
    ring::{
        check::Clock,
        cpu::{
            Parts,
            DISABLE_QUIESCE, //
        },
        idle::IdleRing,
        violation::Violation, //
    },
};

/// A ring without a writer.
///
/// # Invariants
///
/// No writer is in the ring, and none gets into it, for `'a`.
pub(super) struct QuiescentRing<'a>(OwnSide<'a>);

impl<'a> QuiescentRing<'a> {
    /// Wraps `own`.
    ///
    /// # Safety
    ///
    /// No writer is in the ring, and none gets into it, for `'a`.
    unsafe fn new(own: OwnSide<'a>) -> Self {
        // INVARIANT: The caller promises that no writer is in the ring and that none gets into it.
        Self(own)
    }

    /// Returns the ring, in no use.
    fn idle(&mut self) -> IdleRing<'_, Kernel> {
        let Self(own) = self;
        // SAFETY: No writer is in the ring (invariant), and the state is the ring's and locked
        // (invariant of `OwnSide`).
        unsafe { own.ring.idle(own.state) }
    }

    /// Empties the ring.
    pub(super) fn empty(&mut self) {
        let Self(own) = self;
        let stats = own.stats();
        own.totals.empties(&stats);
        own.past.empties(stats.written, own.live);
        self.idle().reset();
    }

    /// Gives the ring other parts. Returns those that are not used any more.
    pub(super) fn resize(&mut self, parts: Parts<Kernel>) -> Parts<Kernel> {
        if self.0.ring.is_broken() {
            // Its events would go anyway.
            self.empty();
        }
        let left = self.idle().resize(parts);
        left.unwrap_or_else(|rejected| rejected.0)
    }

    /// Notes that the ring is going to be live.
    pub(super) fn enter(&mut self) {
        let Self(own) = self;
        let written = own.written();
        own.past.enters(written);
    }

    /// Looks at every word and every byte of the ring. Fails with what is wrong.
    fn check(&self) -> Result<(), Violation> {
        let Self(own) = self;
        // SAFETY: No writer is in the ring (invariant), and the state is the ring's and locked
        // (invariant of `OwnSide`).
        unsafe { own.ring.check(own.state, Clock::Any) }
    }
}

impl Buffers {
    /// Runs `change` for the rings of `cpus` in both banks, the live one first, while no writer is
    /// in them; what would be written meanwhile is not recorded.
    ///
    /// `shape` is the content of its lock, which the caller holds.
    pub(super) fn quiesced(
        &self,
        _shape: &BufferShape,
        cpus: CpuSel,
        mut change: impl FnMut(u32, Bank, &mut QuiescentRing<'_>),
    ) {
        let live = self.rings.live();
        for rings in cpus.iter().filter_map(|cpu| self.rings.of(cpu)) {
            rings.of(live).set_disabled(DISABLE_QUIESCE, true);
        }
        // The other bank has had no writer since the grace period in which it was exchanged.
        grace::writers_left();
        for cpu in cpus.iter() {
            let Ok(mut locked) = self.locked(cpu) else {
                continue;
            };
            for bank in [live, live.other()] {
                // SAFETY: The live ring is disabled until both were changed, and the writers that
                // were in it before have left; the other one has no writer (`exchange_banks`).
                let mut ring = unsafe { QuiescentRing::new(locked.own(bank, bank == live)) };
                change(cpu, bank, &mut ring);
                if selftest::ALWAYS {
                    self.examine(cpu, &ring);
                }
            }
            if let (reader, Some(mapped)) = locked.reader(live) {
                mapped.tell(&reader);
            }
            locked.ring(live).set_disabled(DISABLE_QUIESCE, false);
        }
    }

    /// Runs `change` for the rings of `cpus` in the bank that is not live.
    ///
    /// `shape` is the content of its lock, which the caller holds, so that the bank stays that.
    pub(super) fn each_of_snapshot(
        &self,
        _shape: &BufferShape,
        cpus: CpuSel,
        mut change: impl FnMut(u32, &mut QuiescentRing<'_>),
    ) {
        let bank = self.rings.live().other();
        for cpu in cpus.iter() {
            if let Ok(mut locked) = self.locked(cpu) {
                // SAFETY: The bank is not live while the shape is locked, and the writers that were
                // in it when it was live, if ever, have left it (`exchange_banks`, `lock_shape`).
                let mut ring = unsafe { QuiescentRing::new(locked.own(bank, false)) };
                change(cpu, &mut ring);
            }
        }
    }

    /// Makes the bank that is not live the live one. Returns when no writer is in the bank that was
    /// live before: while the shape is unlocked, the bank that is not live has no writer.
    ///
    /// `shape` is the content of its lock, which the caller holds.
    pub(super) fn exchange_banks(&self, shape: &BufferShape) {
        self.each_of_snapshot(shape, CpuSel::All, |_, ring| ring.enter());
        self.rings.exchange();
        grace::writers_left();
    }

    /// Looks at `ring`, one of `cpu`, and tells of what is wrong. Returns whether it is whole.
    pub(super) fn examine(&self, cpu: u32, ring: &QuiescentRing<'_>) -> bool {
        if ring.0.ring.is_broken() {
            return false;
        }
        match ring.check() {
            Ok(()) => true,
            Err(violation) => {
                ring.0.ring.set_broken(violation);
                self.tell_of(cpu, violation);
                false
            }
        }
    }
}
