// SPDX-License-Identifier: GPL-2.0

//! How the lock of the shape and the gate through which writers exchange the banks (see `gate`) go together: the gate
//! is closed while the shape is locked.
//!
//! Called by the rest of this folder, for which a locked shape means that the banks stay what they are; and by the
//! tracers that keep the trace of the longest latency.

use super::{
    banks::Bank,
    gate::GateClosure,
    selftest,
    size::BufferShape,
    Buffers,
    CpuSel, //
};
use crate::kapi::grace;
use core::{
    hint,
    ops::{
        Deref,
        DerefMut, //
    }, //
};
use kernel::{
    prelude::*,
    sync::MutexGuard, //
};

/// The shape, locked. The banks are exchanged by the task that has it alone, and the bank that is not live has no writer.
#[must_use = "the shape is unlocked when this is dropped"]
pub(super) struct LockedShape<'a> {
    buffers: &'a Buffers,
    shape: MutexGuard<'a, BufferShape>,
}

impl Deref for LockedShape<'_> {
    type Target = BufferShape;

    fn deref(&self) -> &BufferShape {
        &self.shape
    }
}

impl DerefMut for LockedShape<'_> {
    fn deref_mut(&mut self) -> &mut BufferShape {
        &mut self.shape
    }
}

impl Drop for LockedShape<'_> {
    fn drop(&mut self) {
        if self.shape.writers_exchange {
            // For the exchange that comes next, at which there is no time for it.
            self.buffers
                .each_of_snapshot(&self.shape, CpuSel::All, |_, ring| ring.enter());
            self.buffers.gate.open();
        }
    }
}

impl Buffers {
    /// Locks the shape. Process context.
    pub(super) fn lock_shape(&self) -> LockedShape<'_> {
        let shape = self.shape.lock();
        loop {
            match self.gate.close() {
                GateClosure::Closed => break,
                // Ends: a writer passes in a few instructions, with interrupts disabled.
                GateClosure::Again => hint::spin_loop(),
                GateClosure::Passed => {
                    grace::writers_left();
                    self.gate.settled();
                    if selftest::ALWAYS {
                        self.each_of_snapshot(&shape, CpuSel::All, |cpu, ring| {
                            self.examine(cpu, ring);
                        });
                    }
                    break;
                }
            }
        }
        LockedShape {
            buffers: self,
            shape,
        }
    }

    /// Allows writers to exchange the banks. The snapshot gets memory, and is empty.
    ///
    /// # Errors
    ///
    /// `EBUSY` while a ring is mapped, `ENOMEM`, `EINTR` (the task is being killed). They may not, then.
    pub(crate) fn allow_exchanges(&self) -> Result {
        let mut shape = self.lock_shape();
        self.arm_locked(&mut shape)?;
        self.each_of_snapshot(&shape, CpuSel::All, |_, ring| ring.empty());
        shape.writers_exchange = true;
        Ok(())
    }

    /// Forbids that, and drops the snapshot.
    pub(crate) fn forbid_exchanges(&self) {
        let mut shape = self.lock_shape();
        shape.writers_exchange = false;
        self.free_locked(&mut shape);
    }

    /// Returns whether they may: a tracer has the snapshot for itself. Process context.
    pub(crate) fn allows_exchanges(&self) -> bool {
        self.shape.lock().writers_exchange
    }

    /// Exchanges the banks, if writers may at present: not after another exchange until [`Self::settle_exchange`] has
    /// returned, nor while the shape is locked. Returns the bank that was live. Any context with interrupts disabled.
    pub(crate) fn try_exchange(&self) -> Option<Bank> {
        let mut bank = None;
        self.gate.pass(|| {
            bank = Some(self.rings.live());
            self.rings.exchange();
        });
        bank
    }

    /// Returns when [`Self::try_exchange`] may succeed again. Process context.
    pub(crate) fn settle_exchange(&self) {
        drop(self.lock_shape());
        self.wake_all();
    }
}
