// SPDX-License-Identifier: GPL-2.0

//! The rings of all CPUs in both banks, as writers find them. `banks` decides which bank is live.

use super::banks::{
    Bank,
    Buf,
    LiveBank,
    Pair,
    RingPlace,
    TOKEN_BITS, //
};
use crate::{
    kapi::{
        percpu::{
            self,
            PerCpu,
            PinRef, //
        },
        port::{
            Kernel,
            Ring, //
        },
        words::SharedU64, //
    },
    ring::{
        cpu::ReaderState,
        writer::Writer, //
    },
};
use core::{
    mem::align_of,
    ops::Deref,
    ptr::with_exposed_provenance, //
};

/// What the readers of one CPU remember.
pub(super) type States = Pair<ReaderState>;

const _: () = assert!(align_of::<Ring>() as u64 > TOKEN_BITS);

/// The rings of all CPUs.
pub(crate) struct Rings {
    pairs: PerCpu<Pair<Ring>>,
    /// Changes under the lock of the shape, or by the writer that passes the gate.
    live: LiveBank<SharedU64>,
}

impl Rings {
    /// Returns these rings, with bank A live.
    pub(super) fn new(pairs: PerCpu<Pair<Ring>>) -> Self {
        let place =
            |bank| RingPlace::new(Pair::place(pairs.base(), bank).expose_provenance() as u64);
        Self {
            live: LiveBank::new(Pair::new(place(Bank::A), place(Bank::B))),
            pairs,
        }
    }

    /// Returns the live bank.
    pub(super) fn live(&self) -> Bank {
        self.live.bank()
    }

    /// Returns the bank that `buf` is at present.
    pub(super) fn bank(&self, buf: Buf) -> Bank {
        self.live.bank_of(buf)
    }

    /// Returns the ring that events of this CPU are recorded in, for a caller that carries the pin itself.
    #[inline(always)]
    pub(crate) fn here(&self, pin: PinRef<'_>) -> &Ring {
        let base = with_exposed_provenance(self.live.place().word() as usize);
        // SAFETY: The per-CPU address of one of our banks: a ring for each CPU is there, exposed in `new`,
        // and stays as long as `self`.
        unsafe { percpu::this(base, pin.pin()) }
    }

    /// Returns the ring that events of this CPU are recorded in.
    #[inline(always)]
    pub(crate) fn this<'p>(&'p self, pin: PinRef<'p>) -> OwnRing<'p> {
        // INVARIANT: It is that of this CPU.
        OwnRing {
            ring: self.here(pin),
            pin,
        }
    }

    /// Returns the ring at `place`.
    ///
    /// # Safety
    ///
    /// It is [`OwnRing::place`] of one of these rings, in the token of a reservation on this CPU that is
    /// not over.
    #[inline(always)]
    pub(crate) unsafe fn ring_at(&self, place: RingPlace) -> &Ring {
        // SAFETY: One of these rings is there, as the caller promises; it stays as long as `self`, and
        // `OwnRing::place` has exposed it.
        unsafe { &*with_exposed_provenance(place.word() as usize) }
    }

    /// Returns the ring at `place`, with the right to write into it.
    ///
    /// # Safety
    ///
    /// As for [`Self::ring_at`].
    #[inline(always)]
    pub(crate) unsafe fn at<'p>(&'p self, place: RingPlace, pin: PinRef<'p>) -> OwnRing<'p> {
        // SAFETY: The caller promises the place of a reservation on this CPU that is not over.
        let ring = unsafe { self.ring_at(place) };
        // INVARIANT: A reservation on this CPU is in a ring of this CPU.
        OwnRing { ring, pin }
    }

    /// Returns both rings of `cpu`, if such a CPU is possible.
    pub(crate) fn of(&self, cpu: u32) -> Option<&Pair<Ring>> {
        self.pairs.of(cpu)
    }

    /// Makes the other bank live. The writers that are in the one that was live may still be there.
    pub(super) fn exchange(&self) {
        self.live.exchange();
    }
}

/// The ring of the CPU that runs this: the right to write into it.
///
/// # Invariants
///
/// `ring` is that of the CPU on which `pin` keeps the caller. (Other writers of it are interrupts of the
/// caller and run to their end, for only the CPU itself writes into its ring.)
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct OwnRing<'p> {
    ring: &'p Ring,
    pin: PinRef<'p>,
}

impl<'p> OwnRing<'p> {
    /// Returns `ring` as that of this CPU.
    ///
    /// # Safety
    ///
    /// It is that of the CPU on which `pin` keeps the caller.
    #[inline(always)]
    #[allow(dead_code, reason = "only the exit of probes takes a ring apart")]
    pub(crate) unsafe fn new(ring: &'p Ring, pin: PinRef<'p>) -> Self {
        // INVARIANT: The caller promises that.
        Self { ring, pin }
    }

    /// Returns the right to write.
    #[inline(always)]
    pub(crate) fn writer(self) -> Writer<'p, Kernel> {
        // SAFETY: The caller stays on the CPU that owns the ring, and others that write into it are its
        // interrupts, by the invariant.
        unsafe { self.ring.writer() }
    }

    /// Returns the promise to stay on this CPU.
    #[inline(always)]
    pub(crate) fn pin(self) -> PinRef<'p> {
        self.pin
    }

    /// Returns where it is, for a token.
    #[inline(always)]
    pub(crate) fn place(self) -> RingPlace {
        RingPlace::new((&raw const *self.ring).expose_provenance() as u64)
    }
}

impl Deref for OwnRing<'_> {
    type Target = Ring;

    #[inline(always)]
    fn deref(&self) -> &Ring {
        self.ring
    }
}
