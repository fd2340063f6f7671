// SPDX-License-Identifier: GPL-2.0

//! The way out: leaving a ring, and enabling preemption as the last thing that a probe does.
//!
//! tools/guest/native measures with this source, too; which readers a writer wakes is the business of
//! [`Sink`].

use super::Sink;
use crate::{
    buffers::{
        rings::{
            OwnRing,
            Rings, //
        },
        RingPlace, //
    },
    kapi::{
        percpu::{
            self,
            CpuPin,
            PinRef, //
        },
        port::Ring, //
    },
    ring::{
        reservation::Reservation,
        writer::FastCommit, //
    }, //
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// The probe's own count of disabled preemption, which the last function of the probe gives back.
///
/// It has no bytes: where C calls a function that takes one, it has disabled preemption and leaves it to that function to
/// enable it. Every function that gets one ends with [`Self::end`] or hands it on.
#[must_use = "preemption stays disabled"]
pub(crate) struct Exit(CpuPin);

impl Exit {
    /// Disables preemption until the end.
    #[inline(always)]
    pub(crate) fn begin() -> Self {
        percpu::disable_preemption();
        // SAFETY: Preemption was disabled just now, and stays so until `end` takes the result.
        Self(unsafe { CpuPin::assume() })
    }

    /// Returns the promise to stay on this CPU, until the end.
    #[inline(always)]
    pub(crate) fn pin(&self) -> PinRef<'_> {
        self.0.by_value()
    }

    /// Takes the ring of this CPU along.
    #[inline(always)]
    pub(crate) fn with_own_ring(self, rings: &Rings) -> ExitRing<'_> {
        let ring = rings.here(self.pin());
        // INVARIANT: It is that of this CPU, and `self` keeps this there.
        ExitRing { ring, exit: self }
    }

    /// Takes the ring at `place` along.
    ///
    /// # Safety
    ///
    /// As for [`Rings::ring_at`]: `place` is that of a reservation on this CPU that is not over.
    #[inline(always)]
    pub(crate) unsafe fn with_ring(self, rings: &Rings, place: RingPlace) -> ExitRing<'_> {
        // SAFETY: The caller promises what `ring_at` asks for.
        let ring = unsafe { rings.ring_at(place) };
        // INVARIANT: A reservation on this CPU is in a ring of this CPU, and `self` keeps this there.
        ExitRing { ring, exit: self }
    }

    /// Enables preemption.
    #[inline(always)]
    pub(crate) fn end(self) {
        // SAFETY: It was disabled for this value, by `begin` or by C, and what was borrowed from the
        // value's pin is over.
        unsafe { percpu::enable_preemption() };
    }
}

/// An [`Exit`] with the ring that the record is in: one register.
///
/// # Invariants
///
/// The ring is that of the CPU on which `exit` keeps this.
#[repr(transparent)]
#[must_use = "preemption stays disabled"]
pub(crate) struct ExitRing<'r> {
    ring: &'r Ring,
    exit: Exit,
}

impl ExitRing<'_> {
    /// Returns the ring.
    #[inline(always)]
    pub(crate) fn ring(&self) -> OwnRing<'_> {
        // SAFETY: It is that of this CPU, by the invariant.
        unsafe { OwnRing::new(self.ring, self.exit.pin()) }
    }

    /// Lets go of the ring.
    #[inline(always)]
    pub(crate) fn into_exit(self) -> Exit {
        self.exit
    }
}

/// Takes the slow path out of `ring` and wakes readers.
///
/// # Safety
///
/// `outcome` is what the fast path out of the same ring said just now.
#[inline(always)]
pub(crate) unsafe fn leave(sink: &Sink, ring: OwnRing<'_>, outcome: FastCommit) {
    // SAFETY: The caller got `outcome` from the fast path of this ring.
    let published = unsafe { ring.writer().commit_slow(outcome) };
    sink.left(&ring, published);
}

/// Gives a reservation up.
///
/// # Safety
///
/// `entry` and `token` are those of the last reservation on this CPU, in the rings of `sink`, that is not
/// over.
#[inline(always)]
pub(crate) unsafe fn give_up(sink: &Sink, pin: PinRef<'_>, entry: *mut c_void, token: u64) {
    let (place, bits) = RingPlace::of_token(token);
    // SAFETY: The reservation of `token` is one on this CPU that is not over.
    let ring = unsafe { sink.buffers().rings().at(place, pin) };
    let Some(entry) = NonNull::new(entry.cast()) else {
        return;
    };
    // SAFETY: `entry` and `bits` are those of the last reservation in this ring that is not over.
    let published = unsafe { Reservation::from_raw(ring.writer(), entry, bits) }.discard();
    sink.left(&ring, published);
}
