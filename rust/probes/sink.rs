// SPDX-License-Identifier: GPL-2.0

//! What the writers of an instance record into: its rings, by its clock, and what follows an event.

use super::{
    given::fill_common,
    ActionList,
    COMMON, //
};
use crate::{
    buffers::Buffers,
    event::context::Base,
    kapi::{
        clock,
        grace_ref::GraceRef,
        percpu::CpuPin,
        port::Ring,
        waker::Waker,
        words::SharedU64, //
    },
    ring::{
        port::SharedWord,
        watermark::Publication,
        writer::ReserveError, //
    },
    text::clock::ClockId, //
};
use kernel::prelude::*;

/// What writers use of an instance.
#[pin_data]
pub(crate) struct Sink {
    #[pin]
    buffers: Buffers,
    clock: SharedU64,
    actions: GraceRef<ActionList>,
}

impl Sink {
    /// Returns one with these rings and this clock.
    pub(crate) fn new<E>(
        buffers: impl PinInit<Buffers, E>,
        clock: ClockId,
    ) -> impl PinInit<Self, E> {
        pin_init!(Self {
            buffers <- buffers,
            clock: SharedWord::new(clock as u64),
            actions: GraceRef::none(),
        }? E)
    }

    /// Returns the rings.
    #[inline(always)]
    pub(crate) fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Returns what wakes the readers of the rings.
    #[inline(always)]
    pub(crate) fn waker(&self) -> &Waker {
        self.buffers.waker()
    }

    /// Returns the clock.
    #[inline(always)]
    pub(crate) fn clock(&self) -> ClockId {
        let number = self.clock.load();
        if number == ClockId::Local as u64 {
            return ClockId::Local;
        }
        ClockId::ALL
            .get(number as usize)
            .copied()
            .unwrap_or(ClockId::Local)
    }

    /// Chooses the clock. The rings are empty, and no writer writes before it was left in their gates.
    pub(crate) fn set_clock(&self, clock: ClockId) {
        self.clock.store(clock as u64);
    }

    /// Returns what follows an event, if something does.
    #[inline(always)]
    pub(super) fn actions(&self) -> Option<&ActionList> {
        self.actions.get()
    }

    /// Chooses what follows an event. A writer that began before may still run the old actions.
    ///
    /// # Safety
    ///
    /// The list stays until another one, or none, was set and all writers that began before have ended; or
    /// until this is gone.
    pub(crate) unsafe fn set_actions(&self, actions: Option<&ActionList>) {
        // SAFETY: Writers follow the reference, and the caller promises to wait for them.
        unsafe { self.actions.set(actions) };
        // After the list is there: a writer that is told of more finds it.
        self.waker().set_more(actions.is_some());
    }

    /// Records an event of `len` bytes whose part after the common fields `fill` fills. Any context.
    ///
    /// # Errors
    ///
    /// Why it was not recorded.
    pub(crate) fn record(
        &self,
        pin: &CpuPin,
        base: Base,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), ReserveError> {
        let ring = self.buffers.rings().this(pin.by_value());
        let mut reserved = ring
            .writer()
            .reserve(len, || clock::read(self.clock()))
            .inspect_err(|why| self.refused(&ring, *why))?;
        fill_common(reserved.payload(), base);
        if let Some(rest) = reserved.payload().get_mut(COMMON..) {
            fill(rest);
        }
        self.left(&ring, reserved.commit());
        Ok(())
    }

    /// Wakes the readers that want to know `what` a writer published when it left `ring`. Any context.
    #[inline(always)]
    pub(super) fn left(&self, ring: &Ring, what: Publication) {
        match what {
            Publication::Nothing => {}
            Publication::Events => self.waker().published(),
            Publication::Watermark => {
                self.waker().published();
                self.buffers.watermark_reached(ring);
            }
        }
    }

    /// Tells whom it concerns that `ring` refused a writer. Any context.
    #[cold]
    pub(crate) fn refused(&self, ring: &Ring, why: ReserveError) {
        match why {
            ReserveError::Broken => self.buffers.refused(ring),
            // Those that interrupted it may have filled the ring, and it has published their events.
            ReserveError::Full | ReserveError::TooBig => self.buffers.watermark_reached(ring),
            _ => {}
        }
    }
}
