// SPDX-License-Identifier: GPL-2.0

//! The registers of a hit or of a call, and parameters and the time, which are kept until a call returns.
//!
//! All of it runs in any context, NMI included: no lock, no allocation, no panic.

use super::{
    hit_kernel::HitKernel,
    hit_probe::{
        HitProbe,
        ProbeHook, //
    }, //
};
use crate::{
    fetch::{
        run::{
            ProbedMachine,
            IN_REGISTERS,
            WORDS, //
        },
        shared_parameters::{
            ParameterPlaces,
            PlacedMachine, //
        },
        step::TIME_PLACE, //
    },
    kapi::{
        clock,
        strings, //
    },
    text::clock::ClockId, //
};

/// The registers of a call, as far as they are valid, what was kept of it, and the memory of this machine.
pub(super) struct CallRegisters<'a> {
    pub(super) words: &'a [u64; WORDS],
    pub(super) kept: &'a [u64],
    pub(super) kernel: HitKernel<'a>,
}

impl<'a> ProbedMachine for CallRegisters<'a> {
    type Kernel = HitKernel<'a>;

    fn kernel(&self) -> &HitKernel<'a> {
        &self.kernel
    }

    fn registers(&self) -> &[u64; WORDS] {
        self.words
    }

    fn kept(&self, slot: u8) -> u64 {
        self.kept.get(usize::from(slot)).copied().unwrap_or(0)
    }

    #[inline(never)]
    fn time(&self) -> u64 {
        clock::read(ClockId::Mono)
    }

    fn read(&self, address: u64, to: &mut [u8], user: bool) -> bool {
        strings::read(address, to, user)
    }
}

impl<H: ProbeHook + 'static> HitProbe<H> {
    /// Keeps parameters, or the time, of the call that begins with these registers, in the first words of `kept`. Any
    /// context.
    #[inline(always)]
    pub(super) fn keep_call(&self, words: &[u64; WORDS], kept: &mut [u64]) {
        let machine = self.machine(words);
        self.keep_of(&machine, kept);
    }

    /// As [`Self::keep_call`], of a function that has the parameters at these places.
    #[inline(always)]
    pub(super) fn keep_placed(
        &self,
        words: &[u64; WORDS],
        kept: &mut [u64],
        places: ParameterPlaces,
    ) {
        let machine = self.machine(words);
        self.keep_of(&PlacedMachine::new(&machine, places), kept);
    }

    /// Returns the machine at the beginning of the call.
    #[inline(always)]
    fn machine<'m>(&'m self, words: &'m [u64; WORDS]) -> CallRegisters<'m> {
        CallRegisters {
            words,
            kept: &[],
            kernel: HitKernel::new(self.recorder().shared()),
        }
    }

    /// Keeps what `machine` has at the beginning of the call.
    #[inline(always)]
    fn keep_of(&self, machine: &impl ProbedMachine, kept: &mut [u64]) {
        for (word, place) in kept.iter_mut().zip(self.kept()) {
            *word = match usize::from(*place) < IN_REGISTERS {
                true => machine.parameter(*place),
                false => other_word(machine, *place),
            };
        }
    }
}

/// Returns a parameter that is in no register, or the time.
#[inline(never)]
fn other_word(machine: &impl ProbedMachine, place: u16) -> u64 {
    match place {
        TIME_PLACE => machine.time(),
        place => machine.parameter(place),
    }
}
