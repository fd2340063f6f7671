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

    /// The ring that an event of this CPU goes into, and its place.
    #[inline(always)]
    pub(crate) fn this(&self, pin: &CpuPin) -> (Place, &Ring) {
        let place = self.live.place();
        // SAFETY: The place of one of our banks.
        (place, unsafe { self.here(pin, place) })
    }

    /// The ring of this CPU in the bank of `place`.
    ///
    /// # Safety
    ///
    /// It is from [`Self::this`] of the same rings.
    #[inline(always)]
    pub(crate) unsafe fn here(&self, pin: &CpuPin, place: Place) -> &Ring {
        // SAFETY: A ring for each CPU is there, exposed in `new`, and stays as long as `self`.
        unsafe { percpu::this(with_exposed_provenance(place.word() as usize), pin) }
    }

    /// Both rings of `cpu`, if there can be such a CPU.
    pub(super) fn of(&self, cpu: u32) -> Option<&Pair<Ring>> {
        self.pairs.of(cpu)
    }

    /// Makes the other bank live.
    pub(super) fn exchange(&self) {
        self.live.exchange();
    }
}
