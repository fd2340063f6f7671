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
    size::{
        pages_of,
        parts,
        BufferShape, //
    },
    Buffers,
    CpuSel, //
};
use crate::kapi::pages::Budget;
use kernel::prelude::*;

impl Buffers {
    /// Gives the snapshot the size of the live buffer.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EINTR` (the task is being killed). Nothing has changed then.
    fn allocate_snapshot(&self, shape: &mut BufferShape) -> Result {
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
        self.each_of_snapshot(shape, CpuSel::All, |cpu, ring| {
            let entry = all.iter_mut().find(|(of, _)| *of == cpu);
            let Some(parts) = entry.and_then(|(_, parts)| parts.take()) else {
                return;
            };
            // There is room for one per ring.
            let _ = small.push_within_capacity((cpu, ring.resize(parts)));
        });
        shape.small = Some(small);
        Ok(())
    }

    /// Makes the snapshot the live buffer and the other way round. Returns when no writer is in the
    /// snapshot, and no reader reads it that took it for the live buffer.
    fn exchange(&self, shape: &BufferShape) {
        self.exchange_banks(shape);
        // A reader finds its bank under its lock (`read_from`), so each has left it once.
        self.each_of_snapshot(shape, CpuSel::All, |cpu, ring| {
            if selftest::ALWAYS {
                self.examine(cpu, ring);
            }
        });
    }
}

impl Buffers {
    /// Returns whether there is a snapshot.
    pub(crate) fn has_snapshot(&self) -> bool {
        self.shape.lock().small.is_some()
    }

    /// Allocates memory for a snapshot, unless there is one.
    ///
    /// # Errors
    ///
    /// As for [`Self::take_snapshot`].
    pub(crate) fn arm_snapshot(&self) -> Result {
        self.arm_locked(&mut self.lock_shape())
    }

    /// Does what [`Self::arm_snapshot`] does, with the lock of the shape held.
    ///
    /// # Errors
    ///
    /// As for [`Self::take_snapshot`].
    pub(super) fn arm_locked(&self, shape: &mut BufferShape) -> Result {
        self.expand_locked(shape)?;
        self.unmapped(CpuSel::All)?;
        match shape.small {
            Some(_) => Ok(()),
            None => self.allocate_snapshot(shape),
        }
    }

    /// Takes a snapshot; allocates memory for it first if there is none.
    ///
    /// # Errors
    ///
    /// `EBUSY` while a ring is mapped or writers may exchange the banks, `ENOMEM`, `EINTR` (the task is
    /// being killed). Nothing has changed then, except that an unused instance may have got its size.
    pub(crate) fn take_snapshot(&self) -> Result {
        let mut shape = self.lock_shape();
        self.expand_locked(&mut shape)?;
        self.unmapped(CpuSel::All)?;
        if shape.writers_exchange {
            return Err(EBUSY);
        }
        if shape.small.is_none() {
            self.allocate_snapshot(&mut shape)?;
        }
        self.exchange(&shape);
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
        let mut shape = self.lock_shape();
        self.expand_locked(&mut shape)?;
        self.alarm().rearm();
        self.each_of_snapshot(&shape, cpus, |_, ring| ring.empty());
        Ok(())
    }

    /// Drops the snapshot and frees its memory.
    ///
    /// # Errors
    ///
    /// As for [`Self::take_snapshot`].
    pub(crate) fn free_snapshot(&self) -> Result {
        let mut shape = self.lock_shape();
        self.expand_locked(&mut shape)?;
        if shape.writers_exchange {
            return Err(EBUSY);
        }
        self.free_locked(&mut shape);
        Ok(())
    }

    /// Drops the snapshot, if there is one, with the lock of the shape held.
    pub(super) fn free_locked(&self, shape: &mut BufferShape) {
        let Some(mut small) = shape.small.take() else {
            return;
        };
        self.each_of_snapshot(shape, CpuSel::All, |cpu, ring| {
            let Some(at) = small.iter().position(|(of, _)| *of == cpu) else {
                return;
            };
            let Ok((_, parts)) = small.remove(at) else {
                return;
            };
            // What was there is not lost but forgotten, as when the user empties it: it is not what the
            // smaller ring has no room for.
            ring.empty();
            drop(ring.resize(parts));
        });
    }
}
