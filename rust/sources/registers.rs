// SPDX-License-Identifier: GPL-2.0

//! The registers of a hit or of a call, and parameters and the time, which are kept until a call returns.
//!
//! All of it runs in any context, NMI included: no lock, no allocation, no panic.

use super::hit_counts::{
    Counted,
    HitCounts, //
};
use crate::{
    fetch::{
        run::{
            ProbedMachine,
            IN_REGISTERS,
            WORDS, //
        },
        step::TIME_PLACE, //
    },
    kapi::{
        clock,
        percpu,
        strings,
        symbol, //
    },
    text::clock::ClockId, //
};
use core::slice;

/// The registers of a call, as far as they are valid, what was kept of it, and the memory of this machine.
pub(super) struct CallRegisters<'a> {
    pub(super) words: &'a [u64; WORDS],
    pub(super) kept: &'a [u64],
    /// What counts memory that cannot be read.
    pub(super) counts: &'a HitCounts,
}

impl ProbedMachine for CallRegisters<'_> {
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

    fn faulted(&self) {
        self.counts.count(Counted::Fault);
    }

    fn was_cut(&self) {
        self.counts.count(Counted::Cut);
    }

    fn comm(&self) -> [u8; 16] {
        strings::comm()
    }

    fn current(&self) -> u64 {
        kernel::current!().as_ptr() as u64
    }

    fn per_cpu(&self, address: u64) -> u64 {
        percpu::address_here(address)
    }

    fn symbol(&self, address: u64, take: impl FnOnce(&[u8])) {
        symbol::with_text_at(address, take);
    }
}

/// Returns what was kept of a call: a word for each of these places.
///
/// # Safety
///
/// `kept` is null, or has as many words, which do not change during `'a`.
pub(super) unsafe fn kept<'a>(kept: *const u64, places: &[u16]) -> &'a [u64] {
    if kept.is_null() || places.is_empty() {
        return &[];
    }
    // SAFETY: The caller promises as many words, which do not change.
    unsafe { slice::from_raw_parts(kept, places.len()) }
}

/// Returns a parameter that is in no register, or the time.
#[inline(never)]
fn other_word(machine: &impl ProbedMachine, place: u16) -> u64 {
    match place {
        TIME_PLACE => machine.time(),
        place => machine.parameter(place),
    }
}

/// Keeps the parameters at these places, which `machine` has at the beginning of a call, or the time.
///
/// # Safety
///
/// At `kept` is room for as many words, which nothing else uses meanwhile.
pub(super) unsafe fn keep(machine: &impl ProbedMachine, places: &[u16], kept: *mut u64) {
    if places.is_empty() {
        return;
    }
    // SAFETY: The caller promises room for as many words, which nothing else uses.
    let kept = unsafe { slice::from_raw_parts_mut(kept, places.len()) };
    for (word, place) in kept.iter_mut().zip(places) {
        *word = match usize::from(*place) < IN_REGISTERS {
            true => machine.parameter(*place),
            false => other_word(machine, *place),
        };
    }
}
