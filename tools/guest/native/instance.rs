// SPDX-License-Identifier: GPL-2.0

//! An instance that is nothing but rings.

use crate::{
    buffers::Buffers,
    kapi::{
        clock::{
            self,
            ClockId, //
        },
        percpu::CpuPin,
        words::SharedU64, //
    },
    probes::Sink,
    ring::port::SharedWord, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    sync::Arc, //
};

/// What a handle holds.
pub(crate) type InstanceRef = Arc<Instance>;

#[pin_data]
pub(crate) struct Instance {
    #[pin]
    sink: Sink,
}

impl Instance {
    /// Its rings.
    pub(crate) fn buffers(&self) -> &Buffers {
        self.sink.buffers()
    }

    /// Returns what a writer uses.
    #[inline(always)]
    pub(crate) fn sink(&self) -> &Sink {
        &self.sink
    }

    /// Records these bytes as one event.
    pub(crate) fn raw_data(&self, bytes: &[u8]) -> Result {
        CpuPin::with(|pin| {
            let ring = self.buffers().rings().this(pin.by_value());
            let now = || clock::read(self.sink.clock());
            let mut reserved = ring
                .writer()
                .reserve(bytes.len(), now)
                .map_err(|_| ENOSPC)?;
            reserved.payload().copy_from_slice(bytes);
            reserved.commit();
            Ok(())
        })
    }
}

/// The two instances: one that has room for all events of a row and refuses more, and a small one that
/// overwrites. Both as large as the kernel's ring buffers in rtbench's `kernel_ring.c`.
pub(crate) mod registry {
    use super::*;
    use core::ptr::with_exposed_provenance_mut;

    const ROOM: usize = 16 << 20;
    const SMALL: usize = 256 << 10;

    struct Both {
        room: Arc<Instance>,
        small: Arc<Instance>,
    }

    /// Address of [`Both`], 0 without.
    static BOTH: SharedU64 = SharedU64::zero();

    fn make(size: usize, overwrite: bool) -> Result<Arc<Instance>> {
        let buffers = Buffers::new(size / PAGE_SIZE, overwrite)?;
        Arc::pin_init(
            pin_init!(Instance {
                sink <- Sink::new(buffers),
            }),
            GFP_KERNEL,
        )
    }

    /// # Safety
    ///
    /// Called once before everything else.
    pub(crate) unsafe fn fill() -> Result {
        let both = Both {
            room: make(ROOM, false)?,
            small: make(SMALL, true)?,
        };
        let both = KBox::into_raw(KBox::new(both, GFP_KERNEL)?);
        BOTH.store(both.expose_provenance() as u64);
        Ok(())
    }

    /// # Safety
    ///
    /// Called once, after everything else.
    pub(crate) unsafe fn empty() {
        let both = with_exposed_provenance_mut::<Both>(BOTH.load() as usize);
        // SAFETY: `fill` made it, and the caller uses it no more.
        drop(unsafe { KBox::from_raw(both) });
    }

    /// An instance that was found, empty.
    pub(crate) struct Found(Arc<Instance>);

    impl Found {
        pub(crate) fn get(&self) -> Result<InstanceRef> {
            Ok(self.0.clone())
        }
    }

    /// RING.CLOCK: `room`, `small` or `off`, the first one with recording off; and `called` or `inline`.
    pub(crate) fn find(name: &CStr) -> Result<Found> {
        let both = with_exposed_provenance_mut::<Both>(BOTH.load() as usize);
        // SAFETY: `fill` has made it.
        let both = unsafe { &*both };
        let (inst, off, clock) = match name.to_bytes() {
            b"room.called" => (&both.room, false, ClockId::Called),
            b"room.inline" => (&both.room, false, ClockId::Inline),
            b"small.called" => (&both.small, false, ClockId::Called),
            b"small.inline" => (&both.small, false, ClockId::Inline),
            b"off.called" => (&both.room, true, ClockId::Called),
            b"off.inline" => (&both.room, true, ClockId::Inline),
            _ => return Err(ENOENT),
        };
        inst.sink.set_clock(clock);
        // SAFETY: Rows and this come one after the other: they are parameters of one module.
        unsafe { inst.buffers().reset(off, clock) };
        Ok(Found(inst.clone()))
    }
}
