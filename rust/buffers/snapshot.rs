// SPDX-License-Identifier: GPL-2.0

//! The snapshot: the bank that is not live, once it has memory.
//!
//! Taking a snapshot exchanges the banks (see `banks`) and waits until writers have left the one
//! that was live. What the previous snapshot held is then in the live buffer, before the events
//! that are recorded next. While there is a snapshot both banks have the same size. Contexts:
//! process context, under the lock of the shape; the readers' locks are taken one after the other
//! inside it.

use super::{
    selftest,
    side::Own,
    size::{
        pages_of,
        parts,
        Shape, //
    },
    Buffers,
    CpuSel, //
};
use crate::kapi::{
    grace,
    pages::Budget, //
};
use kernel::prelude::*;

impl Buffers {
    /// Runs `change` for the rings of `cpus` in the bank that is not live.
    ///
    /// The caller holds the lock of the shape, so that the bank does not become live.
    fn each_of_snapshot(&self, cpus: CpuSel, mut change: impl FnMut(u32, &mut Own<'_>)) {
        let bank = self.rings().live().other();
        for cpu in cpus.iter() {
            if let Ok(mut locked) = self.locked(cpu) {
                change(cpu, &mut locked.own(bank, false));
            }
        }
    }

    /// Gives the snapshot the size of the live buffer.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EINTR` (the task is being killed). Nothing has changed then.
    fn allocate_snapshot(&self, shape: &mut Shape) -> Result {
        let order = shape.order;
        let fresh = |slots: usize| slots.saturating_add(1);
        let pages = self
            .live_of(CpuSel::All)
            .map(|(_, ring)| ring.slot_count() as usize)
            .fold(0u64, |sum, slots| {
                sum.saturating_add(pages_of(slots, fresh(slots), order))
            });
        let mut budget = Budget::new(pages)?;
        let mut all = KVec::new();
        for (cpu, ring) in self.live_of(CpuSel::All) {
            let slots = ring.slot_count() as usize;
            let parts = parts(cpu, slots, fresh(slots), order, &mut budget)?;
            all.push((cpu, Some(parts)), GFP_KERNEL)?;
        }
        let mut small = KVec::with_capacity(all.len(), GFP_KERNEL)?;
        self.each_of_snapshot(CpuSel::All, |cpu, own| {
            let entry = all.iter_mut().find(|(of, _)| *of == cpu);
            let Some(parts) = entry.and_then(|(_, parts)| parts.take()) else {
                return;
            };
            // SAFETY: The bank has had no writer since the grace period in which it was exchanged,
            // or ever; whoever looks at the size holds the lock of the shape.
            let old = unsafe { own.resize(parts) };
            // There is room for one per ring.
            let _ = small.push_within_capacity((cpu, old));
        });
        shape.small = Some(small);
        Ok(())
    }

    /// Exchanges the live buffer and the snapshot. Returns once no writer is in the snapshot, and
    /// no reader is in it that took it for the live buffer.
    fn exchange(&self) {
        self.each_of_snapshot(CpuSel::All, |_, own| own.enter());
        self.rings().exchange();
        grace::writers_left();
        // A reader finds out its bank under its lock (`read_from`): taking each lock once waits for
        // all of them.
        self.each_of_snapshot(CpuSel::All, |cpu, own| {
            if selftest::ALWAYS {
                // SAFETY: Writers have left, see above; the state is this ring's and locked.
                unsafe { self.examine(cpu, own.ring, own.state) };
            }
        });
    }
}

impl Buffers {
    /// Returns whether there is a snapshot.
    pub(crate) fn has_snapshot(&self) -> bool {
        self.shape.lock().small.is_some()
    }

    /// Takes a snapshot; allocates memory for it first if there is none.
    ///
    /// # Errors
    ///
    /// `EBUSY` while a ring is mapped, `ENOMEM`, `EINTR` (the task is being killed). Nothing has
    /// changed then, except that an unused instance may have got its size.
    pub(crate) fn take_snapshot(&self) -> Result {
        let mut shape = self.shape.lock();
        self.expand_locked(&mut shape)?;
        self.unmapped(CpuSel::All)?;
        if shape.small.is_none() {
            self.allocate_snapshot(&mut shape)?;
        }
        self.exchange();
        drop(shape);
        self.wake_all();
        Ok(())
    }

    /// Empties the snapshot of `cpus`.
    ///
    /// # Errors
    ///
    /// As for [`Self::take_snapshot`].
    pub(crate) fn clear_snapshot(&self, cpus: CpuSel) -> Result {
        let mut shape = self.shape.lock();
        self.expand_locked(&mut shape)?;
        self.alarm().rearm();
        self.each_of_snapshot(cpus, |_, own| {
            // SAFETY: As in `allocate_snapshot`.
            unsafe { own.empty() };
        });
        Ok(())
    }

    /// Drops the snapshot and frees its memory.
    ///
    /// # Errors
    ///
    /// As for [`Self::take_snapshot`].
    pub(crate) fn free_snapshot(&self) -> Result {
        let mut shape = self.shape.lock();
        self.expand_locked(&mut shape)?;
        let Some(mut small) = shape.small.take() else {
            return Ok(());
        };
        self.each_of_snapshot(CpuSel::All, |cpu, own| {
            let Some(at) = small.iter().position(|(of, _)| *of == cpu) else {
                return;
            };
            let Ok((_, parts)) = small.remove(at) else {
                return;
            };
            // SAFETY: As in `allocate_snapshot`.
            drop(unsafe { own.resize(parts) });
            // What was there is not lost but forgotten: no counter tells of it.
            // SAFETY: As above.
            unsafe { own.empty() };
        });
        Ok(())
    }
}
