// SPDX-License-Identifier: GPL-2.0

//! The registers of a hit or of a call, and parameters and the time, which are kept until a call returns.
//!
//! All of it runs in any context, NMI included: no lock, no allocation, no panic.

use super::{
    hit_kernel::HitKernel,
    hit_probe::{
        HitProbe,
        ProbeHook, //
    },
    hit_recorder::HitPlace, //
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
        percpu::CpuPin,
        strings, //
    },
    text::clock::ClockId, //
};
use core::slice;

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

/// The probe of a hit, and what was kept of the call.
///
/// # Invariants
///
/// `kept` is null, or has a word for each of [`HitProbe::kept`], which do not change during `'c`.
pub(super) struct HitCall<'c, H> {
    probe: &'c HitProbe<H>,
    kept: *const u64,
}

impl<'c, H: ProbeHook + 'static> HitCall<'c, H> {
    /// Returns that of a hit, as C calls it: a structure of both would cost C a frame.
    ///
    /// # Safety
    ///
    /// `kept` is null, or has as many words as `probe` keeps, which do not change during `'c`.
    #[inline(always)]
    pub(super) unsafe fn new(probe: &'c HitProbe<H>, kept: *const u64) -> Self {
        // INVARIANT: The caller promises it.
        Self { probe, kept }
    }

    /// Returns what was kept.
    #[inline(always)]
    fn kept(&self) -> &[u64] {
        let places = self.probe.kept();
        if self.kept.is_null() || places.is_empty() {
            return &[];
        }
        // SAFETY: There are as many words, which do not change meanwhile (invariant).
        unsafe { slice::from_raw_parts(self.kept, places.len()) }
    }

    /// Records the hit at `place`, with these registers. Any context.
    #[inline(always)]
    pub(super) fn record(&self, words: &[u64; WORDS], pin: &CpuPin, place: HitPlace) {
        let recorder = self.probe.recorder();
        recorder.hit_call((words, self.kept()), pin, place);
    }
}

/// The probe of a call that begins, and room for what is kept until the call returns.
///
/// # Invariants
///
/// At `kept` is room for a word for each of [`HitProbe::kept`], which nothing else uses during `'c`.
pub(super) struct BegunCall<'c, H> {
    probe: &'c HitProbe<H>,
    kept: *mut u64,
}

impl<'c, H: ProbeHook + 'static> BegunCall<'c, H> {
    /// Returns that of a call, as C has it.
    ///
    /// # Safety
    ///
    /// At `kept` is room for as many words as `probe` keeps, which nothing else uses during `'c`.
    #[inline(always)]
    pub(super) unsafe fn new(probe: &'c HitProbe<H>, kept: *mut u64) -> Self {
        // INVARIANT: The caller promises it.
        Self { probe, kept }
    }

    /// Keeps parameters, or the time, of the call that begins with these registers. Any context.
    pub(super) fn keep(self, words: &[u64; WORDS]) {
        let machine = self.machine(words);
        self.keep_of(&machine);
    }

    /// As [`Self::keep`], of a function that has the parameters at these places.
    pub(super) fn keep_placed(self, words: &[u64; WORDS], places: ParameterPlaces) {
        let machine = self.machine(words);
        self.keep_of(&PlacedMachine::new(&machine, places));
    }

    /// Returns the machine at the beginning of the call.
    #[inline(always)]
    fn machine<'m>(&self, words: &'m [u64; WORDS]) -> CallRegisters<'m>
    where
        'c: 'm,
    {
        CallRegisters {
            words,
            kept: &[],
            kernel: HitKernel::new(self.probe.recorder().counts()),
        }
    }

    /// Keeps what `machine` has at the beginning of the call.
    #[inline(always)]
    fn keep_of(self, machine: &impl ProbedMachine) {
        let places = self.probe.kept();
        if places.is_empty() {
            return;
        }
        // SAFETY: There is room for as many words, which nothing else uses (invariant).
        let kept = unsafe { slice::from_raw_parts_mut(self.kept, places.len()) };
        for (word, place) in kept.iter_mut().zip(places) {
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
