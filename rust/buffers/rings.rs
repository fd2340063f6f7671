// SPDX-License-Identifier: GPL-2.0

//! The rings of all CPUs in both banks, as writers find them.
//!
//! Which bank is live is decided in `banks`.

use super::banks::{
    Bank,
    Buf,
    Live,
    Pair,
    Place,
    TOKEN_BITS, //
};
use crate::{
    kapi::{
        percpu::{
            self,
            CpuPin,
            PerCpu, //
        },
        port::Ring,
        words::SharedU64, //
    },
    ring::cpu::ReaderState,
};
use core::{
    mem::align_of,
    ptr::with_exposed_provenance, //
};

/// What the readers of one CPU remember.
pub(super) type States = Pair<ReaderState>;

const _: () = assert!(align_of::<Ring>() as u64 > TOKEN_BITS);

/// The rings of all CPUs.
pub(crate) struct Rings {
    pairs: PerCpu<Pair<Ring>>,
    /// Changes under the lock of the shape.
    live: Live<SharedU64>,
}

impl Rings {
    /// With these rings; bank A is live.
    pub(super) fn new(pairs: PerCpu<Pair<Ring>>) -> Self {
        let place = |bank| Place::new(Pair::place(pairs.base(), bank).expose_provenance() as u64);
        Self {
            live: Live::new(Pair::new(place(Bank::A), place(Bank::B))),
            pairs,
        }
    }

    /// The live bank.
    pub(super) fn live(&self) -> Bank {
        self.live.bank()
    }

    /// The bank that `buf` means now.
    pub(super) fn bank(&self, buf: Buf) -> Bank {
        self.live.bank_of(buf)
    }

    /// The ring that an event of this CPU goes into.
    #[inline(always)]
    pub(crate) fn this(&self, pin: &CpuPin) -> &Ring {
        let base = with_exposed_provenance(self.live.place().word() as usize);
        // SAFETY: The per-CPU address of one of our banks: a ring for each CPU is there, exposed in `new`,
        // and stays as long as `self`.
        unsafe { percpu::this(base, pin) }
    }

    /// The ring at `place`.
    ///
    /// # Safety
    ///
    /// It is [`place`] of one of these rings, in the token of a reservation on this CPU that is not over.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, place: Place) -> &Ring {
        // SAFETY: By the contract; it stays as long as `self`, and `place` has exposed it.
        unsafe { &*with_exposed_provenance(place.word() as usize) }
    }

    /// Both rings of `cpu`, if there can be such a CPU.
    pub(crate) fn of(&self, cpu: u32) -> Option<&Pair<Ring>> {
        self.pairs.of(cpu)
    }

    /// Makes the other bank live.
    pub(super) fn exchange(&self) {
        self.live.exchange();
    }
}

/// Where `ring` is, for a token.
#[inline(always)]
pub(crate) fn place(ring: &Ring) -> Place {
    Place::new((&raw const *ring).expose_provenance() as u64)
}
