// SPDX-License-Identifier: GPL-2.0

//! The rings of all CPUs in both banks, as writers find them.
//!
//! Which bank is live is decided in `banks`.

use super::banks::{
    Bank,
    Buf,
    Live,
    Pair, //
};
use crate::{
    kapi::{
        percpu::{
            CpuPin,
            PerCpu, //
        },
        port::Ring,
        words::SharedU64, //
    },
    ring::cpu::ReaderState,
};

/// What the readers of one CPU remember.
pub(super) type States = Pair<ReaderState>;

/// The rings of all CPUs.
pub(crate) struct Rings {
    pairs: PerCpu<Pair<Ring>>,
    /// Changes under the lock of the shape.
    live: Live<SharedU64>,
}

impl Rings {
    /// With these rings; bank A is live.
    pub(super) fn new(pairs: PerCpu<Pair<Ring>>) -> Self {
        Self {
            pairs,
            live: Live::new(),
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

    /// The ring that an event of this CPU goes into, and its bank.
    #[inline(always)]
    pub(crate) fn this(&self, pin: &CpuPin) -> (Bank, &Ring) {
        let bank = self.live.bank();
        (bank, self.here(pin, bank))
    }

    /// The ring of this CPU in `bank`.
    #[inline(always)]
    pub(crate) fn here(&self, pin: &CpuPin, bank: Bank) -> &Ring {
        self.pairs.this(pin).of(bank)
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
